/* SPDX-License-Identifier: MIT */
/*
 * An address space that changes in every way; its last action is to print
 * /proc/self/maps.  "sym FILE NAME 0xADDR" gives the address of a function that it ran:
 * FILE is "self" or a name.  Built static, and as a dynamic PIE (DYNAMIC) that
 * opens, closes and opens again the library given as its second argument.  The
 * first argument is a folder for files.
 */
#include "guest.h"

#include <sys/shm.h>

#ifdef DYNAMIC
#include <dlfcn.h>
#endif

#if defined(__alpha__) || defined(__sparc__)
#define PAGE 8192l
#else
#define PAGE 4096l
#endif

static int checked(int r)
{
    if (r) {
        perror("mappings");
        exit(1);
    }
    return r;
}

static uint8_t *some(long pages, int prot, int flags, int fd)
{
    uint8_t *p = mmap(NULL, (size_t)(pages * PAGE), prot, flags, fd, 0);

    checked(p == MAP_FAILED);
    return p;
}

NOINLINE int visited(int n)
{
    __asm__ volatile("");
    return n + 1;
}

static void anonymous(void)
{
    int rw = PROT_READ | PROT_WRITE;
    uint8_t *p = some(32, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    uint8_t *q;

    /* fixed over the middle, twice, with other protections and kinds */
    checked(mmap(p + 4 * PAGE, 3 * PAGE, PROT_READ,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p + 4 * PAGE);
    checked(mmap(p + 6 * PAGE, 3 * PAGE, rw, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != p + 6 * PAGE);
    checked(munmap(p + 10 * PAGE, 2 * PAGE));
    checked(munmap(p + 11 * PAGE, PAGE)); /* again: nothing is mapped there */
    checked(mprotect(p + 13 * PAGE, PAGE, PROT_NONE));
    checked(mprotect(p + 14 * PAGE, 4 * PAGE, PROT_READ));
    checked(mprotect(p + 15 * PAGE, PAGE, rw));
    checked(mprotect(p + 20 * PAGE, PAGE, PROT_READ | PROT_EXEC));
    for (int i = 0; i < 40; i++) { /* a loop of both */
        q = some(3, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        q[PAGE] = (uint8_t)i;
        checked(munmap(q + (i % 3) * PAGE, PAGE));
        checked(munmap(q, 3 * PAGE));
    }
    q = some(64 << 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    checked(mprotect(q + 100 * PAGE, 50 * PAGE, rw));
    q[100 * PAGE] = 1;
    /* grown in place or elsewhere, shrunk, moved over a mapping of ours */
    p = mremap(p + 22 * PAGE, 10 * PAGE, 60 * PAGE, MREMAP_MAYMOVE);
    checked(p == MAP_FAILED);
    p[55 * PAGE] = 2;
    checked(mremap(p, 60 * PAGE, 20 * PAGE, 0) != p);
    q = some(30, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    checked(mremap(p, 20 * PAGE, 20 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
                   q + 5 * PAGE) != q + 5 * PAGE);
    q = some(4, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    memset(q, 0x66, 4 * PAGE);
    checked(madvise(q + PAGE, 2 * PAGE, MADV_DONTNEED));
    mix(q[0] + q[PAGE] + q[3 * PAGE]);
    /* calls that fail change nothing */
    checked(mmap(p, 0, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    checked(munmap(q + 1, PAGE) != -1);
    checked(mprotect(q + 7, PAGE, PROT_NONE) != -1);
}

static void files(const char *folder)
{
    char name[512];
    uint8_t page[PAGE];
    uint8_t *p;
    int fd;

    snprintf(name, sizeof(name), "%s/mapped", folder);
    fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    memset(page, 'm', sizeof(page));
    for (int i = 0; i < 6; i++) {
        checked(write(fd, page, sizeof(page)) != PAGE);
    }
    p = some(6, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
    p[PAGE] = 1;
    p[5 * PAGE] = 2;
    checked(madvise(p + 5 * PAGE, PAGE, MADV_DONTNEED));
    mix(p[5 * PAGE]);
    checked(munmap(p + PAGE, PAGE));
    checked(mprotect(p + 3 * PAGE, PAGE, PROT_READ));
    p = mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, fd, 2 * PAGE);
    checked(p == MAP_FAILED);
    p = some(6, PROT_READ, MAP_PRIVATE, fd);
    checked(mmap(p + 2 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 5 * PAGE) !=
            p + 2 * PAGE);
    close(fd);
}

static void heap(void)
{
    char *now = sbrk(0);

    if (brk(now + 10 * PAGE + 100)) { /* another mapping may follow it */
        return;
    }
    now[9 * PAGE] = 1;
    checked(brk(now + 5 * PAGE - 7));
    checked(brk(now + 7 * PAGE + 1));
    checked(mprotect((void *)(((unsigned long)now + 2 * PAGE) & ~(PAGE - 1)), PAGE,
                     PROT_READ));
}

static void shared_segment(void)
{
    int id = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600);
    uint8_t *p, *q;

    if (id < 0) {
        return;
    }
    p = shmat(id, NULL, 0);
    q = shmat(id, NULL, SHM_RDONLY);
    checked(p == (void *)-1 || q == (void *)-1);
    p[0] = 5;
    mix(q[0]);
    checked(shmdt(p));
    shmctl(id, IPC_RMID, NULL);
}

#ifdef DYNAMIC
static void libraries(const char *path)
{
    int (*f)(int);
    void *h;

    for (int i = 0; i < 3; i++) {
        h = dlopen(path, RTLD_NOW);
        if (!h) {
            printf("%s\n", dlerror());
            exit(1);
        }
        f = (int (*)(int))dlsym(h, "library_function");
        mix((uint64_t)f(i));
        if (i < 2) {
            dlclose(h);
        }
    }
    printf("sym %s library_function 0x%lx\n", path, CODE_OF(f));
    printf("sym libc.so.6 getppid 0x%lx\n", CODE_OF(dlsym(RTLD_DEFAULT, "getppid")));
    mix(((int (*)(void))dlsym(RTLD_DEFAULT, "getppid"))() > 0);
}
#endif

int main(int argc, char **argv)
{
    static char text[65536];
    ssize_t n;
    int fd;

    checked(argc < 2);
    anonymous();
    files(argv[1]);
    heap();
    shared_segment();
#ifdef DYNAMIC
    libraries(argv[2]);
#endif
    visited(1);
    printf("sym self visited 0x%lx\n", CODE_OF(visited));
    fflush(stdout);
    fd = open("/proc/self/maps", O_RDONLY);
    while ((n = read(fd, text, sizeof(text))) > 0) {
        checked(write(1, text, (size_t)n) != n);
    }
    _exit(0);
}
