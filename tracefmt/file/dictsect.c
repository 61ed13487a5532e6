/* SPDX-License-Identifier: MIT */
/* Reading sections of definitions; see dictsect.h. */
#include "file/dictsect.h"

#include <string.h>
#include "model/blockdef.h"
#include "base/format.h"
#include "base/le.h"

/* Of a buffer that only one section has needed so far. */
#define LARGE_BYTES ((size_t)4 << 20)
/* Minimum size of a definition, with its id and length. */
#define LEAST_BYTES (8u + CTR_BLOCKDEF_FIXED + 1)

struct row {
    uint64_t off;
    uint32_t first;
    uint32_t count;
    struct kept *kept; /* NULL: not in memory */
};

/* A section in memory. */
struct kept {
    struct row *row;
    struct buf raw;
    uint32_t *at; /* [count]: where each definition's bytes begin, after its id */
    uint64_t last_call;
    size_t bytes;
    struct kept *next;
};

struct dictsect {
    struct source *src;
    struct row *row;
    uint32_t nrow, row_cap;
    struct kept *kept; /* all */
    size_t bytes;      /* of all */
    size_t most;
    uint64_t calls;
    struct row stream; /* the section read last */
    struct buf payload;
    ZSTD_DCtx *dctx;
};

static int corrupt(struct ctr_diag *diag, uint64_t off, const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, off, "dict", "%s", what);
}

struct dictsect *dictsect_new(struct source *src)
{
    struct dictsect *d = calloc(1, sizeof(*d));
    if (!d) {
        return NULL;
    }
    d->src = src;
    d->dctx = ZSTD_createDCtx();
    if (!d->dctx) {
        free(d);
        return NULL;
    }
    return d;
}

static void free_kept(struct kept *k)
{
    if (k) {
        buf_free(&k->raw);
        free(k->at);
        free(k);
    }
}

/* Drops the section that *at points to from memory. */
static void give_up(struct dictsect *d, struct kept **at)
{
    struct kept *k = *at;
    *at = k->next;
    d->bytes -= k->bytes;
    k->row->kept = NULL;
    free_kept(k);
}

void dictsect_free(struct dictsect *d)
{
    if (!d) {
        return;
    }
    while (d->kept) {
        give_up(d, &d->kept);
    }
    buf_free(&d->payload);
    ZSTD_freeDCtx(d->dctx);
    free(d->row);
    free(d);
}

void dictsect_keep(struct dictsect *d, size_t bytes)
{
    d->most = bytes;
}

void dictsect_reset(struct dictsect *d)
{
    d->nrow = 0;
}

