/* SPDX-License-Identifier: MIT */
/*
 * The progress line shares the terminal with the guest.  It is therefore drawn
 * only while the guest computes, never on a terminal that a full-screen
 * program has taken over or that belongs to another job, and the cursor goes
 * back to where the guest's next line begins.
 */
#include "status.h"

#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#define FIRST_NS 1000000000ull
#define REDRAW_NS 500000000ull

static bool terminal_is_ours(void)
{
    struct termios t;

    return tcgetattr(STDERR_FILENO, &t) == 0 && (t.c_lflag & ICANON) &&
           tcgetpgrp(STDERR_FILENO) == getpgrp();
}

void status_init(struct status *st, bool quiet, uint64_t now_ns)
{
    *st = (struct status){
        .on = !quiet && isatty(STDERR_FILENO),
        .start_ns = now_ns,
        .next_ns = now_ns + FIRST_NS,
    };
}

bool status_is_due(const struct status *st, uint64_t now_ns)
{
    return st->on && now_ns >= st->next_ns;
}

/* "12.3 MiB"; returns buf. */
static const char *size_text(char *buf, size_t n, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    unsigned u = 0;

    while (v >= 1024 && u < 4) {
        v /= 1024;
        u++;
    }
    snprintf(buf, n, u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return buf;
}

/* "1,234,567"; returns buf. */
static const char *count_text(char *buf, size_t n, uint64_t v)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
    size_t at = 0;

    for (int i = 0; i < len && at + 2 < n; i++) {
        if (i && (len - i) % 3 == 0) {
            buf[at++] = ',';
        }
        buf[at++] = digits[i];
    }
    buf[at] = '\0';
    return buf;
}

static double bits(const struct status_numbers *n)
{
    uint64_t insns = n->ring ? n->kept : n->insns;

    return insns ? 8.0 * (double)n->bytes / (double)insns : 0;
}

void status_draw(struct status *st, uint64_t now_ns, const struct status_numbers *n)
{
    double s = (double)(now_ns - st->start_ns) / 1e9;
    char size[32];

    st->next_ns = now_ns + REDRAW_NS;
    if (n->insns == st->last_insns || !terminal_is_ours()) {
        return;
    }
    st->last_insns = n->insns;
    fprintf(stderr,
            "\r[%.1f s, %.1f M instructions, %.1f M/s, %s, %.2f bits each, "
            "waited %.1f s]\033[K\r",
            s, (double)n->insns / 1e6, (double)n->insns / 1e6 / s,
            size_text(size, sizeof(size), n->bytes), bits(n), (double)n->wait_ns / 1e9);
    fflush(stderr);
    st->shown = true;
}

void status_clear(struct status *st)
{
    if (st->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        st->shown = false;
    }
}

void status_summary(const struct status *st, uint64_t now_ns,
                    const struct status_numbers *n, const char *file,
                    const char *selection)
{
    double s = (double)(now_ns - st->start_ns) / 1e9;
    char insns[32], loads[32], stores[32], size[32], lost[48] = "";
    char kept[32], dropped[32], ring[112] = "";

    if (n->ring) {
        snprintf(ring, sizeof(ring), " (the newest %s kept, %s dropped)",
                 count_text(kept, sizeof(kept), n->kept),
                 count_text(dropped, sizeof(dropped), n->dropped));
    }
    if (n->incomplete) {
        snprintf(lost, sizeof(lost), ", %u without a sure end", n->incomplete);
    }
    fprintf(stderr,
            "cannoli-record: %s instructions%s, %s loads, %s stores; %u thread%s%s, %u "
            "process%s; %s, %.2f bits per instruction; %.2f s, waited %.2f s; %s%s%s\n",
            count_text(insns, sizeof(insns), n->insns), ring,
            count_text(loads, sizeof(loads), n->loads),
            count_text(stores, sizeof(stores), n->stores), n->threads,
            n->threads == 1 ? "" : "s", lost, n->processes, n->processes == 1 ? "" : "es",
            size_text(size, sizeof(size), n->bytes), bits(n), s, (double)n->wait_ns / 1e9,
            file, selection ? "; of " : "", selection ? selection : "");
}
