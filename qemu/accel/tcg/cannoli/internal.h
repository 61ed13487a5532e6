/*
 * Execution tracing into shared memory: what all files here share
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef ACCEL_TCG_CANNOLI_INTERNAL_H
#define ACCEL_TCG_CANNOLI_INTERNAL_H

#include "cannoli/mempipe.h"
#include "exec/cannoli.h"
#include "gate.h"
#include "os.h"

/* The shared mapping; NULL while tracing is off. */
extern const struct mempipe_ctl *cannoli_ctl;

/* What the recorder may change at any time; read-only here. */
static inline const struct mempipe_control *cannoli_control(void)
{
    return (void *)((uint8_t *)cannoli_ctl + cannoli_ctl->control_off);
}

/* What both sides write. */
static inline struct mempipe_shared *cannoli_shared(void)
{
    return (void *)((uint8_t *)cannoli_ctl + cannoli_ctl->shared_off);
}

static inline struct mempipe_pipe *cannoli_pipes(void)
{
    return (void *)((uint8_t *)cannoli_ctl + cannoli_ctl->pipes_off);
}

/* What is added to a guest address on the host; 0 with an MMU in between. */
#ifdef CONFIG_USER_ONLY
#include "user/guest-base.h"
#define CANNOLI_GUEST_BASE guest_base
#else
#define CANNOLI_GUEST_BASE ((uintptr_t)0)
#endif

/* Width of an address, and of a unit of data. */
#define CANNOLI_ADDR_BYTES (TARGET_LONG_BITS / 8)

/*
 * Not everything is recorded: libraries choose, each block is recorded once, or
 * there are windows.  Set before the first translation, or when all threads are
 * stopped and all code is flushed.
 */
extern bool cannoli_choosing;
/* Recording may be switched off, or begins so; set at the start. */
extern bool cannoli_windows;
/* A library wants recording to begin when it requests that. */
extern bool cannoli_starts_closed;

/*
 * Whether a failed compare-and-swap stores the old value: on x86 it does, as
 * the manuals say of CMPXCHG; elsewhere a failed one, or a failed
 * store-conditional, is no store.
 */
#ifdef TARGET_I386
#define CANNOLI_FAILED_STORES true
#else
#define CANNOLI_FAILED_STORES false
#endif

/*
 * Libraries that choose (jitter.c).  An option "path,arguments" of QEMU's own
 * command line is added to what the recorder lists.  They are loaded at the
 * start, or loaded and unloaded when all threads are stopped; then translated
 * code must be flushed.  seq is the filter_seq of the list that is in use.
 */
void cannoli_jitter_option(const char *line);
bool cannoli_jitter_given(void);
void cannoli_jitter_start(void);
void cannoli_jitter_reload(void);
char *cannoli_jitter_text(void);
extern uint32_t cannoli_jitter_seq;

extern int cannoli_nr_libraries;

/* Are system calls with this number recorded? */
bool cannoli_choose_syscall(int nr, const char *name);

/* What a thread's system calls need to remember (linux-user/cannoli). */
typedef struct CannoliSys {
    uint32_t depth;          /* system calls under way */
    int next_lock;           /* CANNOLI_LOCK_*, for one lock_user */
    int64_t may_write;       /* bytes unlock_user may still record */
    uint64_t later;          /* futex, written when the call returns */
    bool has_map_flags, brk; /* for the next mapping of this call: */
    int map_flags;           /* as the guest passed them */
    uint64_t heap, heap_end, new_heap_end;
    uint32_t quiet;  /* bits of unrecorded calls, newest low */
    uint64_t second; /* the register of a second result, before the call */
} CannoliSys;

/* The address space of a machine's processor, see CTR_EVENT_CONTEXT. */
typedef struct {
    uint64_t table, asid, id;
} CannoliContext;

