/* SPDX-License-Identifier: MIT */
/*
 * drcov, version 2 with a module table of version 2, as DynamoRIO 7.0's drcov wrote it
 * and Lighthouse, bncov, Dragon Dance, Cartographer and others read it:
 *
 *   DRCOV VERSION: 2
 *   DRCOV FLAVOR: drcov
 *   Module Table: version 2, count N
 *   Columns: id, base, end, entry, checksum, timestamp, path
 *   (N lines: decimal id, then numbers with 0x, path last, ", " between them)
 *   BB Table: M bbs
 *   (M entries of 8 bytes, little-endian: u32 start, u16 size, u16 module id)
 *
 * start is relative to the module's base, the load address of its lowest segment: for a
 * program at fixed addresses the address minus that of its first segment, for a library
 * or PIE the address in the file.  Readers add it to the image base of the disassembler's
 * database.
 */
#include "tracecov/output.h"

#include <errno.h>

#include "common/options.h"

/* Limit of a block's bytes; longer ones are written in pieces.  Cartographer reads the
 * size as signed. */
#define SIZE_MOST 0x7fffu

/* Module ids have 16 bits. */
#define MODULES_MOST 0x10000u

static uint64_t base_of(const struct cover_module *m)
{
    return m->load_end ? m->load_vaddr : 0;
}

static bool listed(const struct cover_module *m, size_t i)
{
    const struct cover_block *b = &m->blocks[i];

    return b->count && b->bytes &&
           (i == 0 || b->addr != b[-1].addr || b->bytes != b[-1].bytes);
}

/* Counts the entries of a module; false if drcov cannot represent one. */
static bool count_entries(const struct cover_module *m, uint64_t *n)
{
    for (size_t i = 0; i < m->nr_blocks; i++) {
        const struct cover_block *b = &m->blocks[i];
        if (!listed(m, i)) {
            continue;
        }
        if (b->addr < base_of(m) || b->addr - base_of(m) + b->bytes > UINT32_MAX) {
            tool_error(PROG,
                       "%s: address 0x%llx is not within 4 GiB of where it was loaded, "
                       "which drcov cannot represent (--module selects others)",
                       m->module->path, (unsigned long long)b->addr);
            return false;
        }
        *n += (b->bytes + SIZE_MOST - 1) / SIZE_MOST;
    }
    return true;
}

static void write_module(struct out *o, size_t id, const struct cover_module *m)
{
    uint64_t end = m->load_end;

    if (!end) {
        /* Its mapping is not known: use the file's own addresses. */
        for (size_t i = 0; i < m->nr_blocks; i++) {
            uint64_t e = m->blocks[i].addr + m->blocks[i].bytes;
            end = e > end ? e : end;
        }
    }
    out_u64(o, id);
    out_str(o, ", 0x");
    out_hex(o, m->load_start, 16);
    out_str(o, ", 0x");
    out_hex(o, end, 16);
    out_str(o, ", 0x0000000000000000, 0x00000000, 0x00000000, ");
    for (const char *p = m->module->path; *p; p++) {
        char *q = out_room(o, 1);
        *q = *p == '\n' || *p == '\r' ? '?' : *p;
        out_done(o, q + 1);
    }
    out_str(o, "\n");
}

static char *put_u16(char *p, uint32_t v)
{
    p[0] = (char)(v & 0xff);
    p[1] = (char)(v >> 8 & 0xff);
    return p + 2;
}

static void write_block(struct out *o, uint64_t start, uint64_t left, size_t id)
{
    while (left) {
        uint32_t n = left < SIZE_MOST ? (uint32_t)left : SIZE_MOST;
        char *p = out_room(o, 8);
        p = put_u16(p, start & 0xffff);
        p = put_u16(p, (uint32_t)(start >> 16));
        p = put_u16(p, n);
        p = put_u16(p, (uint32_t)id);
        out_done(o, p);
        start += n;
        left -= n;
    }
}

int output_drcov(const struct cover *c, FILE *file)
{
    uint64_t entries = 0;
    struct out *o;

    if (c->nr_modules > MODULES_MOST) {
        tool_error(PROG,
                   "%zu modules are more than drcov can represent (%u); --module selects "
                   "some",
                   c->nr_modules, MODULES_MOST);
        return OUTPUT_REFUSED;
    }
    for (size_t i = 0; i < c->nr_modules; i++) {
        if (!count_entries(&c->modules[i], &entries)) {
            return OUTPUT_REFUSED;
        }
    }
    o = out_open(file);
    if (!o) {
        return -ENOMEM;
    }
    out_printf(o,
               "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov\n"
               "Module Table: version 2, count %zu\n"
               "Columns: id, base, end, entry, checksum, timestamp, path\n",
               c->nr_modules);
    for (size_t i = 0; i < c->nr_modules; i++) {
        write_module(o, i, &c->modules[i]);
    }
    out_printf(o, "BB Table: %llu bbs\n", (unsigned long long)entries);
    for (size_t i = 0; i < c->nr_modules; i++) {
        const struct cover_module *m = &c->modules[i];
        for (size_t k = 0; k < m->nr_blocks; k++) {
            const struct cover_block *b = &m->blocks[k];
            if (listed(m, k)) {
                write_block(o, b->addr - base_of(m), b->bytes, i);
            }
        }
    }
    return out_close(o);
}
