/*
 * Execution tracing into shared memory: type information of a kernel
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A Linux kernel with CONFIG_DEBUG_INFO_BTF has a description of all of its
 * types in its memory, for BPF programs: a header, the types, and the strings
 * with their names (Documentation/bpf/btf.rst of the kernel).  It is found by
 * its header, wherever the kernel is.  The guest may have anything there:
 * nothing is used before it was checked.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "qemu/rcu.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "task.h"

#define HEADER_BYTES 24u
#define MAX_BYTES    (64u << 20)
#define TYPE_BYTES   12u
#define PIECE        (64u << 10) /* of RAM that is searched at a time */
#define MAX_DEPTH    8           /* of anonymous structures in another */

/* A guest's memory decides how much work it makes: so much for a search, ... */
#define MAX_WORK    (1ull << 30) /* in bytes that are read */
#define MEMBER_WORK 64           /* ... where a member counts as so many */

enum {
    KIND_INT = 1,
    KIND_ARRAY = 3,
    KIND_STRUCT = 4,
    KIND_UNION = 5,
    KIND_ENUM = 6,
    KIND_FUNC_PROTO = 13,
    KIND_VAR = 14,
    KIND_DATASEC = 15,
    KIND_DECL_TAG = 17,
    KIND_ENUM64 = 19,
    KINDS
};

typedef struct {
    const uint8_t *types;
    uint32_t type_bytes;
    const char *strings; /* the last byte is 0 */
    uint32_t string_bytes;
    GArray *at;     /* uint32_t: where type 1, 2 ... begins */
    uint64_t *work; /* left */
} Btf;

static bool afford(uint64_t *work, uint64_t cost)
{
    bool ok = cost <= *work;

    *work = ok ? *work - cost : 0;
    return ok;
}

static const uint8_t *type_at(const Btf *b, uint32_t id)
{
    return id && id <= b->at->len
               ? b->types + g_array_index(b->at, uint32_t, id - 1)
               : NULL;
}

static const char *name_at(const Btf *b, uint32_t off)
{
    return off < b->string_bytes ? b->strings + off : "";
}

static const char *name_of(const Btf *b, const uint8_t *type)
{
    return name_at(b, ldl_le_p(type));
}

static unsigned kind_of(const uint8_t *type)
{
    return ldl_le_p(type + 4) >> 24 & 0x1f;
}

static unsigned length_of(const uint8_t *type)
{
    return ldl_le_p(type + 4) & 0xffff;
}

/* The bytes after the first three words. */
static uint32_t more_bytes(const uint8_t *type)
{
    static const uint8_t once[KINDS] = {
        [KIND_INT] = 4,
        [KIND_ARRAY] = 12,
        [KIND_VAR] = 4,
        [KIND_DECL_TAG] = 4,
    }, each[KINDS] = {
        [KIND_STRUCT] = 12,
        [KIND_UNION] = 12,
        [KIND_ENUM] = 8,
        [KIND_FUNC_PROTO] = 8,
        [KIND_DATASEC] = 12,
        [KIND_ENUM64] = 12,
    };
    unsigned kind = kind_of(type);

    return kind < KINDS ? once[kind] + each[kind] * length_of(type) : 0;
}

/* Finds where each type begins; false: that is no list of types. */
static bool list_types(Btf *b)
{
    for (uint32_t at = 0; at < b->type_bytes;) {
        const uint8_t *type = b->types + at;
        uint32_t left = b->type_bytes - at;

        if (left < TYPE_BYTES || !kind_of(type) || kind_of(type) >= KINDS ||
            more_bytes(type) > left - TYPE_BYTES) {
            return false;
        }
        g_array_append_val(b->at, at);
        at += TYPE_BYTES + more_bytes(type);
    }
    return true;
}

static const uint8_t *find_type(const Btf *b, unsigned kind, const char *name)
{
    for (uint32_t id = 1; id <= b->at->len; id++) {
        const uint8_t *type = type_at(b, id);

        if (kind_of(type) == kind && !strcmp(name_of(b, type), name)) {
            return type;
        }
    }
    return NULL;
}

