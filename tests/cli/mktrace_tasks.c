/* SPDX-License-Identifier: MIT */
/*
 * `mktrace tasks FILE': a small trace of a machine whose two vCPUs run tasks: before it is
 * known which, over several chunks, with another name, with exceptions and a halt, not known
 * any more.  `mktrace loaded OP FILE': such vCPUs that are loaded from a snapshot, or reset,
 * within exceptions; OP is CTR_POWER_*.  `mktrace areas FILE': one whose processes have files as code, at the same
 * addresses: two, one after the other, none; and one elsewhere.  `mktrace areas-again FILE':
 * one whose process announces the same areas again and again.  `mktrace areas-shared N FILE':
 * N of 20 functions of a process differ from those of its file.
 */
#include <elf.h>
#include <string.h>

#include "maker.h"

static void task(struct maker *m, uint32_t pid, uint32_t tgid, uint64_t address,
                 const char *comm)
{
    struct payload o = {.n = 0};

    add(&o, pid, 4);
    add(&o, tgid, 4);
    add(&o, address, 8);
    add_string(&o, comm);
    put_event(m, CTR_EVENT_TASK, tick(m), o.p, o.n);
}

static void interrupt(struct maker *m, uint32_t flags, uint32_t number, uint32_t from)
{
    struct payload o = {.n = 0};

    add(&o, flags, 4);
    add(&o, number, 4);
    add(&o, 0, 8);
    add(&o, 0, 8);
    add(&o, 0x40100004, 8);
    add(&o, 0x40100000, 8);
    add(&o, from, 4);
    add(&o, CTR_PRIVILEGE_KERNEL, 4);
    put_event(m, CTR_EVENT_INTERRUPT, tick(m), o.p, o.n);
}

static void runs(struct maker *m, unsigned n)
{
    while (n--) {
        put_word(m, 1);
    }
}

/* A system call is left for another task, and continues. */
static void cpu0(struct maker *m, uint32_t thread)
{
    runs(m, 1);
    task(m, 0, 0, 0xffff800009000000, "swapper/0");
    runs(m, 2);
    task(m, 1, 1, 0xffff000000001000, "init");
    runs(m, 3);
    interrupt(m, CTR_INT_TRAP, 0x15, CTR_PRIVILEGE_USER);
    runs(m, 1);
    flush_chunk(m, thread, CTR_SEGMENT_FIRST);
    runs(m, 2);
    flush_chunk(m, thread, CTR_SEGMENT_FIRST);
    task(m, 7, 5, 0xffff000000007000, "work\033er");
    runs(m, 2);
    interrupt(m, CTR_INT_ASYNC, 27, CTR_PRIVILEGE_KERNEL);
    runs(m, 1);
    return_event(m, 0x40100000, CTR_PRIVILEGE_KERNEL, CTR_PRIVILEGE_KERNEL);
    task(m, 1, 1, 0xffff000000001000, "init");
    runs(m, 1);
    flush_chunk(m, thread, CTR_SEGMENT_FIRST);
    return_event(m, 0x40100000, CTR_PRIVILEGE_KERNEL, CTR_PRIVILEGE_USER);
    runs(m, 2);
    task(m, 0, 0, 0, "");
    runs(m, 1);
    flush_chunk(m, thread, CTR_SEGMENT_FIRST);
}

static void cpu1(struct maker *m, uint32_t thread)
{
    task(m, 0, 0, 0xffff000000009000, "swapper/1");
    power_event(m, CTR_POWER_HALT);
    power_event(m, CTR_POWER_WAKE);
    runs(m, 2);
    task(m, 5, 5, 0xffff000000005000, "bash");
    runs(m, 4);
    flush_chunk(m, thread, CTR_SEGMENT_FIRST);
    task(m, 5, 5, 0xffff000000005000, "sh");
    runs(m, 1);
    flush_chunk(m, thread, CTR_SEGMENT_FIRST);
}

void make_tasks(const char *path, bool order)
{
    struct block b = {.id = 1, .pc = 0x40100000, .mode = CTR_PRIVILEGE_KERNEL << 4};
    struct maker m = {0};
    uint32_t process, first, second;

    maker_open(&m, path, "aarch64-softmmu", EM_AARCH64, false, 64,
               CTR_EVENTS_EXEC | CTR_EVENTS_INT | CTR_EVENTS_PWR | CTR_EVENTS_TASK |
                   (order ? CTR_EVENTS_ORDER : 0));
    block_insn(&b, "\x1f\x20\x03\xd5", 4);
    add_block(&m, &b);
    process = add_process(&m, 7, 1);
    first = add_thread(&m, process, 7, 0);
    second = add_thread(&m, process, 8, 7);
    cpu0(&m, first);
    cpu1(&m, second);
    maker_close(&m, true);
}

