/* SPDX-License-Identifier: MIT */
/*
 * See memory_facts.h. A block of RAM can be at several addresses and move, so its size is
 * the end of what was ever seen of it.
 */
#include "memory_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"

/* Rows of a table that text shows. */
#define TEXT_ROWS 16u

enum { TABLE_RAM, TABLE_DMA, TABLE_IO, TABLES };

/* What a row is of, followed by two names: of a block and "", of a device and "", of a
 * device and its region. */
struct key {
    uint32_t source; /* CTR_DMA_*, or 0 */
    uint32_t n[2];
};

struct row {
    uint64_t bytes; /* of a block, or written by DMA */
    uint64_t reads, writes, failed;
    struct key *key;
};

/* Rows by key; `index' is a hash table of numbers of rows from 1, 0: free. */
struct table {
    struct row *row;
    size_t n, cap;
    uint32_t *index;
    size_t size; /* a power of two, or 0 */
};

struct memory_facts {
    struct table table[TABLES];
    uint32_t events; /* CTR_HAS_* */
};

struct memory_facts *memory_facts_new(const struct ctr_info *info)
{
    struct memory_facts *f = calloc(1, sizeof(*f));

    if (f) {
        f->events = info->events;
    }
    return f;
}

void memory_facts_free(struct memory_facts *f)
{
    for (unsigned i = 0; f && i < TABLES; i++) {
        struct table *t = &f->table[i];
        for (size_t k = 0; k < t->n; k++) {
            free(t->row[k].key);
        }
        free(t->row);
        free(t->index);
    }
    free(f);
}

/* ------------------------------------------------------------------- tables */

static size_t key_bytes(const struct key *k)
{
    return sizeof(*k) + k->n[0] + k->n[1];
}

static const char *name_of(const struct row *r, unsigned i)
{
    return (const char *)(r->key + 1) + (i ? r->key->n[0] : 0);
}

/* FNV-1a */
static size_t hash(const void *key, size_t n)
{
    const uint8_t *p = key;
    uint64_t h = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 0x100000001b3ull;
    }
    return (size_t)(h ^ h >> 32);
}

/* The place of a key, whose n bytes need no alignment. */
static uint32_t *place_of(const struct table *t, const void *key, size_t n)
{
    for (size_t i = hash(key, n);; i++) {
        uint32_t *p = &t->index[i & (t->size - 1)];
        const struct key *k = *p ? t->row[*p - 1].key : NULL;
        if (!k || (key_bytes(k) == n && !memcmp(k, key, n))) {
            return p;
        }
    }
}

static bool grow(struct table *t)
{
    size_t size = t->size ? 2 * t->size : 64;
    uint32_t *index = calloc(size, sizeof(*index));

    if (!index) {
        return false;
    }
    free(t->index);
    t->index = index;
    t->size = size;
    for (size_t i = 0; i < t->n; i++) {
        *place_of(t, t->row[i].key, key_bytes(t->row[i].key)) = (uint32_t)i + 1;
    }
    return true;
}

/* The row of a key, a new one of zeros; NULL: no memory. */
static struct row *row_of(struct table *t, const void *key, size_t n)
{
    uint32_t *place;

    if (2 * t->n >= t->size && !grow(t)) {
        return NULL;
    }
    place = place_of(t, key, n);
    if (!*place) {
        struct key *copy = malloc(n);
        if (!copy || !array_reserve_zeroed(&t->row, &t->cap, t->n + 1, sizeof(*t->row))) {
            free(copy);
            return NULL;
        }
        memcpy(copy, key, n);
        t->row[t->n++].key = copy;
        *place = (uint32_t)t->n;
    }
    return &t->row[*place - 1];
}

/* ------------------------------------------------------------------- events */

/* What counts of an event; a key and its names follow. */
struct taken {
    uint32_t table; /* TABLE_* */
    uint32_t flags; /* CTR_IO_* */
    uint64_t bytes;
};

bool memory_event(const struct ctr_os_event *e)
{
    return e->type == CTR_EVENT_RAM || e->type == CTR_EVENT_DMA ||
           e->type == CTR_EVENT_IO;
}

static int append(struct ctr_job *job, const struct taken *head, uint32_t source,
                  const struct ctr_str *first, const struct ctr_str *second)
{
    const struct key key = {source, {(uint32_t)first->n, (uint32_t)second->n}};
    int ret = ctr_job_append(job, head, sizeof(*head));

    ret = ret ? ret : ctr_job_append(job, &key, sizeof(key));
    ret = ret || !first->n ? ret : ctr_job_append(job, first->p, first->n);
    return ret || !second->n ? ret : ctr_job_append(job, second->p, second->n);
}

