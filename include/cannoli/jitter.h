/* SPDX-License-Identifier: MIT */
/*
 * Jitter libraries: shared libraries that decide what is recorded.
 *
 * A jitter library is loaded into the recorded QEMU (cannoli-record --jitter
 * ./lib.so,key=value, qemu-ARCH -cannoli file=lib.so,key=value, or, while the
 * program runs, cannoli-ctl load).  QEMU calls it when guest code is translated,
 * and what it does not request costs nothing when the code runs.  There are no
 * callbacks at execution time: the trace has what happened then.
 *
 * This header needs nothing but a C99 or C++ compiler.  A library defines
 *
 *     const struct cannoli_jitter cannoli_jitter = { CANNOLI_JITTER_HEADER, ... };
 *
 * and is built with  cc -shared -fPIC.  See cannoli-jitter(7).
 *
 * Threads: the functions of one library in one process are called from any thread,
 * but never two at a time, and with signals as the guest has them.  After fork both
 * processes continue with their copy of the library's state.  A library must not call
 * exit, longjmp out of a callback, or start threads.
 *
 * Several libraries: something is recorded if any of them requests it.  An
 * instruction is recorded ALWAYS if one returns ALWAYS, else ONCE if one returns ONCE.
 */
#ifndef CANNOLI_JITTER_H
#define CANNOLI_JITTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of this interface.  Libraries built for an earlier one work as before; those
 * built for a newer one are refused.  Version 1 had no hook_range, 2 no privilege, 3 no
 * vcpu and no per_vcpu.
 */
#define CANNOLI_JITTER_VERSION 4u

/*
 * What hook_inst returns: one of the first three, or'ed with flags.  Flags apply
 * whether the instruction itself is recorded or not, before it runs:
 *   START  the process begins to record (all of its threads)
 *   STOP   it stops; code runs at full speed until a START
 *   TREE   this thread records until the call that has just been made (whose first
 *          instruction this is) returns; calls inside belong to it
 * A recording for which a library called starts_closed (below) records only from a START
 * on, or inside a TREE.
 */
enum {
    CANNOLI_NEVER = 0,
    CANNOLI_ALWAYS = 1,
    CANNOLI_ONCE = 2, /* the first time that this process runs it (what its
                         parents ran before the fork counts), with its accesses */
    CANNOLI_HOOK_MASK = 0x0f,
    CANNOLI_START = 0x10,
    CANNOLI_STOP = 0x20,
    CANNOLI_TREE = 0x40,
    CANNOLI_ANYTHING = 0x7f, /* for hook_range: it depends */
};

/* What an instruction is: flags of struct cannoli_insn. */
#define CANNOLI_INSN_BRANCH                                                              \
    0x01u                         /* may continue elsewhere than after itself, by
                                       its own decision: jumps, calls, returns */
#define CANNOLI_INSN_COND 0x02u   /* ... or not: conditional branch */
#define CANNOLI_INSN_CALL 0x04u   /* a branch that keeps a return address */
#define CANNOLI_INSN_RETURN 0x08u /* a branch to such an address */
#define CANNOLI_INSN_INDIRECT                                                            \
    0x10u /* a branch whose target is in a register or
                                       in memory */
#define CANNOLI_INSN_SYSCALL 0x20u
#define CANNOLI_INSN_LOAD 0x40u  /* may load from memory: */
#define CANNOLI_INSN_STORE 0x80u /* may store to memory */
#define CANNOLI_INSN_HELPER                                                              \
    0x100u /* QEMU calls a function for it whose accesses
                                        are not known beforehand */
/* COND, CALL and RETURN are known for arm, aarch64, mips, riscv, x86, ppc, s390x. */

/* How bytes are decoded, where the machine leaves it open; CTR_MODE_* of
 * cannoli/events.h: 0 default, 1 thumb, 2 x86-16, 3 x86-32, 4 x86-64, 5 mips16,
 * 6 micromips, 7 ppc little-endian (of a target that is not). */

/* One instruction that is being translated; valid during the call. */
struct cannoli_insn {
    uint64_t pc;          /* guest virtual address */
    const uint8_t *bytes; /* len of them */
    uint32_t len;
    uint32_t flags; /* CANNOLI_INSN_* */
    uint32_t mode;
    uint32_t index;     /* number in its translation block, from 0 */
    uint64_t block_pc;  /* of the first instruction of that block */
    void *context;      /* for the functions of struct cannoli_host */
    uint32_t privilege; /* of a machine's code: CTR_PRIVILEGE_* of cannoli/events.h */
    uint32_t vcpu;      /* that will run it, from 0; 0 without host->per_vcpu() */
};

/* What is mapped at an address. */
struct cannoli_module {
    const char *path;    /* as the host opens the file; "" if anonymous */
    uint64_t start, end; /* of this mapping, end exclusive */
    uint64_t offset;     /* of the requested address, in the file */
    uint64_t base;       /* address of the file's offset 0, or `start' */
    uint64_t generation; /* differs when mappings have changed since */
};

/* Addresses of instructions. */
struct cannoli_range {
    uint64_t start, end; /* end exclusive */
};

/* What QEMU offers.  Functions that take a context may be called from callbacks
 * that have one, during that callback only. */
