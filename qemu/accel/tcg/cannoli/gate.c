/*
 * Execution tracing into shared memory: when a thread is recorded
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A thread is recorded while its gate is open: it is not paused, neither from
 * outside nor by the program; the instructions that are to be skipped have run;
 * and a place where recording starts was passed (the process's window is open),
 * or the thread is inside a call that is recorded with everything it calls (a
 * tree); and a vCPU of which tasks or address spaces were chosen is in one of
 * them.
 *
 * A closed gate costs nothing: with CF_CANNOLI_OFF among the thread's compile
 * flags it runs separate blocks, which record nothing.  Both kinds stay in the
 * cache.  Compile flags change in cannoli_gate_enter, at the beginning of
 * cpu_exec, and of machines in cannoli_gate_elsewhere, cannoli_gate_interrupt
 * and cannoli_gate_look, before a block is looked up: there is no last block
 * that could be linked to one of the other kind.  Code that changes what a gate
 * depends on makes the
 * threads pass there: for changes by the recorder, that is a thread of our own,
 * which waits on a word in shared memory (the watch).
 *
 * Blocks of either kind check for what must happen at an exact instruction
 * (gate-gen.c): they begin with a call where recording starts or stops, or a
 * tree begins; inside a tree they compare the stack pointer; and they count
 * while instructions are counted.  When one of these applies, the block leaves
 * before it has begun.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "exec/tb-flush.h"
#include "exec/translation-block.h"
#include "hw/core/cpu.h"
#include "accel/tcg/internal-common.h"
#include "cannoli/jitter.h"
#include "internal.h"
#include "regs.h"
#include <sys/syscall.h>
#include <linux/futex.h>

/* A thread claims this part of the remaining instructions at a time. */
#define SLICE_PART 8
#define SLICE_MIN  512
#define SLICE_MAX  65536

#define WATCH_STACK (256 * 1024)

static struct {
    bool counts;        /* instructions */
    bool window;        /* is open */
    bool starts_closed; /* as it was when `window' was set by it */
    /* Requests of the guest to all threads: paused in bit 0, a count above */
    uint32_t guest_requests;
    uint32_t filter_seq; /* of the last choice, or the one in progress */
    uint32_t selection;  /* how often it was made anew */
    char *text;          /* and how */
    void *watch_stack;
} process;

static CannoliGate *gate_of(CPUState *cpu)
{
    return &cannoli_cpu(cpu)->thread->gate;
}

/* All threads of the process pass cannoli_gate_enter before they go on. */
static void kick_all(void)
{
    CPUState *cpu;

    RCU_READ_LOCK_GUARD();
    CPU_FOREACH (cpu) {
        cpu_exit(cpu);
    }
}

/* ---- counting ---- */

static uint64_t *left_to_run(const CannoliGate *g)
{
    return g->phase == CANNOLI_PHASE_AFTER ? &cannoli_shared()->after_insns
                                           : &cannoli_shared()->for_insns;
}

/* Claim a slice of the remaining instructions; 0: none are left. */
static int32_t claim_slice(uint64_t *left, int32_t most)
{
    uint64_t old = qatomic_read(left), n, seen;

    while (old) {
        n = MIN(old, MIN(MAX(old / SLICE_PART, SLICE_MIN), most));
        seen = qatomic_cmpxchg(left, old, old - n);
        if (seen == old) {
            return n;
        }
        old = seen;
    }
    return 0;
}

/* There is a number of instructions that will be skipped, or recorded. */
static bool has_end(const CannoliGate *g)
{
    return process.counts && g->phase <= CANNOLI_PHASE_FOR;
}

/* A turn ends, or the next input comes, at an instruction. */
static bool has_quantum(void)
{
    return cannoli_turns || cannoli_expanding;
}

static bool counts(const CannoliGate *g)
{
    return has_quantum() || has_end(g);
}

static void use_quantum(CannoliGate *g, int32_t n)
{
    if (has_quantum()) {
        g->quantum -= n;
    }
}

/* Get more instructions to run; 0: none are left. */
static int32_t claim(CannoliGate *g)
{
    int32_t most = has_quantum() ? g->quantum : SLICE_MAX;

    if (most > 0 && has_end(g)) {
        most = claim_slice(left_to_run(g), MIN(most, SLICE_MAX));
    }
    use_quantum(g, most);
    return most;
}

