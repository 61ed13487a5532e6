/* SPDX-License-Identifier: MIT */
/*
 * oracle-replay: do a trace's register states and its changes agree?
 *
 *   oracle-replay [--forget N] TRACE
 *
 * For every thread: the state at the begin of its first chunk, after the recorded
 * changes, equals the state at the begin of each further chunk.  On x86, every
 * conditional branch goes where the flags of the state before it say.  --forget leaves
 * the N-th change out, to show that the check notices it.
 */
#include "ctr.h"
#include "bad.h"
#include "flags.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thread {
    uint8_t *state;   /* with all changes so far; NULL before its first instruction */
    uint64_t *begins; /* ordinals at which chunks begin, ascending */
    size_t nbegins, room, next;
    uint64_t at;                   /* ordinal of the next instruction */
    const struct ctr_block *block; /* of the last one */
    uint16_t insn;
    uint64_t pc;
    uint32_t flags; /* before it */
};

struct check {
    struct ctr_trace *trace;
    struct thread *threads;
    uint32_t nthreads, nreg;
    uint64_t insns, changes, states, branches;
    uint32_t eflags; /* number of this register, nreg if there is none */
    bool wide;
    uint8_t *state; /* room for one */
};

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "oracle-replay: out of memory\n");
        exit(2);
    }
    return p;
}

static void read_chunks(struct check *c)
{
    struct ctr_chunk chunk;

    for (uint64_t i = 0; ctr_trace_chunk(c->trace, i, &chunk, NULL) == 0; i++) {
        struct thread *t = &c->threads[chunk.thread];

        if (t->nbegins == t->room) {
            t->room = t->room ? t->room * 2 : 16;
            t->begins = need(realloc(t->begins, t->room * sizeof(t->begins[0])));
        }
        t->begins[t->nbegins++] = chunk.first;
    }
}

static void state_at(struct check *c, uint32_t thread, uint64_t ordinal, uint8_t *out)
{
    struct ctr_diag diag = {0};
    uint64_t pc, time;
    int r = ctr_state_at(c->trace, thread, ordinal, out, &pc, &time, &diag);

    if (r) {
        bad("no state", r, &diag);
    }
}

static void compare(struct check *c, uint32_t thread, uint64_t ordinal)
{
    const struct thread *t = &c->threads[thread];

    state_at(c, thread, ordinal, c->state);
    c->states++;
    for (uint32_t i = 0; i < c->nreg; i++) {
        const struct ctr_reg *reg = ctr_trace_reg(c->trace, i);
        const uint8_t *a = c->state + (size_t)i * CTR_REG_STRIDE;
        const uint8_t *b = t->state + (size_t)i * CTR_REG_STRIDE;

        if (memcmp(a, b, reg->size) == 0) {
            continue;
        }
        printf("thread %" PRIu32 " ordinal %" PRIu64 ": %s is 0x", thread, ordinal,
               reg->name);
        for (uint32_t k = reg->size; k-- > 0;) {
            printf("%02x", a[k]);
        }
        printf(", after the changes 0x");
        for (uint32_t k = reg->size; k-- > 0;) {
            printf("%02x", b[k]);
        }
        printf("\n");
        exit(1);
    }
}

