/* SPDX-License-Identifier: MIT */
/*
 * The encoding of an execution: words, block definitions, registers and events.
 *
 * The translated code that writes events, the recorder that packs them and the
 * library that reads them all use it; this header is its only definition.  It
 * needs nothing but <stdint.h>.
 *
 * What is known when a translation block is translated is stored once, in a block
 * definition.  While it runs, a guest thread appends to two columns (of a buffer
 * in the pipe, of a chunk in a file):
 *
 *   words      uint32_t, one per block entered, plus markers where the run
 *              of the block differs from "every instruction, and every
 *              unconditional slot, once";
 *   data       what translated code records for each slot that it passes, in that
 *              order: for an access that it makes itself ("inline") the guest
 *              address, and with CTR_EVENTS_VAL the value; for a register slot
 *              the register's value.
 *
 * The data column consists of units as wide as an address column entry of the
 * target, 4 or 8 bytes.  A value of n bytes occupies CTR_UNITS(n, unit) units; an
 * access occupies one for its address and, with values, those of its value after it.
 * If a value does not fill its units, the rest of them is undefined.
 * An access is *derived* (CTR_ACCESS_DERIVED) if its address follows from that of
 * another access of the same run, its root, or is always the same: then it has no
 * unit for its address.
 *
 * What the columns cannot express is listed separately, with its place in both
 * columns: accesses that QEMU makes inside a helper ("extra" accesses), register
 * changes that are not seen in translated code ("extra" register changes) and what
 * the operating system does (events).
 *
 * A block has slots in program order; the register slots of an instruction come
 * after its accesses.  A slot of group 0 is unconditional (all register slots
 * are): it is made once whenever control passes its place.  A register slot
 * means that the instruction may have written the register; a reader shows it if
 * the value differs from the one before.  The slots
 * of group g >= 1 are made together, each time a GROUP word for g follows
 * the block's id; a group may run no time, once, or many times (a loop inside
 * one instruction).  With P the next unconditional slot not yet made, a GROUP
 * word for g means: all unconditional slots from P on that precede g's first slot
 * have been made, then g's slots in order.  The rest of the unconditional
 * slots are made at the end of the block, or up to the place at which a LEFT word
 * ends the run.
 */
#ifndef CANNOLI_EVENTS_H
#define CANNOLI_EVENTS_H

#include <stdint.h>

/*
 * Words.  0 is no word: a column is zero beyond its end.
 *
 *   0x00000001..0x7fffffff  block id: this block was entered
 *   0x80000000 | group      GROUP
 *   0xc0000000 | n<<14 | s  LEFT_AT: the block was left by an exit inside it,
 *                           after n instructions (0..512) and s unconditional
 *                           slots (0..16383), register slots included
 *   0xd0000000 | f<<16 | n  LEFT: the block was left after n instructions
 *                           (0..512).  The next word is a number: in the pipe
 *                           the length in units of the data column of the buffer
 *                           at that time, in a file the number of slots that
 *                           this run of the block made.  f: LEFT_* flags.
 *                           With CTR_LEFT_DERIVED (pipe only) one more word follows
 *                           (a run left after 0 instructions, by this or by
 *                           LEFT_AT, with no slot made, is not kept in a file)
 *   0xe0000000              FAULT (pipe only): the instruction at which the
 *                           preceding block was left raised a signal
 *   0xf0000000 | i          RESUME: the next word is the id of a block whose
 *                           run began in the buffer (chunk) before and was cut
 *                           (LEFT with CTR_LEFT_SUSPEND) inside instruction i.
 *                           Instructions 0..i were counted there; the run
 *                           continues with the remaining accesses of instruction i.
 *                           Also a block that only continues what the
 *                           instruction before it, the last one of another
 *                           block, began (the target of s390x EXECUTE).
 *                           Unconditional slots up to the last one that precedes
 *                           a group slot of instruction i were made.
 */
#define CTR_WORD_IS_BLOCK(w) ((uint32_t)(w) - 1u < 0x7fffffffu)
#define CTR_WORD_KIND(w) ((uint32_t)(w) & 0xf0000000u)
#define CTR_WORD_GROUP 0x80000000u
#define CTR_WORD_LEFT_AT 0xc0000000u
#define CTR_WORD_LEFT 0xd0000000u
#define CTR_WORD_FAULT 0xe0000000u
#define CTR_WORD_RESUME 0xf0000000u

