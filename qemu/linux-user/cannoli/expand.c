/*
 * Execution tracing into shared memory: a program that is executed again
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With mempipe_ctl.inputs the program gets from a file (cannoli/inputs.h) what
 * it got from outside when it was recorded, at the same instructions, and emits
 * the events again as they were.  So it does the same, and anything can be
 * recorded of it.
 *
 * Instructions are counted as for a turn (gate.c): the thread leaves translated
 * code where the next input is.  A system call does not reach the host; its
 * result, what it wrote and how it changed the address space are the inputs up
 * to its CTR_EVENT_SYSRET.  Only what is QEMU's own state (signal handlers and
 * masks, TLS, the end of the process) is executed.  A signal that an
 * instruction raised is raised again; others are delivered at their place.
 *
 * What the hooks of a recording would emit is dropped (cannoli_expand_emits).
 * If the program does anything else than what was recorded, it is ended.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu.h"
#include "user-internals.h"
#include "signal-common.h"
#include "expand.h"
#include "qemu/rcu.h"
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

bool cannoli_expanding;

static const struct inputs_header *header;
static const struct inputs_thread *threads;
static const struct inputs_thread *program; /* the first thread of this one */
static uint64_t last_ns;                    /* of all inputs so far */

/* Addresses that the loader gets, in its order. */
static const uint8_t *layout;
static uint32_t nr_layout, next_layout;

static const uint8_t *payload_of(const uint8_t *at)
{
    return at + sizeof(struct input);
}

static const uint8_t *after(const uint8_t *at)
{
    return at + INPUT_SIZE(((const struct input *)at)->bytes);
}

static const struct input *next_input(const CannoliInputs *i)
{
    return i->at < i->end ? (const struct input *)i->at : NULL;
}

static CannoliInputs *inputs_of(CPUState *cpu)
{
    return cannoli_cpu(cpu)->thread->inputs;
}

/* Instructions until the next input. */
static int64_t remaining(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    return inputs_of(cpu)->left + c->thread->gate.quantum + c->budget;
}

static void set_runs(uint32_t n);

void cannoli_expand_differs(CPUState *cpu, const char *format, ...)
{
    g_autofree char *what = NULL;
    va_list args;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    error_report("cannoli: the program does not do what was recorded: thread "
                 "%d, after %" PRIu64 " instructions, at pc 0x%" PRIx64 ": %s",
                 cannoli_cpu(cpu)->thread->pipe->tid,
                 inputs_of(cpu)->ran - remaining(cpu),
                 (uint64_t)cpu->cc->get_pc(cpu), what);
    set_runs(UINT32_MAX);
    _exit(INPUTS_STATUS_DIFFERS);
}

/* ---- threads: one at a time, in the slices of the recording ---- */

/* Of this thread; it has none before its first one. */
#define NO_SLICE (UINT32_MAX - 1)
static __thread uint32_t slice;
static uint8_t *used;      /* of each thread, whether it has begun */
static int32_t next_child; /* tid of the one that is about to begin */
static __thread const struct inputs_thread *mine;

static uint32_t *runs(void)
{
    return &cannoli_shared()->turns.runs;
}

