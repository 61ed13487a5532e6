/* SPDX-License-Identifier: MIT */
/*
 * Calls of functions with arguments of many types.  Each function t_... prints what it
 * was given and what it returns, as tracesym --trace-calls must show them:
 *
 *     > FUNCTION TAB ARGUMENTS         when it begins
 *     < FUNCTION TAB RESULT            when it returns
 *
 * A '*' stands for any text.  Numbers have at most six digits, so that printf's %g is the
 * shortest text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arguments are passed by the rules, whatever the compiler knows of the function. */
#ifdef __clang__
#define TEST __attribute__((noinline, optnone))
#else
#define TEST __attribute__((noipa))
#endif

#define BEGIN(...) (printf("> %s\t", __func__), printf(__VA_ARGS__), putchar('\n'))
#define END(...) (printf("< %s\t", __func__), printf(__VA_ARGS__), putchar('\n'))

/* The text of a pointer; of static memory because tests use one at a time or two. */
static const char *address(const void *p)
{
    static char text[4][32];
    static unsigned at;
    char *out = text[at++ % 4];

    if (!p) {
        return "NULL";
    }
    snprintf(out, sizeof(text[0]), "0x%llx", (unsigned long long)(uintptr_t)p);
    return out;
}

/* The text of a byte, whose type in debug information is a character's. */
static const char *byte(int value)
{
    static char text[4][8];
    static unsigned at;
    char *out = text[at++ % 4];

    value &= 0xff;
    snprintf(out, sizeof(text[0]),
             value == '\n'                  ? "'\\n'"
             : value >= ' ' && value <= '~' ? "'%c'"
                                            : "'\\%03o'",
             (unsigned)value);
    return out;
}

/* ------------------------------------------------------------------- integers */

TEST int8_t t_i8(int8_t a, uint8_t b)
{
    BEGIN("a=%s, b=%s", byte(a), byte(b));
    a = (int8_t)(a - 1);
    END("%s", byte(a));
    return a;
}

TEST uint8_t t_u8(uint8_t a)
{
    BEGIN("a=%s", byte(a));
    END("%s", byte(a));
    return a;
}

TEST int16_t t_i16(int16_t a, uint16_t b)
{
    BEGIN("a=%d, b=%d", a, b);
    END("%d", a);
    return a;
}

TEST uint16_t t_u16(uint16_t a)
{
    BEGIN("a=%u", a);
    END("%u", a);
    return a;
}

TEST int32_t t_i32(int32_t a, uint32_t b)
{
    BEGIN("a=%ld, b=%lu", (long)a, (unsigned long)b);
    END("%ld", (long)a);
    return a;
}

TEST uint32_t t_u32(uint32_t a)
{
    BEGIN("a=%lu", (unsigned long)a);
    END("%lu", (unsigned long)a);
    return a;
}

TEST int64_t t_i64(int64_t a, uint64_t b)
{
    BEGIN("a=%lld, b=%llu", (long long)a, (unsigned long long)b);
    END("%lld", (long long)a);
    return a;
}

TEST uint64_t t_u64(uint64_t a)
{
    BEGIN("a=%llu", (unsigned long long)a);
    END("%llu", (unsigned long long)a);
    return a;
}

TEST long t_long(long a, unsigned long b)
{
    BEGIN("a=%ld, b=%lu", a, b);
    END("%ld", a);
    return a;
}

/* 64 bits after one of 32 bits, in registers and in memory */
TEST int64_t t_pair1(int a, int64_t b, int c)
{
    BEGIN("a=%d, b=%lld, c=%d", a, (long long)b, c);
    END("%lld", (long long)b);
    return b;
}

TEST int t_pair2(int a, int b, int c, int64_t d, int e, int64_t f, int g)
{
    BEGIN("a=%d, b=%d, c=%d, d=%lld, e=%d, f=%lld, g=%d", a, b, c, (long long)d, e,
          (long long)f, g);
    END("%d", a);
    return a;
}

TEST int t_pair3(int a, int b, int c, int d, int e, int f, int g, int64_t h, int i,
                 int64_t j)
{
    BEGIN("a=%d, b=%d, c=%d, d=%d, e=%d, f=%d, g=%d, h=%lld, i=%d, j=%lld", a, b, c, d, e,
          f, g, (long long)h, i, (long long)j);
    END("%d", g);
    return g;
}

