/*
 * Execution tracing into shared memory: registers
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table of registers is made once: the TCG globals, which every target has,
 * and what regs-target.c adds.  Translated code records what it writes
 * (regs-pass.c).  What only C code writes is found by comparing: around a
 * helper that may write registers, and around everything that happens between
 * two visits to cpu_exec.
 *
 * env is always up to date when C code of this file reads it: registers are in
 * memory when a helper that may read them runs, and at the beginning of a
 * block.  Only those that the translator knows (CannoliReg.lazy) may be stale
 * while a block runs.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "exec/translation-block.h"
#include "system/cannoli/hooks.h"
#include "regs.h"

CannoliReg *cannoli_regs;
unsigned cannoli_nr_regs;
static uint32_t state_bytes;

/* Which register a byte of env belongs to, plus 1. */
static uint16_t *at_byte;
static intptr_t env_bytes;
static int16_t of_global[TCG_MAX_TEMPS];

typedef struct Pointee {
    intptr_t off, stride;
    int count;
    unsigned bytes;
    bool vector;
} Pointee;
static Pointee objects[64];
static int nr_objects;

/*
 * Registers that are adjacent in env and belong to one set are compared at
 * once; `pos' is the run's place in a snapshot.
 */
typedef struct Run {
    intptr_t off, pointer;
    uint32_t bytes, pos;
    uint16_t first, count; /* in by_off[] */
    uint8_t set;
} Run;
static Run *runs;
static unsigned nr_runs;
static uint16_t *by_off;
static uint32_t snapshot_bytes;

/* Registers that devices write. */
static uint16_t by_devices[8];
static unsigned nr_by_devices;

/* The registers of a thread. */
struct CannoliRegs {
    uint8_t *state; /* a state; the last recorded, while outside */
    uint8_t *now;
    uint8_t *snapshot;                        /* of the runs in `sets' */
    uint64_t devices[ARRAY_SIZE(by_devices)]; /* as recorded, little-endian */
    uint16_t *changed;
    uint32_t nr_changed;
    uint8_t sets; /* a helper runs that may write these */
    bool valid;   /* `state' is the last recorded state */
    bool outside; /* of cpu_exec */
};

/* ---- the table ---- */

static CannoliReg *new_reg(const char *name, intptr_t off, unsigned size,
                           uint8_t flags, uint8_t set)
{
    CannoliReg *r;

    if (cannoli_nr_regs == CTR_MAX_REGS) {
        error_report("cannoli: more than %u registers", CTR_MAX_REGS);
        exit(EXIT_FAILURE);
    }
    r = &cannoli_regs[cannoli_nr_regs++];
    *r = (CannoliReg){
        .name = name,
        .off = off,
        .size = size,
        .flags = flags,
        .set = set,
        .state_off = state_bytes,
    };
    state_bytes += size;
    return r;
}

static void map_bytes(const CannoliReg *r)
{
    for (intptr_t i = r->off; !r->pointer && i < r->off + r->size; i++) {
        if (i >= 0 && i < env_bytes && !at_byte[i]) {
            at_byte[i] = r - cannoli_regs + 1;
        }
    }
}

void cannoli_regs_add(const char *name, int first, int count, intptr_t off,
                      intptr_t stride, unsigned bytes, uint8_t flags,
                      uint8_t set)
{
    for (int i = 0; i < count; i++, off += stride) {
        char *own = g_strdup_printf(name, first + i);
        unsigned done = 0;

        while (done < bytes) {
            unsigned size = MIN(16, pow2floor(bytes - done));
            bool last = done + size == bytes;

            map_bytes(new_reg(own, off + done, size,
                              flags | (last ? 0 : CTR_REG_PIECE), set));
            done += size;
        }
    }
}

void cannoli_regs_add_pointed(const char *name, intptr_t pointer, intptr_t off,
                              unsigned bytes, uint8_t flags, uint8_t set)
{
    new_reg(name, off, bytes, flags, set)->pointer = pointer;
}

void cannoli_regs_lazy(uint64_t dynamic, uint64_t dynamic2)
{
    CannoliReg *r = &cannoli_regs[cannoli_nr_regs - 1];

    r->lazy = true;
    r->dynamic[0] = dynamic;
    r->dynamic[1] = dynamic2;
    r->set = CANNOLI_REGS_LAZY;
}