struct cannoli_host {
    uint32_t version;     /* CANNOLI_JITTER_VERSION of this QEMU */
    uint32_t bytes;       /* sizeof(struct cannoli_host) */
    const char *target;   /* "arm", "x86_64": as in qemu-TARGET */
    const char *program;  /* path of the guest program */
    uint32_t elf_machine; /* e_machine of the guest program */
    uint8_t big_endian;
    uint8_t addr_bytes; /* 4 or 8 */
    uint16_t reserved;
    uint32_t events; /* CTR_EVENTS_* that the recording has at all */

    /* Fills in *m (valid until the callback returns) and returns 1, or returns 0 if
     * nothing is mapped at addr. */
    int (*module)(void *context, uint64_t addr, struct cannoli_module *m);
    /* Copies guest memory; returns how many bytes were there to be read. */
    size_t (*read)(void *context, uint64_t addr, void *to, size_t n);
    /* The instruction as assembly text, with a NUL, mostly as Capstone writes it.
     * Returns its length, or 0 if there is no disassembler for it. */
    size_t (*disas)(void *context, char *text, size_t size);
    /* Attaches a tag to this instruction, or to its block: part of the
     * description of the block in the trace, wherever at least one instruction of the
     * block is recorded.  A second tag from the same library replaces the first. */
    void (*tag_insn)(void *context, uint64_t tag);
    void (*tag_block)(void *context, uint64_t tag);
    /* From `load' only: nothing is recorded until a START or TREE. */
    void (*starts_closed)(void);
    /* From `load': reports why it returns an error (one line, printf-like). */
    void (*error)(const char *format, ...)
#if defined(__GNUC__)
        __attribute__((format(printf, 1, 2)))
#endif
        ;

    /* ---- since version 4 ---- */

    /*
     * From `load' only: each vCPU of the machine gets translations of its own, so that
     * hook_inst and the others can decide by insn->vcpu.  It lasts until QEMU ends, for
     * all libraries; code that N vCPUs run is translated N times.  Returns 1, or 0: it
     * cannot be, of a program or of a machine with more than 256 vCPUs.
     */
    int (*per_vcpu)(void);
};

/* What a library is.  Functions that it does not need are NULL. */
struct cannoli_jitter {
    uint32_t version; /* CANNOLI_JITTER_VERSION */
    uint32_t bytes;   /* sizeof(struct cannoli_jitter) */
    const char *name; /* for messages */

    /*
     * Once, before anything else; args: what followed the file name,
     * "key=value,key=value", or "".  *state is passed to all other calls.  host stays
     * valid until unload.  Returns 0, or not 0: the library cannot work in this
     * recording.
     */
    int (*load)(const struct cannoli_host *host, const char *args, void **state);
    void (*unload)(void *state);

    /* Is this instruction recorded?  NULL: ALWAYS. */
    int (*hook_inst)(void *state, const struct cannoli_insn *insn);
    /*
     * Are the accesses of a recorded instruction recorded, too?  Called for each that it
     * can make.  size: bytes, 0 for those made inside a helper.  NULL: yes.
     */
    int (*hook_mem)(void *state, const struct cannoli_insn *insn, int is_write,
                    uint32_t size);
    /* Is the value of a recorded access recorded, too?  NULL: yes. */
    int (*hook_value)(void *state, const struct cannoli_insn *insn, int is_write,
                      uint32_t size);
    /* Are the registers that a recorded instruction changes recorded, too?  NULL: yes. */
    int (*hook_reg)(void *state, const struct cannoli_insn *insn);
    /*
     * Are system calls with this number recorded, with what they read and write?  Called
     * once for each number in each process.  NULL: yes.
     */
    int (*hook_syscall)(void *state, uint32_t nr, const char *name);

    /* ---- since version 2 ---- */

    /*
     * Called before hook_inst: what may that return around this address?  CANNOLI_NEVER:
     * no instruction that begins in *range is recorded, whatever it is, and none
     * is a place where anything starts or stops; such blocks are not examined further.
     * CANNOLI_ALWAYS: something may be recorded; CANNOLI_START, CANNOLI_STOP,
     * CANNOLI_TREE, or'ed: there may be such places.  CANNOLI_ANYTHING, or NULL:
     * hook_inst is called for each instruction.
     * *range is all addresses before the call; the library narrows it down to where the
     * result holds, addr among them.  Results are kept until files are mapped or
     * unmapped, or libraries come or go: they must depend on that only, and not on
     * the vCPU.
     */
    int (*hook_range)(void *state, void *context, uint64_t addr,
                      struct cannoli_range *range);
};

#define CANNOLI_JITTER_HEADER CANNOLI_JITTER_VERSION, sizeof(struct cannoli_jitter)
#define CANNOLI_JITTER_SYMBOL "cannoli_jitter"

/* For programs that load libraries: how many bytes of struct cannoli_jitter a library of
 * this version has, 0 if it is refused. */
static inline size_t cannoli_jitter_bytes(uint32_t version)
{
    if (version == 1) {
        return offsetof(struct cannoli_jitter, hook_range);
    }
    return version >= 2 && version <= CANNOLI_JITTER_VERSION
               ? sizeof(struct cannoli_jitter)
               : 0;
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const struct cannoli_jitter cannoli_jitter;

#ifdef __cplusplus
}
#endif
#endif
