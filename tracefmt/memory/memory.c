/* SPDX-License-Identifier: MIT */
/* The memory of a process at a moment; see ctr.h.  It is kept in lines of some bytes. */
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "memory/memory_priv.h"

#define FIRST_LINES 16u
#define MAX_LINES 2048u /* then all are forgotten */
/* Bytes that are read together, if many are. */
#define TOGETHER (64u << 10)

/* Where a kernel's part of each address space begins: as Linux divides it by default. */
static uint64_t kernel_begins(const struct ctr_info *info)
{
    return info->addr_bits == 64          ? UINT64_C(1) << 63
           : info->elf_machine == EM_MIPS ? UINT64_C(1) << 31
                                          : UINT64_C(0xc0000000);
}

int ctr_memory_open(struct ctr_memory **out, struct ctr_trace *tr,
                    const struct ctr_moment *at, const struct ctr_memory_opts *opts,
                    struct ctr_diag *diag)
{
    static const struct ctr_memory_opts none = {0};
    const struct ctr_thread *t = ctr_trace_thread(tr, at->thread);
    struct ctr_info info;
    struct ctr_memory *m;
    int ret;

    *out = NULL;
    ctr_trace_info(tr, &info);
    if (!t || !info.seekable) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "memory",
                        "it needs a file and one of its threads");
    }
    opts = opts ? opts : &none;
    m = calloc(1, sizeof(*m));
    if (!m) {
        return ctr_fail_nomem(diag);
    }
    *m = (struct ctr_memory){.machine = info.machine,
                             .has_keys = info.events & CTR_HAS_KEY && info.has_index,
                             .shared = kernel_begins(&info),
                             .tr = tr,
                             .at = *at,
                             .process = t->process,
                             .jobs = opts->workers,
                             .most = opts->most,
                             .alone = ctr_process_single(tr, t->process),
                             .cap = FIRST_LINES};
    m->lines = calloc(m->cap, sizeof(*m->lines));
    ret = m->lines ? memory_origins_open(&m->origins, tr, opts->maps, diag)
                   : ctr_fail_nomem(diag);
    ret = ret ? ret : memory_epochs_read(&m->epochs, tr);
    if (ret) {
        ctr_memory_close(m);
        return ret;
    }
    m->initial.tr = tr;
    m->initial.part = memory_origins_part(m->origins);
    m->initial.arguments = info.events & CTR_HAS_SYS;
    if (opts->files) {
        m->initial.files = *opts->files;
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

static void forget_lines(struct ctr_memory *m)
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
static bool keep_lines(struct ctr_memory *m, const struct ctr_moment *at)
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

int ctr_memory_move(struct ctr_memory *m, const struct ctr_moment *at)
{
    const struct ctr_thread *t = ctr_trace_thread(m->tr, at->thread);
    bool kept;

    if (!t) {
        return -CTR_E_INVAL;
    }
    kept = keep_lines(m, at);
    m->at = *at;
    if (kept) {
        return 0;
    }
    m->placed = false;
    m->process = t->process;
    m->alone = ctr_process_single(m->tr, m->process);
    forget_lines(m);
    return 0;
}

void ctr_memory_limit(struct ctr_memory *m, uint32_t chunks)
{
    m->most = chunks;
}

void ctr_memory_close(struct ctr_memory *m)
{
    if (m) {
        memory_origins_close(m->origins);
        memory_epochs_free(&m->epochs);
        memory_near_free(&m->near);
        free(m->lines);
        free(m);
    }
}

/* ---------------------------------------------------------------------- lines */

/* Makes room for one more line; false: no memory. */
static bool make_room(struct ctr_memory *m)
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
static struct line *line_of(struct ctr_memory *m, uint64_t addr)
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
static struct lookup lookup_of(struct ctr_memory *m, uint64_t addr, size_t n,
                               struct ctr_diag *diag)
{
    const unsigned begin = (unsigned)(addr % LINE_BYTES);
    const size_t room = LINE_BYTES - begin;

    return (struct lookup){.m = m,
                           .line = line_of(m, addr - begin),
                           .base = addr - begin,
                           .begin = begin,
                           .end = begin + (unsigned)(n < room ? n : room),
                           .flags = CTR_SEARCH_BACK,
                           .access = CTR_KIND_LOAD | CTR_KIND_STORE,
                           .pos = lookup_place(m),
                           .diag = diag};
}

/* The key frame of a line that can be read with others: 1, 0 if it cannot, or an error. */
static int find_common(struct lookup *l, const struct ctr_key_page **key)
{
    const unsigned end = l->end;
    int ret = lookup_read_constant(l);

    ret = ret || !lookup_any_open(l) ? ret : lookup_find_origin(l);
    if (ret || l->end != end || !l->origin.own) {
        l->end = end;
        return ret;
    }
    return lookup_find_key(l, key);
}

/* Reads several lines at once, so that what they have in common is decoded once. */
static int read_together(struct ctr_memory *m, uint64_t addr, size_t n,
                         struct ctr_diag *diag)
{
    struct memory_since s = {.thread = m->at.thread,
                             .from = UINT64_MAX,
                             .to = m->at.ordinal,
                             .system = !m->at.before_system};
    const struct ctr_key_page *key;
    struct lookup l;
    int ret = 0;

    for (size_t done = 0; ret >= 0 && done < n; done += l.end - l.begin) {
        l = lookup_of(m, addr + done, n - done, diag);
        ret = l.line ? find_common(&l, &key) : ctr_fail_nomem(diag);
        if (ret == 1) {
            s.from = key->ordinal < s.from ? key->ordinal : s.from;
            s.addr = s.size ? s.addr : l.base;
            s.size = (uint32_t)(l.base + LINE_BYTES - s.addr);
        }
    }
    ret = ret < 0 || s.size <= LINE_BYTES ? ret
                                          : memory_since_read(&s, m->tr, m->jobs, diag);
    for (size_t done = 0; ret >= 0 && s.written && done < n; done += l.end - l.begin) {
        l = lookup_of(m, addr + done, n - done, diag);
        ret = l.line ? find_common(&l, &key) : ctr_fail_nomem(diag);
        if (ret == 1) {
            lookup_apply(&l, &s);
        }
    }
    memory_since_free(&s);
    return ret < 0 ? ret : 0;
}

int ctr_memory_read(struct ctr_memory *m, uint64_t addr, uint8_t *out, uint8_t *known,
                    size_t n, unsigned flags, struct ctr_diag *diag)
{
    const bool text = (flags & CTR_MEMORY_TEXT) != 0;
    size_t part, together = text ? n : 0; /* up to there lines were read together */
    bool ended = false;

    if (n && addr + (n - 1) < addr) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "memory",
                        "beyond the last address");
    }
    for (size_t done = 0; done < n; done += part) {
        struct lookup l;
        int ret = 0;

        if (done >= together && n - done > LINE_BYTES) {
            together = n - done < TOGETHER ? n : done + TOGETHER;
            ret = read_together(m, addr + done, together - done, diag);
        }
        l = lookup_of(m, addr + done, n - done, diag);
        l.text = text;
        part = l.end - l.begin;
        ret = ret ? ret : l.line ? 0 : ctr_fail_nomem(diag);
        ret = ret || ended ? ret : lookup_decide(&l);
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
    }
    return 0;
}