#define CTR_GROUP_OF(w) ((uint32_t)(w) & 0x0000ffffu)
#define CTR_LEFT_AT_INSNS(w) (((uint32_t)(w) >> 14) & 0x3ffu)
#define CTR_LEFT_AT_SLOTS(w) ((uint32_t)(w) & 0x3fffu)
#define CTR_LEFT_INSNS(w) ((uint32_t)(w) & 0xffffu)
#define CTR_LEFT_FLAGS(w) (((uint32_t)(w) >> 16) & 0xfffu)
#define CTR_RESUME_INSN(w) ((uint32_t)(w) & 0xffffu)

/* The last of the n instructions raised a signal (it may run again later). */
#define CTR_LEFT_FAULTED 0x001u
/* Pipe only: the last of the n has done nothing yet and will run again; discard it. */
#define CTR_LEFT_RESTART 0x002u
/* The run continues in the next buffer (chunk) of this thread, with a RESUME word. */
#define CTR_LEFT_SUSPEND 0x004u
/* The thread was ended inside this block: more of it may have run. */
#define CTR_LEFT_UNSURE 0x008u
/*
 * Pipe only: not all derived slots of the last of the n were made.  One more word follows
 * the number: how many of them were, its first ones.  Those of the instructions before it
 * were made; without this flag all of them were.  Never with CTR_LEFT_RESTART.
 */
#define CTR_LEFT_DERIVED 0x010u

#define CTR_MAX_BLOCK_INSNS 512u
#define CTR_MAX_BLOCK_SLOTS 8192u

/*
 * Block definition: little-endian, packed, CTR_BLOCKDEF_FIXED bytes and then
 *
 *   u8  len[ninsn]         bytes of each instruction
 *   u8  code[code_bytes]   the instructions' bytes, in order
 *   ...  slot[nslot]       CTR_BLOCKDEF_SLOT bytes each:
 *                            u16 insn, u16 group, u8 access, u8 mmu;
 *                            in program order, so that insn never decreases.
 *                            In a register slot (CTR_ACCESS_REG) `group' is
 *                            the register's number in the register table,
 *                            and no other bit but the size is set.  mmu:
 *                            with CTR_EVENTS_PHYS QEMU's MMU index of an
 *                            access, below CTR_MMUS; otherwise 0
 *   u64 pc[ninsn]          only with CTR_BLOCK_HAS_PCS; otherwise each
 *                          instruction follows the one before
 *   u32 ntag, and ntag times u16 insn, u16 library, u64 tag
 *                          only with CTR_BLOCK_HAS_TAGS, then at least one:
 *                          what jitter libraries
 *                          attached to instruction `insn', or with
 *                          CTR_TAG_BLOCK to the block; library: its number,
 *                          from 0, in the order in which they were loaded
 *   ...  derive[]          only with CTR_BLOCK_HAS_DERIVED, then at least one:
 *                          for each slot with CTR_ACCESS_DERIVED, in their order,
 *                          CTR_BLOCKDEF_DERIVE bytes: u16 root, u8 bits, u8 flags
 *                          (CTR_DERIVE_*), i64 delta
 *
 * A derived slot is an unconditional access (group 0).  Its root is the number of an
 * earlier slot of the block: an unconditional access that is not derived itself.  Every
 * run, or part of one in a chunk, that makes the derived slot also makes its root.  delta
 * is from -CTR_MAX_DERIVE to CTR_MAX_DERIVE.  With root CTR_DERIVE_CONST the root's
 * address is 0 and delta is any number.  The address is the lowest `bits' bits (1 to 64)
 * of root's address + delta, the bits above them 0 or, with CTR_DERIVE_SIGNED, copies of
 * the highest of them; of all that, as many bits as the target's addresses have.
 *
 * The instructions of a definition are those of the translation block that are
 * recorded, in order; a selection of what to record may leave out any of them (then
 * mostly with CTR_BLOCK_HAS_PCS).  pc is that of the first one recorded.
 */
