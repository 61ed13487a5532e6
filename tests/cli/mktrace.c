/* SPDX-License-Identifier: MIT */
/*
 * mktrace: makes the traces that the tests of the tools read, so that they
 * need neither QEMU nor binary files that cannot be reproduced.
 *
 *   mktrace sample FILE             a small arm trace, the same every time
 *   mktrace killed FILE             the same; its second process was killed
 *   mktrace unfinished FILE         the same, without an end
 *   mktrace target NAME FILE        three instructions of QEMU target NAME
 *   mktrace random SEED CHUNKS RUNS FILE EXPECT
 *       chunks of about RUNS blocks each, of four threads, with everything
 *       that the words of cannoli/events.h can express.  EXPECT gets the events
 *       as `tracedump --json --no-disas' must show them: the code that invents
 *       them prints them, and reads nothing back.
 *       EXPECT.cut gets tid and ordinal of each instruction whose accesses are
 *       divided between two chunks.
 *   mktrace random-all SEED CHUNKS RUNS FILE EXPECT
 *       the same with values, registers and system events
 *   mktrace random-few SEED CHUNKS RUNS FILE EXPECT
 *       the same, whose accesses are to some 30 bytes and have four values
 *   mktrace order SEED THREADS CALLS BYTES KIND FILE
 *       threads that make about CALLS calls each, with BYTES of memory, at the same
 *       time.  KIND is `short': chunks and calls last some ms; `long': one chunk and one
 *       call last nearly to the end, one call never returns; `same': as short, but all
 *       chunks claim to have been begun at the same time; or `timeless': short, recorded
 *       without times
 *   mktrace diff SEED WHAT A B      two recordings of one random program, with other addresses,
 *       ids and cuts; B has a difference: WHAT is none, value, address, inserted, result,
 *       memory, end or thread; with `copy-' before it B is a longer copy of A but for
 *       that.  Prints WHAT, its ordinal, and the numbers of instructions
 *       that only A and only B have there
 *   mktrace ram WHAT FILE           physical memory of a machine, see mktrace_physical.c
 *   mktrace key FILE SEED           a process with key frames; FILE.expect has what its memory
 *       holds
 *   mktrace system FILE [ELF]       a small arm trace with all kinds of events; the bytes of
 *       ELF are those of its program
 *   mktrace mapped PATH FILE        two arm instructions, "mov r0, #1; bx lr", that were
 *       at 0x1000 of a file PATH with the build id 1234ab01, which was at 0x10000
 *   mktrace generated FILE          arm code that was made at run time: process 4242 calls f
 *       at 0x20000 and g at 0x20010 five times, then another f there and g three times; its
 *       child 5000 does that twice
 *   mktrace calls NAME FILE         system calls of QEMU target NAME
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"

/* ----------------------------------------------------------- fixed traces */

#define EXEC_MEM (CTR_EVENTS_EXEC | CTR_EVENTS_MEM)
#define LOAD4 2u
#define STORE4 (2u | CTR_ACCESS_STORE)

