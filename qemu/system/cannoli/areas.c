/*
 * Execution tracing into shared memory: files that a Linux process has as code
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * When a task is back in user code, some fields of its mm_struct are compared
 * with those before: what changes executable areas, or replaces the program,
 * changes one of them.  Then all areas are visited, as the kernel itself does
 * without its lock (mm/mmap.c, lib/maple_tree.c), and what is new or gone is
 * recorded.
 *
 * All of these structures are allocated from the kernel's linear mapping of
 * RAM, as the task_struct is: the difference of virtual and physical address is
 * the same for all.  So it does not matter which page table the vCPU uses.
 *
 * The guest may have anything there, and may change it meanwhile: whatever is
 * read is a number, an address in RAM, or nothing, and each visit ends after so
 * many reads.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "cpu.h"
#include "accel/tcg/cannoli/event.h"
#include "memory.h"
#include "task.h"

#define VM_EXEC       4
#define LEAST_PAGE    4096u
#define MAX_READS     65536 /* of a visit */
#define MAX_AREAS     1024  /* that are recorded, of a process */
#define MAX_PARTS     128   /* of a path */
#define MAX_NAME      255
#define MAX_DEPTH     16   /* of a tree */
#define MAX_PROCESSES 8192 /* with more, all are forgotten */

/* Maple trees (include/linux/maple_tree.h) */
#define NODE_MASK     0xffull
#define NODE_LEAF     1
#define NODE_ARANGE   3
#define FIRST_POINTER 4096

typedef struct {
    uint64_t start, end, offset, file;
} Area;

typedef struct {
    uint64_t mm, exec_vm, start_code, start_stack, exe;
} Signature;

typedef struct {
    Signature signature;
    GArray *areas; /* Area, as they were recorded */
} Process;

typedef struct {
    CPUState *cpu;
    const CannoliAreaLayout *l;
    uint64_t linear; /* virtual minus physical address */
    unsigned reads;  /* left */
    unsigned page_shift;
    GArray *areas;
    uint64_t last; /* the end of the area before */
} Visit;

static GHashTable *processes; /* by tgid */
static uint32_t announced;    /* the set of buffers that has all of them */
static QemuMutex lock;        /* of these */
static bool stale;            /* they are to be forgotten */

static void __attribute__((constructor)) init_lock(void)
{
    qemu_mutex_init(&lock);
}

static bool peek(Visit *v, uint64_t addr, void *to, unsigned n)
{
    const uint8_t *p = v->reads && (int64_t)addr < 0
                           ? cannoli_ram_at(v->cpu, addr - v->linear, n)
                           : NULL;

    v->reads -= v->reads != 0;
    if (p) {
        memcpy(to, p, n);
    }
    return p != NULL;
}

static uint64_t peek64(Visit *v, uint64_t addr)
{
    uint8_t bytes[8];

    return peek(v, addr, bytes, 8) ? ldq_le_p(bytes) : 0;
}

/* ---- names of files ---- */

/* Puts the name of a directory entry before what is there; NULL: it cannot. */
static char *put_name(Visit *v, uint64_t dentry, char *begin, char *at)
{
    uint64_t from = peek64(v, dentry + v->l->d_name);
    unsigned left = LEAST_PAGE - (from & (LEAST_PAGE - 1));
    char name[MAX_NAME + 1] = "";
    unsigned n;

    /* At the end of RAM it is shorter. */
    if (!peek(v, from, name, MAX_NAME) &&
        !peek(v, from, name, MIN(left, MAX_NAME))) {
        return NULL;
    }
    n = strlen(name);
    if (!n || at - begin <= n) {
        return NULL;
    }
    if (n == 1 && *name == '/') {
        return at;
    }
    at -= n;
    memcpy(at, name, n);
    *--at = '/';
    return at;
}

/*
 * The path of a file, in the tree of all mounts, at the end of a buffer; empty
 * if it cannot be read.
 */