int dictsect_add(struct dictsect *d, uint64_t off, uint32_t first, uint32_t count,
                 uint32_t known, struct ctr_diag *diag)
{
    if (first != known + 1 || count == 0 || count > DICT_MAX_RAW / LEAST_BYTES) {
        return corrupt(diag, off, "definitions are out of order");
    }
    if (count > DICT_MAX_IDS - known) {
        return ctr_fail(diag, CTR_E_LIMIT, off, "dict", "too many block definitions");
    }
    if (d->nrow == d->row_cap) {
        uint32_t cap = d->row_cap * 2 + 16;
        void *p = realloc(d->row, cap * sizeof(d->row[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        d->row = p;
        d->row_cap = cap;
    }
    d->row[d->nrow++] = (struct row){.off = off, .first = first, .count = count};
    return 0;
}

static struct row *find_row(const struct dictsect *d, uint32_t id)
{
    uint32_t lo = 0, hi = d->nrow;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        *(d->row[mid].first <= id ? &lo : &hi) = mid;
    }
    return &d->row[lo];
}

/*
 * Stores the place of each definition; there must be as many as the row says, in order.
 */
static int note_places(struct kept *k, struct ctr_diag *diag)
{
    const struct row *row = k->row;
    size_t at = 0;
    if (row->count > k->raw.n / LEAST_BYTES) {
        return corrupt(diag, row->off, "number of definitions");
    }
    k->at = malloc((row->count + (size_t)1) * sizeof(k->at[0]));
    if (!k->at) {
        return ctr_fail_nomem(diag);
    }
    for (uint32_t i = 0; i < row->count; i++) {
        const uint8_t *p = k->raw.p + at;
        size_t left = k->raw.n - at;
        if (left < 8 || le32(p) != row->first + i || le32(p + 4) > left - 8) {
            return corrupt(diag, row->off, "definitions are out of order");
        }
        k->at[i] = (uint32_t)at + 4;
        at += 8 + (size_t)le32(p + 4);
    }
    return at == k->raw.n ? 0 : corrupt(diag, row->off, "data left over");
}

/*
 * Reads the payload of a section whose header was read, and puts it first in the list
 * of those in memory.
 */
static int unpack(struct dictsect *d, const struct section *sec, struct row *row,
                  struct ctr_diag *diag)
{
    struct kept *k = calloc(1, sizeof(*k));
    if (!k) {
        return ctr_fail_nomem(diag);
    }
    k->row = row;
    int err = section_payload(d->src, sec, 1, &d->payload, diag);
    err = err ? err : section_frame(sec, &d->payload, 0, d->dctx, &k->raw, "dict", diag);
    err = err ? err : note_places(k, diag);
    if (d->payload.cap > LARGE_BYTES) {
        buf_free(&d->payload);
    }
    if (err) {
        free_kept(k);
        return err;
    }
    k->bytes = sizeof(*k) + k->raw.cap + row->count * sizeof(k->at[0]);
    d->bytes += k->bytes;
    k->next = d->kept;
    d->kept = row->kept = k;
    return 0;
}

/* Drops the least recently used ones. */
static void make_room(struct dictsect *d)
{
    while (d->kept && d->bytes > d->most) {
        struct kept **oldest = &d->kept;
        for (struct kept **at = oldest; *at; at = &(*at)->next) {
            oldest = (*at)->last_call < (*oldest)->last_call ? at : oldest;
        }
        give_up(d, oldest);
    }
}

static int read_section(struct dictsect *d, struct row *row, struct ctr_diag *diag)
{
    struct section sec;
    int err = section_read(d->src, row->off, &sec, diag);
    if (err == 0 && (sec.type != SECT_DICT || le32(sec.body + DICT_FIRST) != row->first ||
                     le32(sec.body + DICT_COUNT) != row->count)) {
        err = corrupt(diag, row->off, "not the section of the index");
    }
    if (err > 0) {
        err = ctr_fail(diag, CTR_E_TRUNCATED, row->off, "dict",
                       "the file has become shorter");
    }
    make_room(d);
    return err ? err : unpack(d, &sec, row, diag);
}

static void get_def(const struct kept *k, uint32_t i, struct dict_def *out)
{
    const uint8_t *p = k->raw.p + k->at[i];
    *out = (struct dict_def){.p = p + 4, .n = le32(p), .off = k->row->off};
}

int dictsect_find(struct dictsect *d, uint32_t id, struct dict_def *out,
                  struct ctr_diag *diag)
{
    struct row *row = find_row(d, id);
    int err = row->kept ? 0 : read_section(d, row, diag);
    if (!err) {
        row->kept->last_call = ++d->calls;
        get_def(row->kept, id - row->first, out);
    }
    return err;
}

int dictsect_stream(struct dictsect *d, const struct section *sec, struct ctr_diag *diag)
{
    while (d->kept) {
        give_up(d, &d->kept);
    }
    d->stream = (struct row){.off = sec->off,
                             .first = le32(sec->body + DICT_FIRST),
                             .count = le32(sec->body + DICT_COUNT)};
    return unpack(d, sec, &d->stream, diag);
}

void dictsect_of_stream(const struct dictsect *d, uint32_t i, struct dict_def *out)
{
    get_def(d->kept, i, out);
}
