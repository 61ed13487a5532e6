/* SPDX-License-Identifier: MIT */
/* Decides what the bytes of a line are; see memory_priv.h. */
#include "base/util.h"
#include "memory/memory_priv.h"

/* So many bytes are first searched at so many places. */
#define FEW_BYTES 64u
#define FEW_PLACES 2u
/* Forks and moves that are followed. */
#define MAX_DEPTH 200u

static unsigned point_of(const struct ctr_moment *at)
{
    return at->before_system ? CTR_SEARCH_SYSTEM : 0;
}

static int search_line(struct lookup *l)
{
    return lookup_search(l, UINT64_MAX);
}

void lookup_apply(struct lookup *l, const struct memory_since *s)
{
    for (unsigned i = l->begin; i < l->end; i++) {
        const uint64_t k = l->base + i - s->addr;

        if (lookup_is_open(l, i) && k < s->size && s->written[k]) {
            l->line->value[i] = s->value[k];
            l->line->state[i] = s->written[k] == 1 ? BYTE_KNOWN : BYTE_LATER;
        }
    }
}

/* The open bytes, from the page's key frame on, which shows all of them; NULL: from when its
 * contents began. */
static int read_since(struct lookup *l, const struct ctr_key_page *key)
{
    struct memory_since since = {.thread = l->pos.thread,
                                 .from = key ? key->ordinal : 0,
                                 .from_ns = l->origin.begin_ns,
                                 .to = l->pos.ordinal,
                                 .system = !(l->pos.point & CTR_SEARCH_SYSTEM),
                                 .first_key = true,
                                 .addr = l->base + l->begin,
                                 .size = l->end - l->begin};
    int ret;

    if (l->pos.point & CTR_SEARCH_FOUND) {
        since.to = l->pos.found.ordinal;
        since.system = !l->pos.found.system;
    }
    if (!lookup_any_open(l)) {
        return 0;
    }
    if (since.to <= since.from) { /* what was searched reaches to the key frame */
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
    uint8_t *state = l->line->state;
    bool any = false;
    int ret = 0;

    for (unsigned i = l->begin; i < l->end; i++) {
        any |= state[i] == BYTE_LATER;
        state[i] = state[i] == BYTE_LATER  ? BYTE_OPEN
                   : state[i] == BYTE_OPEN ? BYTE_HELD
                                           : state[i];
    }
    ret = any ? search_line(l) : 0;
    for (unsigned i = l->begin; i < l->end; i++) {
        state[i] = state[i] == BYTE_HELD ? BYTE_OPEN : state[i];
    }
    return ret;
}

int lookup_find_key(struct lookup *l, const struct ctr_key_page **key)
{
    const bool before =
        l->pos.point & CTR_SEARCH_SYSTEM; /* what has its ordinal is later */
    int ret;

    if (before && !l->pos.ordinal) {
        return 0;
    }
    ret = memory_key_find(&l->m->keys, l->m->tr, l->pos.thread, l->pos.ordinal - before,
                          l->base + l->begin, key, l->diag);
    return ret != 1 ? ret
                    : memory_origin_since(l->m->origins, l->origin.begin_ns,
                                          l->pos.thread, (*key)->ordinal);
}

/*
 * Backward in memory that nothing else changes: what was stored since its page's last key
 * frame, or ever, and then that.  So it does not matter for how long the page was only read.
 * What was stored without a value, a load may show.
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
    if (!key && (!l->m->has_keys || l->m->most)) {
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

/* The bytes that no access decides, where their contents began. */
static void read_initial(struct lookup *l)
{
    struct memory_initial_bytes at = {.n = 0};
    unsigned begin = l->begin; /* of what `at' has */

    for (unsigned i = l->begin; i < l->end; i++) {
        if (l->line->state[i] != BYTE_OPEN && l->line->state[i] != BYTE_FIRST) {
            continue;
        }
        if (i - begin >= at.n) {
            at = memory_initial_bytes(&l->m->initial, l->pos.process, l->base + i,
                                      &l->origin);
            begin = i;
        }
        if (at.known) {
            l->line->value[i] = at.bytes ? at.bytes[i - begin] : 0;
            l->line->state[i] = BYTE_KNOWN;
        }
    }
}

int lookup_find_origin(struct lookup *l)
{
    const uint64_t addr = l->base + l->begin;

    if (!memory_origin_at(l->m->origins, l->pos.process, addr, l->pos.time_ns,
                          &l->origin)) {
        return ctr_fail_nomem(l->diag);
    }
    if (l->origin.end != UINT64_MAX && l->origin.end - addr < l->end - l->begin) {
        l->end = l->begin + (unsigned)(l->origin.end - addr);
    }
    return 0;
}

/* Goes to where the contents came from: 1, 0 if that is not known, or an error. */
static int go_back(struct lookup *l)
{
    uint64_t from = l->base + l->begin;
    struct ctr_moment at;
    int ret = 0;

    if (l->origin.kind == ORIGIN_MOVED) {
        ret = memory_origin_moved(l->m->origins, l->pos.process, from, l->origin.begin_ns,
                                  &at, &from, l->diag);
    } else if (!l->origin.begin_ns) {
        ret = memory_origin_fork(l->m->origins, l->pos.process, &at, l->diag);
    }
    if (ret == 1) {
        l->base = from - l->begin;
        l->pos =
            (struct position){.thread = at.thread,
                              .process = ctr_trace_thread(l->m->tr, at.thread)->process,
                              .ordinal = at.ordinal,
                              .time_ns = at.time_ns,
                              .point = point_of(&at)};
    }
    return ret;
}

static int search_back(const struct lookup *l, unsigned depth);

/* Searches backward for bytes of one origin, and goes on where they came from. */
static int search_contents(struct lookup *l, unsigned depth)
{
    int ret = 0;

    if (l->pass == PASS_STORES) {
        if (!l->origin.own) {
            return 0;
        }
        ret = search_stores(l);
    } else if (l->pass == PASS_ALL) {
        /* Of its own, what is still open was never stored. */
        l->access = CTR_KIND_LOAD | (l->origin.own ? 0 : CTR_KIND_STORE);
        ret = search_line(l);
    }
    if (ret || (l->pass != PASS_INITIAL && !lookup_any_open(l))) {
        return ret;
    }
    ret = depth < MAX_DEPTH ? go_back(l) : 0;
    if (ret == 1) {
        return search_back(l, depth + 1);
    }
    if (!ret && l->pass != PASS_ALL) {
        read_initial(l);
    }
    return ret;
}

/* Calls fn for the parts of a range that have one origin each. */
static int each_origin(const struct lookup *l,
                       int (*fn)(struct lookup *part, unsigned depth), unsigned depth)
{
    struct lookup part;
    int ret = 0;

    for (unsigned done = l->begin; !ret && done < l->end; done = part.end) {
        unsigned end;

        part = *l;
        part.begin = done;
        ret = lookup_find_origin(&part);
        end = part.end;
        ret = ret ? ret : fn(&part, depth);
        part.end = end;
    }
    return ret;
}

static int search_back(const struct lookup *l, unsigned depth)
{
    return each_origin(l, search_contents, depth);
}

/* The filter is shown each address space of the chunk ... */
static int see_space(void *arg, const struct ctr_context *context)
{
    struct ctr_memory *m = arg;

    if (!m->known) {
        m->space = context->table;
    }
    return 1;
}

/* ... and that of the instruction at the moment last before it. */
static int see_moment(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct ctr_memory *m = arg;

    (void)job;
    (void)e;
    m->known = true;
    return 0;
}

static int find_space(struct ctr_memory *m, struct ctr_diag *diag)
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

static int read_constant(struct lookup *l, unsigned depth)
{
    size_t n;

    (void)depth;
    for (unsigned i = l->begin; i < l->end; i += (unsigned)n) {
        const uint8_t *bytes = memory_initial_constant(&l->m->initial, l->pos.process,
                                                       l->base + i, &l->origin, &n);

        n = n < l->end - i ? n : l->end - i;
        for (size_t k = 0; bytes && k < n; k++) {
            l->line->value[i + k] = bytes[k];
            l->line->state[i + k] = BYTE_KNOWN;
        }
    }
    for (unsigned i = l->begin; l->origin.kind == ORIGIN_UNMAPPED && i < l->end; i++) {
        l->line->state[i] = BYTE_LOST;
    }
    return 0;
}

int lookup_read_constant(struct lookup *l)
{
    return each_origin(l, read_constant, 0);
}

struct position lookup_place(const struct ctr_memory *m)
{
    return (struct position){.thread = m->at.thread,
                             .process = m->process,
                             .ordinal = m->at.ordinal,
                             .time_ns = m->at.time_ns,
                             .point = point_of(&m->at)};
}

/* What comes after the instruction before is what comes from the moment on. */
static int search_later(struct lookup *l, unsigned depth)
{
    (void)depth;
    l->pos.ordinal--;
    l->pos.point = 0;
    l->flags = 0;
    return search_line(l);
}

int lookup_decide(struct lookup *l)
{
    const struct ctr_memory *m = l->m;
    int ret = lookup_read_constant(l);

    ret = ret || !m->machine || m->placed ? ret : find_space(l->m, l->diag);
    for (l->pass = PASS_STORES; !ret && l->pass < PASS_INITIAL; l->pass++) {
        ret = lookup_any_open(l) ? search_back(l, 0) : 0;
    }
    if (!ret && m->at.ordinal > ctr_trace_thread(m->tr, m->at.thread)->first) {
        ret = each_origin(l, search_later, 0);
    }
    if (ret || (l->text && lookup_text_ends(l))) {
        return ret;
    }
    ret = search_back(l, 0); /* in PASS_INITIAL */
    for (unsigned i = l->begin; !ret && i < l->end; i++) {
        if (l->line->state[i] < BYTE_KNOWN) {
            l->line->state[i] = BYTE_LOST;
        }
    }
    return ret;
}
