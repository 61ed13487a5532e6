/* SPDX-License-Identifier: MIT */
/*
 * replay_profile: where a recorded program spends its instructions, piece by
 * piece and in total.  An example of how to use libctr.
 *
 *   replay_profile run.ctr
 *   cannoli-record -q -o - -- ./app | replay_profile -
 *
 * For each chunk of the trace it prints one line: when, which thread, how many
 * instructions, how many bytes were loaded and stored, and the block that ran
 * most.  At the end come the hottest blocks of the whole run.  On a pipe the
 * lines appear while the program runs: the same code reads files and streams.
 *
 * It shows the shape that most analyses have:
 *
 *   1. callbacks count in parallel, each worker in memory of its own;
 *   2. at the end of its piece a worker packs what it found and appends that
 *      to the piece's output;
 *   3. the ordered callback gets these results one at a time, in the order in
 *      which the program was recorded, and adds them up or prints them.
 *
 * No lock is needed anywhere, and the output does not depend on the number of
 * workers.
 *
 * Build: cc -o replay_profile replay_profile.c $(pkg-config --cflags --libs libctr)
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctr.h>

#define TOP 10 /* blocks listed at the end */
#define WORKERS 4

/* A growing array of counts, one for each block id.  Ids are dense: 1, 2, ... */
struct counts {
    uint64_t *by_id;
    uint32_t size;
};

/* Step 1: what one worker knows about the piece it is working on. */
struct worker {
    struct counts insns; /* per block; zero for blocks not in the piece */
    uint32_t *touched;   /* ids that are not zero there */
    uint32_t nr_touched, cap_touched;
    uint64_t total;
    uint64_t loaded, stored; /* bytes */
};

/* Step 2: the result of a piece: this, and then nr_blocks entries. */
struct piece_block {
    uint64_t insns;
    uint32_t id;
    uint32_t zero;
};

struct piece {
    uint64_t insns;
    uint64_t loaded, stored;
    uint64_t nr_blocks;
    struct piece_block blocks[];
};

/* Step 3: what the ordered callback adds up. */
struct profile {
    const struct ctr_trace *trace;
    uint64_t start_ns;
    struct counts total;
    struct worker workers[WORKERS];
};

/* Callbacks stop the replay with a positive value, as the errors of the library are
 * negative. */
enum { STOP_NOMEM = 1, STOP_OUTPUT = 2 };

static uint64_t *count_of(struct counts *c, uint32_t id)
{
    if (id >= c->size) {
        uint32_t size = c->size ? c->size : 1024;
        uint64_t *by_id;

        while (size <= id) {
            size *= 2;
        }
        by_id = realloc(c->by_id, size * sizeof(*by_id));
        if (!by_id) {
            return NULL;
        }
        memset(by_id + c->size, 0, (size - c->size) * sizeof(*by_id));
        c->by_id = by_id;
        c->size = size;
    }
    return &c->by_id[id];
}

/* ------------------------------------------------- 1. parallel: run and mem */

/*
 * A block was entered.  This is the cheapest way to count instructions: one
 * call for a whole block.  An `exec' callback would get every instruction.
 *
 * ctr_job_worker() says which worker we are; a worker runs one callback at a
 * time, so its memory is ours alone.
 */
static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *run)
{
    struct profile *prof = arg;
    struct worker *w = &prof->workers[ctr_job_worker(job)];
    uint64_t n = (uint64_t)(run->end - run->first);
    uint64_t *count = count_of(&w->insns, run->block->id);

    if (!count) {
        return STOP_NOMEM;
    }
    if (*count == 0 && n) {
        if (w->nr_touched == w->cap_touched) {
            uint32_t cap = w->cap_touched ? 2 * w->cap_touched : 1024;
            uint32_t *touched = realloc(w->touched, cap * sizeof(*touched));

            if (!touched) {
                return STOP_NOMEM;
            }
            w->touched = touched;
            w->cap_touched = cap;
        }
        w->touched[w->nr_touched++] = run->block->id;
    }
    *count += n;
    w->total += n;
    return 0;
}

/* A load or store was made. */
static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *mem)
{
    struct profile *prof = arg;
    struct worker *w = &prof->workers[ctr_job_worker(job)];

    if (mem->store) {
        w->stored += mem->size;
    } else {
        w->loaded += mem->size;
    }
    return 0;
}

/* --------------------------------------------- 2. parallel: pack the result */

/*
 * The piece is over.  What is appended to the job reaches the ordered
 * callback; bytes that one callback commits at once stay together.
 */
static int on_end(void *arg, struct ctr_job *job)
{
    struct profile *prof = arg;
    struct worker *w = &prof->workers[ctr_job_worker(job)];
    size_t bytes = sizeof(struct piece) + w->nr_touched * sizeof(struct piece_block);
    struct piece *piece = ctr_job_reserve(job, bytes);

    if (!piece) {
        return STOP_NOMEM;
    }
    *piece = (struct piece){.insns = w->total,
                            .loaded = w->loaded,
                            .stored = w->stored,
                            .nr_blocks = w->nr_touched};
    for (uint32_t i = 0; i < w->nr_touched; i++) {
        uint32_t id = w->touched[i];

        piece->blocks[i] = (struct piece_block){.insns = w->insns.by_id[id], .id = id};
        w->insns.by_id[id] = 0; /* ready for the next piece */
    }
    ctr_job_commit(job, bytes);
    w->nr_touched = 0;
    w->total = w->loaded = w->stored = 0;
    return 0;
}

