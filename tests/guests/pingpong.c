/* SPDX-License-Identifier: MIT */
/*
 * A process and its child, then two threads, alternate: each writes a byte into a
 * pipe when it has read one.  A read never ends before the matching write began.
 */
#include "guest.h"

#include <pthread.h>
#include <sys/wait.h>

#define TURNS 60

static int to[2], back[2];

static void turns(int in, int out)
{
    char byte;

    for (int i = 0; i < TURNS; i++) {
        if (read(in, &byte, 1) != 1) {
            _exit(70);
        }
        if (i % 20 == 7) { /* sometimes it lasts longer */
            usleep(30000);
        }
        if (write(out, &byte, 1) != 1) {
            _exit(71);
        }
    }
}

static void *other(void *arg)
{
    turns(to[0], back[1]);
    return arg;
}

static void play(void)
{
    char byte = 'p';

    if (write(to[1], &byte, 1) != 1) {
        _exit(72);
    }
    turns(back[0], to[1]);
}

int main(void)
{
    pthread_t t;
    pid_t p;

    if (pipe(to) || pipe(back)) {
        return 1;
    }
    p = fork();
    if (p == 0) {
        other(NULL);
        _exit(0);
    }
    play();
    waitpid(p, NULL, 0);
    if (read(to[0], &p, 1) != 1) { /* the last byte, which nobody has read */
        return 2;
    }
    pthread_create(&t, NULL, other, NULL);
    play();
    pthread_join(t, NULL);
    printf("pipes %d %d %d %d\n", to[0], to[1], back[0], back[1]);
    return 0;
}