#define CTR_BLOCKDEF_PC 0        /* u64 guest virtual address */
#define CTR_BLOCKDEF_CS_BASE 8   /* u64 QEMU's cs_base */
#define CTR_BLOCKDEF_TB_FLAGS 16 /* u64 QEMU's translation flags */
#define CTR_BLOCKDEF_CFLAGS 24   /* u32 QEMU's compile flags */
#define CTR_BLOCKDEF_NINSN 28    /* u16 1..CTR_MAX_BLOCK_INSNS */
#define CTR_BLOCKDEF_NSLOT 30    /* u16 0..CTR_MAX_BLOCK_SLOTS */
#define CTR_BLOCKDEF_NGROUP 32   /* u16 groups are 1..ngroup */
#define CTR_BLOCKDEF_MODE 34     /* u8  CTR_MODE_*, and CTR_PRIVILEGE_* << 4 */
#define CTR_BLOCKDEF_FLAGS 35    /* u8  CTR_BLOCK_* */
#define CTR_BLOCKDEF_CODELEN 36  /* u32 code_bytes, the sum of len[] */
#define CTR_BLOCKDEF_FIXED 40
#define CTR_BLOCKDEF_SLOT 6

#define CTR_BLOCK_HAS_PCS 0x01u
#define CTR_BLOCK_HAS_TAGS 0x02u
#define CTR_BLOCK_PART 0x04u /* instructions were left out */
#define CTR_BLOCK_HAS_DERIVED 0x08u

#define CTR_BLOCKDEF_TAG 12 /* bytes of a tag */
#define CTR_TAG_BLOCK 0xffffu
#define CTR_MAX_BLOCK_TAGS 4096u

#define CTR_BLOCKDEF_DERIVE 12 /* bytes of an entry of derive[] */
#define CTR_DERIVE_CONST 0xffffu
#define CTR_DERIVE_SIGNED 0x01u
#define CTR_MAX_DERIVE 4095

/* access byte of a slot */
#define CTR_ACCESS_SIZE(a) (1u << ((a) & 0x07u)) /* 1..128 bytes */
#define CTR_ACCESS_SIZE_LOG2 0x07u
#define CTR_ACCESS_DERIVED 0x08u /* no address unit, see derive[] */
#define CTR_ACCESS_STORE 0x10u
#define CTR_ACCESS_BE 0x20u  /* value is big-endian in memory */
#define CTR_ACCESS_REG 0x40u /* no access: a register, 1..16 bytes */
#define CTR_ACCESS_NOVALUE                                                               \
    0x80u /* access whose value is not recorded: its
                                          address unit only */

/*
 * Physical addresses (CTR_EVENTS_PHYS).  How a virtual address is translated depends on
 * the MMU index that the access uses: QEMU has one for each privilege and address space
 * that a processor distinguishes.  What is known of a page:
 */
#define CTR_MMUS 16u
#define CTR_PAGE_DEVICE 0x1u /* registers of a device, or nothing: no memory */
#define CTR_PAGE_SECURE 0x2u /* arm: in secure memory; x86: as SMM sees memory */

/* Units that a value of n bytes occupies in the data column. */
#define CTR_UNITS(n, unit) (((n) + (unit) - 1u) / (unit))

/* How a block's bytes are to be read, where the machine leaves it open. */
#define CTR_MODE_DEFAULT 0u
#define CTR_MODE_THUMB 1u /* arm: T32 */
#define CTR_MODE_X86_16 2u
#define CTR_MODE_X86_32 3u
#define CTR_MODE_X86_64 4u
#define CTR_MODE_MIPS16 5u
#define CTR_MODE_MICROMIPS 6u
#define CTR_MODE_PPC_LE 7u /* little-endian, of a target that is not */
#define CTR_BLOCKDEF_MODE_OF(m) ((m) & 0xfu)
#define CTR_BLOCKDEF_PRIVILEGE_OF(m) ((m) >> 4)

/*
 * What the code of a machine may do, from the least on.  Names of the machines are
 * arm EL0 to EL3, riscv U, S, M, VU, VS; x86 rings 3 and 0, and SMM as MONITOR.
 * others USER and KERNEL.
 */
