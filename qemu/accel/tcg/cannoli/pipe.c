/*
 * Execution tracing into shared memory: QEMU's end of the pipe
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hands buffers over to the recorder and claims free ones; handles the begin
 * and end of threads and processes.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/cutils.h"
#include "exec/tb-flush.h"
#include "exec/translation-block.h"
#include "hw/core/cpu.h"
#include "cpu.h"
#include "elf.h"
#include "tcg/tcg.h"
#include "far.h"
#include "regs.h"
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/futex.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

/* Buffers of the pool that this process has written to before. */
bool *cannoli_pool_known;

/*
 * The pipe that a fork in progress holds for the child, or a thread that begins
 * for itself.
 */
static __thread struct mempipe_pipe *fork_pipe;
static __thread uint32_t fork_serial;

/* Serial of the first pipe of this process. */
static uint32_t process_serial;

/*
 * Our process ids belong to a PID namespace below that of the recording's first
 * process.
 */
static bool nested;

/*
 * The recorder has set our PDEATHSIG so that we end when it dies; the guest has
 * set none.
 */
static bool hide_deathsig;

uint64_t cannoli_now(void)
{
    struct timespec ts;

    if (cannoli_expanding) {
        return cannoli_expand_now();
    }
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static long futex(uint32_t *word, int op, uint32_t val,
                  const struct timespec *timeout)
{
    return syscall(__NR_futex, word, op, val, timeout, NULL, 0);
}

static struct mempipe_buffer *buffer_at(uint32_t i)
{
    return (struct mempipe_buffer *)((uint8_t *)cannoli_ctl +
                                     cannoli_ctl->headers_off) +
           i;
}

/* ---- waiting and waking ---- */

static void ring_doorbell(void)
{
    struct mempipe_shared *shared = cannoli_shared();

    qatomic_fetch_add(&shared->doorbell, 1);
    if (qatomic_read(&shared->asleep)) {
        futex(&shared->doorbell, FUTEX_WAKE, 1, NULL);
    }
}

static bool recorder_is_dead(void)
{
    return qatomic_read(&cannoli_ctl->owner[0]) & FUTEX_OWNER_DIED;
}

static G_NORETURN void die(const char *why)
{
    g_autofree char *msg = g_strdup_printf("qemu-" TARGET_NAME ": cannoli: %s; "
                                           "ending the recorded program\n",
                                           why);

    if (write(STDERR_FILENO, msg, strlen(msg))) {
        /* no reader is left */
    }
    kill(getpid(), SIGKILL);
    _exit(EXIT_FAILURE);
}

void cannoli_check_recorder(const CannoliThread *t)
{
    if (recorder_is_dead()) {
        die("the recorder has died");
    }
    if (t && (qatomic_read(&t->pipe->state) == MEMPIPE_FREE ||
              qatomic_read(&t->pipe->state) == MEMPIPE_ENDED ||
              qatomic_read(&t->pipe->serial) != t->serial)) {
        die("somebody has overwritten the recorder's memory");
    }
}

/* Wait until try() succeeds; the recorder signals space by `space'. */
static void wait_for_space(CannoliThread *t,
                           bool (*try)(CannoliThread *, uint32_t), uint32_t arg)
{
    const struct timespec tick = { .tv_nsec = 100 * 1000 * 1000 };
    uint64_t begin;
    int spin;

    if (try(t, arg)) {
        return;
    }
    begin = cannoli_now();
    for (spin = 0; spin < 200; spin++) {
        cpu_relax();
        if (try(t, arg)) {
            goto done;
        }
    }
    for (;;) {
        struct mempipe_shared *shared = cannoli_shared();
        uint32_t seen;

        qatomic_fetch_add(&shared->space_waiters, 1);
        seen = qatomic_read(&shared->space);
        smp_mb();
        if (try(t, arg)) {
            qatomic_fetch_add(&shared->space_waiters, -1);
            goto done;
        }
        ring_doorbell();
        futex(&shared->space, FUTEX_WAIT, seen, &tick);
        qatomic_fetch_add(&shared->space_waiters, -1);
        cannoli_check_recorder(t);
        if (try(t, arg)) {
            goto done;
        }
    }
done:
    t->pipe->waits++;
    t->pipe->wait_ns += cannoli_now() - begin;
}

/* ---- buffers ---- */

static bool try_buffer(CannoliThread *t, uint32_t unused)
{
    uint64_t *pool = &cannoli_shared()->pool_head;
    uint64_t head = qatomic_read(pool);
    uint32_t zero = 0, buffer;

    /*
     * The reserved buffer is most likely cached.  Pairs with the recorder's
     * release to busy.
     */
    if (qatomic_load_acquire(&buffer_at(t->pipe_no)->busy) == zero) {
        buffer = t->pipe_no;
        qatomic_set(&buffer_at(buffer)->busy, 1);
    } else {
        for (;;) {
            uint64_t next, old;

            buffer = (uint32_t)head;
            /* More than there are: the guest has overwritten it. */
            if (!buffer ||
                buffer > cannoli_ctl->nr_pipes + cannoli_ctl->nr_pool) {
                return false;
            }
            next = qatomic_read(&buffer_at(buffer - 1)->next_free);
            next |= ((head >> 32) + 1) << 32;
            old = qatomic_cmpxchg(pool, head, next);
            if (old == head) {
                break;
            }
            head = old;
        }
        buffer--;
    }
    t->buffer_no = buffer;
    return true;
}

/*
 * A block leaves before it runs if there is less room than it needs, or if an
 * exit is requested: both are one comparison (gen.c), because an exit request
 * sets the limit to 0.  Without data it is compared with `words', otherwise
 * with `words - data', which is minus the room.
 */
void cannoli_set_limit(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    if (!c->thread) {
        return;
    }
#ifndef CONFIG_USER_ONLY
    cannoli_request(cpu);
    cannoli_select(cpu);
#endif
    qatomic_set(&c->limit, cannoli_no_data()
                               ? (uintptr_t)c->thread->end - CANNOLI_MAX_NEED
                               : -(uintptr_t)CANNOLI_MIN_NEED);
    /*
     * Pairs with cannoli_request_exit: a request in between is not lost.
     */
    smp_mb();
    if (qatomic_read(&cpu->neg.icount_decr.u16.high)) {
        qatomic_set(&c->limit, 0);
    }
}

/*
 * A thread that uses a pool buffer usually fills all of it.  Populating its
 * pages at once is cheaper than faulting them in one by one; if that fails,
 * they are faulted in.
 */
static void populate_buffer(CannoliThread *t)
{
    bool *known = &cannoli_pool_known[t->buffer_no - cannoli_ctl->nr_pipes];

    if (!qatomic_read(known)) {
        qatomic_set(known, true);
        madvise(t->base, cannoli_ctl->buffer_bytes, MADV_POPULATE_WRITE);
    }
}

/* Begin filling the claimed buffer. */
static void begin_buffer(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;

    t->buffer = buffer_at(t->buffer_no);
    t->base = (uint8_t *)cannoli_ctl + cannoli_ctl->buffers_off +
              (uint64_t)t->buffer_no * cannoli_ctl->buffer_bytes;
    t->end = t->base + cannoli_ctl->buffer_bytes;
    t->buffer->start_ns = cannoli_now();
    cannoli_order_begin(t);
    t->placed = 0;
    t->events = 0;
    t->left = false;
    c->words = t->base;
    c->data = t->end;
    cannoli_set_limit(cpu);
    cannoli_epoch_report(t);
    qatomic_set(&t->pipe->quiet_words, 0);
    qatomic_set(&t->pipe->quiet_units, 0);
    qatomic_set(&t->pipe->live_seq, t->seq);
    qatomic_store_release(&t->pipe->live_buffer, t->buffer_no + 1);
    if (t->buffer_no >= cannoli_ctl->nr_pipes) {
        populate_buffer(t); /* now that it is not lost with the thread */
    }
    cannoli_regs_state(cpu);
}

static uint32_t word_count(CannoliCPU *c)
{
    return ((uint8_t *)c->words - c->thread->base) / 4;
}

static void deliver(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;

    t->buffer->pipe = t->pipe_no;
    t->buffer->seq = t->seq;
    t->buffer->words = word_count(c);
    t->buffer->units = cannoli_unit_count(cpu);
    t->buffer->side_pos = t->pipe->side_head;
    t->buffer->end_ns = cannoli_now();
    cannoli_order_end(cpu);
    /* Pairs with the recorder's acquire load of the mail. */
    qatomic_store_release(&t->pipe->mail[t->seq % MEMPIPE_MAIL],
                          t->buffer_no + 1);
    qatomic_set(&t->pipe->live_buffer, 0);
    t->seq++;
}

void cannoli_hand_over(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;

    if (cannoli_ctl->discard) {
        c->words = t->base;
        c->data = t->end;
        t->placed = 0;
        t->events = 0;
        return;
    }
    cannoli_regs_outside(cpu);
    deliver(cpu);
    ring_doorbell();
    wait_for_space(t, try_buffer, 0);
    begin_buffer(cpu);
}

/* ---- the side queue ---- */

static bool try_side_room(CannoliThread *t, uint32_t bytes)
{
    uint64_t used =
        t->pipe->side_head - qatomic_load_acquire(&t->pipe->side_tail);

    return cannoli_ctl->side_bytes - used >= bytes;
}

void *cannoli_side_reserve(CannoliThread *t, uint32_t bytes)
{
    uint32_t size = cannoli_ctl->side_bytes;
    uint32_t pos = t->pipe->side_head & (size - 1);

    if (cannoli_ctl->discard) {
        return t->side_queue;
    }
    if (size - pos < bytes) {
        /* Records do not wrap around: fill up to the end. */
        struct mempipe_side_record *pad = (void *)(t->side_queue + pos);

        wait_for_space(t, try_side_room, size - pos);
        pad->bytes = size - pos;
        pad->type = MEMPIPE_SIDE_PAD;
        cannoli_side_commit(t, size - pos);
        pos = 0;
    }
    wait_for_space(t, try_side_room, bytes);
    return t->side_queue + pos;
}

void cannoli_side_commit(CannoliThread *t, uint32_t bytes)
{
    uint64_t half = cannoli_ctl->side_bytes / 2;
    uint64_t head = t->pipe->side_head;

    if (cannoli_ctl->discard) {
        return;
    }
    /* Pairs with the recorder's acquire load of side_head. */
    qatomic_store_release(&t->pipe->side_head, head + bytes);
    if ((head & (half - 1)) + bytes >= half) {
        ring_doorbell();
    }
}

/* ---- entering and leaving translated code ---- */

/* Hands over between two blocks, where all that the thread did is recorded. */
static void hand_over_between(CPUState *cpu)
{
    cannoli_hand_over(cpu);
#ifdef CONFIG_USER_ONLY
    cannoli_keyframes(cpu);
#endif
}

/* All that the thread has done so far is in its buffer, whole. */
static void set_quiet(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    struct mempipe_pipe *pipe = c->thread->pipe;

    qatomic_set(&pipe->quiet_words, word_count(c));
    qatomic_set(&pipe->quiet_units, cannoli_unit_count(cpu));
    qatomic_store_release(&pipe->running, 0);
}

void cannoli_enter(CPUState *cpu, const TranslationBlock *tb)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;
    bool pending;

    if (!t) {
        return;
    }
#ifndef CONFIG_USER_ONLY
    cannoli_slice(cpu);
    cannoli_turn();
    cannoli_queue_enter(cpu);
    if (cannoli_ctl->events & CTR_EVENTS_CTX) {
        cannoli_context(cpu);
    }
    if (cannoli_ctl->events & CTR_EVENTS_TASK) {
        cannoli_task(cpu);
    }
    cannoli_pages_enter(cpu);
#endif
    /* A block that ignores exit requests does not check by itself. */
    if (((tb_cflags(tb) & CF_NOIRQ) && cannoli_room(c) < CANNOLI_MAX_NEED) ||
        t->placed >= CANNOLI_MAX_PLACED) {
        hand_over_between(cpu);
    }
    if (unlikely(t->epoch != cannoli_epoch)) {
        cannoli_epoch_enter(cpu);
    }
#ifndef CONFIG_USER_ONLY
    cannoli_regs_inside(cpu);
#endif
    cannoli_order_use();
    c->unwound = NULL;
    c->fault_addr_valid = false;
    t->left = false;
    pending = cannoli_once_pending(tb);
    if (pending) {
        cannoli_once_enter(cpu, (TranslationBlock *)tb);
    }
    c->in_code = true;
    if (cannoli_coverage && !pending) {
        return;
    }
    t->running = true;
    /*
     * Blocks that record nothing are linked to such only, so the buffer's end
     * is certain meanwhile, even if the process is killed.
     */
    if (tb_cflags(tb) & CF_CANNOLI_OFF) {
        set_quiet(cpu);
    } else {
        qatomic_set(&t->pipe->running, 1);
    }
}