/* What two vCPUs do, in turns. */
struct deed {
    unsigned turn, cpu;
    enum { LOADED, TASK, CALL, BACK, RUN } what;
    uint32_t n; /* TASK: pid; RUN: instructions; else unused */
};

/* Tasks are left within system calls, and are in none after LOADED, which cpu0 has first. */
static const struct deed loaded[] = {
    {0, 0, TASK, 1}, {0, 0, RUN, 1}, {0, 0, CALL, 0}, {0, 0, RUN, 2},  {0, 0, TASK, 7},
    {0, 0, CALL, 0}, {0, 0, RUN, 1}, {1, 1, TASK, 5}, {1, 1, CALL, 0}, {1, 1, RUN, 2},
    {2, 0, RUN, 1},  {3, 1, RUN, 1}, {4, 0, LOADED},  {4, 0, TASK, 1}, {4, 0, RUN, 4},
    {4, 0, CALL, 0}, {4, 0, RUN, 2}, {5, 1, LOADED},  {5, 1, RUN, 3},  {6, 0, RUN, 1},
    {6, 0, BACK},    {6, 0, RUN, 1}, {7, 1, TASK, 7}, {7, 1, RUN, 5},
};

static void do_deed(struct maker *m, const struct deed *d, uint32_t op)
{
    switch (d->what) {
    case LOADED:
        power_event(m, op);
        break;
    case TASK:
        task(m, d->n, d->n, 0xffff000000000000 + d->n * 0x1000, "task");
        break;
    case CALL:
        interrupt(m, CTR_INT_TRAP, 0x15, CTR_PRIVILEGE_USER);
        break;
    case BACK:
        return_event(m, 0x40100000, CTR_PRIVILEGE_KERNEL, CTR_PRIVILEGE_USER);
        break;
    case RUN:
        runs(m, d->n);
    }
}

void make_loaded(uint32_t op, const char *path)
{
    const unsigned nr = sizeof(loaded) / sizeof(loaded[0]);
    struct block b = {.id = 1, .pc = 0x40100000, .mode = CTR_PRIVILEGE_KERNEL << 4};
    struct maker m = {0};
    uint32_t process, thread[2];
    uint64_t start;

    maker_open(&m, path, "aarch64-softmmu", EM_AARCH64, false, 64,
               CTR_EVENTS_EXEC | CTR_EVENTS_INT | CTR_EVENTS_PWR | CTR_EVENTS_TASK |
                   CTR_EVENTS_ORDER);
    block_insn(&b, "\x1f\x20\x03\xd5", 4);
    add_block(&m, &b);
    process = add_process(&m, 7, 1);
    start = m.clock_ns;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        thread[cpu] = add_thread(&m, process, 7 + (int)cpu, cpu ? 7 : 0);
    }
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        unsigned turn = 0;

        for (unsigned i = 0; i < nr; i++) {
            if (loaded[i].cpu != cpu) {
                continue;
            }
            if (loaded[i].turn != turn) {
                struct payload o = {.n = 0};

                turn = loaded[i].turn;
                m.clock_ns = start + turn * UINT64_C(100000);
                add(&o, turn, 8);
                put_event(&m, CTR_EVENT_SLICE, tick(&m), o.p, o.n);
            }
            do_deed(&m, &loaded[i], op);
        }
        m.clock_ns = start + cpu;
        m.span_ns = 1000000;
        flush_chunk(&m, thread[cpu], cpu ? 0 : CTR_SEGMENT_FIRST);
    }
    maker_close(&m, true);
}

static void area(struct maker *m, uint32_t tgid, uint32_t flags, uint64_t start,
                 const char *path)
{
    struct payload o = {.n = 0};

    add(&o, tgid, 4);
    add(&o, flags, 4);
    add(&o, start, 8);
    add(&o, start ? start + 0x1000 : 0, 8);
    add(&o, start ? 0x1000 : 0, 8);
    add_string(&o, path);
    put_event(m, CTR_EVENT_AREA, tick(m), o.p, o.n);
}