/* Get instructions to run, or go on to the next phase. */
static void refill(CannoliCPU *c, CannoliGate *g)
{
    while (c->budget <= 0 && has_end(g)) {
        int32_t n = 0;

        if (g->phase == CANNOLI_PHASE_FOR &&
            qatomic_read(left_to_run(g)) == UINT64_MAX) {
            g->phase = CANNOLI_PHASE_NONE;
            break;
        }
        if (qatomic_read(left_to_run(g)) != UINT64_MAX) {
            n = claim(g);
        }
        if (n) {
            c->budget += n;
        } else {
            g->phase++;
        }
    }
    if (!has_end(g)) {
        c->budget = has_quantum() ? claim(g) : 0;
    }
}

/*
 * A waiting thread returns its instructions for others to run, except for the
 * very last ones: a thread that has seen that none are left has gone on to the
 * next phase.
 */
static void give_back(CannoliCPU *c, CannoliGate *g)
{
    uint64_t *left, old, seen;

    if (c->budget > 0 && !has_end(g)) {
        use_quantum(g, -c->budget);
        c->budget = 0;
    }
    if (c->budget <= 0) {
        g->quantum_over |= cannoli_turns && g->quantum <= 0;
        return;
    }
    left = left_to_run(g);
    old = qatomic_read(left);
    while (old) {
        seen = qatomic_cmpxchg(left, old, old + c->budget);
        if (seen == old) {
            use_quantum(g, -c->budget);
            c->budget = 0;
            break;
        }
        old = seen;
    }
}

void cannoli_gate_restored(CPUState *cpu, const TranslationBlock *tb, int insn)
{
    cannoli_cpu(cpu)->unrun = tb->icount - 1 - insn;
}

void cannoli_gate_left(CPUState *cpu, bool restart)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    if (c->in_code && (cpu->tcg_cflags & CF_CANNOLI_COUNT)) {
        c->in_code = false;
        c->budget += c->unrun + restart;
    }
}

/*
 * How many instructions a block subtracts; the target of EXECUTE was counted.
 */
static int block_counts(const TranslationBlock *tb)
{
#ifdef TARGET_S390X
    if (tb->cs_base) {
        return 0;
    }
#endif
    return tb->icount;
}

/*
 * A quantum that was drawn, or that a block does not fit into, ends at an exact
 * instruction; others where a block does.
 */
static bool quantum_ends(CPUState *cpu, int need)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    return has_quantum() && gate_of(cpu)->quantum <= 0 &&
           (c->budget <= 0 || (cannoli_turns && !cannoli_ctl->vary &&
                               need <= cannoli_ctl->quantum));
}

/*
 * A block did not begin: was that because it has more instructions than may
 * run?
 */
static void ran_out(CPUState *cpu, const TranslationBlock *tb)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliGate *g = gate_of(cpu);
    int need = block_counts(tb);

    while (c->budget < need) {
        int32_t n = claim(g);

        if (n) {
            c->budget += n;
        } else if (quantum_ends(cpu, need)) {
            if (!cannoli_turn_renew(cpu)) {
                /* It is another thread's turn, or an input is due. */
                g->quantum_over = true;
                cpu_exit(cpu);
                break;
            }
        } else if (c->budget <= 0) {
            /* The next phase begins with this block. */
            cpu_exit(cpu);
            break;
        } else if (tb_cflags(tb) & CF_COUNT_MASK &&
                   (tb_cflags(tb) & CF_COUNT_MASK) <= c->budget) {
            /* It cannot be made shorter. */
            c->budget = need;
        } else {
            cpu->cflags_next_tb = curr_cflags(cpu) | c->budget;
            break;
        }
    }
    /* Make the main loop look for a block again. */
    qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
}

/* ---- gates ---- */

/* Why the gate should be closed now, 0: it should be open. */
static uint8_t blocked_by(const CannoliGate *g)
{
    if (qatomic_read(&cannoli_control()->paused)) {
        return CTR_GATE_OUTSIDE;
    }
    if (g->paused) {
        return CTR_GATE_GUEST;
    }
    if (g->quiet || (process.counts && (g->phase == CANNOLI_PHASE_AFTER ||
                                        g->phase == CANNOLI_PHASE_OVER))) {
        return CTR_GATE_COUNT;
    }
    if (g->elsewhere) {
        return CTR_GATE_TASK;
    }
    if (!g->in_tree && !qatomic_read(&process.window)) {
        return CTR_GATE_PLACE;
    }
    return 0;
}