void cannoli_leave(CPUState *cpu, const TranslationBlock *tb, int tb_exit)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;

    if (!t) {
        return;
    }
    if (c->once) {
        cannoli_once_leave(cpu, tb_exit);
    }
    t->running = false;
    c->in_code = false;
    set_quiet(cpu);
#ifndef CONFIG_USER_ONLY
    if (c->transition) {
        cannoli_transition(cpu);
    }
#endif
    if (tb_exit == TB_EXIT_REQUESTED &&
        (tb_cflags(tb) & (CF_CANNOLI_TREE | CF_CANNOLI_COUNT))) {
        cannoli_gate_request(cpu, tb);
    }
    if (tb_exit == TB_EXIT_REQUESTED) {
        if (cannoli_room(c) <= CANNOLI_MAX_NEED ||
            t->placed >= CANNOLI_MAX_PLACED) {
            hand_over_between(cpu);
        }
        /*
         * Make the main loop look for the block again.  With icount it does so
         * anyway, after it has counted, which it must not be kept from.
         */
        if (!(tb_cflags(tb) & CF_USE_ICOUNT)) {
            qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
        }
#ifndef CONFIG_USER_ONLY
        cannoli_turn();
#endif
    }
}

/* ---- events ---- */

uint8_t *cannoli_event(CPUState *cpu, uint32_t type, uint32_t n,
                       uint64_t time_ns)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    struct mempipe_side_event *rec;

    if (!t || t->running ||
        (cannoli_expanding && !cannoli_expand_emits(t, type))) {
        return NULL;
    }
    cannoli_turn_hold(cpu);
    cannoli_slice(cpu);
    rec = cannoli_side_reserve(t, ROUND_UP(sizeof(*rec) + n, 8));
    cannoli_place(cpu, &rec->p, MEMPIPE_SIDE_EVENT, 0);
    rec->type = type;
    rec->zero = 0;
    rec->time_ns = cannoli_order_time(time_ns);
    t->event = rec;
    return (uint8_t *)(rec + 1);
}