/* A guest thread's end of its pipe. */
typedef struct CannoliThread {
    struct mempipe_pipe *pipe;
    struct mempipe_buffer *buffer; /* header of the buffer being filled */
    uint8_t *base;                 /* its first byte */
    uint8_t *end;                  /* one past its last byte */
    uint8_t *side_queue;
    uint32_t pipe_no;
    uint32_t serial; /* of the pipe, while it is ours */
    uint32_t buffer_no;
    uint32_t seq;
    uint32_t placed;                  /* bytes of records with a place in it */
    uint32_t events;                  /* records of events in this buffer */
    struct mempipe_side_event *event; /* the one being made */
    CannoliSys sys;
    CannoliGate gate;
    uint32_t epoch;         /* of the ids in the buffer */
    bool running;           /* inside translated code */
    bool left;              /* the last event is a LEFT word */
    uint8_t power;          /* as it was recorded last (power.c); 0: it runs */
    CannoliContext context; /* as it was recorded last */
    uint64_t stopped_ns;    /* when another thread ran after it (order.c) */
    uint64_t set_bytes;     /* of its buffer that were counted in */
    struct CannoliRegs *regs; /* with CTR_EVENTS_REG */
    struct CannoliJump *jumps;
    struct CannoliPages *pages; /* system/cannoli/phys.c */
    struct CannoliTask *task;   /* system/cannoli/task.c */
    bool look_again;            /* and it may have another name */
    bool queued;                /* system/cannoli/queue.c has events of it */
    bool requests;              /* its code does, see system/cannoli/guest.c */
    bool holds; /* the turn, for an event within a call of the host */
    void *copy; /* linux-user/cannoli/calls.c reads into it */
    struct CannoliClocks *clocks; /* linux-user/cannoli/light.c */
    struct CannoliInputs *inputs; /* linux-user/cannoli/expand.c */
    uint32_t keyframes; /* requests of the recorder that it has seen */
    struct CannoliThread *next_spare;
} CannoliThread;

typedef struct CannoliRegs CannoliRegs;

/*
 * No block may need more room than this (bytes), so that a hand-over whenever
 * less is free ensures that any block can start.
 */
#define CANNOLI_MAX_NEED (32 * 1024)

/* Most blocks do not need more than this. */
#define CANNOLI_MIN_NEED (4 * 1024)

/* A buffer with so many bytes of side records is handed over early. */
#define CANNOLI_MAX_PLACED (4 * 1024 * 1024)

/* The most bytes of a helper's access in one record. */
#define CANNOLI_MAX_ACCESS (32 * 1024)

static inline CannoliCPU *cannoli_cpu(CPUState *cpu)
{
    return &cpu->neg.cannoli;
}

/* Is the data column always empty? */
static inline bool cannoli_no_data(void)
{
    return !(cannoli_ctl->events & (CTR_EVENTS_MEM | CTR_EVENTS_REG));
}

static inline size_t cannoli_room(const CannoliCPU *c)
{
    return (uint8_t *)c->data - (uint8_t *)c->words;
}

/*
 * The vCPU leaves translated code before its next block.  Blocks that record
 * nothing read the one, the others the other.
 */
static inline void cannoli_stop_chain(CPUState *cpu)
{
    qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
    cannoli_request_exit(cpu);
}

static inline void cannoli_word(CannoliCPU *c, uint32_t word)
{
    *(uint32_t *)c->words = word;
    c->words = (uint32_t *)c->words + 1;
}

/* The buffer holds nothing that a reader needs. */
static inline bool cannoli_buffer_empty(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    return c->words == c->thread->base && !c->thread->events;
}

/* How many units of the data column a slot has, by its access byte. */
static inline unsigned cannoli_slot_units(unsigned access)
{
    unsigned value = CTR_UNITS(CTR_ACCESS_SIZE(access), CANNOLI_ADDR_BYTES);

    if (access & CTR_ACCESS_REG) {
        return value;
    }
    if (!cannoli_values || (access & CTR_ACCESS_NOVALUE)) {
        value = 0;
    }
    return access & CTR_ACCESS_DERIVED ? value : 1 + value;
}

