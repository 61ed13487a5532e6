/* SPDX-License-Identifier: MIT */
/* See machine_facts.h. */
#include "machine_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "guest/guest.h"

/* Rows of a table that text shows. */
#define TEXT_ROWS 16u

struct row {
    uint64_t key;
    uint64_t count;
    char name[GUEST_INTERRUPT_MAX];
};

/* Rows by key; `index' is a hash table of numbers of rows from 1, 0: free. */
struct table {
    struct row *row;
    size_t n, cap;
    uint32_t *index;
    size_t size; /* a power of two, or 0 */
};

/* The address space of a thread; all 0 at first. */
struct context {
    uint64_t table, id;
    uint64_t insns;     /* what the thread executed before that */
    uint64_t halted_ns; /* when it began to wait, 0: it does not */
};

struct machine_facts {
    struct guest guest;
    struct table interrupts, spaces, ids;
    struct context *context; /* by index of the thread */
    size_t nr_contexts;
    uint64_t exceptions, returns;
    uint64_t halts, idle_ns, resets; /* of all threads */
    bool has_int, has_ctx, has_pwr;
};

struct machine_facts *machine_facts_new(const struct ctr_info *info)
{
    struct machine_facts *f = calloc(1, sizeof(*f));

    if (f) {
        guest_init(&f->guest, info);
        f->has_int = info->events & CTR_HAS_INT;
        f->has_ctx = info->events & CTR_HAS_CTX;
        f->has_pwr = info->events & CTR_HAS_PWR;
    }
    return f;
}

static void free_table(struct table *t)
{
    free(t->row);
    free(t->index);
}

void machine_facts_free(struct machine_facts *f)
{
    if (f) {
        free_table(&f->interrupts);
        free_table(&f->spaces);
        free_table(&f->ids);
        free(f->context);
        free(f);
    }
}

/* ------------------------------------------------------------------- tables */

static uint32_t *place_of(const struct table *t, uint64_t key)
{
    size_t i = (size_t)((key * 0x9e3779b97f4a7c15ull) >> 32);

    for (;; i++) {
        uint32_t *p = &t->index[i & (t->size - 1)];
        if (!*p || t->row[*p - 1].key == key) {
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
        *place_of(t, t->row[i].key) = (uint32_t)i + 1;
    }
    return true;
}

/* The row of a key, a new one without a name; NULL: no memory. */
static struct row *row_of(struct table *t, uint64_t key)
{
    uint32_t *place;

    if (2 * t->n >= t->size && !grow(t)) {
        return NULL;
    }
    place = place_of(t, key);
    if (!*place) {
        if (!array_reserve_zeroed(&t->row, &t->cap, t->n + 1, sizeof(*t->row))) {
            return NULL;
        }
        t->row[t->n++].key = key;
        *place = (uint32_t)t->n;
    }
    return &t->row[*place - 1];
}

static int by_count(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->count != y->count) {
        return x->count < y->count ? 1 : -1;
    }
    return x->key < y->key ? -1 : x->key > y->key;
}

/* ------------------------------------------------------------------- events */

bool machine_event(const struct ctr_os_event *e)
{
    return e->type == CTR_EVENT_INTERRUPT || e->type == CTR_EVENT_INTRET ||
           e->type == CTR_EVENT_CONTEXT || e->type == CTR_EVENT_POWER;
}

/* What comes before an event's payload. */
struct taken {
    uint64_t ordinal, time_ns;
    uint32_t type, size;
};

int machine_take(struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct taken head = {e->ordinal, e->time_ns, e->type, e->size};
    int ret = ctr_job_append(job, &head, sizeof(head));

    return ret ? ret : ctr_job_append(job, e->payload, e->size);
}