void cannoli_event_end(CPUState *cpu, uint32_t n)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    struct mempipe_side_event *rec = t->event;

    rec->p.n = n;
    rec->p.h.bytes = ROUND_UP(sizeof(*rec) + n, 8);
    memset((uint8_t *)(rec + 1) + n, 0, rec->p.h.bytes - sizeof(*rec) - n);
    cannoli_side_commit(t, rec->p.h.bytes);
    t->events++;
    t->placed += rec->p.h.bytes;
    if (t->placed >= CANNOLI_MAX_PLACED) {
        cannoli_hand_over(cpu);
    }
    cannoli_turn_let_go(cpu);
}

/* ---- threads and processes ---- */

/*
 * A pipe for a thread of process `pid', 0 for a child that does not exist yet.
 */
static struct mempipe_pipe *claim_pipe(int pid)
{
    struct mempipe_shared *shared = cannoli_shared();

    for (uint32_t i = 0; i < cannoli_ctl->nr_pipes; i++) {
        struct mempipe_pipe *p = cannoli_pipes() + i, unnamed = { 0 };
        uint32_t high;

        if (qatomic_read(&p->state) != MEMPIPE_FREE ||
            qatomic_cmpxchg(&p->state, MEMPIPE_FREE, MEMPIPE_CLAIMED) !=
                MEMPIPE_FREE) {
            continue;
        }
        high = qatomic_read(&shared->pipes_high);
        while (high < i + 1) {
            high = qatomic_cmpxchg(&shared->pipes_high, high, i + 1);
        }
        unnamed.serial = qatomic_fetch_add(&shared->next_serial, 1);
        unnamed.pid = pid;
        qatomic_set(&p->serial_pid, unnamed.serial_pid);
        p->tid = 0;
        p->ppid = 0;
        p->was_pid = 0;
        p->was_ppid = 0;
        p->ptid = 0;
        p->is_process = 0;
        p->from_epoch = 0;
        p->from_process = 0;
        p->end_reason = 0;
        p->end_status = 0;
        p->waits = 0;
        p->wait_ns = 0;
        p->running = 0;
        p->inside = 0;
        p->inside_end = 0;
        qatomic_set(&p->turn, MEMPIPE_TURN_OUT);
        return p;
    }
    qatomic_fetch_add(&shared->nr_exhausted, 1);
    error_report("cannoli: more than %u threads at a time cannot be recorded",
                 cannoli_ctl->nr_pipes);
    kill(getpid(), SIGKILL);
    _exit(EXIT_FAILURE);
}

