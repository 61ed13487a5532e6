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
#include "rows.h"
#include "task_facts.h"

struct row {
    struct row_key id; /* of `key' */
    uint64_t key;
    uint64_t count;
    char name[GUEST_INTERRUPT_MAX];
};

/* The address space of a thread; all 0 at first. */
struct context {
    uint64_t table, id;
    uint64_t insns;     /* what the thread executed before that */
    uint64_t halted_ns; /* when it began to wait, 0: it does not */
};

struct machine_facts {
    struct guest guest;
    struct rows interrupts, spaces, ids;
    struct context *context; /* by index of the thread */
    size_t nr_contexts;
    uint64_t exceptions, returns;
    uint64_t halts, idle_ns, resets, saves, loads; /* of all threads */
    struct task_facts tasks;
    bool has_int, has_ctx, has_pwr, has_task;
};

struct machine_facts *machine_facts_new(const struct ctr_info *info)
{
    struct machine_facts *f = calloc(1, sizeof(*f));

    if (f) {
        guest_init(&f->guest, info);
        f->interrupts.row_bytes = sizeof(struct row);
        f->spaces.row_bytes = sizeof(struct row);
        f->ids.row_bytes = sizeof(struct row);
        task_facts_init(&f->tasks);
        f->has_int = info->events & CTR_HAS_INT;
        f->has_ctx = info->events & CTR_HAS_CTX;
        f->has_pwr = info->events & CTR_HAS_PWR;
        f->has_task = info->events & CTR_HAS_TASK;
    }
    return f;
}

void machine_facts_free(struct machine_facts *f)
{
    if (f) {
        rows_free(&f->interrupts);
        rows_free(&f->spaces);
        rows_free(&f->ids);
        task_facts_fini(&f->tasks);
        free(f->context);
        free(f);
    }
}

/* ------------------------------------------------------------------- tables */

static struct row *row_at(const struct rows *t, size_t i)
{
    return (struct row *)t->row + i;
}

/* The row of a key, a new one without a name; NULL: no memory. */
static struct row *row_of(struct rows *t, uint64_t key)
{
    struct row *row = rows_get(t, &key, sizeof(key));

    if (row) {
        row->key = key;
    }
    return row;
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
           e->type == CTR_EVENT_CONTEXT || e->type == CTR_EVENT_POWER ||
           e->type == CTR_EVENT_TASK;
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
    struct rows *t = &f->interrupts;
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
    } else if (op == CTR_POWER_LOADED) {
        f->loads++;
    } else if (op == CTR_POWER_SAVED) {
        f->saves++;
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
    struct ctr_task task;
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
    } else if (ctr_parse_task(&e, &task) == 0) {
        ok = task_facts_put(&f->tasks, t, &task, e.ordinal);
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
static void join_names(struct rows *t)
{
    size_t n = 0;

    rows_sort(t, by_name);
    for (size_t i = 0; i < t->n; i++) {
        struct row *last = n ? row_at(t, n - 1) : NULL, *r = row_at(t, i);
        if (last && !strcmp(last->name, r->name)) {
            last->count += r->count;
            free(r->id.bytes);
        } else {
            *row_at(t, n++) = *r;
        }
    }
    t->n = n;
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
    if (f->has_task && !task_facts_end(&f->tasks, tr)) {
        return false;
    }
    join_names(&f->interrupts);
    rows_sort(&f->interrupts, by_count);
    rows_sort(&f->spaces, by_count);
    rows_sort(&f->ids, by_count);
    return true;
}

/* ------------------------------------------------------------------- output */

static bool instructions_text(struct textbuf *b, const struct rows *t, const char *what,
                              const char *form)
{
    bool ok = textbuf_printf(b, "%-13s %zu\n", what, t->n);

    for (size_t i = 0; ok && i < t->n && i < ROWS_TEXT; i++) {
        ok = textbuf_printf(b, form, row_at(t, i)->key) &&
             textbuf_printf(b, "  %" PRIu64 " instructions\n", row_at(t, i)->count);
    }
    return ok && rows_more_text(b, t);
}

/* Of all machines only arm's have an id. */
static bool has_ids(const struct machine_facts *f)
{
    return f->ids.n > 1 || (f->ids.n && row_at(&f->ids, 0)->key);
}

bool machine_facts_text(struct textbuf *b, const struct machine_facts *f)
{
    const struct rows *t = &f->interrupts;
    bool ok = true;

    if (f->has_int) {
        ok = textbuf_printf(b, "exceptions    %" PRIu64 ", %" PRIu64 " returns\n",
                            f->exceptions, f->returns);
        for (size_t i = 0; ok && i < t->n && i < ROWS_TEXT; i++) {
            ok = textbuf_printf(b, "  %10" PRIu64 "  %s\n", row_at(t, i)->count,
                                row_at(t, i)->name);
        }
        ok = ok && rows_more_text(b, t);
    }
    if (ok && f->has_ctx) {
        ok = instructions_text(b, &f->spaces, "page tables", "  0x%" PRIx64) &&
             (!has_ids(f) || instructions_text(b, &f->ids, "CONTEXTIDR", "  %" PRIu64));
    }
    if (ok && f->has_pwr) {
        ok = textbuf_printf(b, "halted        %" PRIu64 " times, %.3f s", f->halts,
                            (double)f->idle_ns / 1e9) &&
             (!f->resets || textbuf_printf(b, ", %" PRIu64 " resets", f->resets)) &&
             (!f->saves || textbuf_printf(b, ", %" PRIu64 " times saved", f->saves)) &&
             (!f->loads || textbuf_printf(b, ", %" PRIu64 " times loaded", f->loads)) &&
             textbuf_printf(b, "\n");
    }
    return ok && (!f->has_task || task_facts_text(b, &f->tasks));
}

static bool instructions_json(struct textbuf *b, const struct rows *t, const char *what,
                              const char *form)
{
    bool ok = textbuf_printf(b, ",\"%s\":[", what);

    for (size_t i = 0; ok && i < t->n; i++) {
        ok = textbuf_printf(b, i ? ",{" : "{") &&
             textbuf_printf(b, form, row_at(t, i)->key) &&
             textbuf_printf(b, ",\"instructions\":%" PRIu64 "}", row_at(t, i)->count);
    }
    return ok && textbuf_printf(b, "]");
}

bool machine_facts_json(struct textbuf *b, const struct machine_facts *f)
{
    const struct rows *t = &f->interrupts;
    bool ok = true;

    if (f->has_int) {
        ok = textbuf_printf(b, ",\"returns\":%" PRIu64 ",\"exceptions\":[", f->returns);
        for (size_t i = 0; ok && i < t->n; i++) {
            ok = textbuf_printf(b, "%s{\"name\":", i ? "," : "") &&
                 textbuf_json_string(b, row_at(t, i)->name, strlen(row_at(t, i)->name)) &&
                 textbuf_printf(b, ",\"count\":%" PRIu64 "}", row_at(t, i)->count);
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
        ok = textbuf_printf(b,
                            ",\"halts\":%" PRIu64 ",\"halted_ns\":%" PRIu64
                            ",\"resets\":%" PRIu64 ",\"saved\":%" PRIu64
                            ",\"loaded\":%" PRIu64,
                            f->halts, f->idle_ns, f->resets, f->saves, f->loads);
    }
    return ok && (!f->has_task || task_facts_json(b, &f->tasks));
}