static void make_sample(const char *path, bool killed, bool finish)
{
    struct maker m = {0};
    struct block head = {.id = 7, .pc = 0x10400}, loop = {.id = 9, .pc = 0x10410},
                 thumb = {.id = 4, .pc = 0x20000, .mode = CTR_MODE_THUMB};
    uint32_t p1, p2, t1, t2, t3;

    maker_open(&m, path, "arm", EM_ARM, false, 32, EXEC_MEM);
    block_insn(&head, "\x10\x40\x2d\xe9", 4); /* push {r4, lr} */
    block_slot(&head, 0, STORE4);
    block_slot(&head, 0, STORE4);
    block_insn(&head, "\x00\x40\xa0\xe1", 4); /* mov r4, r0 */
    block_insn(&head, "\x00\x00\x50\xe3", 4); /* cmp r0, #0 */
    block_insn(&head, "\x0a\x00\x00\x0a", 4); /* beq */
    block_insn(&loop, "\x04\x30\x90\x04", 4); /* ldreq r3, [r0], #4 */
    block_slot(&loop, 1, LOAD4);
    block_insn(&loop, "\x00\x30\x84\xe5", 4); /* str r3, [r4] */
    block_slot(&loop, 0, STORE4);
    block_insn(&loop, "\xfc\xff\xff\x1a", 4); /* bne */
    block_insn(&thumb, "\x10\xb5", 2);        /* push {r4, lr} */
    block_slot(&thumb, 0, STORE4);
    block_slot(&thumb, 0, STORE4);
    block_insn(&thumb, "\x00\xf0\x02\xf8", 4); /* bl */
    block_insn(&thumb, "\xff\xde", 2);         /* udf */
    add_block(&m, &head);
    add_block(&m, &loop);
    add_block(&m, &thumb);

    p1 = add_process(&m, 4242, 4000);
    t1 = add_thread(&m, p1, 4242, 0);
    put_word(&m, head.id);
    put_addr(&m, 0x407ff9a8);
    put_addr(&m, 0x407ff9ac);
    for (unsigned i = 0; i < 3; i++) {
        put_word(&m, loop.id);
        if (i != 1) { /* the predicated load is not made in the second round */
            put_word(&m, CTR_WORD_GROUP | 1);
            put_addr(&m, 0x21000 + 4 * i);
        }
        put_addr(&m, 0x22000);
    }
    put_word(&m, loop.id); /* the store faults, is repeated, and succeeds */
    put_left(&m, 2, CTR_LEFT_FAULTED);
    put_word(&m, loop.id);
    put_addr(&m, 0x22000);
    flush_chunk(&m, t1, 0);

    t2 = add_thread(&m, p1, 4243, 4242);
    put_word(&m, thumb.id);
    put_addr(&m, 0x40900ff8);
    put_addr(&m, 0x40900ffc);
    put_extra(&m, 1, true, 300, 0x40000000, NULL); /* a helper of QEMU stores 300 bytes */
    put_left(&m, 2, 0);
    flush_chunk(&m, t2, 0);

    p2 = add_process(&m, 5000, 4242);
    t3 = add_thread(&m, p2, 5000, 0);
    put_word(&m, head.id);
    put_addr(&m, 0x407ff998);
    put_addr(&m, 0x407ff99c);
    flush_chunk(&m, t3, killed ? CTR_SEGMENT_UNSURE : 0);

    put_word(&m, head.id);
    put_addr(&m, 0x407ff998);
    put_addr(&m, 0x407ff99c);
    flush_chunk(&m, t1, 0);

    ctr_writer_thread_end(m.writer, t1, m.clock_ns, CTR_END_GROUP, 3, 0);
    ctr_writer_thread_end(m.writer, t2, m.clock_ns, CTR_END_EXIT, 0, 0);
    ctr_writer_thread_end(m.writer, t3, m.clock_ns,
                          killed ? CTR_END_KILLED : CTR_END_SIGNAL, killed ? 9 : 11,
                          killed);
    ctr_writer_process_end(m.writer, p1, m.clock_ns, CTR_END_GROUP, 3);
    ctr_writer_process_end(m.writer, p2, m.clock_ns,
                           killed ? CTR_END_KILLED : CTR_END_SIGNAL, killed ? 9 : 11);
    maker_close(&m, finish);
}

/* One block of each target, as its tools would disassemble it. */
struct target {
    const char *name;
    unsigned machine;
    bool be;
    unsigned addr_bits, mode, len[3];
    const char *code;
};