/* These structures are reused: a guest may create threads for ever. */
static CannoliThread *spare_threads;
static QemuSpin spare_lock;

static CannoliThread *new_thread(void)
{
    struct CannoliJump *jumps;
    struct CannoliPages *pages;
    struct CannoliTask *task;
    struct CannoliClocks *clocks;
    void *copy;
    CannoliRegs *regs;
    CannoliThread *t;

    qemu_spin_lock(&spare_lock);
    t = spare_threads;
    if (t) {
        spare_threads = t->next_spare;
    } else {
        t = cannoli_alloc(sizeof(*t));
    }
    qemu_spin_unlock(&spare_lock);
    regs = t->regs;
    jumps = t->jumps;
    pages = t->pages;
    task = t->task;
    copy = t->copy;
    clocks = t->clocks;
    memset(t, 0, sizeof(*t));
    t->copy = copy;
    t->clocks = clocks;
    t->regs = regs;
    t->pages = pages;
    t->task = task;
    t->jumps = cannoli_make_jumps(jumps);
    return t;
}

static void free_thread(CannoliThread *t)
{
    qemu_spin_lock(&spare_lock);
    t->next_spare = spare_threads;
    spare_threads = t;
    qemu_spin_unlock(&spare_lock);
}

/* Give this thread the claimed pipe, with its identity already in it. */
static void attach(CPUState *cpu, struct mempipe_pipe *p)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = new_thread();

    t->pipe = p;
    t->pipe_no = p - cannoli_pipes();
    t->serial = qatomic_read(&p->serial);
    t->side_queue = (uint8_t *)cannoli_ctl + cannoli_ctl->side_off +
                    (uint64_t)t->pipe_no * cannoli_ctl->side_bytes;
    t->buffer_no = t->pipe_no;
