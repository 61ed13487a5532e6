/* SPDX-License-Identifier: MIT */
/*
 * gdb's registers of traces that no QEMU wrote: targets without a description, traces
 * without registers, sizes that a target does not have, names with markup.  Registers of
 * real traces are in tests/oracle/description.py.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cannoli/events.h"
#include "gdb/gdb_regs.h"

#include "check.h"
#include "maker.h"

struct row {
    const char *name;
    unsigned size, flags;
};

/* A trace of one instruction with a table of registers (up to one without a name). */
static struct ctr_trace *make(const char *path, const char *target, unsigned machine,
                              bool be, const struct row *row)
{
    struct maker m = {0};
    struct block b = {.id = 1, .pc = 0x10000};
    uint8_t table[1024];
    size_t n = 0;
    struct ctr_trace *tr = NULL;
    struct ctr_diag diag = {0};

    maker_open(&m, path, target, machine, be, 64,
               CTR_EVENTS_EXEC | (row->name ? CTR_EVENTS_REG : 0));
    if (row->name) {
        for (; row->name; row++) {
            unsigned left = row->size;
            for (; left > 16; left -= 16) {
                add_register(&m, table, &n, row->name, 16, row->flags | CTR_REG_PIECE);
            }
            add_register(&m, table, &n, row->name, left, row->flags);
        }
        write_registers(&m, table, n);
    }
    block_insn(&b, "\0\0\0\0", 4);
    add_block(&m, &b);
    uint32_t thread = add_thread(&m, add_process(&m, 1, 0), 1, 0);
    if (m.n_regs) {
        put_state(&m);
    }
    put_word(&m, b.id);
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
    check("open", ctr_open(&tr, path, 0, &diag), &diag);
    return tr;
}

static void refuses(const char *path, const char *target, const struct row *row,
                    const char *want)
{
    struct ctr_trace *tr = make(path, target, EM_ARM, false, row);
    struct ctr_diag diag = {0};
    struct gdb_regs *g = NULL;
    int ret = gdb_regs_open(&g, tr, &diag);

    CHECK(ret == -CTR_E_UNSUPPORTED && diag.code == CTR_E_UNSUPPORTED && !g, "%s: %d",
          target, ret);
    CHECK(strstr(diag.text, want) != NULL, "%s: '%s'", target, diag.text);
    CHECK(gdb_regs_open(&g, tr, NULL) == -CTR_E_UNSUPPORTED, "%s: without diag", target);
    ctr_close(tr);
}

static struct gdb_regs *open_regs(const struct ctr_trace *tr)
{
    struct ctr_diag diag = {0};
    struct gdb_regs *g = NULL;

    check("registers", gdb_regs_open(&g, tr, &diag), &diag);
    return g;
}

/* The number of a register; there must be one. */
static unsigned number(const struct gdb_regs *g, const char *name)
{
    for (unsigned i = 0; i < gdb_regs_count(g); i++) {
        const char *other = gdb_regs_name(g, i);
        if (other && strcmp(other, name) == 0) {
            return i;
        }
    }
    CHECK(false, "no register %s", name);
    return 0;
}

/* want: hexadecimal; NULL: no value */
static void value_is(const struct gdb_regs *g, const uint8_t *values, const char *name,
                     const char *want)
{
    uint8_t out[GDB_REG_MAX];
    char got[2 * GDB_REG_MAX + 1] = "";
    unsigned i = number(g, name);
    bool has = gdb_regs_get(g, values, 0x1122334455667788, i, out);

    for (uint32_t k = 0; has && k < gdb_regs_size(g, i); k++) {
        snprintf(got + 2 * k, 3, "%02x", out[k]);
    }
    CHECK(want ? has && strcmp(got, want) == 0 : !has, "%s: '%s' instead of %s", name,
          got, want ? want : "nothing");
}