/* The branch before e, if there is one, and the flags before e. */
static void check_branch(struct check *c, struct thread *t, const struct ctr_exec *e)
{
    const uint8_t *p = t->state + (size_t)c->eflags * CTR_REG_STRIDE;

    if (t->block) {
        enum branch b =
            x86_branch(ctr_block_bytes(t->block, t->insn),
                       ctr_block_len(t->block, t->insn), t->pc, c->wide, t->flags, e->pc);

        c->branches += b != BRANCH_NONE;
        if (b == BRANCH_WRONG) {
            printf("thread %" PRIu32 " ordinal %" PRIu64 " pc 0x%" PRIx64
                   ": it branched against eflags 0x%" PRIx32 "\n",
                   e->thread->index, e->ordinal - 1, t->pc, t->flags);
            exit(1);
        }
    }
    t->block = e->block;
    t->insn = e->insn;
    t->pc = e->pc;
    t->flags = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void before_insn(struct check *c, const struct ctr_exec *e)
{
    struct thread *t = &c->threads[e->thread->index];
    bool begin = false;

    while (t->next < t->nbegins && t->begins[t->next] <= e->ordinal) {
        begin |= t->begins[t->next++] == e->ordinal;
    }
    if (!t->state) {
        t->state = need(calloc(c->nreg, CTR_REG_STRIDE));
        state_at(c, e->thread->index, e->ordinal, t->state);
    } else if (begin) {
        compare(c, e->thread->index, e->ordinal);
    }
    if (c->eflags < c->nreg) {
        check_branch(c, t, e);
    }
    t->at = e->ordinal + 1;
    c->insns++;
}

int main(int argc, char **argv)
{
    static const struct ctr_filter filter = {.kinds = CTR_KIND_EXEC | CTR_KIND_REG};
    struct ctr_cursor *cursor;
    struct ctr_diag diag = {0};
    struct check c = {0};
    struct ctr_event ev;
    struct ctr_info info;
    const struct ctr_reg *reg;
    uint64_t forget = UINT64_MAX;
    int r;

    if (argc == 4 && strcmp(argv[1], "--forget") == 0) {
        forget = strtoull(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: oracle-replay [--forget N] TRACE\n");
        return 2;
    }
    r = ctr_open(&c.trace, argv[1], 0, &diag);
    if (r) {
        bad("the trace cannot be read", r, &diag);
    }
    ctr_trace_info(c.trace, &info);
    c.wide = info.addr_bits == 64;
    c.eflags = UINT32_MAX;
    for (; (reg = ctr_trace_reg(c.trace, c.nreg)); c.nreg++) {
        if (strcmp(reg->name, "eflags") == 0) {
            c.eflags = c.nreg;
        }
    }
    while (ctr_trace_thread(c.trace, c.nthreads)) {
        c.nthreads++;
    }
    if (!c.nreg) {
        printf("the trace has no registers\n");
        return 1;
    }
    c.threads = need(calloc(c.nthreads + 1, sizeof(c.threads[0])));
    c.state = need(calloc(c.nreg, CTR_REG_STRIDE));
    read_chunks(&c);
    r = ctr_trace_blocks(c.trace, &diag); /* of the event before */
    r = r ? r : ctr_cursor_open(&cursor, c.trace, &filter, &diag);
    while (r == 0 && (r = ctr_cursor_next(cursor, &ev, &diag)) == 1) {
        if (ev.kind == CTR_CURSOR_EXEC) {
            before_insn(&c, &ev.exec);
        } else if (ev.kind == CTR_CURSOR_REG && c.threads[ev.reg.thread->index].state) {
            if (c.changes++ != forget) {
                memcpy(c.threads[ev.reg.thread->index].state +
                           (size_t)ev.reg.reg * CTR_REG_STRIDE,
                       ev.reg.value, ev.reg.size);
            }
        }
        r = 0;
    }
    if (r < 0) {
        bad("the trace cannot be read", r, &diag);
    }
    /* all changes up to the end give the state after the last instruction */
    for (uint32_t i = 0; i < c.nthreads; i++) {
        if (c.threads[i].state) {
            compare(&c, i, c.threads[i].at);
        }
    }
    if (!c.insns || !c.changes) {
        printf("nothing to compare\n");
        return 1;
    }
    printf("equal: %" PRIu64 " instructions, %" PRIu64 " changes, %" PRIu64
           " states, %" PRIu64 " branches by flags\n",
           c.insns, c.changes, c.states, c.branches);
    ctr_cursor_close(cursor);
    ctr_close(c.trace);
    return 0;
}