static uint32_t gate_cflags(const CannoliGate *g)
{
    return (blocked_by(g) ? CF_CANNOLI_OFF : 0) |
           (counts(g) ? CF_CANNOLI_COUNT : 0) |
           (g->in_tree ? CF_CANNOLI_TREE : 0);
}

static void put_gate(CPUState *cpu, bool open, uint32_t why)
{
    uint8_t *p = cannoli_event(cpu, CTR_EVENT_GATE, 8, cannoli_now());

    if (p) {
        stl_le_p(p, open);
        stl_le_p(p + 4, why);
        cannoli_event_end(cpu, 8);
    }
}

/* Set gate and compile flags to what they should be now. */
static void set_gate(CPUState *cpu, bool begin)
{
    CannoliGate *g = gate_of(cpu);
    uint8_t blocked, why, before = g->blocked;
    uint32_t requests = qatomic_read(&process.guest_requests);
    uint32_t cflags;

    if (requests != g->guest_requests) {
        g->guest_requests = requests;
        g->paused = requests & 1;
    }
    blocked = why = blocked_by(g);
    cflags =
        (gate_cflags(g) & ~CF_CANNOLI_OFF) | (blocked ? CF_CANNOLI_OFF : 0);
    if (cflags != (cpu->tcg_cflags & CF_CANNOLI_MASK)) {
        cpu->tcg_cflags = (cpu->tcg_cflags & ~CF_CANNOLI_MASK) | cflags;
        /* A block that was requested before is one of the other kind. */
        cpu->cflags_next_tb = -1;
    }
    g->blocked = blocked;
    if (begin) {
        g->open = !blocked;
        if (blocked) {
            put_gate(cpu, false, CTR_GATE_START);
        }
    } else if (g->open != !blocked) {
        if (!blocked) {
            why = before;
        }
        if (why == CTR_GATE_PLACE && g->was_in_tree != g->in_tree) {
            why = CTR_GATE_TREE;
        }
        g->open = !blocked;
        put_gate(cpu, g->open, why);
    }
    g->was_in_tree = g->in_tree;
}

/* Between s390x EXECUTE and its target nothing may happen. */
static bool inside_insn(CPUState *cpu)
{
#ifdef TARGET_S390X
    return cpu_env(cpu)->ex_value;
#else
    return false;
#endif
}

#ifndef CONFIG_USER_ONLY
/* Between two blocks of cpu_exec, with the big lock. */
static void set_gate_inside(CPUState *cpu)
{
    /* What changed so far is compared while it is recorded. */
    cannoli_regs_loop_exit(cpu);
    set_gate(cpu, false);
    /* The last block is not linked to one of the other kind. */
    cpu->interrupt_request |= CPU_INTERRUPT_EXITTB;
}

void cannoli_gate_elsewhere(CPUState *cpu, bool elsewhere)
{
    CannoliGate *g = gate_of(cpu);

    if (g->begun && g->elsewhere != elsewhere) {
        BQL_LOCK_GUARD();

        g->elsewhere = elsewhere;
        set_gate_inside(cpu);
    }
}

void cannoli_gate_interrupt(CPUState *cpu)
{
    CannoliGate *g = gate_of(cpu);

    if (g->begun && !inside_insn(cpu) &&
        gate_cflags(g) != (cpu->tcg_cflags & CF_CANNOLI_MASK)) {
        set_gate_inside(cpu);
        cannoli_regs_outside(cpu);
    }
}

void cannoli_gate_look(CPUState *cpu)
{
    set_gate(cpu, false);
}
#endif

void cannoli_gate_pause(CPUState *cpu, bool paused, bool process_wide)
{
    CannoliGate *g = gate_of(cpu);

    if (process_wide) {
        uint32_t old = qatomic_read(&process.guest_requests), seen, new;

        for (;;) {
            new = ((old & ~1u) + 2) | paused;
            seen = qatomic_cmpxchg(&process.guest_requests, old, new);
            if (seen == old) {
                break;
            }
            old = seen;
        }
        kick_all();
    } else {
        g->guest_requests = qatomic_read(&process.guest_requests);
        g->paused = paused;
    }
}

/* ---- what the recorder requests ---- */

