/* SPDX-License-Identifier: MIT */
/* Calls, recursion, jump tables, function pointers, setjmp and longjmp. */
#include "guest.h"

#include <setjmp.h>
#include <stdarg.h>

static NOINLINE unsigned fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static NOINLINE unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static NOINLINE unsigned dispatch(unsigned op, unsigned a)
{
    switch (op) {
    case 0:
        return a + 1;
    case 1:
        return a * 3;
    case 2:
        return a ^ 0x5555;
    case 3:
        return a << 3 | a >> 29;
    case 4:
        return ~a;
    case 5:
        return a / 7;
    case 6:
        return a % 1000;
    case 7:
        return (uint32_t)__builtin_popcount(a);
    case 9:
        return a - 17;
    case 11:
        return a & 0xf0f0f0f;
    default:
        return a | 0x11;
    }
}

static NOINLINE unsigned op_add(unsigned a, unsigned b)
{
    return a + b;
}

static NOINLINE unsigned op_sub(unsigned a, unsigned b)
{
    return a - b;
}

static NOINLINE unsigned op_mul(unsigned a, unsigned b)
{
    return a * b;
}

static unsigned (*const ops[])(unsigned, unsigned) = {op_add, op_sub, op_mul};

static NOINLINE long sum_of(int n, ...)
{
    va_list ap;
    long sum = 0;

    va_start(ap, n);
    while (n-- > 0) {
        sum += va_arg(ap, int) + (long)va_arg(ap, double);
    }
    va_end(ap);
    return sum;
}

static jmp_buf back;

static NOINLINE void dive(int depth)
{
    volatile char pad[64];

    pad[depth & 63] = (char)depth;
    if (depth == 0) {
        longjmp(back, pad[0] + 5);
    }
    dive(depth - 1);
    pad[1] = 0;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

int main(void)
{
    static uint32_t v[200];

    mix(fib(13));
    mix(ackermann(2, 9));
    for (unsigned i = 0; i < 300; i++) {
        mix(dispatch(rnd() % 13, i));
        mix(ops[rnd() % 3](i, 77));
    }
    mix((uint64_t)sum_of(5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5));
    for (volatile int i = 0; i < 5; i++) {
        int r = setjmp(back);

        if (r == 0) {
            dive(i * 7);
        }
        mix((uint64_t)r);
    }
    for (unsigned i = 0; i < 200; i++) {
        v[i] = rnd();
    }
    qsort(v, 200, sizeof(v[0]), by_value);
    for (unsigned i = 0; i < 200; i++) {
        mix(v[i]);
    }
    return finish("calls");
}
