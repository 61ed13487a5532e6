/* SPDX-License-Identifier: MIT */
/*
 * A guest that closes every descriptor that it can, also by close_range, sets
 * RLIMIT_NOFILE to almost nothing, then makes threads and children: the trace
 * must still be whole.  "fd N" lines list the open descriptors.
 */
#include "guest.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile uint32_t slots[4];

static NOINLINE void touch(volatile uint32_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *p = i;
    }
}

static void *work(void *arg)
{
    (void)arg;
    touch(&slots[1], 200);
    return NULL;
}

int main(void)
{
    struct rlimit r = {4, 4};
    pthread_t t;
    int status, bad = 0;
    pid_t p;

    for (int fd = 0; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            printf("fd %d\n", fd);
        }
    }
    printf("next %d\n", open("/dev/null", O_RDONLY));
    touch(&slots[0], 100);
    for (int fd = 3; fd < 4096; fd++) {
        close(fd);
    }
    syscall(436, 3, ~0u, 0); /* close_range */
    bad |= setrlimit(RLIMIT_NOFILE, &r);
    bad |= pthread_create(&t, NULL, work, NULL) || pthread_join(t, NULL);
    p = fork();
    if (p == 0) {
        close(0);
        close(1);
        close(2);
        touch(&slots[2], 300);
        _exit(0);
    }
    bad |= waitpid(p, &status, 0) != p || status != 0;
    touch(&slots[3], 400);
    for (int i = 0; i < 4; i++) {
        printf("stores 0x%lx %d\n", (unsigned long)&slots[i], 100 * (i + 1));
    }
    printf("processes 2\n");
    return bad;
}
