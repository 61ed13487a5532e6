/* SPDX-License-Identifier: MIT */
/* Numbers of code; see code.h. */
#include "code.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/isa.h"
#include "common/hash.h"
#include "space.h"
#include "symbols/places.h"

#define PAGES (1u << 20)

bool code_table_init(struct code_table *t)
{
    *t = (struct code_table){.n = 0};
    pthread_mutex_init(&t->lock, NULL);
    t->page = calloc(PAGES, sizeof(*t->page)); /* only what is used takes memory */
    return t->page != NULL;
}

void code_table_fini(struct code_table *t)
{
    for (uint32_t i = 0; t->page && i < PAGES && t->page[i]; i++) {
        for (uint32_t k = 0; k < CODE_PAGE; k++) {
            free(t->page[i][k]);
        }
        free(t->page[i]);
    }
    free(t->page);
    map64_fini(&t->by_hash);
    pthread_mutex_destroy(&t->lock);
}

static uint64_t hash_of(const struct code *c)
{
    uint64_t hash = map64_mix(HASH_START, c->ninsn);

    for (unsigned i = 0; i < c->ninsn; i++) {
        hash = map64_mix(hash, c->insn[i]);
    }
    /* The same instructions may be followed by others, in definitions of a part. */
    return map64_mix(map64_mix(hash, c->at), c->after);
}

static uint32_t add(struct code_table *t, struct code *c)
{
    const uint32_t number = t->n + 1;
    struct code ***page = &t->page[number / CODE_PAGE];

    if (number >= UINT32_MAX - CODE_PAGE) {
        return 0;
    }
    if (!*page) {
        *page = calloc(CODE_PAGE, sizeof(**page));
        if (!*page) {
            return 0;
        }
    }
    (*page)[number % CODE_PAGE] = c;
    t->n = number;
    return number;
}

uint32_t code_number(struct code_table *t, struct code *c)
{
    const uint64_t hash = hash_of(c);
    uint32_t number = 0, *p;
    bool added = false;

    pthread_mutex_lock(&t->lock);
    p = map64_put(&t->by_hash, hash, 0, &added);
    if (p && added) {
        *p = add(t, c);
    }
    number = p ? *p : 0;
    pthread_mutex_unlock(&t->lock);
    if (!added || !number) {
        free(c);
    }
    return number;
}

/* Hash of where a pc is; *by_name: in a function, whose name counts. */
static uint64_t hash_of_place(const struct code_lookup *l, uint64_t pc, bool *by_name)
{
    const struct sym_function *f = NULL;
    struct space_place p;
    struct place place;

    if (l->functions &&
        places_find(l->functions, l->process, l->time_ns, l->chunk_end_ns, pc, &place) &&
        place.module->file) {
        f = symfile_function(place.module->file, place.vaddr);
    }
    *by_name = f != NULL;
    if (f) {
        return map64_mix(hash_bytes(HASH_START, f->linkage, strlen(f->linkage)),
                         place.vaddr - f->addr);
    }
    p = space_find(l->space, pc);
    return map64_mix(map64_mix(HASH_START, p.key), p.off);
}

/* How the last instruction leaves the block; on MIPS the one before its delay slot. */
static uint32_t leaves(const struct ctr_block *b, const struct ctr_info *info)
{
    const unsigned mode = b->mode | (info->addr_bits == 32 ? CANNOLI_ISA_32 : 0);
    uint32_t flags = 0;

    for (unsigned i = b->ninsn; i-- && b->ninsn - i <= 2u;) {
        cannoli_isa_flags(info->elf_machine, mode, info->big_endian,
                          ctr_block_bytes(b, i), ctr_block_len(b, i), &flags);
        if (flags & CANNOLI_INSN_BRANCH || info->elf_machine != CANNOLI_EM_MIPS) {
            break;
        }
    }
    return flags;
}

struct code *code_make(const struct ctr_block *b, const struct code_lookup *l)
{
    struct code *c = malloc(sizeof(*c) + b->ninsn * sizeof(c->insn[0]));
    const uint64_t how = (uint64_t)b->mode << 8 | b->privilege;
    const unsigned last = b->ninsn - 1u;
    const uint32_t flags = leaves(b, l->info);
    bool by_name;

    if (!c) {
        return NULL;
    }
    for (unsigned i = 0; i < b->ninsn; i++) {
        const uint64_t place = hash_of_place(l, ctr_block_pc(b, i), &by_name);
        const unsigned n = ctr_block_len(b, i);

        c->at = i ? c->at : place;
        /* Of another build, what an instruction refers to is elsewhere. */
        c->insn[i] =
            map64_mix(map64_mix(place, how),
                      by_name ? n : hash_bytes(HASH_START, ctr_block_bytes(b, i), n));
    }
    c->after = hash_of_place(l, ctr_block_pc(b, last) + ctr_block_len(b, last), &by_name);
    c->ninsn = b->ninsn;
    c->call = flags & CANNOLI_INSN_CALL;
    c->ret = flags & CANNOLI_INSN_RETURN;
    return c;
}
