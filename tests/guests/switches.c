/* SPDX-License-Identifier: MIT */
/*
 * A program that switches its own recording.  Argument "switch": it pauses and resumes
 * where it says so; any other: at the same places, by the same call, it makes a
 * mark "here" instead, so that the two runs execute the same instructions (the
 * arguments are as long as each other, and neither branch nor address depends on it).
 *
 * Says "status N" (what cannoli_status returned), and "label ADDR SIZE TYPE NAME" and
 * "unlabel ADDR" for each label.
 */
#include "guest.h"

#include "../../include/cannoli/guest.h"

static volatile uint32_t slot[8];
static long call[2][3]; /* pause and resume: op and its first two arguments */
static const char here[] = "here";
static volatile long mask; /* all ones if it switches */

static long pick(long stays, long switches)
{
    return stays ^ ((stays ^ switches) & mask);
}

static NOINLINE void paused(unsigned n)
{
    for (unsigned i = 0; i < 5 + n; i++) {
        slot[i & 3] += i * n;
    }
}

static NOINLINE void recorded(unsigned n)
{
    for (unsigned i = 0; i < 3 + n % 4; i++) {
        slot[4 + (i & 3)] ^= i + n;
    }
}

static NOINLINE void flip(int open)
{
    cannoli_guest_call(call[open][0], call[open][1], call[open][2], open, 0);
}

static void on_tick(int sig)
{
    (void)sig;
    slot[7]++;
}

int main(int argc, char **argv)
{
    char *object;

    mask = -(long)(argc > 1 && argv[1][0] == 's');
    printf("status %ld\n", cannoli_status());
    signal(SIGUSR1, on_tick);
    object = malloc(64);
    printf("label %lx 64 node first\n", (unsigned long)object);
    cannoli_label(object, 64, "node", "first");
    printf("label %lx 12 cells \n", (unsigned long)slot);
    cannoli_label(slot, 12, "cells", "");
    for (unsigned n = 0; n < 10; n++) {
        for (int open = 0; open < 2; open++) {
            call[open][0] = pick(CANNOLI_GUEST_MARK,
                                 open ? CANNOLI_GUEST_RESUME : CANNOLI_GUEST_PAUSE);
            call[open][1] = pick((long)here, n & 1 ? CANNOLI_PROCESS : CANNOLI_THREAD);
            call[open][2] = pick(4, 0);
        }
        cannoli_mark("phase", n);
        flip(0);
        paused(n);
        if (n == 4) { /* what is told of a signal while nothing is told */
            raise(SIGUSR1);
        }
        cannoli_mark("inside", n * 3);
        flip(1);
        recorded(n);
    }
    printf("unlabel %lx\n", (unsigned long)object);
    cannoli_unlabel(object);
    printf("status %ld\n", cannoli_status());
    return finish("switches");
}