TEST int t_many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j,
                short k, signed char l, unsigned char m, long n)
{
    BEGIN("a=%d, b=%d, c=%d, d=%d, e=%d, f=%d, g=%d, h=%d, i=%d, j=%d, k=%d, l=%s, "
          "m=%s, n=%ld",
          a, b, c, d, e, f, g, h, i, j, k, byte(l), byte(m), n);
    END("%d", j);
    return j;
}

#ifdef __SIZEOF_INT128__
TEST __int128 t_i128(int a, __int128 b, int c)
{
    BEGIN("a=%d, b=0x%016llx%016llx, c=%d", a, (unsigned long long)(b >> 64),
          (unsigned long long)b, c);
    END("0x%016llx%016llx", (unsigned long long)(b >> 64), (unsigned long long)b);
    return b;
}

TEST int t_i128s(int a, int b, int c, int d, int e, int f, int g, __int128 h, int i,
                 __int128 j)
{
    BEGIN("a=%d, b=%d, c=%d, d=%d, e=%d, f=%d, g=%d, h=0x%016llx%016llx, i=%d, "
          "j=0x%016llx%016llx",
          a, b, c, d, e, f, g, (unsigned long long)(h >> 64), (unsigned long long)h, i,
          (unsigned long long)(j >> 64), (unsigned long long)j);
    END("%d", i);
    return i;
}
#endif

/* ---------------------------------------------------- floats, alone and mixed */

TEST float t_float(float a)
{
    BEGIN("a=%g", (double)a);
    END("%g", (double)a);
    return a;
}

TEST double t_double(double a, double b)
{
    BEGIN("a=%g, b=%g", a, b);
    END("%g", b);
    return b;
}

TEST float t_floats(float a, double b, float c, float d, double e)
{
    BEGIN("a=%g, b=%g, c=%g, d=%g, e=%g", (double)a, b, (double)c, (double)d, e);
    END("%g", (double)d);
    return d;
}

TEST double t_mixed1(int a, double b, int c, float d, int64_t e, double f)
{
    BEGIN("a=%d, b=%g, c=%d, d=%g, e=%lld, f=%g", a, b, c, (double)d, (long long)e, f);
    END("%g", b);
    return b;
}

TEST int t_mixed2(float a, int b, double c, int d, float e, int f, double g, int h)
{
    BEGIN("a=%g, b=%d, c=%g, d=%d, e=%g, f=%d, g=%g, h=%d", (double)a, b, c, d, (double)e,
          f, g, h);
    END("%d", d);
    return d;
}

TEST int t_mixed3(double a, int b)
{
    BEGIN("a=%g, b=%d", a, b);
    END("%d", b);
    return b;
}

TEST int t_mixed4(float a, float b, int c, int d, float e)
{
    BEGIN("a=%g, b=%g, c=%d, d=%d, e=%g", (double)a, (double)b, c, d, (double)e);
    END("%d", d);
    return d;
}

TEST int t_mixed5(float a, double b, int c)
{
    BEGIN("a=%g, b=%g, c=%d", (double)a, b, c);
    END("%d", c);
    return c;
}

TEST double t_doubles(double a, double b, double c, double d, double e, double f,
                      double g, double h, double i, double j, int k, float l)
{
    BEGIN("a=%g, b=%g, c=%g, d=%g, e=%g, f=%g, g=%g, h=%g, i=%g, j=%g, k=%d, l=%g", a, b,
          c, d, e, f, g, h, i, j, k, (double)l);
    END("%g", j);
    return j;
}

TEST float t_singles(float a, float b, float c, float d, float e, float f, float g,
                     float h, float i, float j, float k, float l, float m, float n,
                     float o, float p, float q, double r, float s, int t)
{
    BEGIN("a=%g, b=%g, c=%g, d=%g, e=%g, f=%g, g=%g, h=%g, i=%g, j=%g, k=%g, l=%g, m=%g, "
          "n=%g, o=%g, p=%g, q=%g, r=%g, s=%g, t=%d",
          (double)a, (double)b, (double)c, (double)d, (double)e, (double)f, (double)g,
          (double)h, (double)i, (double)j, (double)k, (double)l, (double)m, (double)n,
          (double)o, (double)p, (double)q, r, (double)s, t);
    END("%g", (double)q);
    return q;
}