static void emit_marks(CPUState *cpu)
{
    const struct mempipe_control *control = cannoli_control();
    CannoliGate *g = gate_of(cpu);
    uint32_t nr = qatomic_load_acquire(&control->nr_marks);

    if (nr - g->marks > MEMPIPE_MARKS) {
        g->marks = nr - MEMPIPE_MARKS;
    }
    while (g->marks != nr) {
        struct mempipe_mark m = control->marks[g->marks++ % MEMPIPE_MARKS];

        cannoli_put_mark(cpu, CTR_MARK_OUTSIDE, g->marks, m.asked_ns, 0, m.text,
                         MIN(m.bytes, MEMPIPE_MARK_BYTES));
    }
}

/* A window of places: closed until a start, if that is wanted. */
static void begin_window(void)
{
    process.starts_closed = cannoli_starts_closed;
    qatomic_set(&process.window,
                !cannoli_control()->window && !cannoli_starts_closed);
}

/* All other threads are stopped. */
static void choose_anew(CPUState *cpu, run_on_cpu_data data)
{
    CPUState *other;

    RCU_READ_LOCK_GUARD();
    cannoli_jitter_reload();
    if (cannoli_starts_closed != process.starts_closed) {
        begin_window();
    }
    g_free(process.text);
    process.text = cannoli_jitter_text();
    process.filter_seq = cannoli_jitter_seq;
    process.selection = cannoli_jitter_seq / 2;
    CPU_FOREACH (other) {
        cannoli_cpu(other)->insn = CANNOLI_INSN_NONE;
    }
    tb_flush(cpu);
}

static void look_for_choice(CPUState *cpu)
{
    uint32_t seq = qatomic_load_acquire(&cannoli_control()->filter_seq);
    uint32_t old = qatomic_read(&process.filter_seq);

    /* Odd: being written; another wakeup follows when it is complete. */
    if (seq != old && !(seq & 1) &&
        qatomic_cmpxchg(&process.filter_seq, old, seq) == old) {
        async_safe_run_on_cpu(cpu, choose_anew, RUN_ON_CPU_NULL);
    }
}

static void emit_choice(CPUState *cpu)
{
    CannoliGate *g = gate_of(cpu);
    /*
     * The whole text: up to 64 KiB, the longest list, fits every side queue.
     */
    uint32_t len = MIN(strlen(process.text), UINT16_MAX);
    uint8_t *p;

    g->selection = process.selection;
    p = cannoli_event(cpu, CTR_EVENT_SELECT, 10 + len, cannoli_now());
    if (p) {
        stl_le_p(p, g->selection);
        stl_le_p(p + 4, 0);
        stw_le_p(p + 8, len);
        memcpy(p + 10, process.text, len);
        cannoli_event_end(cpu, 10 + len);
    }
}

/* ---- in and out of translated code ---- */

void cannoli_gate_enter(CPUState *cpu)
{
    CannoliGate *g = gate_of(cpu);

    cannoli_light_clocks(cpu);
    if (cannoli_expanding) {
        cannoli_expand_enter(cpu);
    }
    if (counts(g)) {
        refill(cannoli_cpu(cpu), g);
    }
    /* cpu_exec_step_atomic has chosen its block already */
    if (cpu_in_exclusive_context(cpu)) {
        return;
    }
    if (inside_insn(cpu)) {
        cpu->cflags_next_tb =
            curr_cflags(cpu) | CF_NO_GOTO_TB | CF_NO_GOTO_PTR | CF_NOIRQ | 1;
        cpu_exit(cpu);
        return;
    }
    if (g->tree_aside && !cannoli_tree_elsewhere(cpu, g->tree_sp)) {
        g->tree_aside = false;
        cannoli_cpu(cpu)->tree_sp = g->tree_sp;
    }
    look_for_choice(cpu);
    if (g->selection != process.selection) {
        emit_choice(cpu);
    }
    if (g->marks != qatomic_read(&cannoli_control()->nr_marks)) {
        emit_marks(cpu);
    }
    set_gate(cpu, false);
}

void cannoli_gate_exit(CPUState *cpu)
{
    if (counts(gate_of(cpu))) {
        give_back(cannoli_cpu(cpu), gate_of(cpu));
    }
}

