/*
 * Execution tracing into shared memory: what devices do
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * RAM that is written other than by accesses of instructions, and accesses of
 * instructions to devices.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/address-spaces.h"
#include "exec/cpu-common.h"
#include "exec/cputlb.h"
#include "exec/cpu_ldst.h"
#include "hw/qdev-core.h"
#include "memory.h"

/* Who writes to memory now on this thread; source 0: it is not known. */
static __thread CannoliWriter writer;

static bool begun; /* a vCPU has run */

static bool records(uint32_t kind)
{
    return qatomic_read(&begun) && cannoli_ctl->events & kind;
}

/* ---- who it is ---- */

/* A device's id, if the user has given it one; else its type. */
static const char *name_of(Object *object)
{
    DeviceState *dev = (DeviceState *)object_dynamic_cast(object, TYPE_DEVICE);

    return !object          ? ""
           : dev && dev->id ? dev->id
                            : object_get_typename(object);
}

CannoliWriter cannoli_writer_object(Object *object)
{
    CannoliWriter before = writer;

    if (records(CTR_EVENTS_DMA | CTR_EVENTS_IO)) {
        writer = (CannoliWriter){ CTR_DMA_DEVICE, object, NULL };
    }
    return before;
}

/* A page of several regions passes the vCPU's access on to one of them. */
CannoliWriter cannoli_writer_region(const MemoryRegion *mr)
{
    return mr->subpage ? writer : cannoli_writer_object(mr->owner);
}

static bool is_of_vcpu(const AddressSpace *as)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        if (as == cpu->as) {
            return true;
        }
    }
    return false;
}

CannoliWriter cannoli_writer_space(const AddressSpace *as)
{
    CannoliWriter before = writer;

    if (as == &address_space_memory || !records(CTR_EVENTS_DMA)) {
        return before;
    }
    if (is_of_vcpu(as)) {
        if (!current_cpu) {
            writer = (CannoliWriter){ .source = CTR_DMA_HOST }; /* a debugger */
        }
    } else if (as->name) {
        writer = (CannoliWriter){ CTR_DMA_DEVICE, NULL, as->name };
    }
    return before;
}

CannoliWriter cannoli_writer_host(void)
{
    CannoliWriter before = writer;

    writer = (CannoliWriter){ .source = CTR_DMA_HOST };
    return before;
}

void cannoli_writer_restore(CannoliWriter *before)
{
    writer = *before;
}

/* ---- memory that is written ---- */

static void put_dma(const CannoliWriter *by, uint64_t addr, const uint8_t *host,
                    uint64_t size)
{
    uint32_t n = cannoli_values ? size : 0;
    const char *name = by->space ? by->space : name_of(by->object);
    size_t len = strlen(name);
    uint8_t *p =
        cannoli_queue_event(CTR_EVENT_DMA, 2 * 4 + 2 * 8 + 2 + len + 4 + n);

    cannoli_put32(&p, by->source);
    cannoli_put32(&p, 0);
    cannoli_put64(&p, size);
    cannoli_put64(&p, addr);
    cannoli_put_str(&p, name, len);
    cannoli_put32(&p, n);
    memcpy(p, host, n);
    cannoli_queue_end();
}

/*
 * What is not mapped is not recorded: ram.c reports what it holds when it is.
 */
static void wrote(const CannoliWriter *by, const MemoryRegion *mr,
                  uint64_t offset, uint64_t size)
{
    uint64_t most = cannoli_values ? CANNOLI_PIECE : UINT64_MAX;

    while (size) {
        uint64_t n = MIN(size, most), in;
        CannoliRange range;

        if (cannoli_ram_find(mr, offset, &range)) {
            in = offset - range.offset;
            n = MIN(n, range.size - in);
            put_dma(by, range.addr + in, mr->ram_block->host + offset, n);
        } else {
            n = MIN(n, TARGET_PAGE_SIZE - (offset & ~TARGET_PAGE_MASK));
        }
        offset += n;
        size -= n;
    }
}

static const CannoliWriter *who(void)
{
    static const CannoliWriter device = { .source = CTR_DMA_DEVICE },
                               processor = { .source = CTR_DMA_CPU };

    return writer.source          ? &writer
           : cannoli_turns_mine() ? &processor
                                  : &device;
}

void cannoli_ram_written(MemoryRegion *mr, uint64_t offset, uint64_t size)
{
    if (size && records(CTR_EVENTS_DMA)) {
        wrote(who(), mr, offset, size);
    }
}

