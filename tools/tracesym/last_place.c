/* SPDX-License-Identifier: MIT */
/*
 * A recording of a part may lack the instruction that a fatal signal interrupted; the
 * signal's event has its place.
 */
#include "last_place.h"

#include <signal.h>
#include <stdbool.h>

#include "cannoli/events.h"

/* Whether an access raised the signal: not a process, and not that there is no code. */
static bool is_access(const struct ctr_signal *s)
{
    return (s->signo == SIGSEGV || s->signo == SIGBUS) && s->code > 0 && s->addr != s->pc;
}

/* Whether the signal came at the last instruction, or may have come after it; a branch at
 * the end of a block may go anywhere. */
static bool is_next(const struct ctr_exec *e, const struct ctr_signal *s)
{
    if (is_access(s)) {
        return s->pc == e->pc && e->flags & CTR_EV_FAULTED;
    }
    return s->pc == e->pc || s->pc == e->pc + e->len || e->insn + 1u == e->block->ninsn;
}

int last_place_unseen(struct ctr_trace *tr, const struct ctr_thread *t, uint64_t *pc,
                      struct ctr_diag *diag)
{
    const uint64_t last = t->first + t->insns - 1;
    const struct ctr_filter filter = {.kinds = CTR_KIND_EXEC | CTR_KIND_SYS,
                                      .nthread = 1,
                                      .threads = &t->index,
                                      .from = last};
    struct ctr_cursor *c;
    struct ctr_event ev;
    struct ctr_signal s;
    struct ctr_exec e = {0};
    int ret = t->insns ? ctr_cursor_open(&c, tr, &filter, diag) : 0, unseen = 0;

    if (ret || !t->insns) {
        return ret;
    }
    while ((ret = ctr_cursor_next(c, &ev, diag)) == 1) {
        if (ev.kind == CTR_CURSOR_EXEC) {
            e = ev.exec;
        } else if (ev.kind == CTR_CURSOR_OS && !ctr_parse_signal(&ev.os, &s) &&
                   s.flags & CTR_SIGNAL_FATAL && e.block && !is_next(&e, &s)) {
            *pc = s.pc;
            unseen = 1;
        }
    }
    ctr_cursor_close(c);
    return ret ? ret : unseen;
}
