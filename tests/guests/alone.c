/* SPDX-License-Identifier: MIT */
/*
 * A program with libraries of its own: libnear.so, which the loader maps, and libfar.so, which
 * it opens and closes itself.  Calls go through all three, so that a backtrace needs each file.
 * tests/oracle/alone.py debugs it where none of these files is.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef int value_function(int number);

int near_value(int number);

struct alone_sum {
    int rounds;
    int total;
    const char *last;
};

struct alone_sum sum = {0, 0, "none"};

static __attribute__((noinline)) int add(value_function *value, int number,
                                         const char *name)
{
    sum.rounds++;
    sum.last = name;
    sum.total += value(number);
    return sum.total;
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        add(near_value, i, "near");
    }
    void *handle = dlopen("/lib/libfar.so", RTLD_NOW);
    int (*far_value)(value_function *, int) =
        handle ? (int (*)(value_function *, int))dlsym(handle, "far_value") : NULL;
    if (!far_value) {
        puts(dlerror());
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        sum.total += far_value(near_value, i);
    }
    if (puts("closing") < 0 || dlclose(handle)) {
        return 1;
    }
    printf("%d %s\n", add(near_value, 5, "end"), sum.last);
    return 0;
}
