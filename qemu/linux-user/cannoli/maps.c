/*
 * Execution tracing into shared memory: the guest's address space
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A process begins with its mappings as in its /proc/self/maps; each change
 * that succeeds follows.  The hooks are where QEMU makes the change for the
 * guest, under mmap_lock, so that the times give the order of all threads'
 * changes.  Files are named from the guest's descriptor: this opens no other,
 * which another thread of the guest could notice.
 */
#include "qemu/osdep.h"
#include "qemu.h"
#include "qemu/selfmap.h"
#include "user-internals.h"
#include "user-mmap.h"
#include "user/guest-host.h"
#include "target_mman.h"
#include "elf.h"
#include "event.h"
#include "expand.h"
#include "accel/tcg/cannoli/far.h"
#include "modules.h"
#include <sys/shm.h>

#define MAX_BUILD_ID 64
#define MAX_PHDRS    64
#define NT_BUILD_ID  3
#define MAX_LOADED   (64 * 1024)        /* mappings recorded with content */
#define MAX_NOTES    (16 * 1024)        /* bytes of a segment that are read */
#define MAX_SHARED   (64 * 1024 * 1024) /* mappings of files with content */

/* A change, or a mapping at the beginning. */
typedef struct Change {
    uint32_t op, prot, flags;
    uint64_t start, size, offset, old_start, old_size, dev, inode;
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_len;
} Change;

/* The process, or one that it was forked from, has used MADV_WIPEONFORK. */
static bool wipes_on_fork;

static CannoliThread *map_thread(CPUState *cpu)
{
    return (cannoli_map || cannoli_modules_on) && cpu ? cannoli_cpu(cpu)->thread
                                                      : NULL;
}

static void map_event(CPUState *cpu, const Change *c, uint64_t time)
{
    const char *path = c->path ? c->path : "";
    size_t len = MIN(strlen(path), CANNOLI_MAX_STR);
    uint32_t bytes = 4 * 4 + 7 * 8 + 2 + len + 2 + c->build_id_len;
    uint8_t *p = NULL;

    if (cannoli_map) {
        p = cannoli_event(cpu, CTR_EVENT_MAP, bytes, time);
    }
    if (!p) {
        return;
    }
    cannoli_put32(&p, c->op);
    cannoli_put32(&p, c->prot & (PROT_READ | PROT_WRITE | PROT_EXEC));
    cannoli_put32(&p, c->flags);
    cannoli_put32(&p, 0);
    cannoli_put64(&p, c->start);
    cannoli_put64(&p, c->size);
    cannoli_put64(&p, c->offset);
    cannoli_put64(&p, c->old_start);
    cannoli_put64(&p, c->old_size);
    cannoli_put64(&p, c->dev);
    cannoli_put64(&p, c->inode);
    cannoli_put_str(&p, path, len);
    cannoli_put_str(&p, c->build_id, c->build_id_len);
    cannoli_event_end(cpu, bytes);
}

static void update_modules(const Change *c)
{
    cannoli_apart++;
    switch (c->op) {
    case CTR_MAP_MUNMAP:
    case CTR_MAP_SHMDT:
        cannoli_module_unmap(c->start, c->size);
        break;
    case CTR_MAP_MREMAP:
        cannoli_module_move(c->start, c->size, c->old_start, c->old_size);
        break;
    case CTR_MAP_BRK:
        cannoli_module_unmap(c->old_start, c->old_size);
        /* fall through */
    case CTR_MAP_MMAP:
    case CTR_MAP_SHMAT:
    case CTR_MAP_INITIAL:
        cannoli_module_map(c->start, c->size, c->path, c->offset, c->dev,
                           c->inode);
        break;
    }
    cannoli_apart--;
}

/* Emits a change; errno is kept for the caller. */
static void changed(const Change *c)
{
    int saved_errno = errno;

    if (cannoli_modules_on) {
        update_modules(c);
    }
    map_event(thread_cpu, c, cannoli_now());
    errno = saved_errno;
}

/* ---- build ids: of files that may be anything ---- */

/* An ELF file, or what is mapped of it. */
typedef struct Image {
    int fd; /* or -1 */
    abi_ulong addr;
    uint64_t size;
    bool is64, be;
} Image;