/* clang-format off */
static const struct target targets[] = {
    {"arm", EM_ARM, false, 32, 0, {4, 4, 4},
     "\x10\x40\x2d\xe9\x00\x40\xa0\xe1\x1e\xff\x2f\xe1"},
    {"armeb", EM_ARM, true, 32, 0, {4, 4, 4},
     "\xe9\x2d\x40\x10\xe1\xa0\x40\x00\xe1\x2f\xff\x1e"},
    {"aarch64", EM_AARCH64, false, 64, 0, {4, 4, 4},
     "\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\xc0\x03\x5f\xd6"},
    {"mips", EM_MIPS, true, 32, 0, {4, 4, 4},
     "\x27\xbd\xff\xe0\x03\xe0\x00\x08\x00\x00\x00\x00"},
    {"mipsel", EM_MIPS, false, 32, 0, {4, 4, 4},
     "\xe0\xff\xbd\x27\x08\x00\xe0\x03\x00\x00\x00\x00"},
    {"mips64", EM_MIPS, true, 64, 0, {4, 4, 4},
     "\x67\xbd\xff\xe0\x03\xe0\x00\x08\x00\x00\x00\x00"},
    {"riscv64", EM_RISCV, false, 64, 0, {2, 4, 2},
     "\x41\x11\x13\x05\x10\x00\x82\x80"},
    {"x86_64", EM_X86_64, false, 64, CTR_MODE_X86_64, {1, 3, 10},
     "\x55\x48\x89\xe5\x48\xb8\x88\x77\x66\x55\x44\x33\x22\x11"},
    {"i386", EM_386, false, 32, CTR_MODE_X86_32, {1, 2, 2},
     "\x55\x89\xe5\xf3\xa4"},
    {"s390x", EM_S390, true, 64, 0, {6, 4, 2},
     "\xeb\x6f\xf0\x30\x00\x24\xa7\xfb\xff\x60\x07\xfe"},
    {"ppc", EM_PPC, true, 32, 0, {4, 4, 4},
     "\x7c\x08\x02\xa6\x94\x21\xff\xf0\x4e\x80\x00\x20"},
    {"ppc64le", EM_PPC64, false, 64, 0, {4, 4, 4},
     "\xa6\x02\x08\x7c\xe1\xff\x21\xf8\x20\x00\x80\x4e"},
    {"alpha", EM_ALPHA, false, 64, 0, {4, 4, 4},
     "\x1f\x04\xff\x47\x01\x80\xfa\x6b\x00\x00\x00\x00"},
    {"sparc64", EM_SPARCV9, true, 64, 0, {4, 4, 4},
     "\x9d\xe3\xbf\x50\x81\xc7\xe0\x08\x01\x00\x00\x00"},
    {"m68k", EM_68K, true, 32, 0, {4, 2, 2},
     "\x4e\x56\xff\xfc\x4e\x5e\x4e\x75"},
    {"hppa", EM_PARISC, true, 32, 0, {4, 4, 4},
     "\x08\x00\x02\x40\xe8\x40\xc0\x02\x34\x1c\x00\x00"},
};
/* clang-format on */

static const struct target *find_target(const char *name)
{
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
        if (!strcmp(targets[i].name, name)) {
            return &targets[i];
        }
    }
    fprintf(stderr, "mktrace: no target %s\n", name);
    exit(2);
}

static void make_calls_of(const char *name, const char *path)
{
    const struct target *t = find_target(name);

    make_calls(t->name, t->machine, t->be, t->addr_bits, path);
}