/* The maximum size of a block's content. */
#define CANNOLI_MAX_CONTENT \
    (CTR_BLOCKDEF_FIXED + CTR_MAX_BLOCK_INSNS * (1 + 256 + 8 + 4 + 4) + \
     CTR_MAX_BLOCK_SLOTS * CTR_BLOCKDEF_SLOT + \
     CTR_MAX_BLOCK_SLOTS * CTR_BLOCKDEF_DERIVE + 4 + \
     CTR_MAX_BLOCK_TAGS * CTR_BLOCKDEF_TAG)

/* Of something that is recorded once: has it been? */
enum { CANNOLI_MARK_NEW, CANNOLI_MARK_CLAIMED, CANNOLI_MARK_DONE };

typedef struct CannoliMark {
    uint32_t state;
    uint32_t progress; /* how far the block was recorded */
} CannoliMark;

/* A block definition as the dictionary of this process keeps it. */
typedef struct CannoliBlock {
    uint32_t id;
    uint32_t hash;
    uint16_t ninsn;
    uint32_t def_bytes;
    uint32_t all_bytes;
    uint8_t *all;
    CannoliMark mark;
} CannoliBlock;

/* Make `bytes' from `p' on accessible. */
void cannoli_open_memory(void *p, uint64_t bytes);

/*
 * Permanent memory, from a place where it does not move the guest's mappings,
 * after it was reserved.
 */
void *cannoli_alloc(size_t bytes);
void cannoli_reserve_memory(void);
void cannoli_release_memory(void);

/* The same, valid until all translated code is flushed. */
void *cannoli_alloc_passing(size_t bytes);
void cannoli_free_passing(void);

/* Of contents: equal bytes have equal ones. */
uint32_t cannoli_hash(const uint8_t *p, uint32_t bytes);

/*
 * The block with this content: `all' is the definition (def_bytes), then two
 * numbers in host order for each instruction: how many units are deferred when
 * it begins and, if it is straight code, how many access slots it has (uint16_t
 * each).  If not everything that the code does is recorded, CannoliCPU.insn
 * (uint32_t) follows for each instruction of the code, recorded or not.  A new
 * block is published (cannoli_publish) once its code is kept.
 */
CannoliBlock *cannoli_dict_find(const uint8_t *all, uint32_t def_bytes,
                                uint32_t all_bytes, uint16_t ninsn);

/*
 * The simple instruction `insn' of b was left by an access that did not
 * complete: count in the deferred units, and forget what was stored for that
 * access.  Returns how many of its derived accesses were made if not all of
 * them were, else -1 (meaningless with restart).
 */
int cannoli_settle(CPUState *cpu, const CannoliBlock *b, unsigned insn,
                   bool restart);

/* Hand the buffer over and begin the next; waits for a free one. */
void cannoli_hand_over(CPUState *cpu);

/*
 * Room for a record of `bytes' (a multiple of 8) in the side queue; waits for
 * it.  Fill it in, then commit.
 */
void *cannoli_side_reserve(CannoliThread *t, uint32_t bytes);
void cannoli_side_commit(CannoliThread *t, uint32_t bytes);

/* The number of data units in the buffer, according to the pointer. */
uint32_t cannoli_unit_count(CPUState *cpu);

/*
 * Begin a record of `bytes' that has its place here: header and place are
 * filled in, with n = 0.
 */
void cannoli_place(CPUState *cpu, struct mempipe_side_place *place,
                   uint32_t type, uint32_t bytes);

/*
 * End the process if the recorder is dead, or if it regards the thread's pipe
 * as ended: a guest that overwrote the pipe must not wait for it for ever.
 */
void cannoli_check_recorder(const CannoliThread *t);

/* CLOCK_MONOTONIC */
uint64_t cannoli_now(void);

/*
 * order.c, with CTR_EVENTS_ORDER.  This thread does something: if another one
 * did until now, a slice begins.
 */