static bool count_interrupt(struct machine_facts *f, const struct ctr_interrupt *i)
{
    struct table *t = &f->interrupts;
    struct row *row = row_of(t, (uint64_t)i->flags << 32 | i->number);
    char buf[GUEST_INTERRUPT_MAX];

    if (!row) {
        return false;
    }
    if (!row->name[0]) {
        snprintf(row->name, sizeof(row->name), "%s",
                 guest_interrupt_name(&f->guest, i, buf));
    }
    row->count++;
    return true;
}

static bool leave_context(struct machine_facts *f, struct context *c, uint64_t insns)
{
    struct row *space, *id;

    if (insns == c->insns) {
        return true;
    }
    space = row_of(&f->spaces, c->table);
    id = row_of(&f->ids, c->id);
    if (!space || !id) {
        return false;
    }
    space->count += insns - c->insns;
    id->count += insns - c->insns;
    return true;
}

static struct context *context_of(struct machine_facts *f, uint32_t thread)
{
    return array_reserve_zeroed(&f->context, &f->nr_contexts, thread + (size_t)1,
                                sizeof(*f->context))
               ? &f->context[thread]
               : NULL;
}

static bool count_power(struct machine_facts *f, const struct ctr_thread *t, uint32_t op,
                        uint64_t time_ns)
{
    struct context *c = context_of(f, t->index);

    if (!c) {
        return false;
    }
    if (op == CTR_POWER_RESET) {
        f->resets++;
    } else if (op == CTR_POWER_WAKE) {
        f->idle_ns += c->halted_ns ? time_ns - c->halted_ns : 0;
        c->halted_ns = 0;
    } else {
        f->halts++;
        c->halted_ns = c->halted_ns ? c->halted_ns : time_ns;
    }
    return true;
}

size_t machine_put(struct machine_facts *f, const struct ctr_thread *t, const void *data)
{
    const uint8_t *p = data;
    struct ctr_interrupt interrupt;
    struct ctr_os_event e = {0};
    struct ctr_context context;
    struct context *c;
    struct ctr_power power;
    struct taken head;
    bool ok = true;

    memcpy(&head, p, sizeof(head));
    e.ordinal = head.ordinal;
    e.time_ns = head.time_ns;
    e.type = head.type;
    e.size = head.size;
    e.payload = p + sizeof(head);
    if (ctr_parse_interrupt(&e, &interrupt) == 0) {
        f->exceptions++;
        ok = count_interrupt(f, &interrupt);
    } else if (ctr_parse_context(&e, &context) == 0) {
        c = context_of(f, t->index);
        if (!c || !leave_context(f, c, e.ordinal - t->first)) {
            return 0;
        }
        c->table = context.table;
        c->id = context.id;
        c->insns = e.ordinal - t->first;
    } else if (ctr_parse_power(&e, &power) == 0) {
        ok = count_power(f, t, power.op, e.time_ns);
    } else {
        f->returns++;
    }
    return ok ? sizeof(head) + e.size : 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* Rows of one name become one. */
static void join_names(struct table *t)
{
    size_t n = 0;

    if (t->n) {
        qsort(t->row, t->n, sizeof(*t->row), by_name);
    }
    for (size_t i = 0; i < t->n; i++) {
        if (n && !strcmp(t->row[n - 1].name, t->row[i].name)) {
            t->row[n - 1].count += t->row[i].count;
        } else {
            t->row[n++] = t->row[i];
        }
    }
    t->n = n;
}

static void sort(struct table *t)
{
    if (t->n) {
        qsort(t->row, t->n, sizeof(*t->row), by_count);
    }
}

bool machine_facts_end(struct machine_facts *f, const struct ctr_trace *tr)
{
    const struct ctr_thread *t;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        struct context *c = context_of(f, i);
        if (!c || !leave_context(f, c, t->insns)) {
            return false;
        }
    }
    join_names(&f->interrupts);
    sort(&f->interrupts);
    sort(&f->spaces);
    sort(&f->ids);
    return true;
}

/* ------------------------------------------------------------------- output */

