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
#include "dump/dump.h"
#include "rows.h"

enum { TABLE_RAM, TABLE_DMA, TABLE_IO, TABLES };

/* The bytes of a row's key begin with what it is of, followed by two names: of a block and "", of a device and "", of a
 * device and its region. */
struct key {
    uint32_t source; /* CTR_DMA_*, or 0 */
    uint32_t n[2];
};

struct row {
    struct row_key key;
    uint64_t bytes; /* of a block, or written by DMA */
    uint64_t reads, writes, failed;
};

struct memory_facts {
    struct rows table[TABLES];
    uint32_t events; /* CTR_HAS_* */
};

struct memory_facts *memory_facts_new(const struct ctr_info *info)
{
    struct memory_facts *f = calloc(1, sizeof(*f));

    if (f) {
        f->events = info->events;
        for (unsigned i = 0; i < TABLES; i++) {
            f->table[i].row_bytes = sizeof(struct row);
        }
    }
    return f;
}

void memory_facts_free(struct memory_facts *f)
{
    for (unsigned i = 0; f && i < TABLES; i++) {
        rows_free(&f->table[i]);
    }
    free(f);
}

/* ------------------------------------------------------------------- tables */

static size_t key_bytes(const struct key *k)
{
    return sizeof(*k) + k->n[0] + k->n[1];
}

static const struct row *row_at(const struct rows *t, size_t i)
{
    return (const struct row *)t->row + i;
}

static const struct key *key_of(const struct row *r)
{
    return r->key.bytes;
}

static const char *name_of(const struct row *r, unsigned i)
{
    return (const char *)(key_of(r) + 1) + (i ? key_of(r)->n[0] : 0);
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
    struct ctr_ram ram;

    return e->type == CTR_EVENT_DMA || e->type == CTR_EVENT_IO ||
           (ctr_parse_ram(e, &ram) == 0 && ram.op == CTR_RAM_MAP);
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
    r = rows_get(&f->table[head.table], p + sizeof(head), key_bytes(&key));
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
    const size_t m = x->key.n, n = y->key.n;

    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    if (x->reads + x->writes != y->reads + y->writes) {
        return x->reads + x->writes < y->reads + y->writes ? 1 : -1;
    }
    return m != n ? (m < n ? -1 : 1) : memcmp(x->key.bytes, y->key.bytes, n);
}

void memory_facts_end(struct memory_facts *f)
{
    for (unsigned i = 0; i < TABLES; i++) {
        rows_sort(&f->table[i], by_count);
    }
}

/* ------------------------------------------------------------------- output */

static const char *source_text(const struct row *r)
{
    static const char *const names[] = {"", "a device", "walks", "processor", "QEMU"};

    return names[key_of(r)->source];
}

/* All rows added up. */
static struct row total(const struct rows *t)
{
    struct row sum = {0};

    for (size_t i = 0; i < t->n; i++) {
        sum.bytes += row_at(t, i)->bytes;
        sum.reads += row_at(t, i)->reads;
        sum.writes += row_at(t, i)->writes;
    }
    return sum;
}

static bool ram_text(struct textbuf *b, const struct rows *t)
{
    bool ok = textbuf_printf(b, "RAM           %" PRIu64 " bytes in %zu blocks\n",
                             total(t).bytes, t->n);

    for (size_t i = 0; ok && i < t->n && i < ROWS_TEXT; i++) {
        const struct row *r = row_at(t, i);
        ok = textbuf_printf(b, "  %12" PRIu64 "  ", r->bytes) &&
             textbuf_printable(b, name_of(r, 0), key_of(r)->n[0]) &&
             textbuf_printf(b, "\n");
    }
    return ok && rows_more_text(b, t);
}

static bool dma_text(struct textbuf *b, const struct rows *t)
{
    const struct row sum = total(t);
    bool ok = textbuf_printf(b, "DMA           %" PRIu64 " bytes in %" PRIu64 " writes\n",
                             sum.bytes, sum.writes);

    for (size_t i = 0; ok && i < t->n && i < ROWS_TEXT; i++) {
        const struct row *r = row_at(t, i);
        ok = textbuf_printf(b, "  %12" PRIu64 "  ", r->bytes) &&
             (key_of(r)->n[0] ? textbuf_printable(b, name_of(r, 0), key_of(r)->n[0])
                              : textbuf_printf(b, "%s", source_text(r))) &&
             textbuf_printf(b, ", %" PRIu64 " writes\n", r->writes);
    }
    return ok && rows_more_text(b, t);
}

/* "device region", or one of them if they are the same. */
static bool put_names(struct textbuf *b, const struct row *r)
{
    const uint32_t *n = key_of(r)->n;
    const bool same = n[0] == n[1] && !memcmp(name_of(r, 0), name_of(r, 1), n[0]);

    if (!n[0] && !n[1]) {
        return textbuf_printf(b, "nothing");
    }
    return textbuf_printable(b, name_of(r, 0), n[0]) &&
           (same || !n[1] ||
            (textbuf_printf(b, "%s", n[0] ? " " : "") &&
             textbuf_printable(b, name_of(r, 1), n[1])));
}

static bool io_text(struct textbuf *b, const struct rows *t)
{
    const struct row sum = total(t);
    bool ok = textbuf_printf(b, "devices       %" PRIu64 " reads, %" PRIu64 " writes\n",
                             sum.reads, sum.writes);

    for (size_t i = 0; ok && i < t->n && i < ROWS_TEXT; i++) {
        const struct row *r = row_at(t, i);
        ok = textbuf_printf(b, "  %12" PRIu64 "  ", r->reads + r->writes) &&
             put_names(b, r) &&
             textbuf_printf(b, ", %" PRIu64 " reads, %" PRIu64 " writes", r->reads,
                            r->writes) &&
             (!r->failed || textbuf_printf(b, ", %" PRIu64 " failed", r->failed)) &&
             textbuf_printf(b, "\n");
    }
    return ok && rows_more_text(b, t);
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
           textbuf_json_string(b, name_of(r, i), key_of(r)->n[i]);
}

static bool ram_json(struct textbuf *b, const struct rows *t)
{
    bool ok = textbuf_printf(b, ",\"ram\":[");

    for (size_t i = 0; ok && i < t->n; i++) {
        ok = textbuf_printf(b, i ? ",{" : "{") &&
             put_name_json(b, "block", row_at(t, i), 0) &&
             textbuf_printf(b, ",\"bytes\":%" PRIu64 "}", row_at(t, i)->bytes);
    }
    return ok && textbuf_printf(b, "]");
}

static bool dma_json(struct textbuf *b, const struct rows *t)
{
    bool ok = textbuf_printf(b, ",\"dma\":[");

    for (size_t i = 0; ok && i < t->n; i++) {
        const struct row *r = row_at(t, i);
        ok = textbuf_printf(b, "%s{\"source\":\"%s\"", i ? "," : "",
                            dump_dma_source(key_of(r)->source)) &&
             (!key_of(r)->n[0] ||
              (textbuf_printf(b, ",") && put_name_json(b, "device", r, 0))) &&
             textbuf_printf(b, ",\"writes\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
                            r->writes, r->bytes);
    }
    return ok && textbuf_printf(b, "]");
}

static bool io_json(struct textbuf *b, const struct rows *t)
{
    bool ok = textbuf_printf(b, ",\"io\":[");

    for (size_t i = 0; ok && i < t->n; i++) {
        const struct row *r = row_at(t, i);
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