/* Integers use up their registers, floats do not */
TEST int t_crowd(int a, int b, int c, int d, int e, int f, int g, int h, int i, double j,
                 int k, float l)
{
    BEGIN("a=%d, b=%d, c=%d, d=%d, e=%d, f=%d, g=%d, h=%d, i=%d, j=%g, k=%d, l=%g", a, b,
          c, d, e, f, g, h, i, j, k, (double)l);
    END("%d", i);
    return i;
}

TEST int t_longdouble(int a, long double b, int c)
{
#if defined(__x86_64__) || defined(__i386__)
    BEGIN("a=%d, b=%.19Lg, c=%d", a, b, c);
#else
    BEGIN("a=%d, b=*, c=%d", a, c);
#endif
    END("%d", b > 1 ? c : a);
    return b > 1 ? c : a;
}

/* ---------------------------------------------------- pointers, text, enums */

TEST void *t_pointer(void *a, const int *b, void *c)
{
    BEGIN("a=%s, b=%s, c=%s", address(a), address(b), address(c));
    END("%s", address(a));
    return a;
}

TEST const char *t_text(const char *constant, char *heap, char *stack, const char *none)
{
    BEGIN("constant=\"%s\", heap=\"%s\", stack=\"%s\", none=NULL", constant, heap, stack);
    (void)none;
    END("\"%s\"", stack);
    return stack;
}

/* The result is what the memory holds at the end. */
TEST char *t_upper(char *text)
{
    BEGIN("text=\"%s\"", text);
    for (char *p = text; *p; p++) {
        *p = (char)(*p - ('a' - 'A'));
    }
    END("\"%s\"", text);
    return text;
}

enum colour { RED, GREEN = 7, BLUE = -1 };
enum flags { NONE = 0, FAST = 1, SAFE = 2, LOUD = 0x10 };

TEST enum colour t_enum(enum colour a, enum colour b)
{
    BEGIN("a=%s, b=%s", a == GREEN ? "GREEN" : "?", b == BLUE ? "BLUE" : "?");
    END("%s", b == BLUE ? "BLUE" : "?");
    return b;
}

TEST enum flags t_flags(enum flags a, enum flags b, enum flags c)
{
    BEGIN("a=%s, b=%s, c=FAST|LOUD", a ? "?" : "NONE", b == SAFE ? "SAFE" : "?");
    END("FAST|LOUD");
    return c;
}

TEST bool t_bool(bool a, bool b)
{
    BEGIN("a=%s, b=%s", a ? "true" : "false", b ? "true" : "false");
    END("%s", a ? "true" : "false");
    return a;
}

TEST char t_char(char a, char b, char c)
{
    BEGIN("a=%s, b=%s, c=%s", byte(a), byte(b), byte(c));
    END("%s", byte(a));
    return a;
}

/* A pointer to a descriptor has no name. */
#if defined(_CALL_ELF) && _CALL_ELF == 1
#define CALLED ""
#else
#define CALLED " <t_called>"
#endif

TEST int (*t_function(int (*f)(int), int a))(int)
{
    BEGIN("f=%s%s, a=%d", address((void *)(uintptr_t)f), CALLED, a);
    END("%s%s", address((void *)(uintptr_t)f), CALLED);
    return f;
}

/* ------------------------------------------------------------------ structures */

struct s1 {
    signed char a;
};
struct s2 {
    short a;
};
struct s3 {
    uint8_t a, b, c;
};
struct s8 {
    int a, b;
};
struct s12 {
    int a, b, c;
};
struct s16 {
    int64_t a;
    int b, c;
};
struct ff {
    float a, b;
};
struct f3 {
    float a, b, c;
};
struct dd {
    double a, b;
};
struct di {
    double a;
    int b;
};
struct id {
    int a;
    double b;
};
struct f1 {
    float a;
};
struct d1 {
    double a;
};
struct ll {
    int64_t a;
};
struct big {
    int a[10];
    double b;
};

TEST struct s1 t_s1(struct s1 s, int n)
{
    BEGIN("s={a = %s}, n=%d", byte(s.a), n);
    END("{a = %s}", byte(s.a));
    return s;
}