static bool image_read(const Image *im, uint64_t off, void *to, uint32_t n)
{
    if (off > im->size || n > im->size - off) {
        return false;
    }
    if (im->fd >= 0) {
        return pread(im->fd, to, n, off) == n;
    }
    return cannoli_peek(to, im->addr + off, n) == n;
}

static uint64_t image_number(const Image *im, const uint8_t *p, unsigned bytes)
{
    switch (bytes) {
    case 2:
        return im->be ? lduw_be_p(p) : lduw_le_p(p);
    case 4:
        return (uint32_t)(im->be ? ldl_be_p(p) : ldl_le_p(p));
    default:
        return im->be ? ldq_be_p(p) : ldq_le_p(p);
    }
}

/* Finds the build id among the notes; returns its length or 0. */
static uint32_t find_note(const Image *im, const uint8_t *notes, uint32_t n,
                          uint8_t id[MAX_BUILD_ID])
{
    for (uint32_t at = 0; n - at >= 12;) {
        uint64_t name = image_number(im, notes + at, 4);
        uint64_t desc = image_number(im, notes + at + 4, 4);
        uint64_t type = image_number(im, notes + at + 8, 4);
        uint64_t desc_at = at + 12 + ROUND_UP(name, 4);
        uint64_t next = desc_at + ROUND_UP(desc, 4);

        if (desc_at + desc > n) {
            break;
        }
        if (type == NT_BUILD_ID && name == 4 &&
            !memcmp(notes + at + 12, "GNU", 4) && desc <= MAX_BUILD_ID) {
            memcpy(id, notes + desc_at, desc);
            return desc;
        }
        if (next > n) {
            break;
        }
        at = next;
    }
    return 0;
}

static uint32_t find_build_id(Image *im, uint8_t id[MAX_BUILD_ID])
{
    uint8_t eh[64], ph[56];
    uint64_t phoff;
    uint32_t phnum, phsize, len = 0;
    unsigned word;

    if (!image_read(im, 0, eh, 52) || memcmp(eh, ELFMAG, SELFMAG)) {
        return 0;
    }
    im->is64 = eh[EI_CLASS] == ELFCLASS64;
    im->be = eh[EI_DATA] == ELFDATA2MSB;
    word = im->is64 ? 8 : 4;
    if (im->is64 && !image_read(im, 0, eh, 64)) {
        return 0;
    }
    phoff = image_number(im, eh + (im->is64 ? 32 : 28), word);
    phsize = image_number(im, eh + (im->is64 ? 54 : 42), 2);
    phnum = image_number(im, eh + (im->is64 ? 56 : 44), 2);
    if (phsize != (im->is64 ? 56 : 32) || phnum > MAX_PHDRS ||
        phoff > im->size) {
        return 0;
    }
    for (uint32_t i = 0; i < phnum && !len; i++) {
        uint64_t off, size;
        g_autofree uint8_t *notes = NULL;

        if (!image_read(im, phoff + i * phsize, ph, phsize)) {
            break;
        }
        if (image_number(im, ph, 4) != PT_NOTE) {
            continue;
        }
        off = image_number(im, ph + (im->is64 ? 8 : 4), word);
        size = image_number(im, ph + (im->is64 ? 32 : 16), word);
        size = MIN(size, MAX_NOTES);
        notes = g_malloc(size + 1);
        if (image_read(im, off, notes, size)) {
            len = find_note(im, notes, size, id);
        }
    }
    return len;
}

/*
 * Memory with contents that are in no file: what the loader has filled (vdso,
 * code for signal returns, descriptor tables), and files that others can write
 * to.  Pages of zeros follow from the mapping.
 */
static void loaded(CPUState *cpu, abi_ulong start, abi_ulong last,
                   unsigned long prot)
{
    g_autofree uint8_t *page = g_malloc(TARGET_PAGE_SIZE);

    if (!(prot & PAGE_READ)) {
        return;
    }
    for (uint64_t at = start; at < last; at += TARGET_PAGE_SIZE) {
        if (cannoli_peek(page, at, TARGET_PAGE_SIZE) == TARGET_PAGE_SIZE &&
            (page[0] || memcmp(page, page + 1, TARGET_PAGE_SIZE - 1))) {
            cannoli_record_write(cpu, at, TARGET_PAGE_SIZE);
        }
    }
}

/* ---- changes ---- */