#ifdef CONFIG_USER_ONLY
    cannoli_keyframes_begin(t);
#endif
    /* Until cannoli_gate_begin, to record the registers as they are now. */
    t->gate.open = true;
    cannoli_open_memory(t->side_queue, cannoli_ctl->side_bytes);
    cannoli_open_memory((uint8_t *)cannoli_ctl + cannoli_ctl->buffers_off +
                            (uint64_t)t->pipe_no * cannoli_ctl->buffer_bytes,
                        cannoli_ctl->buffer_bytes);
    *c = (CannoliCPU){
        .thread = t,
        .insn = CANNOLI_INSN_NONE,
        .jumps = t->jumps,
        .parent_paused = c->parent_paused,
        .tree_sp = c->tree_sp,
        .tree_return = c->tree_return,
    };
    qatomic_set(&p->pid, getpid());
    p->tid = cannoli_thread_id(cpu);
    if (p->is_process) {
        process_serial = t->serial;
    }
    p->process = process_serial;
    p->nested = nested;
    p->start_ns = cannoli_now();
    cannoli_expand_attach(cpu);
    qatomic_set(&buffer_at(t->buffer_no)->busy, 1);
    cannoli_regs_attach(cpu, p->is_process);
    begin_buffer(cpu);
    qatomic_store_release(&p->state, MEMPIPE_LIVE);
    ring_doorbell();
}

/* The last event was made: hand over the rest and release the pipe. */
static void detach(CPUState *cpu, uint32_t reason, int32_t status)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;

    if (!t) {
        return;
    }
    cannoli_gate_end(cpu);
    cannoli_light_clocks(cpu);
    cannoli_thread_event(cpu, CTR_THREAD_END, reason, status, NULL);
    /* An empty buffer stays in live_buffer: the recorder reclaims it. */
    if (!cannoli_ctl->discard && !cannoli_buffer_empty(cpu)) {
        deliver(cpu);
    }
    cannoli_order_forget(t);
    c->thread = NULL;
    qatomic_set(&c->jumps, NULL);
    t->pipe->end_reason = reason;
    t->pipe->end_status = status;
    t->pipe->end_ns = cannoli_now();
    qatomic_store_release(&t->pipe->state, MEMPIPE_ENDED);
    ring_doorbell();
    free_thread(t);
    if (cannoli_expanding && reason != MEMPIPE_END_EXIT) {
        cannoli_expand_pass();
    }
}

