/* SPDX-License-Identifier: MIT */
/*
 * `mktrace system' and `mktrace calls': small traces of system events, the same
 * every time.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"

#define LOAD4 2u
#define STORE4 (2u | CTR_ACCESS_STORE)
#define LIBC_BASE 0x40810000u

static void call_event(struct maker *m, unsigned type, const struct call *c,
                       unsigned flags, int64_t result)
{
    struct payload o = {.n = 0};

    add(&o, c->nr, 4);
    add(&o, flags, 4);
    add(&o, (uint64_t)result, 8);
    for (unsigned i = 0; i < 8; i++) {
        add(&o, c->args[i], 8);
    }
    add_string(&o, c->name);
    put_event(m, type, tick(m), o.p, o.n);
}

void enter(struct maker *m, const struct call *c)
{
    call_event(m, CTR_EVENT_SYSCALL, c, 0, 0);
}

void leave(struct maker *m, const struct call *c, int64_t result)
{
    call_event(m, CTR_EVENT_SYSRET, c, 0, result);
}

/* `n' bytes of `size' are recorded. */
void memory(struct maker *m, uint64_t addr, const void *data, size_t n, size_t size,
            unsigned flags)
{
    struct payload o = {.n = 0};

    add(&o, addr, 8);
    add(&o, size, 8);
    add(&o, flags, 4);
    add(&o, n, 4);
    memcpy(o.p + o.n, data, n);
    put_event(m, CTR_EVENT_USERMEM, 0, o.p, o.n + n);
}

static void string(struct maker *m, uint64_t addr, const char *s)
{
    memory(m, addr, s, strlen(s) + 1, strlen(s) + 1, CTR_USERMEM_STRING);
}

/* A complete call that reads one string and writes nothing. */
static void simple_call(struct maker *m, const struct call *c, uint64_t addr,
                        const char *s, int64_t result)
{
    enter(m, c);
    if (s) {
        string(m, addr, s);
    }
    leave(m, c, result);
}

#define MAPPED_DEV 0xfd01u
#define MAPPED_INODE 4711u

void mapping(struct maker *m, unsigned op, unsigned prot, unsigned flags, uint64_t start,
             uint64_t size, uint64_t offset, const char *path)
{
    struct payload o = {.n = 0};
    bool file = path[0] == '/';
    const char *build_id =
        strncmp(path, "/lib", 4) ? "\x12\x34\xab\x01" : "\x12\x34\xab\x02";

    add(&o, op, 4);
    add(&o, prot, 4);
    add(&o, flags, 4);
    add(&o, 0, 4);
    add(&o, start, 8);
    add(&o, size, 8);
    add(&o, offset, 8);
    add(&o, op == CTR_MAP_BRK ? start : 0, 8);
    add(&o, op == CTR_MAP_BRK ? size / 2 : 0, 8);
    add(&o, file ? MAPPED_DEV : 0, 8);
    add(&o, file ? MAPPED_INODE : 0, 8);
    add_string(&o, path);
    add_string(&o, file ? build_id : "");
    put_event(m, CTR_EVENT_MAP, tick(m), o.p, o.n);
}

void signal_event(struct maker *m, unsigned signo, int code, uint64_t addr, uint64_t pc,
                  uint64_t handler, unsigned flags)
{
    struct payload o = {.n = 0};

    add(&o, signo, 4);
    add(&o, (uint32_t)code, 4);
    add(&o, code <= 0 ? 4242 : 0, 4);
    add(&o, code <= 0 ? 1000 : 0, 4);
    add(&o, addr, 8);
    add(&o, 0, 8);
    add(&o, pc, 8);
    add(&o, handler, 8);
    add(&o, flags, 4);
    add(&o, 0, 4);
    put_event(m, CTR_EVENT_SIGNAL, tick(m), o.p, o.n);
}

/* ------------------------------------------------------------------ system */

enum { R0, R1, SP, LR, CTL, V0, V0_HIGH };

static void set_reg(struct maker *m, unsigned reg, uint64_t v)
{
    put_le(m->state + m->reg_off[reg], v, m->reg_size[reg] < 8 ? m->reg_size[reg] : 8);
}

/* The register slot of `reg' gets a value. */
static void slot_value(struct maker *m, unsigned reg, uint64_t v)
{
    set_reg(m, reg, v);
    put_data(m, m->state + m->reg_off[reg], m->reg_size[reg]);
}

