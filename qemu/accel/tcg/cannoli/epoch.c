/*
 * Execution tracing into shared memory: when block definitions expire
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest that generates code for ever defines new blocks for ever.  So that
 * neither this process nor the recorder keeps all of them, all block
 * definitions are forgotten when all translated code is flushed: a block that
 * runs again is translated and defined again.  That begins another epoch;
 * mempipe.h says what it means for the recorder.  The memory of the
 * definitions, and of everything else that belongs to translated code, is then
 * reused from its start.
 *
 * QEMU flushes all code when there is no room for more.  This file flushes it
 * earlier: when more blocks have become invalid since the last flush than are
 * still valid, and at least EPOCH_DEAD.  Each of them has cost a translation,
 * so the flush causes fewer translations than were made anyway; a program that
 * does not change its code never causes one.
 *
 * With coverage nothing is forgotten, or it would be recorded again.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "exec/tb-flush.h"
#include "exec/translation-block.h"
#include "hw/core/cpu.h"
#include "tcg/tcg.h"
#include "internal.h"
#include "accel/tcg/tb-context.h"

#define EPOCH_DEAD (64 * 1024)

uint32_t cannoli_epoch;

static struct {
    uint32_t next, end; /* ids of the page that are left */
    bool used;          /* a block with one was defined in this epoch */
} ids;
static uint32_t nr_defined;  /* blocks defined in this epoch */
static uint32_t next_look;   /* when so many blocks became invalid */
static uint32_t dead_before; /* blocks invalid when it began */
static bool requested;       /* a flush of all code is requested */

void cannoli_epoch_begin(void)
{
    cannoli_epoch = qatomic_fetch_add(&cannoli_shared()->next_epoch, 1);
    nr_defined = 0;
    next_look = EPOCH_DEAD;
    dead_before = qatomic_read(&tb_ctx.tb_phys_invalidate_count);
    requested = false;
}

void cannoli_epoch_forked(void)
{
    /*
     * The rest of the page is the parent's; invalid blocks are invalid here,
     * too.
     */
    memset(&ids, 0, sizeof(ids));
    cannoli_epoch = qatomic_fetch_add(&cannoli_shared()->next_epoch, 1);
    requested = false;
}

void cannoli_epoch_report(CannoliThread *t)
{
    t->epoch = cannoli_epoch;
    /* Pairs with the recorder's acquire: mail of the epochs before is there. */
    qatomic_store_release(&t->pipe->epoch, t->epoch);
}

void cannoli_epoch_enter(CPUState *cpu)
{
    if (!cannoli_buffer_empty(cpu)) {
        cannoli_hand_over(cpu);
    }
    cannoli_epoch_report(cannoli_cpu(cpu)->thread);
}

/* All translated code is being flushed; no thread is in it. */
void cannoli_flushed(void)
{
    CPUState *cpu;

    if (!cannoli_on) {
        return;
    }
    CPU_FOREACH (cpu) {
        cannoli_cpu(cpu)->block = NULL;
        cannoli_cpu(cpu)->unwound = NULL;
    }
    if (!cannoli_coverage) {
        cannoli_dict_flushed(!ids.used);
        if (ids.used) {
            memset(&ids, 0, sizeof(ids));
        }
        cannoli_epoch_begin();
    }
    cannoli_free_passing();
}

static bool try_page(uint32_t page, uint32_t seen)
{
    uint8_t *state = (uint8_t *)cannoli_ctl + cannoli_ctl->ids_off + page;

    if (qatomic_read(state) || qatomic_cmpxchg(state, 0, 1)) {
        return false;
    }
    /* Unless the recorder has returned another one meanwhile. */
    qatomic_cmpxchg(&cannoli_shared()->id_hint, seen, page + 1);
    ids.next = page ? page * MEMPIPE_ID_PAGE : 1;
    ids.end = (page + 1) * MEMPIPE_ID_PAGE;
    ids.used = false;
    return true;
}

static void allocate_page(void)
{
    uint32_t seen = qatomic_read(&cannoli_shared()->id_hint);

    if (cannoli_ctl->discard) {
        /* Nobody returns pages or needs the hint. */
        ids.next = 1;
        ids.end = MEMPIPE_ID_PAGE;
        return;
    }
    for (uint32_t page = seen; page < MEMPIPE_ID_PAGES; page++) {
        if (try_page(page, seen)) {
            return;
        }
    }
    for (uint32_t page = 0; page < MEMPIPE_ID_PAGES; page++) {
        if (try_page(page, seen)) {
            return;
        }
    }
    error_report("cannoli: more than %u blocks are in use at a time",
                 MEMPIPE_ID_PAGES * MEMPIPE_ID_PAGE);
    exit(EXIT_FAILURE);
}

uint32_t cannoli_new_id(void)
{
    if (ids.next == ids.end) {
        allocate_page();
    }
    return ids.next++;
}

/* With no thread in translated code. */
static void flush(CPUState *cpu, run_on_cpu_data flushes)
{
    if (qatomic_read(&tb_ctx.tb_flush_count) == flushes.host_int) {
        tb_flush(cpu);
    }
}

static bool is_due(void)
{
    uint32_t dead, live;

    if (cannoli_ctl->epoch_blocks) {
        return nr_defined >= MAX(16, cannoli_ctl->epoch_blocks);
    }
    dead = qatomic_read(&tb_ctx.tb_phys_invalidate_count) - dead_before;
    if (dead < next_look) {
        return false;
    }
    /* Invalid blocks count as long as their code is in the buffer. */
    live = tcg_nb_tbs();
    live -= MIN(live, dead);
    next_look = MAX(live, EPOCH_DEAD);
    return dead >= next_look;
}

void cannoli_epoch_defined(CPUState *cpu)
{
    ids.used = true;
    nr_defined++;
    if (!cannoli_coverage && !requested && is_due()) {
        requested = true;
        async_safe_run_on_cpu(
            cpu, flush,
            RUN_ON_CPU_HOST_INT(qatomic_read(&tb_ctx.tb_flush_count)));
    }
}
