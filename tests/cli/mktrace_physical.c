/* SPDX-License-Identifier: MIT */
/*
 * `mktrace ram WHAT FILE': physical memory of a machine with two vCPUs that take turns, and
 * all that changes what it holds: stores through two virtual pages and at two physical
 * addresses, writes of devices, RAM that is mapped elsewhere, a snapshot that is loaded.
 * Each store has its number in its digits.  WHAT is `all', or
 * `paused': at last recording is paused and resumed, and after a store paused again; or how it was
 * recorded: `part', `multi' (in parallel), `no-val'.
 */
#include <elf.h>
#include <string.h>

#include "maker.h"

#define RAM_AT 0x40000000u
#define ALIAS_AT 0x60000000u /* the first page of RAM again */
#define ROM_AT 0x1000u
#define KERNEL 0xffff000000000000u
#define LOAD8 3u
#define STORE8 (3u | CTR_ACCESS_STORE)

static void put_ram(struct maker *m, uint32_t op, uint32_t fill, uint64_t size,
                    uint64_t addr, uint64_t offset, uint64_t from, const char *block,
                    const char *bytes)
{
    ram_event(m, op, fill, size, addr, offset, from, block, bytes,
              (uint32_t)strlen(bytes));
}

static void put_dma(struct maker *m, uint64_t time_ns, uint64_t addr, uint64_t value)
{
    struct payload o = {.n = 0};

    add(&o, CTR_DMA_DEVICE, 4);
    add(&o, 0, 4);
    add(&o, 8, 8);
    add(&o, addr, 8);
    add_string(&o, "disk");
    add(&o, 8, 4);
    add(&o, value, 8);
    put_event(m, CTR_EVENT_DMA, time_ns, o.p, o.n);
}

static void put_gate(struct maker *m, uint32_t open)
{
    struct payload o = {.n = 0};

    add(&o, open, 4);
    add(&o, CTR_GATE_OUTSIDE, 4);
    put_event(m, CTR_EVENT_GATE, tick(m), o.p, o.n);
}

static void put_slice(struct maker *m, uint64_t number)
{
    struct payload o = {.n = 0};

    add(&o, number, 8);
    put_event(m, CTR_EVENT_SLICE, tick(m), o.p, o.n);
}

/* An instruction (the block's number) has an access at an address of the kernel, which is at a
 * physical page. */
static void put_access(struct maker *m, unsigned block, uint64_t addr, uint64_t page,
                       unsigned flags, uint64_t value)
{
    struct mempipe_side_page *x;

    addr |= KERNEL;
    put_word(m, block);
    x = put_side(m, MEMPIPE_SIDE_PAGE, 0, sizeof(*x));
    x->flags = (uint8_t)flags;
    x->bits = 12;
    x->page = addr & ~UINT64_C(0xfff);
    x->phys = page;
    put_addr(m, addr);
    if (m->events & CTR_EVENTS_VAL) {
        put_value(m, value, 8);
    }
}

static void store(struct maker *m, uint64_t addr, uint64_t page, unsigned flags,
                  uint64_t value)
{
    put_access(m, 1, addr, page, flags, value);
}

static void describe(struct maker *m, unsigned fill)
{
    put_ram(m, CTR_RAM_MAP, CTR_RAM_ROM, 0x1000, ROM_AT, 0, 0, "rom", "");
    put_ram(m, CTR_RAM_BYTES, 0xee, 0x1000, ROM_AT, 0, 0, "", "ROM");
    put_ram(m, CTR_RAM_MAP, 0, 0x3000, RAM_AT, 0, 0, "ram", "");
    put_ram(m, CTR_RAM_BYTES, fill, 0x1000, RAM_AT, 0, 0, "", "abcdefgh");
    put_ram(m, CTR_RAM_SAME, 0, 0x1000, RAM_AT + 0x1000, 0, RAM_AT, "", "");
    put_ram(m, CTR_RAM_BYTES, 0x22, 0x1000, RAM_AT + 0x2000, 0, 0, "", "");
    put_ram(m, CTR_RAM_MAP, 0, 0x1000, ALIAS_AT, 0, 0, "ram", "");
    put_ram(m, CTR_RAM_SAME, 0, 0x1000, ALIAS_AT, 0, RAM_AT, "", "");
}

/* Times are of turns. */
static void begin_turn(struct maker *m, unsigned number, uint64_t start)
{
    m->clock_ns = start + number * 100000u;
    if (number) {
        put_slice(m, number);
    }
}

