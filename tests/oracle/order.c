/* SPDX-License-Identifier: MIT */
/*
 * oracle-order: is the order of threads that ran one at a time the true one?
 *
 *   oracle-order [--forget N] FROM-TO TRACE
 *
 * Follows the memory of the addresses FROM to before TO, which all threads share: each
 * load must find what was stored last, by whatever thread or the system for it, in the
 * order of the trace.
 * Where a chunk says that all that were begun before it had ended, they had.
 * From some of the accesses, ctr_search must find the last store before it, and the next
 * access after it, that were met.  --forget leaves out the N-th store that changes a byte,
 * to show that the check notices it.
 */
#include "ctr.h"
#include "bad.h"
#include "cannoli/events.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEARCHES 400u

struct place {
    uint64_t ordinal;
    uint32_t thread;
    bool known;
};

struct byte {
    uint8_t value;
    struct place stored; /* last */
    struct place open;   /* an access whose successor is to be found */
    bool by_system;      /* the last store was the system's */
};

struct check {
    struct ctr_trace *trace;
    uint64_t from, to;
    struct byte *bytes;
    uint64_t loads, stores, others; /* loads of what another thread stored */
    uint64_t system;                /* writes */
    uint64_t searches, every;
    uint64_t forget;
};

static bool is_at(const struct place *p, uint32_t thread, uint64_t ordinal)
{
    return p->known && p->thread == thread && p->ordinal == ordinal;
}

/* From an access of a byte: the last store before, or the next access after, is that. */
static void search(struct check *c, uint64_t addr, const struct place *from, bool back,
                   const struct place *expected)
{
    const struct ctr_range range = {.from = addr, .to = addr + 1};
    const struct ctr_filter filter = {
        .kinds = back ? CTR_KIND_STORE : CTR_KIND_LOAD | CTR_KIND_STORE,
        .addrs = &range,
        .naddr = 1,
    };
    struct ctr_diag diag = {0};
    struct ctr_found found;
    int r = ctr_search(c->trace, &filter, from->thread, from->ordinal,
                       back ? CTR_SEARCH_BACK : 0, 2, &found, &diag);

    if (r < 0) {
        bad("search", r, &diag);
    }
    c->searches++;
    if (r != expected->known ||
        (r && !is_at(expected, found.thread->index, found.ordinal))) {
        printf("cpu%" PRIu32 " ordinal %" PRIu64 ": %s of 0x%" PRIx64 " is at ",
               from->thread, from->ordinal,
               back ? "the store before" : "the access after", addr);
        printf(expected->known ? "cpu%" PRIu32 " %" PRIu64 : "no place", expected->thread,
               expected->ordinal);
        printf(r ? ", found cpu%" PRIu32 " %" PRIu64 "\n" : ", nothing found\n",
               r ? found.thread->index : 0, r ? found.ordinal : 0);
        exit(1);
    }
}

static void one_byte(struct check *c, const struct ctr_mem *m, uint32_t i, bool system)
{
    const uint64_t addr = m->addr + i;
    const struct place here = {m->ordinal, m->thread->index, true};
    struct byte *b = &c->bytes[addr - c->from];

    if (b->open.known && !is_at(&b->open, here.thread, here.ordinal)) {
        if (!system) {
            search(c, addr, &b->open, false, &here);
        }
        b->open.known = false;
    }
    if (!system && !b->by_system && i == 0 && (c->loads + c->stores) % c->every == 0 &&
        !is_at(&b->stored, here.thread, here.ordinal)) {
        search(c, addr, &here, true, &b->stored);
        b->open = here;
    }
    if (m->store) {
        if (b->value == m->data[i] || !c->forget || --c->forget) {
            b->value = m->data[i];
        }
        b->stored = here;
        b->by_system = system;
        return;
    }
    if (b->stored.known && b->value != m->data[i]) {
        printf("cpu%" PRIu32 " ordinal %" PRIu64 " pc 0x%" PRIx64
               ": loads 0x%02x at 0x%" PRIx64 ", where cpu%" PRIu32
               " stored 0x%02x at ordinal %" PRIu64 "\n",
               here.thread, here.ordinal, m->pc, m->data[i], addr, b->stored.thread,
               b->value, b->stored.ordinal);
        exit(1);
    }
    c->others += b->stored.known && b->stored.thread != here.thread;
}

