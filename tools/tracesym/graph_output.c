/* SPDX-License-Identifier: MIT */
/* Functions in order, names, and the end of an output; see graph_priv.h. */
#include "graph_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/textbuf.h"

struct ranked {
    uint64_t first, second; /* what functions are sorted by */
    const struct call_function *function;
};

static int by_rank(const void *va, const void *vb)
{
    const struct ranked *a = va, *b = vb;

    if (a->first != b->first) {
        return a->first < b->first ? 1 : -1;
    }
    if (a->second != b->second) {
        return a->second < b->second ? 1 : -1;
    }
    return a->function->index < b->function->index ? -1 : 1;
}

static bool any(uint64_t calls, const struct cost *self)
{
    return calls || self->insns || self->loads || self->stores;
}

bool graph_ran(const struct calltree *t, uint32_t function)
{
    const struct call_function *f = &t->functions[function];
    const struct call_older *o = t->older ? &t->older_functions[function] : NULL;

    return any(f->calls, &f->self) || (o && any(o->calls, &o->self));
}

static struct ranked rank(const struct calltree *t, const struct call_function *f,
                          const struct graph_options *opt)
{
    struct graph_amount a = graph_function_self(t, f, opt->cost);
    uint64_t change = a.now > a.older ? a.now - a.older : a.older - a.now;

    switch (opt->sort) {
    case GRAPH_BY_INCLUSIVE:
        return (struct ranked){graph_cost_of(&f->inclusive, opt->cost), a.sum, f};
    case GRAPH_BY_CALLS:
        return (struct ranked){f->calls, a.sum, f};
    default:
        return (struct ranked){t->older ? change : a.sum, a.sum, f};
    }
}

int graph_by_self(const struct calltree *t, const struct graph_options *opt,
                  const struct call_function ***out, size_t *n)
{
    struct ranked *v = malloc((t->nr_functions + (size_t)1) * sizeof(*v));
    const struct call_function **list =
        malloc((t->nr_functions + (size_t)1) * sizeof(*list));
    size_t count = 0;

    if (!v || !list) {
        free(v);
        free(list);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        if (graph_ran(t, i) && (!opt->wanted || opt->wanted[i])) {
            v[count++] = rank(t, &t->functions[i], opt);
        }
    }
    qsort(v, count, sizeof(*v), by_rank);
    for (size_t i = 0; i < count; i++) {
        list[i] = v[i].function;
    }
    free(v);
    *out = list;
    *n = count;
    return 0;
}

const char *graph_cost_word(enum graph_cost cost)
{
    return cost == GRAPH_LOADS    ? "loads"
           : cost == GRAPH_STORES ? "stores"
                                  : "instructions";
}

const char *graph_short_name(const char *name, unsigned max, char *buf)
{
    size_t n = strlen(name);
    unsigned tail, head;

    if (n <= max) {
        return name;
    }
    tail = max / 4;
    head = max - 2 - tail;
    /* no half of a UTF-8 sequence on either side */
    while (head && ((unsigned char)name[head] & 0xc0) == 0x80) {
        head--;
    }
    while (tail && ((unsigned char)name[n - tail] & 0xc0) == 0x80) {
        tail--;
    }
    memcpy(buf, name, head);
    memcpy(buf + head, "..", 2);
    memcpy(buf + head + 2, name + n - tail, tail + 1);
    return buf;
}

void graph_write_name(const char *name, FILE *out)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < n; i++) {
        putc(text_is_control(name, i, n) ? '?' : name[i], out);
    }
}

int graph_finish(FILE *out)
{
    errno = 0;
    if (fflush(out) || ferror(out)) {
        return errno ? -errno : -EIO;
    }
    return 0;
}
