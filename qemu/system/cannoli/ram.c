/*
 * Execution tracing into shared memory: where memory is, and what is in it
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What RAM holds when it is first recorded, or when it appears at an address
 * later, is reported before the vCPU goes on: runs of pages that hold one byte
 * only (most of a machine's RAM holds 0), pages that equal one that was
 * reported with them, and the bytes of the others.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/address-spaces.h"
#include "memory.h"

#define PAGE        4096u /* the unit of what is compared, of any target */
#define PIECE_PAGES (CANNOLI_PIECE / PAGE)

/* Of CannoliRange: */
static QemuMutex lock;   /* of mapped and devices */
static GArray *mapped;   /* memory, ascending, as it is now */
static GArray *reported; /* the same, as it was reported last */
static GArray *devices;  /* what is no memory */
static bool anew;

bool cannoli_ram_changed; /* it is not as it was reported */

static void __attribute__((constructor)) init_lock(void)
{
    qemu_mutex_init(&lock);
}

static void changed(void)
{
    qatomic_set(&cannoli_ram_changed, cannoli_ctl->events & CTR_EVENTS_RAM);
    cannoli_queue_wake();
}

/* ---- where it is ---- */

static bool is_memory(const MemoryRegionSection *s)
{
    return (memory_region_is_ram(s->mr) &&
            !memory_region_is_ram_device(s->mr)) ||
           memory_region_is_romd(s->mr);
}

static guint place_of(const GArray *ranges, uint64_t addr)
{
    guint i = 0;

    while (i < ranges->len &&
           g_array_index(ranges, CannoliRange, i).addr < addr) {
        i++;
    }
    return i;
}

static void region_add(MemoryListener *listener, MemoryRegionSection *s)
{
    GArray *ranges = is_memory(s) ? mapped : devices;
    CannoliRange range = {
        .addr = s->offset_within_address_space,
        .size = int128_get64(int128_min(s->size, int128_make64(INT64_MAX))),
        .offset = s->offset_within_region,
        .mr = s->mr,
        .rom = s->readonly || s->mr->rom_device,
        .port = s->fv->root == get_system_io(),
    };

    WITH_QEMU_LOCK_GUARD(&lock)
    {
        g_array_insert_val(ranges, place_of(ranges, range.addr), range);
    }
    if (ranges == mapped) {
        changed();
    }
}

/* Returns false if it is not one of these. */
static bool remove_range(GArray *ranges, const MemoryRegionSection *s)
{
    QEMU_LOCK_GUARD(&lock);
    for (guint i = 0; i < ranges->len; i++) {
        const CannoliRange *r = &g_array_index(ranges, CannoliRange, i);

        if (r->mr == s->mr && r->addr == s->offset_within_address_space) {
            g_array_remove_index(ranges, i);
            return true;
        }
    }
    return false;
}

static void region_del(MemoryListener *listener, MemoryRegionSection *s)
{
    if (remove_range(mapped, s)) {
        changed();
    } else {
        remove_range(devices, s);
    }
}

static MemoryListener memory_listener = {
    .name = "cannoli",
    .region_add = region_add,
    .region_del = region_del,
}, port_listener = {
    .name = "cannoli-ports",
    .region_add = region_add,
    .region_del = region_del,
};

void cannoli_ram_begin(void)
{
    mapped = g_array_new(false, false, sizeof(CannoliRange));
    reported = g_array_new(false, false, sizeof(CannoliRange));
    devices = g_array_new(false, false, sizeof(CannoliRange));
    bql_lock();
    memory_listener_register(&memory_listener, &address_space_memory);
    memory_listener_register(&port_listener, &address_space_io);
    bql_unlock();
}

static bool find_range(const GArray *ranges, const MemoryRegion *mr,
                       uint64_t offset, CannoliRange *to)
{
    QEMU_LOCK_GUARD(&lock);
    for (guint i = 0; i < ranges->len; i++) {
        const CannoliRange *r = &g_array_index(ranges, CannoliRange, i);

        if (r->mr == mr && offset - r->offset < r->size) {
            *to = *r;
            return true;
        }
    }
    return false;
}

bool cannoli_ram_find(const MemoryRegion *mr, uint64_t offset, CannoliRange *to)
{
    return find_range(mapped, mr, offset, to);
}

bool cannoli_io_find(const MemoryRegion *mr, uint64_t offset, CannoliRange *to)
{
    return find_range(devices, mr, offset, to);
}

void cannoli_ram_anew(void)
{
    if (mapped) {
        /* The reset before it has written to what is void now. */
        cannoli_queue_drop(CTR_EVENT_DMA);
        anew = true;
        changed();
    }
}

/* ---- what is in it ---- */

typedef struct {
    CPUState *cpu;
    GHashTable *pages; /* hash of a page: its Reported */
    /* Of the range that is being reported: */
    const char *name;
    const uint8_t *host; /* its first byte */
    uint64_t addr, offset;
    /* Pages that are not reported yet, all of one kind: */
    uint32_t op;
    uint64_t first, end; /* offsets in the range */
    uint64_t from;       /* SAME: physical address of the first one */
    uint8_t fill;        /* BYTES: of all of them, if `filled' */
    bool filled;
} Reporter;

typedef struct {
    const uint8_t *host;
    uint64_t addr;
} Reported;

