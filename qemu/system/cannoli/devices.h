/*
 * Execution tracing into shared memory: the hooks of devices and memory
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * exec/cannoli.h explains hooks.  These are also called by code that is
 * compiled once for all targets.
 */
#ifndef SYSTEM_CANNOLI_DEVICES_H
#define SYSTEM_CANNOLI_DEVICES_H

#ifdef CONFIG_CANNOLI

struct AddressSpace;
struct MemoryRegion;
struct Object;

/*
 * turns.c: this thread waits for the big lock, or for that of record and
 * replay; has got the big one; goes on without it.
 */
void cannoli_bql_wait(void);
void cannoli_bql_got(void);
void cannoli_bql_leave(void);

/*
 * From here to the end of the scope that one of these is in, what this thread
 * writes to memory is written by this object; by the device whose region this
 * is; by the device that this address space belongs to, if it does; by QEMU.
 */
typedef struct CannoliWriter {
    uint32_t source;
    struct Object *object;
    const char *space;
} CannoliWriter;

CannoliWriter cannoli_writer_object(struct Object *object);
CannoliWriter cannoli_writer_region(const struct MemoryRegion *mr);
CannoliWriter cannoli_writer_space(const struct AddressSpace *as);
CannoliWriter cannoli_writer_host(void);
void cannoli_writer_restore(CannoliWriter *before);

#define CANNOLI_WRITER_SCOPE(how) \
    __attribute__((cleanup(cannoli_writer_restore), \
                   unused)) CannoliWriter cannoli_writer_before = how;
#define CANNOLI_WRITER_OBJECT(object) \
    CANNOLI_WRITER_SCOPE(cannoli_writer_object(object))
#define CANNOLI_WRITER_REGION(mr) \
    CANNOLI_WRITER_SCOPE(cannoli_writer_region(mr))
#define CANNOLI_WRITER_SPACE(as) CANNOLI_WRITER_SCOPE(cannoli_writer_space(as))
#define CANNOLI_WRITER_HOST()    CANNOLI_WRITER_SCOPE(cannoli_writer_host())

/* RAM was written: in a region, or where QEMU has it, by a page-table walk. */
void cannoli_ram_written(struct MemoryRegion *mr, uint64_t offset,
                         uint64_t size);
void cannoli_walk_wrote(const void *host, unsigned size);
/* The compare-and-swap by which x86 sets such bits; false: it has failed. */
bool cannoli_ad_set(void *host, uint32_t old, uint32_t new);

/*
 * A device's register: it was read, with this value, or not; this value will be
 * written to it, or not.
 */
void cannoli_io_read(struct MemoryRegion *mr, uint64_t offset, uint64_t value,
                     unsigned size, bool failed);
void cannoli_io_write(struct MemoryRegion *mr, uint64_t offset, uint64_t value,
                      unsigned size, bool failed);

/* power.c: a snapshot was loaded; was saved. */
void cannoli_loaded(void);
void cannoli_saved(void);

#else /* CONFIG_CANNOLI */

#define cannoli_bql_wait()
#define cannoli_bql_got()
#define cannoli_bql_leave()
#define CANNOLI_WRITER_OBJECT(object)
#define CANNOLI_WRITER_REGION(mr)
#define CANNOLI_WRITER_SPACE(as)
#define CANNOLI_WRITER_HOST()
#define cannoli_ram_written(mr, offset, size)
#define cannoli_walk_wrote(host, size)
#define cannoli_io_read(mr, offset, value, size, failed)
#define cannoli_io_write(mr, offset, value, size, failed)
#define cannoli_loaded()
#define cannoli_saved()

#endif /* CONFIG_CANNOLI */

#endif