#define CTR_PRIVILEGE_NONE 0u /* not known; a program's */
#define CTR_PRIVILEGE_USER 1u
#define CTR_PRIVILEGE_KERNEL 2u
#define CTR_PRIVILEGE_HYPERVISOR 3u
#define CTR_PRIVILEGE_MONITOR 4u      /* firmware above all others */
#define CTR_PRIVILEGE_GUEST_USER 5u   /* of a virtual machine within the machine */
#define CTR_PRIVILEGE_GUEST_KERNEL 6u /* the same */
#define CTR_PRIVILEGE_RING2 7u        /* x86 */
#define CTR_PRIVILEGE_RING1 8u        /* x86 */
#define CTR_PRIVILEGE_M_USER 9u       /* Cortex-M: unprivileged ... */
#define CTR_PRIVILEGE_M 10u           /* ... and privileged */
#define CTR_PRIVILEGES 11u
/* The least privileged ones, a mask of 1 << CTR_PRIVILEGE_* */
#define CTR_PRIVILEGE_USERS                                                              \
    (1u << CTR_PRIVILEGE_USER | 1u << CTR_PRIVILEGE_GUEST_USER |                         \
     1u << CTR_PRIVILEGE_M_USER)

/* What is recorded (bit mask; blocks are always part of a trace) */
#define CTR_EVENTS_EXEC 0x01u
#define CTR_EVENTS_MEM 0x02u     /* accesses */
#define CTR_EVENTS_VAL 0x04u     /* their values; only with MEM */
#define CTR_EVENTS_REG 0x08u     /* register changes and states */
#define CTR_EVENTS_SYS 0x10u     /* system calls, signals */
#define CTR_EVENTS_MAP 0x20u     /* mappings */
#define CTR_EVENTS_THR 0x40u     /* threads and processes: start, end, name */
#define CTR_EVENTS_TIME 0x80u    /* times of SYS events (others always have one) */
#define CTR_EVENTS_MARK 0x100u   /* marks, labels, gates; always on */
#define CTR_EVENTS_INT 0x200u    /* exceptions and interrupts, of machines only */
#define CTR_EVENTS_CTX 0x400u    /* address spaces, of machines only */
#define CTR_EVENTS_ORDER 0x800u  /* which thread runs; on if they run one at a time */
#define CTR_EVENTS_PHYS 0x1000u  /* physical addresses of accesses, of machines only */
#define CTR_EVENTS_PWR 0x2000u   /* vCPUs that wait or are off, of machines only */
#define CTR_EVENTS_DMA 0x4000u   /* RAM that was written other than by accesses, ... */
#define CTR_EVENTS_RAM 0x8000u   /* ... and as it was at first, of machines only */
#define CTR_EVENTS_IO 0x10000u   /* accesses to devices, of machines only */
#define CTR_EVENTS_TASK 0x20000u /* tasks of its Linux, of machines only */
#define CTR_EVENTS_KEY 0x40000u  /* key frames: contents of pages; of programs only */
#define CTR_EVENTS_INPUT                                                                 \
    0x80000u /* what re-execution needs beside SYS, MAP; of programs */
#define CTR_EVENTS_ALL 0xfffffu
/* Those of machines only, and of programs only */
#define CTR_EVENTS_MACHINE                                                               \
    (CTR_EVENTS_INT | CTR_EVENTS_CTX | CTR_EVENTS_ORDER | CTR_EVENTS_PHYS |              \
     CTR_EVENTS_PWR | CTR_EVENTS_DMA | CTR_EVENTS_RAM | CTR_EVENTS_IO | CTR_EVENTS_TASK)
#define CTR_EVENTS_PROGRAM                                                               \
    (CTR_EVENTS_SYS | CTR_EVENTS_MAP | CTR_EVENTS_TIME | CTR_EVENTS_KEY |                \
     CTR_EVENTS_INPUT)

