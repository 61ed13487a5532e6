/* SPDX-License-Identifier: MIT */
/*
 * What recording costs, thread by thread, for --verbose: it shows whether a single thread
 * or a lock limits what more workers could do.
 */
#include "effort.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "common/options.h"

static void get(int who, struct effort *e)
{
    struct rusage u;

    memset(e, 0, sizeof(*e));
    if (getrusage(who, &u) == 0) {
        e->user_us =
            (uint64_t)u.ru_utime.tv_sec * 1000000u + (uint64_t)u.ru_utime.tv_usec;
        e->system_us =
            (uint64_t)u.ru_stime.tv_sec * 1000000u + (uint64_t)u.ru_stime.tv_usec;
        e->sleeps = (uint64_t)u.ru_nvcsw;
        e->faults = (uint64_t)u.ru_minflt;
    }
}

void effort_of_thread(struct effort *e)
{
    get(RUSAGE_THREAD, e);
}

void effort_of_children(struct effort *e)
{
    get(RUSAGE_CHILDREN, e);
}

uint64_t effort_peak_kib(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss : 0;
}

void effort_print(const char *prog, const char *who, const struct effort *e,
                  const char *more, ...)
{
    char text[160];
    va_list ap;

    va_start(ap, more);
    vsnprintf(text, sizeof(text), more, ap);
    va_end(ap);
    tool_error(prog, "%s: %.3f s user, %.3f s system; slept %llu times, %llu pages; %s",
               who, (double)e->user_us / 1e6, (double)e->system_us / 1e6,
               (unsigned long long)e->sleeps, (unsigned long long)e->faults, text);
}
