/* SPDX-License-Identifier: MIT */
/*
 * The recorder's messages share the terminal with the program, whose text must stay as it
 * is: a prompt that waits for an answer, a line that is half written.
 *
 * The progress line is therefore drawn below the cursor, which stays where it is, and only
 * while the program computes, never on a terminal that a full-screen program or a request
 * for a password has taken over, or that belongs to another job.  A message begins on a
 * line of its own.
 */
#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define FIRST_NS 1000000000ull
#define REDRAW_NS 500000000ull
#define LINE_NS 10000000000ull
#define DEFAULT_COLUMNS 80

/* What terminals understand: makes room below the cursor without moving it; remembers the
 * cursor, and returns to it; wipes what is to its right and below; goes to the beginning of
 * the line below. */
#define MAKE_ROOM "\033D\033M"
#define REMEMBER "\0337"
#define RETURN "\0338"
#define WIPE "\033[J"
#define GO_BELOW "\033D\033[G"

static bool terminal_can_draw(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

bool status_terminal_is_free(bool to_stderr)
{
    return terminal_can_draw() && !isatty(STDIN_FILENO) && !to_stderr &&
           !isatty(STDOUT_FILENO);
}

/* Whether it is our job's, and its modes. */
static bool terminal_is_ours(struct termios *t)
{
    return tcgetattr(STDERR_FILENO, t) == 0 && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* ... and no full-screen program's, and nobody types a password. */
static bool terminal_shows_lines(void)
{
    const tcflag_t usual = ICANON | ECHO;
    struct termios t;

    return terminal_is_ours(&t) && (t.c_lflag & usual) == usual;
}

void status_init(struct status *st, bool progress, uint64_t now_ns)
{
    *st = (struct status){
        .on = progress,
        .lines = !terminal_can_draw(),
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

    return insns ? 8.0 * (double)(n->bytes - n->files) / (double)insns : 0;
}

static int columns(void)
{
    struct winsize w;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col
                                                                     : DEFAULT_COLUMNS;
}

void status_draw(struct status *st, uint64_t now_ns, const struct status_numbers *n)
{
    double s = (double)(now_ns - st->start_ns) / 1e9;
    char size[32], text[256];

    st->next_ns = now_ns + (st->lines ? LINE_NS : REDRAW_NS);
    if (n->insns == st->last_insns || (!st->lines && !terminal_shows_lines())) {
        status_clear(st);
        return;
    }
    st->last_insns = n->insns;
    snprintf(text, sizeof(text),
             "[%.1f s, %.1f M instructions, %.1f M/s, %s, %.2f bits each, "
             "waited %.1f s]",
             s, (double)n->insns / 1e6, (double)n->insns / 1e6 / s,
             size_text(size, sizeof(size), n->bytes), bits(n), (double)n->wait_ns / 1e9);
    /* In one piece: the program writes there, too. */
    if (st->lines) {
        dprintf(STDERR_FILENO, "cannoli-record: %s\n", text);
    } else {
        dprintf(STDERR_FILENO, MAKE_ROOM REMEMBER WIPE GO_BELOW "%.*s" RETURN,
                columns() - 1, text);
        st->shown = st->drawn = true;
    }
}

void status_clear(struct status *st)
{
    if (st->shown && terminal_shows_lines()) {
        dprintf(STDERR_FILENO, WIPE);
    }
    st->shown = false;
}

/*
 * Nobody but the terminal's driver knows its column.  With these modes it drops a carriage
 * return at the beginning of a line, and makes a line feed of any other one; the second one
 * then returns to the beginning.
 *
 * It takes escape sequences for text, so after progress it is wrong.  Then as many blanks as
 * a row has end in that row if they begin where it does, and in the next one otherwise.
 */
static void begin_line(bool drawn)
{
    struct termios now, mode;

    if (!terminal_is_ours(&now) || !(now.c_oflag & OPOST)) {
        return;
    }
    if (drawn) {
        dprintf(STDERR_FILENO, "%*s\r", columns(), "");
        return;
    }
    mode = now;
    mode.c_oflag |= ONOCR | OCRNL;
    mode.c_oflag &= ~(tcflag_t)ONLRET;
    if (tcsetattr(STDERR_FILENO, TCSANOW, &mode) < 0) {
        return;
    }
    dprintf(STDERR_FILENO, "\r");
    mode.c_oflag &= ~(tcflag_t)OCRNL;
    if (tcsetattr(STDERR_FILENO, TCSANOW, &mode) == 0) {
        dprintf(STDERR_FILENO, "\r");
    }
    tcsetattr(STDERR_FILENO, TCSANOW, &now);
}

void status_begin_message(struct status *st)
{
    status_clear(st);
    begin_line(st->drawn);
}

void status_summary(struct status *st, uint64_t now_ns, const struct status_numbers *n,
                    const char *file, const char *selection)
{
    double s = (double)(now_ns - st->start_ns) / 1e9;
    char insns[32], loads[32], stores[32], size[32], lost[48] = "";
    char kept[32], dropped[32], ring[112] = "", left[80] = "", files[48] = "";

    if (n->ring) {
        snprintf(ring, sizeof(ring), " (the newest %s kept, %s dropped)",
                 count_text(kept, sizeof(kept), n->kept),
                 count_text(dropped, sizeof(dropped), n->dropped));
    }
    if (n->files) {
        snprintf(files, sizeof(files), " (%s of it files)",
                 size_text(size, sizeof(size), n->files));
    }
    if (n->incomplete) {
        snprintf(lost, sizeof(lost), ", %u without a sure end", n->incomplete);
    }
    if (n->left) {
        snprintf(left, sizeof(left),
                 ", %u executed program%s not recorded (--follow-exec)", n->left,
                 n->left == 1 ? "" : "s");
    }
    status_begin_message(st);
    fprintf(
        stderr,
        "cannoli-record: %s instructions%s, %s loads, %s stores; %u thread%s%s, %u "
        "process%s%s; %s%s, %.2f bits per instruction; %.2f s, waited %.2f s; %s%s%s\n",
        count_text(insns, sizeof(insns), n->insns), ring,
        count_text(loads, sizeof(loads), n->loads),
        count_text(stores, sizeof(stores), n->stores), n->threads,
        n->threads == 1 ? "" : "s", lost, n->processes, n->processes == 1 ? "" : "es",
        left, size_text(size, sizeof(size), n->bytes), files, bits(n), s,
        (double)n->wait_ns / 1e9, file, selection ? "; of " : "",
        selection ? selection : "");
}