/*
 * Registers.  A trace with CTR_EVENTS_REG has a table of registers, numbered
 * from 0, of 1 to 16 bytes each.  Values are little-endian integers.  A *state*
 * is the values of all of them, in the order of the table.  Table entry, packed:
 *
 *   u8 size, u8 flags, u8 name length, u8 zero, name
 *
 * Names are those of gdb's target descriptions where the whole register is one
 * there ("r0", "rax", "sp"), of QEMU otherwise.  A register wider than 16 bytes
 * is entered in pieces, one after the other, lowest first, all of one name with
 * CTR_REG_PIECE in all but the last.  What gdb calls one register but QEMU
 * computes from several (flags) is entered as those, with CTR_REG_RAW; the
 * reader computes the named one from them (tracefmt/FORMAT.md lists which).
 */
#define CTR_REG_RAW 0x01u     /* not for display by itself */
#define CTR_REG_PIECE 0x02u   /* continues in the next entry */
#define CTR_REG_VECTOR 0x04u  /* show in hexadecimal, whole */
#define CTR_REG_SPECIAL 0x08u /* control and status */
#define CTR_MAX_REGS 4096u
#define CTR_MAX_STATE_BYTES (64u << 10)

/*
 * Events: what happened to a thread between two runs of blocks.  The payloads
 * are little-endian and packed, the same in the pipe and in a file.  `str' is
 * u16 length and the bytes, without a NUL.
 */
