/* SPDX-License-Identifier: MIT */
/*
 * `mktrace memory FILE': a small trace of a machine with each form of the events of its
 * memory and devices.
 */
#include <elf.h>
#include <string.h>

#include "maker.h"

static void add_bytes(struct payload *o, unsigned n)
{
    add(o, n, 4);
    for (unsigned i = 0; i < n; i++) {
        add(o, i, 1);
    }
}

void ram_event(struct maker *m, uint32_t op, uint32_t fill, uint64_t size, uint64_t addr,
               uint64_t offset, uint64_t from, const char *block, const void *bytes,
               uint32_t n)
{
    struct payload o = {.n = 0};

    add(&o, op, 4);
    add(&o, fill, 4);
    add(&o, size, 8);
    add(&o, addr, 8);
    add(&o, offset, 8);
    add(&o, from, 8);
    add_string(&o, block);
    add(&o, n, 4);
    memcpy(o.p + o.n, bytes, n);
    o.n += n;
    put_event(m, CTR_EVENT_RAM, tick(m), o.p, o.n);
}

static void ram(struct maker *m, uint32_t op, uint32_t fill, uint64_t size, uint64_t addr,
                uint64_t offset, uint64_t from, const char *block, unsigned n)
{
    uint8_t bytes[64];

    for (unsigned i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    ram_event(m, op, fill, size, addr, offset, from, block, bytes, n);
}

static void dma(struct maker *m, uint32_t source, uint64_t addr, const char *device,
                uint64_t size, bool bytes)
{
    struct payload o = {.n = 0};

    add(&o, source, 4);
    add(&o, 0, 4);
    add(&o, size, 8);
    add(&o, addr, 8);
    add_string(&o, device);
    add_bytes(&o, bytes ? (unsigned)size : 0);
    put_event(m, CTR_EVENT_DMA, tick(m), o.p, o.n);
}

static void io(struct maker *m, uint32_t flags, uint32_t size, uint64_t addr,
               uint64_t offset, uint64_t value, const char *region, const char *device)
{
    struct payload o = {.n = 0};

    add(&o, flags, 4);
    add(&o, size, 4);
    add(&o, addr, 8);
    add(&o, offset, 8);
    add(&o, value, 8);
    add_string(&o, region);
    add_string(&o, device);
    put_event(m, CTR_EVENT_IO, tick(m), o.p, o.n);
}

void make_memory(const char *path)
{
    struct block b = {.id = 1, .pc = 0x40100000, .mode = CTR_PRIVILEGE_KERNEL << 4};
    struct maker m = {0};
    uint32_t thread;

    maker_open(&m, path, "x86_64-softmmu", EM_X86_64, false, 64,
               CTR_EVENTS_EXEC | CTR_EVENTS_RAM | CTR_EVENTS_DMA | CTR_EVENTS_IO);
    block_insn(&b, "\x90", 1);
    add_block(&m, &b);
    thread = add_thread(&m, add_process(&m, 7, 1), 7, 0);
    ram(&m, CTR_RAM_MAP, 0, 0x8000000, 0x40000000, 0, 0, "mach-virt.ram", 0);
    ram(&m, CTR_RAM_MAP, 0, 0x1000, 0xffff0000, 0x20000, 0, "pc\033[1m.bios", 0);
    ram(&m, CTR_RAM_BYTES, 0, 8, 0x40000000, 0, 0, "", 8);
    ram(&m, CTR_RAM_BYTES, 0xff, 0x1000, 0x40001000, 0, 0, "", 40);
    ram(&m, CTR_RAM_BYTES, 0, 0x7ffe000, 0x40002000, 0, 0, "", 0);
    ram(&m, CTR_RAM_SAME, 0, 0x1000, 0xffff0000, 0, 0x40000000, "", 0);
    put_word(&m, 1);
    dma(&m, CTR_DMA_DEVICE, 0x48001000, "virtio-blk-device", 512, true);
    dma(&m, CTR_DMA_DEVICE, 0x48001000, "", 2, true);
    dma(&m, CTR_DMA_WALK, 0x48002008, "", 8, true);
    dma(&m, CTR_DMA_CPU, 0x48003000, "", 64, false);
    dma(&m, CTR_DMA_HOST, 0x48004000, "", 4, false);
    dma(&m, CTR_DMA_DEVICE, 0x48005000, "virtio-blk-device", 512, false);
    put_word(&m, 1);
    io(&m, 0, 4, 0x9000018, 0x18, 0x90, "pl011", "pl011");
    io(&m, CTR_IO_WRITE, 1, 0x9000000, 0, 0x41, "pl011", "pl011");
    io(&m, CTR_IO_WRITE | CTR_IO_PORT, 1, 0x3f8, 0, 0x42, "serial", "isa-serial");
    io(&m, 0, 8, 0xb000000, 0, UINT64_MAX, "virtio-mmio", "");
    io(&m, CTR_IO_FAILED, 4, 0xdead0000, 0, 0, "", "");
    put_word(&m, 1);
    ram(&m, CTR_RAM_UNMAP, 0, 0x1000, 0xffff0000, 0, 0, "", 0);
    ram(&m, CTR_RAM_ANEW, 0, 0, 0, 0, 0, "", 0);
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}