static char *path_of(Visit *v, uint64_t file, char *buffer, size_t size)
{
    const CannoliAreaLayout *l = v->l;
    uint64_t mnt = peek64(v, file + l->f_mnt);
    uint64_t dentry = peek64(v, file + l->f_dentry);
    char *at = buffer + size - 1;

    *at = 0;
    for (int i = 0; i < MAX_PARTS && dentry && mnt; i++) {
        uint64_t parent = peek64(v, dentry + l->d_parent);

        if (dentry == peek64(v, mnt + l->mnt_root)) {
            uint64_t mount = mnt - l->mount_mnt;
            uint64_t above = peek64(v, mount + l->mnt_parent);

            if (above == mount || !above) {
                break;
            }
            dentry = peek64(v, mount + l->mnt_mountpoint);
            mnt = above + l->mount_mnt;
            continue;
        }
        at = put_name(v, dentry, buffer, at);
        if (!at || parent == dentry) {
            break; /* parent: it is in no folder */
        }
        dentry = parent;
    }
    return v->reads && at ? at : buffer + size - 1;
}

/* ---- areas ---- */

/* One that is code of a file; areas come in ascending order. */
static void add_area(Visit *v, uint64_t vma)
{
    const CannoliAreaLayout *l = v->l;
    uint64_t flags = peek64(v, vma + l->vm_flags);
    Area a;

    if (!(flags & VM_EXEC) || v->areas->len == MAX_AREAS) {
        return;
    }
    a = (Area){
        .start = peek64(v, vma + l->vm_start),
        .end = peek64(v, vma + l->vm_end),
        .offset = peek64(v, vma + l->vm_pgoff) << v->page_shift,
        .file = peek64(v, vma + l->vm_file),
    };
    if (a.file && a.start < a.end && a.start >= v->last && (int64_t)a.end > 0) {
        v->last = a.end;
        g_array_append_val(v->areas, a);
    }
}

/* A node of a tree, up to the index max: leaves have areas. */
static void visit_node(Visit *v, uint64_t encoded, uint64_t max, int depth)
{
    const CannoliAreaLayout *l = v->l;
    unsigned type = encoded >> 3 & 0xf;
    bool arange = type == NODE_ARANGE;
    uint64_t node = encoded & ~NODE_MASK;
    uint32_t pivots = arange ? l->arange_pivot : l->range_pivot;
    uint32_t slots = arange ? l->arange_slot : l->range_slot;
    unsigned n = (slots - pivots) / 8 + 1;

    if (type < NODE_LEAF || type > NODE_ARANGE || depth == MAX_DEPTH) {
        return;
    }
    for (unsigned i = 0; i < n && v->reads; i++) {
        uint64_t last = i + 1 < n ? peek64(v, node + pivots + 8 * i) : max;
        uint64_t slot = peek64(v, node + slots + 8 * i);

        last = last || !i ? last : max; /* the end of a node may be left out */
        if (slot < FIRST_POINTER) {
            /* nothing, or the number of entries */
        } else if (type == NODE_LEAF) {
            add_area(v, slot);
        } else {
            visit_node(v, slot, last, depth + 1);
        }
        if (last >= max) {
            break;
        }
    }
}

static void visit(Visit *v, uint64_t mm)
{
    const CannoliAreaLayout *l = v->l;
    uint64_t root;

    if (l->tree) {
        root = peek64(v, mm + l->areas);
        if ((root & 3) == 2 && root > FIRST_POINTER) {
            visit_node(v, root, UINT64_MAX, 0);
        } else if (root > FIRST_POINTER) {
            add_area(v, root);
        }
        return;
    }
    for (root = peek64(v, mm + l->areas); root && v->reads;
         root = peek64(v, root + l->vm_next)) {
        add_area(v, root);
    }
}

/* ---- what is recorded ---- */

static void put_area(CPUState *cpu, uint32_t tgid, uint32_t flags,
                     const Area *a, const char *path)
{
    size_t len = strlen(path);
    uint32_t bytes = 2 * 4 + 3 * 8 + 2 + len;
    uint8_t *p = cannoli_event(cpu, CTR_EVENT_AREA, bytes, cannoli_now());

    if (p) {
        cannoli_put32(&p, tgid);
        cannoli_put32(&p, flags);
        cannoli_put64(&p, a->start);
        cannoli_put64(&p, a->end);
        cannoli_put64(&p, a->offset);
        cannoli_put_str(&p, path, len);
        cannoli_event_end(cpu, bytes);
    }
}

static bool has_area(const GArray *areas, const Area *a)
{
    for (unsigned i = 0; i < areas->len; i++) {
        if (!memcmp(&g_array_index(areas, Area, i), a, sizeof(*a))) {
            return true;
        }
    }
    return false;
}

