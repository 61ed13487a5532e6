/* SPDX-License-Identifier: MIT */
/* Functions in order, names, and the end of an output; see graph_priv.h. */
#include "graph_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/textbuf.h"

struct ranked {
    uint64_t cost;
    const struct call_function *function;
};

static int by_self(const void *va, const void *vb)
{
    const struct ranked *a = va, *b = vb;

    if (a->cost != b->cost) {
        return a->cost < b->cost ? 1 : -1;
    }
    return a->function->index < b->function->index ? -1 : 1;
}

int graph_by_self(const struct calltree *t, enum graph_cost cost,
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
        const struct call_function *f = &t->functions[i];

        if (f->calls || f->self.insns || f->self.loads || f->self.stores) {
            v[count++] = (struct ranked){graph_cost_of(&f->self, cost), f};
        }
    }
    qsort(v, count, sizeof(*v), by_self);
    for (size_t i = 0; i < count; i++) {
        list[i] = v[i].function;
    }
    free(v);
    *out = list;
    *n = count;
    return 0;
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