void cannoli_regs_by_devices(void)
{
    CannoliReg *r = &cannoli_regs[cannoli_nr_regs - 1];

    g_assert(nr_by_devices < ARRAY_SIZE(by_devices));
    r->set = CANNOLI_REGS_DEVICES;
    r->device = nr_by_devices;
    by_devices[nr_by_devices++] = cannoli_nr_regs - 1;
}

void cannoli_regs_object(intptr_t off, intptr_t stride, int count,
                         unsigned bytes, bool vector)
{
    g_assert(nr_objects < ARRAY_SIZE(objects));
    objects[nr_objects++] = (Pointee){ off, stride, count, bytes, vector };
}

unsigned cannoli_regs_extent(intptr_t off, unsigned vector_bytes)
{
    for (int i = 0; i < nr_objects; i++) {
        const Pointee *o = &objects[i];
        intptr_t at = off - o->off;

        if (at >= 0 && at / o->stride < o->count && at % o->stride < o->bytes) {
            unsigned bytes = o->bytes;

            at %= o->stride;
            if (o->vector && vector_bytes) {
                bytes = o->bytes / (objects[0].bytes / vector_bytes);
                bytes = MAX(bytes, 16);
            }
            return at < bytes ? bytes - at : 0;
        }
    }
    return 0;
}

int cannoli_regs_next(intptr_t *at, intptr_t end)
{
    while (*at < end && *at < env_bytes) {
        int reg = *at < 0 ? -1 : at_byte[*at] - 1;

        if (reg >= 0) {
            *at = cannoli_regs[reg].off + cannoli_regs[reg].size;
            return reg;
        }
        ++*at;
    }
    return -1;
}

int cannoli_regs_of_global(const TCGTemp *ts)
{
    return of_global[temp_idx((TCGTemp *)ts)];
}

static void add_globals(void)
{
    TCGContext *s = tcg_ctx;

    for (int i = 0; i < s->nb_globals; i++) {
        TCGTemp *ts = &s->temps[i];
        unsigned size = tcg_type_size(ts->base_type);
        intptr_t pointer = 0, at = ts->mem_offset;
        uint8_t flags = 0;
        const char *name;
        CannoliReg *r;
        int same;

        of_global[i] = -1;
        if (ts->kind != TEMP_GLOBAL) {
            continue;
        }
        if (ts->temp_subindex) {
            of_global[i] = of_global[i - 1];
            continue;
        }
        if (ts->mem_base != tcgv_ptr_temp(tcg_env)) {
            pointer = ts->mem_base->mem_offset;
        } else if (at < 0) {
            continue;
        }
        if (ts->base_type != ts->type) {
            /* two halves, called name_0 and name_1 */
            at -= HOST_BIG_ENDIAN * 4;
            g_assert(pointer == 0);
        }
        same = pointer ? -1 : cannoli_regs_next(&(intptr_t){ at }, at + 1);
        if (same >= 0 && cannoli_regs[same].off == at &&
            cannoli_regs[same].size == size) {
            /* It was added under another name. */
            of_global[i] = same;
            if (!cannoli_regs[same].temp) {
                cannoli_regs[same].temp = ts;
            }
            continue;
        }
        name = cannoli_regs_name(ts->name, &flags);
        if (!name) {
            continue;
        }
        r = new_reg(name, at, size, flags, CANNOLI_REGS_GLOBAL);
        r->pointer = pointer;
        r->temp = ts;
        map_bytes(r);
        of_global[i] = r - cannoli_regs;
    }
}

static int compare_off(const void *a, const void *b)
{
    const CannoliReg *x = &cannoli_regs[*(const uint16_t *)a];
    const CannoliReg *y = &cannoli_regs[*(const uint16_t *)b];

    if (x->pointer != y->pointer) {
        return x->pointer < y->pointer ? -1 : 1;
    }
    return x->off < y->off ? -1 : x->off > y->off;
}