static bool more_text(struct textbuf *b, const struct table *t)
{
    return t->n <= TEXT_ROWS ||
           textbuf_printf(b, "  and %zu more (--json)\n", t->n - TEXT_ROWS);
}

static bool instructions_text(struct textbuf *b, const struct table *t, const char *what,
                              const char *form)
{
    bool ok = textbuf_printf(b, "%-13s %zu\n", what, t->n);

    for (size_t i = 0; ok && i < t->n && i < TEXT_ROWS; i++) {
        ok = textbuf_printf(b, form, t->row[i].key) &&
             textbuf_printf(b, "  %" PRIu64 " instructions\n", t->row[i].count);
    }
    return ok && more_text(b, t);
}

/* Of all machines only arm's have an id. */
static bool has_ids(const struct machine_facts *f)
{
    return f->ids.n > 1 || (f->ids.n && f->ids.row[0].key);
}

bool machine_facts_text(struct textbuf *b, const struct machine_facts *f)
{
    const struct table *t = &f->interrupts;
    bool ok = true;

    if (f->has_int) {
        ok = textbuf_printf(b, "exceptions    %" PRIu64 ", %" PRIu64 " returns\n",
                            f->exceptions, f->returns);
        for (size_t i = 0; ok && i < t->n && i < TEXT_ROWS; i++) {
            ok = textbuf_printf(b, "  %10" PRIu64 "  %s\n", t->row[i].count,
                                t->row[i].name);
        }
        ok = ok && more_text(b, t);
    }
    if (ok && f->has_ctx) {
        ok = instructions_text(b, &f->spaces, "page tables", "  0x%" PRIx64) &&
             (!has_ids(f) || instructions_text(b, &f->ids, "contexts", "  %" PRIu64));
    }
    if (ok && f->has_pwr) {
        ok = textbuf_printf(b, "halted        %" PRIu64 " times, %.3f s", f->halts,
                            (double)f->idle_ns / 1e9) &&
             (!f->resets || textbuf_printf(b, ", %" PRIu64 " resets", f->resets)) &&
             textbuf_printf(b, "\n");
    }
    return ok;
}

static bool instructions_json(struct textbuf *b, const struct table *t, const char *what,
                              const char *form)
{
    bool ok = textbuf_printf(b, ",\"%s\":[", what);

    for (size_t i = 0; ok && i < t->n; i++) {
        ok = textbuf_printf(b, i ? ",{" : "{") &&
             textbuf_printf(b, form, t->row[i].key) &&
             textbuf_printf(b, ",\"instructions\":%" PRIu64 "}", t->row[i].count);
    }
    return ok && textbuf_printf(b, "]");
}

bool machine_facts_json(struct textbuf *b, const struct machine_facts *f)
{
    const struct table *t = &f->interrupts;
    bool ok = true;

    if (f->has_int) {
        ok = textbuf_printf(b, ",\"returns\":%" PRIu64 ",\"exceptions\":[", f->returns);
        for (size_t i = 0; ok && i < t->n; i++) {
            ok = textbuf_printf(b, "%s{\"name\":", i ? "," : "") &&
                 textbuf_json_string(b, t->row[i].name, strlen(t->row[i].name)) &&
                 textbuf_printf(b, ",\"count\":%" PRIu64 "}", t->row[i].count);
        }
        ok = ok && textbuf_printf(b, "]");
    }
    if (ok && f->has_ctx) {
        ok =
            instructions_json(b, &f->spaces, "page_tables",
                              "\"table\":\"0x%" PRIx64 "\"") &&
            (!has_ids(f) || instructions_json(b, &f->ids, "contexts", "\"id\":%" PRIu64));
    }
    if (ok && f->has_pwr) {
        ok = textbuf_printf(
            b, ",\"halts\":%" PRIu64 ",\"halted_ns\":%" PRIu64 ",\"resets\":%" PRIu64,
            f->halts, f->idle_ns, f->resets);
    }
    return ok;
}
