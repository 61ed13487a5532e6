/* SPDX-License-Identifier: MIT */
/*
 * A program that switches its own recording.  With the argument "switch" it pauses and
 * resumes; with any other it makes a mark "here" instead, at the same places and by the
 * same call, so that the two runs execute the same instructions (the
 * arguments have equal lengths, and neither branch nor address depends on them).
 *
 * Prints "status N" (the result of cannoli_status), and "label ADDR SIZE TYPE NAME" and
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
        if (n == 4) { /* what is recorded of a signal while the gate is closed */
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