/* The system sets r0, to the result of a call. */
static void result_r0(struct maker *m, uint64_t v)
{
    set_reg(m, R0, v);
    put_register(m, MEMPIPE_OUTSIDE, R0, m->state + m->reg_off[R0]);
}

static void make_registers(struct maker *m)
{
    uint8_t table[256];
    size_t n = 0;

    add_register(m, table, &n, "r0", 4, 0);
    add_register(m, table, &n, "r1", 4, 0);
    add_register(m, table, &n, "sp", 4, 0);
    add_register(m, table, &n, "lr", 4, 0);
    add_register(m, table, &n, "ctl", 4, CTR_REG_SPECIAL);
    add_register(m, table, &n, "v0", 16, CTR_REG_VECTOR | CTR_REG_PIECE);
    add_register(m, table, &n, "v0", 4, CTR_REG_VECTOR);
    write_registers(m, table, n);
    set_reg(m, SP, 0x407ff9b0);
}

/* A block of the program, ending in a system call, and one of the C library. */
static void make_blocks(struct maker *m, struct block *app, struct block *libc)
{
    *app = (struct block){.id = 1, .pc = 0x10400};
    block_insn(app, "\x10\x40\x2d\xe9", 4); /* push {r4, lr} */
    block_slot(app, 0, STORE4);
    block_slot(app, 0, STORE4);
    block_reg(app, SP, 4);
    block_insn(app, "\x00\x00\xa0\xe3", 4); /* mov r0, #0 */
    block_reg(app, R0, 4);
    block_insn(app, "\x00\x00\x00\xef", 4); /* svc #0 */
    add_block(m, app);
    *libc = (struct block){.id = 2, .pc = LIBC_BASE + 0x1234};
    block_insn(libc, "\x00\x10\x90\xe5", 4); /* ldr r1, [r0] */
    block_slot(libc, 0, LOAD4);
    block_reg(libc, R1, 4);
    block_insn(libc, "\xd0\x02\xc1\xe1", 4); /* ldrd r0, r1, [r1, #32] */
    block_slot(libc, 0, 3u);
    block_reg(libc, R0, 4);
    block_reg(libc, V0, 16);
    block_reg(libc, V0_HIGH, 4);
    block_insn(libc, "\x1e\xff\x2f\xe1", 4); /* bx lr */
    add_block(m, libc);
}

static void run_app(struct maker *m, const struct block *b, uint64_t sp)
{
    put_word(m, b->id);
    put_addr(m, sp);
    put_value(m, 0x1234abcd, 4);
    put_addr(m, sp + 4);
    put_value(m, 0x10500, 4);
    slot_value(m, SP, sp);
    slot_value(m, R0, 0);
}

static void run_libc(struct maker *m, const struct block *b)
{
    put_word(m, b->id);
    put_addr(m, 0x21000);
    put_value(m, 0xdeadbeef, 4);
    slot_value(m, R1, 0xdeadbeef);
    put_addr(m, 0x21020);
    put_value(m, 0x1122334455667788, 8);
    slot_value(m, R0, 0x55667788);
    slot_value(m, V0, 0x1122334455667788);
    slot_value(m, V0_HIGH, 0x80000000);
    put_extra(m, 2, true, 40, 0x22000, "forty bytes of data that a helper stored");
}

static void initial_maps(struct maker *m)
{
    mapping(m, CTR_MAP_INITIAL, 5, 2, 0x10000, 0x2000, 0, "/usr/bin/app");
    mapping(m, CTR_MAP_INITIAL, 3, 2, 0x21000, 0x1000, 0x1000, "/usr/bin/app");
    mapping(m, CTR_MAP_INITIAL, 3, 2, 0x40000000, 0x800000, 0, "[stack]");
}

