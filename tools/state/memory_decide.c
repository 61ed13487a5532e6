/* SPDX-License-Identifier: MIT */
/* Decides what the bytes of a line are; see memory_priv.h. */
#include "query/threads.h"
#include "state/memory_priv.h"

/* So many bytes are first searched at so many places. */
#define FEW_BYTES 64u
#define FEW_PLACES 2u

static unsigned point_of(const struct moment *at)
{
    return at->before_system ? CTR_SEARCH_SYSTEM : 0;
}

static int search_line(struct lookup *l)
{
    return lookup_search(l, UINT64_MAX);
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

void lookup_apply(struct lookup *l, const struct memory_since *s)
{
    for (unsigned i = l->begin; i < l->end; i++) {
        const uint64_t k = l->line->addr + i - s->addr;

        if (lookup_is_open(l, i) && k < s->size && s->written[k]) {
            l->line->value[i] = s->value[k];
            l->line->state[i] = s->written[k] == 1 ? BYTE_KNOWN : BYTE_LATER;
        }
    }
}

/* The open bytes, from the page's key frame on, which shows all of them; NULL: from when it
 * was mapped. */
static int read_since(struct lookup *l, const struct ctr_key_page *key)
{
    struct memory_since since = {.thread = l->pos.thread,
                                 .from = key ? key->ordinal : 0,
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
    if (!lookup_open_ranges(l, open)) {
        return 0;
    }
    if (!key) {
        since.from_ns = memory_initial_begin(l->m->initial, l->pos.process, since.addr,
                                             l->m->at.time_ns);
    }
    if (since.to < since.from) { /* what was searched reaches beyond the key frame */
        since.to = since.from;
        since.system = true;
    }
    ret = memory_since_read(&since, l->m->tr, l->m->jobs, l->diag);
    if (!ret) {
        lookup_apply(l, &since);
    }
    memory_since_free(&since);
    return ret;
}

/* What was stored without a value: a load after that may show it. */
static int search_lost(struct lookup *l)
{
    return reopen(l) ? search_line(l) : 0;
}

int lookup_find_key(struct lookup *l, const struct ctr_key_page **key)
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
    int ret = lookup_find_key(l, &key);

    if (ret < 0) {
        return ret;
    }
    key = ret ? key : NULL;
    l->floor = key ? key->ordinal : 0;
    l->access = CTR_KIND_STORE;
    /* Few bytes are mostly found soon.  A page without a key frame has few chunks that write
     * to it, where there are key frames. */
    if (!key && !l->m->has_keys) {
        ret = search_line(l);
    } else {
        ret = l->end - l->begin <= FEW_BYTES ? lookup_search(l, FEW_PLACES) : 0;
        ret = ret ? ret : read_since(l, key);
    }
    l->access = CTR_KIND_LOAD | CTR_KIND_STORE;
    if (!ret) {
        l->pos = here;
        ret = search_lost(l);
    }
    l->floor = 0;
    return ret;
}

bool lookup_is_own(const struct lookup *l, uint32_t process)
{
    const struct memory_view *m = l->m;

    return !m->machine && threads_single(m->tr, process) &&
           memory_initial_private(m->initial, process, m->at.time_ns, l->line->addr,
                                  LINE_BYTES);
}

/* Searches backward in a process. */
static int search_process(struct lookup *l)
{
    return !l->all && lookup_is_own(l, l->pos.process) ? search_stores(l)
                                                       : search_line(l);
}

/* Continues in the process that this one was forked from. */
static int search_parents(struct lookup *l)
{
    struct moment fork;
    uint32_t parent = l->pos.process;
    int ret = 0;

    for (unsigned depth = 0; !ret && depth < 1000; depth++) {
        struct ctr_range open[LINE_BYTES];
        if (!lookup_open_ranges(l, open)) {
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

void lookup_read_constant(struct lookup *l)
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

struct position lookup_place(const struct memory_view *m)
{
    return (struct position){m->at.thread, m->process, m->at.ordinal, point_of(&m->at)};
}

int lookup_decide(struct lookup *l)
{
    const struct memory_view *m = l->m;
    const struct position here = l->pos;
    int ret;

    lookup_read_constant(l);
    ret = m->machine && !m->placed ? find_space(l->m, l->diag) : 0;
    ret = ret ? ret : search_process(l);
    ret = ret ? ret : search_parents(l);
    if (!ret && lookup_is_own(l, m->process)) {
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
    if (ret || (l->text && lookup_text_ends(l))) {
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