static void set_runs(uint32_t n)
{
    qatomic_store_release(runs(), n);
    syscall(__NR_futex, runs(), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void cannoli_expand_pass(void)
{
    if (qatomic_read(runs()) == slice) {
        set_runs(slice + 1);
    }
}

/* Others may need all threads to leave translated code. */
static bool leave(CPUState *cpu)
{
    if (!cpu->running || cpu_in_exclusive_context(cpu)) {
        return false;
    }
    cpu_exec_end(cpu);
    rcu_read_unlock(); /* of cpu_exec */
    return true;
}

static void change_slice(CPUState *cpu, uint32_t n)
{
    const struct timespec tick = { .tv_nsec = 100 * 1000 * 1000 };
    bool left = false;
    uint32_t now;

    if (slice != NO_SLICE) {
        cannoli_order_pass(cpu);
        cannoli_expand_pass();
    }
    while ((now = qatomic_load_acquire(runs())) != n) {
        if (now == UINT32_MAX) {
            _exit(INPUTS_STATUS_DIFFERS);
        }
        left = left || leave(cpu);
        syscall(__NR_futex, runs(), FUTEX_WAIT, now, &tick, NULL, 0);
        cannoli_check_recorder(NULL);
    }
    slice = n;
    cannoli_order_go_on(cannoli_cpu(cpu)->thread);
    if (left) {
        rcu_read_lock();
        cpu_exec_start(cpu);
    }
}

/* The thread of the recording that this one is. */
static const struct inputs_thread *pick(void)
{
    const struct inputs_thread *t = threads;
    uint32_t n = header->nr_threads;

    if (!used) {
        used = g_new0(uint8_t, n);
        used[program - threads] = 1;
        return program;
    }
    while (n && (used[t - threads] || (next_child && t->tid != next_child))) {
        t++;
        n--;
    }
    if (!n) {
        error_report("cannoli: no thread %d was recorded", next_child);
        _exit(INPUTS_STATUS_DIFFERS);
    }
    used[t - threads] = 1;
    return t;
}

void cannoli_expand_ready(void)
{
    if (cannoli_expanding) {
        mine = pick();
    }
}

/* ---- the file ---- */

/* Of the first thread, before its first instruction. */
static void find_layout(void)
{
    const uint8_t *at = (const uint8_t *)header + program->offset;
    const uint8_t *end = at + program->bytes;

    for (; at < end; at = after(at)) {
        const struct input *in = (const void *)at;

        if (in->type == CTR_EVENT_INPUT &&
            ldl_le_p(payload_of(at)) == CTR_INPUT_LAYOUT) {
            layout = payload_of(at) + 8;
            nr_layout = ldl_le_p(payload_of(at) + 4) / 8;
            break;
        }
    }
}

uint64_t cannoli_expand_open(void)
{
    g_autofree char *path =
        g_strdup_printf("%s/" INPUTS_NAME, cannoli_ctl->inputs);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < sizeof(*header)) {
        error_report("cannoli: cannot read %s", path);
        exit(EXIT_FAILURE);
    }
    header = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (header == MAP_FAILED || header->magic != INPUTS_MAGIC ||
        header->version != INPUTS_VERSION || !header->nr_threads) {
        error_report("cannoli: %s has no inputs of this version", path);
        exit(EXIT_FAILURE);
    }
    threads = (const void *)(header + 1);
    program = threads + cannoli_execed_thread;
    find_layout();
    last_ns = header->start_ns;
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 }); /* it has no effects */
    cannoli_expanding = true;
    return header->seed;
}

void cannoli_expand_program_file(int *fd)
{
    if (cannoli_expanding) {
        *fd = cannoli_input_open(program->program);
        errno = 0;
    }
}

bool cannoli_expand_loader_file(int *fd)
{
    if (!cannoli_expanding || program->loader == INPUTS_NO_FILE) {
        return false;
    }
    *fd = cannoli_input_open(program->loader);
    return true;
}

/* The next change of the address space of the call that is under way. */
static uint64_t place_in_call(const CannoliInputs *i)
{
    for (const uint8_t *at = i->at; at < i->end; at = after(at)) {
        const struct input *in = (const void *)at;

        if (in->type == CTR_EVENT_SYSRET) {
            break;
        }
        if (in->type == CTR_EVENT_MAP) {
            return ldq_le_p(payload_of(at) + 16);
        }
    }
    return 0;
}

void cannoli_expand_place(abi_ulong *start, int *flags)
{
    CannoliThread *t = thread_cpu ? cannoli_cpu(thread_cpu)->thread : NULL;
    uint64_t place = 0;

    if (!cannoli_expanding || *flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
        return;
    }
    if (t) {
        place = t->inputs && t->inputs->natively ? place_in_call(t->inputs) : 0;
    } else if (next_layout < nr_layout) {
        place = ldq_le_p(layout + 8 * next_layout++);
    }
    if (place) {
        *start = place;
        *flags |= MAP_FIXED_NOREPLACE;
    }
}

uint64_t cannoli_expand_now(void)
{
    return last_ns;
}