/* What is in one and not in the other. */
static void put_difference(Visit *v, uint32_t tgid, const GArray *of,
                           const GArray *without, uint32_t flags)
{
    char path[CANNOLI_MAX_STR];

    for (unsigned i = 0; i < of->len; i++) {
        const Area *a = &g_array_index(of, Area, i);

        if (!has_area(without, a)) {
            put_area(v->cpu, tgid, flags, a,
                     flags & CTR_AREA_REMOVED
                         ? ""
                         : path_of(v, a->file, path, sizeof(path)));
        }
    }
}

static void free_process(gpointer data)
{
    Process *p = data;

    g_array_free(p->areas, true);
    g_free(p);
}

void cannoli_areas_forget(void)
{
    qatomic_set(&stale, true);
}

static Process *process_of(uint32_t tgid)
{
    Process *p;

    if (!processes) {
        processes = g_hash_table_new_full(NULL, NULL, NULL, free_process);
    }
    p = g_hash_table_lookup(processes, GUINT_TO_POINTER(tgid));
    if (!p) {
        if (g_hash_table_size(processes) >= MAX_PROCESSES) {
            g_hash_table_remove_all(processes);
        }
        p = g_new0(Process, 1);
        p->areas = g_array_new(false, false, sizeof(Area));
        g_hash_table_insert(processes, GUINT_TO_POINTER(tgid), p);
    }
    return p;
}

static void record(Visit *v, uint32_t tgid, Process *p, const Signature *now)
{
    const Area none = { 0 };

    visit(v, now->mm);
    if (!v->reads) {
        /* Too many to know which ones there are. */
        g_array_free(v->areas, true);
        p->signature = *now;
        return;
    }
    if (now->mm != p->signature.mm ||
        now->start_code != p->signature.start_code ||
        now->start_stack != p->signature.start_stack) {
        put_area(v->cpu, tgid, CTR_AREA_ANEW, &none, "");
        g_array_set_size(p->areas, 0);
    }
    put_difference(v, tgid, p->areas, v->areas, CTR_AREA_REMOVED);
    v->reads = MAX_READS;
    put_difference(v, tgid, v->areas, p->areas, 0);
    g_array_free(p->areas, true);
    p->areas = v->areas;
    p->signature = *now;
}

/* Of the kernel's pages, in which it counts offsets. */
static unsigned page_shift(CPUState *cpu)
{
#ifdef TARGET_AARCH64
    CPUARMState *env = cpu_env(cpu);
    static const uint8_t shifts[] = { 12, 16, 14, 12 }; /* TCR_ELx.TG0 */
    uint64_t tcr = env->cp15.tcr_el[cannoli_kernel_el(env)];

    return shifts[extract64(tcr, 14, 2)];
#else
    return 12;
#endif
}

/*
 * All processes are announced again in each set of buffers, so that a ring
 * knows them; vCPUs that run in parallel have no sets, but halves of seconds.
 */
static uint32_t set_of(const CannoliThread *t)
{
    return cannoli_parallel() ? cannoli_now() >> 29 : t->buffer->set;
}

void cannoli_areas(CPUState *cpu, uint32_t tgid, uint64_t mm, uint64_t linear)
{
    const CannoliTaskLayout *layout = cannoli_task_layout();
    uint32_t set = set_of(cannoli_cpu(cpu)->thread);
    Visit v = {
        .cpu = cpu,
        .linear = linear,
        .reads = MAX_READS,
        .page_shift = page_shift(cpu),
    };
    Signature now;
    Process *p;

    if (!layout) {
        return; /* another vCPU has been reset */
    }
    v.l = &layout->area;
    now = (Signature){
        .mm = mm,
        .exec_vm = peek64(&v, mm + v.l->exec_vm),
        .start_code = peek64(&v, mm + v.l->start_code),
        .start_stack = peek64(&v, mm + v.l->start_stack),
        .exe = peek64(&v, mm + v.l->exe_file),
    };
    cannoli_turn_wait(&lock);
    if ((announced != set || stale) && processes) {
        g_hash_table_remove_all(processes);
    }
    announced = set;
    qatomic_set(&stale, false);
    p = process_of(tgid);
    if (memcmp(&now, &p->signature, sizeof(now))) {
        v.areas = g_array_new(false, false, sizeof(Area));
        record(&v, tgid, p, &now);
    }
    qemu_mutex_unlock(&lock);
}
