/* SPDX-License-Identifier: MIT */
/* A C program for the tests of symbols on every machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stack {
    long v[64];
    unsigned n;
};

static inline void push(struct stack *s, long x)
{
    if (s->n < 64) {
        s->v[s->n++] = x;
    }
}

static inline long pop(struct stack *s)
{
    return s->n ? s->v[--s->n] : 0;
}

#ifdef __arm__
#define OTHER __attribute__((noinline, target(OTHER_MODE)))
#else
#define OTHER __attribute__((noinline))
#endif

OTHER long apply(char op, long a, long b)
{
    switch (op) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        return b ? a / b : 0;
    case '%':
        return b ? a % b : 0;
    case '&':
        return a & b;
    case '|':
        return a | b;
    default:
        return 0x12345678;
    }
}

__attribute__((weak, alias("apply"))) long __apply_weak(char op, long a, long b);

static long run(struct stack *s, const char *text)
{
    for (; *text; text++) {
        if (*text >= '0' && *text <= '9') {
            push(s, strtol(text, (char **)&text, 10));
            text--;
        } else if (*text != ' ') {
            long b = pop(s);
            push(s, apply(*text, pop(s), b));
        }
    }
    return pop(s);
}

int main(int argc, char **argv)
{
    struct stack s = {{0}, 0};
    printf("%ld\n", run(&s, argc > 1 ? argv[1] : "1 2 + 3 *"));
    return 0;
}
