/* SPDX-License-Identifier: MIT */
/*
 * From runs of blocks to counts by mnemonic, function and module.  The definitions of
 * blocks are read once, in order, and each block that ran is disassembled once.
 */
#include "hist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The key of instructions that Capstone cannot decode, before those with a number. */
#define UNKNOWN_MNEMONIC 0u

/* Of a block in the trace at most. */
#define MAX_INSNS 512u

struct naming {
    struct hist *h;
    struct disas *disas;
    size_t at;            /* in h->runs, which is sorted by block */
    uint32_t slots[4096]; /* of mnemonics: the numbers by hash, 0 free */
};

bool hist_add_place(const struct hist *h, struct hist_table by[HIST_KINDS],
                    const struct place *at, uint64_t count)
{
    uint64_t module = at ? (uintptr_t)at->module : 0;
    const struct sym_function *f =
        at && at->module->file ? symfile_function(at->module->file, at->vaddr) : NULL;

    return (!h->want[HIST_MODULE] || hist_add(&by[HIST_MODULE], module, 0, 0, count)) &&
           (!h->want[HIST_FUNCTION] ||
            hist_add(&by[HIST_FUNCTION], module, (uintptr_t)f, 0, count));
}

/* --------------------------------------------------------------- mnemonics */

/* A number for a mnemonic, from 1; UINT32_MAX: no memory.  Architectures have some 2000
 * at most; what does not fit counts as unknown. */
static uint32_t number_mnemonic(struct naming *n, const char *text)
{
    struct hist *h = n->h;
    const uint32_t size = sizeof(n->slots) / sizeof(n->slots[0]);
    uint32_t i = 0;
    void *v;

    for (const char *c = text; *c; c++) {
        i = 31 * i + (uint8_t)*c;
    }
    for (i %= size; n->slots[i]; i = (i + 1) % size) {
        if (!strcmp(h->mnemonic[n->slots[i]], text)) {
            return n->slots[i];
        }
    }
    if (h->nr_mnemonics + 2 >= size) {
        return UNKNOWN_MNEMONIC;
    }
    if (h->nr_mnemonics % 256 == 0) {
        v = realloc(h->mnemonic, (h->nr_mnemonics + 258) * sizeof(*h->mnemonic));
        if (!v) {
            return UINT32_MAX;
        }
        h->mnemonic = v;
    }
    n->slots[i] = ++h->nr_mnemonics;
    snprintf(h->mnemonic[n->slots[i]], sizeof(*h->mnemonic), "%s", text);
    return n->slots[i];
}

/* Adds n[i] instructions i of a block. */
static bool add_mnemonics(struct naming *n, const struct ctr_block *b,
                          const uint64_t *counts)
{
    disas_block(n->disas, b->mode);
    for (unsigned i = 0; i < b->ninsn; i++) {
        const char *text = disas_mnemonic(n->disas, ctr_block_pc(b, i),
                                          ctr_block_bytes(b, i), ctr_block_len(b, i));
        uint32_t number = text ? number_mnemonic(n, text) : UNKNOWN_MNEMONIC;
        if (number == UINT32_MAX ||
            !hist_add(&n->h->by[HIST_MNEMONIC], number, 0, 0, counts[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ places */

/* Adds the instructions of a run at a site. */
static bool add_run(struct hist *h, const struct ctr_block *b, const struct hist_entry *e)
{
    uint32_t number = (uint32_t)(e->a >> 32);
    unsigned first = (unsigned)(e->b >> 16), end = (unsigned)(e->b & 0xffff);
    const struct hist_site *site = number == HIST_SITE_ALWAYS ? NULL : &h->site[number];
    struct place place;

    for (unsigned i = first; i < end; i++) {
        uint64_t pc = ctr_block_pc(b, i);
        bool found;
        if (site) {
            place.module = site->module;
            place.vaddr = pc + site->bias;
            found = site->module;
        } else {
            found = h->places && places_find_always(h->places, pc, &place) > 0;
        }
        if (!hist_add_place(h, h->by, found ? &place : NULL, e->n[0])) {
            return false;
        }
    }
    return true;
}

/* -------------------------------------------------------------------- runs */

static int by_block(const void *a, const void *b)
{
    uint32_t x = (uint32_t)((const struct hist_entry *)a)->a;
    uint32_t y = (uint32_t)((const struct hist_entry *)b)->a;

    return (x > y) - (x < y);
}

static int on_block(void *arg, const struct ctr_block *b)
{
    struct naming *n = arg;
    struct hist *h = n->h;
    uint64_t counts[MAX_INSNS] = {0};
    bool ok = true, any = false;

    for (; n->at < h->runs.used && (uint32_t)h->runs.v[n->at].a <= b->id; n->at++) {
        const struct hist_entry *e = &h->runs.v[n->at];
        unsigned first = (unsigned)(e->b >> 16), end = (unsigned)(e->b & 0xffff);
        if ((uint32_t)e->a != b->id || end > b->ninsn || b->ninsn > MAX_INSNS) {
            continue;
        }
        any = true;
        for (unsigned i = first; i < end; i++) {
            counts[i] += e->n[0];
        }
        if (h->sites && e->a >> 32 != HIST_SITE_MIXED) {
            ok = ok && add_run(h, b, e);
        }
    }
    if (any && h->want[HIST_MNEMONIC]) {
        ok = ok && add_mnemonics(n, b, counts);
    }
    return ok ? 0 : DUMP_STOP_NOMEM;
}

int hist_name_runs(struct hist *h, struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct naming n = {.h = h};
    struct ctr_info info;
    int ret;

    ctr_trace_info(tr, &info);
    n.disas = disas_new(info.elf_machine, info.big_endian, info.target);
    if (!n.disas) {
        return DUMP_STOP_NOMEM;
    }
    h->unnamed = h->want[HIST_MNEMONIC] && !disas_engine(n.disas);
    hist_compact(&h->runs);
    if (h->runs.used) {
        qsort(h->runs.v, h->runs.used, sizeof(*h->runs.v), by_block);
    }
    ret = ctr_trace_each_block(tr, on_block, &n, diag);
    disas_free(n.disas);
    return ret;
}
