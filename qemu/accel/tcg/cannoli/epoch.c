/*
 * Execution tracing into shared memory: when descriptions go out of use
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest that generates code for ever has new blocks described for ever.  So
 * that neither this process nor the recorder keeps all of them, whatever was
 * described is forgotten when all translated code is thrown away: what is
 * needed again is translated again, and described again.  That begins another
 * epoch; mempipe.h says what it means for the recorder.  The memory of the
 * descriptions, and of what else hangs on translated code, is then filled from
 * its start once more.
 *
 * QEMU throws all code away when there is no room for more.  Before that can
 * be, code is thrown away here, when more blocks have become invalid since the
 * last time than are still valid, and EPOCH_DEAD at least.  Each of them has
 * cost a translation, so that what is translated again for this is less than
 * what was anyway; a program that does not change its code never comes here.
 *
 * With coverage nothing is forgotten, or it would be told again.
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
    uint32_t next, end;     /* ids of the page that are left */
    bool used;              /* one of the page's was described in this epoch */
} ids;
static uint32_t described;  /* in this epoch */
static uint32_t next_look;  /* at so many blocks that became invalid */
static uint32_t dead_before; /* blocks that had become invalid when it began */
static bool asked;          /* that all code be thrown away */

void cannoli_epoch_begin(void)
{
    cannoli_epoch = qatomic_fetch_add(&cannoli_shared()->next_epoch, 1);
    described = 0;
    next_look = EPOCH_DEAD;
    dead_before = qatomic_read(&tb_ctx.tb_phys_invalidate_count);
    asked = false;
}

void cannoli_epoch_forked(void)
{
    /* The rest of the page is the parent's; what is invalid is so here, too. */
    memset(&ids, 0, sizeof(ids));
    cannoli_epoch = qatomic_fetch_add(&cannoli_shared()->next_epoch, 1);
    asked = false;
}

void cannoli_epoch_tell(CannoliThread *t)
{
    t->epoch = cannoli_epoch;
    /* Pairs with the recorder's acquire: mail of the epochs before is there. */
    qatomic_store_release(&t->pipe->epoch, t->epoch);
}

void cannoli_epoch_enter(CPUState *cpu)
{
    if (!cannoli_chunk_empty(cpu)) {
        cannoli_hand_over(cpu);
    }
    cannoli_epoch_tell(cannoli_cpu(cpu)->thread);
}

/* All translated code is being thrown away; no thread is in it. */
void cannoli_flushed(void)
{
    CPUState *cpu;

    if (!cannoli_on) {
        return;
    }
    CPU_FOREACH(cpu) {
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
    /* Unless the recorder has given back another one meanwhile. */
    qatomic_cmpxchg(&cannoli_shared()->id_hint, seen, page + 1);
    ids.next = page ? page * MEMPIPE_ID_PAGE : 1;
    ids.end = (page + 1) * MEMPIPE_ID_PAGE;
    ids.used = false;
    return true;
}

static void take_page(void)
{
    uint32_t seen = qatomic_read(&cannoli_shared()->id_hint);

    if (cannoli_ctl->discard) {
        /* Nobody gives any back, nor wants to know. */
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
        take_page();
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
        return described >= MAX(16, cannoli_ctl->epoch_blocks);
    }
    dead = qatomic_read(&tb_ctx.tb_phys_invalidate_count) - dead_before;
    if (dead < next_look) {
        return false;
    }
    /* Blocks that are invalid count as long as their code stands there. */
    live = tcg_nb_tbs();
    live -= MIN(live, dead);
    next_look = MAX(live, EPOCH_DEAD);
    return dead >= next_look;
}

void cannoli_epoch_described(CPUState *cpu)
{
    ids.used = true;
    described++;
    if (!cannoli_coverage && !asked && is_due()) {
        asked = true;
        async_safe_run_on_cpu(cpu, flush, RUN_ON_CPU_HOST_INT(
                                  qatomic_read(&tb_ctx.tb_flush_count)));
    }
}