/* The first vCPU's turns; the ordinals are those of the stores. */
static void first_turn(struct maker *m, uint64_t start)
{
    begin_turn(m, 0, start);
    describe(m, 0x11);
    store(m, 0x8010, RAM_AT, 0, 0x1010101010101010);               /* 0 */
    store(m, 0x9018, ALIAS_AT, 0, 0x1111111111111118);             /* 1 */
    store(m, 0xa020, ROM_AT, 0, 0x1212121212121212);               /* 2 */
    store(m, 0xb028, RAM_AT, CTR_PAGE_DEVICE, 0x1313131313131313); /* 3 */
    put_dma(m, tick(m), ALIAS_AT + 0x10, 0xd4d4d4d4d4d4d4d4);
    store(m, 0xc000, RAM_AT + 0x2000, 0, 0x1414141414141414); /* 4 */
    store(m, 0xbffc, RAM_AT + 0x1000, 0, 0x1515151525252525); /* 5: crosses */
}

static void third_turn(struct maker *m, uint64_t start)
{
    uint64_t before;

    begin_turn(m, 2, start);
    store(m, 0x8010, RAM_AT, 0, 0x1616161616161616); /* 6 */
    put_ram(m, CTR_RAM_ANEW, 0, 0, 0, 0, 0, "", "");
    describe(m, 0x33);
    store(m, 0x8040, RAM_AT, 0, 0x1717171717171717); /* 7 */
    before = tick(m);
    put_ram(m, CTR_RAM_UNMAP, 0, 0x1000, ALIAS_AT, 0, 0, "", "");
    put_ram(m, CTR_RAM_MAP, 0, 0x1000, ALIAS_AT, 0x2000, 0, "ram", "");
    put_ram(m, CTR_RAM_BYTES, 0x44, 0x1000, ALIAS_AT, 0x2000, 0, "", "xyz");
    put_dma(m, before, ALIAS_AT + 0x50, 0xd8d8d8d8d8d8d8d8);
    store(m, 0x9008, ALIAS_AT, 0, 0x1818181818181818);       /* 8 */
    put_access(m, 2, 0x8048, RAM_AT, 0, 0x3333333333333333); /* 9 */
}

static void pause_twice(struct maker *m)
{
    put_gate(m, 0);
    put_gate(m, 1);
    store(m, 0x8060, RAM_AT, 0, 0x1919191919191919); /* 10 */
    put_gate(m, 0);
}

static void second_turn(struct maker *m, uint64_t start)
{
    begin_turn(m, 1, start);
    store(m, 0x7010, RAM_AT, 0, 0x2020202020202020); /* 0 */
    put_dma(m, tick(m), RAM_AT + 0x2000, 0xe1e1e1e1e1e1e1e1);
    store(m, 0x7030, ALIAS_AT, 0, 0x2121212121212121); /* 1 */
}

void make_ram(const char *path, const char *what)
{
    struct block b = {.id = 1, .pc = 0x40100000, .mode = CTR_PRIVILEGE_KERNEL << 4},
                 load = {.id = 2, .pc = 0x40100004, .mode = CTR_PRIVILEGE_KERNEL << 4};
    const bool multi = !strcmp(what, "multi");
    struct maker m = {.selection = !strcmp(what, "part") ? "--kernel" : ""};
    uint32_t process, thread[2],
        events = CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_PHYS | CTR_EVENTS_DMA |
                 CTR_EVENTS_RAM;
    uint64_t start;

    events |= multi ? 0 : CTR_EVENTS_ORDER;
    events |= !strcmp(what, "no-val") ? 0 : CTR_EVENTS_VAL;
    maker_open(&m, path, "aarch64-softmmu", EM_AARCH64, false, 64, events);
    block_insn(&b, "\x1f\x20\x03\xd5", 4);
    block_slot(&b, 0, STORE8);
    add_block(&m, &b);
    block_insn(&load, "\x1f\x20\x03\xd5", 4);
    block_slot(&load, 0, LOAD8);
    add_block(&m, &load);
    process = add_process(&m, 7, 1);
    start = m.clock_ns;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        thread[cpu] = add_thread(&m, process, 7 + (int)cpu, cpu ? 7 : 0);
    }
    first_turn(&m, start);
    if (!multi) {
        third_turn(&m, start);
    }
    if (!strcmp(what, "paused")) {
        pause_twice(&m);
    }
    m.span_ns = 400000;
    m.clock_ns = start;
    flush_chunk(&m, thread[0], CTR_SEGMENT_FIRST);
    if (!multi) {
        second_turn(&m, start);
    } else {
        store(&m, 0x7010, RAM_AT, 0, 0x2020202020202020);
    }
    m.clock_ns = start + 1;
    flush_chunk(&m, thread[1], 0);
    maker_close(&m, true);
}
