/* SPDX-License-Identifier: MIT */
/*
 * Prints what tools/gdb has for a trace: the description and the registers at some ordinals
 * of the first thread, for description.py to compare with QEMU's gdbstub.
 *
 *   oracle-gdbregs --xml TRACE
 *   oracle-gdbregs TRACE [ORDINAL]...    ordinals ascend; "end" is after the last
 *
 * The second form prints "count N in_g N pc N sp N", "reg NUMBER BYTES NAME" for each
 * number, and for each ordinal "at ORDINAL PC" and "NUMBER HEX", HEX - if there is no value.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bad.h"
#include "gdb/gdb_regs.h"

static void print_table(const struct gdb_regs *g)
{
    printf("count %u in_g %u pc %d sp %d\n", gdb_regs_count(g), gdb_regs_in_g(g),
           gdb_regs_pc(g), gdb_regs_sp(g));
    for (unsigned i = 0; i < gdb_regs_count(g); i++) {
        const char *name = gdb_regs_name(g, i);
        printf("reg %u %" PRIu32 " %s\n", i, gdb_regs_size(g, i), name ? name : "-");
    }
}

static int print_state(void *arg, size_t n, const struct ctr_state_point *s)
{
    const struct gdb_regs *g = arg;
    printf("at %zu 0x%" PRIx64 "\n", n, s->pc);
    for (unsigned i = 0; i < gdb_regs_count(g); i++) {
        uint8_t value[GDB_REG_MAX];
        uint32_t size = gdb_regs_size(g, i);
        if (size == 0) {
            continue;
        }
        printf("%u ", i);
        if (!gdb_regs_get(g, s->values, s->pc, i, value)) {
            puts("-");
            continue;
        }
        for (uint32_t k = 0; k < size; k++) {
            printf("%02x", value[k]);
        }
        putchar('\n');
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct ctr_diag diag = {0};
    struct ctr_trace *tr;
    struct gdb_regs *g;
    bool xml = argc > 2 && strcmp(argv[1], "--xml") == 0;
    if (argc < 2) {
        fprintf(stderr, "usage: oracle-gdbregs [--xml] TRACE [ORDINAL]...\n");
        return 2;
    }
    int ret = ctr_open(&tr, argv[1 + xml], 0, &diag);
    if (ret) {
        bad(argv[1 + xml], ret, &diag);
    }
    ret = gdb_regs_open(&g, tr, &diag);
    if (ret) {
        bad(argv[1 + xml], ret, &diag);
    }
    if (xml) {
        fputs(gdb_regs_xml(g), stdout);
    } else {
        size_t n = (size_t)argc - 2;
        uint64_t *ordinal = calloc(n + 1, sizeof(ordinal[0]));
        if (!ordinal) {
            bad("ordinals", -CTR_E_NOMEM, &diag);
        }
        for (size_t i = 0; i < n; i++) {
            const struct ctr_thread *t = ctr_trace_thread(tr, 0);
            ordinal[i] = strcmp(argv[i + 2], "end") == 0 && t
                             ? t->first + t->insns
                             : strtoull(argv[i + 2], NULL, 0);
        }
        print_table(g);
        ret = n ? ctr_states(tr, 0, ordinal, n, print_state, g, &diag) : 0;
        if (ret) {
            bad("no state", ret, &diag);
        }
        free(ordinal);
    }
    gdb_regs_close(g);
    ctr_close(tr);
    return 0;
}
