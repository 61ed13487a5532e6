/* SPDX-License-Identifier: MIT */
/*
 * Changes memory of each kind between the calls of moment(), where a debugger stops: data,
 * cleared data, constants, the heap, mapped pages, the stack; by stores of all sizes, by
 * functions of the C library, by the system.  Between them it works for so long that there
 * are key frames.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char initial[64] = "what the file has";
const char constant[] = "nothing writes this";
char cleared[5000];
char *heap, *pages, *stack;
volatile unsigned worked[8 * 1024];

/* QEMU runs a page with a breakpoint one instruction at a time: not that of work(), too. */
#define PAGE_OF_ITS_OWN __attribute__((noinline, aligned(4096)))

PAGE_OF_ITS_OWN int moment(int n)
{
    __asm__ volatile("" ::: "memory");
    return n;
}

/* Calls moment() with some frames below it. */
static int deep(int n, int depth)
{
    char local[48];

    snprintf(local, sizeof(local), "%d frames of %d", depth, n);
    if (depth) {
        return deep(n, depth - 1) + local[0];
    }
    stack = local;
    return moment(n) + local[0];
}

/* Writes to the same pages in every chunk, though not to all of them. */
PAGE_OF_ITS_OWN static void work(unsigned n)
{
    volatile unsigned local[1024];

    for (unsigned i = 0; i < 120000; i++) {
        worked[i * 7 % 5000] += i ^ n;
        if (i % 16 == 0) {
            local[(i / 16 + n) % 1000] = i;
        }
    }
    worked[8191 - n] = local[n];
}

static void change(int n, const int *pipe_ends)
{
    char line[40];
    int len = snprintf(line, sizeof(line), "line %d of the pipe", n);

    initial[n % 64] ^= 0x5a;
    *(volatile short *)(cleared + 2 * n) = (short)(0x1234 + n);
    *(volatile long long *)(cleared + 512 + 8 * n) = 0x0123456789abcdefLL * (n + 1);
    memset(cleared + 1024 + 37 * n, n, 29);
    memmove(cleared + 1500, cleared + 1024, 400);
    if (write(pipe_ends[1], line, (size_t)len) == len &&
        read(pipe_ends[0], cleared + 3000 + n, 1000) != len) {
        exit(1);
    }
    heap = realloc(heap, (size_t)(64 + 100 * n));
    snprintf(heap + 10 * (n % 6), 10, "%d", n * n);
    if (n % 7 == 6) {
        munmap(pages, 8192);
        pages =
            mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    strcpy(pages + 5 * (n % 7), line);
}

int main(void)
{
    static const int high[2] = {20, 21}; /* the debugger has some of the lower ones */
    static int pipe_ends[2];
    int sum = 0;

    pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || pipe(pipe_ends) || dup2(pipe_ends[0], high[0]) < 0 ||
        dup2(pipe_ends[1], high[1]) < 0) {
        return 1;
    }
    for (int n = 0; n < 40; n++) {
        work((unsigned)n);
        change(n, high);
        sum += deep(n, n % 5);
    }
    return sum == 0;
}
