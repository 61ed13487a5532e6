/* SPDX-License-Identifier: MIT */
/*
 * oracle-windows: a trace of one thread as the lines of windows.h.
 *
 *   oracle-windows [--forget N] TRACE
 *
 * --forget leaves the N-th access out, to show that a comparison notices it.
 */
#include "windows.h"

#include <stdlib.h>
#include <string.h>

#include "ctr.h"

#define LARGEST 16u /* bytes; a cache line has more */

struct reader {
    struct windows run;
    uint64_t expected; /* the next ordinal */
    uint64_t accesses, forget;
    int unordered;
};

/* The accesses of an instruction, from *next on. */
static void add_accesses(struct reader *r, const struct ctr_run *run, unsigned insn,
                         uint32_t *next)
{
    for (; *next < run->naccess && run->access[*next].insn <= insn; ++*next) {
        const struct ctr_access *a = &run->access[*next];

        if (a->size <= LARGEST && ++r->accesses != r->forget) {
            window_access(&r->run, a->addr, a->size, a->store);
        }
    }
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *run)
{
    struct reader *r = arg;
    uint32_t next = 0;

    (void)job;
    r->unordered |= run->ordinal != r->expected;
    r->expected = run->ordinal + (run->end - run->first);
    for (unsigned i = run->first; i < run->end; i++) {
        /* what the chunk before has not of the first instruction */
        if (i == run->first && run->naccess && run->access[0].insn < i) {
            add_accesses(r, run, i - 1, &next);
        }
        window_insn(&r->run, ctr_block_pc(run->block, i));
        add_accesses(r, run, i, &next);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct reader r = {.run = {.out = stdout}};
    const struct ctr_replay_ops ops = {.run = on_run};
    const struct ctr_replay_opts opts = {.workers = 1, .run_accesses = CTR_RUN_ACCESSES};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_trace *trace;

    if (argc == 4 && !strcmp(argv[1], "--forget")) {
        r.forget = strtoull(argv[2], NULL, 10);
    } else if (argc != 2) {
        fprintf(stderr, "usage: oracle-windows [--forget N] TRACE\n");
        return 2;
    }
    if (ctr_open(&trace, argv[argc - 1], 0, &diag) ||
        ctr_replay(trace, &ops, &r, &opts, &diag)) {
        fprintf(stderr, "oracle-windows: %s\n", diag.text);
        return 2;
    }
    window_end(&r.run);
    ctr_close(trace);
    if (r.unordered) {
        fprintf(stderr, "oracle-windows: instructions are missing\n");
        return 1;
    }
    return 0;
}