static void make_target(const char *name, const char *path)
{
    const struct target *t = find_target(name);
    struct maker m = {0};
    struct block b = {.id = 1, .pc = 0x10000};
    const char *code;
    uint32_t thread;

    maker_open(&m, path, t->name, t->machine, t->be, t->addr_bits, EXEC_MEM);
    b.mode = t->mode;
    code = t->code;
    for (unsigned i = 0; i < 3; i++) {
        block_insn(&b, code, t->len[i]);
        code += t->len[i];
    }
    block_slot(&b, 0, 3u | CTR_ACCESS_STORE | (t->be ? CTR_ACCESS_BE : 0));
    add_block(&m, &b);
    thread = add_thread(&m, add_process(&m, 1, 0), 1, 0);
    put_word(&m, b.id);
    put_addr(&m, t->addr_bits == 64 ? 0xffffff8000001000ull : 0xfffff000ull);
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "sample")) {
        make_sample(argv[2], false, true);
    } else if (argc == 3 && !strcmp(argv[1], "killed")) {
        make_sample(argv[2], true, true);
    } else if (argc == 3 && !strcmp(argv[1], "unfinished")) {
        make_sample(argv[2], false, false);
    } else if (argc == 4 && !strcmp(argv[1], "target")) {
        make_target(argv[2], argv[3]);
    } else if (argc == 7 && !strcmp(argv[1], "random")) {
        make_random(argv + 2, false, false);
    } else if (argc == 7 && !strcmp(argv[1], "random-all")) {
        make_random(argv + 2, true, false);
    } else if (argc == 7 && !strcmp(argv[1], "random-few")) {
        make_random(argv + 2, true, true);
    } else if (argc == 8 && !strcmp(argv[1], "order")) {
        make_order(argv + 2);
    } else if (argc == 6 && !strcmp(argv[1], "diff")) {
        make_diff(argv + 2);
    } else if (argc == 3 && !strcmp(argv[1], "system")) {
        make_system(argv[2], NULL);
    } else if (argc == 4 && !strcmp(argv[1], "system")) {
        make_system(argv[2], argv[3]);
    } else if (argc == 4 && !strcmp(argv[1], "mapped")) {
        make_mapped(argv[2], argv[3]);
    } else if (argc == 3 && !strcmp(argv[1], "chosen")) {
        make_chosen(argv[2]);
    } else if (argc == 4 && !strcmp(argv[1], "machine")) {
        make_machine(argv[2], argv[3]);
    } else if (argc == 3 && !strcmp(argv[1], "physical")) {
        make_physical(argv[2]);
    } else if (argc == 3 && !strcmp(argv[1], "spaces")) {
        make_spaces(argv[2]);
    } else if (argc == 3 && !strcmp(argv[1], "memory")) {
        make_memory(argv[2]);
    } else if (argc == 4 && !strcmp(argv[1], "ram")) {
        make_ram(argv[3], argv[2]);
    } else if (argc == 4 && !strcmp(argv[1], "key")) {
        make_key(argv[2], (unsigned)atoi(argv[3]));
    } else if (argc == 5 && !strcmp(argv[1], "light")) {
        make_light(argv[2], argv[3], argv[4]);
    } else if (argc == 3 && !strcmp(argv[1], "areas")) {
        make_areas(argv[2]);
    } else if (argc == 3 && !strcmp(argv[1], "areas-again")) {
        make_areas_again(argv[2]);
    } else if (argc == 4 && !strcmp(argv[1], "areas-shared")) {
        make_areas_shared((unsigned)atoi(argv[2]), argv[3]);
    } else if (argc == 4 && !strcmp(argv[1], "loaded")) {
        make_loaded((uint32_t)strtoul(argv[2], NULL, 0), argv[3]);
    } else if (argc == 3 && !strcmp(argv[1], "tasks")) {
        make_tasks(argv[2], true);
    } else if (argc == 3 && !strcmp(argv[1], "parallel")) {
        make_tasks(argv[2], false);
    } else if (argc == 3 && !strcmp(argv[1], "slices")) {
        make_slices(argv[2]);
    } else if (argc == 7 && !strcmp(argv[1], "kernel")) {
        make_kernel(argv + 2, false);
    } else if (argc == 7 && !strcmp(argv[1], "kernel-twice")) {
        make_kernel(argv + 2, true);
    } else if (argc == 3 && !strcmp(argv[1], "generated")) {
        make_generated(argv[2]);
    } else if (argc == 4 && !strcmp(argv[1], "calls")) {
        make_calls_of(argv[2], argv[3]);
    } else {
        fprintf(stderr, "mktrace: wrong arguments\n");
        return 2;
    }
    return 0;
}