/* The end of the call whose begin was taken; NULL: it has none. */
static const uint8_t *find_return(const CannoliInputs *i)
{
    int depth = 1;

    for (const uint8_t *at = i->at; at < i->end; at = after(at)) {
        const struct input *in = (const void *)at;

        if (at != i->at && in->insns) {
            break;
        }
        if (in->type == CTR_EVENT_SYSCALL) {
            depth++;
        } else if (in->type == CTR_EVENT_SYSRET && --depth == 0) {
            return at;
        }
    }
    return NULL;
}

/* Threads of this process, but those that have ended. */
static int count_threads(void)
{
    CPUState *cpu;
    int n = 0;

    RCU_READ_LOCK_GUARD();
    CPU_FOREACH (cpu) {
        n++;
    }
    return n;
}

/*
 * The thread does nothing more.  When all others are here, or have ended, the
 * process ends as if it were killed, unless one of them ends it.
 */
static G_NORETURN void stay(void)
{
    const struct timespec tick = { .tv_nsec = 2 * 1000 * 1000 };
    static int staying;

    qatomic_inc(&staying);
    while (qatomic_read(&staying) < count_threads()) {
        nanosleep(&tick, NULL);
        cannoli_check_recorder(NULL);
    }
    kill(getpid(), SIGKILL);
    _exit(EXIT_FAILURE);
}

/* The thread begins; it is shown as the one that was recorded. */
void cannoli_expand_attach(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    struct mempipe_pipe *p = t->pipe;
    const struct inputs_thread *is;
    CannoliInputs *i;

    if (!cannoli_expanding) {
        return;
    }
    is = mine ? mine : pick();
    mine = NULL;
    if (!is->bytes) {
        /* It begins only after the part that is recorded. */
        if (p->is_process) {
            _exit(EXIT_SUCCESS);
        }
        stay();
    }
    slice = is == threads ? 0 : NO_SLICE;
    i = cannoli_alloc(sizeof(*i));
    *i = (CannoliInputs){
        .at = (const uint8_t *)header + is->offset,
        .end = (const uint8_t *)header + is->offset + is->bytes,
        .natively = true,
    };
    i->clock = i->at;
    i->in_fork = find_return(i);
    if (next_input(i)) {
        i->left = i->ran = next_input(i)->insns;
    }
    t->inputs = i;
    t->gate.quiet = is->first != 0;
    p->was_pid = is->pid;
    p->was_ppid = is->ppid;
    p->tid = is->tid;
    p->ptid = is->ptid;
    p->start_ns = is->start_ns;
}

/* ---- events ---- */

bool cannoli_expand_emits(const CannoliThread *t, uint32_t type)
{
    switch (type) {
    case CTR_EVENT_GATE:
    case CTR_EVENT_SELECT:
    case CTR_EVENT_SLICE:
    case CTR_EVENT_KEYFRAME:
        return true;
    default:
        return t->inputs->emitting;
    }
}

static bool is_recorded(uint32_t type)
{
    switch (type) {
    case CTR_EVENT_MAP:
        return cannoli_map;
    case CTR_EVENT_THREAD:
        return cannoli_thr;
    case CTR_EVENT_MARK:
    case CTR_EVENT_LABEL:
        return true;
    case CTR_EVENT_SLICE: /* order.c emits it */
    case CTR_EVENT_INPUT:
    case INPUT_CUT:
    case INPUT_OPEN:
        return false;
    default:
        return cannoli_sys;
    }
}

/*
 * The thread is recorded from here on; it has done what later memory and
 * registers come from, so these are recorded as they are now.
 */
static void open_gate(CPUState *cpu)
{
    static bool has_memory; /* of this process */

    cannoli_cpu(cpu)->thread->gate.quiet = false;
    if (!has_memory) {
        has_memory = true;
        cannoli_keyframes_all(cpu);
    }
}

/* Whether an event becomes one again. */
static bool is_wanted(CPUState *cpu, uint32_t type)
{
    return is_recorded(type) &&
           (!cannoli_cpu(cpu)->thread->gate.quiet || type == CTR_EVENT_MAP ||
            type == CTR_EVENT_THREAD || type == CTR_EVENT_MARK ||
            type == CTR_EVENT_LABEL);
}