static void wrote_host(uint32_t source, const void *host, unsigned size)
{
    CannoliWriter by = { .source = source };
    ram_addr_t offset;
    RAMBlock *block;

    RCU_READ_LOCK_GUARD();
    block = qemu_ram_block_from_host((void *)host, false, &offset);
    if (block) {
        wrote(&by, block->mr, offset, size);
    }
}

void cannoli_walk_wrote(const void *host, unsigned size)
{
    if (cannoli_turns_mine() && records(CTR_EVENTS_DMA)) {
        wrote_host(CTR_DMA_WALK, host, size);
        cannoli_cpu(current_cpu)->walked = true;
    }
}

bool cannoli_ad_set(void *host, uint32_t old, uint32_t new)
{
    bool done = qatomic_cmpxchg((uint32_t *)host, old, new) == old;

    if (done) {
        cannoli_walk_wrote(host, 4);
    }
    return done;
}

void cannoli_wrote_outside(CPUState *cpu, uint64_t addr, uint64_t size, int mmu)
{
    while (size && records(CTR_EVENTS_DMA)) {
        uint64_t n = MIN(size, -(addr | TARGET_PAGE_MASK));
        const void *host =
            tlb_vaddr_to_host(cpu_env(cpu), addr, MMU_DATA_STORE, mmu);

        if (host) {
            wrote_host(CTR_DMA_CPU, host, n);
        }
        addr += n;
        size -= n;
    }
}

/* ---- devices that are accessed ---- */

static bool accessed(const MemoryRegion *mr)
{
    return cannoli_turns_mine() && records(CTR_EVENTS_IO) && current_cpu &&
           cannoli_cpu(current_cpu)->thread &&
           cannoli_cpu(current_cpu)->thread->running && !writer.source &&
           !mr->subpage;
}

/* Where a byte of a region is that is not in the address space of all vCPUs. */
static uint64_t address_in_container(const MemoryRegion *mr, uint64_t offset)
{
    for (; mr; mr = mr->container) {
        offset += mr->addr;
    }
    return offset;
}

static void put_io(const MemoryRegion *mr, uint64_t offset, uint64_t value,
                   unsigned size, uint32_t flags)
{
    CannoliRange range = { .addr = 0 };
    bool found = cannoli_io_find(mr, offset, &range);
    const char *region = mr->name ? mr->name : "";
    const char *device = name_of(mr->owner);
    size_t region_len = strlen(region), device_len = strlen(device);
    uint32_t n = 2 * 4 + 3 * 8 + 2 + region_len + 2 + device_len;
    uint8_t *p = cannoli_queue_event(CTR_EVENT_IO, n);

    if (range.port) {
        flags |= CTR_IO_PORT;
    }
    cannoli_put32(&p, flags);
    cannoli_put32(&p, size);
    cannoli_put64(&p, found ? range.addr + (offset - range.offset)
                            : address_in_container(mr, offset));
    cannoli_put64(&p, offset);
    cannoli_put64(&p, value & MAKE_64BIT_MASK(0, size * 8));
    cannoli_put_str(&p, region, region_len);
    cannoli_put_str(&p, device, device_len);
    cannoli_queue_end();
}

void cannoli_io_read(MemoryRegion *mr, uint64_t offset, uint64_t value,
                     unsigned size, bool failed)
{
    if (accessed(mr)) {
        put_io(mr, offset, value, size, failed ? CTR_IO_FAILED : 0);
    }
}

void cannoli_io_write(MemoryRegion *mr, uint64_t offset, uint64_t value,
                      unsigned size, bool failed)
{
    if (accessed(mr)) {
        put_io(mr, offset, value, size,
               CTR_IO_WRITE | (failed ? CTR_IO_FAILED : 0));
    }
}

/* ---- begin ---- */

void cannoli_devices_begin(void)
{
    const uint32_t kinds = CTR_EVENTS_DMA | CTR_EVENTS_RAM | CTR_EVENTS_IO;

    if (cannoli_ctl->events & kinds) {
        cannoli_turns_begin();
    }
    if (!begun && cannoli_ctl->events & kinds) {
        cannoli_ram_begin();
        qatomic_store_release(&begun, true);
    }
}

/* A helper was left by longjmp. */
void cannoli_devices_left(void)
{
    writer.source = 0;
}
