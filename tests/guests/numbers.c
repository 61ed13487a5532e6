/* SPDX-License-Identifier: MIT */
/*
 * Numbers its actions: each of its threads writes 1, 2, 3 and so on to a place of its
 * own in a file that others read, and in between does what is hard to compress: reads
 * from random places, makes system calls with large buffers, maps and unmaps.
 *
 *   numbers FILE THREADS WHAT [STEPS]
 *
 * WHAT: letters, for what happens besides counting: c calls, m mappings, t short-lived
 * threads, f short-lived processes.  Prints the address of the file.
 *
 * With STEPS each thread ends when it has reached that number, otherwise none ends.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 16
#define STRIDE 64
#define FIELD (1u << 16)

static volatile uint32_t *place;
static volatile uint8_t field[FIELD];
static const char *what;
static uint32_t last = UINT32_MAX;
static int zero;

static int has(char c)
{
    return strchr(what, c) != NULL;
}

static void count(unsigned which, uint32_t steps)
{
    volatile uint32_t *mine = place + which * (STRIDE / sizeof(*place));
    uint32_t random = 12345 + which;
    static __thread char buffer[20000];

    for (uint32_t n = 1; n <= steps; n++) {
        for (int i = 0; i < 8; i++) {
            random = random * 1664525 + 1013904223;
            field[random >> 16] += (uint8_t)n;
        }
        *mine = n;
        if (has('c') && n % 512 == 0 && read(zero, buffer, sizeof(buffer)) < 0) {
            abort();
        }
        if (has('m') && n % 1024 == 0) {
            void *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *(volatile char *)p = 1;
            mprotect((char *)p + 4096, 4096, PROT_READ);
            munmap(p, 2 * 4096);
            if (n % 4096) {
                munmap((char *)p + 2 * 4096, 4096);
            }
        }
    }
}

static void *counter(void *arg)
{
    count((unsigned)(uintptr_t)arg, last);
    return NULL;
}

/* Counts in a place that many threads use, one after the other. */
static void *passer(void *arg)
{
    count((unsigned)(uintptr_t)arg, 300);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
    int fd = argc > 3 ? open(argv[1], O_RDWR) : -1;
    pthread_t thread[PAGES];

    place = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    zero = open("/dev/zero", O_RDONLY);
    if (place == MAP_FAILED || zero < 0) {
        return 1;
    }
    what = argv[3];
    last = argc > 4 ? (uint32_t)atol(argv[4]) : last;
    printf("%#lx\n", (unsigned long)place);
    fflush(stdout);
    for (unsigned i = 1; i < threads; i++) {
        if (pthread_create(&thread[i % PAGES], NULL, counter, (void *)(uintptr_t)i)) {
            return 1;
        }
    }
    if (!has('t') && !has('f')) {
        count(0, last);
        for (unsigned i = 1; i < threads; i++) {
            pthread_join(thread[i % PAGES], NULL);
        }
        return 0;
    }
    for (unsigned n = 0; n < last; n++) {
        pthread_t t;
        pid_t pid;
        if (has('t') && pthread_create(&t, NULL, passer, (void *)(uintptr_t)0) == 0) {
            pthread_join(t, NULL);
        }
        if (has('f')) {
            pid = fork();
            if (pid == 0) {
                passer((void *)(uintptr_t)(100 + n % 100));
                _exit(0);
            }
            while (waitpid(-1, NULL, n % 4 ? WNOHANG : 0) > 0) {
            }
        }
    }
    return 0;
}