int memory_take(struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct ctr_str none = {0};
    struct taken head = {.table = TABLE_RAM};
    struct ctr_ram ram;
    struct ctr_dma dma;
    struct ctr_io io;

    if (ctr_parse_ram(e, &ram) == 0) {
        if (ram.op != CTR_RAM_MAP) {
            return append(job, &head, 0, &none, &none); /* 0 bytes: it does not count */
        }
        head.bytes =
            ram.size <= UINT64_MAX - ram.offset ? ram.offset + ram.size : UINT64_MAX;
        return append(job, &head, 0, &ram.block, &none);
    }
    if (ctr_parse_dma(e, &dma) == 0) {
        head.table = TABLE_DMA;
        head.bytes = dma.size;
        return append(job, &head, dma.source,
                      dma.source == CTR_DMA_DEVICE ? &dma.device : &none, &none);
    }
    head.table = TABLE_IO;
    ctr_parse_io(e, &io);
    head.flags = io.flags;
    return append(job, &head, 0, &io.device, &io.region);
}

size_t memory_put(struct memory_facts *f, const void *data)
{
    const uint8_t *p = data;
    struct taken head;
    struct key key;
    struct row *r;

    memcpy(&head, p, sizeof(head));
    memcpy(&key, p + sizeof(head), sizeof(key));
    if (head.table == TABLE_RAM && !head.bytes) {
        return sizeof(head) + key_bytes(&key);
    }
    r = row_of(&f->table[head.table], p + sizeof(head), key_bytes(&key));
    if (!r) {
        return 0;
    }
    if (head.table == TABLE_RAM) {
        r->bytes = r->bytes > head.bytes ? r->bytes : head.bytes;
    } else if (head.table == TABLE_DMA) {
        r->bytes += head.bytes;
        r->writes++;
    } else {
        r->reads += !(head.flags & CTR_IO_WRITE);
        r->writes += (head.flags & CTR_IO_WRITE) != 0;
        r->failed += (head.flags & CTR_IO_FAILED) != 0;
    }
    return sizeof(head) + key_bytes(&key);
}

/* Most bytes or accesses first, then by key. */
static int by_count(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const size_t m = key_bytes(x->key), n = key_bytes(y->key);

    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    if (x->reads + x->writes != y->reads + y->writes) {
        return x->reads + x->writes < y->reads + y->writes ? 1 : -1;
    }
    return m != n ? (m < n ? -1 : 1) : memcmp(x->key, y->key, n);
}

void memory_facts_end(struct memory_facts *f)
{
    for (unsigned i = 0; i < TABLES; i++) {
        if (f->table[i].n) {
            qsort(f->table[i].row, f->table[i].n, sizeof(struct row), by_count);
        }
    }
}

/* ------------------------------------------------------------------- output */

static const char *source_text(const struct row *r)
{
    static const char *const names[] = {"", "a device", "walks", "processor", "QEMU"};

    return names[r->key->source];
}

static const char *source_json(const struct row *r)
{
    static const char *const names[] = {"", "device", "walk", "processor", "host"};

    return names[r->key->source];
}

/* All rows added up. */
static struct row total(const struct table *t)
{
    struct row sum = {0};

    for (size_t i = 0; i < t->n; i++) {
        sum.bytes += t->row[i].bytes;
        sum.reads += t->row[i].reads;
        sum.writes += t->row[i].writes;
    }
    return sum;
}

static bool more_text(struct textbuf *b, const struct table *t)
{
    return t->n <= TEXT_ROWS ||
           textbuf_printf(b, "  and %zu more (--json)\n", t->n - TEXT_ROWS);
}

static bool ram_text(struct textbuf *b, const struct table *t)
{
    bool ok = textbuf_printf(b, "RAM           %" PRIu64 " bytes in %zu blocks\n",
                             total(t).bytes, t->n);

    for (size_t i = 0; ok && i < t->n && i < TEXT_ROWS; i++) {
        const struct row *r = &t->row[i];
        ok = textbuf_printf(b, "  %12" PRIu64 "  ", r->bytes) &&
             textbuf_printable(b, name_of(r, 0), r->key->n[0]) && textbuf_printf(b, "\n");
    }
    return ok && more_text(b, t);
}

static bool dma_text(struct textbuf *b, const struct table *t)
{
    const struct row sum = total(t);
    bool ok = textbuf_printf(b, "DMA           %" PRIu64 " bytes in %" PRIu64 " writes\n",
                             sum.bytes, sum.writes);

    for (size_t i = 0; ok && i < t->n && i < TEXT_ROWS; i++) {
        const struct row *r = &t->row[i];
        ok = textbuf_printf(b, "  %12" PRIu64 "  ", r->bytes) &&
             (r->key->n[0] ? textbuf_printable(b, name_of(r, 0), r->key->n[0])
                           : textbuf_printf(b, "%s", source_text(r))) &&
             textbuf_printf(b, ", %" PRIu64 " writes\n", r->writes);
    }
    return ok && more_text(b, t);
}