/* ------------------------------------------- 3. in order: add up and print */

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct profile *prof = arg;
    const struct ctr_thread *thread = ctr_job_thread(job);
    const struct ctr_chunk *chunk = ctr_job_chunk(job);
    const struct piece *piece = data;
    const struct piece_block *hot = NULL;
    const struct ctr_block *block;

    (void)n; /* one piece was appended, whole */
    for (uint64_t i = 0; i < piece->nr_blocks; i++) {
        uint64_t *count = count_of(&prof->total, piece->blocks[i].id);

        if (!count) {
            return STOP_NOMEM;
        }
        *count += piece->blocks[i].insns;
        if (!hot || piece->blocks[i].insns > hot->insns) {
            hot = &piece->blocks[i];
        }
    }
    printf("%10.6f s  %d/%d  %10" PRIu64 " instructions  %10" PRIu64
           " bytes loaded  %10" PRIu64 " stored",
           (double)(chunk->start_ns - prof->start_ns) / 1e9, thread->pid, thread->tid,
           piece->insns, piece->loaded, piece->stored);
    block = hot ? ctr_trace_block(prof->trace, hot->id) : NULL;
    if (block) {
        printf("  hottest 0x%" PRIx64 " (%.0f %%)", block->pc,
               100.0 * (double)hot->insns / (double)piece->insns);
    }
    putchar('\n');
    return fflush(stdout) ? STOP_OUTPUT : 0;
}

/* --------------------------------------------------------------- the rest */

static void print_hottest(const struct profile *prof, uint64_t insns)
{
    uint32_t top[TOP], n = 0;

    for (uint32_t id = 1; id < prof->total.size; id++) {
        uint32_t at = n;

        while (at > 0 && prof->total.by_id[id] > prof->total.by_id[top[at - 1]]) {
            at--;
        }
        if (prof->total.by_id[id] && at < TOP) {
            n += n < TOP;
            memmove(&top[at + 1], &top[at], (n - 1 - at) * sizeof(*top));
            top[at] = id;
        }
    }
    printf("\nhottest blocks:\n");
    for (uint32_t i = 0; i < n; i++) {
        const struct ctr_block *b = ctr_trace_block(prof->trace, top[i]);
        uint64_t count = prof->total.by_id[top[i]];

        if (!b) {
            continue; /* the file has been changed since */
        }
        printf("  0x%08" PRIx64 "  %3u instructions  executed %12" PRIu64 "  %5.1f %%\n",
               b->pc, b->ninsn, count, 100.0 * (double)count / (double)insns);
    }
}

int main(int argc, char **argv)
{
    static const struct ctr_replay_ops ops = {
        .run = on_run,
        .mem = on_mem,
        .end = on_end,
        .ordered = on_ordered,
    };
    struct ctr_replay_opts opts = {.workers = WORKERS};
    struct profile *prof;
    struct ctr_trace *trace;
    struct ctr_info info;
    struct ctr_diag diag;
    int ret, status = 1;

    if (argc != 2) {
        fprintf(stderr, "Usage: replay_profile FILE ('-' is standard input)\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);

    /* The same call opens a file, or a stream that is still being recorded. */
    ret = ctr_open(&trace, argv[1], 0, &diag);
    if (ret < 0) {
        fprintf(stderr, "replay_profile: %s: %s\n", argv[1], diag.text);
        return 1;
    }
    ctr_trace_info(trace, &info);
    prof = calloc(1, sizeof(*prof));
    if (!prof) {
        fprintf(stderr, "replay_profile: out of memory\n");
        goto out_close;
    }
    prof->trace = trace;
    prof->start_ns = info.start_ns;

    ret = ctr_replay(trace, &ops, prof, &opts, &diag);
    if (ret == STOP_OUTPUT) {
        status = errno == EPIPE ? 0 : 1;
        goto out_free;
    }
    if (ret != 0) {
        fprintf(stderr, "replay_profile: %s: %s\n", argv[1],
                ret < 0 ? diag.text : "out of memory");
        goto out_free;
    }

    /* On a stream totals and state are known now. */
    ctr_trace_info(trace, &info);
    print_hottest(prof, info.insns);
    printf("%" PRIu64 " instructions, %" PRIu64 " loads, %" PRIu64
           " stores in %u threads\n",
           info.insns, info.loads, info.stores, info.threads);
    status = info.state == CTR_COMPLETE ? 0 : 3;

out_free:
    for (unsigned i = 0; i < WORKERS; i++) {
        free(prof->workers[i].insns.by_id);
        free(prof->workers[i].touched);
    }
    free(prof->total.by_id);
    free(prof);
out_close:
    ctr_close(trace);
    return status;
}