void cannoli_gate_request(CPUState *cpu, const TranslationBlock *tb)
{
    CannoliGate *g = gate_of(cpu);

    if ((tb_cflags(tb) & CF_CANNOLI_TREE) && g->in_tree &&
        cannoli_tree_over(cpu, tb->pc)) {
        if (cannoli_tree_elsewhere(cpu, g->tree_sp)) {
            /* Until the handler has returned, through a system call. */
            g->tree_aside = true;
            cannoli_cpu(cpu)->tree_sp = CANNOLI_TREE_NEVER;
            qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
        } else {
            g->in_tree = false;
            cpu_exit(cpu);
        }
    } else if ((tb_cflags(tb) & CF_CANNOLI_COUNT) &&
               cannoli_cpu(cpu)->budget < block_counts(tb)) {
        ran_out(cpu, tb);
    }
}

/*
 * A place where recording starts or stops: true: it does so with the next
 * block, which is this one again.  It then has no effect a second time, or
 * vCPUs that take turns at two places would undo for ever what the other did.
 */
uint32_t helper_cannoli_place(CPUArchState *env, uint32_t triggers, uint64_t pc)
{
    CPUState *cpu = env_cpu(env);
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliGate *g = gate_of(cpu);
    bool window = qatomic_read(&process.window);

    if (!(g->passed && g->passed_pc == pc) &&
        (triggers & CANNOLI_START ? !window
                                  : window && (triggers & CANNOLI_STOP))) {
        qatomic_set(&process.window, !window);
        kick_all();
        g->passed = true;
        g->passed_pc = pc;
    }
    if ((triggers & CANNOLI_TREE) && !g->in_tree) {
        c->tree_sp = g->tree_sp = cannoli_stack_pointer(cpu);
        c->tree_return = cannoli_return_address(cpu);
        g->in_tree = true;
        g->tree_aside = false;
    }
    if (gate_cflags(g) == (cpu->tcg_cflags & CF_CANNOLI_MASK)) {
        g->passed = false;
        return false;
    }
    cpu_exit(cpu);
    return true;
}

/* Inside a tree, where its end cannot be seen in translated code. */
uint32_t helper_cannoli_tree(CPUArchState *env, uint64_t pc)
{
    return cannoli_tree_over(env_cpu(env), pc);
}

/* ---- the watch ---- */

static void *watch(void *unused)
{
    const uint32_t *word = &cannoli_control()->generation;
    uint32_t seen = 0;

    rcu_register_thread();
    for (;;) {
        /* Pairs with the recorder's release store. */
        uint32_t now = qatomic_load_acquire(word);

        if (now != seen) {
            seen = now;
            kick_all();
        }
        syscall(__NR_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
    }
    return NULL;
}

void cannoli_watch_start(void)
{
    sigset_t all, old;
    pthread_attr_t attr;
    pthread_t thread;

    if (!cannoli_ctl->watch) {
        return;
    }
    /* Where it does not move the guest's mappings; a child has its own copy. */
    if (!process.watch_stack) {
        process.watch_stack = cannoli_alloc(WATCH_STACK);
    }
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, process.watch_stack, WATCH_STACK);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    /* Without it, threads notice requests at system calls. */
    pthread_create(&thread, &attr, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
}

/* ---- processes and threads ---- */

void cannoli_gate_program(CPUState *cpu)
{
    const struct mempipe_shared *shared = cannoli_shared();

    process.filter_seq = cannoli_jitter_seq;
    process.counts =
        (shared->after_insns != 0 && shared->after_insns != UINT64_MAX) ||
        shared->for_insns != UINT64_MAX;
    begin_window();
    cannoli_watch_start();
}

void cannoli_gate_begin(CPUState *cpu, const CannoliGate *parent)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliGate *g = gate_of(cpu);

    g->marks = qatomic_read(&cannoli_control()->nr_marks);
    g->selection = process.selection;
    g->guest_requests = qatomic_read(&process.guest_requests);
#ifndef CONFIG_USER_ONLY
    g->elsewhere = cannoli_selects();
#endif
    if (parent) {
        /* The child is in the middle of a call: go on as the parent does. */
        g->paused = parent->paused;
        g->in_tree = g->was_in_tree = parent->in_tree;
        g->tree_aside = parent->tree_aside;
        g->tree_sp = parent->tree_sp;
        g->phase = parent->phase;
        g->guest_requests = parent->guest_requests;
    } else {
        g->paused = c->parent_paused;
        cannoli_turn_enter(cpu);
        if (has_end(g)) {
            refill(c, g);
        }
    }
    set_gate(cpu, true);
    g->begun = true;
}

void cannoli_gate_end(CPUState *cpu)
{
    cannoli_gate_exit(cpu);
}