/* The offset of a member in bytes, also of an anonymous structure in it. */
static bool find_member(const Btf *b, const uint8_t *type, const char *name,
                        uint32_t *offset, int depth)
{
    bool fields = type && ldl_le_p(type + 4) >> 31;

    if (!type || depth == MAX_DEPTH ||
        (kind_of(type) != KIND_STRUCT && kind_of(type) != KIND_UNION)) {
        return false;
    }
    for (unsigned i = 0; i < length_of(type); i++) {
        const uint8_t *m = type + TYPE_BYTES + 12 * i;
        const char *own = name_of(b, m);
        uint32_t bits = ldl_le_p(m + 8) & (fields ? 0xffffff : UINT32_MAX);
        uint32_t inside = 0;

        if (!afford(b->work, MEMBER_WORK)) {
            return false;
        }
        if (!strcmp(own, name) ||
            (!*own && find_member(b, type_at(b, ldl_le_p(m + 4)), name, &inside,
                                  depth + 1))) {
            *offset = bits / 8 + inside;
            return true;
        }
    }
    return false;
}

#ifdef TARGET_X86_64
/*
 * The vCPU's own variable: current_task, or the member of pcpu_hot (Linux
 * 6.2 to 6.14).
 */
static bool find_current(const Btf *b, int64_t *current)
{
    for (uint32_t id = 1; id <= b->at->len; id++) {
        const uint8_t *section = type_at(b, id);

        if (kind_of(section) != KIND_DATASEC ||
            !g_str_has_prefix(name_of(b, section), ".data..percpu")) {
            continue;
        }
        for (unsigned i = 0; i < length_of(section); i++) {
            const uint8_t *row = section + TYPE_BYTES + 12 * i;
            const uint8_t *var = type_at(b, ldl_le_p(row));
            uint32_t inside = 0;

            if (var && kind_of(var) == KIND_VAR &&
                (!strcmp(name_of(b, var), "current_task") ||
                 (!strcmp(name_of(b, var), "pcpu_hot") &&
                  find_member(b, type_at(b, ldl_le_p(var + 8)), "current_task",
                              &inside, 0)))) {
                *current = (int64_t)ldl_le_p(row + 4) + inside;
                return true;
            }
        }
    }
    return false;
}
#endif

/* The offset of a member of the first type of that name that has it. */
static bool find_field(const Btf *b, const char *type, const char *name,
                       uint32_t *offset)
{
    if (!afford(b->work, (uint64_t)b->at->len * TYPE_BYTES)) {
        return false;
    }
    for (uint32_t id = 1; id <= b->at->len; id++) {
        const uint8_t *t = type_at(b, id);

        if (kind_of(t) == KIND_STRUCT && !strcmp(name_of(b, t), type) &&
            find_member(b, t, name, offset, 0)) {
            return true;
        }
    }
    return false;
}

/* What areas.c needs. */
static bool find_areas(const Btf *b, CannoliAreaLayout *to)
{
    const struct {
        const char *type, *name;
        uint32_t *offset;
    } fields[] = {
        { "mm_struct", "exec_vm", &to->exec_vm },
        { "mm_struct", "start_code", &to->start_code },
        { "mm_struct", "start_stack", &to->start_stack },
        { "mm_struct", "exe_file", &to->exe_file },
        { "vm_area_struct", "vm_start", &to->vm_start },
        { "vm_area_struct", "vm_end", &to->vm_end },
        { "vm_area_struct", "vm_flags", &to->vm_flags },
        { "vm_area_struct", "vm_pgoff", &to->vm_pgoff },
        { "vm_area_struct", "vm_file", &to->vm_file },
        { "dentry", "d_parent", &to->d_parent },
        { "vfsmount", "mnt_root", &to->mnt_root },
        { "mount", "mnt", &to->mount_mnt },
        { "mount", "mnt_parent", &to->mnt_parent },
        { "mount", "mnt_mountpoint", &to->mnt_mountpoint },
    };
    uint32_t f_path, mnt, dentry, d_name, name, tree, root;

    for (int i = 0; i < ARRAY_SIZE(fields); i++) {
        if (!find_field(b, fields[i].type, fields[i].name, fields[i].offset)) {
            return false;
        }
    }
    if (!find_field(b, "file", "f_path", &f_path) ||
        !find_field(b, "path", "mnt", &mnt) ||
        !find_field(b, "path", "dentry", &dentry) ||
        !find_field(b, "dentry", "d_name", &d_name) ||
        !find_field(b, "qstr", "name", &name)) {
        return false;
    }
    to->f_mnt = f_path + mnt;
    to->f_dentry = f_path + dentry;
    to->d_name = d_name + name;
    to->tree = find_field(b, "mm_struct", "mm_mt", &tree); /* Linux 6.1 */
    if (!to->tree) {
        return find_field(b, "mm_struct", "mmap", &to->areas) &&
               find_field(b, "vm_area_struct", "vm_next", &to->vm_next);
    }
    return find_field(b, "maple_tree", "ma_root", &root) &&
           find_field(b, "maple_range_64", "pivot", &to->range_pivot) &&
           find_field(b, "maple_range_64", "slot", &to->range_slot) &&
           find_field(b, "maple_arange_64", "pivot", &to->arange_pivot) &&
           find_field(b, "maple_arange_64", "slot", &to->arange_slot) &&
           to->range_slot - to->range_pivot < 256 &&
           to->arange_slot - to->arange_pivot < 256 &&
           (to->areas = tree + root, true);
}

