/* SPDX-License-Identifier: MIT */
/* The progress line of progress.h. */
#include "common/progress.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 500000000ull
#define REDRAW_NS 200000000ull

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void progress_init_before_output(struct progress *p, const char *prog, bool quiet)
{
    *p = (struct progress){.prog = prog};
    p->on = !quiet && isatty(STDERR_FILENO);
    p->start_ns = now_ns();
    p->next_ns = p->start_ns + FIRST_NS;
}

void progress_init(struct progress *p, const char *prog, bool quiet)
{
    struct stat out, err;

    progress_init_before_output(p, prog, quiet);
    if (p->on && isatty(STDOUT_FILENO) &&
        (fstat(STDERR_FILENO, &err) || fstat(STDOUT_FILENO, &out) ||
         out.st_rdev == err.st_rdev)) {
        p->on = false;
    }
}

void progress_update(struct progress *p, uint64_t done, uint64_t total, uint64_t items,
                     const char *what)
{
    uint64_t now;
    double s;

    if (!p->on || (now = now_ns()) < p->next_ns) {
        return;
    }
    s = (double)(now - p->start_ns) / 1e9;
    if (total && done <= total) {
        fprintf(stderr, "\r%s: %3.0f %%, %.1f s", p->prog,
                100.0 * (double)done / (double)total, s);
        if (done) {
            fprintf(stderr, " of %.0f s", s * (double)total / (double)done);
        }
    } else {
        fprintf(stderr, "\r%s: %.1f s, %.1f MiB", p->prog, s, (double)done / 1048576.0);
    }
    fprintf(stderr, ", %.1f M %s (%.1f M/s)\033[K", (double)items / 1e6, what,
            (double)items / 1e6 / s);
    fflush(stderr);
    p->shown = true;
    p->next_ns = now + REDRAW_NS;
}

void progress_clear(struct progress *p)
{
    if (p->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        p->shown = false;
    }
}