/* The main thread: two chunks, with a call that spans both. */
static void main_thread(struct maker *m, uint32_t t1, const struct block *app,
                        const struct block *libc)
{
    static const struct call open_ = {"openat", 322, {(uint64_t)-100, 0x10800, 0x20000}},
                             map = {"mmap2", 192, {0, 0x4000, 5, 2, 3, 0}},
                             write_ = {"write", 4, {1, 0x30000, 200}},
                             read_ = {"read", 3, {0, 0x31000, 16}},
                             prctl_ = {"prctl", 172, {15, 0x10840}},
                             odd = {"no_such\n", 999, {1, 2, 3, 4, 5, 6}},
                             brk_ = {"brk", 45, {0}},
                             handler = {"rt_sigreturn", 173, {0}},
                             leave_ = {"exit_group", 248, {3}};
    static const char args[] = "./app\0it's \"quoted\"\0\0\033[31m\ntwo \xc3\xa4\0";
    char buffer[100];

    memset(buffer, 'x', sizeof(buffer));
    memcpy(buffer, "tab\t\"quoted\" \033[31mred\n\0001", 24);
    put_state(m);
    program_event(m, CTR_THREAD_START, 4242, 4000, "app", args, sizeof(args) - 1, 4);
    initial_maps(m);
    memory(m, 0x407ff9b0, "\1\0\0\0", 4, 4, CTR_USERMEM_WRITE);
    run_app(m, app, 0x407ff9a8);
    simple_call(m, &open_, 0x10800, "/lib/libc.so.6", 3);
    result_r0(m, 3);
    run_app(m, app, 0x407ff9a0);
    enter(m, &map);
    mapping(m, CTR_MAP_MMAP, 5, 2, LIBC_BASE, 0x4000, 0, "/lib/lib c\033[1m/libc.so.6");
    leave(m, &map, (int32_t)LIBC_BASE);
    result_r0(m, LIBC_BASE);
    run_libc(m, libc);
    signal_event(m, 11, 1, 0x10, LIBC_BASE + 0x123c, 0x10400,
                 CTR_SIGNAL_HANDLER | CTR_SIGNAL_SYNC);
    memory(m, 0x407ff000, "frame", 5, 760, CTR_USERMEM_WRITE);
    run_app(m, app, 0x407fe000);
    enter(m, &handler);
    call_event(m, CTR_EVENT_SYSRET, &handler, CTR_SYSCALL_NORETURN, 0);
    {
        struct payload o = {.n = 0};
        add(&o, LIBC_BASE + 0x1238, 8);
        put_event(m, CTR_EVENT_SIGRETURN, tick(m), o.p, o.n);
    }
    run_app(m, app, 0x407ff998);
    enter(m, &write_);
    memory(m, 0x30000, buffer, sizeof(buffer), 200, 0);
    leave(m, &write_, -32);
    simple_call(m, &odd, 0, NULL, 0);
    enter(m, &prctl_);
    string(m, 0x10840, "worker 1");
    thread_event(m, CTR_THREAD_NAME, 4242, 4242, 0, 0, 0, 0, "worker 1");
    leave(m, &prctl_, 0);
    run_app(m, app, 0x407ff990);
    enter(m, &read_);
    flush_chunk(m, t1, 0);

    put_state(m);
    memory(m, 0x31000, "late\n", 5, 5, CTR_USERMEM_WRITE);
    leave(m, &read_, 5);
    enter(m, &brk_);
    mapping(m, CTR_MAP_BRK, 3, 0, 0x22000, 0x2000, 0, "[heap]");
    leave(m, &brk_, 0x24000);
    mapping(m, CTR_MAP_MUNMAP, 0, 0, LIBC_BASE, 0x1000, 0, "");
    run_libc(m, libc);
    enter(m, &leave_);
    thread_event(m, CTR_THREAD_END, 4242, 4242, 0, 0, CTR_END_GROUP, 3, "");
    flush_chunk(m, t1, 0);
}

/* The program's bytes, in two pieces. */
static void embed(struct maker *m, const char *elf)
{
    static uint8_t bytes[65536];
    FILE *f = fopen(elf, "rb");
    const size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0, half = n / 2;
    struct ctr_embed to = {.path = "/usr/bin/app",
                           .dev = MAPPED_DEV,
                           .inode = MAPPED_INODE,
                           .size = n,
                           .bytes = bytes,
                           .n = half};

    if (!n || fclose(f) || ctr_writer_embed(m->writer, &to, NULL)) {
        perror(elf);
        exit(1);
    }
    to.offset = half;
    to.bytes = bytes + half;
    to.n = n - half;
    if (ctr_writer_embed(m->writer, &to, NULL)) {
        exit(1);
    }
    ctr_writer_embeds_checked(m->writer);
}