static bool understand(Btf *b, CannoliTaskLayout *to)
{
    const uint8_t *task;

    if (!list_types(b)) {
        return false;
    }
    task = find_type(b, KIND_STRUCT, "task_struct");
    if (!find_member(b, task, "pid", &to->pid, 0) ||
        !find_member(b, task, "tgid", &to->tgid, 0) ||
        !find_member(b, task, "comm", &to->comm, 0)) {
        return false;
    }
#ifdef TARGET_X86_64
    if (!find_current(b, &to->current)) {
        return false;
    }
#else
    to->current = 0;
#endif
    to->has_areas =
        find_member(b, task, "mm", &to->mm, 0) && find_areas(b, &to->area);
    return true;
}

/* There is a header; the guest may change it meanwhile. */
static bool read_btf(const uint8_t *p, uint64_t left, CannoliTaskLayout *to,
                     uint64_t *work)
{
    uint32_t type_off = ldl_le_p(p + 8), type_bytes = ldl_le_p(p + 12);
    uint32_t str_off = ldl_le_p(p + 16), str_bytes = ldl_le_p(p + 20);
    uint64_t bytes = (uint64_t)str_off + str_bytes;
    g_autofree uint8_t *copy = NULL;
    bool ok;
    Btf b;

    if (bytes > MIN(left - HEADER_BYTES, MAX_BYTES) || !str_bytes ||
        (uint64_t)type_off + type_bytes > str_off ||
        p[HEADER_BYTES + bytes - 1] || !afford(work, bytes)) {
        return false;
    }
    copy = g_memdup2(p + HEADER_BYTES, bytes);
    if (copy[bytes - 1]) {
        return false;
    }
    b = (Btf){
        .types = copy + type_off,
        .type_bytes = type_bytes,
        .strings = (const char *)copy + str_off,
        .string_bytes = str_bytes,
        .at = g_array_new(false, false, sizeof(uint32_t)),
        .work = work,
    };
    ok = understand(&b, to);
    g_array_free(b.at, true);
    return ok;
}

typedef struct {
    CannoliTaskLayout *to;
    uint64_t work; /* left */
} Search;

/* 1: found; 2: it is too much work. */
static int search_block(RAMBlock *block, void *arg)
{
    Search *s = arg;
    static const uint8_t header[8] = { 0x9f, 0xeb, 1, 0, HEADER_BYTES };
    const uint8_t *host = qemu_ram_get_host_addr(block);
    uint64_t size = qemu_ram_get_used_length(block);

    for (uint64_t at = 0; host && at + HEADER_BYTES <= size; at += PIECE) {
        const uint8_t *p = host + at;
        const uint8_t *end = p + MIN(PIECE + sizeof(header) - 1, size - at);

        if (buffer_is_zero(p, MIN(PIECE, size - at))) {
            continue;
        }
        while ((p = memmem(p, end - p, header, sizeof(header)))) {
            if (size - (p - host) > HEADER_BYTES &&
                read_btf(p, size - (p - host), s->to, &s->work)) {
                return 1;
            }
            if (!s->work) {
                return 2;
            }
            p++;
        }
    }
    return 0;
}

bool cannoli_btf_find(CannoliTaskLayout *to)
{
    Search s = { .to = to, .work = MAX_WORK };

    RCU_READ_LOCK_GUARD();
    return qemu_ram_foreach_block(search_block, &s) == 1;
}
