/* SPDX-License-Identifier: MIT */
/* The files that expansions are, and what kinds of events they have; see expansion.h. */
#include "input/expansion.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".expanded"
#define WINDOW ".window"

static const struct {
    uint32_t has;
    const char *word, *what;
} kinds[] = {
    {CTR_HAS_MEM, "mem", "accesses"},      {CTR_HAS_VAL, "val", "values"},
    {CTR_HAS_REG, "reg", "registers"},     {CTR_HAS_SYS, "sys", "system calls"},
    {CTR_HAS_MAP, "map", "mappings"},      {CTR_HAS_THR, "thr", "threads"},
    {CTR_HAS_TIME, "time", "their times"},
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

char *expansion_name(const char *path)
{
    char *name;

    return asprintf(&name, "%s" SUFFIX, path) < 0 ? NULL : name;
}

char *expansion_window_name(const char *path)
{
    char *name;

    return asprintf(&name, "%s" WINDOW, path) < 0 ? NULL : name;
}

/*
 * Whether an expansion of the same recording has all of it: one that was made while it went on
 * has not.  Of a program that was killed, the last instructions may not be executed again.
 */
static bool has_all(const struct ctr_trace *light, const struct ctr_info *a,
                    const struct ctr_info *b)
{
    const struct ctr_process *p = ctr_trace_process(light, 0);
    const bool killed = p && p->end_reason == CTR_END_KILLED;

    return a->threads == b->threads &&
           (a->insns == b->insns || (killed && b->insns < a->insns));
}

/* Both are of one execution: nothing else has these times. */
static bool same_recording(const struct ctr_info *a, const struct ctr_info *b)
{
    return a->start_realtime_ns == b->start_realtime_ns && a->start_ns == b->start_ns &&
           !strcmp(a->target, b->target) && !strcmp(a->qemu_version, b->qemu_version);
}

/* Opens what is there under a name; EXPANSION_KEPT: it is in *tr. */
static enum expansion_state open_file(const char *name, unsigned flags,
                                      struct ctr_trace **tr)
{
    int ret;

    if (access(name, F_OK)) {
        return EXPANSION_NONE;
    }
    ret = ctr_open(tr, name, flags, NULL);
    return !ret                        ? EXPANSION_KEPT
           : ret == -CTR_E_UNSUPPORTED ? EXPANSION_OLD
                                       : EXPANSION_NOT_ONE;
}

enum expansion_state expansion_check(const char *name, const struct ctr_trace *light,
                                     uint32_t *events)
{
    struct ctr_info info, have;
    struct ctr_trace *tr;
    enum expansion_state state = open_file(name, 0, &tr);

    *events = 0;
    if (state != EXPANSION_KEPT) {
        return state;
    }
    ctr_trace_info(light, &info);
    ctr_trace_info(tr, &have);
    if (have.events & CTR_HAS_INPUT || have.selection[0] || have.dropped_insns) {
        state = EXPANSION_NOT_ONE; /* a part, if of a light trace: --from, --select */
    } else if (!same_recording(&info, &have) || !has_all(light, &info, &have)) {
        state = EXPANSION_OLD;
    }
    *events = state == EXPANSION_KEPT ? have.events : 0;
    ctr_close(tr);
    return state;
}

enum expansion_state expansion_window_open(struct ctr_trace **tr, const char *name,
                                           unsigned flags, const struct ctr_trace *light,
                                           uint32_t events, uint64_t from, uint64_t to)
{
    enum expansion_state state = open_file(name, flags, tr);
    struct ctr_info info, have;
    const struct ctr_thread *t;

    if (state != EXPANSION_KEPT) {
        return state;
    }
    ctr_trace_info(light, &info);
    ctr_trace_info(*tr, &have);
    t = ctr_trace_thread(*tr, 0);
    if (have.events & CTR_HAS_INPUT || have.selection[0]) {
        state = EXPANSION_NOT_ONE;
    } else if (!same_recording(&info, &have) || have.threads != 1 ||
               events & ~have.events || t->first > from || t->first + t->insns < to) {
        state = EXPANSION_OLD;
    }
    if (state != EXPANSION_KEPT) {
        ctr_close(*tr);
    }
    return state;
}

/* The kinds of events, in their order: their words, or what they are. */
static void join(uint32_t events, bool words, const char *between, char *to, size_t size)
{
    size_t n = 0;

    to[0] = 0;
    for (size_t i = 0; i < NR_KINDS; i++) {
        if (events & kinds[i].has) {
            n += (size_t)snprintf(to + n, size - n, "%s%s", n ? between : "",
                                  words ? kinds[i].word : kinds[i].what);
        }
    }
}

void expansion_list(uint32_t events, char *to)
{
    join(events, true, ",", to, EXPANSION_TEXT);
}

void expansion_describe(uint32_t events, char *to)
{
    join(events, false, ", ", to, EXPANSION_WORDS);
}
