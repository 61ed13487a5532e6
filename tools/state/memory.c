/* SPDX-License-Identifier: MIT */
/* The memory of a process at a moment; see memory.h.  It is found by searching the trace
 * from there, a line of some bytes at a time. */
#include "state/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "state/memory_initial.h"

#define LINE_BYTES 64u
#define MAX_LINES 65536u /* then all are forgotten */

enum byte_state {
    BYTE_OPEN, /* not decided yet */
    BYTE_KNOWN,
    BYTE_LOST, /* it was accessed, but its value is not in the trace */
};

struct line {
    uint64_t addr; /* of its first byte */
    uint8_t value[LINE_BYTES];
    uint8_t state[LINE_BYTES]; /* enum byte_state */
};

struct memory_view {
    struct ctr_trace *tr;
    struct moment at;
    uint32_t process;
    unsigned jobs;
    struct memory_initial *initial;
    struct line *lines; /* hash table by addr */
    uint32_t cap, n;    /* a power of two */
};

int memory_open(struct memory_view **out, struct ctr_trace *tr,
                const struct places *places, const struct moment *at, unsigned jobs,
                struct ctr_diag *diag)
{
    struct memory_view *m = calloc(1, sizeof(*m));
    const struct ctr_thread *t = ctr_trace_thread(tr, at->thread);
    int ret = m && t ? 0 : -CTR_E_NOMEM;

    *out = NULL;
    if (!ret) {
        *m = (struct memory_view){
            .tr = tr, .at = *at, .process = t->process, .jobs = jobs, .cap = 256};
        m->lines = calloc(m->cap, sizeof(*m->lines));
        ret =
            m->lines ? memory_initial_open(&m->initial, tr, places, diag) : -CTR_E_NOMEM;
    }
    if (ret) {
        memory_close(m);
        return ret;
    }
    *out = m;
    return 0;
}

static void forget_lines(struct memory_view *m)
{
    if (m->n) {
        memset(m->lines, 0, m->cap * sizeof(*m->lines));
        m->n = 0;
    }
}

void memory_move(struct memory_view *m, const struct moment *at)
{
    m->at = *at;
    m->process = ctr_trace_thread(m->tr, at->thread)->process;
    forget_lines(m);
}

void memory_close(struct memory_view *m)
{
    if (m) {
        memory_initial_close(m->initial);
        free(m->lines);
        free(m);
    }
}

/* ------------------------------------------------------------------- one line */

/* A position of a search, in a process. */
struct position {
    uint32_t thread, process;
    uint64_t ordinal;
    bool before_system; /* as in struct moment */
};

/* A search of a line. */
struct lookup {
    struct memory_view *m;
    struct line *line;
    struct position pos;
    unsigned flags; /* CTR_SEARCH_BACK or 0 */
    struct ctr_diag *diag;
};

/* The bytes that are still open, as ranges of a filter; their number. */
static uint32_t open_ranges(const struct lookup *l, struct ctr_range *v)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < LINE_BYTES; i++) {
        if (l->line->state[i] != BYTE_OPEN) {
            continue;
        }
        if (n && v[n - 1].to == l->line->addr + i) {
            v[n - 1].to++;
        } else {
            v[n++] = (struct ctr_range){l->line->addr + i, l->line->addr + i + 1, 0};
        }
    }
    return n;
}

/* What one event says of some bytes: value (NULL: it cannot be known), or nothing. */
struct report {
    uint64_t addr, size;
    uint64_t n; /* bytes of `data' */
    const uint8_t *data;
    bool write;
};

/*
 * Backward, an access says what the bytes are; one without a value settles that they are
 * not known if it wrote.  Forward, a load says what they are, and a write ends the search
 * for them.  Of the events of one instruction, `fresh' marks what was decided by it: in a
 * backward search later ones count more.
 */
