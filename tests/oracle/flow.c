/* SPDX-License-Identifier: MIT */
/*
 * oracle-flow: checks the invariants of any trace, also if no two runs are equal.
 *
 *   oracle-flow --code FILE --trace FILE
 *
 * The trace is `tracedump --json'.  FILE describes the program's code, one
 * statement a line, numbers in hex:
 *
 *   i PC LEN KIND[v][r][n] [TARGET..]  an instruction; KIND: - continues after itself,
 *                              d may also go to its targets, a may go anywhere
 *                              (indirect branch, return, system call), D and A
 *                              the same after the next instruction (delay slot);
 *                              v: its accesses may vary, r: it may begin again
 *                              (sparc64, when a register window is full), n:
 *                              its delay slot may be skipped (hppa)
 *   h PC                       a signal handler begins here
 *   w ADDR                     count the accesses that contain this address
 *
 * In every thread ordinals must count up from 0, each instruction must make the
 * same accesses (number, sizes, loads or stores) every time, and it must
 * be a possible successor of the one before; a handler's first instruction may follow
 * any instruction, and nothing is known about code that FILE does not contain (the
 * vdso, a signal trampoline).  Prints one line per thread, watched address and
 * violation; exits with 1 if there was a violation.
 */
#include "compare.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TARGETS 2
#define MAX_SHOWN 6

struct known {
    uint64_t pc;
    uint64_t target[MAX_TARGETS];
    uint8_t len, ntargets;
    char kind; /* as above; 0: a free place */
    bool handler, varies, repeats, nullifies;
    uint64_t shape; /* of its accesses, 0: it has not run yet */
};

struct thread {
    int64_t pid, tid;
    uint64_t insns, loads, stores;
    uint64_t prev, before; /* the last instructions' pcs */
    uint64_t shape;        /* of the last one's accesses so far */
    bool has_prev, has_before;
};

struct watch {
    uint64_t addr, loads, stores;
};

static struct known *table;
static size_t table_room, table_used;
static struct thread *threads;
static size_t nthreads, threads_room;
static struct watch *watches;
static size_t nwatches;
static unsigned violations;

static void *grow(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (!p) {
        fprintf(stderr, "oracle-flow: out of memory\n");
        exit(2);
    }
    return p;
}

static struct known *place(uint64_t pc)
{
    size_t i = (size_t)((pc * 0x9e3779b97f4a7c15ull) >> 20) & (table_room - 1);

    while (table[i].kind && table[i].pc != pc) {
        i = (i + 1) & (table_room - 1);
    }
    return &table[i];
}

static const struct known *lookup(uint64_t pc)
{
    const struct known *k = place(pc);

    return k->kind && k->len ? k : NULL;
}

static void table_grow(void)
{
    struct known *old = table;
    size_t n = table_room;

    table_room = n ? n * 2 : 1 << 16;
    table = calloc(table_room, sizeof(table[0]));
    if (!table) {
        exit(2);
    }
    for (size_t i = 0; i < n; i++) {
        if (old[i].kind) {
            *place(old[i].pc) = old[i];
        }
    }
    free(old);
}

static struct known *enter(uint64_t pc)
{
    struct known *k;

    if (table_used * 2 >= table_room) {
        table_grow();
    }
    k = place(pc);
    if (!k->kind) {
        table_used++;
        k->pc = pc;
        k->kind = '-';
    }
    return k;
}

static bool read_code(const char *file)
{
    struct lines in = {0};
    char *line;

    if (!lines_open(&in, file)) {
        return false;
    }
    table_grow();
    while ((line = next_line(&in))) {
        char *p = line + 1;
        uint64_t pc = strtoull(p, &p, 16);
        struct known *k;

        switch (line[0]) {
        case 'i':
            k = enter(pc);
            k->len = (uint8_t)strtoul(p, &p, 16);
            k->kind = p[1];
            p += 2;
            k->varies = *p == 'v';
            p += k->varies;
            k->repeats = *p == 'r';
            p += k->repeats;
            k->nullifies = *p == 'n';
            p += k->nullifies;
            while (*p == ' ' && k->ntargets < MAX_TARGETS) {
                k->target[k->ntargets++] = strtoull(p, &p, 16);
            }
            break;
        case 'h':
            enter(pc)->handler = true;
            break;
        case 'w':
            watches = grow(watches, (nwatches + 1) * sizeof(watches[0]));
            watches[nwatches++] = (struct watch){pc, 0, 0};
            break;
        default:
            return false;
        }
    }
    fclose(in.f);
    free(in.line);
    return true;
}