TEST struct s2 t_s2(struct s2 s, int n)
{
    BEGIN("s={a = %d}, n=%d", s.a, n);
    END("{a = %d}", s.a);
    return s;
}

TEST struct s3 t_s3(struct s3 s, int n)
{
    BEGIN("s={a = %s, b = %s, c = %s}, n=%d", byte(s.a), byte(s.b), byte(s.c), n);
    END("{a = %s, b = %s, c = %s}", byte(s.a), byte(s.b), byte(s.c));
    return s;
}

TEST struct s8 t_s8(struct s8 s, int n)
{
    BEGIN("s={a = %d, b = %d}, n=%d", s.a, s.b, n);
    END("{a = %d, b = %d}", s.a, s.b);
    return s;
}

TEST struct s12 t_s12(int n, struct s12 s, int m)
{
    BEGIN("n=%d, s={a = %d, b = %d, c = %d}, m=%d", n, s.a, s.b, s.c, m);
    END("{a = %d, b = %d, c = %d}", s.a, s.b, s.c);
    return s;
}

TEST struct s16 t_s16(int n, struct s16 s, int m)
{
    BEGIN("n=%d, s={a = %lld, b = %d, c = %d}, m=%d", n, (long long)s.a, s.b, s.c, m);
    END("{a = %lld, b = %d, c = %d}", (long long)s.a, s.b, s.c);
    return s;
}

TEST struct ff t_ff(struct ff s, int n)
{
    BEGIN("s={a = %g, b = %g}, n=%d", (double)s.a, (double)s.b, n);
    END("{a = %g, b = %g}", (double)s.a, (double)s.b);
    return s;
}

TEST struct f3 t_f3(int n, struct f3 s, float m)
{
    BEGIN("n=%d, s={a = %g, b = %g, c = %g}, m=%g", n, (double)s.a, (double)s.b,
          (double)s.c, (double)m);
    END("{a = %g, b = %g, c = %g}", (double)s.a, (double)s.b, (double)s.c);
    return s;
}

TEST struct dd t_dd(struct dd s, double n)
{
    BEGIN("s={a = %g, b = %g}, n=%g", s.a, s.b, n);
    END("{a = %g, b = %g}", s.a, s.b);
    return s;
}

TEST struct di t_di(int n, struct di s, int m)
{
    BEGIN("n=%d, s={a = %g, b = %d}, m=%d", n, s.a, s.b, m);
    END("{a = %g, b = %d}", s.a, s.b);
    return s;
}

TEST struct id t_id(int n, struct id s, double m)
{
    BEGIN("n=%d, s={a = %d, b = %g}, m=%g", n, s.a, s.b, m);
    END("{a = %d, b = %g}", s.a, s.b);
    return s;
}

union mixed {
    int i;
    float f;
};

TEST union mixed t_union(int n, union mixed u, float m)
{
    BEGIN("n=%d, u={i = %d, f = %.9g}, m=%.9g", n, u.i, u.f, m);
    END("{i = %d, f = %.9g}", u.i, u.f);
    return u;
}

/* One in a structure: the double beside it may have a register of its own */
struct inside {
    union {
        double d;
        int64_t l;
    } u;
    double e;
};

TEST struct inside t_inside(int n, struct inside s, int m, float f)
{
    BEGIN("n=%d, s={u = {d = %g, l = %lld}, e = %g}, m=%d, f=%g", n, s.u.d,
          (long long)s.u.l, s.e, m, (double)f);
    END("{u = {d = %g, l = %lld}, e = %g}", s.u.d, (long long)s.u.l, s.e);
    return s;
}

TEST struct f1 t_f1(int n, struct f1 s, int m)
{
    BEGIN("n=%d, s={a = %g}, m=%d", n, (double)s.a, m);
    END("{a = %g}", (double)s.a);
    return s;
}

TEST struct d1 t_d1(int n, struct d1 s, int m)
{
    BEGIN("n=%d, s={a = %g}, m=%d", n, s.a, m);
    END("{a = %g}", s.a);
    return s;
}

TEST struct ll t_ll(int n, struct ll s, int m)
{
    BEGIN("n=%d, s={a = %lld}, m=%d", n, (long long)s.a, m);
    END("{a = %lld}", (long long)s.a);
    return s;
}