void make_system(const char *path, const char *elf)
{
    static const struct call clone_ = {"clone", 120, {0x1200011, 0, 0, 0, 0x21068}},
                             futex_ = {"futex", 240, {0x21068, 0x80, 2, 0x30010}},
                             execve_ = {"execve", 11, {0x10850, 0x30100, 0x30200}};
    struct maker m = {0};
    char args[CTR_MAX_ARGS];
    struct block app, libc;
    uint32_t p1, p2, t1, t2, t3;

    maker_open(&m, path, "arm", EM_ARM, false, 32, PROGRAM_EVENTS);
    make_registers(&m);
    make_blocks(&m, &app, &libc);
    p1 = add_process(&m, 4242, 4000);
    t1 = add_thread(&m, p1, 4242, 0);
    main_thread(&m, t1, &app, &libc);

    /* A thread that waits until the end. */
    t2 = add_thread(&m, p1, 4243, 4242);
    put_state(&m);
    thread_event(&m, CTR_THREAD_START, 4242, 4243, 0, 4242, 0, 0, "second");
    run_app(&m, &app, 0x40900ff8);
    enter(&m, &futex_);
    memory(&m, 0x30010, "\1\0\0\0\0\x65\xcd\x1d", 8, 8, 0);
    flush_chunk(&m, t2, 0);

    /* The child of a fork: its parent's call returns in it; then it becomes
     * another program. */
    p2 = add_process(&m, 5000, 4242);
    t3 = add_thread(&m, p2, 5000, 0);
    put_state(&m);
    memset(args, 'a', sizeof(args));
    program_event(&m, CTR_THREAD_START, 5000, 4242, "app", args, sizeof(args), 3);
    initial_maps(&m);
    leave(&m, &clone_, 0);
    run_app(&m, &app, 0x407ff998);
    enter(&m, &execve_);
    string(&m, 0x10850, "/bin/echo");
    memory(&m, 0x30100, "\x60\x08\1\0\0\0\0\0", 8, 8, 0);
    memory(&m, 0x30200, "\x70\x08\1\0\0\0\0\0", 8, 8, 0);
    string(&m, 0x10860, "echo");
    string(&m, 0x10870, "HOME=/");
    program_event(&m, CTR_THREAD_EXEC, 5000, 0, "/bin/echo", "echo", 5, 1);
    signal_event(&m, 9, 0, 0, 0x10408, 0, CTR_SIGNAL_FATAL);
    thread_event(&m, CTR_THREAD_END, 5000, 5000, 0, 0, CTR_END_SIGNAL, 9, "");
    flush_chunk(&m, t3, 0);

    ctr_writer_thread_end(m.writer, t1, m.clock_ns, CTR_END_GROUP, 3, 0);
    ctr_writer_thread_end(m.writer, t2, m.clock_ns, CTR_END_GROUP, 3, 0);
    ctr_writer_thread_end(m.writer, t3, m.clock_ns, CTR_END_SIGNAL, 9, 0);
    ctr_writer_process_end(m.writer, p1, m.clock_ns, CTR_END_GROUP, 3);
    ctr_writer_process_end(m.writer, p2, m.clock_ns, CTR_END_SIGNAL, 9);
    if (elf) {
        embed(&m, elf);
    }
    maker_close(&m, true);
}

/* ------------------------------------------------------------------- calls */

/* An integer of the target at p. */
static void put_target(uint8_t *p, uint64_t v, unsigned bytes, bool be)
{
    for (unsigned i = 0; i < bytes; i++) {
        p[be ? bytes - 1 - i : i] = (uint8_t)(v >> (8 * i));
    }
}

/* A call that reads or writes one structure of `n' integers. */
static void struct_call(struct maker *m, const struct call *c, bool write, uint64_t addr,
                        const uint64_t *v, const unsigned *bytes, unsigned n, bool be,
                        int64_t result)
{
    uint8_t data[512];
    size_t at = 0;

    for (unsigned i = 0; i < n; i++) {
        put_target(data + at, v[i], bytes[i], be);
        at += bytes[i];
    }
    enter(m, c);
    memory(m, addr, data, at, at, write ? CTR_USERMEM_WRITE : 0);
    leave(m, c, result);
}