static int by_addr(const void *a, const void *b)
{
    const struct watch *x = a, *y = b;

    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static struct thread *thread_of(const struct event *e)
{
    static size_t last;

    if (last < nthreads && threads[last].tid == e->tid && threads[last].pid == e->pid &&
        !(e->kind == 'e' && e->ordinal == 0)) {
        return &threads[last];
    }
    /* from the end: a later thread may have the same number */
    if (!(e->kind == 'e' && e->ordinal == 0)) {
        for (size_t i = nthreads; i-- > 0;) {
            if (threads[i].tid == e->tid && threads[i].pid == e->pid) {
                last = i;
                return &threads[i];
            }
        }
    }
    if (nthreads == threads_room) {
        threads_room = threads_room ? threads_room * 2 : 64;
        threads = grow(threads, threads_room * sizeof(threads[0]));
    }
    threads[nthreads] = (struct thread){.pid = e->pid, .tid = e->tid};
    last = nthreads++;
    return &threads[last];
}

static bool has_target(const struct known *k, uint64_t to)
{
    for (unsigned i = 0; i < k->ntargets; i++) {
        if (k->target[i] == to) {
            return true;
        }
    }
    return false;
}

/* May `to' be executed after the delay slot `slot' of `branch'? */
static bool may_branch(const struct known *branch, const struct known *slot, uint64_t to)
{
    return branch && slot->pc == branch->pc + branch->len &&
           (branch->kind == 'A' || (branch->kind == 'D' && has_target(branch, to)));
}

/* May `to' be executed after `from', which was executed after `before'? */
static bool may_follow(const struct thread *t, uint64_t to)
{
    const struct known *from = lookup(t->prev);
    const struct known *before = t->has_before ? lookup(t->before) : NULL;
    const struct known *at = place(to);

    if (!from || (at->kind && at->handler) || from->kind == 'a' ||
        to == from->pc + from->len || (from->repeats && to == from->pc)) {
        return true;
    }
    if (from->nullifies && from->kind == 'A') {
        return true;
    }
    if ((from->kind == 'd' || from->nullifies) && has_target(from, to)) {
        return true;
    }
    if ((from->kind == 'D' || from->kind == 'A') && to == from->pc + 2u * from->len) {
        return true; /* the delay slot was annulled */
    }
    if (may_branch(before, from, to)) {
        return true;
    }
    /* The system resumed at a slot, after a signal between the branch and it. */
    return t->has_before && (!before || before->kind == 'a') &&
           may_branch(lookup(from->pc - from->len), from, to);
}

static void violation(const struct event *e, const char *what, uint64_t number)
{
    if (violations++ < MAX_SHOWN) {
        printf("violation pid %" PRId64 " tid %" PRId64 " ordinal %" PRIu64
               " pc 0x%" PRIx64 ": %s 0x%" PRIx64 "\n",
               e->pid, e->tid, e->ordinal, e->pc, what, number);
    }
}

static void count_access(const struct event *e)
{
    size_t low = 0, high = nwatches;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (watches[mid].addr < e->addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    for (; low < nwatches && watches[low].addr < e->addr + e->size; low++) {
        if (e->kind == 's') {
            watches[low].stores++;
        } else {
            watches[low].loads++;
        }
    }
}

static uint64_t shape_add(uint64_t shape, uint64_t what)
{
    return (shape ^ what) * 0x100000001b3ull + 1;
}

/* The thread's last instruction is complete: its accesses must be the same as before. */
static void check_shape(const struct thread *t, const struct event *next)
{
    struct known *k = place(t->prev);
    const struct known *to = place(next->pc);

    /* an instruction that a signal or a fault interrupted may have made fewer */
    if (!k->kind || !k->len || k->varies || (to->kind && to->handler)) {
        return;
    }
    if (!k->shape) {
        k->shape = t->shape;
    } else if (k->shape != t->shape) {
        violation(next, "the instruction before made other accesses than before, pc",
                  t->prev);
    }
}

static void one_event(const struct event *e)
{
    struct thread *t = thread_of(e);

    if (e->kind != 'e') {
        if (!t->insns || e->ordinal != t->insns - 1 || e->pc != t->prev) {
            violation(e, "this access belongs to another instruction, pc", t->prev);
        }
        count_access(e);
        t->shape = shape_add(t->shape, e->size << 1 | (e->kind == 's'));
        t->loads += e->kind == 'l';
        t->stores += e->kind == 's';
        return;
    }
    if (e->ordinal != t->insns) {
        violation(e, "the ordinal should be", t->insns);
    } else if (t->has_prev && !may_follow(t, e->pc)) {
        violation(e, "it cannot follow pc", t->prev);
    }
    if (t->has_prev) {
        check_shape(t, e);
    }
    t->shape = 1;
    t->insns = e->ordinal + 1;
    if (!t->has_prev || t->prev != e->pc || !place(e->pc)->repeats) {
        t->before = t->prev; /* otherwise it began again, in the same delay slot */
        t->has_before = t->has_prev;
    }
    t->prev = e->pc;
    t->has_prev = true;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"code", required_argument, NULL, 'c'},
        {"trace", required_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    const char *code = NULL, *trace = NULL;
    struct lines in = {0};
    struct event e;
    char *line;
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'c') {
            code = optarg;
        } else if (opt == 'j') {
            trace = optarg;
        } else {
            return 2;
        }
    }
    if (!code || !trace) {
        fprintf(stderr, "usage: oracle-flow --code FILE --trace FILE\n");
        return 2;
    }
    if (!read_code(code) || !lines_open(&in, trace)) {
        perror("oracle-flow");
        return 2;
    }
    if (nwatches) {
        qsort(watches, nwatches, sizeof(watches[0]), by_addr);
    }
    while ((line = next_line(&in))) {
        if (!read_event(line, &e)) {
            printf("violation: no event: %s\n", line);
            return 1;
        }
        if (e.kind != '-') {
            one_event(&e);
        }
    }
    for (size_t i = 0; i < nthreads; i++) {
        printf("thread %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               threads[i].pid, threads[i].tid, threads[i].insns, threads[i].loads,
               threads[i].stores);
    }
    for (size_t i = 0; i < nwatches; i++) {
        printf("watch 0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", watches[i].addr,
               watches[i].loads, watches[i].stores);
    }
    return violations != 0;
}