/* The flags that the guest itself gave to the mmap that follows. */
void cannoli_mmap_flags(int flags)
{
    CannoliThread *t = map_thread(thread_cpu);

    if (t) {
        t->sys.has_map_flags = true;
        t->sys.map_flags = flags;
    }
}

/* The next mapping or unmapping moves the end of the heap. */
void cannoli_brk(uint64_t heap, uint64_t old_end, uint64_t new_end)
{
    CannoliThread *t = map_thread(thread_cpu);

    if (t) {
        t->sys.brk = true;
        t->sys.heap = heap;
        t->sys.heap_end = old_end;
        t->sys.new_heap_end = new_end;
    }
}

/* Whether this was a change of the heap, which is then recorded. */
static bool was_brk(CannoliThread *t, bool failed)
{
    if (!t->sys.brk) {
        return false;
    }
    t->sys.brk = false;
    if (!failed) {
        changed(&(Change){
            .op = CTR_MAP_BRK,
            .prot = PROT_READ | PROT_WRITE,
            .flags = TARGET_MAP_PRIVATE | TARGET_MAP_ANONYMOUS,
            .start = t->sys.heap,
            .size = t->sys.new_heap_end - t->sys.heap,
            .old_start = t->sys.heap,
            .old_size = t->sys.heap_end - t->sys.heap,
            .path = "[heap]",
        });
    }
    return true;
}

void cannoli_mmap(int64_t ret, uint64_t len, int prot, int flags, int fd,
                  uint64_t offset)
{
    CannoliThread *t = map_thread(thread_cpu);
    char path[PATH_MAX], name[32];
    uint8_t id[MAX_BUILD_ID];
    Change c = {
        .op = CTR_MAP_MMAP,
        .prot = prot,
        .flags = flags,
        .start = (abi_ulong)ret,
        .size = len,
        .build_id = id,
    };
    struct stat st;
    int saved_errno = errno;
    ssize_t n;

    if (!t && ret != -1 && !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))) {
        cannoli_light_placed(ret);
    }
    if (!t && ret == -1 && flags & MAP_FIXED_NOREPLACE && cannoli_expanding) {
        _exit(INPUTS_STATUS_PLACE);
    }
    if (!t || was_brk(t, ret == -1)) {
        return;
    }
    if (t->sys.has_map_flags) {
        t->sys.has_map_flags = false;
        c.flags = t->sys.map_flags;
    }
    if (ret == -1) {
        return;
    }
    if (flags & MAP_ANONYMOUS) {
        if ((flags & MAP_TYPE) != MAP_PRIVATE) {
            c.path = "/dev/zero (deleted)";
        }
    } else if (fstat(fd, &st) == 0) {
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        n = readlink(name, path, sizeof(path) - 1);
        path[MAX(n, 0)] = 0;
        c.path = path;
        c.offset = offset;
        c.dev = st.st_dev;
        c.inode = st.st_ino;
        if (offset == 0 && S_ISREG(st.st_mode) && cannoli_map) {
            Image im = { .fd = fd, .size = st.st_size };

            c.build_id_len = find_build_id(&im, id);
        }
    }
    changed(&c);
    if (cannoli_ctl->events & CTR_EVENTS_INPUT && !(flags & MAP_ANONYMOUS) &&
        (flags & MAP_TYPE) != MAP_PRIVATE && prot & PROT_WRITE &&
        len < MAX_SHARED) {
        loaded(thread_cpu, c.start, c.start + len - 1, PAGE_READ);
    }
    errno = saved_errno;
}

void cannoli_munmap(uint64_t start, uint64_t len)
{
    CannoliThread *t = map_thread(thread_cpu);

    if (t && !was_brk(t, false)) {
        changed(&(Change){
            .op = CTR_MAP_MUNMAP,
            .start = start,
            .size = TARGET_PAGE_ALIGN(len),
        });
    }
}

/*
 * The protection is about to change.  Where guest addresses are reserved on the
 * host, protecting unmapped memory succeeds and makes it mapped.
 */
