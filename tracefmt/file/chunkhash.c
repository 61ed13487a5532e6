/* SPDX-License-Identifier: MIT */
/*
 * Hashes of the columns of a chunk, from its section's header: that has a hash of each
 * compressed column, so equal chunks are found without reading what is in them.
 */
#include "ctr.h"
#include "file/trace.h"

#include <xxhash.h>
#include "base/le.h"

/* Columns, and numbers of the body without which these cannot be decoded. */
struct part {
    uint8_t frame[2];
    uint8_t field[7]; /* offsets of u32 in the body, 0: no more */
};

static uint64_t hash_of(const struct section *sec, const struct part *p)
{
    uint8_t bytes[2 * 16 + 7 * 4];
    uint8_t *at = bytes;

    for (unsigned i = 0; i < 2; i++) {
        const struct section_frame *f = &sec->frame[p->frame[i]];
        put32(at, f->csize);
        put32(at + 4, f->dsize);
        put64(at + 8, f->hash);
        at += 16;
    }
    for (unsigned i = 0; i < 7; i++) {
        put32(at, p->field[i] ? le32(sec->body + p->field[i]) : 0);
        at += 4;
    }
    return XXH64(bytes, sizeof(bytes), 0);
}

int ctr_trace_chunk_hash(struct ctr_trace *tr, uint64_t i, struct ctr_chunk_hash *out,
                         struct ctr_diag *diag)
{
    static const struct part runs = {{FRAME_WORDS, FRAME_WORDS},
                                     {CHUNK_INSNS, CHUNK_RUNS, CHUNK_MAX_ID, CHUNK_LOCALS,
                                      CHUNK_TOKENS, CHUNK_TOKEN_MISS}};
    static const struct part accesses = {
        {FRAME_ADDRS, FRAME_EXTRAS},
        {CHUNK_LOADS, CHUNK_STORES, CHUNK_ADDRS, CHUNK_ADDR_MISS, CHUNK_EXTRAS}};
    static const struct part values = {{FRAME_VALUES, FRAME_VALUES}, {0}};
    static const struct part registers = {{FRAME_REGS, FRAME_STATE},
                                          {CHUNK_REGS, CHUNK_REG_EXTRAS}};
    static const struct part events = {{FRAME_EVENTS, FRAME_EVENTS}, {CHUNK_EVENTS}};
    struct section sec = {.off = 0};
    struct chunk_row row;
    int err;

    if (!tr->src.seekable || i >= tr->nchunks) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "chunk", "no such chunk");
    }
    err = chunktab_get(tr->chunks, i, &row, diag);
    err = err ? err : section_read(&tr->src, row.pub.off, &sec, diag);
    if (err == SECTION_EOF || (!err && sec.type != SECT_CHUNK)) {
        err = ctr_fail(diag, CTR_E_CORRUPT, row.pub.off, "chunk", "there is no chunk");
    }
    if (err) {
        return err;
    }
    *out = (struct ctr_chunk_hash){
        .last_block = le32(sec.body + CHUNK_MAX_ID),
        .runs = hash_of(&sec, &runs),
        .accesses = hash_of(&sec, &accesses),
        .values = hash_of(&sec, &values),
        .registers = hash_of(&sec, &registers),
        .events = hash_of(&sec, &events),
    };
    return 0;
}