TEST struct big t_big(int n, struct big s, int m)
{
    BEGIN("n=%d, s={a = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d}, b = %g}, m=%d", n,
          s.a[0], s.a[1], s.a[2], s.a[3], s.a[4], s.a[5], s.a[6], s.a[7], s.a[8], s.a[9],
          s.b, m);
    END("{a = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d}, b = %g}", s.a[0], s.a[1], s.a[2],
        s.a[3], s.a[4], s.a[5], s.a[6], s.a[7], s.a[8], s.a[9], s.b);
    return s;
}

/* Structures when registers run out */
TEST int t_structs(int a, int b, int c, struct s8 d, struct s16 e, struct s12 f,
                   struct di g, struct ff h, struct s3 i, int j)
{
    BEGIN("a=%d, b=%d, c=%d, d={a = %d, b = %d}, e={a = %lld, b = %d, c = %d}, "
          "f={a = %d, b = %d, c = %d}, g={a = %g, b = %d}, h={a = %g, b = %g}, "
          "i={a = %s, b = %s, c = %s}, j=%d",
          a, b, c, d.a, d.b, (long long)e.a, e.b, e.c, f.a, f.b, f.c, g.a, g.b,
          (double)h.a, (double)h.b, byte(i.a), byte(i.b), byte(i.c), j);
    END("%d", j);
    return j;
}

TEST int t_dds(struct dd a, struct dd b, struct dd c, struct dd d, struct dd e, double f,
               int g)
{
    BEGIN(
        "a={a = %g, b = %g}, b={a = %g, b = %g}, c={a = %g, b = %g}, d={a = %g, b = %g}, "
        "e={a = %g, b = %g}, f=%g, g=%d",
        a.a, a.b, b.a, b.b, c.a, c.b, d.a, d.b, e.a, e.b, f, g);
    END("%d", g);
    return g;
}

/* ----------------------------------------------------------------------- control */

TEST void t_void(void)
{
    BEGIN("%s", "");
    END("%s", "");
}

TEST int t_variadic(int n, double d, ...)
{
    va_list ap;
    int sum = 0;

    BEGIN("n=%d, d=%g, ...", n, d);
    va_start(ap, d);
    for (int i = 0; i < n; i++) {
        sum += va_arg(ap, int);
    }
    va_end(ap);
    END("%d", sum);
    return sum;
}

TEST unsigned t_factorial(unsigned n)
{
    unsigned r = 1;

    BEGIN("n=%u", n);
    if (n > 1) {
        r = n * t_factorial(n - 1);
    }
    END("%u", r);
    return r;
}

TEST int t_called(int n)
{
    BEGIN("n=%d", n);
    END("%d", n * 3);
    return n * 3;
}

/* With -O2 it jumps; it prints the result of what it jumps to. */
TEST int t_tail(int a, int b)
{
    BEGIN("a=%d, b=%d", a, b);
    END("%d", (a + b) * 3);
    return t_called(a + b);
}

static jmp_buf back;

TEST int t_jump(int n)
{
    BEGIN("n=%d", n);
    longjmp(back, n);
}

TEST int t_over(int n)
{
    BEGIN("n=%d", n);
    return t_jump(n + 1) + 1;
}

TEST int t_exit(int status)
{
    BEGIN("status=%d", status);
    fflush(stdout);
    exit(status);
}

/* -------------------------------------------------------------------------- main */

static void integers(void)
{
    t_i8(-5, 200);
    t_u8(255);
    t_i16(-30000, 60000);
    t_u16(65535);
    t_i32(-2000000000, 4000000000u);
    t_u32(0xfffffffeu);
    t_i64(INT64_MIN, UINT64_MAX - 1);
    t_u64(UINT64_C(0x8000000000000001));
    t_long(-7, ~0ul);
    t_pair1(-1, INT64_C(-0x123456789a), 3);
    t_pair2(1, 2, -3, INT64_C(0x400000001), -5, INT64_C(-0x600000001), 7);
    t_pair3(1, 2, 3, 4, 5, 6, 7, INT64_C(0x800000008), -9, INT64_C(-0xa0000000a));
    t_many(1, -2, 3, -4, 5, -6, 7, -8, 9, -10, -11, -12, 'm', -14);
#ifdef __SIZEOF_INT128__
    t_i128(1, ((__int128)0x1122334455667788 << 64) + 0x99aabbccddeeff, 3);
    t_i128s(1, 2, 3, 4, 5, 6, 7, (__int128)-8 * ((__int128)1 << 64) + 80, 9,
            ((__int128)10 << 64) + 100);
#endif
}

