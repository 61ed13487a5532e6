/* SPDX-License-Identifier: MIT */
/* The begin and the end of a session, however it is connected. */
#include "session.h"

#include <stdlib.h>

int session_rewind(struct session *s)
{
    int ret = position_go(s, s->begin.thread, s->begin.ordinal);

    s->here.last = (struct stop){.why = STOP_THERE};
    return ret || !s->begin_signal ? ret : signals_stop(s);
}

int session_begin(struct session *s, uint32_t thread, uint64_t ordinal, bool signal)
{
    int ret = gdb_regs_open(&s->regs, s->tr, &s->diag);

    ret = ret ? ret : position_open(s);
    ret = ret ? ret : position_go(s, thread, ordinal);
    s->begin = s->here.at;
    s->begin_signal = signal;
    return ret ? ret : session_rewind(s);
}

void session_end(struct session *s)
{
    position_close(s);
    gdb_regs_close(s->regs);
    textbuf_fini(&s->out);
    textbuf_fini(&s->document);
    marks_free(s);
    free(s->points);
    free(s->others);
    free(s->births);
    free(s->stretch.hits);
    free(s->signals);
}