/* "device region", or one of them if they are the same. */
static bool put_names(struct textbuf *b, const struct row *r)
{
    const uint32_t *n = r->key->n;
    const bool same = n[0] == n[1] && !memcmp(name_of(r, 0), name_of(r, 1), n[0]);

    if (!n[0] && !n[1]) {
        return textbuf_printf(b, "nothing");
    }
    return textbuf_printable(b, name_of(r, 0), n[0]) &&
           (same || !n[1] ||
            (textbuf_printf(b, "%s", n[0] ? " " : "") &&
             textbuf_printable(b, name_of(r, 1), n[1])));
}

static bool io_text(struct textbuf *b, const struct table *t)
{
    const struct row sum = total(t);
    bool ok = textbuf_printf(b, "devices       %" PRIu64 " reads, %" PRIu64 " writes\n",
                             sum.reads, sum.writes);

    for (size_t i = 0; ok && i < t->n && i < TEXT_ROWS; i++) {
        const struct row *r = &t->row[i];
        ok = textbuf_printf(b, "  %12" PRIu64 "  ", r->reads + r->writes) &&
             put_names(b, r) &&
             textbuf_printf(b, ", %" PRIu64 " reads, %" PRIu64 " writes", r->reads,
                            r->writes) &&
             (!r->failed || textbuf_printf(b, ", %" PRIu64 " failed", r->failed)) &&
             textbuf_printf(b, "\n");
    }
    return ok && more_text(b, t);
}

bool memory_facts_text(struct textbuf *b, const struct memory_facts *f)
{
    return (!(f->events & CTR_HAS_RAM) || ram_text(b, &f->table[TABLE_RAM])) &&
           (!(f->events & CTR_HAS_DMA) || dma_text(b, &f->table[TABLE_DMA])) &&
           (!(f->events & CTR_HAS_IO) || io_text(b, &f->table[TABLE_IO]));
}

static bool put_name_json(struct textbuf *b, const char *member, const struct row *r,
                          unsigned i)
{
    return textbuf_printf(b, "\"%s\":", member) &&
           textbuf_json_string(b, name_of(r, i), r->key->n[i]);
}

static bool ram_json(struct textbuf *b, const struct table *t)
{
    bool ok = textbuf_printf(b, ",\"ram\":[");

    for (size_t i = 0; ok && i < t->n; i++) {
        ok = textbuf_printf(b, i ? ",{" : "{") &&
             put_name_json(b, "block", &t->row[i], 0) &&
             textbuf_printf(b, ",\"bytes\":%" PRIu64 "}", t->row[i].bytes);
    }
    return ok && textbuf_printf(b, "]");
}

static bool dma_json(struct textbuf *b, const struct table *t)
{
    bool ok = textbuf_printf(b, ",\"dma\":[");

    for (size_t i = 0; ok && i < t->n; i++) {
        const struct row *r = &t->row[i];
        ok = textbuf_printf(b, "%s{\"source\":\"%s\"", i ? "," : "", source_json(r)) &&
             (!r->key->n[0] ||
              (textbuf_printf(b, ",") && put_name_json(b, "device", r, 0))) &&
             textbuf_printf(b, ",\"writes\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
                            r->writes, r->bytes);
    }
    return ok && textbuf_printf(b, "]");
}

static bool io_json(struct textbuf *b, const struct table *t)
{
    bool ok = textbuf_printf(b, ",\"io\":[");

    for (size_t i = 0; ok && i < t->n; i++) {
        const struct row *r = &t->row[i];
        ok = textbuf_printf(b, i ? ",{" : "{") && put_name_json(b, "device", r, 0) &&
             textbuf_printf(b, ",") && put_name_json(b, "region", r, 1) &&
             textbuf_printf(b,
                            ",\"reads\":%" PRIu64 ",\"writes\":%" PRIu64
                            ",\"failed\":%" PRIu64 "}",
                            r->reads, r->writes, r->failed);
    }
    return ok && textbuf_printf(b, "]");
}

bool memory_facts_json(struct textbuf *b, const struct memory_facts *f)
{
    return (!(f->events & CTR_HAS_RAM) || ram_json(b, &f->table[TABLE_RAM])) &&
           (!(f->events & CTR_HAS_DMA) || dma_json(b, &f->table[TABLE_DMA])) &&
           (!(f->events & CTR_HAS_IO) || io_json(b, &f->table[TABLE_IO]));
}
