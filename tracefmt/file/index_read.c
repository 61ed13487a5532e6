/* SPDX-License-Identifier: MIT */
/*
 * Opens a finished file by its index: from the end over the seek table to END and from
 * there to ROOT. Whatever is not as it should be is an error here, and the caller scans
 * instead.
 */
#include "file/trace.h"

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
