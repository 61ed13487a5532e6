/* SPDX-License-Identifier: MIT */
/*
 * Changes what a region holds in all ways that a program has: stores, the system, mmap over
 * what is there, munmap, mprotect, madvise, mremap, brk, and forks.  Again and again it
 * prints what a part of it holds: a header, and the bytes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT 8192u /* a page or two */
#define UNITS 40u
#define REGION ((unsigned char *)0x30000000)
#define FILE_UNITS 4u /* the program's file has more */
#define STEPS 60

struct header {
    char magic[4];
    uint32_t number;
    uint64_t addr;
};

static uint32_t seed = 12345, *number; /* shared with the children */
static unsigned char prot[UNITS];      /* of each unit; 0: not mapped */
static unsigned char *heap;
static unsigned heap_units;
static int file, ends[2];

static uint32_t below(uint32_t n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % n;
}

static void report(const unsigned char *at)
{
    struct header h = {"mem", ++*number, (uintptr_t)at};

    if (write(1, &h, sizeof(h)) != sizeof(h) || write(1, at, UNIT) != UNIT) {
        _exit(1);
    }
}

static unsigned char *unit(unsigned i)
{
    return REGION + i * UNIT;
}

static void map(unsigned i, unsigned n)
{
    const int of_file = below(4) == 0 && n <= FILE_UNITS;
    const int p = PROT_READ | (below(5) ? PROT_WRITE : 0);

    if (mmap(unit(i), n * UNIT, p,
             MAP_FIXED | MAP_PRIVATE | (of_file ? 0 : MAP_ANONYMOUS), of_file ? file : -1,
             of_file ? below(2) * UNIT : 0) != unit(i)) {
        _exit(2);
    }
    memset(prot + i, p, n);
}

/* A unit grows, here or elsewhere.  More may be several mappings: then Linux unmaps the new
 * place, and fails. */
static void move(unsigned i)
{
    const unsigned size = 1 + below(3), to = below(4) ? below(UNITS - size) : i;
    const int flags = to == i ? 0 : MREMAP_MAYMOVE | MREMAP_FIXED;

    if (!prot[i] || (to != i && to + size > i && to <= i)) {
        return;
    }
    if (mremap(unit(i), UNIT, size * UNIT, flags, unit(to)) == unit(to)) {
        const unsigned char was = prot[i];

        prot[i] = 0;
        memset(prot + to, was, size);
        report(unit(to));
        report(unit(to + size - 1));
    } else if (to != i) {
        _exit(5);
    }
}

static void grow_heap(void)
{
    if (below(3) && heap_units < 8) {
        heap_units += sbrk(UNIT) != (void *)-1;
    } else if (heap_units) {
        heap_units -= sbrk(-(long)UNIT) != (void *)-1;
    }
}

/* Writes to all that can be written, `n' times. */
static void store(unsigned n)
{
    while (n--) {
        const unsigned i = below(UNITS + 8), at = below(UNIT - 8);
        unsigned char *p = i < UNITS ? unit(i) : heap + (i - UNITS) * UNIT;

        if (i < UNITS ? (prot[i] & PROT_WRITE) == 0 : i - UNITS >= heap_units) {
            continue;
        }
        if (n % 3) {
            p[at] = (unsigned char)seed;
        } else {
            *(volatile uint32_t *)(p + at / 4 * 4) = seed;
        }
    }
}

/* The system writes, too: few bytes, as more are not recorded. */
static void receive(unsigned i)
{
    char text[12];

    memset(text, (int)below(256), sizeof(text));
    if (prot[i] & PROT_WRITE && write(ends[1], text, sizeof(text)) == sizeof(text) &&
        read(ends[0], unit(i) + below(UNIT - 16), sizeof(text)) != sizeof(text)) {
        _exit(3);
    }
}

static void steps(int count, int depth);

static void make_child(int depth)
{
    const unsigned wiped = below(UNITS);
    pid_t child;
    int status;

    if (prot[wiped] & PROT_WRITE) {
        memset(unit(wiped), (int)wiped + 1, UNIT);
        madvise(unit(wiped), UNIT, below(4) ? MADV_WIPEONFORK : MADV_KEEPONFORK);
    }
    child = fork();
    if (child == 0) {
        seed += 77;
        if (prot[wiped]) {
            report(unit(wiped));
        }
        steps(10, depth + 1);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status) {
        _exit(4);
    }
}

static void step(int depth)
{
    const unsigned n = 1 + below(5), i = below(UNITS - n);

    switch (below(9)) {
    case 0:
    case 1:
        map(i, n);
        break;
    case 2:
        munmap(unit(i), n * UNIT);
        memset(prot + i, 0, n);
        break;
    case 3:
        for (unsigned k = i; k < i + n; k++) {
            if (prot[k]) {
                prot[k] = PROT_READ | (below(3) ? PROT_WRITE : 0);
                mprotect(unit(k), UNIT, prot[k]);
            }
        }
        break;
    case 4:
        for (unsigned k = i; k < i + n; k++) {
            if (prot[k]) {
                madvise(unit(k), UNIT, MADV_DONTNEED);
            }
        }
        break;
    case 5:
        for (unsigned k = i; k < i + n; k++) {
            move(k);
        }
        break;
    case 6:
        grow_heap();
        break;
    case 7:
        receive(i);
        break;
    default:
        if (depth < 3) {
            make_child(depth);
        }
    }
}

static void steps(int count, int depth)
{
    while (count--) {
        step(depth);
        store(below(4) ? 200 : depth ? 20000 : 120000);
        for (unsigned k = 0; k < 3; k++) {
            const unsigned i = below(UNITS);
            if (prot[i]) {
                report(unit(i));
            }
        }
        if (heap_units) {
            report(heap + below(heap_units) * UNIT);
        }
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    number = mmap(NULL, UNIT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    file = open(argv[0], O_RDONLY);
    heap = sbrk(0);
    heap = sbrk((long)(UNIT - (uintptr_t)heap % UNIT)) == (void *)-1 ? NULL : sbrk(0);
    if (number == MAP_FAILED || file < 0 || pipe(ends) || !heap) {
        return 1;
    }
    map(0, UNITS);
    steps(STEPS, 0);
    return 0;
}
