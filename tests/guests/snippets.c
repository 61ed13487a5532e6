/* SPDX-License-Identifier: MIT */
/*
 * Generates code all the time: snippets COUNT [THREADS [CHILDREN [memory [SLEEPERS]]]].
 * Each thread writes a function, runs it once and writes the next one, partly at the same
 * place.  Each function returns another number, who << 24 | i, with i from 0, which is
 * part of its instructions.  `who' is unique in the run.  Each thread prints "snippets
 * WHO COUNT".
 * `memory' adds, after a quarter and at the end, "memory KIB KIB": the resident memory of
 * this process and of its parent.  SLEEPERS more threads begin one after the other,
 * generate a little, sleep until the end and generate a little again.
 * SNIPPETS_REACHED names a file of 1024 bytes: word number `who' counts its functions.
 */
#include "emit.h"

#include <pthread.h>
#include <sys/wait.h>

#define AREA 8192u

static unsigned count;
static int memory;
static unsigned sleepers;
static pthread_t sleeping[64];
static int alarm_clock[2];
static volatile uint32_t *reached;

/* From /proc/PID/statm: the host's file, not one that QEMU emulates. */
static unsigned resident(int pid)
{
    char path[64], text[128] = "";
    unsigned long all, here = 0;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/statm", pid);
    fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 ||
        sscanf(text, "%lu %lu", &all, &here) != 2) {
        _exit(96);
    }
    close(fd);
    return (unsigned)here * 4;
}

static void report_memory(void)
{
    char line[64];
    int n = snprintf(line, sizeof(line), "memory %u %u\n", resident(getpid()),
                     resident(getppid()));

    if (write(1, line, (size_t)n) != n) {
        _exit(98);
    }
}

/* As emit.h, with all bits of a number. */
static NOINLINE void emit_number(uint8_t *p, uint32_t v)
{
#if defined(__thumb__)
#error "not for T32"
#elif defined(__arm__)
    uint32_t w[] = {0xe3a00000 | (v & 255), 0xe3800c00 | (v >> 8 & 255),
                    0xe3800800 | (v >> 16 & 255), 0xe3800400 | v >> 24, 0xe12fff1e};
#elif defined(__i386__) || defined(__x86_64__)
    uint8_t w[] = {
        0xb8, (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24),
        0xc3};
#endif
    for (unsigned i = 0; i < sizeof(w) / sizeof(w[0]); i++) {
        ((volatile __typeof__(w[0]) *)p)[i] = w[i];
    }
    __builtin___clear_cache((char *)p, (char *)p + sizeof(w));
}

static uint8_t *area(void)
{
    return mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void snippet(uint8_t *code, uint32_t who, unsigned i)
{
    uint8_t *p = code + (i % 3 ? 32 * (i % (AREA / 32)) : 0);

    emit_number(p, who << 24 | i);
    if (call(p) != (who << 24 | i)) {
        _exit(97);
    }
    if (reached) {
        reached[who] = i + 1;
    }
}

static void *sleeper(void *arg)
{
    const uint32_t who = (uint32_t)(uintptr_t)arg;
    uint8_t *code = area();
    char line[64];
    int n = snprintf(line, sizeof(line), "snippets %u 20\n", (unsigned)who);

    for (unsigned i = 0; i < 20; i++) {
        snippet(code, who, i);
        if (i == 9 && read(alarm_clock[0], line + 63, 1) != 0) {
            _exit(95);
        }
    }
    if (write(1, line, (size_t)n) != n) {
        _exit(98);
    }
    return NULL;
}

static void *generate(void *arg)
{
    const uint32_t who = (uint32_t)(uintptr_t)arg;
    uint8_t *code = area();
    char line[64];
    int n;

    for (unsigned i = 0, s = 0; i < count; i++) {
        snippet(code, who, i);
        if (who == 1 && s < sleepers && i == count / (sleepers + 1) * (s + 1)) {
            pthread_create(&sleeping[s], NULL, sleeper, (void *)(uintptr_t)(100 + s));
            s++;
        }
        if (memory && (i == count / 4 || i == count - 1)) {
            report_memory();
        }
    }
    n = snprintf(line, sizeof(line), "snippets %u %u\n", (unsigned)who, count);
    if (write(1, line, (size_t)n) != n) {
        _exit(98);
    }
    munmap(code, AREA);
    return NULL;
}

/* One process: numbers who, who + 1, ... for its threads. */
static void run(unsigned who, unsigned threads)
{
    pthread_t t[16];

    for (unsigned i = 1; i < threads; i++) {
        pthread_create(&t[i], NULL, generate, (void *)(uintptr_t)(who + i));
    }
    generate((void *)(uintptr_t)who);
    for (unsigned i = 1; i < threads; i++) {
        pthread_join(t[i], NULL);
    }
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    unsigned children = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
    int status, bad = 0;

    if (getenv("SNIPPETS_REACHED")) {
        int fd = open(getenv("SNIPPETS_REACHED"), O_RDWR);

        reached = mmap(NULL, 1024, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (reached == MAP_FAILED) {
            return 1;
        }
    }
    memory = argc > 4;
    sleepers = argc > 5 ? (unsigned)atoi(argv[5]) : 0;
    if (pipe(alarm_clock)) {
        return 1;
    }
    count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    for (unsigned i = 0; i < children; i++) {
        /* with the code translated so far */
        run(1 + 2 * i * threads, 1);
        if (fork() == 0) {
            run(1 + (2 * i + 1) * threads, threads);
            _exit(0);
        }
    }
    run(1 + 2 * children * threads, threads);
    close(alarm_clock[1]);
    for (unsigned i = 0; i < sleepers; i++) {
        pthread_join(sleeping[i], NULL);
    }
    while (wait(&status) > 0) {
        bad |= status;
    }
    return bad ? 1 : 0;
}