/* The numbers are the same for all targets, their meanings differ. */
void make_calls(const char *target, unsigned machine, bool be, unsigned addr_bits,
                const char *path)
{
    const uint64_t a = 0x20000;
    const unsigned w = addr_bits / 8;
    struct maker m = {0};
    struct block b = {.id = 1, .pc = 0x10000};
    uint8_t stat[144];
    uint32_t thread;

    maker_open(&m, path, target, machine, be, addr_bits,
               CTR_EVENTS_EXEC | CTR_EVENTS_SYS);
    block_insn(&b, "\0\0\0\0", 4);
    add_block(&m, &b);
    thread = add_thread(&m, add_process(&m, 1, 0), 1, 0);
    put_word(&m, b.id);
    for (int e = 35; e < 135; e += 9) {
        simple_call(&m, &(struct call){"close", 6, {(uint64_t)e}}, 0, NULL, -e);
    }
    for (unsigned i = 0; i < 26; i++) {
        simple_call(&m, &(struct call){"open", 5, {a, 1u << i, 0644}}, a, "f", 3);
    }
    for (unsigned i = 2; i < 22; i++) {
        simple_call(&m, &(struct call){"mmap2", 9, {0, 4096, 3, 2 | 1u << i, 3, 0}}, 0,
                    NULL, 0x7000);
    }
    for (unsigned i = 1; i < 35; i++) {
        simple_call(&m, &(struct call){"kill", 37, {1, i}}, 0, NULL, 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        simple_call(&m, &(struct call){"rt_sigprocmask", 175, {i, 0, 0, 8}}, 0, NULL, 0);
        simple_call(&m, &(struct call){"getrlimit", 76, {i + 5, 0}}, 0, NULL, 0);
        simple_call(&m, &(struct call){"fcntl", 55, {3, i + 5, 0}}, 0, NULL, 0);
        simple_call(&m, &(struct call){"socket", 359, {2, i + 1, 0}}, 0, NULL, 3);
    }
    simple_call(&m,
                &(struct call){"clone", 120, {0x11, 0x1200, 0x100, 0x200, 0x300, 0x400}},
                0, NULL, 77);
    simple_call(&m, &(struct call){"pread64", 180, {3, a, 5, 0x11, 0x22, 0x33}}, 0, NULL,
                -9);
    simple_call(&m, &(struct call){"truncate64", 193, {a, 0x44, 0x55, 0x66}}, a, "t", 0);
    for (unsigned i = 0; i < sizeof(stat); i++) {
        stat[i] = (uint8_t)i;
    }
    enter(&m, &(struct call){"fstat", 108, {3, a}});
    memory(&m, a, stat, sizeof(stat), sizeof(stat), CTR_USERMEM_WRITE);
    leave(&m, &(struct call){"fstat", 108, {3, a}}, 0);
    enter(&m, &(struct call){"fstat64", 197, {3, a}});
    memory(&m, a, stat, sizeof(stat), sizeof(stat), CTR_USERMEM_WRITE);
    leave(&m, &(struct call){"fstat64", 197, {3, a}}, 0);
    struct_call(&m, &(struct call){"nanosleep", 162, {a, 0}}, false, a,
                (const uint64_t[]){1, 500}, (const unsigned[]){w, w}, 2, be, 0);
    struct_call(&m, &(struct call){"clock_gettime64", 403, {1, a}}, true, a,
                (const uint64_t[]){1, 500}, (const unsigned[]){8, 8}, 2, be, 0);
    struct_call(&m, &(struct call){"rt_sigaction", 174, {2, a, 0, 8}}, false, a,
                (const uint64_t[]){4, 8, 16, 32, 64}, (const unsigned[]){w, w, w, w, w},
                5, be, 0);
    struct_call(&m, &(struct call){"pipe", 42, {a}}, true, a, (const uint64_t[]){5, 6},
                (const unsigned[]){4, 4}, 2, be, 0);
    struct_call(&m, &(struct call){"wait4", 114, {(uint64_t)-1, a, 0, 0}}, true, a,
                (const uint64_t[]){10}, (const unsigned[]){4}, 1, be, 99);
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}

void make_mapped(const char *mapped, const char *path)
{
    struct maker m = {0};
    struct block b = {.id = 1, .pc = 0x10000};
    uint32_t process, thread;

    maker_open(&m, path, "arm", EM_ARM, false, 32, CTR_EVENTS_EXEC | CTR_EVENTS_MAP);
    block_insn(&b, "\x01\x00\xa0\xe3", 4); /* mov r0, #1 */
    block_insn(&b, "\x1e\xff\x2f\xe1", 4); /* bx lr */
    add_block(&m, &b);
    process = add_process(&m, 1, 0);
    thread = add_thread(&m, process, 1, 0);
    mapping(&m, CTR_MAP_MMAP, 5, 2, 0x10000, 0x1000, 0x1000, mapped);
    put_word(&m, b.id);
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}