void cannoli_slice(CPUState *cpu);
/* The thread that runs is about to run code. */
void cannoli_order_use(void);
/* The time of an event, not before its slice; 0 stays 0. */
uint64_t cannoli_order_time(uint64_t time_ns);
/* It has done all for now, and goes on, perhaps after another thread. */
void cannoli_order_stop(CannoliThread *t);
void cannoli_order_pass(CPUState *cpu); /* certainly after another one */
void cannoli_order_go_on(CannoliThread *t);
/* A buffer of the thread was begun, or is handed over. */
void cannoli_order_begin(CannoliThread *t);
void cannoli_order_end(CPUState *cpu);
/* The thread ends. */
void cannoli_order_forget(CannoliThread *t);

/* CTR_PRIVILEGE_* of code with these flags, which the vCPU runs or will run */
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base);

/*
 * Room for an event of this thread (enum ctr_event_type) with up to n bytes of
 * payload, at the current place; NULL if the thread is not recorded or inside
 * translated code.  Not more than CANNOLI_MAX_EVENT, but for a choice, which is
 * rare and has up to 64 KiB.  cannoli_event_end gets the number of bytes used;
 * it may hand the buffer over.
 */
#define CANNOLI_MAX_EVENT (32 * 1024)
uint8_t *cannoli_event(CPUState *cpu, uint32_t type, uint32_t n,
                       uint64_t time_ns);
void cannoli_event_end(CPUState *cpu, uint32_t n);

/*
 * CTR_EVENT_THREAD; name NULL: the thread's own name.  The arguments of the
 * program, once they were added, are in it where the event has them.
 */
void cannoli_thread_event(CPUState *cpu, uint32_t op, uint32_t reason,
                          int32_t status, const char *name);
void cannoli_add_argument(const char *arg);

/* CTR_EVENT_MARK */
void cannoli_put_mark(CPUState *cpu, uint32_t source, uint32_t number,
                      uint64_t asked_ns, uint64_t value, const char *text,
                      uint32_t len);

/* Buffers of the pool that this process has written to before */
extern bool *cannoli_pool_known;

/* The file that the shared mapping is of. */
extern dev_t cannoli_pipe_dev;
extern ino_t cannoli_pipe_ino;

/*
 * This image was started for an execve of a recorded program
 * (linux-user/cannoli/exec.c).
 */
extern enum CannoliExeced {
    CANNOLI_NOT_EXECED,
    CANNOLI_EXECED, /* its environment is marked */
    CANNOLI_EXECED_BINFMT,
} cannoli_execed;
/* With inputs: the thread that begins it. */
extern uint32_t cannoli_execed_thread;

/*
 * Memory for CannoliCPU.jumps; old: the memory of a thread that ended, to be
 * reused.
 */
struct CannoliJump *cannoli_make_jumps(struct CannoliJump *old);

/*
 * once.c.  Blocks are recorded once: code that is not pending records nothing.
 */
extern bool cannoli_coverage;

/* Before the first translation. */
void cannoli_once_init(void);

/*
 * Around a run of a block with something to record once; enter may not return.
 */
void cannoli_once_enter(CPUState *cpu, TranslationBlock *tb);
void cannoli_once_leave(CPUState *cpu, int tb_exit);

/* fork: forget what only the parent may go on using. */
void cannoli_dict_forked(void);

/* All code was flushed, and with it all block definitions. */
void cannoli_dict_flushed(bool keep_id);

/*
 * epoch.c: the epoch of this process, to which the ids of its blocks belong.
 * Changes only while no thread is in translated code.
 */
extern uint32_t cannoli_epoch;
/* The process, or a forked one, begins its first. */
void cannoli_epoch_begin(void);
void cannoli_epoch_forked(void);
/* The buffer of a thread is of this epoch from now on. */
void cannoli_epoch_report(CannoliThread *t);
/* The thread now runs code of another epoch than that of its buffer. */
void cannoli_epoch_enter(CPUState *cpu);
/* A block id that is not in use.  While a block is translated. */
uint32_t cannoli_new_id(void);
/* A block with a new id was defined; another epoch may be due. */
void cannoli_epoch_defined(CPUState *cpu);

#endif