void cannoli_mprotect(uint64_t start, uint64_t len, int prot)
{
    target_ulong hole = start, last = start + len - 1, end;

    if (!map_thread(thread_cpu)) {
        return;
    }
    for (;;) {
        hole = page_find_range_empty(hole, last, TARGET_PAGE_SIZE,
                                     TARGET_PAGE_SIZE);
        if (hole == (target_ulong)-1) {
            break;
        }
        end = hole;
        do {
            end += TARGET_PAGE_SIZE;
        } while (end - 1 < last && !page_get_flags(end));
        changed(&(Change){
            .op = CTR_MAP_MMAP,
            .prot = prot,
            .start = hole,
            .size = end - hole,
            .flags = TARGET_MAP_PRIVATE | TARGET_MAP_ANONYMOUS,
        });
        if (end - 1 >= last) {
            break;
        }
        hole = end;
    }
    changed(&(Change){
        .op = CTR_MAP_MPROTECT,
        .prot = prot,
        .start = start,
        .size = len,
    });
}

/*
 * What private pages held is lost, or will be in a forked child: of some pages
 * even if it failed for others.
 */
void cannoli_madvise(uint64_t start, uint64_t len, int advice, int ret)
{
    if (advice == MADV_WIPEONFORK) {
        wipes_on_fork = true;
    } else if (advice == MADV_DONTNEED && ret == 0 && map_thread(thread_cpu)) {
        changed(&(Change){
            .op = CTR_MAP_DISCARD,
            .start = start,
            .size = len,
        });
    }
}

void cannoli_mremap(uint64_t start, uint64_t len, uint64_t old_start,
                    uint64_t old_len, int flags, int prot)
{
    if (map_thread(thread_cpu)) {
        changed(&(Change){
            .op = CTR_MAP_MREMAP,
            .prot = prot,
            /* For the guest the old range is always unmapped. */
            .flags = flags & (MREMAP_MAYMOVE | MREMAP_FIXED),
            .start = start,
            .size = TARGET_PAGE_ALIGN(len),
            .old_start = old_start,
            .old_size = TARGET_PAGE_ALIGN(old_len),
        });
    }
}

void cannoli_shmat(uint64_t start, uint64_t len, int shmid, unsigned key,
                   int flags)
{
    char path[40];

    if (map_thread(thread_cpu)) {
        snprintf(path, sizeof(path), "/SYSV%08x (deleted)", key);
        changed(&(Change){
            .op = CTR_MAP_SHMAT,
            .flags = TARGET_MAP_SHARED,
            .prot = PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) |
                    (flags & SHM_EXEC ? PROT_EXEC : 0),
            .start = start,
            .size = len,
            .path = path,
            .inode = shmid,
        });
    }
}

void cannoli_shmdt(uint64_t start, uint64_t len)
{
    if (map_thread(thread_cpu)) {
        changed(&(Change){
            .op = CTR_MAP_SHMDT,
            .start = start,
            .size = len,
        });
    }
}

/* ---- at the beginning ---- */

typedef struct Walk {
    CPUState *cpu;
    bool new_program;
    IntervalTreeRoot *host;
    uint64_t time;
    abi_ulong stack_first, stack_last; /* mapping that the stack begins in */
} Walk;

static bool is_stack(const struct image_info *info, abi_ulong start,
                     abi_ulong last)
{
#ifdef TARGET_HPPA
    return last + 1 == info->stack_limit;
#else
    return start == info->stack_limit;
#endif
}

/* As open_self_maps_4: start to last is one host mapping, mi. */
static void initial_event(Walk *w, const MapInfo *mi, abi_ulong start,
                          abi_ulong last, unsigned long prot)
{
    const struct image_info *info = get_task_state(w->cpu)->info;
    uint8_t id[MAX_BUILD_ID];
    Change c = {
        .op = CTR_MAP_INITIAL,
        .build_id = id,
        .prot = (prot & (PAGE_READ | PAGE_EXEC)) |
                (prot & PAGE_WRITE_ORG ? PROT_WRITE : 0),
        .flags = TARGET_MAP_PRIVATE,
        .start = start,
        .size = (uint64_t)last - start + 1,
    };

    if (mi) {
        c.flags = mi->is_priv ? TARGET_MAP_PRIVATE : TARGET_MAP_SHARED;
        c.dev = mi->dev;
        c.inode = mi->inode;
        c.path = mi->path;
        if (mi->dev) {
            c.offset =
                mi->offset + ((uintptr_t)g2h_untagged(start) - mi->itree.start);
        }
    }
    if (is_stack(info, start, last)) {
        c.path = "[stack]";
    } else if (start == info->brk) {
        c.path = "[heap]";
    } else if (start == info->vdso) {
        c.path = "[vdso]";
#ifdef TARGET_X86_64
    } else if (start == TARGET_VSYSCALL_PAGE) {
        c.path = "[vsyscall]";
#endif
    }
    if (w->new_program && cannoli_modules_on) {
        update_modules(&c);
    }
    if (cannoli_map && mi && c.offset == 0 && (c.prot & PROT_READ) &&
        (c.inode || start == info->vdso)) {
        Image im = { .fd = -1, .addr = start, .size = c.size };

        c.build_id_len = find_build_id(&im, id);
    }
    map_event(w->cpu, &c, w->time);
}

