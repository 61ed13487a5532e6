/*
 * Execution tracing into shared memory: what surrounds the guest's code
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the files of this folder need of the emulation that the code runs in.
 * linux-user/cannoli implements it for programs, system/cannoli for machines.
 */
#ifndef ACCEL_TCG_CANNOLI_OS_H
#define ACCEL_TCG_CANNOLI_OS_H

/* QEMU's name of the target. */
#ifdef CONFIG_USER_ONLY
#define CANNOLI_TARGET TARGET_NAME
#else
#define CANNOLI_TARGET TARGET_NAME "-softmmu"
#endif

/* The machine whose code runs, as e_machine of ELF headers has it. */
extern unsigned cannoli_elf_machine;

/* The first thread's first events. */
void cannoli_program(CPUState *cpu);

/*
 * A thread enters translated code without a pipe: attach it, unless it is not
 * recorded.  Returns whether it is attached.
 */
bool cannoli_attach_late(CPUState *cpu);

/* The mappings of a process that begins; for a new program also its stack. */
void cannoli_maps_initial(CPUState *cpu, bool new_program);

/* As the guest knows the thread: for programs, what gettid(2) returns. */
int cannoli_thread_id(CPUState *cpu);

/* The thread's name, if the guest has not given it another in an event. */
void cannoli_thread_name(CPUState *cpu, char name[16]);

/*
 * For libraries: what is mapped at an address, kept up to date if it is on;
 * guest memory; the file that runs.
 */
struct cannoli_module;
extern bool cannoli_modules_on;
extern uint64_t cannoli_modules_generation;
bool cannoli_module_at(uint64_t addr, struct cannoli_module *to);
size_t cannoli_read_guest(void *to, uint64_t addr, size_t n);
/* An address as the guest gives it, without a tag. */
uint64_t cannoli_guest_address(CPUState *cpu, uint64_t addr);
const char *cannoli_program_path(void);
/* Each vCPU gets translations of its own.  Returns whether that is possible. */
bool cannoli_split_vcpus(void);
extern bool cannoli_vcpus_split;
/* No thread begins meanwhile.  Before mmap_lock. */
void cannoli_hold_threads(bool hold);

#ifdef CONFIG_USER_ONLY
/*
 * Turns of threads (turns.c), if they run one at a time.  claimed: the pipe of
 * a thread of the process with this serial, which is ready from now on; begin:
 * it is this thread, which waits for its turn; drop: it will not come; end: it
 * has the turn for the last time, until cannoli_thread_gone.
 */
extern bool cannoli_turns;
void cannoli_turn_claimed(struct mempipe_pipe *p, uint32_t process);
void cannoli_turn_begin(struct mempipe_pipe *p, bool execed);
void cannoli_turn_drop(struct mempipe_pipe *p);
void cannoli_turn_end(bool process);
/* The process is not recorded. */
void cannoli_turn_lost(void);
/*
 * Around an event that is made within a call of the host, in which another
 * thread may have taken the turn.
 */
void cannoli_turn_hold(CPUState *cpu);
void cannoli_turn_let_go(CPUState *cpu);
/* Before translated code: passes the turn on if its quantum is over. */
void cannoli_turn_enter(CPUState *cpu);
/*
 * The quantum is over: a new one begins, unless others are ready, or an input
 * is due.
 */
bool cannoli_turn_renew(CPUState *cpu);

/*
 * With CTR_EVENTS_INPUT (light.c) or a program that is executed again
 * (expand.c).  open: at the start, before there is a vCPU; program: with its
 * first events; clocks: outside of translated code.
 */
void cannoli_light_open(void);
void cannoli_light_program(CPUState *cpu);
void cannoli_light_clocks(CPUState *cpu);
/*
 * emits: an event of this type is not one of those that come from the
 * recording; enter, before translated code: what is due is done.
 */
uint64_t cannoli_expand_now(void);
/* A new thread, whose creator waits; it gets its pipe; it has ended. */
void cannoli_expand_ready(void);
void cannoli_expand_attach(CPUState *cpu);
void cannoli_expand_pass(void);
bool cannoli_expand_emits(const struct CannoliThread *t, uint32_t type);
void cannoli_expand_thread(CPUState *cpu, uint32_t op);
void cannoli_expand_enter(CPUState *cpu);

/* Records the pages that the recorder requests; outside of translated code. */
void cannoli_keyframes_begin(struct CannoliThread *t);
void cannoli_keyframes(CPUState *cpu);
#endif

#ifndef CONFIG_USER_ONLY
#define cannoli_turns false
#define cannoli_turn_claimed(p, process)
#define cannoli_turn_begin(p, execed)
#define cannoli_turn_drop(p)
#define cannoli_turn_end(process)
#define cannoli_turn_lost()
#define cannoli_turn_hold(cpu)
#define cannoli_turn_let_go(cpu)
#define cannoli_turn_enter(cpu)
#define cannoli_turn_renew(cpu) false
#define cannoli_light_open()
#define cannoli_light_clocks(cpu)
#define cannoli_expanding    false
#define cannoli_expand_now() 0
#define cannoli_expand_ready()
#define cannoli_expand_attach(cpu)
#define cannoli_expand_pass()
#define cannoli_expand_emits(t, type) true
#define cannoli_expand_thread(cpu, op)
#define cannoli_expand_enter(cpu)
/* The block that has ended entered or left the kernel. */
void cannoli_transition(CPUState *cpu);
/* It leaves the main loop, perhaps in the middle of a delivery. */
void cannoli_interrupt_left(CPUState *cpu);
/* Records the address space if it is another one than before. */
void cannoli_context(CPUState *cpu);
/*
 * Whether only some tasks or address spaces are recorded; opens or closes the
 * gate by what runs now.
 */
bool cannoli_selects(void);
void cannoli_select(CPUState *cpu);
/* Answers what the code of the vCPU has requested (cannoli/guest.h). */
void cannoli_request(CPUState *cpu);
/* Records the task of the guest's system if it is another one than before. */
void cannoli_task_begin(void);
void cannoli_task(CPUState *cpu);
/* Flushes the TLB if it must be recorded anew (system/cannoli/phys.c). */
void cannoli_pages_enter(CPUState *cpu);
/*
 * This thread's vCPU is in cpu_exec, or not; it is about to run a chain of
 * blocks, or has left it: waits for devices that wait for it (turns.c).
 */
void cannoli_turn_executes(bool executes);
void cannoli_turn(void);
/* Records what was written to memory and what devices were accessed. */
void cannoli_devices_begin(void);
void cannoli_devices_left(void);
/* If a block is being translated, it was left (parallel.c). */
void cannoli_translation_left(void);
void cannoli_queue_enter(CPUState *cpu);
/* A helper wrote to memory while no block runs. */
void cannoli_wrote_outside(CPUState *cpu, uint64_t addr, uint64_t size,
                           int mmu);
#endif

uint64_t cannoli_stack_pointer(CPUState *cpu);
/*
 * The thread is on a signal stack, which may be anywhere, but the call is not.
 */
bool cannoli_tree_elsewhere(CPUState *cpu, uint64_t tree_sp);

#endif
