/* SPDX-License-Identifier: MIT */
/* The physical memory of a machine at a moment; see physical.h. */
#include "state/physical.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "state/physical_priv.h"

struct physical_view {
    struct physical_layout layout;
    unsigned jobs;
    char lack[160]; /* "": nothing is missing */
};

/* Options that say when is recorded, and not what: events GATE show that. */
static bool is_window(const char *word, size_t n)
{
    static const char *const options[] = {"--start-at", "--stop-at", "--paused",
                                          "--after-instructions", "--for-instructions"};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const size_t len = strlen(options[i]);

        if (n >= len && !strncmp(word, options[i], len) &&
            (n == len || word[len] == '=')) {
            return true;
        }
    }
    return false;
}

/* Whether a part of what the machine did was selected. */
static bool is_part(const char *selection)
{
    for (const char *word = selection; *word;) {
        const size_t n = strcspn(word, " ");

        if (!is_window(word, n)) {
            return true;
        }
        word += n;
        word += strspn(word, " ");
    }
    return false;
}

/* What is missing from the begin on; NULL: nothing. */
static const char *find_lack(const struct ctr_info *info)
{
    static const struct {
        uint32_t kind;
        const char *text;
    } kinds[] = {
        {CTR_HAS_RAM, "RAM was not recorded (-e ram)"},
        {CTR_HAS_VAL, "values were not recorded (-e val)"},
        {CTR_HAS_PHYS, "physical addresses were not recorded (-e phys)"},
        {CTR_HAS_DMA, "what devices write was not recorded (-e dma)"},
    };

    if (!info->machine) {
        return "it is not the trace of a machine";
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!(info->events & kinds[i].kind)) {
            return kinds[i].text;
        }
    }
    if (info->elf_machine == EM_S390) {
        return "some stores of s390x have no physical address";
    }
    if (info->dropped_chunks || info->dropped_insns) {
        return "what came first was dropped (--ring)";
    }
    if (info->threads > 1 && !(info->events & CTR_HAS_ORDER)) {
        return "vCPUs ran in parallel: the order of their stores was not recorded";
    }
    return NULL;
}

int physical_open(struct physical_view **out, struct ctr_trace *tr,
                  const struct ctr_moment *at, unsigned jobs, struct ctr_diag *diag)
{
    struct physical_view *p = calloc(1, sizeof(*p));
    struct ctr_info info;
    const char *lack;
    int ret = 0;

    *out = NULL;
    if (!p) {
        return -CTR_E_NOMEM;
    }
    ctr_trace_info(tr, &info);
    p->layout.tr = tr;
    p->layout.at = *at;
    p->jobs = jobs;
    lack = find_lack(&info);
    if (!lack && is_part(info.selection)) {
        snprintf(p->lack, sizeof(p->lack), "only a part was recorded (%s)",
                 info.selection);
    } else if (!lack) {
        ret = physical_layout_read(&p->layout, jobs, diag);
        lack = p->layout.paused ? "not all is recorded at this moment" : NULL;
    }
    if (ret) {
        physical_close(p);
        return ret;
    }
    if (lack) {
        snprintf(p->lack, sizeof(p->lack), "%s", lack);
    }
    *out = p;
    return 0;
}

void physical_close(struct physical_view *p)
{
    if (p) {
        physical_layout_free(&p->layout);
        free(p);
    }
}

const char *physical_lack(const struct physical_view *p)
{
    return *p->lack ? p->lack : NULL;
}

/* ---------------------------------------------------------------------- a read */

/* Adds where bytes of a block ever were; false: no memory. */
static bool add_spans(struct physical_read *r, const struct physical_range *now,
                      uint64_t offset, uint64_t size, size_t first)
{
    const struct physical_layout *l = r->layout;

    for (size_t i = 0; i < l->nr_ranges; i++) {
        struct physical_span s = {l->ranges[i], first};
        const struct physical_span block = {
            {.addr = s.range.offset, .size = s.range.size}, 0};
        uint64_t at, n = physical_part(&block, offset, size, &at);

        if (s.range.block != now->block || !n ||
            (s.range.until_ns <= l->floor_ns && l->floor_ns)) {
            continue;
        }
        s.range.addr += at;
        s.range.offset += at;
        s.range.size = n;
        s.first = first + (size_t)(s.range.offset - offset);
        if (!array_reserve(&r->spans, &r->spans_cap, r->nr_spans + 1, sizeof(s))) {
            return false;
        }
        r->spans[r->nr_spans++] = s;
        for (uint64_t k = 0; k < n && !s.range.rom; k++) {
            r->bytes[s.first + k].stores_ns = 0;
        }
    }
    return true;
}

/* Finds where the bytes are at the moment, and all other places at which they were. */
static int find_spans(struct physical_read *r, uint64_t addr)
{
    const struct physical_layout *l = r->layout;

    for (size_t i = 0; i < l->nr_ranges; i++) {
        const struct physical_range *now = &l->ranges[i];
        const struct physical_span all = {*now, 0};
        uint64_t at, n = physical_part(&all, addr, r->n, &at);

        if (now->until_ns == UINT64_MAX && n &&
            !add_spans(r, now, now->offset + at, n, (size_t)(now->addr + at - addr))) {
            return -CTR_E_NOMEM;
        }
    }
    return 0;
}

int physical_read(struct physical_view *p, uint64_t addr, uint8_t *out, uint8_t *known,
                  size_t n, struct ctr_diag *diag)
{
    struct physical_read r = {
        .layout = &p->layout, .n = n, .jobs = p->jobs, .diag = diag};
    int ret = 0;

    memset(out, 0, n);
    memset(known, 0, n);
    if (*p->lack || !n) {
        return 0;
    }
    r.bytes = calloc(n, sizeof(*r.bytes));
    for (size_t i = 0; r.bytes && i < n; i++) {
        r.bytes[i].stores_ns = UINT64_MAX;
    }
    ret = r.bytes ? find_spans(&r, addr) : -CTR_E_NOMEM;
    ret = ret ? ret : physical_read_contents(&r);
    ret = ret ? ret : physical_read_writes(&r);
    for (size_t i = 0; !ret && i < n; i++) {
        known[i] = r.bytes[i].state == PHYSICAL_KNOWN;
        out[i] = known[i] ? r.bytes[i].value : 0;
    }
    free(r.bytes);
    free(r.spans);
    return ret;
}
