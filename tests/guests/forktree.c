/* SPDX-License-Identifier: MIT */
/*
 * A tree of 200 processes: each stores a known number of times to its own
 * slot.  Prints "stores ADDRESS COUNT" per process and "processes N".
 */
#include "guest.h"

#include <sys/wait.h>

#define NODES 200

static volatile uint32_t slots[NODES];

static NOINLINE void touch(volatile uint32_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *p = i;
    }
}

/* Node i has the children 3i+1, 3i+2, 3i+3. */
static int node(unsigned i)
{
    pid_t child[3];
    int status, failed = 0;

    touch(&slots[i], 20 + i);
    for (unsigned c = 0; c < 3; c++) {
        child[c] = 0;
        if (3 * i + c + 1 < NODES) {
            child[c] = fork();
            if (child[c] < 0) {
                return 1;
            }
            if (child[c] == 0) {
                _exit(node(3 * i + c + 1));
            }
        }
    }
    for (unsigned c = 0; c < 3; c++) {
        if (child[c] && (waitpid(child[c], &status, 0) < 0 || status != 0)) {
            failed = 1;
        }
    }
    return failed;
}

int main(void)
{
    int failed = node(0);

    for (unsigned i = 0; i < NODES; i++) {
        printf("stores 0x%lx %u\n", (unsigned long)&slots[i], 20 + i);
    }
    printf("processes %d\n", NODES);
    return failed;
}
