/* SPDX-License-Identifier: MIT */
/*
 * A program for the tests of tracecov that places files at the same addresses one after
 * the other:
 *   covguest load A B    opens library A, calls it 100 times, closes it; B 30 times; A 7 times
 *   covguest exec B      calls same() 5 times; a child runs B
 * With -DLIBRARY it is such a library, with -DSECOND such a program.  The two libraries and
 * the two programs have functions in common, with the same bytes at the same place, so that
 * only the time shows to which file they belong.
 */
#ifdef LIBRARY
int common(int x)
{
    int sum = 0;

    for (int i = 0; i < x; i++) {
        sum = sum * 3 + i;
    }
    return sum;
}
int own(int x)
{
    return x * LIBRARY + 1;
}
#else
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int sink;

__attribute__((noinline)) void same(int n)
{
    for (int i = 0; i < n; i++) {
        sink = sink * 3 + i;
    }
}

#ifdef SECOND
int main(void)
{
    for (int i = 0; i < 3; i++) {
        same(2);
    }
    return 0;
}
#else
#ifdef LOAD
#include <dlfcn.h>

static void use(const char *path, int times)
{
    void *lib = dlopen(path, RTLD_NOW);
    int (*common)(int), (*own)(int);

    if (!lib) {
        puts(dlerror());
        exit(1);
    }
    common = (int (*)(int))dlsym(lib, "common");
    own = (int (*)(int))dlsym(lib, "own");
    for (int i = 0; i < times; i++) {
        sink += common(10) + own(i);
    }
    printf("%p\n", (void *)common);
    dlclose(lib);
}
#endif

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 2;
    }
#ifdef LOAD
    if (!strcmp(argv[1], "load")) {
        use(argv[2], 100);
        use(argv[3], 30);
        use(argv[2], 7);
        return 0;
    }
#endif
    for (int i = 0; i < 5; i++) {
        same(4);
    }
    if (fork() == 0) {
        execl(argv[2], argv[2], (char *)0);
        _exit(1);
    }
    wait(NULL);
    return 0;
}
#endif
#endif