/* The next input becomes an event and was had. */
static void take(CPUState *cpu)
{
    CannoliInputs *i = inputs_of(cpu);
    const struct input *in = next_input(i);
    uint8_t *p;

    if (in->type == CTR_EVENT_SLICE) {
        /* Before others have run, it is not that late. */
        change_slice(cpu, ldq_le_p(payload_of(i->at)));
    }
    last_ns = MAX(last_ns, in->time_ns);
    if (in->type == INPUT_OPEN) {
        open_gate(cpu);
    }
    if (is_wanted(cpu, in->type)) {
        bool timed =
            in->type == CTR_EVENT_MAP || in->type == CTR_EVENT_THREAD ||
            in->type == CTR_EVENT_MARK || cannoli_ctl->events & CTR_EVENTS_TIME;

        i->emitting = true;
        p = cannoli_event(cpu, in->type, in->bytes, timed ? in->time_ns : 0);
        if (p) {
            memcpy(p, payload_of(i->at), in->bytes);
            cannoli_event_end(cpu, in->bytes);
        }
        i->emitting = false;
    }
    i->in_frame = in->type == CTR_EVENT_SIGNAL ||
                  (i->in_frame && in->type == CTR_EVENT_USERMEM);
    i->at = after(i->at);
    in = next_input(i);
    i->left += in ? in->insns : 0;
    i->ran += in ? in->insns : 0;
}

static const struct input *due(CPUState *cpu)
{
    return remaining(cpu) == 0 ? next_input(inputs_of(cpu)) : NULL;
}

/* Takes an input that is part of a call that QEMU does not execute. */
static void take_and_do(CPUState *cpu)
{
    CannoliInputs *i = inputs_of(cpu);
    const struct input *in = next_input(i);

    if (in->type == CTR_EVENT_USERMEM) {
        /* What QEMU has executed has written, too, after it read. */
        if (!i->natively ||
            ldl_le_p(payload_of(i->at) + 16) & CTR_USERMEM_WRITE) {
            cannoli_input_memory(cpu, payload_of(i->at));
        }
    } else if (in->type == CTR_EVENT_INPUT && !i->natively &&
               ldl_le_p(payload_of(i->at)) == CTR_INPUT_SECOND &&
               cannoli_second_result(cpu)) {
        *cannoli_second_result(cpu) = ldq_le_p(payload_of(i->at) + 8);
    } else if (in->type == CTR_EVENT_MAP && !i->natively) {
        cannoli_input_map(cpu, in, payload_of(i->at), i->prot);
    }
    take(cpu);
}

/* What is due between calls and signals, and needs nothing of the program. */
static void take_due(CPUState *cpu)
{
    CannoliInputs *i = inputs_of(cpu);
    const struct input *in;

    while ((in = due(cpu))) {
        switch (in->type) {
        case CTR_EVENT_USERMEM:
            if (i->in_fork) {
                return; /* QEMU writes another number first */
            }
            /* Others are of operations that QEMU has executed. */
            if (i->in_frame || i->ran == 0) {
                cannoli_input_memory(cpu, payload_of(i->at));
            }
            break;
        case CTR_EVENT_MAP:
        case CTR_EVENT_SLICE:
        case CTR_EVENT_SIGRETURN:
        case CTR_EVENT_MARK:
        case CTR_EVENT_LABEL:
        case CTR_EVENT_INPUT:
        case INPUT_OPEN:
            break;
        case CTR_EVENT_THREAD:
            if (ldl_le_p(payload_of(i->at)) != CTR_THREAD_END) {
                break;
            }
            return;
        default:
            return;
        }
        take(cpu);
    }
}

/* The recording ends here: so does the program, as if it were killed. */
static G_NORETURN void stop(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    while (next_input(t->inputs) && next_input(t->inputs)->type != INPUT_CUT) {
        take(cpu);
    }
    if (!cannoli_buffer_empty(cpu)) {
        cannoli_hand_over(cpu);
    }
    cannoli_expand_pass();
    leave(cpu);
    stay();
}