static void make_runs(void)
{
    Run *run = NULL;

    by_off = cannoli_alloc(cannoli_nr_regs * sizeof(*by_off));
    runs = cannoli_alloc(cannoli_nr_regs * sizeof(*runs));
    for (unsigned i = 0; i < cannoli_nr_regs; i++) {
        by_off[i] = i;
    }
    qsort(by_off, cannoli_nr_regs, sizeof(*by_off), compare_off);
    for (unsigned i = 0; i < cannoli_nr_regs; i++) {
        const CannoliReg *r = &cannoli_regs[by_off[i]];

        if (!run || run->pointer != r->pointer || run->set != r->set ||
            r->off - (run->off + run->bytes) > 16) {
            run = &runs[nr_runs++];
            *run = (Run){
                .off = r->off,
                .pointer = r->pointer,
                .first = i,
                .set = r->set,
                .pos = ROUND_UP(snapshot_bytes, 16),
            };
        }
        run->bytes = MAX(run->bytes, r->off + r->size - run->off);
        run->count++;
        snapshot_bytes = run->pos + run->bytes;
    }
}

void cannoli_regs_init(CPUState *cpu)
{
    if (!cannoli_regs_on()) {
        return;
    }
    cannoli_regs = cannoli_alloc(CTR_MAX_REGS * sizeof(*cannoli_regs));
    env_bytes = sizeof(CPUArchState);
    at_byte = cannoli_alloc(env_bytes * sizeof(*at_byte));
    cannoli_regs_target(cpu);
#ifndef CONFIG_USER_ONLY
    cannoli_regs_system(cpu);
#endif
    add_globals();
    make_runs();
    g_assert(state_bytes <= CTR_MAX_STATE_BYTES);
}

/* ---- values ---- */

static const uint8_t *memory_of(CPUState *cpu, intptr_t off, intptr_t pointer)
{
    const uint8_t *base = (const uint8_t *)cpu_env(cpu);

    if (pointer) {
        base = *(const uint8_t *const *)(base + pointer);
    }
    return base + off;
}

static void read_memory(CPUState *cpu, const CannoliReg *r, uint8_t *to)
{
    const uint8_t *p = memory_of(cpu, r->off, r->pointer);

    switch (r->size) {
    case 1:
        *to = *p;
        break;
    case 2:
        stw_le_p(to, lduw_he_p(p));
        break;
    case 4:
        stl_le_p(to, ldl_he_p(p));
        break;
    case 8:
        stq_le_p(to, ldq_he_p(p));
        break;
    default:
        stq_le_p(to, ldq_he_p(p));
        stq_le_p(to + 8, ldq_he_p(p + 8));
        break;
    }
}

/* What devices write has the value that was read when they were compared. */
static void read_reg(CPUState *cpu, const CannoliReg *r, uint8_t *to)
{
    if (r->set == CANNOLI_REGS_DEVICES) {
        memcpy(to, &cannoli_cpu(cpu)->thread->regs->devices[r->device],
               r->size);
    } else {
        read_memory(cpu, r, to);
    }
}

/* Have devices written a register since it was recorded?  Its value is *now. */
static bool device_wrote(CPUState *cpu, unsigned i, uint64_t *now)
{
    uint64_t value[2] = { 0 };

    read_memory(cpu, &cannoli_regs[by_devices[i]], (uint8_t *)value);
    *now = value[0];
    return *now != cannoli_cpu(cpu)->thread->regs->devices[i];
}

void cannoli_regs_put(uint8_t *state, const char *name, uint64_t value)
{
    for (unsigned i = 0; i < cannoli_nr_regs; i++) {
        const CannoliReg *r = &cannoli_regs[i];

        if (!strcmp(r->name, name)) {
            uint64_t le = cpu_to_le64(value);

            memcpy(state + r->state_off, &le, MIN(r->size, 8));
        }
    }
}

static void read_state(CPUState *cpu, uint8_t *state)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    for (unsigned i = 0; i < cannoli_nr_regs; i++) {
        read_reg(cpu, &cannoli_regs[i], state + cannoli_regs[i].state_off);
        if (cannoli_regs[i].lazy && c->lazy_known) {
            uint64_t le = cpu_to_le64(c->lazy_value);

            memcpy(state + cannoli_regs[i].state_off, &le,
                   cannoli_regs[i].size);
        }
    }
    if (c->thread->regs->outside) {
        cannoli_regs_outside_form(cpu, state);
    }
}

/* ---- records ---- */

static void add_changed(CannoliRegs *g, unsigned reg)
{
    if (g->nr_changed < cannoli_nr_regs) {
        g->changed[g->nr_changed++] = reg;
    }
}

/* What devices have written since it was recorded */
static void add_by_devices(CPUState *cpu, CannoliRegs *g)
{
    uint64_t now;

    for (unsigned i = 0; i < nr_by_devices; i++) {
        if (device_wrote(cpu, i, &now)) {
            g->devices[i] = now;
            add_changed(g, by_devices[i]);
        }
    }
}

