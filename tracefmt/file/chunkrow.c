/* SPDX-License-Identifier: MIT */
/* What chunks say about themselves, checked, and the rows of a group by their headers. */
#include "file/trace.h"

#include "base/le.h"

static int corrupt(struct ctr_diag *diag, uint64_t off, const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, off, "chunk", "%s", what);
}

int trace_read_chunk(const struct ctr_trace *tr, const uint8_t *b, uint64_t off,
                     uint64_t bytes, uint64_t raw_bytes, struct chunk_row *out,
                     struct ctr_diag *diag)
{
    struct ctr_chunk *c = &out->pub;
    *c = (struct ctr_chunk){
        .index = le64(b + CHUNK_NUMBER),
        .off = off,
        .bytes = bytes,
        .raw_bytes = raw_bytes,
        .thread = le32(b + CHUNK_THREAD),
        .flags = le32(b + CHUNK_FLAGS) & CHUNK_F_HAS,
        .first = le64(b + CHUNK_FIRST),
        .insns = le64(b + CHUNK_INSNS),
        .loads = le64(b + CHUNK_LOADS),
        .stores = le64(b + CHUNK_STORES),
        .runs = le32(b + CHUNK_RUNS),
        .start_ns = le64(b + CHUNK_START),
        .end_ns = le64(b + CHUNK_END),
    };
    out->ends = (struct chunk_ends){
        .last = le32(b + CHUNK_LAST),
        .last_first = (uint16_t)le32(b + CHUNK_LAST_FIRST),
        .flags = le32(b + CHUNK_FLAGS) & (CHUNK_F_NEXT | CHUNK_F_BREAK),
    };
    if (!trace_thread(tr, c->thread)) {
        return corrupt(diag, off, "its thread is not known");
    }
    const uint64_t limit = (uint64_t)MAX_ADDRS + MAX_EXTRAS;
    if (c->insns > c->runs * CTR_MAX_BLOCK_INSNS || c->runs > MAX_TOKENS ||
        c->loads > limit || c->stores > limit || le32(b + CHUNK_FLAGS) & ~CHUNK_F_ALL ||
        c->first > UINT64_MAX / 2) {
        return corrupt(diag, off, "impossible counts");
    }
    return 0;
}

int trace_read_header(const struct ctr_trace *tr, const struct section *sec,
                      struct chunk_row *out, struct ctr_diag *diag)
{
    uint64_t raw = 0;
    if ((sec->nframes == CHUNK_PHYS_FRAMES) != ((tr->events & CTR_HAS_PHYS) != 0)) {
        return corrupt(diag, sec->off, "number of its columns");
    }
    for (unsigned i = 0; i < sec->nframes; i++) {
        raw += sec->frame[i].dsize;
    }
    int err = trace_read_chunk(tr, sec->body, sec->off, section_end(sec) - sec->off, raw,
                               out, diag);
    out->ends.next = le64(sec->body + CHUNK_NEXT);
    return err;
}

int trace_scan_rows(struct ctr_trace *tr, const struct chunk_group *g, uint64_t end,
                    struct chunk_row *rows, uint32_t *n, struct ctr_diag *diag)
{
    struct section sec = {.off = 0};
    uint64_t off = g->chunk_off;
    for (*n = 0; *n < g->count; off = section_end(&sec)) {
        int err = section_read(&tr->src, off, &sec, diag);
        if (err == SECTION_EOF || (!err && off >= end)) {
            err = corrupt(diag, off, "chunks are missing");
        }
        if (!err && sec.type == SECT_CHUNK) {
            err = trace_read_header(tr, &sec, &rows[*n], diag);
            if (!err && rows[*n].pub.index != g->first + *n) {
                err = corrupt(diag, off, "not the next chunk");
            }
            *n += !err;
        }
        if (err) {
            return err;
        }
    }
    return 0;
}