void cannoli_expand_thread(CPUState *cpu, uint32_t op)
{
    const struct input *in;

    if (op == CTR_THREAD_NAME) {
        return;
    }
    take_due(cpu);
    in = due(cpu);
    if (op == CTR_THREAD_END) {
        if (!in || in->type != CTR_EVENT_THREAD) {
            cannoli_expand_differs(cpu, "it ends");
        }
        take(cpu);
    }
}

/* ---- translated code ---- */

static bool is_async(CPUState *cpu, const struct input *in)
{
    const uint8_t *p = payload_of(inputs_of(cpu)->at);

    return in->type == CTR_EVENT_SIGNAL &&
           !(ldl_le_p(p + 48) & CTR_SIGNAL_SYNC);
}

bool cannoli_expand_renew(CPUState *cpu)
{
    CannoliInputs *i = inputs_of(cpu);
    CannoliGate *g = &cannoli_cpu(cpu)->thread->gate;

    if (!i->left) {
        return false;
    }
    g->quantum = MIN(i->left, 1 << 30);
    i->left -= g->quantum;
    return true;
}

void cannoli_expand_enter(CPUState *cpu)
{
    CannoliGate *g = &cannoli_cpu(cpu)->thread->gate;
    const struct input *in;

    take_due(cpu);
    in = due(cpu);
    if (remaining(cpu) == 0) {
        if (!in || in->type == INPUT_CUT) {
            stop(cpu);
        }
        if (is_async(cpu, in)) {
            cpu_exit(cpu); /* to process_pending_signals */
        } else if (g->quantum_over) {
            cannoli_expand_differs(cpu, "it goes on where event %u was",
                                   in->type);
        }
    }
    g->quantum_over = false;
    if (g->quantum <= 0) {
        cannoli_expand_renew(cpu);
    }
}

uint64_t cannoli_expand_clock(CPUState *cpu)
{
    CannoliInputs *i = inputs_of(cpu);

    for (; i->clock < i->end; i->clock = after(i->clock)) {
        const struct input *in = (const void *)i->clock;
        const uint8_t *p = payload_of(i->clock);

        if (in->type == CTR_EVENT_INPUT && ldl_le_p(p) == CTR_INPUT_CLOCK &&
            i->clock_used < ldl_le_p(p + 4) / 8) {
            return ldq_le_p(p + 8 + 8 * i->clock_used++);
        }
        i->clock_used = 0;
    }
    /*
     * It was killed before more were recorded: what the instruction got is not
     * known.  So this is killed, too, in the middle of the block.
     */
    cannoli_expand_pass();
    kill(getpid(), SIGKILL);
    _exit(EXIT_FAILURE);
}

/* ---- system calls ---- */

/* Those that change nothing but QEMU's own state of the thread. */
static bool is_native(const char *name, const uint64_t args[8])
{
    static const char *const native[] = {
        "rt_sigaction",
        "sigaction",
        "signal",
        "rt_sigprocmask",
        "sigprocmask",
        "osf_sigprocmask",
        "sgetmask",
        "ssetmask",
        "sigaltstack",
        "rt_sigreturn",
        "sigreturn",
        "exit",
        "exit_group",
        "arch_prctl",
        "set_thread_area",
        "get_thread_area",
        "modify_ldt",
        "vm86",
        "vm86old",
        "cacheflush",
        "sysmips",
        "utrap_install",
        "osf_setsysinfo",
        "osf_getsysinfo",
        "riscv_flush_icache",
        "atomic_cmpxchg_32",
        "atomic_barrier",
        "syscall",
        "clone",
        "fork",
        "vfork",
        "madvise", /* what a forked child gets */
    };

    for (size_t i = 0; i < ARRAY_SIZE(native); i++) {
        if (!strcmp(name, native[i])) {
            return true;
        }
    }
    if (strcmp(name, "prctl")) {
        return false;
    }
    switch (args[0]) {
    case PR_GET_FP_MODE:
    case PR_SET_FP_MODE:
    case PR_SVE_GET_VL:
    case PR_SVE_SET_VL:
    case 63: /* PR_SME_SET_VL */
    case 64: /* PR_SME_GET_VL */
    case PR_PAC_RESET_KEYS:
    case PR_SET_TAGGED_ADDR_CTRL:
    case PR_GET_TAGGED_ADDR_CTRL:
    case PR_GET_UNALIGN:
    case PR_SET_UNALIGN:
        return true;
    default:
        return false;
    }
}