/* Record the registers in changed[], with values of a state or of env. */
static void emit_changed(CPUState *cpu, uint32_t insn, const uint8_t *state)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    CannoliRegs *g = t->regs;
    uint32_t bytes =
        sizeof(struct mempipe_side_regs) + g->nr_changed * MEMPIPE_REG_BYTES;
    struct mempipe_side_regs *rec;
    bool shadow;
    uint8_t *p;

    if (!g->nr_changed || cannoli_ctl->discard) {
        g->nr_changed = 0;
        return;
    }
    bytes = ROUND_UP(bytes, 8);
    rec = cannoli_side_reserve(t, bytes);
    cannoli_place(cpu, &rec->p, MEMPIPE_SIDE_REGS, bytes);
    rec->p.n = g->nr_changed;
    rec->insn = insn;
    rec->zero = 0;
    p = (uint8_t *)(rec + 1);
    shadow = cannoli_regs_shadow() && !state;
    for (unsigned i = 0; i < g->nr_changed; i++, p += MEMPIPE_REG_BYTES) {
        const CannoliReg *r = &cannoli_regs[g->changed[i]];

        memset(p, 0, MEMPIPE_REG_BYTES);
        stw_le_p(p, g->changed[i]);
        if (state) {
            memcpy(p + 4, state + r->state_off, r->size);
        } else {
            read_reg(cpu, r, p + 4);
        }
        if (shadow) {
            memcpy(g->state + r->state_off, p + 4, r->size);
        }
    }
    g->nr_changed = 0;
    cannoli_side_commit(t, bytes);
}

static void emit_table(CannoliThread *t)
{
    struct mempipe_side_regtable *rec;
    uint32_t table = 0, bytes;
    uint8_t *p;

    for (unsigned i = 0; i < cannoli_nr_regs; i++) {
        table += 4 + strlen(cannoli_regs[i].name);
    }
    bytes = ROUND_UP(sizeof(*rec) + table, 8);
    rec = cannoli_side_reserve(t, bytes);
    rec->h.bytes = bytes;
    rec->h.type = MEMPIPE_SIDE_REGTABLE;
    rec->n = cannoli_nr_regs;
    rec->table_bytes = table;
    p = (uint8_t *)(rec + 1);
    for (unsigned i = 0; i < cannoli_nr_regs; i++) {
        size_t len = strlen(cannoli_regs[i].name);

        *p++ = cannoli_regs[i].size;
        *p++ = cannoli_regs[i].flags;
        *p++ = len;
        *p++ = 0;
        memcpy(p, cannoli_regs[i].name, len);
        p += len;
    }
    cannoli_side_commit(t, bytes);
}

/* ---- between visits to cpu_exec ---- */

void cannoli_regs_attach(CPUState *cpu, bool process)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (!cannoli_regs_on()) {
        return;
    }
    if (!t->regs) {
        CannoliRegs *g = cannoli_alloc(sizeof(*g));

        g->state = cannoli_alloc(state_bytes);
        g->now = cannoli_alloc(state_bytes);
        g->snapshot = cannoli_alloc(snapshot_bytes);
        g->changed = cannoli_alloc(cannoli_nr_regs * sizeof(*g->changed));
        t->regs = g;
    }
    t->regs->outside = true;
    t->regs->valid = true;
    t->regs->sets = 0;
    t->regs->nr_changed = 0;
    add_by_devices(cpu, t->regs);
    t->regs->nr_changed = 0;
    if (process && !cannoli_ctl->discard) {
        emit_table(t);
    }
}

void cannoli_regs_state(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    struct mempipe_side_place *rec;
    uint32_t bytes = ROUND_UP(sizeof(*rec) + state_bytes, 8);

    if (!cannoli_regs_on()) {
        return;
    }
    if (t->gate.open) {
        read_state(cpu, t->regs->state);
    }
    cannoli_cpu(cpu)->shadow = t->regs->state;
    if (cannoli_ctl->discard) {
        return;
    }
    rec = cannoli_side_reserve(t, bytes);
    cannoli_place(cpu, rec, MEMPIPE_SIDE_STATE, bytes);
    rec->n = state_bytes;
    memcpy(rec + 1, t->regs->state, state_bytes);
    memset((uint8_t *)(rec + 1) + state_bytes, 0,
           bytes - sizeof(*rec) - state_bytes);
    cannoli_side_commit(t, bytes);
}

