/* SPDX-License-Identifier: MIT */
/*
 * Calls of every kind, counted by the program itself: the number of calls for each caller
 * and callee; tests/cli/calls-witness.sh compares it with the tree made from the trace.
 *
 * Each function gets its caller as an argument.  A tail call passes on the caller of the
 * function that makes it, because the callee replaces that function on the stack; if the
 * compiler makes an ordinary call of it, the function itself is the caller, and the line
 * at the end names both ("a|b").  "*" is any caller (the C library).
 */
#include "guest.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <ucontext.h>

/* clang-format off */
#define FUNCTIONS                                                                        \
    X(any) X(main) X(fib) X(even) X(odd) X(deep) X(tail_a) X(tail_b) X(tail_c) X(state_0)  \
    X(state_1) X(state_2) X(jumper) X(thrower) X(leaf) X(twig) X(on_usr1) X(on_usr2)       \
    X(on_alarm) X(raiser) X(climber) X(co_main) X(co_step) X(co_yield) X(gen_main)         \
    X(gen_next) X(worker) X(child) X(compare) X(apply) X(level) X(retry)
/* clang-format on */
#define X(name) F_##name,
enum { FUNCTIONS NR };
#undef X
#define X(name) #name,
static const char *const names[] = {FUNCTIONS};

#define FN static __attribute__((noipa)) unsigned

static unsigned counts[NR][NR], tails[NR][NR][NR];
static volatile unsigned sink;

static inline __attribute__((always_inline)) void enter(int from, int me)
{
    __atomic_fetch_add(&counts[from][me], 1, __ATOMIC_RELAXED);
}

/* `by', which `from' had called, tail-called `me'. */
static inline __attribute__((always_inline)) void enter_tail(int from, int by, int me)
{
    __atomic_fetch_add(&tails[from][by][me], 1, __ATOMIC_RELAXED);
}

/* Prevents the call with this result from becoming a jump, or a loop. */
static inline __attribute__((always_inline)) unsigned after(unsigned result)
{
    sink += result;
    return result + 1;
}

static void report(void)
{
    for (int a = 0; a < NR; a++) {
        for (int b = 0; b < NR; b++) {
            if (counts[a][b]) {
                printf("%d %s %s %u\n", (int)getpid(), a ? names[a] : "*", names[b],
                       counts[a][b]);
            }
            for (int c = 0; c < NR; c++) {
                if (tails[a][b][c]) {
                    printf("%d %s|%s %s %u\n", (int)getpid(), names[a], names[b],
                           names[c], tails[a][b][c]);
                }
            }
        }
    }
    fflush(stdout);
}

/* ---- plain calls, recursion, tail calls */

FN leaf(int from, unsigned n)
{
    enter(from, F_leaf);
    return n * 3 + 1;
}

FN twig(int from, unsigned n)
{
    enter(from, F_twig);
    return leaf(F_twig, n) + leaf(F_twig, n + 1) + 1;
}

FN fib(int from, unsigned n)
{
    enter(from, F_fib);
    return n < 2 ? n : after(fib(F_fib, n - 1)) + after(fib(F_fib, n - 2));
}

FN odd(int from, unsigned n);
FN even(int from, unsigned n)
{
    enter(from, F_even);
    return n == 0 ? 1 : after(odd(F_even, n - 1));
}

FN odd(int from, unsigned n)
{
    enter(from, F_odd);
    return n == 0 ? 0 : after(even(F_odd, n - 1));
}

FN deep(int from, unsigned n)
{
    unsigned r;

    enter(from, F_deep);
    r = n ? deep(F_deep, n - 1) : twig(F_deep, n);
    sink += r;
    return r + 1;
}

FN tail_c(int from, int by, unsigned n)
{
    enter_tail(from, by, F_tail_c);
    return n + leaf(F_tail_c, n);
}

FN tail_b(int from, int by, unsigned n)
{
    enter_tail(from, by, F_tail_b);
    sink += leaf(F_tail_b, n);
    return tail_c(from, F_tail_b, n + 1);
}

FN tail_a(int from, int by, unsigned n)
{
    enter_tail(from, by, F_tail_a);
    return tail_b(from, F_tail_a, n + 1);
}

/* A state machine whose states jump to each other. */
FN state_2(int from, int by, unsigned n);
FN state_1(int from, int by, unsigned n);
FN state_0(int from, int by, unsigned n)
{
    enter_tail(from, by, F_state_0);
    return n ? n % 3 ? state_1(from, F_state_0, n - 1) : state_2(from, F_state_0, n - 1)
             : 7;
}

FN state_1(int from, int by, unsigned n)
{
    enter_tail(from, by, F_state_1);
    return n ? n % 2 ? state_2(from, F_state_1, n - 1) : state_0(from, F_state_1, n - 1)
             : 8;
}

FN state_2(int from, int by, unsigned n)
{
    enter_tail(from, by, F_state_2);
    sink += leaf(F_state_2, n);
    return n ? state_0(from, F_state_2, n - 1) : 9;
}

static int compare(const void *a, const void *b)
{
    enter(F_any, F_compare);
    return *(const int *)a - *(const int *)b;
}

FN apply(int from, unsigned (*f)(int, unsigned), unsigned n)
{
    enter(from, F_apply);
    return f(F_apply, n) + 1;
}

/* ---- longjmp */

static jmp_buf buf;
static sigjmp_buf sigbuf;

FN thrower(int from, unsigned n)
{
    enter(from, F_thrower);
    if (n == 0) {
        longjmp(buf, 1);
    }
    return after(thrower(F_thrower, n - 1));
}

FN jumper(int from, volatile unsigned n)
{
    enter(from, F_jumper);
    if (setjmp(buf) == 0) {
        sink += thrower(F_jumper, n);
    }
    return leaf(F_jumper, n) + 1;
}