static void initial(Walk *w, const MapInfo *mi, abi_ulong start, abi_ulong last,
                    unsigned long prot)
{
    const struct image_info *info = get_task_state(w->cpu)->info;

    if (cannoli_map || cannoli_modules_on) {
        initial_event(w, mi, start, last, prot);
    }
    if (info->start_stack >= start && info->start_stack <= last) {
        w->stack_first = start;
        w->stack_last = last;
    } else if (w->new_program && cannoli_sys && !(mi && mi->inode) &&
               last - start < MAX_LOADED) {
        loaded(w->cpu, start, last, prot);
    }
}

static int initial_region(void *opaque, target_ulong start, target_ulong end,
                          unsigned long prot)
{
    Walk *w = opaque;
    target_ulong last = end - 1, upto;

    do {
        uintptr_t host_start = (uintptr_t)g2h_untagged(start);
        uintptr_t host_last = (uintptr_t)g2h_untagged(last);
        IntervalTreeNode *n = NULL;

        if (w->host) {
            n = interval_tree_iter_first(w->host, host_start, host_start);
        }
        upto = n && n->last < host_last ? h2g(n->last) : last;
        initial(w, n ? container_of(n, MapInfo, itree) : NULL, start, upto,
                prot);
        start = upto + 1;
    } while (upto != last);
    return 0;
}

static void wiped_event(CPUState *cpu, uintptr_t start, uintptr_t last,
                        uint64_t time)
{
    if (h2g_valid(start) && h2g_valid(last) &&
        page_get_flags(h2g_nocheck(start)) & PAGE_VALID) {
        map_event(cpu,
                  &(Change){
                      .op = CTR_MAP_DISCARD,
                      .start = h2g_nocheck(start),
                      .size = (uint64_t)last - start + 1,
                  },
                  time);
    }
}

/*
 * In a forked child: memory that the kernel did not copy holds zeros.  The
 * kernel says which, as the advice follows a mapping wherever it is moved.
 */
static void wiped(CPUState *cpu, uint64_t time)
{
    g_autofree char *line = NULL;
    FILE *smaps = fopen("/proc/self/smaps", "re");
    uintptr_t from, start = 0, end = 0;
    size_t cap = 0;
    int n;

    while (smaps && getline(&line, &cap, smaps) > 0) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %n", &from, &end, &n) ==
            2) {
            start = from;
        } else if (g_str_has_prefix(line, "VmFlags:") && strstr(line, " wf")) {
            wiped_event(cpu, start, end - 1, time);
        }
    }
    if (smaps) {
        fclose(smaps);
    }
}

void cannoli_maps_initial(CPUState *cpu, bool new_program)
{
    const struct image_info *info = get_task_state(cpu)->info;
    Walk w = { .cpu = cpu, .new_program = new_program };

    if (!cannoli_map && !((cannoli_sys || cannoli_modules_on) && new_program)) {
        return;
    }
    mmap_lock();
    cannoli_apart++;
    w.host = read_self_maps();
    w.time = cannoli_now();
    walk_memory_regions(&w, initial_region);
    if (wipes_on_fork && cannoli_map) {
        wiped(cpu, w.time);
    }
    if (w.host) {
        free_self_maps(w.host);
    }
    cannoli_apart--;
    mmap_unlock();
    if (new_program && w.stack_last) {
#ifdef TARGET_HPPA
        cannoli_record_write(cpu, w.stack_first,
                             info->start_stack - w.stack_first);
#else
        cannoli_record_write(cpu, info->start_stack,
                             (uint64_t)w.stack_last - info->start_stack + 1);
#endif
    }
}