/* Whether /proc shows that we are in a PID namespace below that of its own. */
static bool status_is_nested(void)
{
    g_autofree char *text = NULL;
    char *at;

    if (!g_file_get_contents("/proc/self/status", &text, NULL, NULL) ||
        !(at = strstr(text, "\nNSpid:"))) {
        return false;
    }
    at += strlen("\nNSpid:");
    at += strspn(at, " \t");
    return strspn(at, "0123456789") < strcspn(at, "\n");
}

/*
 * Finds whether the kernel sends us a signal when the recorder dies; the guest
 * did not request that.
 */
static void find_deathsig(void)
{
    int sig;

    hide_deathsig = prctl(PR_GET_PDEATHSIG, &sig) == 0 && sig == SIGKILL &&
                    getppid() == cannoli_ctl->recorder_pid;
}

void cannoli_get_deathsig(int *sig)
{
    if (hide_deathsig) {
        *sig = 0;
    }
}

/* The guest sets it. */
int cannoli_set_host_deathsig(int sig)
{
    if (prctl(PR_SET_PDEATHSIG, sig) < 0) {
        return -1;
    }
    if (getppid() == cannoli_ctl->recorder_pid && !nested) {
        hide_deathsig = !sig;
        if (!sig) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        }
    }
    return 0;
}

void cannoli_start(CPUState *cpu)
{
    struct mempipe_shared *shared;
    struct mempipe_pipe *p;

    if (!cannoli_on) {
        if (cannoli_jitter_given()) {
            error_report("cannoli: file= chooses what is recorded; recordings "
                         "are made by cannoli-record");
            exit(EXIT_FAILURE);
        }
        return;
    }
    shared = cannoli_shared();
    if (shared->addr_bytes == 0) {
        shared->big_endian = TARGET_BIG_ENDIAN;
        shared->elf_machine = cannoli_elf_machine;
        pstrcpy(shared->target, sizeof(shared->target), CANNOLI_TARGET);
        pstrcpy(shared->qemu_version, sizeof(shared->qemu_version),
                QEMU_VERSION);
        shared->addr_bytes = CANNOLI_ADDR_BYTES;
    }
    nested = cannoli_execed && status_is_nested();
    find_deathsig();
    cannoli_modules_on = cannoli_jitter_given() || cannoli_ctl->watch ||
                         cannoli_control()->filter_bytes;
    if (cannoli_modules_on) {
        cannoli_heap_init();
    }
    cannoli_jitter_start();
    cannoli_regs_init(cpu);
    cannoli_once_init();
    cannoli_epoch_begin();
    p = claim_pipe(getpid());
    p->is_process = 1;
    p->process = p->serial;
    p->ppid = getppid();
    cannoli_turn_begin(p, cannoli_execed);
    attach(cpu, p);
    cannoli_program(cpu);
    cannoli_gate_program(cpu);
    cannoli_gate_begin(cpu, NULL);
}

/* In the creating thread, before the new one runs. */
void cannoli_thread_new(CPUState *cpu)
{
    CannoliThread *creator = cannoli_cpu(current_cpu)->thread;

    cannoli_cpu(cpu)->parent_tid = qemu_get_thread_id();
    cannoli_cpu(cpu)->parent_paused = creator && creator->gate.paused;
}

/* In the new thread; of a program its creator waits for that. */
void cannoli_thread_ready(CPUState *cpu)
{
    if (cannoli_on) {
        fork_pipe = claim_pipe(getpid());
        cannoli_turn_claimed(fork_pipe, process_serial);
        cannoli_expand_ready();
    }
}

void cannoli_thread_start(CPUState *cpu)
{
    struct mempipe_pipe *p;

    if (!cannoli_on) {
        return;
    }
    if (!fork_pipe) {
        cannoli_thread_ready(cpu);
    }
    p = fork_pipe;
    fork_pipe = NULL;
    cannoli_turn_begin(p, false);
    p->ppid = getppid();
    p->ptid = cannoli_cpu(cpu)->parent_tid;
    attach(cpu, p);
    cannoli_thread_event(cpu, CTR_THREAD_START, 0, 0, NULL);
    cannoli_gate_begin(cpu, NULL);
}

