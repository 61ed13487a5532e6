/* SPDX-License-Identifier: MIT */
/* The memory of a process at a moment; see memory.h.  It is found by searching the trace
 * from there, a line of some bytes at a time. */
#include "state/memory.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "query/threads.h"
#include "state/memory_initial.h"
#include "state/memory_key.h"
#include "state/memory_near.h"
#include "state/memory_since.h"

#define LINE_BYTES 4096u
#define FIRST_LINES 16u
#define MAX_LINES 4096u /* then all are forgotten */
/* So many bytes are first searched at so many places. */
#define FEW_BYTES 64u
#define FEW_PLACES 2u
/* Bytes that are read together, if many are. */
#define TOGETHER (64u << 10)

enum byte_state {
    BYTE_OPEN,  /* not decided yet */
    BYTE_LATER, /* the same; stored without a value, only a later load shows it */
    BYTE_FIRST, /* the first access to it is a later write: only its initial value counts */
    BYTE_KNOWN,
    BYTE_LOST, /* it was accessed, but its value is not in the trace */
};

struct line {
    uint64_t addr; /* of its first byte */
    bool used;     /* in the table */
    uint8_t value[LINE_BYTES];
    uint8_t state[LINE_BYTES]; /* enum byte_state */
};

struct memory_view {
    struct ctr_trace *tr;
    bool machine;
    uint64_t shared; /* of a machine: from here on addresses are the kernel's */
    bool placed;     /* of a machine: `space' is that of the moment, its table, ... */
    bool known;      /* ... if that is known */
    uint64_t space;
    struct moment at;
    uint32_t process;
    unsigned jobs;
    uint32_t most; /* chunks of a search; 0: any number */
    struct memory_initial *initial;
    struct line *lines; /* hash table by addr */
    uint32_t cap, n;    /* a power of two */
    bool alone;         /* no other thread of the process can have changed its memory */
    struct memory_near near;
    struct memory_key keys;
};

/* Where a kernel's part of each address space begins: as Linux divides it by default. */
static uint64_t kernel_begins(const struct ctr_info *info)
{
    return info->addr_bits == 64          ? UINT64_C(1) << 63
           : info->elf_machine == EM_MIPS ? UINT64_C(1) << 31
                                          : UINT64_C(0xc0000000);
}

int memory_open(struct memory_view **out, struct ctr_trace *tr,
                const struct places *places, const struct moment *at, unsigned jobs,
                struct ctr_diag *diag)
{
    struct memory_view *m = calloc(1, sizeof(*m));
    const struct ctr_thread *t = ctr_trace_thread(tr, at->thread);
    struct ctr_info info;
    int ret = m && t ? 0 : -CTR_E_NOMEM;

