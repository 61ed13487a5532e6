/* SPDX-License-Identifier: MIT */
/*
 * `mktrace generated', see mktrace.c: a program that makes code at run time, and replaces
 * it; its child runs that, too.
 */
#include <elf.h>

#include "maker.h"

enum { CALL_F = 1, CALL_G, AGAIN, OLD_F, G, NEW_F };

static void make_blocks(struct maker *m)
{
    struct block v[] = {
        {.id = CALL_F, .pc = 0x10000}, {.id = CALL_G, .pc = 0x10004},
        {.id = AGAIN, .pc = 0x10008},  {.id = OLD_F, .pc = 0x20000},
        {.id = G, .pc = 0x20010},      {.id = NEW_F, .pc = 0x20000},
    };

    block_insn(&v[0], "\xfe\x3f\x00\xeb", 4); /* bl 0x20000 */
    block_insn(&v[1], "\x01\x40\x00\xeb", 4); /* bl 0x20010 */
    block_insn(&v[2], "\xfc\xff\xff\xea", 4); /* b 0x10000 */
    block_insn(&v[3], "\x01\x00\xa0\xe3", 4); /* mov r0, #1 */
    block_insn(&v[4], "\x02\x00\xa0\xe3", 4); /* mov r0, #2 */
    block_insn(&v[5], "\x03\x00\xa0\xe3", 4); /* mov r0, #3 */
    for (unsigned i = 0; i < sizeof(v) / sizeof(*v); i++) {
        if (i >= 3) {
            block_insn(&v[i], "\x1e\xff\x2f\xe1", 4); /* bx lr */
        }
        add_block(m, &v[i]);
    }
}

static void rounds(struct maker *m, unsigned n, unsigned f)
{
    while (n--) {
        put_word(m, CALL_F);
        put_word(m, f);
        put_word(m, CALL_G);
        put_word(m, G);
        put_word(m, AGAIN);
    }
}

void make_generated(const char *path)
{
    struct maker m = {0};
    uint32_t process, thread, child;

    maker_open(&m, path, "arm", EM_ARM, false, 32, CTR_EVENTS_EXEC | CTR_EVENTS_MAP);
    make_blocks(&m);
    process = add_process(&m, 4242, 1);
    thread = add_thread(&m, process, 4242, 0);
    mapping(&m, CTR_MAP_MMAP, 5, 2, 0x10000, 0x1000, 0, "/app");
    mapping(&m, CTR_MAP_MMAP, 7, 0x22, 0x20000, 0x1000, 0, "");
    mapping(&m, CTR_MAP_MMAP, 5, 2, 0x30000, 0x1000, 0, "/dumps/jit-4242.dump");
    rounds(&m, 5, OLD_F);
    flush_chunk(&m, thread, 0);
    mapping(&m, CTR_MAP_MMAP, 7, 0x22, 0x40000, 0x1000, 0, ""); /* time goes on */
    rounds(&m, 3, NEW_F);
    flush_chunk(&m, thread, 0);
    process = add_process(&m, 5000, 4242);
    child = add_thread(&m, process, 5000, 4242);
    mapping(&m, CTR_MAP_MMAP, 5, 2, 0x10000, 0x1000, 0, "/app");
    mapping(&m, CTR_MAP_MMAP, 7, 0x22, 0x20000, 0x1000, 0, "");
    rounds(&m, 2, NEW_F);
    flush_chunk(&m, child, 0);
    maker_close(&m, true);
}