enum ctr_event_type {
    /*
     * Before and after a system call:
     *   u32 nr, u32 flags (CTR_SYSCALL_*), i64 result (0 before), u64 args[8],
     *   str name
     * Both have all of it.  A call can have a beginning only (exit, a thread that
     * was killed, execve) or an end only (the child of fork).  What the call
     * read and wrote comes between the two.
     */
    CTR_EVENT_SYSCALL = 1,
    CTR_EVENT_SYSRET = 2,
    /*
     * Guest memory that the system read or wrote on behalf of the thread:
     *   u64 addr, u64 size, u32 flags (CTR_USERMEM_*), u32 n, u8 bytes[n]
     * n is less than size when there is more than the limit of the recording.
     */
    CTR_EVENT_USERMEM = 3,
    /*
     * A signal was delivered:
     *   u32 signo, i32 code (si_code), i32 pid, u32 uid (sender, if the code says
     *   so), u64 addr (si_addr), u64 value (si_value), u64 pc (interrupted),
     *   u64 handler, u32 flags (CTR_SIGNAL_*), u32 zero
     */
    CTR_EVENT_SIGNAL = 4,
    /* A signal handler returned: u64 pc (where the thread continues). */
    CTR_EVENT_SIGRETURN = 5,
    /*
     * A change of the address space that succeeded, of the whole process:
     *   u32 op (CTR_MAP_*), u32 prot (1 read, 2 write, 4 execute), u32 flags (the
     *   guest's MAP_*), u32 zero, u64 start, u64 size, u64 offset (of the file),
     *   u64 old_start, u64 old_size (mremap; brk: the heap before), u64 dev, u64 inode,
     *   str path ("" anonymous; "[stack]", "[heap]", "[vdso]"), str build_id (raw)
     * The first thread of a process begins with one CTR_MAP_INITIAL for each
     * range that is mapped.  CTR_MAP_DISCARD has only op, start, size: the mappings stay,
     * but private memory of them holds zeros again, or what its file has (madvise with
     * MADV_DONTNEED; after the initial mappings of a forked process: MADV_WIPEONFORK of a
     * process before it).
     */
    CTR_EVENT_MAP = 6,
    /*
     * Threads and processes:
     *   u32 op (CTR_THREAD_*), i32 pid, i32 tid, i32 ppid, i32 ptid (of the
     *   thread that made it, also by fork; 0: none that is recorded), u32 reason (as
     *   ctr_end in ctr.h), i32 status (END: of that reason; START, EXEC: the number of
     *   the program's arguments, if there is args),
     *   str name (START: of the thread as prctl(2) returns it; NAME: the new one;
     *   EXEC: path of the program),
     *   str args (optional, of START and EXEC only: the arguments, argv[0] first, with a
     *   NUL after each; if they are longer than CTR_MAX_ARGS, that many bytes of them)
     * START of the first thread of a process has args, and EXEC.
     */
    CTR_EVENT_THREAD = 7,
    /*
     * A mark:
     *   u32 source (CTR_MARK_*), u32 number (of those from outside, from 1; 0: of
     *   the guest's own), u64 asked_ns (CLOCK_MONOTONIC, when it was requested), u64
     *   value (the guest's), str text
     * Each thread that runs records a mark from outside where it meets it.
     */
    CTR_EVENT_MARK = 8,
    /*
     * From here on this thread is recorded (open 1), or not (open 0):
     *   u32 open, u32 why (CTR_GATE_*)
     * Without such an event it is recorded from its start.  While the gate is closed
     * only MAP, THREAD, MARK, LABEL, SELECT and SLICE events are recorded.
     */
    CTR_EVENT_GATE = 9,
    /*
     * The guest names a range of memory, or removes the name:
     *   u32 op (CTR_LABEL_*), u32 zero, u64 start, u64 size, str type, str name
     */
    CTR_EVENT_LABEL = 10,
    /*
     * What is recorded was chosen again while the program ran; from here on this thread
     * follows it:  u32 generation, u32 zero, str text (the libraries, one a line)
     */
    CTR_EVENT_SELECT = 11,
    /*
     * A machine's processor took an exception or an interrupt:
     *   u32 flags (CTR_INT_*), u32 number, u64 syndrome, u64 addr, u64 from, u64 to,
     *   u32 old privilege, u32 new privilege (CTR_PRIVILEGE_*)
     * from: the address at which the processor continues if the handler returns as it
     * was called; to: the next instruction, of the handler.  The other numbers by machine:
     *
     *            number                       syndrome         addr, if CTR_INT_ADDR
     *   arm      EC of the syndrome; ASYNC:   ESR              FAR
     *            INTID at the interrupt
     *            controller
     *   Cortex-M (CTR_INT_VECTOR) exception   0                0
     *            number
     *   riscv    cause without its top bit    0                stval, mtval
     *   x86      vector; CTR_INT_SYSCALL,     error code       CR2
     *            CTR_INT_SYSENTER, CTR_INT_SMI
     *   mips     ExcCode of Cause; ASYNC:     0                BadVAddr
     *            interrupt line
     *   ppc      offset of the vector         DSISR            DAR
     *   s390x    program interruption code,   0                0
     *            TRAP: number of SVC
     *   others   QEMU's exception_index;      0                0
     *            ASYNC: CTR_INT_UNKNOWN
     */
    CTR_EVENT_INTERRUPT = 12,
    /*
     * An instruction returned from an exception or interrupt, or did what these
     * instructions do (x86: SYSRET, SYSEXIT, RSM, too):
     *   u64 pc (where the processor continues), u32 old privilege, u32 new privilege
     */
    CTR_EVENT_INTRET = 13,
    /*
     * From here on a machine's processor uses another address space:
     *   u64 table, u64 asid, u64 id
     * table: where the page table of user addresses is in physical memory, 0 if there is
     * no translation; asid: arm and riscv ASID, x86 PCID; id: arm CONTEXTIDR, or 0.
     */
    CTR_EVENT_CONTEXT = 14,
    /*
     * From here on this thread runs, and no other, until the next SLICE event of any
     * thread:  u64 number (of the slice, from 1; the first thread has none for the
     * first one).  Its time is later than all before it.
     */
    CTR_EVENT_SLICE = 15,
    /*
     * A machine's processor waits, or executes instructions again, or what is around it
     * has switched, reset, saved or loaded it:
     *   u32 op (CTR_POWER_*), u32 zero
     * Its begin has none, nor has a recording that begins with a state that was loaded.
     * SAVED and LOADED are of the whole machine: each processor has one before it executes
     * the next instruction.  After LOADED its registers, address space, pages and the
     * contents of memory are those of the snapshot: registers that differ follow as changes
     * from outside, a CONTEXT that differs as an event, pages when they are used.  It waits
     * or not as before the event, until the next HALT, OFF or WAKE.
     */
    CTR_EVENT_POWER = 16,
    /*
     * What is at a range of physical addresses of a machine:
     *   u32 op (CTR_RAM_*), u32 fill, u64 size, u64 addr (physical), u64 offset, u64 from
     *   (physical), str block, u32 n, u8 bytes[n]
     * RAM is in blocks, which have names; a byte of one can be at several addresses.
     * MAP: bytes offset to offset + size - 1 of the block (fill CTR_RAM_ROM: stores do not
     * change them), whose contents follow before the next instruction; UNMAP: no RAM any
     * more; BYTES: the contents are these bytes, and then `fill' (0 to 255) up to size;
     * SAME: they are those that are at `from' now; ANEW: nothing that was said or stored
     * before is true any more (a snapshot was loaded).  What an op does not use is 0 or
     * empty.
     */
    CTR_EVENT_RAM = 17,
    /*
     * Something other than an access of an instruction wrote to a machine's RAM:
     *   u32 source (CTR_DMA_*), u32 zero, u64 size, u64 addr (physical), str device (""
     *   if it is not known), u32 n, u8 bytes[n] (size of them, with CTR_EVENTS_VAL, or
     *   none)
     * It was written after the run before and before the next one.
     */
    CTR_EVENT_DMA = 18,
    /*
     * The last instruction of the run before accessed a device:
     *   u32 flags (CTR_IO_*), u32 size (bytes, 1 to 8), u64 addr (physical, or the number
     *   of an x86 port), u64 offset (of that in the region), u64 value (that the device
     *   gave or got), str region, str device ("" if nobody owns the region)
     */
    CTR_EVENT_IO = 19,
    /*
     * From here on a machine's processor runs another task of Linux, or this one has
     * another name or number:
     *   u32 pid (of the task; gettid(2)), u32 tgid (of its process; getpid(2)), u64 task
     *   (virtual address of its task_struct; 0: it is not known which one runs, and the
     *   rest is empty), str comm (up to 15 bytes)
     * pid 0 is the idle task of the processor.  Before the first event it is not known.
     */
    CTR_EVENT_TASK = 20,
    /*
     * A process of the machine's Linux has code of a file in its memory, from here on, or
     * no longer:
     *   u32 tgid (of the process), u32 flags (CTR_AREA_*), u64 start, u64 end (the first
     *   address after it), u64 offset (of start, in the file), str path (in the guest)
     * start = end: there is no area, only CTR_AREA_ANEW.  It is noticed when the process
     * returns to user code.  What a process has is recorded when it is met first, and again
     * in each set of buffers (vCPUs in parallel: every half second), so that what remains
     * of a ring knows it.
     */
    CTR_EVENT_AREA = 21,
    /*
     * A key frame: what a page of the process holds here, as if the thread had loaded all
     * of it:
     *   u64 addr (of its first byte, a multiple of n), u32 n (CTR_KEYFRAME_BYTES),
     *   u8 bytes[n]
     * A process that has one thread makes them of pages that the recorder requests.
     */
    CTR_EVENT_KEYFRAME = 22,
    /*
     * What the thread got from outside other than by the system, so that it can be executed
     * again:  u32 what (CTR_INPUT_*), u32 n, u8 bytes[n], which are u64 numbers
     * SEED: of QEMU's random numbers for the guest, before the first instruction of
     * a process that is no forked one.  LAYOUT, there, too: the addresses at which the
     * loader placed what has no fixed one, in its order.  CLOCK: what instructions that
     * read a clock or counter got, in order; they were executed before this event and
     * after the CLOCK event before.  SECOND: the second result of the system call that is
     * under way, in a register (pipe(2) of some machines).
     */
    CTR_EVENT_INPUT = 23,
};

