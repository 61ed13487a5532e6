/* SPDX-License-Identifier: MIT */
/* The signals that came to a process, and gdb's numbers for them. */
#include "session.h"

#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "guest/guest.h"

/* gdb's numbers are its own, the same for all targets (include/gdb/signals.def). */
static const char *const names[] = {
    [1] = "SIGHUP",   [2] = "SIGINT",     [3] = "SIGQUIT",  [4] = "SIGILL",
    [5] = "SIGTRAP",  [6] = "SIGABRT",    [7] = "SIGEMT",   [8] = "SIGFPE",
    [9] = "SIGKILL",  [10] = "SIGBUS",    [11] = "SIGSEGV", [12] = "SIGSYS",
    [13] = "SIGPIPE", [14] = "SIGALRM",   [15] = "SIGTERM", [16] = "SIGURG",
    [17] = "SIGSTOP", [18] = "SIGTSTP",   [19] = "SIGCONT", [20] = "SIGCHLD",
    [21] = "SIGTTIN", [22] = "SIGTTOU",   [23] = "SIGIO",   [24] = "SIGXCPU",
    [25] = "SIGXFSZ", [26] = "SIGVTALRM", [27] = "SIGPROF", [28] = "SIGWINCH",
    [30] = "SIGUSR1", [31] = "SIGUSR2",   [32] = "SIGPWR",
};
#define NR_NAMES (sizeof(names) / sizeof(names[0]))
#define GDB_REALTIME_32 77u
#define GDB_REALTIME_33 45u
#define GDB_REALTIME_64 78u
#define GDB_UNKNOWN 143u

uint8_t signals_gdb(const struct session *s, uint32_t number)
{
    char buf[GUEST_SIGNAL_MAX];
    const char *name = guest_signal_name(&s->guest, number, buf);

    for (uint8_t i = 0; i < NR_NAMES; i++) {
        if (names[i] && !strcmp(names[i], name)) {
            return i;
        }
    }
    return number == 32                  ? GDB_REALTIME_32
           : number > 32 && number < 64  ? (uint8_t)(GDB_REALTIME_33 + (number - 33))
           : number > 63 && number < 128 ? (uint8_t)(GDB_REALTIME_64 + (number - 64))
                                         : GDB_UNKNOWN;
}

static int on_event(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct session *s = arg;
    struct signal_stop stop = {.thread = e->thread->index, .ordinal = e->ordinal};
    struct ctr_signal g;

    if (ctr_parse_signal(e, &g)) {
        return 0;
    }
    stop.number = signals_gdb(s, g.signo);
    stop.info = g;
    /* Before what raised it, or, at the end of the thread, before its last instruction. */
    if (e->ordinal > e->thread->first &&
        (g.flags & CTR_SIGNAL_SYNC || e->ordinal >= thread_end(e->thread))) {
        stop.ordinal--;
    }
    return ctr_job_append(job, &stop, sizeof(stop));
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t size)
{
    struct session *s = arg;
    const struct signal_stop *in = data;

    (void)job;
    for (size_t n = size / sizeof(*in); n; n--) {
        if (!array_reserve(&s->signals, &s->cap_signals, s->nr_signals + 1,
                           sizeof(*s->signals))) {
            return -CTR_E_NOMEM;
        }
        s->signals[s->nr_signals++] = *in++;
    }
    return 0;
}

int signals_load(struct session *s)
{
    const struct ctr_replay_ops ops = {.os = on_event, .ordered = on_ordered};
    int ret;

    if (s->signals_known && s->signals_of == s->here.process) {
        return 0;
    }
    s->nr_signals = 0;
    ret = interrupt_replay(s, ops);
    s->signals_known = !ret;
    s->signals_of = s->here.process;
    return ret;
}

int signals_stop(struct session *s)
{
    int ret = signals_load(s);

    for (size_t i = 0; !ret && i < s->nr_signals; i++) {
        const struct signal_stop *g = &s->signals[i];

        if (g->thread == s->here.at.thread && g->ordinal == s->here.at.ordinal) {
            s->here.last =
                (struct stop){.why = STOP_SIGNAL, .signal = g->number, .nr = i};
            s->here.signal_next = i + 1;
        }
    }
    return ret;
}
