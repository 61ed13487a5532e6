/* SPDX-License-Identifier: MIT */
/*
 * oracle-coverage: checks a recording of each block's first run.
 *
 *   oracle-coverage WHOLE PART
 *   oracle-coverage --set WHOLE PART
 *   oracle-coverage --twice PART
 *
 * WHOLE is a recording of everything, PART one of the same program with --coverage.
 * PART must record those of WHOLE's runs of blocks that are the first complete one of
 * that block in its process, counting the runs of the parent before the fork, and before
 * that run those that left the block early but came further than any before.  For one
 * thread PART must have these, in that order; with --set the same set of blocks that ran
 * completely.  With --twice (threads and processes, where no two recordings are equal)
 * no process may have recorded a block completely twice.  A block is identified by its
 * place, its mode and its bytes.
 */
#include "ctr.h"
#include "bad.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS (1u << 20)

/* A block, the same in both traces. */
struct block {
    const struct ctr_block *def; /* NULL: a free place of the table */
    bool seen[2];                /* completely, in the whole or the part */
    uint32_t reach;              /* largest number of its instructions that ran so far */
    bool done;
};

struct run {
    uint32_t block;
    uint32_t end;
    int32_t pid;
    bool complete;
};

struct recording {
    struct run *runs;
    size_t n, room;
    int32_t tid;
    bool many; /* threads */
};

static struct block blocks[BLOCKS];
static size_t nblocks;

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "oracle-coverage: out of memory\n");
        exit(2);
    }
    return p;
}

static bool same(const struct ctr_block *a, const struct ctr_block *b)
{
    if (a->pc != b->pc || a->cs_base != b->cs_base || a->tb_flags != b->tb_flags ||
        a->mode != b->mode || a->ninsn != b->ninsn || !a->pcs != !b->pcs ||
        memcmp(a->off, b->off, (a->ninsn + 1u) * sizeof(a->off[0])) != 0 ||
        memcmp(a->code, b->code, a->off[a->ninsn]) != 0) {
        return false;
    }
    return !a->pcs || memcmp(a->pcs, b->pcs, a->ninsn * sizeof(a->pcs[0])) == 0;
}

static uint32_t number_of(const struct ctr_block *def)
{
    uint64_t h = def->pc * 0x9e3779b97f4a7c15ull ^ def->ninsn;
    uint32_t i;

    for (unsigned k = 0; k < def->off[def->ninsn]; k++) {
        h = (h ^ def->code[k]) * 0x100000001b3ull;
    }
    for (i = (uint32_t)(h >> 30) % BLOCKS; blocks[i].def; i = (i + 1) % BLOCKS) {
        if (same(blocks[i].def, def)) {
            return i;
        }
    }
    if (++nblocks > BLOCKS / 2) {
        fprintf(stderr, "oracle-coverage: too many blocks\n");
        exit(2);
    }
    blocks[i].def = def;
    return i;
}

static void add(struct recording *t, const struct run *r)
{
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 1024;
        t->runs = need(realloc(t->runs, t->room * sizeof(t->runs[0])));
    }
    t->runs[t->n++] = *r;
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct recording *t = arg;
    struct run run = {.block = number_of(r->block), .end = r->end, .pid = r->thread->pid};

    (void)job;
    run.complete = r->end == r->block->ninsn && !(r->flags & CTR_EV_FAULTED);
    t->many = t->many || (t->tid && t->tid != r->thread->tid);
    t->tid = r->thread->tid;
    if (r->first && t->n && t->runs[t->n - 1].block == run.block &&
        t->runs[t->n - 1].end == r->first) {
        t->runs[t->n - 1] = run;
        return 0;
    }
    add(t, &run);
    return 0;
}

static struct ctr_trace *read_trace(const char *file, struct recording *t)
{
    const struct ctr_replay_ops ops = {.run = on_run};
    const struct ctr_replay_opts opts = {.workers = 1};
    struct ctr_trace *tr;
    struct ctr_diag diag = {0};
    int r = ctr_open(&tr, file, 0, &diag);

