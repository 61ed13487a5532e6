/* SPDX-License-Identifier: MIT */
/*
 * A program that only makes system calls: short calls, reads of 4 KiB,
 * mappings, signals, and sometimes a thread.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
    (void)sig;
    caught++;
}

static void *thread_main(void *arg)
{
    return arg;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000, sum = 0;
    int zero = open("/dev/zero", O_RDONLY);
    char buf[4096];

    signal(SIGUSR1, on_signal);
    for (long i = 0; i < n; i++) {
        sum += getppid() != 0;
        if (i % 4 == 0) {
            sum += read(zero, buf, sizeof(buf));
        }
        if (i % 32 == 0) {
            char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            p[0] = 1;
            munmap(p, 65536);
            raise(SIGUSR1);
        }
        if (i % 2048 == 0) {
            pthread_t t;
            pthread_create(&t, NULL, thread_main, NULL);
            pthread_join(t, NULL);
        }
    }
    printf("%ld calls, %ld signals\n", sum, (long)caught);
    return 0;
}
