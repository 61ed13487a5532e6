/* SPDX-License-Identifier: MIT */
/*
 * Frames for a debugger to compare with: inlined functions, variables that move between
 * registers and the stack, registers that inner functions save; ended by a signal.
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    short weight;
    char name[8];
};

enum colour { RED, GREEN = 5, BLUE };

static volatile int *volatile nowhere;
static struct node nodes[3] = {
    {&nodes[1], 3, "first"}, {&nodes[2], -4, "second"}, {0, 7, "third"}};

static inline __attribute__((always_inline)) int weigh(const struct node *n, int factor)
{
    int product = n->weight * factor;

    *nowhere = product;
    return product + 1;
}

__attribute__((noinline)) static int visit(const struct node *n, int depth,
                                           unsigned long mask)
{
    enum colour colour = depth & 1 ? GREEN : BLUE;
    unsigned char low = (unsigned char)mask;
    int result;

    if (n->next) {
        result = visit(n->next, depth + 1, mask * 3);
    } else {
        result = weigh(n, n->weight + 13);
    }
    return result + colour + low;
}

__attribute__((noinline)) static long walk(int from, const char *why, double share)
{
    long total = 0;

    for (int i = from; i < from + 4; i++) {
        total += 100 * i;
        if (i == from + 2) {
            total += visit(nodes, 0, 0x1234567 + (unsigned long)total);
        }
    }
    return total + why[0] + (long)share;
}

int main(int argc, char **argv)
{
    long answer = walk(argc + 40, "because", argc * 0.375);

    printf("%ld %s\n", answer, argv[0]);
    return 0;
}