#define CTR_KEYFRAME_BYTES 4096u
#define CTR_MARK_OUTSIDE 1u /* cannoli-ctl mark */
#define CTR_MARK_GUEST 2u
#define CTR_GATE_OUTSIDE 1u /* cannoli-ctl pause, resume; a signal */
#define CTR_GATE_GUEST 2u   /* the program itself */
#define CTR_GATE_PLACE 3u   /* an instruction where it starts or stops */
#define CTR_GATE_TREE 4u    /* a call, and its return */
#define CTR_GATE_COUNT 5u   /* so many instructions were executed */
#define CTR_GATE_START 6u   /* the thread began like this */
#define CTR_GATE_TASK 7u    /* a task or address space of a machine that is not chosen */
#define CTR_AREA_ANEW 1u    /* all earlier ones of this process are gone */
#define CTR_AREA_REMOVED 2u /* this one is gone */
#define CTR_INPUT_SEED 1u
#define CTR_INPUT_LAYOUT 2u
#define CTR_INPUT_CLOCK 3u
#define CTR_INPUT_SECOND 4u
#define CTR_LABEL_SET 1u
#define CTR_LABEL_REMOVE 2u

#define CTR_SYSCALL_NORETURN 0x1u /* result is none: sigreturn, restarted */
#define CTR_USERMEM_WRITE 0x1u    /* the system wrote (bytes: what it wrote) */
#define CTR_USERMEM_STRING 0x2u   /* it read a string (size: with its NUL) */
#define CTR_SIGNAL_HANDLER 0x1u   /* a handler runs */
#define CTR_SIGNAL_FATAL 0x2u     /* it ends the process */
#define CTR_SIGNAL_SYNC 0x4u      /* raised by the instruction at pc */