static void apply(struct lookup *l, const struct report *r, uint8_t *fresh)
{
    bool back = l->flags & CTR_SEARCH_BACK;

    for (unsigned i = 0; i < LINE_BYTES; i++) {
        uint64_t addr = l->line->addr + i, at = addr - r->addr;
        if (addr < r->addr || at >= r->size ||
            (l->line->state[i] != BYTE_OPEN && !(back && fresh[i]))) {
            continue;
        }
        if (r->data && at < r->n && (back || !r->write)) {
            l->line->value[i] = r->data[at];
            l->line->state[i] = BYTE_KNOWN;
            fresh[i] = 1;
        } else if (r->write) {
            l->line->value[i] = 0;
            l->line->state[i] = BYTE_LOST;
            fresh[i] = 1;
        }
    }
}

static void apply_event(struct lookup *l, const struct ctr_event *ev, uint8_t *fresh)
{
    struct ctr_usermem u;

    if (ev->kind == CTR_CURSOR_MEM) {
        const struct ctr_mem *m = &ev->mem;
        apply(l, &(struct report){m->addr, m->size, m->size, m->data, m->store}, fresh);
    } else if (ev->kind == CTR_CURSOR_OS && !ctr_parse_usermem(&ev->os, &u)) {
        apply(l,
              &(struct report){u.addr, u.size, u.n, u.data,
                               (u.flags & CTR_USERMEM_WRITE) != 0},
              fresh);
    }
}

/* Reads all events of the place found, and what they say. */
static int read_found(struct lookup *l, const struct ctr_found *found)
{
    struct ctr_range whole = {l->line->addr, l->line->addr + LINE_BYTES, 0};
    struct ctr_filter filter = {
        .threads = &found->thread->index,
        .nthread = 1,
        .from = found->ordinal,
        .to = found->ordinal + 1,
        .kinds = found->system ? CTR_KIND_SYS : CTR_KIND_LOAD | CTR_KIND_STORE,
        .addrs = &whole,
        .naddr = found->system ? 0 : 1,
    };
    uint8_t fresh[LINE_BYTES] = {0};
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret = ctr_cursor_open(&c, l->m->tr, &filter, l->diag);

    if (ret) {
        return ret;
    }
    while ((ret = ctr_cursor_next(c, &ev, l->diag)) == 1) {
        apply_event(l, &ev, fresh);
    }
    ctr_cursor_close(c);
    return ret;
}

/* Whether what was found says nothing: a load whose value was not recorded. */
static void pass_over(struct lookup *l, const struct ctr_found *found)
{
    l->pos.thread = found->thread->index;
    l->pos.ordinal = found->ordinal;
    l->pos.before_system = false;
}

/* Searches in one direction until all bytes are decided, or nothing more is found. */
static int search_line(struct lookup *l)
{
    struct ctr_range open[LINE_BYTES];
    struct ctr_found found;
    int ret;

    for (;;) {
        struct ctr_filter filter = {
            .kinds = CTR_KIND_LOAD | CTR_KIND_STORE | CTR_KIND_SYS,
            .processes = &l->pos.process,
            .nprocess = 1,
            .addrs = open,
            .naddr = open_ranges(l, open),
        };
        if (!filter.naddr) {
            return 0;
        }
        ret = ctr_search(l->m->tr, &filter, l->pos.thread, l->pos.ordinal,
                         l->flags | (l->pos.before_system ? CTR_SEARCH_SYSTEM : 0),
                         l->m->jobs, &found, l->diag);
        if (ret != 1) {
            return ret;
        }
        if (l->flags & CTR_SEARCH_BACK &&
            !memory_initial_reaches(l->m->initial, l->pos.process, found.addr,
                                    found.thread->index, found.ordinal,
                                    l->m->at.time_ns)) {
            return 0; /* it was of another mapping */
        }
        ret = read_found(l, &found);
        if (ret) {
            return ret;
        }
        pass_over(l, &found);
    }
}