/*
 * Whether sigreturn did something, if only that it found a bad frame.  Else it
 * was begun again, as another signal had come.
 */
static bool returns_from_signal(const CannoliInputs *i, const uint8_t *end)
{
    const struct input *in = (const void *)after(end);

    return after(end) < i->end && !in->insns &&
           (in->type == CTR_EVENT_SIGRETURN ||
            (in->type == CTR_EVENT_SIGNAL &&
             ldl_le_p(payload_of(after(end)) + 48) & CTR_SIGNAL_SYNC));
}

static bool is_clone(const char *name)
{
    return !strcmp(name, "clone") || !strcmp(name, "fork") ||
           !strcmp(name, "vfork");
}

/* The program that was executed next, if that was recorded, too. */
static const struct inputs_thread *next_program(const CannoliThread *t)
{
    const struct inputs_thread *p;

    for (uint32_t i = 1; i < header->nr_threads; i++) {
        p = &threads[i];
        if (p->argc && !used[i] && p->pid == t->pipe->was_pid &&
            p->start_ns > t->pipe->start_ns) {
            return p;
        }
    }
    return NULL;
}

/* execve has succeeded. */
static G_NORETURN void execute(CPUState *cpu)
{
    const struct inputs_thread *next = next_program(cannoli_cpu(cpu)->thread);

    while (due(cpu) && due(cpu)->type != INPUT_CUT) {
        take(cpu);
    }
    cannoli_exec(cpu, false);
    cannoli_expand_pass();
    if (next) {
        cannoli_exec_again(next - threads, (const char *)header + next->strings,
                           next->string_bytes, next->argc);
    }
    _exit(EXIT_SUCCESS);
}

typedef struct Call {
    int32_t nr;
    uint32_t flags;
    int64_t result;
    uint64_t args[8];
    char name[64];
} Call;

static Call call_of(const uint8_t *p)
{
    Call call = {
        .nr = ldl_le_p(p),
        .flags = ldl_le_p(p + 4),
        .result = ldq_le_p(p + 8),
    };

    for (int i = 0; i < 8; i++) {
        call.args[i] = ldq_le_p(p + 16 + 8 * i);
    }
    pstrcpy(call.name, MIN(sizeof(call.name), lduw_le_p(p + 80) + 1u),
            (const char *)p + 82);
    return call;
}

bool cannoli_expand_call(CPUState *cpu, int num, abi_long *ret,
                         const uint64_t args[8])
{
    CannoliInputs *i;
    const struct input *in;
    const uint8_t *end;
    Call call, back;

    if (!cannoli_cpu(cpu)->thread) {
        return false;
    }
    i = inputs_of(cpu);
    take_due(cpu);
    in = due(cpu);
    if (!in || in->type != CTR_EVENT_SYSCALL) {
        in = next_input(i);
        cannoli_expand_differs(cpu,
                               "it makes system call %d where event %u was, or "
                               "will be after %" PRId64 " instructions",
                               num, in ? in->type : 0, remaining(cpu));
    }
    call = call_of(payload_of(i->at));
    if (call.nr != num) {
        cannoli_expand_differs(cpu, "it makes system call %d, not %d (%s)", num,
                               call.nr, call.name);
    }
    for (int n = 0; n < ARRAY_SIZE(call.args); n++) {
        if (args[n] != call.args[n]) {
            cannoli_expand_differs(
                cpu, "argument %d of %s is 0x%" PRIx64 ", not 0x%" PRIx64,
                n + 1, call.name, args[n], call.args[n]);
        }
    }
    take(cpu);
    end = find_return(i);
    i->natively = is_native(call.name, call.args);
    if (!end) {
        if (i->natively) {
            return false;
        }
        if (g_str_has_prefix(call.name, "execve")) {
            execute(cpu);
        }
        stop(cpu);
    }
    back = call_of(payload_of(end));
    if (is_clone(call.name)) {
        next_child = back.result;
        i->natively = back.result > 0;
    }
    if (i->natively &&
        (!(back.flags & CTR_SYSCALL_NORETURN) || returns_from_signal(i, end))) {
        return false;
    }
    i->natively = false;
    i->prot =
        g_str_has_prefix(call.name, "mmap") || strstr(call.name, "mprotect")
            ? call.args[2]
            : 0;
    while (i->at != end) {
        take_and_do(cpu);
    }
    *ret = back.flags & CTR_SYSCALL_NORETURN ? -QEMU_ERESTARTSYS : back.result;
    return true;
}