#define CTR_INT_ASYNC 0x01u    /* an interrupt: not caused by an instruction */
#define CTR_INT_TRAP 0x02u     /* requested by an instruction, which completed */
#define CTR_INT_FETCH 0x04u    /* the instruction at `from' could not be fetched */
#define CTR_INT_ADDR 0x08u     /* addr is the address that was accessed */
#define CTR_INT_EMULATED 0x10u /* QEMU did it itself: no handler runs */
#define CTR_INT_FAST 0x20u     /* arm: FIQ */
#define CTR_INT_VECTOR 0x40u   /* arm: number is Cortex-M's exception number */
#define CTR_INT_VIRTUAL 0x80u  /* for the virtual machine that runs within the machine */
#define CTR_INT_ERROR 0x100u   /* arm: SError */
#define CTR_INT_UNKNOWN 0xffffffffu /* number: none is known */
#define CTR_INT_SYSCALL 0x100u      /* number, x86: the instructions SYSCALL, SYSENTER */
#define CTR_INT_SYSENTER 0x101u
#define CTR_INT_SMI 0x102u

#define CTR_POWER_HALT 1u /* it waits for an interrupt */
#define CTR_POWER_OFF 2u  /* arm: it is off, see PSCI */
#define CTR_POWER_WAKE 3u /* it executes instructions again, after HALT or OFF */
#define CTR_POWER_RESET 4u
#define CTR_POWER_LOADED 5u /* the machine's state is that of a snapshot */
#define CTR_POWER_SAVED 6u  /* it was saved as a snapshot */

#define CTR_RAM_MAP 1u
#define CTR_RAM_UNMAP 2u
#define CTR_RAM_BYTES 3u
#define CTR_RAM_SAME 4u
#define CTR_RAM_ANEW 5u
#define CTR_RAM_ROM 1u

#define CTR_DMA_DEVICE 1u
#define CTR_DMA_WALK 2u /* a page-table walk: accessed and dirty bits */
#define CTR_DMA_CPU 3u  /* the processor: what exceptions save, for one */
#define CTR_DMA_HOST 4u /* QEMU: its monitor, gdb, a reset */

#define CTR_IO_WRITE 0x1u
#define CTR_IO_PORT 0x2u   /* an x86 port */
#define CTR_IO_FAILED 0x4u /* nothing answered */

#define CTR_MAP_INITIAL 1u
#define CTR_MAP_MMAP 2u
#define CTR_MAP_MUNMAP 3u
#define CTR_MAP_MPROTECT 4u
#define CTR_MAP_MREMAP 5u /* old_* vanish unless the flags keep them */
#define CTR_MAP_BRK 6u    /* start, size: the heap as it is now */
#define CTR_MAP_SHMAT 7u
#define CTR_MAP_SHMDT 8u
#define CTR_MAP_DISCARD 9u

#define CTR_THREAD_START 1u
#define CTR_THREAD_END 2u /* of the thread; the last one ends the process */
#define CTR_THREAD_NAME 3u
#define CTR_THREAD_EXEC 4u /* execve succeeded; the process continues in it */
#define CTR_MAX_ARGS 4096u /* bytes of a program's arguments that are kept */

#endif
