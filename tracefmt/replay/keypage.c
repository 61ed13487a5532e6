/* SPDX-License-Identifier: MIT */
/* ctr_key_page_find: the index shows which chunks have key frames of a page, and the events
 * of the last one of them have its contents. */
#include <string.h>

#include "decode/feed.h"

struct finder {
    struct ctr_trace *tr;
    uint32_t thread;
    uint64_t ordinal, addr;
    struct feed feed;   /* key frames only; its index */
    struct ranges page; /* the address */
    struct raw_chunk raw;
    struct ctr_key_page *out;
    struct ctr_diag *diag;
};

/* The events of a chunk up to the place. Returns 1 if there is one, 0 or an error. */
static int look(struct finder *f, const struct ctr_chunk *c)
{
    struct evdec *e = &f->feed.times;
    int found = 0;
    int err = feed_read(&f->feed, c, &f->raw, f->diag);
    err = err ? err
              : evdec_begin(e, &f->raw.sec, &f->raw.payload, c, f->feed.dctx, f->diag);
    for (; !err && e->have && e->ev.ordinal <= f->ordinal; err = evdec_next(e)) {
        struct ctr_keyframe key;
        if (ctr_parse_keyframe(&e->ev, &key) || f->addr - key.addr >= key.n) {
            continue;
        }
        found = 1;
        f->out->ordinal = e->ev.ordinal;
        f->out->addr = key.addr;
        f->out->n = key.n;
        memcpy(f->out->data, key.data, key.n);
    }
    return err ? err : found;
}

/* Searches the chunks of a PART, up to number `last'. */
static int look_group(struct finder *f, const struct chunk_group *g, uint64_t last)
{
    uint8_t may[PART_MAX_CHUNKS];
    uint32_t n = 0;
    int ret = 0;
    for (; !ret && n < g->count && g->first + n <= last; n++) {
        struct part_pages pages;
        ret = part_reader_chunk(&f->feed.index, g->first + n, NULL, NULL, &f->page,
                                &pages, f->diag);
        may[n] = (uint8_t)(!ret && pages.keyframe);
    }
    while (!ret && n--) {
        struct chunk_row row;
        if (!may[n]) {
            continue;
        }
        ret = chunktab_get(f->tr->chunks, g->first + n, &row, f->diag);
        if (!ret && row.pub.thread == f->thread && row.pub.first <= f->ordinal) {
            ret = look(f, &row.pub);
        }
    }
    return ret;
}

static int find(struct finder *f)
{
    struct chunk_row row;
    int ret = chunktab_ordinal(f->tr->chunks, f->thread, f->ordinal, 1, &row, f->diag);
    if (ret != 1) {
        return ret;
    }
    uint64_t last = row.pub.index;
    for (uint32_t g = chunktab_find(f->tr->chunks, last, 0) + 1; g--;) {
        const struct chunk_group *group = chunktab_group(f->tr->chunks, g);
        const struct chunk_span *s = &group->span;
        if (!(s->flags & CHUNK_F_KEYFRAMES) || f->thread < s->thread ||
            f->thread > s->last_thread) {
            continue;
        }
        ret = look_group(f, group, last);
        if (ret) {
            return ret;
        }
    }
    return 0;
}

int ctr_key_page_find(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal,
                      uint64_t addr, struct ctr_key_page *out, struct ctr_diag *diag)
{
    const struct ctr_range range = {addr, addr + 1 ? addr + 1 : addr, 0};
    struct finder f = {.tr = tr,
                       .thread = thread,
                       .ordinal = ordinal,
                       .addr = addr,
                       .page = {&range, 1},
                       .out = out,
                       .diag = diag};
    if (!tr->src.seekable || !tr->has_index || !(tr->events & CTR_HAS_KEY)) {
        return 0;
    }
    int ret = feed_init(&f.feed, tr, NULL, diag);
    if (ret) {
        return ret;
    }
    f.feed.runs = 0;
    f.feed.os = CTR_KIND_KEYFRAME;
    ret = find(&f);
    feed_fini(&f.feed);
    buf_free(&f.raw.payload);
    return ret;
}
