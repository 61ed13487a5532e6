/* SPDX-License-Identifier: MIT */
/*
 * A program whose function WORK (a name that the compiler is given) has the same address and
 * the same code in another build, where it has another name.
 *
 *   twins CALLS [OTHER]
 *
 * It calls the function where it is, in a copy of its page that it maps elsewhere, at the same
 * place in the file OTHER (a twin), and in a child, and prints how often, and which files it
 * has as code then.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRINGS(x) #x
#define STRING(x) STRINGS(x)
#define AT 0x30000000ul
#define PAGE 4096ul

extern const char __ehdr_start[];

/* In a page of its own: it has no address of anything else. */
__attribute__((noinline, aligned(4096))) unsigned long WORK(unsigned long n)
{
    unsigned long sum = n;

    for (unsigned i = 0; i < 3; i++) {
        sum = sum * 31 + (sum >> 7);
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

/* One line: tasks print at the same time. */
static void print_areas(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512], out[2048], path[256];
    unsigned long start, end, offset;
    int n = snprintf(out, sizeof(out), "areas %d", (int)getpid());

    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%lx-%lx r-xp %lx %*s %*s %255s", &start, &end, &offset, path) ==
                4 &&
            *path == '/') {
            n += snprintf(out + n, sizeof(out) - (size_t)n, " %lx-%lx:%lx:%s", start, end,
                          offset, path);
        }
    }
    fclose(f);
    out[n++] = '\n';
    if (write(1, out, (size_t)n) != n) {
        exit(2);
    }
}

static unsigned long call(unsigned long (*volatile f)(unsigned long), unsigned n)
{
    unsigned long sum = 0;

    while (n--) {
        sum += f(n);
    }
    return sum;
}

/* The place of the function in the file. */
static off_t offset_of(void)
{
    const unsigned long base = (unsigned long)__ehdr_start, at = (unsigned long)WORK;
    const Elf64_Phdr *h = (const void *)getauxval(AT_PHDR);

    for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++) {
        const unsigned long bias =
            h[0].p_type == PT_PHDR && h[0].p_vaddr < base ? base : 0;
        if (h[i].p_type == PT_LOAD && h[i].p_flags & PF_X &&
            at - bias - h[i].p_vaddr < h[i].p_filesz) {
            return (off_t)(at - bias - h[i].p_vaddr + h[i].p_offset);
        }
    }
    exit(2);
}

/* Calls the code at the function's place in a file. */
static void call_in(const char *path, unsigned n)
{
    int fd = open(path, O_RDONLY);
    void *p = mmap((void *)AT, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
                   offset_of());

    if (p != (void *)AT) {
        perror(path);
        exit(2);
    }
    call((unsigned long (*)(unsigned long))AT, n);
    print_areas();
    munmap(p, PAGE);
    close(fd);
}

int main(int argc, char **argv)
{
    const unsigned n = (unsigned)atoi(argv[1]);
    int status = 1;
    pid_t child;

    print_areas();
    call(WORK, n);
    call_in("/proc/self/exe", 3 * n);
    if (argc > 2) {
        call_in(argv[2], 5 * n);
    }
    fflush(stdout);
    child = fork();
    if (!child) {
        print_areas();
        call(WORK, 7 * n);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status) {
        return 1;
    }
    printf("twin %d %s %u other %u child %d %u\n", (int)getpid(), STRING(WORK), 4 * n,
           argc > 2 ? 5 * n : 0, (int)child, 7 * n);
    return 0;
}