static void emit_difference(CPUState *cpu)
{
    CannoliRegs *g = cannoli_cpu(cpu)->thread->regs;
    uint8_t *now = g->now;

    add_by_devices(cpu, g);
    read_state(cpu, now);
    for (unsigned i = 0; i < cannoli_nr_regs; i++) {
        const CannoliReg *r = &cannoli_regs[i];

        if (r->set != CANNOLI_REGS_DEVICES &&
            memcmp(now + r->state_off, g->state + r->state_off, r->size)) {
            add_changed(g, i);
        }
    }
    emit_changed(cpu, MEMPIPE_OUTSIDE, now);
    g->now = g->state;
    g->state = now;
    cannoli_cpu(cpu)->shadow = now;
}

void cannoli_regs_outside(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (cannoli_regs_on() && t->regs->valid && t->gate.open) {
        emit_difference(cpu);
    }
}

void cannoli_regs_loop_exit(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (cannoli_regs_on() && !t->regs->valid && !cannoli_regs_shadow()) {
        read_state(cpu, t->regs->state);
        t->regs->valid = true;
    }
    if (cannoli_regs_on()) {
        t->regs->sets = 0;
    }
}

#ifndef CONFIG_USER_ONLY
void cannoli_regs_touch(CPUState *cpu, const intptr_t *off, int n)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (!cannoli_regs_on() || !t->regs->valid || !t->gate.open ||
        cannoli_regs_shadow()) {
        return;
    }
    for (int i = 0; i < n; i++) {
        intptr_t at = off[i];
        int reg = cannoli_regs_next(&at, off[i] + 1);

        if (reg >= 0) {
            add_changed(t->regs, reg);
        }
    }
    emit_changed(cpu, MEMPIPE_OUTSIDE, t->regs->state);
}
#endif

/* A block is about to run: exceptions are delivered between blocks. */
void cannoli_regs_inside(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (!cannoli_regs_on() || !t->gate.open || cannoli_regs_shadow()) {
        return;
    }
    if (t->regs->valid) {
        emit_difference(cpu);
        t->regs->valid = false;
    } else {
        add_by_devices(cpu, t->regs);
        emit_changed(cpu, MEMPIPE_OUTSIDE, NULL);
    }
}

#ifndef CONFIG_USER_ONLY
void cannoli_device_wrote(CPUState *cpu)
{
    uint64_t now;

    if (cpu != current_cpu || !cannoli_cpu(cpu)->thread || !cannoli_regs_on()) {
        return;
    }
    for (unsigned i = 0; i < nr_by_devices; i++) {
        if (device_wrote(cpu, i, &now)) {
            cannoli_stop_chain(cpu);
        }
    }
}
#endif

/* The last thing that cpu_exec does. */
void cannoli_cpu_exit(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (!t) {
        return;
    }
#ifndef CONFIG_USER_ONLY
    cannoli_interrupt_left(cpu);
#endif
    cannoli_gate_exit(cpu);
    if (cannoli_regs_on()) {
        cannoli_regs_loop_exit(cpu);
        t->regs->outside = true;
    }
#ifndef CONFIG_USER_ONLY
    cannoli_turn_executes(false);
#endif
}

/*
 * The first thing that it does, as do the functions that are like it.  While
 * the gate is closed, the last recorded state does not change.
 */
void cannoli_cpu_enter(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    bool was_open;

    if (!t && !cannoli_attach_late(cpu)) {
        return;
    }
    t = cannoli_cpu(cpu)->thread;
#ifndef CONFIG_USER_ONLY
    cannoli_turn_executes(true);
#endif
    cannoli_turn_enter(cpu);
    cannoli_slice(cpu);
    was_open = t->gate.open;
    if (cannoli_regs_on()) {
        t->regs->outside = false;
        if (was_open && t->regs->valid && !cannoli_regs_shadow()) {
            emit_difference(cpu);
        }
    }
    cannoli_gate_enter(cpu);
    if (cannoli_regs_on() && t->gate.open && !cannoli_regs_shadow()) {
        if (!was_open && t->regs->valid) {
            emit_difference(cpu);
        }
        t->regs->valid = false;
    }
}

/* ---- around helpers ---- */

/* A block that records something begins; unrecorded code may have run. */
void helper_cannoli_regs_begin(CPUArchState *env)
{
    emit_difference(env_cpu(env));
}