/* Big-endian, narrower and wider than gdb's, and not there */
static void mips(const char *path)
{
    static const struct row rows[] = {
        {"status", 4, 0}, {"fcsr", 4, 0}, {"at", 16, 0}, {"v0", 2, 0}, {0}};
    static const uint8_t filled[] = {1, 0, 0, 0x80, 5, 6, 7, 8};
    uint8_t values[4 * CTR_REG_STRIDE] = {0};
    struct ctr_trace *tr = make(path, "mips64", EM_MIPS, true, rows);
    struct gdb_regs *g = open_regs(tr);

    for (unsigned i = 0; i < 4; i++) {
        memcpy(values + i * CTR_REG_STRIDE, filled, sizeof(filled));
    }
    value_is(g, values, "status", "ffffffff80000001");
    value_is(g, values, "r1", "0807060580000001");
    value_is(g, values, "r2", "0000000000000001");
    value_is(g, values, "r0", "0000000000000000");
    value_is(g, values, "r3", NULL);
    value_is(g, values, "pc", "1122334455667788");
    value_is(g, NULL, "status", NULL);
    value_is(g, NULL, "pc", "1122334455667788");
    CHECK(gdb_regs_pc(g) == 37 && gdb_regs_sp(g) == 29 && gdb_regs_in_g(g) == 72,
          "pc %d, sp %d", gdb_regs_pc(g), gdb_regs_sp(g));
    CHECK(gdb_regs_size(g, 1000000) == 0 && !gdb_regs_name(g, 1000000) &&
              !gdb_regs_get(g, values, 0, 1000000, values),
          "a number that is not there");
    gdb_regs_close(g);
    ctr_close(tr);
}

/* A processor with primask has another set than one without; both stack pointers, or none. */
static void m_profile(const char *path)
{
    static const struct row one[] = {
        {"r0", 4, 0}, {"sp", 4, 0}, {"primask", 4, CTR_REG_SPECIAL}, {0}};
    static const struct row two[] = {{"r0", 4, 0},
                                     {"msp", 4, CTR_REG_SPECIAL},
                                     {"psp", 4, CTR_REG_SPECIAL},
                                     {"primask", 4, CTR_REG_SPECIAL},
                                     {0}};
    const struct row *const sets[] = {one, two};

    for (unsigned i = 0; i < 2; i++) {
        struct ctr_trace *tr = make(path, "arm-softmmu", EM_ARM, false, sets[i]);
        struct gdb_regs *g = open_regs(tr);
        const char *xml = gdb_regs_xml(g);

        CHECK(number(g, "xpsr") == 25 && gdb_regs_sp(g) == 13, "%u: numbers", i);
        CHECK(strstr(xml, "arm.m-profile") && !strstr(xml, "arm.core"), "%u: %s", i, xml);
        CHECK(!strstr(xml, "m-system") == !i && !strstr(xml, "\"msp\"") == !i, "%u: %s",
              i, xml);
        gdb_regs_close(g);
        ctr_close(tr);
    }
}

/* Every register has a place, whatever the sizes are. */
static void hostile(const char *path)
{
    static const struct row rows[] = {
        {"z0", 255, CTR_REG_VECTOR},        {"z1", 1, CTR_REG_VECTOR},
        {"p0", 40, CTR_REG_VECTOR},         {"x0", 33, 0},
        {"tpidr_el0", 17, CTR_REG_SPECIAL}, {"<\"&'>", 3, CTR_REG_SPECIAL},
        {"x0", 1, CTR_REG_SPECIAL},         {0}};
    const uint8_t *values = calloc(7, CTR_REG_STRIDE);
    uint8_t *out = malloc(GDB_REG_MAX);
    struct ctr_trace *tr = make(path, "aarch64_be", EM_AARCH64, true, rows);
    struct gdb_regs *g = open_regs(tr);

    for (unsigned i = 0; i < gdb_regs_count(g); i++) {
        CHECK(gdb_regs_size(g, i) <= GDB_REG_MAX, "%u: size", i);
        gdb_regs_get(g, values, 0, i, out);
    }
    CHECK(gdb_regs_size(g, number(g, "z0")) == 255, "z0");
    CHECK(gdb_regs_size(g, number(g, "<\"&'>")) == 8, "the name with markup");
    CHECK(!strstr(gdb_regs_xml(g), "<\""), "markup in the description");
    gdb_regs_close(g);
    ctr_close(tr);
    free(out);
    free((void *)values);
}

/* Without registers there is a description, and the pc. */
static void without(const char *path)
{
    struct ctr_trace *tr = make(path, "x86_64", EM_X86_64, false, (struct row[]){{0}});
    struct gdb_regs *g = open_regs(tr);

    value_is(g, NULL, "rax", NULL);
    value_is(g, NULL, "rip", "8877665544332211");
    CHECK(strstr(gdb_regs_xml(g), "<architecture>i386:x86-64</architecture>"), "xml");
    gdb_regs_close(g);
    gdb_regs_close(NULL);
    ctr_close(tr);
}

int main(void)
{
    char path[] = "/tmp/gdbregs.XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0) {
        perror(path);
        return 1;
    }
    close(fd);
    refuses(path, "xtensa", (struct row[]){{0}}, "xtensa");
    refuses(path, "aarch64x", (struct row[]){{0}}, "aarch64x");
    mips(path);
    m_profile(path);
    hostile(path);
    without(path);
    unlink(path);
    return failures != 0;
}
