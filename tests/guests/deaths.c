/* SPDX-License-Identifier: MIT */
/* Ends as its argument says, after it printed where its last store goes. */
#include "guest.h"

static volatile uint32_t last;

int main(int argc, char **argv)
{
    volatile uint32_t *nowhere = (uint32_t *)0x30;

    printf("last 0x%lx\n", (unsigned long)&last);
    fflush(stdout);
    for (uint32_t i = 1; i <= 1000; i++) {
        last = i;
    }
    switch (argc > 1 ? argv[1][0] : 0) {
    case 's': /* SIGSEGV */
        *nowhere = 1;
        break;
    case 'k': /* SIGKILL */
        kill(getpid(), SIGKILL);
        break;
    case 'a': /* SIGABRT */
        abort();
    case 't': /* SIGTERM, from a handler of another signal */
        kill(getpid(), SIGTERM);
        break;
    }
    return 42;
}