void helper_cannoli_regs_before(CPUArchState *env, uint32_t sets)
{
    CPUState *cpu = env_cpu(env);
    CannoliRegs *g = cannoli_cpu(cpu)->thread->regs;

    g->sets = sets;
    for (unsigned i = 0; i < nr_runs; i++) {
        const Run *run = &runs[i];

        if (run->set & sets) {
            memcpy(g->snapshot + run->pos,
                   memory_of(cpu, run->off, run->pointer), run->bytes);
        }
    }
}

static void find_changed(CPUState *cpu, CannoliRegs *g)
{
    for (unsigned i = 0; i < nr_runs; i++) {
        const Run *run = &runs[i];
        const uint8_t *now, *old = g->snapshot + run->pos;

        if (!(run->set & g->sets)) {
            continue;
        }
        now = memory_of(cpu, run->off, run->pointer);
        if (!memcmp(now, old, run->bytes)) {
            continue;
        }
        for (unsigned j = run->first; j < run->first + run->count; j++) {
            const CannoliReg *r = &cannoli_regs[by_off[j]];
            intptr_t at = r->off - run->off;

            if (memcmp(now + at, old + at, r->size)) {
                add_changed(g, by_off[j]);
            }
        }
    }
    if (g->sets & CANNOLI_REGS_SYSTEM) {
        add_by_devices(cpu, g);
    }
    g->sets = 0;
}

/* Remove from changed[] what a slot of the instruction records at its end. */
static void drop_slots(CannoliRegs *g, const CannoliBlock *b, unsigned insn)
{
    const uint8_t *slot = b->all + CTR_BLOCKDEF_FIXED + b->ninsn +
                          ldl_le_p(b->all + CTR_BLOCKDEF_CODELEN);
    unsigned n = lduw_le_p(b->all + CTR_BLOCKDEF_NSLOT);

    for (unsigned i = 0; i < n; i++, slot += CTR_BLOCKDEF_SLOT) {
        unsigned left = 0;

        if (lduw_le_p(slot) != insn || !(slot[4] & CTR_ACCESS_REG)) {
            continue;
        }
        for (unsigned k = 0; k < g->nr_changed; k++) {
            if (g->changed[k] != lduw_le_p(slot + 2)) {
                g->changed[left++] = g->changed[k];
            }
        }
        g->nr_changed = left;
    }
}

void helper_cannoli_regs_after(CPUArchState *env, uint32_t insn, void *block)
{
    CPUState *cpu = env_cpu(env);
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliRegs *g = c->thread->regs;

    find_changed(cpu, g);
    if (insn == UINT32_MAX) {
        insn = c->insn & CANNOLI_INSN_NUMBER;
        if (!(c->insn & CANNOLI_INSN_REGS)) {
            g->nr_changed = 0;
        }
    }
    if (block && g->nr_changed) {
        drop_slots(g, block, insn);
    }
    emit_changed(cpu, insn, NULL);
}

void cannoli_regs_left(CPUState *cpu, const CannoliBlock *b, int insn,
                       bool outside)
{
    CannoliRegs *g = cannoli_cpu(cpu)->thread->regs;

    if (!cannoli_regs_on()) {
        return;
    }
    if (b && insn < b->ninsn) {
        const uint8_t *slot = b->all + CTR_BLOCKDEF_FIXED + b->ninsn +
                              ldl_le_p(b->all + CTR_BLOCKDEF_CODELEN);
        unsigned n = lduw_le_p(b->all + CTR_BLOCKDEF_NSLOT);

        for (unsigned i = 0; i < n; i++, slot += CTR_BLOCKDEF_SLOT) {
            if (lduw_le_p(slot) == insn && (slot[4] & CTR_ACCESS_REG)) {
                add_changed(g, lduw_le_p(slot + 2));
            }
        }
    }
    find_changed(cpu, g);
    emit_changed(cpu, outside ? MEMPIPE_OUTSIDE : insn, NULL);
}

void cannoli_regs_all(CPUState *cpu, int insn)
{
    CannoliRegs *g = cannoli_cpu(cpu)->thread->regs;

    if (cannoli_regs_on()) {
        for (unsigned i = 0; i < cannoli_nr_regs; i++) {
            add_changed(g, i);
        }
        emit_changed(cpu, insn, NULL);
    }
}
