/* SPDX-License-Identifier: MIT */
/*
 * What a packed chunk consists of: a compressed frame; all of it as one piece of memory,
 * and back.
 */
#include "write/packed.h"

#include <string.h>
#include <xxhash.h>
#include "base/le.h"

int packed_frame_compress(struct packed_frame *f, ZSTD_CCtx *cctx, const struct buf *raw,
                          struct ctr_diag *diag)
{
    const size_t bound = ZSTD_compressBound(raw->n);
    f->dsize = (uint32_t)raw->n;
    f->z.n = 0;
    f->hash = 0;
    if (raw->n == 0) {
        return 0;
    }
    if (buf_room(&f->z, bound)) {
        return ctr_fail_nomem(diag);
    }
    const size_t z = ZSTD_compress2(cctx, f->z.p, bound, raw->p, raw->n);
    if (ZSTD_isError(z)) {
        return ctr_fail(diag, CTR_E_NOMEM, CTR_NO_OFF, "zstd", "%s",
                        ZSTD_getErrorName(z));
    }
    f->z.n = z;
    f->hash = XXH64(f->z.p, z, 0);
    return 0;
}

/* The ids and fills first, as they are aligned then; columns; counts; pages. */
#define BUFFERS (CHUNK_PHYS_FRAMES + 4)

/* The beginning; the buffers follow in the order of `bytes'. */
struct saved {
    struct ctr_packed p; /* without its buffers */
    size_t bytes[BUFFERS];
};

static struct buf *buffer(struct ctr_packed *p, unsigned i)
{
    return i == 0                       ? &p->ids
           : i == 1                     ? &p->fills
           : i < CHUNK_PHYS_FRAMES + 2  ? &p->frame[i - 2].z
           : i == CHUNK_PHYS_FRAMES + 2 ? &p->counts
                                        : &p->pages;
}

size_t ctr_packed_bytes(const struct ctr_packed *p)
{
    struct ctr_packed copy = *p;
    size_t n = sizeof(struct saved);
    for (unsigned i = 0; i < BUFFERS; i++) {
        n += buffer(&copy, i)->n;
    }
    return n;
}

void ctr_packed_save(const struct ctr_packed *p, void *to)
{
    struct saved s = {.p = *p};
    uint8_t *at = (uint8_t *)to + sizeof(s);
    for (unsigned i = 0; i < BUFFERS; i++) {
        const struct buf *b = buffer(&s.p, i);
        s.bytes[i] = b->n;
        if (b->n) {
            memcpy(at, b->p, b->n);
        }
        at += b->n;
    }
    memcpy(to, &s, sizeof(s));
}

int ctr_packed_load(struct ctr_packed *p, const void *from, size_t bytes)
{
    struct saved s;
    const uint8_t *at = (const uint8_t *)from + sizeof(s);
    struct buf own[BUFFERS];
    size_t left = bytes;
    if (left < sizeof(s)) {
        return -CTR_E_CORRUPT;
    }
    memcpy(&s, from, sizeof(s));
    left -= sizeof(s);
    for (unsigned i = 0; i < BUFFERS; i++) {
        struct buf *b = buffer(p, i);
        if (s.bytes[i] > left) {
            return -CTR_E_CORRUPT;
        }
        b->n = 0;
        if (buf_append(b, at, s.bytes[i])) {
            return -CTR_E_NOMEM;
        }
        at += s.bytes[i];
        left -= s.bytes[i];
        own[i] = *b;
    }
    if (left) {
        return -CTR_E_CORRUPT;
    }
    for (unsigned i = 0; i < BUFFERS; i++) {
        *buffer(&s.p, i) = own[i];
    }
    *p = s.p;
    return 0;
}

const uint32_t *ctr_packed_ids(const struct ctr_packed *p, uint32_t *n)
{
    *n = (uint32_t)(p->ids.n / sizeof(uint32_t));
    return (const uint32_t *)(const void *)p->ids.p;
}

const uint32_t *ctr_packed_saved_ids(const void *from, uint32_t *n)
{
    struct saved s;
    memcpy(&s, from, sizeof(s));
    *n = (uint32_t)(s.bytes[0] / sizeof(uint32_t));
    return (const uint32_t *)(const void *)((const uint8_t *)from + sizeof(s));
}

/* ------------------------------------------------------------------- pages */

/* The encoder made them: they are valid. */
static uint64_t number(struct ctr_packed_pages *at)
{
    uint64_t v = 0;
    const uint8_t *end = at->p + VARINT_MAX;
    get_varint(&at->p, end, &v);
    return v;
}

int ctr_packed_pages(const struct ctr_packed *p, enum ctr_touched which,
                     struct ctr_packed_pages *out)
{
    uint64_t page;
    *out = (struct ctr_packed_pages){.p = p->pages.p};
    for (unsigned i = 0;; i++) {
        const uint64_t n = number(out);
        out->left = n ? n - 1 : 0;
        out->page = 0;
        if (i == which) {
            return n == 0;
        }
        while (ctr_packed_next_page(out, &page)) {
        }
    }
}

int ctr_packed_next_page(struct ctr_packed_pages *p, uint64_t *page)
{
    if (!p->left) {
        return 0;
    }
    p->left--;
    p->page += number(p);
    *page = p->page;
    return 1;
}
