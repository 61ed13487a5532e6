/*
 * Execution tracing into shared memory: what is mapped where
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For the libraries that choose what is recorded: which file an address belongs
 * to.  The hooks of maps.c keep the table up to date, because the guest may
 * make /proc inaccessible.  All of it is under mmap_lock.
 */
#include "qemu/osdep.h"
#include "qemu/interval-tree.h"
#include "qemu.h"
#include "user-internals.h"
#include "event.h"
#include "cannoli/jitter.h"
#include "modules.h"

typedef struct Module {
    IntervalTreeNode itree;
    uint64_t offset, dev, inode;
    char *path; /* a GRefString; NULL: anonymous */
} Module;

bool cannoli_modules_on;
static IntervalTreeRoot modules;
uint64_t cannoli_modules_generation;

static void add(uint64_t start, uint64_t last, uint64_t offset,
                const Module *like)
{
    Module *m = g_new(Module, 1);

    *m = *like;
    m->itree.start = start;
    m->itree.last = last;
    m->offset = offset;
    if (m->path) {
        g_ref_string_acquire(m->path);
        cannoli_modules_generation++;
    }
    interval_tree_insert(&m->itree, &modules);
}

void cannoli_module_unmap(uint64_t start, uint64_t size)
{
    uint64_t last = start + size - 1;
    IntervalTreeNode *n;

    if (!size) {
        return;
    }
    while ((n = interval_tree_iter_first(&modules, start, last))) {
        Module *m = container_of(n, Module, itree);

        interval_tree_remove(n, &modules);
        if (n->start < start) {
            add(n->start, start - 1, m->offset, m);
        }
        if (n->last > last) {
            add(last + 1, n->last, m->offset + (last + 1 - n->start), m);
        }
        if (m->path) {
            cannoli_modules_generation++;
            g_ref_string_release(m->path);
        }
        g_free(m);
    }
}

void cannoli_module_map(uint64_t start, uint64_t size, const char *path,
                        uint64_t offset, uint64_t dev, uint64_t inode)
{
    Module m = { .dev = dev, .inode = inode };

    if (!size) {
        return;
    }
    cannoli_module_unmap(start, size);
    if (path && path[0] == '/') {
        m.path = g_ref_string_new(path);
    }
    add(start, start + size - 1, offset, &m);
    if (m.path) {
        g_ref_string_release(m.path);
    }
}

void cannoli_module_move(uint64_t start, uint64_t size, uint64_t old_start,
                         uint64_t old_size)
{
    IntervalTreeNode *n =
        interval_tree_iter_first(&modules, old_start, old_start);
    Module m = { .path = NULL };
    uint64_t offset = 0;

    if (n) {
        m = *container_of(n, Module, itree);
        offset = m.offset + (old_start - n->start);
        if (m.path) {
            g_ref_string_acquire(m.path);
        }
    }
    cannoli_module_unmap(old_start, old_size);
    cannoli_module_unmap(start, size);
    if (size) {
        add(start, start + size - 1, offset, &m);
    }
    if (m.path) {
        g_ref_string_release(m.path);
    }
}

/*
 * Where the beginning of the file is mapped that m is a part of: the nearest
 * place below it, as loaders lay files out.
 */
static uint64_t base_of(const Module *m)
{
    uint64_t base = m->itree.start;
    IntervalTreeNode *n;

    if (!m->path) {
        return base;
    }
    for (n = interval_tree_iter_first(&modules, 0, base); n;
         n = interval_tree_iter_next(n, 0, m->itree.start)) {
        const Module *o = container_of(n, Module, itree);

        if (o->path && o->offset == 0 && o->dev == m->dev &&
            o->inode == m->inode) {
            base = n->start;
        }
    }
    return base;
}

bool cannoli_module_at(uint64_t addr, struct cannoli_module *to)
{
    IntervalTreeNode *n = interval_tree_iter_first(&modules, addr, addr);
    const Module *m;

    if (!n) {
        return false;
    }
    m = container_of(n, Module, itree);
    *to = (struct cannoli_module){
        .path = m->path ? m->path : "",
        .start = n->start,
        .end = n->last + 1,
        .offset = m->offset + (addr - n->start),
        .base = base_of(m),
        .generation = cannoli_modules_generation,
    };
    return true;
}

size_t cannoli_read_guest(void *to, uint64_t addr, size_t n)
{
    return cannoli_peek(to, addr, MIN(n, UINT32_MAX));
}

bool cannoli_vcpus_split;

bool cannoli_split_vcpus(void)
{
    return false;
}

void cannoli_hold_threads(bool hold)
{
    if (hold) {
        clone_fork_start();
    } else {
        clone_fork_end(false);
    }
}

const char *cannoli_program_path(void)
{
    return exec_path;
}
