/* SPDX-License-Identifier: MIT */
/* The accesses around a place; see near.h. */
#include "memory/near.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"

/* What an event says; false: nothing about memory. */
static bool access_of(const struct ctr_event *ev, struct near_access *a)
{
    const uint8_t *data = NULL;
    struct ctr_usermem u;
    struct ctr_map map;

    *a = (struct near_access){0};
    if (ev->kind == CTR_CURSOR_MEM) {
        a->ordinal = ev->mem.ordinal;
        a->addr = ev->mem.addr;
        a->size = ev->mem.size;
        a->write = ev->mem.store;
        data = ev->mem.data;
    } else if (ev->kind == CTR_CURSOR_OS) {
        /* Before the first instruction there is nowhere to come from. */
        a->ordinal = ev->os.ordinal ? ev->os.ordinal - 1 : 0;
        a->anything = !ctr_parse_map(&ev->os, &map);
        if (!a->anything && ctr_parse_usermem(&ev->os, &u)) {
            return false;
        }
        if (!a->anything) {
            a->addr = u.addr;
            a->size = u.size;
            a->write = (u.flags & CTR_USERMEM_WRITE) != 0;
            data = u.n >= u.size ? u.data : NULL;
        }
    } else {
        return false;
    }
    a->has_data = data && a->size <= sizeof(a->data);
    if (a->has_data) {
        memcpy(a->data, data, a->size);
    }
    return true;
}

/* Reads the accesses around some instructions. */
static int fill(struct memory_near *w, struct ctr_trace *tr, uint32_t thread,
                uint64_t from, uint64_t to, struct ctr_diag *diag)
{
    struct ctr_filter filter = {.kinds = CTR_KIND_LOAD | CTR_KIND_STORE | CTR_KIND_SYS |
                                         CTR_KIND_MAP,
                                .threads = &thread,
                                .nthread = 1,
                                .from = from > MEMORY_NEAR ? from - MEMORY_NEAR : 0,
                                .to = to + MEMORY_NEAR};
    struct ctr_cursor *c;
    struct ctr_event ev;
    struct near_access a;
    int ret = ctr_cursor_open(&c, tr, &filter, diag);

    w->accesses.n = 0;
    w->from = w->to = 0;
    if (ret) {
        return ret;
    }
    while ((ret = ctr_cursor_next(c, &ev, diag)) == 1) {
        if (!access_of(&ev, &a)) {
            continue;
        }
        if (buf_append(&w->accesses, &a, sizeof(a))) {
            ret = ctr_fail_nomem(diag);
            break;
        }
    }
    ctr_cursor_close(c);
    if (!ret) {
        w->thread = thread;
        w->from = filter.from;
        w->to = filter.to;
    }
    return ret;
}

/* The first access of an instruction from this one on. */
static size_t first_of(const struct memory_near *w, uint64_t ordinal)
{
    const struct near_access *v = (const struct near_access *)w->accesses.p;
    size_t low = 0, high = w->accesses.n / sizeof(*v);

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (v[middle].ordinal < ordinal) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int memory_near_find(struct memory_near *w, struct ctr_trace *tr, uint32_t thread,
                     uint64_t from, uint64_t to, const struct near_access **v, size_t *n,
                     struct ctr_diag *diag)
{
    int ret = 0;
    size_t first;

    /* What the system did before the instruction `to' counts. */
    if (!w->to || w->thread != thread || from < w->from || to + 1 > w->to) {
        ret = fill(w, tr, thread, from, to + 1, diag);
    }
    first = ret ? 0 : first_of(w, from);
    *v = (const struct near_access *)w->accesses.p + first;
    *n = ret ? 0 : first_of(w, to) - first;
    return ret;
}

void memory_near_free(struct memory_near *w)
{
    buf_free(&w->accesses);
    *w = (struct memory_near){0};
}
