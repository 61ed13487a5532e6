/* SPDX-License-Identifier: MIT */
/*
 * Files without code, of which the trace gets what is accessed: the pages of each chunk are
 * compared with where its process has mapped such files.
 */
#include "embed_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"

#define PIECE (UINT64_C(64) << 10) /* bytes that are written together */
#define PAGE_BITS 12u
/* Mappings of a process that are kept, the newest ones. */
#define MAX_RANGES 2048u

struct embed_range {
    uint64_t start, end, offset;
    uint32_t file; /* number among the files */
};

void embed_ranges_fini(struct embed_ranges *ranges)
{
    free(ranges->v);
    memset(ranges, 0, sizeof(*ranges));
}

static uint64_t pieces_of(const struct embedded *f)
{
    return ((uint64_t)f->st.st_size + PIECE - 1) / PIECE;
}

/* A new entry is one of a file in part. */
static int begin(struct embedded *f)
{
    f->done = calloc(1, (size_t)(pieces_of(f) + 7) / 8);
    return f->done ? 0 : -CTR_E_NOMEM;
}

int embed_map(struct embed *e, struct embed_ranges *ranges, const struct embed_file *file)
{
    struct embedded *f;
    uint64_t size;
    int fd, err = embed_entry(e, file, &f, &fd);

    if (fd >= 0) {
        embed_keep(e, f, fd);
        err = begin(f);
    }
    if (err || !f || !f->done || file->offset >= (uint64_t)f->st.st_size) {
        return err;
    }
    /* The guest says how large it is. */
    size = (uint64_t)f->st.st_size - file->offset;
    size = size < file->size ? size : file->size;
    if (!size || file->start + size < file->start) {
        return 0;
    }
    if (ranges->n == MAX_RANGES) {
        ranges->n /= 2;
        memmove(ranges->v, ranges->v + ranges->n, ranges->n * sizeof(*ranges->v));
    }
    if (!array_reserve(&ranges->v, &ranges->cap, ranges->n + 1, sizeof(*ranges->v))) {
        return -CTR_E_NOMEM;
    }
    ranges->v[ranges->n++] = (struct embed_range){.start = file->start,
                                                  .end = file->start + size,
                                                  .offset = file->offset,
                                                  .file = (uint32_t)(f - e->files)};
    return 0;
}

/* The file as it was when it was mapped; -1: it is not there any more, or was changed. */
static int open_again(const struct embed *e, struct embedded *f)
{
    struct stat now;
    const int fd = embed_again(e, f, &now);

    if (fd >= 0 && !embed_is_same(&now, &f->st)) {
        f->changed = true;
        close(fd);
        return -1;
    }
    return fd;
}

/* Writes piece i, unless it is there. *fd: -1, or of the file once it is open. */
static int write_piece(struct embed *e, struct ctr_writer *w, struct embedded *f,
                       uint64_t i, int *fd, struct ctr_diag *diag)
{
    const uint64_t size = (uint64_t)f->st.st_size, off = i * PIECE;
    const size_t n = size - off < PIECE ? (size_t)(size - off) : PIECE;
    const struct contents part = {.size = UINT64_MAX};
    int err;

    if (f->done[i / 8] >> i % 8 & 1) {
        return 0;
    }
    f->done[i / 8] |= (uint8_t)(1u << i % 8); /* also if it cannot be read: not again */
    if (*fd < 0) {
        *fd = open_again(e, f);
    }
    if (*fd < 0 || !embed_read(e, *fd, off, n)) {
        return 0;
    }
    err = f->there ? 0 : embed_contents(e, &part, &f->number);
    return err ? err : embed_section(e, w, f, off, n, diag);
}

int embed_rest(struct embed *e, struct ctr_writer *w, struct embedded *f,
               struct ctr_diag *diag)
{
    int fd = -1, err = 0;

    for (uint64_t i = 0; !err && i < pieces_of(f); i++) {
        err = write_piece(e, w, f, i, &fd, diag);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(f->done);
    f->done = NULL;
    return err;
}

/* The pages that a chunk accessed, ascending. */
struct pages {
    uint64_t *v;
    size_t n, cap;
    bool any; /* they are too many to know */
};

static int get_pages(struct pages *p, const struct ctr_packed *chunk,
                     enum ctr_touched which)
{
    struct ctr_packed_pages list;
    uint64_t page;

    p->n = 0;
    p->any = ctr_packed_pages(chunk, which, &list) != 0;
    while (!p->any && ctr_packed_next_page(&list, &page)) {
        if (!array_reserve(&p->v, &p->cap, p->n + 1, sizeof(*p->v))) {
            return -CTR_E_NOMEM;
        }
        p->v[p->n++] = page;
    }
    return 0;
}

static size_t lower_bound(const struct pages *p, uint64_t page)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (p->v[mid] < page) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* The piece of the file at an address of the range, or of the page in which it begins. */
static uint64_t piece_at(const struct embed_range *r, uint64_t addr)
{
    return (r->offset + (addr < r->start ? 0 : addr - r->start)) / PIECE;
}

static int write_range(struct embed *e, struct ctr_writer *w, const struct embed_range *r,
                       const struct pages *p, struct ctr_diag *diag)
{
    struct embedded *f = &e->files[r->file];
    const uint64_t last = piece_at(r, r->end - 1);
    int fd = -1, err = 0;

    if (!f->done) {
        return 0; /* it is whole by now */
    }
    for (uint64_t i = piece_at(r, r->start); !err && p->any && i <= last; i++) {
        err = write_piece(e, w, f, i, &fd, diag);
    }
    for (size_t i = lower_bound(p, r->start >> PAGE_BITS);
         !err && i < p->n && p->v[i] << PAGE_BITS < r->end; i++) {
        err = write_piece(e, w, f, piece_at(r, p->v[i] << PAGE_BITS), &fd, diag);
    }
    if (fd >= 0) {
        close(fd);
    }
    return err;
}

int embed_accessed(struct embed *e, struct ctr_writer *w, struct embed_ranges *ranges,
                   const struct ctr_packed *chunk, struct ctr_diag *diag)
{
    static const enum ctr_touched both[] = {CTR_TOUCHED_READ, CTR_TOUCHED_WRITTEN};
    struct pages p = {0};
    int err = 0;

    for (unsigned k = 0; !err && ranges->n && k < 2; k++) {
        err = get_pages(&p, chunk, both[k]);
        for (size_t i = 0; !err && i < ranges->n; i++) {
            err = write_range(e, w, &ranges->v[i], &p, diag);
        }
    }
    free(p.v);
    return err;
}