static void put_ram(CPUState *cpu, uint32_t op, uint32_t fill, uint64_t size,
                    uint64_t addr, uint64_t offset, uint64_t from,
                    const char *name, const void *bytes, uint32_t n)
{
    size_t len = strlen(name);
    uint32_t all = 2 * 4 + 4 * 8 + 2 + len + 4 + n;
    uint8_t *p = cannoli_event(cpu, CTR_EVENT_RAM, all, cannoli_now());

    if (p) {
        cannoli_put32(&p, op);
        cannoli_put32(&p, fill);
        cannoli_put64(&p, size);
        cannoli_put64(&p, addr);
        cannoli_put64(&p, offset);
        cannoli_put64(&p, from);
        cannoli_put_str(&p, name, len);
        cannoli_put32(&p, n);
        memcpy(p, bytes, n);
        cannoli_event_end(cpu, all);
    }
}

static void put_pages(Reporter *t)
{
    uint64_t size = t->end - t->first;

    if (size) {
        put_ram(t->cpu, t->op, t->fill, size, t->addr + t->first,
                t->offset + t->first, t->from, t->name, t->host + t->first,
                t->op == CTR_RAM_BYTES && !t->filled ? size : 0);
    }
    t->first = t->end;
}

static void add_page(Reporter *t, uint32_t op, bool filled, uint8_t fill,
                     uint64_t from, uint64_t size)
{
    uint64_t so_far = t->end - t->first;
    bool goes_on =
        t->op == op && t->filled == filled && t->fill == fill &&
        (op != CTR_RAM_SAME || from == t->from + so_far) &&
        (op != CTR_RAM_BYTES || filled || so_far + size <= PIECE_PAGES * PAGE);

    if (!goes_on) {
        put_pages(t);
        t->op = op;
        t->filled = filled;
        t->fill = fill;
        t->from = from;
    }
    t->end += size;
}

/* Where the same page was reported; NULL: nowhere, but here from now on. */
static const Reported *find_same(Reporter *t, const uint8_t *page,
                                 uint64_t addr)
{
    gpointer hash = GUINT_TO_POINTER(cannoli_hash(page, PAGE));
    Reported *same = g_hash_table_lookup(t->pages, hash);

    if (same) {
        return memcmp(same->host, page, PAGE) ? NULL : same;
    }
    same = g_new(Reported, 1);
    *same = (Reported){ page, addr };
    g_hash_table_insert(t->pages, hash, same);
    return NULL;
}

static void report_page(Reporter *t, uint64_t at, uint64_t size)
{
    const uint8_t *page = t->host + at;
    const Reported *same;

    if (buffer_is_zero(page, size)) {
        add_page(t, CTR_RAM_BYTES, true, 0, 0, size);
    } else if (!memcmp(page, page + 1, size - 1)) {
        add_page(t, CTR_RAM_BYTES, true, page[0], 0, size);
    } else if (size == PAGE && (same = find_same(t, page, t->addr + at))) {
        add_page(t, CTR_RAM_SAME, false, 0, same->addr, size);
    } else {
        add_page(t, CTR_RAM_BYTES, false, 0, 0, size);
    }
}

/* A part of a range, at `at' in it. */
static void report_part(Reporter *t, const CannoliRange *range, uint64_t at,
                        uint64_t size)
{
    t->name = range->mr->ram_block->idstr;
    t->addr = range->addr + at;
    t->offset = range->offset + at;
    t->host = range->mr->ram_block->host + t->offset;
    t->first = t->end = 0;
    put_ram(t->cpu, CTR_RAM_MAP, range->rom ? CTR_RAM_ROM : 0, size, t->addr,
            t->offset, 0, t->name, NULL, 0);
    for (uint64_t i = 0; i < size; i += PAGE) {
        report_page(t, i, MIN(PAGE, size - i));
    }
    put_pages(t);
}

typedef void PartFn(Reporter *t, const CannoliRange *range, uint64_t at,
                    uint64_t size);

/* The parts of `range' that are not the same in `others'. */
static void for_parts(Reporter *t, const CannoliRange *range,
                      const GArray *others, PartFn *fn)
{
    uint64_t at = 0;

    for (guint i = 0; i < others->len && at < range->size; i++) {
        const CannoliRange *o = &g_array_index(others, CannoliRange, i);
        uint64_t start, end;

        if (o->mr != range->mr || o->rom != range->rom ||
            o->addr - o->offset != range->addr - range->offset ||
            o->addr >= range->addr + range->size ||
            o->addr + o->size <= range->addr + at) {
            continue;
        }
        start = MAX(o->addr, range->addr) - range->addr;
        end = MIN(o->addr + o->size, range->addr + range->size) - range->addr;
        if (start > at) {
            fn(t, range, at, start - at);
        }
        at = end;
    }
    if (at < range->size) {
        fn(t, range, at, range->size - at);
    }
}

static void report_gone(Reporter *t, const CannoliRange *range, uint64_t at,
                        uint64_t size)
{
    put_ram(t->cpu, CTR_RAM_UNMAP, 0, size, range->addr + at, 0, 0, "", NULL,
            0);
}

void cannoli_ram_report(CPUState *cpu)
{
    Reporter t = { .cpu = cpu };
    GArray *was = reported;

    qatomic_set(&cannoli_ram_changed, false);
    if (anew) {
        anew = false;
        g_array_set_size(was, 0);
        put_ram(cpu, CTR_RAM_ANEW, 0, 0, 0, 0, 0, "", NULL, 0);
    }
    t.pages = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    for (guint i = 0; i < was->len; i++) {
        for_parts(&t, &g_array_index(was, CannoliRange, i), mapped,
                  report_gone);
    }
    for (guint i = 0; i < mapped->len; i++) {
        for_parts(&t, &g_array_index(mapped, CannoliRange, i), was,
                  report_part);
    }
    g_hash_table_unref(t.pages);
    reported = g_array_copy(mapped);
    g_array_unref(was);
}