    *out = NULL;
    if (!ret) {
        ctr_trace_info(tr, &info);
        *m = (struct memory_view){.machine = info.machine,
                                  .shared = kernel_begins(&info),
                                  .tr = tr,
                                  .at = *at,
                                  .process = t->process,
                                  .jobs = jobs,
                                  .alone = threads_single(tr, t->process),
                                  .cap = FIRST_LINES};
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

static struct line *slot_of(struct line *v, uint32_t cap, uint64_t addr)
{
    uint64_t i = (addr / LINE_BYTES) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    while (v[i & (cap - 1)].addr != addr && v[i & (cap - 1)].used) {
        i++;
    }
    return &v[i & (cap - 1)];
}

static void forget_lines(struct memory_view *m)
{
    if (m->n) {
        memset(m->lines, 0, m->cap * sizeof(*m->lines));
        m->n = 0;
    }
}

/* ---------------------------------------------------------------- near moments */

/* Whether a line that holds at one of the moments around an access does so at the other
 * one, too; forward, what was written is added.  Backward, it may be this access that the
 * line is known by. */
static bool survives(struct line *line, const struct near_access *a, bool forward)
{
    if (a->anything) {
        return false;
    }
    for (unsigned i = 0; i < LINE_BYTES; i++) {
        const uint64_t at = line->addr + i - a->addr;

        if (at >= a->size || line->state[i] == BYTE_OPEN) {
            continue;
        }
        if (!a->has_data || !forward) {
            return false;
        }
        if (a->write) {
            line->value[i] = a->data[at];
            line->state[i] = BYTE_KNOWN;
        } else if (line->state[i] != BYTE_KNOWN || line->value[i] != a->data[at]) {
            return false; /* it was changed by what is not recorded */
        }
    }
    return true;
}

/* Forgets what is different at another moment of the thread; false: all may be. */
static bool keep_lines(struct memory_view *m, const struct moment *at)
{
    const bool forward = at->ordinal >= m->at.ordinal;
    const uint64_t from = forward ? m->at.ordinal : at->ordinal;
    const uint64_t to = forward ? at->ordinal : m->at.ordinal;
    const struct near_access *v;
    struct line *kept;
    uint32_t n = 0;
    size_t nr;

    if (!m->alone || m->machine || at->thread != m->at.thread ||
        to - from > MEMORY_NEAR || at->before_system || m->at.before_system || !m->n ||
        memory_near_find(&m->near, m->tr, at->thread, from, to, &v, &nr, NULL)) {
        return false;
    }
    kept = calloc(m->cap, sizeof(*kept));
    for (uint32_t i = 0; kept && i < m->cap; i++) {
        struct line *line = &m->lines[i];
        bool same = line->used;

        for (size_t k = 0; same && k < nr; k++) {
            const struct near_access *a = &v[k];

            same = (!a->anything && a->addr - line->addr >= LINE_BYTES &&
                    line->addr - a->addr >= a->size) ||
                   survives(line, a, forward);
        }
        if (same) {
            *slot_of(kept, m->cap, line->addr) = *line;
            n++;
        }
    }
    if (!kept) {
        return false;
    }
    free(m->lines);
    m->lines = kept;
    m->n = n;
    return true;
}

void memory_move(struct memory_view *m, const struct moment *at)
{
    const bool kept = keep_lines(m, at);

    m->at = *at;
    if (kept) {
        return;
    }
    m->placed = false;
    m->process = ctr_trace_thread(m->tr, at->thread)->process;
    m->alone = threads_single(m->tr, m->process);
    forget_lines(m);
}

void memory_limit(struct memory_view *m, uint32_t chunks)
{
    m->most = chunks;
}

void memory_close(struct memory_view *m)
{
    if (m) {
        memory_initial_close(m->initial);
        memory_near_free(&m->near);
        free(m->lines);
        free(m);
    }
}

/* ------------------------------------------------------------------- one line */

/* A position of a search, in a process. */
struct position {
    uint32_t thread, process;
    uint64_t ordinal;
    unsigned point;         /* CTR_SEARCH_POINT, _SYSTEM, _FOUND, or 0 */
    struct ctr_found found; /* with _FOUND */
};

static unsigned point_of(const struct moment *at)
{
    return at->before_system ? CTR_SEARCH_SYSTEM : 0;
}

/* A search of bytes of a line. */
struct lookup {
    struct memory_view *m;
    struct line *line;
    unsigned begin, end; /* those bytes */
    bool text;           /* no more than up to the first NUL */
    struct position pos;
    uint64_t floor;  /* ordinal of that thread: no further back */
    unsigned flags;  /* CTR_SEARCH_BACK or 0 */
    uint32_t access; /* CTR_KIND_LOAD, _STORE: what is searched */
    bool all;        /* loads, too, in any process */
    struct ctr_diag *diag;
};

/* Whether an access in this direction can decide the byte i. */
static bool is_open(const struct lookup *l, unsigned i)
{
    return l->line->state[i] == BYTE_OPEN ||
           (l->line->state[i] == BYTE_LATER && !(l->flags & CTR_SEARCH_BACK));
}

/* Whether a text is known to its end: a NUL, or a byte that cannot be known. */
static bool text_ends(const struct lookup *l)
{
    for (unsigned i = l->begin; i < l->end && l->line->state[i] >= BYTE_KNOWN; i++) {
        if (l->line->state[i] == BYTE_LOST || !l->line->value[i]) {
            return true;
        }
    }
    return false;
}

/* The bytes that are still to be found, as ranges of a filter; their number. */
static uint32_t open_ranges(const struct lookup *l, struct ctr_range *v)
{
    uint32_t n = 0;

    if (l->text && text_ends(l)) {
        return 0;
    }
    for (unsigned i = l->begin; i < l->end; i++) {
        if (!is_open(l, i)) {
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

/* The events of one place, or of a chunk's part: what they decide. */
struct reading {
    uint8_t was[LINE_BYTES]; /* states before */
    uint64_t by[LINE_BYTES]; /* which event decided it, in their order; 0: none */
};

/* Whether event number `key' decides byte i: it was open, and the nearest event counts. */
static bool decides(const struct lookup *l, const struct reading *r, unsigned i,
                    uint64_t key)
{
    if (!r->by[i]) {
        return is_open(l, i);
    }
    return l->flags & CTR_SEARCH_BACK ? key >= r->by[i] : key < r->by[i];
}

/*
 * Backward, an access says what the bytes are; if it wrote without a value, nothing before
 * it does.  Forward, a load says what they are, and a write ends the search for them: before
 * it they are what they were initially, if nothing was found backward.
 */
static void apply(struct lookup *l, const struct report *r, uint64_t key,
                  struct reading *of)
{
    const bool back = l->flags & CTR_SEARCH_BACK;
    const uint64_t skip = r->addr > l->line->addr ? r->addr - l->line->addr : 0;

    for (uint64_t i = skip > l->begin ? skip : l->begin; i < l->end; i++) {
        const uint64_t at = l->line->addr + i - r->addr;
        if (at >= r->size) {
            break;
        }
        if (!decides(l, of, (unsigned)i, key)) {
            continue;
        }
        if (r->data && at < r->n && (back || !r->write)) {
            l->line->value[i] = r->data[at];
            l->line->state[i] = BYTE_KNOWN;
            of->by[i] = key;
        } else if (r->write) {
            l->line->state[i] = back                      ? BYTE_LATER
                                : of->was[i] == BYTE_OPEN ? BYTE_FIRST
                                                          : BYTE_LOST;
            of->by[i] = key;
        }
    }
}

/* Of what the system did before an instruction, only what is on one side of a call has the
 * time of what was found, where threads are merged by time. */
static bool is_of(const struct ctr_found *found, const struct ctr_usermem *u)
{
    return !found->time_ns ||
           (found->kind == CTR_KIND_STORE) == ((u->flags & CTR_USERMEM_WRITE) != 0);
}

static void apply_event(struct lookup *l, const struct ctr_found *found,
                        const struct ctr_event *ev, struct reading *of)
{
    struct ctr_usermem u;

    /* What the system did before an instruction was before its accesses. */
    if (ev->kind == CTR_CURSOR_MEM) {
        const struct ctr_mem *m = &ev->mem;
        apply(l, &(struct report){m->addr, m->size, m->size, m->data, m->store},
              2 * m->ordinal + 2, of);
    } else if (ev->kind == CTR_CURSOR_OS && !ctr_parse_usermem(&ev->os, &u) &&
               (!found->system || is_of(found, &u))) {
        apply(l,
              &(struct report){u.addr, u.size, u.n, u.data,
                               (u.flags & CTR_USERMEM_WRITE) != 0},
              2 * ev->os.ordinal + 1, of);
    }
}

/* Widens the place found to the rest of its slice or chunk in the direction of the search: that
 * takes no longer, and the other bytes are mostly there.  The nearest access to each counts. */
static int widen(struct lookup *l, const struct ctr_found *found,
                 struct ctr_filter *filter)
{
    struct ctr_chunk chunk;
    int ret =
        ctr_trace_find(l->m->tr, found->thread->index, found->ordinal, &chunk, l->diag);

    if (ret) {
        return ret;
    }
    if (!(l->flags & CTR_SEARCH_BACK)) {
        filter->to = found->to;
    } else if (memory_initial_reaches_chunk(l->m->initial, l->pos.process, found->addr,
                                            &chunk, l->m->at.time_ns)) {
        filter->from = found->from;
    }
    return 0;
}

static int is_space(void *arg, const struct ctr_context *context)
{
    const struct memory_view *m = arg;

    return m->known && context->table == m->space;
}

/* Which address spaces count, as of a filter; NULL: all. */
static int (*context_of(const struct lookup *l))(void *, const struct ctr_context *)
{
    return l->m->machine && l->line->addr < l->m->shared ? is_space : NULL;
}

/* Reads the events that a filter selects, and what they say. */
static int read_events(struct lookup *l, const struct ctr_found *found,
                       const struct ctr_filter *filter, struct reading *of)
{
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret = ctr_cursor_open(&c, l->m->tr, filter, l->diag);

    if (ret) {
        return ret;
    }
    while ((ret = ctr_cursor_next(c, &ev, l->diag)) == 1) {
        apply_event(l, found, &ev, of);
    }
    ctr_cursor_close(c);
    return ret;
}

/* Reads the events at the place found, or around it; the search goes on after them. */
static int read_found(struct lookup *l, const struct ctr_found *found)
{
    struct ctr_range whole = {l->line->addr, l->line->addr + LINE_BYTES, 0};
    struct ctr_filter filter = {
        .threads = &found->thread->index,
        .nthread = 1,
        .from = found->ordinal,
        .to = found->ordinal + 1,
        .kinds = CTR_KIND_SYS,
        .context = context_of(l),
        .arg = l->m,
    };
    struct reading of = {.by = {0}};
    int ret = found->system ? 0 : widen(l, found, &filter);

    memcpy(of.was, l->line->state, LINE_BYTES);
    if (!ret && (found->system || filter.to - filter.from > 1)) {
        ret = read_events(l, found, &filter, &of);
    }
    /* Not at once: a filter with addresses selects no events of the system. */
    if (!ret && !found->system) {
        filter.kinds = CTR_KIND_LOAD | CTR_KIND_STORE;
        filter.addrs = &whole;
        filter.naddr = 1;
        ret = read_events(l, found, &filter, &of);
    }
    l->pos.found = *found;
    l->pos.found.ordinal = l->flags & CTR_SEARCH_BACK ? filter.from : filter.to - 1;
    l->pos.point = CTR_SEARCH_FOUND;
    return ret;
}

/* The search came to its limit: what may have been before is not known.  After the moment
 * it matters only for what is decided there. */
static void give_up(struct lookup *l)
{
    for (unsigned i = l->begin; l->flags & CTR_SEARCH_BACK && i < l->end; i++) {
        if (is_open(l, i)) {
            l->line->state[i] = BYTE_LATER;
        }
    }
}

/* Searches in one direction until all bytes are decided, or nothing more is found; at most
 * so many places. */
static int search_places(struct lookup *l, uint64_t most)
{
    struct ctr_range open[LINE_BYTES];
    struct ctr_found found;
    int ret;

    while (most--) {
        struct ctr_filter filter = {
            .kinds = l->access | CTR_KIND_SYS,
            .from = l->floor,
            .processes = &l->pos.process,
            .nprocess = 1,
            .addrs = open,
            .naddr = open_ranges(l, open),
            .context = context_of(l),
            .arg = l->m,
            .most = l->m->most,
        };
        if (!filter.naddr) {
            return 0;
        }
        found = l->pos.found;
        ret = ctr_search(l->m->tr, &filter, l->pos.thread, l->pos.ordinal,
                         l->flags | l->pos.point, l->m->jobs, &found, l->diag);
        if (ret == -CTR_E_LIMIT) {
            give_up(l);
            return 0;
        }
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
    }
    return 0;
}

static int search_line(struct lookup *l)
{
    return search_places(l, UINT64_MAX);
}

/* Bytes that were stored without a value become open again. */
static bool reopen(struct lookup *l)
{
    bool any = false;

    for (unsigned i = l->begin; i < l->end; i++) {
        if (l->line->state[i] == BYTE_LATER) {
            l->line->state[i] = BYTE_OPEN;
            any = true;
        }
    }
    return any;
}

/* Open bytes become what was written since then. */
static void apply_since(struct lookup *l, const struct memory_since *s)
{
    for (unsigned i = l->begin; i < l->end; i++) {
        const uint64_t k = l->line->addr + i - s->addr;

        if (is_open(l, i) && k < s->size && s->written[k]) {
            l->line->value[i] = s->value[k];
            l->line->state[i] = s->written[k] == 1 ? BYTE_KNOWN : BYTE_LATER;
        }
    }
}

/* The open bytes, from the page's key frame on: it shows all of them. */
static int read_since(struct lookup *l, const struct ctr_key_page *key)
{
    struct memory_since since = {.thread = l->pos.thread,
                                 .from = key->ordinal,
                                 .to = l->pos.ordinal,
                                 .system = !(l->pos.point & CTR_SEARCH_SYSTEM),
                                 .addr = l->line->addr + l->begin,
                                 .size = l->end - l->begin};
    struct ctr_range open[LINE_BYTES];
    int ret;

    if (l->pos.point & CTR_SEARCH_FOUND) {
        since.to = l->pos.found.ordinal;
        since.system = !l->pos.found.system;
    }
    if (!open_ranges(l, open)) {
        return 0;
    }
    if (since.to < since.from) { /* what was searched reaches beyond the key frame */
        since.to = since.from;
        since.system = true;
    }
    ret = memory_since_read(&since, l->m->tr, l->m->jobs, l->diag);
    if (!ret) {
        apply_since(l, &since);
    }
    memory_since_free(&since);
    return ret;
}

/* What was stored without a value: a load after that may show it. */
static int search_lost(struct lookup *l)
{
    return reopen(l) ? search_line(l) : 0;
}

/* The key frame of the page of the first byte, before the position: 1 and *key, 0, or an
 * error. */
static int find_key(struct lookup *l, const struct ctr_key_page **key)
{
    const uint64_t addr = l->line->addr + l->begin;
    const int ret = memory_key_find(&l->m->keys, l->m->tr, l->pos.thread, l->pos.ordinal,
                                    addr, key, l->diag);

    return ret != 1
               ? ret
               : memory_initial_reaches(l->m->initial, l->pos.process, addr,
                                        l->pos.thread, (*key)->ordinal, l->m->at.time_ns);
}

/*
 * The same backward in a process whose memory nothing else changes: what was stored since
 * its page's last key frame, or ever, and then that.  So it does not matter for how long
 * the page was only read.  What was stored without a value, a load may show.
 */
static int search_stores(struct lookup *l)
{
    const struct position here = l->pos;
    const struct ctr_key_page *key = NULL;
    int ret = find_key(l, &key);

    if (ret < 0) {
        return ret;
    }
    key = ret ? key : NULL;
    l->floor = key ? key->ordinal : 0;
    l->access = CTR_KIND_STORE;
    /* Few bytes are mostly found soon. */
    ret = !key                             ? search_line(l)
          : l->end - l->begin <= FEW_BYTES ? search_places(l, FEW_PLACES)
                                           : 0;
    if (!ret && key) {
        ret = read_since(l, key);
    }
    l->access = CTR_KIND_LOAD | CTR_KIND_STORE;
    if (!ret) {
        l->pos = here;
        ret = search_lost(l);
    }
    l->floor = 0;
    return ret;
}

/* Whether only the process itself and the system for it, as recorded, change the line. */
static bool is_own(const struct lookup *l, uint32_t process)
{
    const struct memory_view *m = l->m;

    return !m->machine && threads_single(m->tr, process) &&
           memory_initial_private(m->initial, process, m->at.time_ns, l->line->addr,
                                  LINE_BYTES);
}

/* Searches backward in a process. */
static int search_process(struct lookup *l)
{
    return !l->all && is_own(l, l->pos.process) ? search_stores(l) : search_line(l);
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
        l->pos = (struct position){fork.thread, parent, fork.ordinal, point_of(&fork)};
        ret = search_process(l);
    }
    return ret;
}

/* The bytes that no access decides. */
static void read_initial(struct lookup *l)
{
    for (unsigned i = l->begin; i < l->end; i++) {
        if ((l->line->state[i] == BYTE_OPEN || l->line->state[i] == BYTE_FIRST) &&
            memory_initial_byte(l->m->initial, l->m->process, l->m->at.time_ns,
                                l->line->addr + i, &l->line->value[i])) {
            l->line->state[i] = BYTE_KNOWN;
        }
    }
}

/* The filter is shown each address space of the chunk ... */
static int see_space(void *arg, const struct ctr_context *context)
{
    struct memory_view *m = arg;

    if (!m->known) {
        m->space = context->table;
    }
    return 1;
}

/* ... and that of the instruction at the moment last before it. */
static int see_moment(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct memory_view *m = arg;

    (void)job;
    (void)e;
    m->known = true;
    return 0;
}

static int find_space(struct memory_view *m, struct ctr_diag *diag)
{
    const struct ctr_thread *t = ctr_trace_thread(m->tr, m->at.thread);
    const uint64_t end = t->first + t->insns;
    /* at the thread's end that of its last instruction */
    const uint64_t at = m->at.ordinal - (t->insns && m->at.ordinal >= end);
    const struct ctr_filter filter = {.kinds = CTR_KIND_EXEC,
                                      .threads = &m->at.thread,
                                      .nthread = 1,
                                      .from = at,
                                      .to = at + 1,
                                      .context = see_space,
                                      .arg = m};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    const struct ctr_replay_ops ops = {.exec = see_moment};
    struct ctr_info info;

    ctr_trace_info(m->tr, &info);
    m->placed = true;
    m->known = false;
    return info.events & CTR_HAS_CTX ? ctr_replay(m->tr, &ops, m, &opts, diag) : 0;
}

/* The bytes that cannot be changed. */
static void read_constant(struct lookup *l)
{
    size_t n;

    for (unsigned i = l->begin; i < l->end; i += (unsigned)n) {
        const uint8_t *bytes = memory_initial_constant(
            l->m->initial, l->m->process, l->m->at.time_ns, l->line->addr + i, &n);

        n = n < l->end - i ? n : l->end - i;
        for (size_t k = 0; bytes && k < n; k++) {
            l->line->value[i + k] = bytes[k];
            l->line->state[i + k] = BYTE_KNOWN;
        }
    }
}

static struct position place_of(const struct memory_view *m)
{
    return (struct position){m->at.thread, m->process, m->at.ordinal, point_of(&m->at)};
}

/* Decides the bytes, from the position at the moment on. */
static int decide(struct lookup *l)
{
    const struct memory_view *m = l->m;
    const struct position here = l->pos;
    int ret;

    read_constant(l);
    ret = m->machine && !m->placed ? find_space(l->m, l->diag) : 0;
    ret = ret ? ret : search_process(l);
    ret = ret ? ret : search_parents(l);
    if (!ret && is_own(l, m->process)) {
        read_initial(l); /* as nothing was stored; that a load agrees need not be seen */
        l->pos = here;
        l->all = true;
        ret = search_process(l);
        ret = ret ? ret : search_parents(l);
    }
    if (!ret && m->at.ordinal > ctr_trace_thread(m->tr, m->at.thread)->first) {
        /* What comes after the instruction before is what comes from the moment on. */
        l->pos = here;
        l->pos.ordinal--;
        l->pos.point = 0;
        l->flags = 0;
        ret = search_line(l);
    }
    if (ret || (l->text && text_ends(l))) {
        return ret;
    }
    read_initial(l);
    for (unsigned i = l->begin; i < l->end; i++) {
        if (l->line->state[i] < BYTE_KNOWN) {
            l->line->state[i] = BYTE_LOST;
        }
    }
    return 0;
}

/* ---------------------------------------------------------------------- lines */

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
        if (m->lines[i].used) {
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

/* The line of an address; NULL: no memory. */
static struct line *line_of(struct memory_view *m, uint64_t addr)
{
    struct line *at;

    if (!make_room(m)) {
        return NULL;
    }
    at = slot_of(m->lines, m->cap, addr);
    if (!at->used) {
        *at = (struct line){.addr = addr, .used = true};
        m->n++;
    }
    return at;
}

/* The part of n bytes at addr that is in its line; NULL line: no memory. */
static struct lookup lookup_of(struct memory_view *m, uint64_t addr, size_t n,
                               struct ctr_diag *diag)
{
    const unsigned begin = (unsigned)(addr % LINE_BYTES);
    const size_t room = LINE_BYTES - begin;

    return (struct lookup){.m = m,
                           .line = line_of(m, addr - begin),
                           .begin = begin,
                           .end = begin + (unsigned)(n < room ? n : room),
                           .flags = CTR_SEARCH_BACK,
                           .access = CTR_KIND_LOAD | CTR_KIND_STORE,
                           .pos = place_of(m),
                           .diag = diag};
}

/* The last key frame of a line that has open bytes: widens the range, from.  */
static int add_line(struct lookup *l, struct memory_since *s)
{
    struct ctr_range open[LINE_BYTES];
    const struct ctr_key_page *key;
    int ret;

    read_constant(l);
    if (!open_ranges(l, open) || !is_own(l, l->m->process)) {
        return 0;
    }
    ret = find_key(l, &key);
    if (ret == 1) {
        s->from = key->ordinal < s->from ? key->ordinal : s->from;
        s->addr = s->size ? s->addr : l->line->addr;
        s->size = (uint32_t)(l->line->addr + LINE_BYTES - s->addr);
    }
    return ret < 0 ? ret : 0;
}

/* Reads several lines at once, so that what they have in common is decoded once. */
static int read_together(struct memory_view *m, uint64_t addr, size_t n,
                         struct ctr_diag *diag)
{
    struct memory_since s = {.thread = m->at.thread,
                             .from = UINT64_MAX,
                             .to = m->at.ordinal,
                             .system = !m->at.before_system};
    struct lookup l;
    int ret = 0;

    for (size_t done = 0; !ret && done < n; done += l.end - l.begin) {
        l = lookup_of(m, addr + done, n - done, diag);
        ret = l.line ? add_line(&l, &s) : -CTR_E_NOMEM;
    }
    if (!ret && s.size > LINE_BYTES) {
        ret = memory_since_read(&s, m->tr, m->jobs, diag);
        for (size_t done = 0; !ret && done < n; done += l.end - l.begin) {
            const struct ctr_key_page *key;

            l = lookup_of(m, addr + done, n - done, diag);
            ret = l.line ? find_key(&l, &key) : -CTR_E_NOMEM;
            if (ret == 1) {
                apply_since(&l, &s);
                ret = 0;
            }
        }
    }
    memory_since_free(&s);
    return ret;
}

int memory_read(struct memory_view *m, uint64_t addr, uint8_t *out, uint8_t *known,
                size_t n, bool text, struct ctr_diag *diag)
{
    bool ended = false;

    for (size_t done = 0; done < n;) {
        struct lookup l = lookup_of(m, addr + done, n - done, diag);
        const size_t part = l.end - l.begin;
        int ret = !l.line ? -CTR_E_NOMEM : 0;

        l.text = text;
        if (!ret && !text && done % TOGETHER == 0 && n - done > LINE_BYTES) {
            ret = read_together(m, addr + done, n - done < TOGETHER ? n - done : TOGETHER,
                                diag);
            l.line = line_of(m, l.line->addr);
        }
        ret = ret || ended ? ret : decide(&l);
        if (ret) {
            return ret;
        }
        for (size_t i = 0; i < part; i++) {
            const unsigned k = l.begin + (unsigned)i;
            const bool is = !ended && l.line->state[k] == BYTE_KNOWN;

            known[done + i] = is;
            out[done + i] = is ? l.line->value[k] : 0;
            ended |= text && !out[done + i];
        }
        done += part;
    }
    return 0;
}