/* Continues in the process that this one was forked from. */
static int search_parents(struct lookup *l)
{
    struct moment fork;
    uint32_t parent = l->pos.process;
    int ret = 0;

    for (unsigned depth = 0; !ret && depth < 1000; depth++) {
        struct ctr_range open[LINE_BYTES];
        if (!open_ranges(l, open)) {
            break;
        }
        ret = memory_initial_fork(l->m->initial, parent, &fork, l->diag);
        if (ret != 1) {
            return ret;
        }
        parent = ctr_trace_thread(l->m->tr, fork.thread)->process;
        l->pos = (struct position){fork.thread, parent, fork.ordinal, fork.before_system};
        ret = search_line(l);
    }
    return ret;
}

/* The bytes that no access decides. */
static int read_initial(struct lookup *l)
{
    for (unsigned i = 0; i < LINE_BYTES; i++) {
        if (l->line->state[i] == BYTE_OPEN &&
            memory_initial_byte(l->m->initial, l->m->process, l->m->at.time_ns,
                                l->line->addr + i, &l->line->value[i])) {
            l->line->state[i] = BYTE_KNOWN;
        }
    }
    return 0;
}

static int fill_line(struct memory_view *m, struct line *line, struct ctr_diag *diag)
{
    struct position here = {m->at.thread, m->process, m->at.ordinal, m->at.before_system};
    struct lookup l = {m, line, here, CTR_SEARCH_BACK, diag};
    int ret = search_line(&l);

    ret = ret ? ret : search_parents(&l);
    if (!ret && m->at.ordinal) {
        /* What comes after the instruction before is what comes from the moment on. */
        l.pos = here;
        l.pos.ordinal--;
        l.pos.before_system = false;
        l.flags = 0;
        ret = search_line(&l);
    }
    return ret ? ret : read_initial(&l);
}

/* ---------------------------------------------------------------------- lines */

static struct line *slot_of(struct line *v, uint32_t cap, uint64_t addr)
{
    uint64_t i = (addr / LINE_BYTES) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    while (v[i & (cap - 1)].addr != addr && v[i & (cap - 1)].state[0] != BYTE_OPEN) {
        i++;
    }
    return &v[i & (cap - 1)];
}

/* Makes room for one more line; false: no memory. */
static bool make_room(struct memory_view *m)
{
    struct line *v;

    if (m->n < m->cap / 2) {
        return true;
    }
    if (m->n >= MAX_LINES) {
        forget_lines(m);
        return true;
    }
    v = calloc(2 * (size_t)m->cap, sizeof(*v));
    for (uint32_t i = 0; v && i < m->cap; i++) {
        if (m->lines[i].state[0] != BYTE_OPEN) {
            *slot_of(v, 2 * m->cap, m->lines[i].addr) = m->lines[i];
        }
    }
    if (v) {
        free(m->lines);
        m->lines = v;
        m->cap *= 2;
    }
    return v != NULL;
}

/* A line with all its bytes decided. */
static int get_line(struct memory_view *m, uint64_t addr, const struct line **out,
                    struct ctr_diag *diag)
{
    struct line *at, new = {.addr = addr};
    int ret;

    if (!make_room(m)) {
        return -CTR_E_NOMEM;
    }
    at = slot_of(m->lines, m->cap, addr);
    *out = at;
    if (at->state[0] != BYTE_OPEN) {
        return 0;
    }
    ret = fill_line(m, &new, diag);
    for (unsigned i = 0; !ret && i < LINE_BYTES; i++) {
        if (new.state[i] == BYTE_OPEN) {
            new.state[i] = BYTE_LOST;
        }
    }
    if (!ret) {
        *at = new;
        m->n++;
    }
    return ret;
}

int memory_read(struct memory_view *m, uint64_t addr, uint8_t *out, uint8_t *known,
                size_t n, struct ctr_diag *diag)
{
    const struct line *line = NULL;
    int ret = 0;

    for (size_t i = 0; !ret && i < n; i++) {
        uint64_t at = (addr + i) % LINE_BYTES;
        if (!line || !at) {
            ret = get_line(m, addr + i - at, &line, diag);
        }
        if (!ret) {
            known[i] = line->state[at] == BYTE_KNOWN;
            out[i] = known[i] ? line->value[at] : 0;
        }
    }
    return ret;
}
