/* SPDX-License-Identifier: MIT */
/* Decisions of every kind, one statement a line. */
#include <stdio.h>
#include <stdlib.h>

static int is_even(int n)
{
    return n % 2 == 0;
}

static int sign(int n)
{
    if (n < 0) {
        return -1;
    }
    if (n > 0) {
        return 1;
    }
    return 0;
}

static int either(int a, int b)
{
    if (a > 3 || b > 3) {
        return 1;
    }
    return 0;
}

static int both(int a, int b)
{
    if (a > 3 && b > 3) {
        return 1;
    } else {
        return 0;
    }
}

static int mixed(int a, int b, int c)
{
    int r = 0;
    if ((a && b) || (c && !a)) {
        r = 1;
    }
    return r;
}

static int ternary(int a)
{
    int r = a > 5 ? a - 5 : 5 - a;
    return r;
}

static int ternary_calls(int a)
{
    return a > 2 ? is_even(a) : sign(a);
}

static int dense(int n)
{
    int r = 0;
    switch (n) {
    case 0:
        r = 10;
        break;
    case 1:
        r = 11;
        break;
    case 2:
        r = 12;
        /* fall through */
    case 3:
        r += 13;
        break;
    case 4:
        r = 14;
        break;
    case 5:
        return 99;
    case 6:
        r = 16;
        break;
    default:
        r = -1;
        break;
    }
    return r;
}

static int sparse(int n)
{
    switch (n) {
    case 100:
        return 1;
    case 2000:
        return 2;
    case 30000:
        return 3;
    }
    return 0;
}

static int chain(int n)
{
    if (n == 1) {
        return 5;
    } else if (n == 2) {
        return 6;
    } else if (n == 3) {
        return 7;
    } else {
        return 8;
    }
}

static int factorial(int n)
{
    if (n <= 1) {
        return 1;
    }
    return n * factorial(n - 1);
}

static int fibonacci(int n)
{
    if (n < 2) {
        return n;
    }
    return fibonacci(n - 1) + fibonacci(n - 2);
}

static int odd_by_turns(int n);

static int even_by_turns(int n)
{
    if (n == 0) {
        return 1;
    }
    return odd_by_turns(n - 1);
}

static int odd_by_turns(int n)
{
    if (n == 0) {
        return 0;
    }
    return even_by_turns(n - 1);
}

static void nothing(void)
{
}

static void returns_early(int n)
{
    if (n == 2) {
        return;
    }
    nothing();
    if (n == 3) {
        return;
    }
    nothing();
}

static int apply(int (*f)(int), int n)
{
    return f(n);
}

static unsigned long long wide(unsigned long long a, unsigned long long b)
{
    if (a > b) {
        return a / b;
    }
    return b % (a + 1);
}

static double real(double x)
{
    if (x > 1.5) {
        return x / 2;
    }
    return x * 2;
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a;
    int y = *(const int *)b;
    if (x < y) {
        return -1;
    }
    if (x > y) {
        return 1;
    }
    return 0;
}

int main(void)
{
    int v[8] = {5, 3, 8, 1, 9, 2, 2, 7};
    int total = 0;
    for (int i = -3; i < 8; i++) {
        total += sign(i);
        total += either(i, 5 - i);
        total += both(i, i - 2);
        total += mixed(i & 1, i & 2, i & 4);
        total += ternary(i);
        total += ternary_calls(i);
        total += dense(i);
        total += chain(i);
        returns_early(i);
    }
    total += sparse(100);
    total += sparse(30000);
    total += sparse(5);
    total += factorial(6);
    total += fibonacci(9);
    total += even_by_turns(7);
    total += apply(is_even, 4);
    total += apply(sign, 4);
    total += (int)wide(1ull << 40, 1ull << 35);
    total += (int)wide(3, 1ull << 35);
    total += (int)real(1.0);
    total += (int)real(3.0);
    qsort(v, 8, sizeof(v[0]), compare);
    total += v[0];
    printf("%d\n", total);
    return 0;
}