    r = r ? r : ctr_trace_blocks(tr, &diag);
    r = r ? r : ctr_replay(tr, &ops, t, &opts, &diag);
    if (r) {
        bad(file, r, &diag);
    }
    return tr;
}

static void show(const char *what, const struct run *r)
{
    const struct ctr_block *b = blocks[r->block].def;

    printf("%s 0x%" PRIx64 ", %" PRIu32 " of %u instructions%s\n", what, b->pc, r->end,
           b->ninsn, r->complete ? "" : ", left early");
}

static bool must_be_recorded(const struct run *r)
{
    struct block *b = &blocks[r->block];

    if (b->done || (!r->complete && r->end <= b->reach)) {
        return false;
    }
    b->done = r->complete;
    b->reach = r->end;
    return true;
}

static int compare_sequence(const struct recording *whole, const struct recording *part)
{
    size_t k = 0;

    for (size_t i = 0; i < whole->n; i++) {
        const struct run *a = &whole->runs[i], *b = &part->runs[k];

        if (!must_be_recorded(a)) {
            continue;
        }
        if (k == part->n || a->block != b->block || a->end != b->end ||
            a->complete != b->complete) {
            printf("run %zu, of %zu that were recorded: ", k, part->n);
            show("it must be", a);
            if (k < part->n) {
                show("  and is", b);
            }
            return 1;
        }
        k++;
    }
    if (k < part->n) {
        show("recorded, but must not be:", &part->runs[k]);
        return 1;
    }
    return 0;
}

static int compare_sets(const struct recording *whole, const struct recording *part)
{
    const struct recording *both[2] = {whole, part};
    unsigned wrong = 0;

    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < both[i]->n; k++) {
            const struct run *r = &both[i]->runs[k];

            blocks[r->block].seen[i] |= r->complete;
        }
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].seen[0] != blocks[i].seen[1] && wrong++ < 10) {
            printf("only in the %s: 0x%" PRIx64 ", %u instructions\n",
                   blocks[i].seen[0] ? "whole" : "part", blocks[i].def->pc,
                   blocks[i].def->ninsn);
        }
    }
    return wrong != 0;
}

static int by_process(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    if (x->pid != y->pid) {
        return x->pid < y->pid ? -1 : 1;
    }
    if (x->block != y->block) {
        return x->block < y->block ? -1 : 1;
    }
    return (int)y->complete - (int)x->complete;
}

static int recorded_twice(const struct recording *part)
{
    unsigned wrong = 0;

    qsort(part->runs, part->n, sizeof(part->runs[0]), by_process);
    for (size_t i = 1; i < part->n; i++) {
        const struct run *r = &part->runs[i];

        if (r->complete && r->block == r[-1].block && r->pid == r[-1].pid &&
            wrong++ < 10) {
            show("recorded twice:", r);
        }
    }
    return wrong != 0;
}

int main(int argc, char **argv)
{
    struct recording whole = {0}, part = {0};
    struct ctr_trace *a = NULL, *b;
    bool set = argc == 4 && strcmp(argv[1], "--set") == 0;
    bool twice = argc == 3 && strcmp(argv[1], "--twice") == 0;
    size_t complete = 0;
    int r;

    if (argc != 3 && !set) {
        fprintf(stderr, "usage: oracle-coverage [--set] WHOLE PART | --twice PART\n");
        return 2;
    }
    if (!twice) {
        a = read_trace(argv[argc - 2], &whole);
    }
    b = read_trace(argv[argc - 1], &part);
    if ((a && !whole.n) || !part.n) {
        printf("nothing to compare\n");
        return 1;
    }
    if (!set && !twice && (whole.many || part.many)) {
        printf("several threads: only sets can be compared\n");
        return 2;
    }
    r = twice ? recorded_twice(&part)
        : set ? compare_sets(&whole, &part)
              : compare_sequence(&whole, &part);
    for (size_t i = 0; i < part.n; i++) {
        complete += part.runs[i].complete;
    }
    printf("%s: %zu runs, %zu recorded, %zu of them complete\n",
           r ? "different" : "equal", whole.n, part.n, complete);
    free(whole.runs);
    free(part.runs);
    ctr_close(a);
    ctr_close(b);
    return r;
}