/* Only the outermost call of a recursion has a setjmp to return to. */
static jmp_buf outer;

FN level(int from, unsigned n)
{
    enter(from, F_level);
    if (n == 0) {
        longjmp(outer, 1);
    }
    return after(level(F_level, n - 1)) + after(leaf(F_level, n));
}

FN retry(int from, volatile unsigned n)
{
    enter(from, F_retry);
    while (n) {
        if (setjmp(outer) == 0) {
            sink += level(F_retry, n);
        }
        n--;
    }
    return leaf(F_retry, 1) + 1;
}

/* ---- signals */

static void on_usr2(int sig, siginfo_t *info, void *uc)
{
    enter(F_any, F_on_usr2);
    sink += leaf(F_on_usr2, (unsigned)sig);
}

static void on_usr1(int sig, siginfo_t *info, void *uc)
{
    enter(F_any, F_on_usr1);
    sink += twig(F_on_usr1, 1);
    if (sink & 1) {
        raise(SIGUSR2);
    }
    sink += leaf(F_on_usr1, 2);
}

/* On a stack of its own; never returns. */
static void on_alarm(int sig, siginfo_t *info, void *uc)
{
    enter(F_any, F_on_alarm);
    sink += twig(F_on_alarm, 1);
    siglongjmp(sigbuf, 1);
}

FN raiser(int from, int sig)
{
    enter(from, F_raiser);
    raise(sig);
    return leaf(F_raiser, (unsigned)sig) + 1;
}

FN climber(int from, int sig)
{
    enter(from, F_climber);
    if (sigsetjmp(sigbuf, 1) == 0) {
        sink += raiser(F_climber, sig);
    }
    return twig(F_climber, 3) + 1;
}

/* ---- coroutines */

#define COS 5
#define ROUNDS 1500
static ucontext_t home, co[COS];
static unsigned turns[COS];
static char stacks[COS][65536] __attribute__((aligned(64)));

FN co_yield (int from, unsigned id)
{
    enter(from, F_co_yield);
    swapcontext(&co[id], &home);
    return turns[id] + leaf(F_co_yield, id);
}

FN co_step(int from, unsigned id, unsigned n)
{
    enter(from, F_co_step);
    return after(n ? co_step(F_co_step, id, n - 1) : co_yield (F_co_step, id));
}

static void co_main(int id)
{
    enter(F_any, F_co_main);
    for (;;) {
        sink += co_step(F_co_main, (unsigned)id, (unsigned)id + turns[id] % 3);
        sink += leaf(F_co_main, 1);
        turns[id]++;
    }
}

/* Two coroutines that switch to each other directly, not through main. */
static ucontext_t gen[2];
static unsigned left = 800;

FN gen_next(int from, unsigned id)
{
    enter(from, F_gen_next);
    if (left-- == 0) {
        swapcontext(&gen[id], &home);
    }
    swapcontext(&gen[id], &gen[!id]);
    return leaf(F_gen_next, id) + 1;
}

static void gen_main(int id)
{
    enter(F_any, F_gen_main);
    for (;;) {
        sink += gen_next(F_gen_main, (unsigned)id);
        sink += twig(F_gen_main, 1);
    }
}

static void make_co(ucontext_t *c, char *stack, void (*f)(int), int id)
{
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = sizeof(stacks[0]);
    c->uc_link = NULL;
    makecontext(c, (void (*)(void))f, 1, id);
}

static void coroutines(void)
{
    for (int i = 0; i < COS; i++) {
        make_co(&co[i], stacks[i], co_main, i);
    }
    for (int k = 0; k < ROUNDS; k++) {
        swapcontext(&home, &co[k % 7 % COS]);
    }
    for (int i = 0; i < 2; i++) {
        make_co(&gen[i], stacks[i], gen_main, i);
    }
    swapcontext(&home, &gen[0]);
}

/* ---- threads, processes */

static void *worker(void *arg)
{
    enter(F_any, F_worker);
    for (unsigned i = 0; i < 50; i++) {
        sink += fib(F_worker, 5) + twig(F_worker, i);
    }
    return arg;
}

FN child(int from, unsigned n)
{
    enter(from, F_child);
    sink += fib(F_child, n) + twig(F_child, 1);
    return sink + 1;
}

int main(void)
{
    static char alt[65536];
    stack_t ss = {.ss_sp = alt, .ss_size = sizeof(alt)};
    struct sigaction sa = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int numbers[] = {5, 3, 9, 1, 7, 2, 8};
    pthread_t t[3];
    pid_t pid;

    sink += fib(F_main, 12) + even(F_main, 41) + deep(F_main, 700);
    for (unsigned i = 0; i < 20; i++) {
        sink += tail_a(F_main, F_main, i) + state_0(F_main, F_main, 40 + i);
        sink += jumper(F_main, i) + apply(F_main, leaf, i) + apply(F_main, twig, i);
    }
    sink += retry(F_main, 9);
    qsort(numbers, 7, sizeof(numbers[0]), compare);
    on_signal(SIGUSR1, on_usr1);
    on_signal(SIGUSR2, on_usr2);
    sigaltstack(&ss, NULL);
    sigaction(SIGALRM, &sa, NULL);
    for (int i = 0; i < 12; i++) {
        sink +=
            raiser(F_main, SIGUSR1) + climber(F_main, SIGALRM) + climber(F_main, SIGUSR1);
    }
    coroutines();
    for (int i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, worker, NULL);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        memset(counts, 0, sizeof(counts));
        memset(tails, 0, sizeof(tails));
        sink += child(F_main, 9);
        report();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    sink += leaf(F_main, 1);
    report();
    return 0;
}
