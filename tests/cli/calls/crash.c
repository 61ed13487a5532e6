/* SPDX-License-Identifier: MIT */
/*
 * Calls itself, then is ended by a signal.  It prints the lines of a backtrace with local
 * variables, the innermost frame first: "FUNCTION LINE TAB ARGUMENTS", then "NAME = VALUE".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point {
    int x;
    double y;
};

enum state { IDLE, BUSY = 3 };

static volatile int *nowhere;
static char lines[16][256];
static int nr_lines;

#define SAY(...) snprintf(lines[nr_lines++], sizeof(lines[0]), __VA_ARGS__)

static void print_lines(int from)
{
    for (int i = from; i < nr_lines; i++) {
        puts(lines[i]);
    }
    fflush(stdout);
}

__attribute__((noipa)) int last(int depth, const char *text)
{
    enum state state = BUSY;
    char copy[16];

    strcpy(copy, text);
    nr_lines = 0;
    SAY("last %d\tdepth=%d, text=\"%s\"", __LINE__ + 4, depth, text);
    SAY("state = BUSY");
    SAY("copy = \"%s\"", copy);
    print_lines(0);
    *nowhere = depth + state + copy[0];
    return depth;
}

__attribute__((noipa)) int down(int depth, double part)
{
    struct point p = {depth, part};
    long sum = depth * 1000L;

    if (depth == 2) {
        return last(depth, "the end") + (int)sum + p.x;
    }
    return down(depth + 1, part / 2) + (int)sum + p.x + (int)p.y;
}

int main(void)
{
    int first = 11;

    return down(0, 6.5) + first;
}