/* With two blocks of user code: 1 at 0x401000, 2 at 0x501000. */
static void open_areas(struct maker *m, const char *path)
{
    struct block b = {.id = 1, .pc = 0x401000, .mode = CTR_PRIVILEGE_USER << 4};

    maker_open(m, path, "aarch64-softmmu", EM_AARCH64, false, 64,
               CTR_EVENTS_EXEC | CTR_EVENTS_TASK);
    block_insn(&b, "\x1f\x20\x03\xd5", 4);
    add_block(m, &b);
    b.id = 2;
    b.pc = 0x501000;
    add_block(m, &b);
}

/* A block is a whole function, of alpha and of gamma; another one of delta. */
static void areas(struct maker *m, uint32_t thread)
{
    runs(m, 1); /* before any is known */
    task(m, 5, 5, 0xffff000000005000, "alpha");
    area(m, 5, CTR_AREA_ANEW, 0, "");
    area(m, 5, 0, 0x401000, "/bin/alpha");
    runs(m, 2);
    task(m, 6, 6, 0xffff000000006000, "gamma");
    runs(m, 4); /* it has none yet */
    area(m, 6, CTR_AREA_ANEW, 0, "");
    area(m, 6, 0, 0x401000, "/bin/gamma");
    runs(m, 8);
    flush_chunk(m, thread, 0);
    runs(m, 16);
    task(m, 7, 5, 0xffff000000007000, "thread of alpha");
    runs(m, 32);
    area(m, 5, CTR_AREA_REMOVED, 0x401000, "");
    runs(m, 64);
    area(m, 5, 0, 0x401000, "/bin/gamma");
    runs(m, 128);
    area(m, 5, CTR_AREA_ANEW, 0, "");
    runs(m, 256);
    task(m, 6, 6, 0xffff000000006000, "gamma");
    area(m, 6, 0, 0x501000, "/bin/delta");
    put_word(m, 2);
    flush_chunk(m, thread, 0);
}

void make_areas(const char *path)
{
    struct maker m = {0};
    uint32_t process;

    open_areas(&m, path);
    process = add_process(&m, 7, 1);
    areas(&m, add_thread(&m, process, 7, 0));
    maker_close(&m, true);
}

/* alpha and delta are announced 6000 times, alpha not from 2000 to 2999, and at 4000 gamma
 * instead of it. */
void make_areas_again(const char *path)
{
    struct maker m = {0};
    uint32_t thread;

    open_areas(&m, path);
    thread = add_thread(&m, add_process(&m, 7, 1), 7, 0);
    for (unsigned i = 0; i < 6000; i++) {
        task(&m, 5, 5, 0xffff000000005000, "alpha");
        area(&m, 5, CTR_AREA_ANEW, 0, "");
        if (i < 2000 || i >= 3000) {
            area(&m, 5, 0, 0x401000, i == 4000 ? "/bin/gamma" : "/bin/alpha");
        }
        area(&m, 5, 0, 0x501000, "/bin/delta");
        runs(&m, 1);
        put_word(&m, 2);
        if (i % 500 == 499) {
            flush_chunk(&m, thread, 0);
        }
    }
    maker_close(&m, true);
}

/* Of /bin/many, whose functions are nops; a virtual machine has other code there. */
void make_areas_shared(unsigned differ, const char *path)
{
    struct maker m = {0};
    uint32_t thread;

    maker_open(&m, path, "aarch64-softmmu", EM_AARCH64, false, 64,
               CTR_EVENTS_EXEC | CTR_EVENTS_TASK);
    for (unsigned i = 0; i < 40; i++) {
        struct block b = {.id = i + 1, .pc = 0x401000 + i % 20 * 4};
        b.mode = (i < 20 ? CTR_PRIVILEGE_USER : CTR_PRIVILEGE_GUEST_USER) << 4;
        block_insn(&b, i < differ || i >= 20 ? "\x00\x00\x80\xd2" : "\x1f\x20\x03\xd5",
                   4);
        add_block(&m, &b);
    }
    thread = add_thread(&m, add_process(&m, 7, 1), 7, 0);
    task(&m, 5, 5, 0xffff000000005000, "many");
    area(&m, 5, CTR_AREA_ANEW, 0, "");
    area(&m, 5, 0, 0x401000, "/bin/many");
    for (unsigned i = 1; i <= 40; i++) {
        put_word(&m, i);
    }
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}
