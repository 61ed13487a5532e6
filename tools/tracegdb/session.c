/* SPDX-License-Identifier: MIT */
/* The begin and the end of a session, however it is connected. */
#include "session.h"

#include <stdlib.h>

int session_begin(struct session *s, uint32_t thread, uint64_t ordinal)
{
    int ret = gdb_regs_open(&s->regs, s->tr, &s->diag);

    ret = ret ? ret : position_open(s);
    ret = ret ? ret : position_go(s, thread, ordinal);
    s->begin = s->here.at;
    return ret;
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