static void access_of(struct check *c, const struct ctr_mem *m, bool system)
{
    if (!m->data || m->addr < c->from || m->addr + m->size > c->to) {
        return;
    }
    *(system ? &c->system : m->store ? &c->stores : &c->loads) += 1;
    for (uint32_t i = 0; i < m->size; i++) {
        one_byte(c, m, i, system);
    }
}

/* Memory that the system wrote for a thread is as if that had stored it. */
static void event_of(struct check *c, const struct ctr_os_event *e)
{
    struct ctr_usermem u;

    if (e->type == CTR_EVENT_USERMEM && ctr_parse_usermem(e, &u) == 0 &&
        u.flags & CTR_USERMEM_WRITE && u.n == u.size) {
        const struct ctr_mem m = {.addr = u.addr,
                                  .size = u.n,
                                  .store = 1,
                                  .data = u.data,
                                  .ordinal = e->ordinal,
                                  .thread = e->thread};
        access_of(c, &m, true);
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct ctr_chunk *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* CTR_CHUNK_FIRST, which readers believe. */
static uint64_t check_chunks(struct ctr_trace *tr, uint64_t n)
{
    struct ctr_chunk *v = calloc(n, sizeof(*v));
    struct ctr_diag diag = {0};
    uint64_t firsts = 0, last = 0;

    for (uint64_t i = 0; i < n; i++) {
        int r = v ? ctr_trace_chunk(tr, i, &v[i], &diag) : -CTR_E_NOMEM;

        if (r) {
            bad("the trace cannot be read", r, &diag);
        }
    }
    qsort(v, n, sizeof(*v), by_begin);
    for (uint64_t i = 0; i < n; i++) {
        if (i && v[i].flags & CTR_CHUNK_FIRST && v[last].end_ns > v[i].start_ns) {
            printf("chunk %" PRIu64 " of cpu%" PRIu32 ", begun before chunk %" PRIu64
                   " of cpu%" PRIu32 ", had not ended then\n",
                   v[last].index, v[last].thread, v[i].index, v[i].thread);
            exit(1);
        }
        firsts += v[i].flags & CTR_CHUNK_FIRST ? 1 : 0;
        last = v[i].end_ns > v[last].end_ns ? i : last;
    }
    free(v);
    return firsts;
}

int main(int argc, char **argv)
{
    static const struct ctr_filter filter = {.kinds = CTR_KIND_LOAD | CTR_KIND_STORE |
                                                      CTR_KIND_SYS};
    struct ctr_cursor *cursor;
    struct ctr_diag diag = {0};
    struct check c = {0};
    struct ctr_event ev;
    struct ctr_info info;
    char *end;
    int r;

    if (argc == 5 && strcmp(argv[1], "--forget") == 0) {
        c.forget = strtoull(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: oracle-order [--forget N] FROM-TO TRACE\n");
        return 2;
    }
    c.from = strtoull(argv[1], &end, 0);
    c.to = strtoull(end + 1, NULL, 0);
    c.bytes = calloc(c.to - c.from, sizeof(c.bytes[0]));
    r = c.bytes ? ctr_open(&c.trace, argv[2], 0, &diag) : -CTR_E_NOMEM;
    if (r) {
        bad("the trace cannot be read", r, &diag);
    }
    ctr_trace_info(c.trace, &info);
    if (!check_chunks(c.trace, info.chunks)) {
        printf("no chunk begins after all others\n");
        return 1;
    }
    c.every = (info.loads + info.stores) / SEARCHES + 1;
    r = ctr_cursor_open(&cursor, c.trace, &filter, &diag);
    while (r == 0 && (r = ctr_cursor_next(cursor, &ev, &diag)) == 1) {
        if (ev.kind == CTR_CURSOR_MEM) {
            access_of(&c, &ev.mem, false);
        } else {
            event_of(&c, &ev.os);
        }
        r = 0;
    }
    if (r < 0) {
        bad("the trace cannot be read", r, &diag);
    }
    if (!c.others || !c.searches) {
        printf("nothing to compare\n");
        return 1;
    }
    printf("%" PRIu64 " loads, %" PRIu64 " stores, %" PRIu64 " of the system, %" PRIu64
           " bytes from another thread, %" PRIu64 " searches\n",
           c.loads, c.stores, c.system, c.others, c.searches);
    ctr_cursor_close(cursor);
    ctr_close(c.trace);
    return 0;
}
