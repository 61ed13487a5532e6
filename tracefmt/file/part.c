/* SPDX-License-Identifier: MIT */
/* Reads PART sections: the rows of a group of chunks, their counts and their pages. */
#include "file/trace.h"

#include <string.h>
#include "base/le.h"

static int corrupt(struct ctr_diag *diag, const struct chunk_group *g, const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, g->off, "index", "%s", what);
}

static int read_header(struct ctr_trace *tr, const struct chunk_group *g,
                       struct section *sec, struct ctr_diag *diag)
{
    int err = section_read(&tr->src, g->off, sec, diag);
    if (err < 0) {
        return err;
    }
    if (err || sec->type != SECT_PART || le64(sec->body + PART_FIRST) != g->first ||
        le32(sec->body + PART_COUNT) != g->count) {
        return corrupt(diag, g, "not the part of the index");
    }
    return 0;
}

int trace_part_rows(struct ctr_trace *tr, const struct chunk_group *g, ZSTD_DCtx *dctx,
                    struct buf *payload, struct buf *raw, struct chunk_row *rows,
                    struct ctr_diag *diag)
{
    struct section sec;
    int err = read_header(tr, g, &sec, diag);
    if (!err) {
        err = section_payload(&tr->src, &sec, 1, payload, diag);
    }
    if (!err) {
        err = section_frame(&sec, payload, 0, dctx, raw, "part", diag);
    }
    if (err) {
        return err;
    }
    if (raw->n != g->count * ROW) {
        return corrupt(diag, g, "parts do not fit together");
    }
    uint64_t last = tr->data_off - 1;
    for (uint32_t i = 0; !err && i < g->count; i++) {
        const uint8_t *p = raw->p + i * ROW;
        uint64_t off = le64(p + ROW_OFF), bytes = le64(p + ROW_BYTES);
        if (off <= last || off > tr->src.size || bytes > tr->src.size - off) {
            return corrupt(diag, g, "offset of a chunk");
        }
        last = off;
        err = trace_read_chunk(tr, p + ROW_CHUNK, off, bytes, le64(p + ROW_RAW), &rows[i],
                               diag);
        rows[i].ends.next = le64(p + ROW_NEXT);
    }
    return err;
}

int trace_part_frame(struct ctr_trace *tr, const struct chunk_group *g, unsigned frame,
                     ZSTD_DCtx *dctx, struct buf *payload, struct buf *out,
                     struct ctr_diag *diag)
{
    struct section sec;
    atomic_fetch_add_explicit(&tr->parts_read, frame == 2, memory_order_relaxed);
    int err = read_header(tr, g, &sec, diag);
    if (!err) {
        err = section_payload(&tr->src, &sec, frame + 1, payload, diag);
    }
    if (!err) {
        err = section_frame(&sec, payload, frame, dctx, out,
                            frame == 1 ? "part.counts" : "part.pages", diag);
    }
    return err;
}

int trace_check_part(struct ctr_trace *tr, const struct chunk_group *g,
                     struct ctr_diag *diag)
{
    struct section sec;
    int err = read_header(tr, g, &sec, diag);
    if (!err) {
        err = section_payload(&tr->src, &sec, sec.nframes, &tr->payload, diag);
    }
    for (unsigned i = 0; !err && i < sec.nframes; i++) {
        err = section_check(&sec, &tr->payload, i, "index", diag);
    }
    if (err) { /* whatever was read of it */
        strcpy(diag->field, "index");
    }
    return err;
}