void cannoli_thread_end(CPUState *cpu)
{
    cannoli_turn_end(false);
    detach(cpu, MEMPIPE_END_EXIT, 0);
}

void cannoli_process_end(CPUState *cpu, int code, bool signalled)
{
    cannoli_turn_end(true);
    detach(cpu, signalled ? MEMPIPE_END_SIGNAL : MEMPIPE_END_GROUP, code);
}

/* Before fork, in the parent, which may be killed at any time. */
void cannoli_fork(void)
{
    if (cannoli_on && (cannoli_ctl->follow & MEMPIPE_FOLLOW_FORK)) {
        fork_pipe = claim_pipe(0);
        fork_pipe->ppid = getpid();
        fork_pipe->from_process = process_serial;
        fork_pipe->from_epoch = cannoli_epoch;
        fork_serial = fork_pipe->serial;
        cannoli_turn_claimed(fork_pipe, fork_serial);
    }
}

/* After fork, in both. */
void cannoli_forked(CPUState *cpu, int pid)
{
    struct mempipe_pipe *p = fork_pipe, unnamed = { 0 }, named;
    CannoliThread *old = cannoli_cpu(cpu)->thread;
    int saved_errno = errno;

    if (!cannoli_on) {
        return;
    }
    fork_pipe = NULL;
    if (!p) {
        if (pid == 0) {
            /* The parent's pipe is mapped here, too: do not touch it. */
            cannoli_cpu(cpu)->thread = NULL;
            cannoli_cpu(cpu)->jumps = NULL;
            cannoli_on = cannoli_sys = cannoli_map = cannoli_thr = false;
            cpu->tcg_cflags &= ~CF_CANNOLI_MASK;
            cannoli_turn_lost();
        }
    } else if (pid < 0) {
        cannoli_turn_drop(p);
        qatomic_store_release(&p->state, MEMPIPE_FREE);
    } else if (pid > 0) {
        /*
         * So that a child that dies at once is known; it writes the same.  By
         * now it may have ended and another thread may own its pipe.
         */
        unnamed.serial = fork_serial;
        named = unnamed;
        named.pid = pid;
        qatomic_cmpxchg(&p->serial_pid, unnamed.serial_pid, named.serial_pid);
        ring_doorbell();
    } else {
        /* The parent's buffer is mapped here, too: do not touch it. */
        p->is_process = 1;
        p->ptid = old ? old->pipe->tid : 0;
        /*
         * A parent outside of the namespace has id 0: descendants are nested,
         * too.
         */
        nested |= getppid() == 0;
        hide_deathsig = false;
        /* Another thread may have begun it since the pipe was claimed. */
        p->from_epoch = cannoli_epoch;
        cannoli_dict_forked();
        cannoli_epoch_forked();
        qemu_spin_init(&spare_lock);
        cannoli_turn_begin(p, false);
        attach(cpu, p);
        cannoli_thread_event(cpu, CTR_THREAD_START, 0, 0, NULL);
        cannoli_gate_begin(cpu, old ? &old->gate : NULL);
        /* It is in the middle of the call, which writes its number. */
        cannoli_cpu(cpu)->thread->sys = old ? old->sys : (CannoliSys){ 0 };
        if (old) {
            free_thread(old);
        }
    }
    errno = saved_errno;
}

/* In the child, as soon as all functions can be used. */
void cannoli_child(CPUState *cpu)
{
    if (cannoli_on) {
        cannoli_maps_initial(cpu, false);
        cannoli_watch_start();
    } else if (cannoli_ctl) {
        /* It is not recorded, but its translated code would record. */
        start_exclusive();
        tb_flush(cpu);
        end_exclusive();
        munmap((void *)cannoli_ctl, cannoli_ctl->total_bytes);
        cannoli_release_memory();
        cannoli_ctl = NULL;
    }
}

/*
 * execve replaces the process, so everything must be handed over before; if it
 * fails the thread goes on.
 */
void cannoli_exec(CPUState *cpu, bool failed)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;

    if (!t || cannoli_ctl->discard) {
        return;
    }
    if (!failed) {
        if (!cannoli_buffer_empty(cpu)) {
            cannoli_hand_over(cpu);
        }
        t->pipe->end_ns = cannoli_now();
    }
    qatomic_set(&t->pipe->end_reason, failed ? 0 : MEMPIPE_END_EXEC);
}
