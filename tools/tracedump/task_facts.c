/* SPDX-License-Identifier: MIT */
/* See task_facts.h. */
#include "task_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* Which task it is: pids and task_structs are used again, but hardly both. */
struct identity {
    uint64_t task;
    uint32_t pid, zero;
};

struct row {
    struct row_key key; /* of an identity */
    struct identity id;
    uint32_t tgid;
    uint64_t insns;
    char comm[16]; /* the last one */
    size_t comm_bytes;
};

/* What a vCPU runs: since which of its instructions, counted from its first. */
struct running {
    struct identity id; /* all 0: it is not known */
    uint64_t since;
};

void task_facts_init(struct task_facts *f)
{
    *f = (struct task_facts){.tasks.row_bytes = sizeof(struct row)};
}

void task_facts_fini(struct task_facts *f)
{
    rows_free(&f->tasks);
    free(f->running);
}

static struct row *row_at(const struct rows *t, size_t i)
{
    return (struct row *)t->row + i;
}

static struct row *row_of(struct task_facts *f, const struct identity *id)
{
    struct row *row = rows_get(&f->tasks, id, sizeof(*id));

    if (row) {
        row->id = *id;
    }
    return row;
}

static bool leave(struct task_facts *f, uint32_t vcpu, uint64_t insns)
{
    struct running *r;
    struct row *row;

    if (!array_reserve_zeroed(&f->running, &f->nr_running, vcpu + (size_t)1,
                              sizeof(*f->running))) {
        return false;
    }
    r = &f->running[vcpu];
    if (insns != r->since) {
        row = row_of(f, &r->id);
        if (!row) {
            return false;
        }
        row->insns += insns - r->since;
        r->since = insns;
    }
    return true;
}

bool task_facts_put(struct task_facts *f, const struct ctr_thread *vcpu,
                    const struct ctr_task *task, uint64_t ordinal)
{
    const struct identity id = {task->task, task->pid, 0};
    struct row *row;

    if (!leave(f, vcpu->index, ordinal - vcpu->first) || !(row = row_of(f, &id))) {
        return false;
    }
    f->running[vcpu->index].id = id;
    row->tgid = task->tgid;
    row->comm_bytes = task->comm.n;
    memcpy(row->comm, task->comm.p, task->comm.n);
    return true;
}

static int by_insns(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->insns != y->insns) {
        return x->insns < y->insns ? 1 : -1;
    }
    if (x->id.pid != y->id.pid) {
        return x->id.pid < y->id.pid ? -1 : 1;
    }
    return x->id.task < y->id.task ? -1 : x->id.task > y->id.task;
}

bool task_facts_end(struct task_facts *f, const struct ctr_trace *tr)
{
    const struct ctr_thread *t;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        if (!leave(f, i, t->insns)) {
            return false;
        }
    }
    rows_sort(&f->tasks, by_insns);
    return true;
}

bool task_facts_text(struct textbuf *b, const struct task_facts *f)
{
    const struct rows *t = &f->tasks;
    bool ok = textbuf_printf(b, "tasks         %zu\n", t->n);

    for (size_t i = 0; ok && i < t->n && i < ROWS_TEXT; i++) {
        const struct row *r = row_at(t, i);
        if (!r->id.task) {
            ok = textbuf_printf(b, "  not known");
        } else {
            ok = textbuf_printf(b, "  %u ", r->id.pid) &&
                 textbuf_printable(b, r->comm, r->comm_bytes) &&
                 (r->tgid == r->id.pid || textbuf_printf(b, " of %u", r->tgid));
        }
        ok = ok && textbuf_printf(b, "  %" PRIu64 " instructions\n", r->insns);
    }
    return ok && rows_more_text(b, t);
}

bool task_facts_json(struct textbuf *b, const struct task_facts *f)
{
    const struct rows *t = &f->tasks;
    bool ok = textbuf_printf(b, ",\"tasks\":[");

    for (size_t i = 0; ok && i < t->n; i++) {
        const struct row *r = row_at(t, i);
        ok = textbuf_printf(b, i ? ",{" : "{");
        if (ok && r->id.task) {
            ok = textbuf_printf(
                     b, "\"pid\":%u,\"tgid\":%u,\"address\":\"0x%" PRIx64 "\",\"comm\":",
                     r->id.pid, r->tgid, r->id.task) &&
                 textbuf_json_string(b, r->comm, r->comm_bytes) && textbuf_printf(b, ",");
        }
        ok = ok && textbuf_printf(b, "\"instructions\":%" PRIu64 "}", r->insns);
    }
    return ok && textbuf_printf(b, "]");
}
