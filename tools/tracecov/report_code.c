/* SPDX-License-Identifier: MIT */
/*
 * Lists the instructions of a module, those that ran and those that did not.
 *
 * This is a linear sweep over the code, with good landmarks: functions, rows of the line
 * table and instructions that ran begin at an instruction.  An instruction that would
 * extend over a landmark is data.  Bytes in no function and no row (padding, tables) are
 * skipped, unless they ran.
 */
#include "tracecov/report_priv.h"

#include <stdlib.h>

#include "common/array.h"
#include "cannoli/isa.h"

/* The position of the sweep in each list of landmarks, all ascending. */
struct sweep {
    struct report_code *k;
    struct insn_scan *scan;
    size_t cap;
    uint32_t range;    /* first range that does not end before here */
    uint32_t function; /* the same for functions */
    size_t insn;       /* first instruction that ran at or after here */
    bool data;         /* the machine's files mark data in code */
};

/* Moves to p; returns whether it is in a function or range, and in *next the next
 * landmark after it. */
static bool advance(struct sweep *w, uint64_t p, uint64_t *next)
{
    const struct report_code *k = w->k;
    const struct cover_module *m = k->module;
    bool inside = false;

    *next = UINT64_MAX;
    while (w->range < k->nr_ranges && k->ranges[w->range].end <= p) {
        w->range++;
    }
    if (w->range < k->nr_ranges) {
        const struct sym_range *r = &k->ranges[w->range];

        inside = r->addr <= p;
        *next = inside ? r->end : r->addr;
    }
    while (w->function < k->nr_functions && k->functions[w->function].end <= p) {
        w->function++;
    }
    if (w->function < k->nr_functions) {
        const struct sym_function *f = &k->functions[w->function];
        uint64_t edge = f->addr <= p ? f->end : f->addr;

        inside |= f->addr <= p;
        *next = edge < *next ? edge : *next;
    }
    while (w->insn < m->nr_insns && m->insns[w->insn].addr < p) {
        w->insn++;
    }
    return inside;
}

static bool add_site(struct sweep *w, uint64_t p, const struct cover_insn *ran,
                     unsigned len, uint16_t flags, uint8_t mode)
{
    struct report_code *k = w->k;
    struct site *s;

    if (!array_reserve(&k->sites, &w->cap, k->nr_sites + 1, sizeof(*s))) {
        return false;
    }
    s = &k->sites[k->nr_sites++];
    s->addr = p;
    s->insn = ran ? (uint32_t)w->insn : NO_INDEX;
    s->range =
        w->range < k->nr_ranges && k->ranges[w->range].addr <= p ? w->range : NO_INDEX;
    s->flags = flags;
    s->len = (uint8_t)len;
    s->mode = mode;
    return true;
}

static bool sweep_code(struct sweep *w, uint64_t p, uint64_t end)
{
    const struct report_code *k = w->k;
    const struct cover_module *m = k->module;

    while (p < end) {
        uint64_t next, ran_at;
        bool inside = advance(w, p, &next);
        const struct cover_insn *ran = w->insn < m->nr_insns ? &m->insns[w->insn] : NULL;
        uint16_t flags = 0;
        uint8_t mode = 0;
        unsigned len;

        ran_at = ran ? ran->addr : UINT64_MAX;
        if (next > end) {
            next = end;
        }
        if (ran_at == p && ran->len) {
            len = ran->len;
            if (!add_site(w, p, ran, len, ran->flags, ran->mode)) {
                return false;
            }
            p += len;
            continue;
        }
        if (ran_at < next) {
            next = ran_at;
        }
        if (!inside) {
            p = next;
            continue;
        }
        len = w->data && !symfile_is_code(k->file, p)
                  ? 0
                  : insn_scan_at(w->scan, k->file, p, &flags, &mode);
        if (len == 0) { /* data: move to the next landmark, or by the smallest step */
            unsigned step = k->cover->machine == CANNOLI_EM_X86_64 ||
                                    k->cover->machine == CANNOLI_EM_386
                                ? 1
                                : 2;

            /* Generated code has no bytes but those that ran. */
            p = !k->module->module->generated && next - p > step ? p + step : next;
            continue;
        }
        if (len > next - p) {
            p = next;
            continue;
        }
        if (!add_site(w, p, NULL, len, flags, mode)) {
            return false;
        }
        p += len;
    }
    return true;
}

