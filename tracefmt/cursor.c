/* SPDX-License-Identifier: MIT */
/* One event after the other, and seeking. */
#include "feed.h"

#include <string.h>

struct ctr_cursor {
    struct feed feed;
    struct raw_chunk raw;
    struct decoder dec;
    const struct ctr_thread *thread;
    int in_chunk; /* the decoder stands in raw */
    int in_run;   /* x expands run */
    int in_insn;  /* x stands on an instruction */
    struct run run;
    struct expand x;
    uint32_t a; /* next access of the instruction */
    struct ctr_exec exec;
    uint64_t seek_chunk; /* in this chunk, events before seek_lo are skipped */
    uint64_t seek_lo;
};

int ctr_cursor_open(struct ctr_cursor **out, struct ctr_trace *tr,
                    const struct ctr_filter *filter, struct ctr_diag *diag)
{
    *out = NULL;
    struct ctr_cursor *c = calloc(1, sizeof(*c));
    if (!c) {
        return ctr_fail_nomem(diag);
    }
    int err = feed_init(&c->feed, tr, filter, diag);
    if (err) {
        free(c);
        return err;
    }
    c->feed.mem =
        (tr->events & CTR_HAS_MEM) && (c->feed.kinds & (CTR_KIND_LOAD | CTR_KIND_STORE));
    c->seek_chunk = UINT64_MAX;
    if (decoder_init(&c->dec)) {
        ctr_cursor_close(c);
        return ctr_fail_nomem(diag);
    }
    *out = c;
    return 0;
}

void ctr_cursor_close(struct ctr_cursor *c)
{
    if (!c) {
        return;
    }
    decoder_fini(&c->dec);
    buf_free(&c->raw.payload);
    feed_fini(&c->feed);
    free(c);
}

/* Moves to the next run.  Returns 1, 0 at the end of the trace, or an error. */
static int next_run(struct ctr_cursor *c, struct ctr_diag *diag)
{
    for (;;) {
        int ret;
        if (!c->in_chunk) {
            ret = feed_next(&c->feed, &c->raw, diag);
            if (ret != 1) {
                return ret;
            }
            ret = decoder_begin(&c->dec, c->feed.tr, &c->raw, c->feed.mem, diag);
            if (ret) {
                return ret;
            }
            c->in_chunk = 1;
            c->thread = ctr_trace_thread(c->feed.tr, c->raw.pub.thread);
        }
        c->dec.diag = diag;
        ret = decoder_next(&c->dec, &c->run);
        if (ret < 0) {
            return ret;
        }
        if (ret == 1) {
            uint64_t lo = c->feed.filter.from;
            if (c->raw.pub.index == c->seek_chunk && lo < c->seek_lo) {
                lo = c->seek_lo;
            }
            expand_init(&c->x, &c->feed, &c->run, lo, c->feed.filter.to);
            return 1;
        }
        c->in_chunk = 0;
    }
}

int ctr_cursor_next(struct ctr_cursor *c, struct ctr_event *ev, struct ctr_diag *diag)
{
    for (;;) {
        if (c->in_insn) {
            while (c->a < c->x.a_end) {
                uint32_t a = c->a++;
                if (feed_access(&c->feed, &c->run.access[a])) {
                    ev->kind = CTR_EVENT_MEM;
                    ev->exec = c->exec;
                    expand_mem(&c->x, c->thread, a, &ev->mem);
                    return 1;
                }
            }
            c->in_insn = 0;
        }
        if (!c->in_run) {
            int ret = next_run(c, diag);
            if (ret != 1) {
                return ret;
            }
            c->in_run = 1;
        }
        if (!expand_step(&c->x)) {
            c->in_run = 0;
            continue;
        }
        c->in_insn = 1;
        c->a = c->x.a;
        expand_exec(&c->x, c->thread, &c->exec);
        if (c->x.exec) {
            ev->kind = CTR_EVENT_EXEC;
            ev->exec = c->exec;
            memset(&ev->mem, 0, sizeof(ev->mem));
            return 1;
        }
    }
}

static void jump(struct ctr_cursor *c, uint64_t chunk, uint64_t lo)
{
    c->feed.next = chunk;
    c->seek_chunk = chunk;
    c->seek_lo = lo;
    c->in_chunk = c->in_run = c->in_insn = 0;
}

static int no_place(struct ctr_diag *diag, const char *what)
{
    return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "seek", "%s", what);
}

int ctr_cursor_seek_ordinal(struct ctr_cursor *c, uint32_t thread, uint64_t ordinal,
                            struct ctr_diag *diag)
{
    const struct ctr_trace *tr = c->feed.tr;
    for (uint64_t i = 0; tr->src.seekable && i < tr->nchunks; i++) {
        const struct ctr_chunk *k = &tr->chunks[i];
        if (k->thread == thread && ordinal >= k->first && ordinal - k->first < k->insns) {
            jump(c, i, ordinal);
            return 0;
        }
    }
    return no_place(diag, "no such instruction");
}

int ctr_cursor_seek_thread(struct ctr_cursor *c, uint32_t thread, struct ctr_diag *diag)
{
    const struct ctr_trace *tr = c->feed.tr;
    for (uint64_t i = 0; tr->src.seekable && i < tr->nchunks; i++) {
        if (tr->chunks[i].thread == thread) {
            jump(c, i, 0);
            return 0;
        }
    }
    return no_place(diag, "no such thread");
}

int ctr_cursor_seek_time(struct ctr_cursor *c, uint64_t ns, struct ctr_diag *diag)
{
    const struct ctr_trace *tr = c->feed.tr;
    for (uint64_t i = 0; tr->src.seekable && i < tr->nchunks; i++) {
        if (tr->chunks[i].end_ns >= ns) {
            jump(c, i, 0);
            return 0;
        }
    }
    return no_place(diag, "no such time");
}
