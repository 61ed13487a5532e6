/* SPDX-License-Identifier: MIT */
/*
 * Opens a finished file by its index: from the end over the seek table to END and from
 * there to ROOT. Whatever is not as it should be is an error here, and the caller scans
 * instead.
 */
#include "file/trace.h"

#include <string.h>
#include "base/le.h"

static int no_index(struct ctr_diag *diag, uint64_t off, const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, off, "index", "%s", what);
}

/* Finds END by the seek table's footer. The table itself is for other programs. */
static int find_end(struct ctr_trace *tr, struct section *end, struct ctr_diag *diag)
{
    uint8_t foot[SEEK_FOOT];
    uint64_t size = tr->src.size;
    if (size < tr->data_off + END_BYTES + FRAME_HEAD + SEEK_FOOT) {
        return no_index(diag, size, "too short");
    }
    int err =
        source_read(&tr->src, size - SEEK_FOOT, foot, sizeof(foot), NULL, "index", diag);
    if (err) {
        return err;
    }
    uint64_t frames = le32(foot);
    uint64_t table = FRAME_HEAD + frames * SEEK_ENTRY + SEEK_FOOT;
    if (le32(foot + 5) != SEEK_FOOT_MAGIC || foot[4] != 0 || frames > SEEK_MAX_FRAMES ||
        table + END_BYTES + tr->data_off > size) {
        return no_index(diag, size - SEEK_FOOT, "no seek table");
    }
    uint64_t at = size - table;
    err = section_read(&tr->src, at - END_BYTES, end, diag);
    if (err) {
        return err;
    }
    if (end->type != SECT_END || section_end(end) != at) {
        return no_index(diag, at - END_BYTES, "no end section");
    }
    trace_set_end(tr, end);
    return 0;
}

static int read_part_section(struct ctr_trace *tr, const struct chunk_group *g,
                             struct section *sec, struct ctr_diag *diag)
{
    int err = section_read(&tr->src, g->off, sec, diag);
    if (err < 0) {
        return err;
    }
    if (err || sec->type != SECT_PART || le64(sec->body + PART_FIRST) != g->first ||
        le32(sec->body + PART_COUNT) != g->count) {
        return no_index(diag, g->off, "not the part of the index");
    }
    return 0;
}

int trace_part_rows(struct ctr_trace *tr, const struct chunk_group *g, ZSTD_DCtx *dctx,
                    struct buf *payload, struct buf *raw, struct chunk_row *rows,
                    struct ctr_diag *diag)
{
    struct section sec;
    int err = read_part_section(tr, g, &sec, diag);
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
        return no_index(diag, g->off, "parts do not fit together");
    }
    uint64_t last = tr->data_off - 1;
    for (uint32_t i = 0; !err && i < g->count; i++) {
        const uint8_t *p = raw->p + i * ROW;
        uint64_t off = le64(p + ROW_OFF), bytes = le64(p + ROW_BYTES);
        if (off <= last || off > tr->src.size || bytes > tr->src.size - off) {
            return no_index(diag, g->off, "offset of a chunk");
        }
        last = off;
        err = trace_read_chunk(tr, p + ROW_CHUNK, off, bytes, le64(p + ROW_RAW), &rows[i],
                               diag);
        rows[i].ends.next = le64(p + ROW_NEXT);
    }
    return err;
}

static int read_regs(struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct section sec;
    int err = section_read(&tr->src, tr->regs_off, &sec, diag);
    if (err < 0) {
        return err;
    }
    if (err || sec.type != SECT_REGS) {
        return no_index(diag, tr->regs_off, "not the registers of the index");
    }
    return trace_set_regs(tr, &sec, diag);
}

/* Adds up the totals of the threads, which ROOT has. */
static void sum_threads(struct ctr_trace *tr)
{
    for (uint32_t i = 0; i < tr->nthreads; i++) {
        const struct thread *t = trace_thread(tr, i);
        tr->nchunks += t->chunks;
        tr->insns += t->insns;
        tr->loads += t->loads;
        tr->stores += t->stores;
    }
}

int trace_open_index(struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct section end, root;
    int err = find_end(tr, &end, diag);
    if (err) {
        return err;
    }
    uint64_t root_off = le64(end.body + END_ROOT);
    if (le64(end.body + END_META) != FILE_HEAD || root_off >= end.off) {
        return no_index(diag, end.off, "bad offset");
    }
    err = section_read(&tr->src, root_off, &root, diag);
    if (err < 0) {
        return err;
    }
    if (err || root.type != SECT_ROOT || section_end(&root) > end.off) {
        return no_index(diag, root_off, "no index");
    }
    err = trace_set_root(tr, &root, 1, diag);
    if (!err && tr->regs_off) {
        err = read_regs(tr, diag);
    }
    if (err) {
        return err;
    }
    sum_threads(tr);
    if (tr->nchunks != le64(root.body + ROOT_CHUNKS) ||
        tr->nchunks != chunktab_chunks(tr->chunks) ||
        tr->insns != le64(root.body + ROOT_INSNS) ||
        tr->loads != le64(root.body + ROOT_LOADS) ||
        tr->stores != le64(root.body + ROOT_STORES) ||
        blocktab_known(tr->blocks) != le32(root.body + ROOT_BLOCKS)) {
        return no_index(diag, root_off, "totals do not add up");
    }
    return 0;
}

int trace_part_frame(struct ctr_trace *tr, uint32_t part, unsigned frame, struct buf *out,
                     struct ctr_diag *diag)
{
    struct section sec;
    tr->parts_read += frame == 1;
    int err = read_part_section(tr, chunktab_group(tr->chunks, part), &sec, diag);
    if (!err) {
        err = section_payload(&tr->src, &sec, frame + 1, &tr->payload, diag);
    }
    if (!err) {
        err = section_frame(&sec, &tr->payload, frame, tr->dctx, out,
                            frame == 1 ? "part.counts" : "part.pages", diag);
    }
    return err;
}

int trace_check_part(struct ctr_trace *tr, uint32_t part, struct ctr_diag *diag)
{
    struct section sec;
    int err = read_part_section(tr, chunktab_group(tr->chunks, part), &sec, diag);
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