int report_code_init(struct report_code *k, const struct cover *c,
                     const struct cover_module *m, struct insn_scan *scan)
{
    struct sweep w = {.k = k, .scan = scan};
    const struct sym_code *code;
    uint32_t n;

    *k = (struct report_code){.cover = c, .module = m, .file = m->module->file};
    k->index = m->module->index;
    k->flow = c->branches && !c->once;
    k->nr_ranges = symfile_ranges(k->file, &k->ranges);
    k->nr_scopes = symfile_scopes(k->file, &k->scopes);
    w.data = c->machine == CANNOLI_EM_ARM || c->machine == CANNOLI_EM_AARCH64 ||
             c->machine == CANNOLI_EM_RISCV;
    if (report_functions(k)) {
        return -CTR_E_NOMEM;
    }
    n = symfile_code(k->file, &code);
    for (uint32_t i = 0; i < n; i++) {
        if (!sweep_code(&w, code[i].addr, code[i].end)) {
            return -CTR_E_NOMEM;
        }
    }
    return 0;
}

void report_code_fini(struct report_code *k)
{
    report_functions_free(k);
    free(k->sites);
    free(k->jumps);
    k->sites = NULL;
    k->jumps = NULL;
    k->nr_sites = k->nr_jumps = 0;
}

/* x86: a string instruction with REP is executed again after each 65,536 iterations. */
static bool is_repeated(const struct report_code *k, const struct site *s)
{
    const uint8_t *b = k->module->insns[s->insn].bytes;
    bool rep = false;
    unsigned i = 0;

    if (k->cover->machine != CANNOLI_EM_X86_64 && k->cover->machine != CANNOLI_EM_386) {
        return false;
    }
    while (i + 1 < s->len &&
           (b[i] == 0xf2 || b[i] == 0xf3 || b[i] == 0x66 || b[i] == 0x67 ||
            (k->cover->addr_bits == 64 && (b[i] & 0xf0) == 0x40))) {
        rep |= b[i] == 0xf2 || b[i] == 0xf3;
        i++;
    }
    return rep && i + 1u == s->len &&
           ((b[i] >= 0xa4 && b[i] <= 0xa7) || (b[i] >= 0xaa && b[i] <= 0xaf) ||
            (b[i] >= 0x6c && b[i] <= 0x6f));
}

static struct site_count all_counts(const struct report_code *k, const struct site *s)
{
    struct site_count n = {0};
    const struct cover_module *m = k->module;

    /* Several at one address: the code changed, or was decoded in two ways. */
    for (size_t i = s->insn; i < m->nr_insns && m->insns[i].addr == s->addr; i++) {
        n.count = sum_u64(n.count, m->insns[i].count);
        n.taken = sum_u64(n.taken, m->insns[i].taken);
        n.not_taken = sum_u64(n.not_taken, m->insns[i].not_taken);
    }
    n.count = cover_shown(k->cover, n.count);
    return n;
}

struct site_count report_site_count(const struct report_code *k, const struct site *s)
{
    struct site_count n = all_counts(k, s);

    if (n.count && is_repeated(k, s) && s + 1 < k->sites + k->nr_sites &&
        s[1].addr == s->addr + s->len) {
        uint64_t after = all_counts(k, s + 1).count;

        n.count = after && after < n.count ? after : n.count;
    }
    return n;
}

size_t report_site_at(const struct report_code *k, uint64_t addr)
{
    size_t lo = 0, hi = k->nr_sites;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (k->sites[mid].addr < addr) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

uint32_t report_instance(const struct report_code *k, const struct site *s)
{
    if (s->range != NO_INDEX && k->ranges[s->range].scope != SYM_NONE) {
        return k->ranges[s->range].scope;
    }
    /* No scope has such a number. */
    return report_functions_upto(k, s->addr) | 0x80000000u;
}