void cannoli_expand_return(CPUState *cpu, int num, abi_long *ret)
{
    CannoliInputs *i;
    const uint8_t *end;
    Call back;

    if (!cannoli_cpu(cpu)->thread) {
        return;
    }
    i = inputs_of(cpu);
    end = find_return(i);
    if (!end) {
        cannoli_expand_differs(cpu, "system call %d returns", num);
    }
    back = call_of(payload_of(end));
    if (is_clone(back.name) && *ret > 0) {
        *ret = back.result; /* the host's number is another one */
    }
    if (!(back.flags & CTR_SYSCALL_NORETURN) && back.result != *ret) {
        cannoli_expand_differs(
            cpu, "system call %d (%s) returns %" PRId64 ", not %" PRId64, num,
            back.name, (int64_t)*ret, back.result);
    }
    while (i->at != end) {
        take_and_do(cpu);
    }
    take(cpu);
    i->natively = i->in_fork = false;
}

/* ---- signals ---- */

void cannoli_expand_signal(CPUState *cpu, int sig)
{
    CannoliInputs *i = inputs_of(cpu);
    const struct input *in;

    take_due(cpu);
    in = due(cpu);
    if (!in || in->type != CTR_EVENT_SIGNAL ||
        ldl_le_p(payload_of(i->at)) != sig) {
        cannoli_expand_differs(cpu, "it gets signal %d", sig);
    }
    take(cpu);
}

/* As the host's handler would have it. */
static void fill(target_siginfo_t *info, const uint8_t *p)
{
    int sig = ldl_le_p(p), code = (int32_t)ldl_le_p(p + 4);
    int type = QEMU_SI_RT;

    memset(info, 0, sizeof(*info));
    info->si_signo = sig;
    if (sig == TARGET_SIGCHLD && code > 0) {
        type = QEMU_SI_CHLD;
        info->_sifields._sigchld._pid = ldl_le_p(p + 8);
        info->_sifields._sigchld._uid = ldl_le_p(p + 12);
        info->_sifields._sigchld._status = ldq_le_p(p + 24);
    } else if (sig == TARGET_SIGIO && code > 0) {
        type = QEMU_SI_POLL;
        info->_sifields._sigpoll._band = ldq_le_p(p + 24);
    } else if (code == SI_USER || code == SI_TKILL || code > 0) {
        type = QEMU_SI_KILL;
        info->_sifields._kill._pid = ldl_le_p(p + 8);
        info->_sifields._kill._uid = ldl_le_p(p + 12);
    } else {
        info->_sifields._rt._pid = ldl_le_p(p + 8);
        info->_sifields._rt._uid = ldl_le_p(p + 12);
        info->_sifields._rt._sigval.sival_ptr = ldq_le_p(p + 24);
    }
    info->si_code = deposit32(code, 16, 16, type);
}

int cannoli_expand_pending(CPUState *cpu)
{
    const struct input *in;

    if (!cannoli_expanding || !cannoli_cpu(cpu)->thread) {
        return 0;
    }
    take_due(cpu);
    while ((in = due(cpu)) && is_async(cpu, in)) {
        const uint8_t *p = payload_of(inputs_of(cpu)->at);

        if (ldl_le_p(p + 48) & (CTR_SIGNAL_HANDLER | CTR_SIGNAL_FATAL)) {
            int sig = ldl_le_p(p);

            fill(&get_task_state(cpu)->sigtab[sig - 1].info, p);
            return sig;
        }
        take(cpu);
        take_due(cpu);
    }
    return 0;
}
