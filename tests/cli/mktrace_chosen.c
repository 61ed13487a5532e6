/* SPDX-License-Identifier: MIT */
/*
 * `mktrace chosen': a small trace of a recorded part, the same every time: left-out
 * instructions, tags, accesses without a value, and what the recording says about
 * itself.
 */
#include <elf.h>

#include "maker.h"

#define LOAD4 2u
#define STORE4 (2u | CTR_ACCESS_STORE)

static void mark(struct maker *m, unsigned source, unsigned number, uint64_t asked_ns,
                 uint64_t value, const char *text)
{
    struct payload o = {.n = 0};

    add(&o, source, 4);
    add(&o, number, 4);
    add(&o, asked_ns, 8);
    add(&o, value, 8);
    add_string(&o, text);
    put_event(m, CTR_EVENT_MARK, tick(m), o.p, o.n);
}

static void gate(struct maker *m, unsigned open, unsigned why)
{
    struct payload o = {.n = 0};

    add(&o, open, 4);
    add(&o, why, 4);
    put_event(m, CTR_EVENT_GATE, tick(m), o.p, o.n);
}

static void label(struct maker *m, unsigned op, uint64_t start, uint64_t size,
                  const char *type, const char *name)
{
    struct payload o = {.n = 0};

    add(&o, op, 4);
    add(&o, 0, 4);
    add(&o, start, 8);
    add(&o, size, 8);
    add_string(&o, type);
    add_string(&o, name);
    put_event(m, CTR_EVENT_LABEL, tick(m), o.p, o.n);
}

static void selection(struct maker *m, unsigned generation, const char *text)
{
    struct payload o = {.n = 0};

    add(&o, generation, 4);
    add(&o, 0, 4);
    add_string(&o, text);
    put_event(m, CTR_EVENT_SELECT, tick(m), o.p, o.n);
}

/* read(0, 0x30000, 8): its end, or its begin. */
static void call(struct maker *m, unsigned type, uint64_t result)
{
    struct payload o = {.n = 0};

    add(&o, 3, 4);
    add(&o, 0, 4);
    add(&o, result, 8);
    for (unsigned i = 0; i < 8; i++) {
        add(&o, i == 1 ? 0x30000 : i == 2 ? 8 : 0, 8);
    }
    add_string(&o, "read");
    put_event(m, type, tick(m), o.p, o.n);
}

/* In a block of five instructions the second and the fourth were left out. */
static void make_block(struct maker *m, struct block *b)
{
    *b = (struct block){.id = 1, .pc = 0x10400, .part = true};
    block_insn(b, "\x10\x40\x2d\xe9", 4); /* push {r4, lr} */
    block_slot(b, 0, STORE4);
    block_slot(b, 0, STORE4 | CTR_ACCESS_NOVALUE);
    block_insn(b, "\x00\x10\x90\xe5", 4); /* ldr r1, [r0] */
    block_slot(b, 0, LOAD4 | CTR_ACCESS_NOVALUE);
    block_insn(b, "\x1e\xff\x2f\xe1", 4); /* bx lr */
    b->at[0] = 0x10400;
    b->at[1] = 0x10408;
    b->at[2] = 0x10410;
    b->ntag = 4;
    b->tag[0] = (struct tag){CTR_TAG_BLOCK, 0, 0xb10c};
    b->tag[1] = (struct tag){1, 0, 0x1234};
    b->tag[2] = (struct tag){1, 2, UINT64_MAX};
    b->tag[3] = (struct tag){2, 1, 0};
    add_block(m, b);
}

static void run(struct maker *m, const struct block *b, uint64_t sp)
{
    put_word(m, b->id);
    put_addr(m, sp);
    put_value(m, 0xabcd, 4);
    put_addr(m, sp + 4);
    put_addr(m, 0x21000);
    put_extra(m, 2, true, 16, 0x22000, "sixteen bytes...");
    put_extra(m, 2, false, 16, 0x22010, NULL);
}

void make_chosen(const char *path)
{
    struct maker m = {.selection = "--module libfoo.so.1 --not --range 0x10000-0x10400",
                      .dropped = 3};
    struct block b;
    uint32_t process, thread;

    maker_open(&m, path, "arm", EM_ARM, false, 32,
               PROGRAM_EVENTS & ~(CTR_EVENTS_REG | CTR_EVENTS_MAP));
    make_block(&m, &b);
    process = add_process(&m, 4242, 4000);
    thread = add_thread(&m, process, 4242, 0);
    thread_event(&m, CTR_THREAD_START, 4242, 4242, 4000, 0, 0, 0, "app");
    gate(&m, 0, CTR_GATE_START);
    mark(&m, CTR_MARK_OUTSIDE, 1, m.clock_ns - 500, 0, "not yet \"recorded\"\033[31m");
    gate(&m, 1, CTR_GATE_PLACE);
    run(&m, &b, 0x407ff000);
    label(&m, CTR_LABEL_SET, 0x21000, 64, "struct node", "head");
    mark(&m, CTR_MARK_GUEST, 0, 0, 0x1122334455667788, "round");
    run(&m, &b, 0x407ff000);
    call(&m, CTR_EVENT_SYSCALL, 0);
    mark(&m, CTR_MARK_OUTSIDE, 2, m.clock_ns, 0, "");
    call(&m, CTR_EVENT_SYSRET, 5);
    label(&m, CTR_LABEL_REMOVE, 0x21000, 0, "", "");
    selection(&m, 2, "/usr/lib/a.so,key=value\n./b.so");
    run(&m, &b, 0x407fe000);
    selection(&m, 3, "");
    call(&m, CTR_EVENT_SYSCALL, 0);
    gate(&m, 0, CTR_GATE_OUTSIDE);
    gate(&m, 1, CTR_GATE_GUEST);
    gate(&m, 0, CTR_GATE_TREE);
    gate(&m, 1, CTR_GATE_COUNT);
    thread_event(&m, CTR_THREAD_END, 4242, 4242, 0, 0, CTR_END_GROUP, 0, "");
    flush_chunk(&m, thread, 0);
    ctr_writer_thread_end(m.writer, thread, m.clock_ns, CTR_END_GROUP, 0, 0);
    ctr_writer_process_end(m.writer, process, m.clock_ns, CTR_END_GROUP, 0);
    maker_close(&m, true);
}
