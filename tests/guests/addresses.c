/* SPDX-License-Identifier: MIT */
/*
 * What the guest can see of its surroundings: addresses of stack, heap and
 * mappings, environment, auxiliary vector, open descriptors, limits.  Recorded
 * and unrecorded runs must print the same.
 */
#include "guest.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

int main(int argc, char **argv)
{
    static const unsigned long entries[] = {3,  4,  5,  6,  7,  8,  9,  11, 12, 13,
                                            14, 15, 16, 17, 23, 25, 26, 31, 33};
    struct rlimit r;
    struct stat st;

    printf("stack %p heap %p\n", (void *)&argc, malloc(100));
    printf("mmap %p\n",
           mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    printf("mmap %p\n", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (int i = 0; i < argc; i++) {
        printf("arg %p %s\n", argv[i], argv[i]);
    }
    for (char **e = environ; *e; e++) {
        printf("env %p %s\n", *e, *e);
    }
    for (unsigned i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        printf("aux %lu 0x%lx\n", entries[i], getauxval(entries[i]));
    }
    for (int fd = 0; fd < 1024; fd++) {
        if (fstat(fd, &st) == 0) {
            printf("fd %d mode %o flags %x\n", fd, st.st_mode, fcntl(fd, F_GETFL));
        }
    }
    printf("next fd %d\n", open("/dev/null", O_RDONLY));
    for (int i = 0; i < 10; i++) {
        if (getrlimit(i, &r) == 0) {
            printf("limit %d %llu %llu\n", i, (unsigned long long)r.rlim_cur,
                   (unsigned long long)r.rlim_max);
        }
    }
    for (int s = 1; s < 32; s++) {
        struct sigaction sa;

        if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL) {
            printf("signal %d %p\n", s, (void *)sa.sa_handler);
        }
    }
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    for (int s = 1; s < 32; s++) {
        if (sigismember(&set, s)) {
            printf("blocked %d\n", s);
        }
    }
    printf("nice %d dumpable\n", getpriority(PRIO_PROCESS, 0));
    return 17;
}