static void floats(void)
{
    t_float(1.5f);
    t_float(-0.1f);
    t_double(-2.25, 0.1);
    t_floats(1.5f, 2.5, 3.5f, 4.5f, 5.5);
    t_mixed1(1, 2.5, 3, 4.5f, INT64_C(-0x500000005), 6.5);
    t_mixed2(1.5f, 2, 3.5, 4, 5.5f, 6, 7.5, 8);
    t_mixed3(1.25, 2);
    t_mixed4(1.25f, 2.25f, 3, 4, 5.25f);
    t_mixed5(1.25f, 2.25, 3);
    t_doubles(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11, 12.5f);
    t_singles(1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f, 9.5f, 10.5f, 11.5f, 12.5f,
              13.5f, 14.5f, 15.5f, 16.5f, 17.5f, 18.5, 19.5f, 20);
    t_crowd(1, 2, 3, 4, 5, 6, 7, 8, 9, 10.5, 11, 12.5f);
    t_longdouble(1, 2.5L, 3);
}

static void others(void)
{
    char *heap = strdup("from the heap"), stack[] = "on the stack";
    int local = 0;

    t_pointer(&local, NULL, heap);
    t_text("constant", heap, stack, NULL);
    t_upper(strcpy(stack, "shout"));
    t_enum(GREEN, BLUE);
    t_flags(NONE, SAFE, (enum flags)(FAST | LOUD));
    t_bool(true, false);
    t_char('x', '\n', (char)-2);
    t_function(t_called, 5)(6);
    free(heap);
}

static void structures(void)
{
    t_s1((struct s1){-3}, 9);
    t_s2((struct s2){-300}, 9);
    t_s3((struct s3){1, 2, 253}, 9);
    t_s8((struct s8){-8, 88}, 9);
    t_s12(1, (struct s12){12, -13, 14}, 9);
    t_s16(1, (struct s16){INT64_C(-0x1600000016), 17, -18}, 9);
    t_ff((struct ff){1.5f, -2.5f}, 9);
    t_union(1, (union mixed){.f = 1.5f}, 2.5f);
    t_inside(1, (struct inside){{.d = 1.5}, -2.5}, 9, 3.5f);
    t_f3(1, (struct f3){1.5f, -2.5f, 3.5f}, 9.5f);
    t_dd((struct dd){1.25, -2.25}, 9.5);
    t_di(1, (struct di){1.75, -4}, 9);
    t_id(1, (struct id){-5, 1.75}, 9.25);
    t_f1(1, (struct f1){-6.5f}, 9);
    t_d1(1, (struct d1){-7.5}, 9);
    t_ll(1, (struct ll){INT64_C(-0x700000007)}, 9);
    t_big(1, (struct big){{0, 1, 2, 3, 4, 5, 6, 7, 8, -9}, 10.5}, 11);
    t_structs(1, 2, 3, (struct s8){4, -4}, (struct s16){5, -50, 55},
              (struct s12){6, 66, 666}, (struct di){7.5, 77}, (struct ff){8.5f, -8.5f},
              (struct s3){65, 99, 199}, 10);
    t_dds((struct dd){1, 1.5}, (struct dd){2, 2.5}, (struct dd){3, 3.5},
          (struct dd){4, 4.5}, (struct dd){5, 5.5}, 6.5, 7);
}

int main(void)
{
    static int (*volatile pointer)(int) = t_called;

    setvbuf(stdout, NULL, _IOFBF, 65536);
    integers();
    floats();
    others();
    structures();
    t_void();
    t_variadic(2, 1.5, 3, 4);
    t_variadic(0, -1.5);
    t_factorial(4);
    pointer(11);
    t_tail(1, 2);
    if (setjmp(back) == 0) {
        t_over(41);
    }
    t_called(43);
    t_exit(0);
    return 0;
}
