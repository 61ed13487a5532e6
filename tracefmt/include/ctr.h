/* SPDX-License-Identifier: MIT */
/*
 * libctr: reading .ctr execution traces (see ctr(5) and tracefmt/FORMAT.md).
 *
 * A trace holds, for every guest thread, the instructions it executed and the
 * memory accesses they made, exactly and in order.  Two ways to read it:
 *
 *   ctr_replay   callbacks run in parallel on different chunks; what they
 *                append to their output is handed to one ordered callback in
 *                recorded order.  Works on files and on streams.
 *   ctr_cursor   one event after the other, and seeking (files only).
 *
 * Conventions
 *   Every function that returns int returns 0 on success and a negated enum
 *   ctr_error otherwise, unless its comment says otherwise.  Where a function
 *   has a struct ctr_diag argument it may be NULL; it is filled in on failure only.
 *   The library never prints, exits, or installs signal handlers; it has no
 *   mutable global state.  The struct ctr_trace of a file may be used by any
 *   number of threads at once, by each with cursors of its own, except for
 *   ctr_trace_check and ctr_close; that of a stream by one at a time, except that
 *   callbacks of ctr_replay may look up processes, threads, blocks and chunks.
 *   All file contents are treated as hostile: a bad file makes calls fail,
 *   never crash, and memory is bounded: reading a file takes at most 64 MiB for
 *   each worker, as a rule much less, plus 5 bytes for each chunk, 128 for
 *   each part of the index, some 220 for each process and thread and up to 12 MiB
 *   for what is looked up in the index.  All block definitions of a stream are
 *   kept, at most 2 GiB; a history of mappings takes at most 768 MiB.
 *
 * Ordinals: the instructions of each thread are counted from 0.  Ranges are
 * half-open.  Times are nanoseconds of CLOCK_MONOTONIC of the machine on which
 * the trace was recorded; struct ctr_info has the corresponding real time.
 */
#ifndef CTR_H
#define CTR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CTR_API __attribute__((visibility("default")))
#else
#define CTR_API
#endif

/* ------------------------------------------------------------------ errors */

enum ctr_error {
    CTR_E_OK = 0,
    CTR_E_IO = 1, /* the system refused; ctr_diag.sys_errno */
    CTR_E_NOMEM = 2,
    CTR_E_CORRUPT = 3,     /* the data contradict themselves or a checksum */
    CTR_E_TRUNCATED = 4,   /* the data end too early */
    CTR_E_UNSUPPORTED = 5, /* newer than this library, or never released */
    CTR_E_LIMIT = 6,       /* beyond a limit of the format or of the library */
    CTR_E_NOTTRACE = 7,    /* not a .ctr file at all (also an empty one) */
    CTR_E_INVAL = 8,       /* a mistake of the caller */
};

/* What went wrong and where.  Owned by the caller, no pointers inside. */
struct ctr_diag {
    int code;       /* enum ctr_error, not negated */
    int sys_errno;  /* errno with CTR_E_IO, else 0 */
    uint64_t off;   /* offset in the file; CTR_NO_OFF if none */
    char field[32]; /* what was being read: "chunk.words" */
    char text[160]; /* one sentence without a final period */
};
#define CTR_NO_OFF UINT64_MAX

/* A short English name of an error ("corrupt"); code may be negated. */
CTR_API const char *ctr_strerror(int code);

/* Version of the library, "0.1.0". */
CTR_API const char *ctr_version(void);

/* ------------------------------------------------------------- open, close */

struct ctr_trace;

#define CTR_OPEN_NO_INDEX 0x1u /* scan section by section, ignore the index */
#define CTR_OPEN_STREAM 0x2u   /* read as a stream even if seekable */

/*
 * Opens a trace.  path "-" is standard input.  A file that is not seekable
 * is read as a stream: then this call returns as soon as the description of
 * the recording has arrived, and tables and totals grow while ctr_replay
 * reads.  A file is opened by its index, or, if that is missing or damaged,
 * by a scan over its sections (payload is not read).
 * Returns -CTR_E_NOTTRACE, -CTR_E_UNSUPPORTED, -CTR_E_IO, -CTR_E_NOMEM,
 * -CTR_E_CORRUPT; -CTR_E_TRUNCATED if there is no whole chunk in the file.
 */
CTR_API int ctr_open(struct ctr_trace **out, const char *path, unsigned flags,
                     struct ctr_diag *diag);

/* The same on a descriptor, which the trace takes over (it closes it), also when
 * the call fails. */
CTR_API int ctr_open_fd(struct ctr_trace **out, int fd, unsigned flags,
                        struct ctr_diag *diag);

/* NULL is allowed.  Cursors must be closed before. */
CTR_API void ctr_close(struct ctr_trace *tr);

/* ------------------------------------------------------------- description */

/* events masks; same values as CTR_EVENTS_* of cannoli/events.h */
#define CTR_HAS_EXEC 0x01u
#define CTR_HAS_MEM 0x02u
#define CTR_HAS_VAL 0x04u   /* values of accesses */
#define CTR_HAS_REG 0x08u   /* registers */
#define CTR_HAS_SYS 0x10u   /* system calls, signals */
#define CTR_HAS_MAP 0x20u   /* mappings */
#define CTR_HAS_THR 0x40u   /* thread and process events */
#define CTR_HAS_TIME 0x80u  /* times of system calls and signals */
#define CTR_HAS_MARK 0x100u /* marks, labels, gates */
#define CTR_HAS_INT 0x200u  /* exceptions, interrupts */
#define CTR_HAS_CTX 0x400u  /* address spaces */
#define CTR_HAS_ORDER                                                                    \
    0x800u /* one thread ran at a time, and slices say which: see                        \
              ctr_replay_opts.slices */
#define CTR_HAS_PHYS 0x1000u  /* physical addresses of accesses */
#define CTR_HAS_PWR 0x2000u   /* vCPUs that wait or are off */
#define CTR_HAS_DMA 0x4000u   /* what wrote to RAM other than by accesses ... */
#define CTR_HAS_RAM 0x8000u   /* ... and RAM as it was at first */
#define CTR_HAS_IO 0x10000u   /* accesses to devices */
#define CTR_HAS_TASK 0x20000u /* tasks of its Linux, and the files of their code */
#define CTR_HAS_KEY 0x40000u  /* key frames */
#define CTR_HAS_INPUT                                                                    \
    0x80000u /* what came from outside is whole: cannoli-expand can execute the program    \
                again */

enum ctr_state {
    CTR_COMPLETE = 0,   /* finished by the recorder */
    CTR_UNFINISHED = 1, /* whole sections only, but no end: the recorder was
                           stopped, or still runs */
    CTR_TRUNCATED = 2,  /* ends inside a section, or a section is damaged */
    CTR_STREAMING = 3,  /* a stream whose end was not read yet */
};

struct ctr_info {
    uint32_t version;     /* of the format */
    uint32_t events;      /* CTR_HAS_* */
    uint32_t elf_machine; /* e_machine of the target */
    uint8_t big_endian;   /* target */
    uint8_t addr_bits;    /* 32 or 64 */
    uint8_t has_index;    /* opened by its index */
    uint8_t seekable;     /* 0: a stream */
    uint8_t machine;      /* 1: of a whole machine: its threads are vCPUs */
    enum ctr_state state;
    const char *target; /* QEMU's name: "arm", "x86_64"; "arm-softmmu" */
    const char *qemu_version;
    const char *recorder; /* name and version of what wrote the file */
    int argc;             /* the command that was recorded */
    const char *const *argv;
    const char *selection; /* what was chosen to be recorded, as options; "" if
                              everything was.  The trace of a part proves neither that
                              what is missing did not happen, nor what followed what. */
    uint64_t
        dropped_insns; /* what a recording that keeps the newest part only (--ring) */
    uint64_t dropped_loads; /* dropped before it was written */
    uint64_t dropped_stores;
    uint64_t dropped_chunks;
    uint64_t start_realtime_ns; /* since 1970 ... */
    uint64_t start_ns;          /* ... and the same moment in trace time */
    uint64_t end_ns;            /* of the last event known */
    uint64_t raw_bytes;  /* of the columns of all chunks known, before compression */
    uint64_t file_bytes; /* size, or what was read of a stream so far */
    uint64_t insns;      /* totals over all chunks known */
    uint64_t loads;
    uint64_t stores;
    uint32_t processes; /* sizes of the tables below */
    uint32_t threads;
    uint32_t blocks; /* definitions known so far */
    uint64_t chunks;
};

/* Strings live as long as the trace.  After ctr_replay on a stream: final. */
CTR_API void ctr_trace_info(const struct ctr_trace *tr, struct ctr_info *out);

/*
 * When the state is not CTR_COMPLETE and not CTR_STREAMING: what stopped
 * reading (code CTR_E_OK if the file has no end but no error).
 */
CTR_API void ctr_trace_damage(const struct ctr_trace *tr, struct ctr_diag *out);

/*
 * Checks what reading does not need: the seek table, which is for other programs, and
 * all parts of the index and all bytes of files, which are read for that.  fn is called for
 * each that is damaged (of files for the first); damage->field is "seek table", "end of file"
 * (there is more after it), "index" or "embed".  For a trace that is not CTR_COMPLETE nothing is reported; for a stream, after
 * it has been read, only the seek table.
 * Returns 0, what fn returned if that was not 0, -CTR_E_IO or -CTR_E_NOMEM.
 */
CTR_API int ctr_trace_check(struct ctr_trace *tr,
                            int (*fn)(void *arg, const struct ctr_diag *damage),
                            void *arg, struct ctr_diag *diag);

/* What reading the trace has cost so far.  A chunk counts each time it is read. */
struct ctr_work {
    uint64_t bytes;  /* read from the file */
    uint64_t chunks; /* whose columns were read */
    uint64_t parts;  /* of the index, whose counts or pages were read */
};
CTR_API void ctr_trace_work(const struct ctr_trace *tr, struct ctr_work *out);

enum ctr_end {
    CTR_END_UNKNOWN = 0, /* no end recorded */
    CTR_END_EXIT = 1,    /* ended by itself */
    CTR_END_GROUP = 2,   /* ended its whole process; status = exit code */
    CTR_END_SIGNAL = 3,  /* a signal ended it; status = signal */
    CTR_END_EXEC = 4,    /* execve replaced the process */
    CTR_END_KILLED = 5,  /* vanished without a record of its end (kill -9) */
};

struct ctr_process {
    uint32_t index; /* in the table, from 0, in order of creation */
    int32_t pid;    /* as the guest knows it */
    int32_t ppid;
    int32_t host_pid; /* where the recorder ran, if the process was in a PID namespace
                         of its own; 0: pid, or not known */
    uint64_t start_ns;
    uint64_t end_ns;     /* 0 if not known */
    uint32_t end_reason; /* enum ctr_end */
    int32_t end_status;
};

struct ctr_thread {
    uint32_t index;   /* in the table, from 0, in order of creation */
    uint32_t process; /* index in the process table */
    int32_t pid;
    int32_t tid;
    int32_t ptid;       /* tid of the thread that made it (also by fork), 0: none
                           that is recorded */
    uint8_t incomplete; /* its last events may be missing */
    uint64_t start_ns;
    uint64_t end_ns;     /* 0 if not known */
    uint32_t end_reason; /* enum ctr_end */
    int32_t end_status;
    uint64_t first; /* ordinal of its first instruction that is in the trace, not 0 if
                       others before it were dropped (--ring) */
    uint64_t insns; /* totals; on a stream valid after ctr_replay */
    uint64_t loads;
    uint64_t stores;
    uint64_t chunks;
};

/*
 * Entry i of a table, or NULL if there is none.  Valid as long as the trace.
 * On a stream a thread is known before its first chunk; its totals and its
 * end are filled in when the stream has ended.
 */
CTR_API const struct ctr_process *ctr_trace_process(const struct ctr_trace *tr,
                                                    uint32_t i);
CTR_API const struct ctr_thread *ctr_trace_thread(const struct ctr_trace *tr, uint32_t i);

/* It continues runs that began before it: accesses can belong to the instruction
 * before its first. */
#define CTR_CHUNK_RESUMES 0x1u
/* It has events of these kinds: */
#define CTR_CHUNK_MAPS 0x2u    /* CTR_EVENT_MAP */
#define CTR_CHUNK_THREADS 0x4u /* CTR_EVENT_THREAD */
#define CTR_CHUNK_SYSTEM 0x8u  /* CTR_EVENT_SYSCALL to _SIGRETURN */
#define CTR_CHUNK_MARKS 0x10u  /* CTR_EVENT_MARK, _GATE, _LABEL, _SELECT */
#define CTR_CHUNK_GAP 0x20u    /* the thread's first; chunks before it were dropped */
#define CTR_CHUNK_INTERRUPTS 0x100u  /* CTR_EVENT_INTERRUPT, _INTRET */
#define CTR_CHUNK_CONTEXTS 0x200u    /* CTR_EVENT_CONTEXT */
#define CTR_CHUNK_SLICES 0x400u      /* CTR_EVENT_SLICE */
#define CTR_CHUNK_POWER 0x1000u      /* CTR_EVENT_POWER */
#define CTR_CHUNK_RAM 0x2000u        /* CTR_EVENT_RAM */
#define CTR_CHUNK_DMA 0x4000u        /* CTR_EVENT_DMA */
#define CTR_CHUNK_IO 0x8000u         /* CTR_EVENT_IO */
#define CTR_CHUNK_TASKS 0x10000u     /* CTR_EVENT_TASK */
#define CTR_CHUNK_AREAS 0x20000u     /* CTR_EVENT_AREA */
#define CTR_CHUNK_KEYFRAMES 0x40000u /* CTR_EVENT_KEYFRAME */
#define CTR_CHUNK_INPUTS 0x80000u    /* CTR_EVENT_INPUT */
/* With CTR_HAS_ORDER: no chunk that was begun before it has anything later. */
#define CTR_CHUNK_FIRST 0x800u

/* A run of consecutive blocks of one thread, decodable by itself. */
struct ctr_chunk {
    uint64_t index;     /* in the order of the file, from 0 */
    uint64_t off;       /* in the file */
    uint64_t bytes;     /* in the file */
    uint64_t raw_bytes; /* of its columns before compression */
    uint32_t thread;    /* index in the thread table */
    uint32_t flags;     /* CTR_CHUNK_* */
    uint64_t first;     /* ordinal of its first instruction */
    uint64_t insns;
    uint64_t loads;
    uint64_t stores;
    uint64_t runs; /* blocks entered */
    uint64_t start_ns;
    uint64_t end_ns;
};

/*
 * Chunk number i (files only); from any thread.  This is read from the file on request,
 * unless it was read recently: requesting one chunk after the other is fast.
 * Returns -CTR_E_INVAL if there is none, -CTR_E_NOMEM, or the error of reading it:
 * -CTR_E_IO, -CTR_E_CORRUPT and others.
 */
CTR_API int ctr_trace_chunk(const struct ctr_trace *tr, uint64_t i, struct ctr_chunk *out,
                            struct ctr_diag *diag);
/*
 * The next chunk, from number *i on, that has one of the flags (CTR_CHUNK_*); *i is then
 * the number after it, also after an error.  Faster than requesting each; from any
 * thread.  Returns 1, 0 if there is none, or an error as ctr_trace_chunk does.
 */
CTR_API int ctr_trace_chunk_with(const struct ctr_trace *tr, uint64_t *i, uint32_t flags,
                                 struct ctr_chunk *out, struct ctr_diag *diag);
/*
 * The chunk that holds an instruction of a thread; for the ordinal after its last
 * instruction, its last chunk.  From any thread.  Returns as ctr_trace_chunk;
 * -CTR_E_INVAL: no such instruction.
 */
CTR_API int ctr_trace_find(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal,
                           struct ctr_chunk *out, struct ctr_diag *diag);

/*
 * Hashes (64 bits, not cryptographic) of what chunk number i holds, from its header: what is
 * in it is not read.  Two chunks with the same hash hold the same, if the numbers in them
 * mean the same: equal `runs' are runs of blocks with the same ids, as far as in both traces
 * the same block has the same id up to last_block.  What is equal can have different hashes,
 * where another version of the recorder wrote or compressed it.
 */
struct ctr_chunk_hash {
    uint32_t last_block; /* highest block id in it */
    uint64_t runs;
    uint64_t accesses;  /* their addresses, and all that helpers made */
    uint64_t values;    /* of accesses */
    uint64_t registers; /* changes, and the state at the begin */
    uint64_t events;    /* between runs, with their times */
};
/* Files only; from any thread.  Returns as ctr_trace_chunk. */
CTR_API int ctr_trace_chunk_hash(struct ctr_trace *tr, uint64_t i,
                                 struct ctr_chunk_hash *out, struct ctr_diag *diag);

/* ------------------------------------------------------------------ blocks */

/* How a block's bytes are decoded; CTR_MODE_* of cannoli/events.h. */
enum ctr_mode {
    CTR_ISA_DEFAULT = 0,
    CTR_ISA_THUMB = 1, /* arm: T32 */
    CTR_ISA_X86_16 = 2,
    CTR_ISA_X86_32 = 3,
    CTR_ISA_X86_64 = 4,
    CTR_ISA_MIPS16 = 5,
    CTR_ISA_MICROMIPS = 6,
    CTR_ISA_PPC_LE = 7, /* little-endian, of a target that is not */
};

/*
 * What an instruction of a block can do, in program order: an access, or, after
 * its accesses, the change of a register.
 */
struct ctr_slot {
    uint16_t insn;      /* which instruction, from 0 */
    uint16_t group;     /* access: 0: always made; else conditional or repeated.
                           Register: number in the register table */
    uint8_t size;       /* bytes, 1..128 */
    uint8_t store;      /* 0 load, 1 store */
    uint8_t big_endian; /* byte order of the value in memory */
    uint8_t reg;        /* 1: a register */
    uint8_t novalue;    /* 1: an access whose value is not recorded */
    uint8_t derived;    /* 1: its address is not stored, it follows from the block */
    uint8_t mmu;        /* CTR_HAS_PHYS: QEMU's MMU index of the access, 0..15 */
};

/* What a jitter library attached to an instruction or to a block. */
struct ctr_tag {
    uint64_t tag;
    uint16_t insn;    /* CTR_TAG_BLOCK (0xffff): of the block */
    uint16_t library; /* its number, in the order of loading */
};

/* One translation of a piece of guest code. */
struct ctr_block {
    uint32_t id;    /* from 1 */
    uint16_t ninsn; /* 1..512 */
    uint16_t nslot;
    uint16_t ngroup;
    uint8_t mode;      /* enum ctr_mode */
    uint8_t privilege; /* CTR_PRIVILEGE_* of cannoli/events.h */
    uint8_t part;      /* 1: instructions were left out when it was recorded */
    uint32_t ntag;
    uint64_t pc;      /* of the first instruction */
    uint64_t cs_base; /* QEMU's, distinguish translations of one pc */
    uint64_t tb_flags;
    uint32_t cflags;
    const uint16_t *off;          /* [ninsn + 1]: where instruction i starts in code */
    const uint8_t *code;          /* off[ninsn] bytes */
    const uint64_t *pcs;          /* [ninsn], or NULL if the code is contiguous */
    const struct ctr_slot *slots; /* [nslot] */
    const struct ctr_tag *tags;   /* [ntag] */
};

static inline uint64_t ctr_block_pc(const struct ctr_block *b, unsigned i)
{
    return b->pcs ? b->pcs[i] : b->pc + b->off[i];
}

static inline unsigned ctr_block_len(const struct ctr_block *b, unsigned i)
{
    return (unsigned)(b->off[i + 1] - b->off[i]);
}

static inline const uint8_t *ctr_block_bytes(const struct ctr_block *b, unsigned i)
{
    return b->code + b->off[i];
}

/*
 * Definitions of a file are read when they are needed, and there can be very many.  What
 * an event, a run or a count points to is valid as long as that itself: during the
 * callback, or until the cursor moves.  To use it later (in `ordered', in `end'), keep
 * its id.  On a stream all are valid as long as the trace.
 */

/*
 * The definition of block id, from now on valid as long as the trace; NULL if there is
 * none or it cannot be read.  May read the file, and callbacks wait for each other here;
 * after ctr_trace_blocks, and on a stream, it does neither.
 */
CTR_API const struct ctr_block *ctr_trace_block(const struct ctr_trace *tr, uint32_t id);

/* Reads all definitions of a file; they all are valid as long as the trace, also those
 * that events point to.  Does nothing on a stream. */
CTR_API int ctr_trace_blocks(struct ctr_trace *tr, struct ctr_diag *diag);

/*
 * Calls fn for every definition, of a stream for those read so far, in order of their
 * numbers; b is valid during the call.  Stops and returns what fn returned when that is
 * not 0 (use positive values).  Takes little memory.
 */
CTR_API int ctr_trace_each_block(struct ctr_trace *tr,
                                 int (*fn)(void *arg, const struct ctr_block *b),
                                 void *arg, struct ctr_diag *diag);

/* ------------------------------------------------------------------ events */

#define CTR_EV_FAULTED                                                                   \
    0x1u /* the instruction raised a signal; what it did                                 \
            before is recorded, it may run again later */
#define CTR_EV_UNSURE                                                                    \
    0x8u /* the thread was ended here: of this block, and                                \
            after it, more may have run */

/* One instruction executed. */
struct ctr_exec {
    uint64_t ordinal;
    uint64_t pc;
    const uint8_t *bytes;
    uint8_t len;
    uint8_t mode;   /* enum ctr_mode */
    uint16_t flags; /* CTR_EV_* */
    uint16_t insn;  /* number in its block */
    const struct ctr_block *block;
    const struct ctr_thread *thread;
};

/* One access of a run of a block, see ctr_run.access. */
struct ctr_access {
    uint64_t addr;       /* of the first (lowest) byte */
    const uint8_t *data; /* as in ctr_mem */
    uint32_t size;       /* bytes; above 128 only with CTR_ACC_HELPER */
    uint16_t insn;       /* which instruction of the block made it */
    uint8_t store;       /* 0 load, 1 store */
    uint8_t flags;       /* CTR_ACC_* */
};
#define CTR_ACC_BE 0x1u      /* the value is big-endian */
#define CTR_ACC_HELPER 0x2u  /* made by a helper function of QEMU */
#define CTR_ACC_NOVALUE 0x4u /* no value of this access was to be recorded */
#define CTR_ACC_DERIVED 0x8u /* its address followed from the block, see ctr_slot */
#define CTR_ACC_MMU(flags) ((flags) >> 4) /* QEMU's MMU index, see ctr_slot */

/*
 * Where an access went in physical memory, of traces with CTR_HAS_PHYS.  One that
 * crosses into another page went to two places.
 */
struct ctr_phys {
    uint64_t addr;      /* of the first byte */
    uint64_t next;      /* of the first byte on the next page; 0: there is none */
    uint32_t size;      /* bytes on the first page */
    uint32_t next_size; /* and on the next: what is beyond that is not known */
    uint32_t flags;     /* CTR_PHYS_* of the first page; 0: it is not known, and addr and
                           next are undefined */
};
#define CTR_PHYS_KNOWN 0x1u
#define CTR_PHYS_DEVICE 0x2u /* registers of a device, or nothing: no memory */
#define CTR_PHYS_SECURE 0x4u /* arm: secure memory; x86: as SMM sees it */

/* One access made by the instruction with this ordinal. */
struct ctr_mem {
    uint64_t ordinal;
    uint64_t pc;
    uint64_t addr; /* of the first (lowest) byte */
    uint32_t size; /* bytes; above 128 only with helper */
    uint8_t store; /* 0 load, 1 store */
    uint8_t big_endian;
    uint8_t helper; /* made by a helper function of QEMU */
    uint16_t insn;
    const uint8_t *data; /* CTR_HAS_VAL: the `size' bytes loaded or stored, in memory
                            order.  NULL without it, or if no value of this access was
                            to be recorded */
    const struct ctr_phys *phys; /* NULL: not requested, or not in the trace */
    const struct ctr_block *block;
    const struct ctr_thread *thread;
};

/*
 * A register that changed: by the instruction with this ordinal, or, when
 * `outside' is 1, by the system after it (result of a system call, signal frame,
 * a debugger) or by instructions that were not recorded.  Only changes are reported: a
 * register that is written with the value it had is not.  The registers are gdb's,
 * under its names; see ctr_trace_reg.
 * When the instruction before a change from outside is not in the same chunk, pc
 * is 0 and block NULL; before a thread's first instruction the ordinal is 0, too.
 */
struct ctr_reg_change {
    uint64_t ordinal;
    uint64_t pc;          /* of that instruction, or 0 */
    uint32_t reg;         /* index in the table of ctr_trace_reg */
    uint32_t size;        /* bytes */
    const uint8_t *value; /* little-endian, valid during the call */
    uint8_t outside;
    uint16_t insn;
    const struct ctr_block *block; /* or NULL */
    const struct ctr_thread *thread;
};

/*
 * What the system did to a thread between two instructions, or an event of the recording
 * itself there (marks, gates, labels, selections).  type and payload are those of
 * enum ctr_event_type of cannoli/events.h; the parse functions below split
 * the payload.
 */
struct ctr_os_event {
    uint64_t ordinal; /* of the instruction that follows it: that many came before */
    uint64_t time_ns; /* 0 if not recorded */
    uint32_t type;
    uint32_t size; /* of the payload */
    const uint8_t *payload;
    const struct ctr_thread *thread;
};

/* A string of a payload: not ended by a NUL, any bytes. */
struct ctr_str {
    const char *p;
    size_t n;
};

struct ctr_syscall { /* CTR_EVENT_SYSCALL, CTR_EVENT_SYSRET */
    uint32_t nr;
    uint32_t flags; /* CTR_SYSCALL_* */
    int64_t result; /* negated errno from -4095 to -1 */
    uint64_t args[8];
    struct ctr_str name;
};
struct ctr_usermem { /* CTR_EVENT_USERMEM */
    uint64_t addr;
    uint64_t size;
    uint32_t flags; /* CTR_USERMEM_* */
    uint32_t n;     /* bytes that were kept */
    const uint8_t *data;
};
struct ctr_signal { /* CTR_EVENT_SIGNAL */
    uint32_t signo;
    int32_t code;
    int32_t pid;
    uint32_t uid;
    uint64_t addr;
    uint64_t value;
    uint64_t pc;
    uint64_t handler;
    uint32_t flags; /* CTR_SIGNAL_* */
};
struct ctr_map { /* CTR_EVENT_MAP */
    uint32_t op; /* CTR_MAP_* */
    uint32_t prot;
    uint32_t flags;
    uint64_t start;
    uint64_t size;
    uint64_t offset;
    uint64_t old_start;
    uint64_t old_size;
    uint64_t dev;
    uint64_t inode;
    struct ctr_str path;
    struct ctr_str build_id;
};
struct ctr_thread_event { /* CTR_EVENT_THREAD */
    uint32_t op;          /* CTR_THREAD_* */
    int32_t pid;
    int32_t tid;
    int32_t ppid;
    int32_t ptid;
    uint32_t reason;
    int32_t status;
    struct ctr_str name;
    /* START of the first thread of a process, EXEC: the program's arguments, a NUL after
     * each (the last one has none if it is cut); n 0: they are not recorded. */
    struct ctr_str args;
    uint32_t argc; /* how many there are; more than in args if these are cut */
};
struct ctr_mark {    /* CTR_EVENT_MARK */
    uint32_t source; /* CTR_MARK_* */
    uint32_t number;
    uint64_t asked_ns;
    uint64_t value;
    struct ctr_str text;
};
struct ctr_gate { /* CTR_EVENT_GATE */
    uint32_t open;
    uint32_t why; /* CTR_GATE_* */
};
struct ctr_label { /* CTR_EVENT_LABEL */
    uint32_t op;   /* CTR_LABEL_* */
    uint64_t start;
    uint64_t size;
    struct ctr_str type;
    struct ctr_str name;
};
struct ctr_select { /* CTR_EVENT_SELECT */
    uint32_t generation;
    struct ctr_str text;
};
struct ctr_interrupt { /* CTR_EVENT_INTERRUPT */
    uint32_t flags;    /* CTR_INT_* */
    uint32_t number;   /* as the machine calls it, see cannoli/events.h */
    uint64_t syndrome;
    uint64_t addr;
    uint64_t from;
    uint64_t to;
    uint32_t old_privilege; /* CTR_PRIVILEGE_* */
    uint32_t privilege;
};
struct ctr_intret { /* CTR_EVENT_INTRET */
    uint64_t pc;
    uint32_t old_privilege;
    uint32_t privilege;
};
struct ctr_context { /* CTR_EVENT_CONTEXT */
    uint64_t table;
    uint64_t asid;
    uint64_t id;
};
struct ctr_slice { /* CTR_EVENT_SLICE */
    uint64_t number;
};
struct ctr_power { /* CTR_EVENT_POWER */
    uint32_t op;   /* CTR_POWER_* */
};
/* Addresses are physical ones. */
struct ctr_ram {  /* CTR_EVENT_RAM */
    uint32_t op;  /* CTR_RAM_* */
    uint8_t fill; /* of BYTES, see data; of MAP: CTR_RAM_ROM, or 0 */
    uint64_t addr, size;
    uint64_t offset; /* of the first byte in the block */
    uint64_t from;
    struct ctr_str block;
    uint32_t n; /* bytes in `data', not more than size; those after them are `fill' */
    const uint8_t *data;
};
struct ctr_dma {     /* CTR_EVENT_DMA */
    uint32_t source; /* CTR_DMA_* */
    uint64_t addr, size;
    struct ctr_str device;
    uint32_t n; /* bytes in `data': size, or 0 if they were not recorded */
    const uint8_t *data;
};
struct ctr_io {     /* CTR_EVENT_IO */
    uint32_t flags; /* CTR_IO_* */
    uint32_t size;  /* 1 to 8 */
    uint64_t addr;
    uint64_t offset; /* of addr in the region */
    uint64_t value;
    struct ctr_str region, device;
};
struct ctr_task {  /* CTR_EVENT_TASK */
    uint32_t pid;  /* of the task; 0: the idle task of its vCPU */
    uint32_t tgid; /* of its process */
    uint64_t task; /* virtual address of its task_struct; 0: it is not known which */
    struct ctr_str comm;
};
struct ctr_area {   /* CTR_EVENT_AREA */
    uint32_t tgid;  /* of the process */
    uint32_t flags; /* CTR_AREA_* */
    uint64_t start, end;
    uint64_t offset;     /* of start, in the file */
    struct ctr_str path; /* in the guest */
};
struct ctr_keyframe { /* CTR_EVENT_KEYFRAME */
    uint64_t addr;    /* a multiple of n */
    uint32_t n;       /* bytes in `data', CTR_KEYFRAME_BYTES */
    const uint8_t *data;
};
struct ctr_input {       /* CTR_EVENT_INPUT */
    uint32_t what;       /* CTR_INPUT_* */
    uint32_t n;          /* numbers */
    const uint8_t *data; /* 8 bytes each, see ctr_input_number */
};

/* Each returns 0, or -CTR_E_INVAL for an event of another type.  Payloads of a
 * trace were checked when they were read; results point into the payload. */
CTR_API int ctr_parse_syscall(const struct ctr_os_event *e, struct ctr_syscall *out);
CTR_API int ctr_parse_usermem(const struct ctr_os_event *e, struct ctr_usermem *out);
CTR_API int ctr_parse_signal(const struct ctr_os_event *e, struct ctr_signal *out);
CTR_API int ctr_parse_sigreturn(const struct ctr_os_event *e, uint64_t *pc);
CTR_API int ctr_parse_map(const struct ctr_os_event *e, struct ctr_map *out);
CTR_API int ctr_parse_thread(const struct ctr_os_event *e, struct ctr_thread_event *out);
CTR_API int ctr_parse_mark(const struct ctr_os_event *e, struct ctr_mark *out);
CTR_API int ctr_parse_gate(const struct ctr_os_event *e, struct ctr_gate *out);
CTR_API int ctr_parse_label(const struct ctr_os_event *e, struct ctr_label *out);
CTR_API int ctr_parse_select(const struct ctr_os_event *e, struct ctr_select *out);
CTR_API int ctr_parse_interrupt(const struct ctr_os_event *e, struct ctr_interrupt *out);
CTR_API int ctr_parse_intret(const struct ctr_os_event *e, struct ctr_intret *out);
CTR_API int ctr_parse_context(const struct ctr_os_event *e, struct ctr_context *out);
CTR_API int ctr_parse_slice(const struct ctr_os_event *e, struct ctr_slice *out);
CTR_API int ctr_parse_power(const struct ctr_os_event *e, struct ctr_power *out);
CTR_API int ctr_parse_ram(const struct ctr_os_event *e, struct ctr_ram *out);
CTR_API int ctr_parse_dma(const struct ctr_os_event *e, struct ctr_dma *out);
CTR_API int ctr_parse_io(const struct ctr_os_event *e, struct ctr_io *out);
CTR_API int ctr_parse_task(const struct ctr_os_event *e, struct ctr_task *out);
CTR_API int ctr_parse_area(const struct ctr_os_event *e, struct ctr_area *out);
CTR_API int ctr_parse_keyframe(const struct ctr_os_event *e, struct ctr_keyframe *out);
CTR_API int ctr_parse_input(const struct ctr_os_event *e, struct ctr_input *out);
/* Number i of an event INPUT, i < n. */
CTR_API uint64_t ctr_input_number(const struct ctr_input *in, uint32_t i);

/* What an event says of where the run before it went, if that executed the last
 * instruction of its block. */
enum ctr_next {
    CTR_NEXT_LATER = 0,   /* nothing: what follows does */
    CTR_NEXT_PC = 1,      /* to *pc */
    CTR_NEXT_UNKNOWN = 2, /* it is not known */
};
CTR_API enum ctr_next ctr_event_next(const struct ctr_os_event *e, uint64_t *pc);

/* One run of a block: instructions first..end-1 of it were executed. */
struct ctr_run {
    uint64_t ordinal; /* of instruction `first' */
    const struct ctr_block *block;
    uint16_t first; /* not 0: the run began in an earlier chunk, or is
                       cut by the filter */
    uint16_t end;   /* ninsn, or less if it was left early */
    uint16_t flags; /* CTR_EV_* , of the last instruction */
    const struct ctr_thread *thread;
    /* With ctr_replay_opts.run_accesses: accesses that these instructions made, and of a
     * run that continues in this chunk (first not 0) the rest of those of the instruction
     * before `first', which was counted with the run's begin. */
    uint32_t loads;
    uint32_t stores;
    /* With CTR_RUN_ACCESSES and above these accesses, in the order in which they were
     * made; otherwise 0 and undefined. */
    uint32_t naccess;
    const struct ctr_access *access;
    const struct ctr_phys *phys; /* of each access; NULL as in ctr_mem */
};

/* --------------------------------------------------------------- registers */

/* A register as it is shown: the name and size that gdb gives it. */
struct ctr_reg {
    uint32_t index;
    uint32_t size;  /* bytes */
    uint32_t flags; /* CTR_REG_VECTOR, CTR_REG_SPECIAL */
    const char *name;
};
/* Register i of the trace, or NULL if there is none (or none are recorded). */
CTR_API const struct ctr_reg *ctr_trace_reg(const struct ctr_trace *tr, uint32_t i);

/*
 * The registers of a thread just before it executed the instruction `ordinal'
 * (which may be the one after its last): value of register i at
 * values + i * 256, little-endian, its size as in the table.  *pc: of that
 * instruction, 0 if there is none.  *time_ns: the last time known before it.
 * values may be NULL.  Files only.  Returns -CTR_E_INVAL if there is no such place or no registers
 * were recorded (then *pc and *time_ns are filled in all the same).
 */
#define CTR_REG_STRIDE 256u
CTR_API int ctr_state_at(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal,
                         uint8_t *values, uint64_t *pc, uint64_t *time_ns,
                         struct ctr_diag *diag);
/*
 * The same for n ordinals of a thread, ascending (equal ones are allowed), much faster than
 * one by one: each chunk is decoded once.  Calls fn for each, also if no registers were
 * recorded; s is valid during the call.  Stops and returns what fn returned when that is
 * not 0 (use positive values).
 */
struct ctr_state_point {
    const uint8_t *values; /* NULL: not recorded */
    uint64_t pc;           /* 0: there is no such instruction */
    uint64_t time_ns;
};
CTR_API int ctr_states(struct ctr_trace *tr, uint32_t thread, const uint64_t *ordinals,
                       size_t n,
                       int (*fn)(void *arg, size_t i, const struct ctr_state_point *s),
                       void *arg, struct ctr_diag *diag);

/* ---------------------------------------------------------------- mappings */

#define CTR_MAPPING_KEPT 0u    /* what it held before: the mapping was changed or cut */
#define CTR_MAPPING_NEW 1u     /* zeros, or what its file has there */
#define CTR_MAPPING_MOVED 2u   /* what another range held: mremap */
#define CTR_MAPPING_INITIAL 3u /* what the process began with */

/* A range of a process's address space, from time from_ns on, before to_ns. */
struct ctr_mapping {
    uint64_t start;
    uint64_t end;    /* exclusive */
    uint64_t offset; /* of start in the file */
    uint32_t prot;   /* 1 read, 2 write, 4 execute */
    uint32_t process;
    uint64_t from_ns;
    uint64_t to_ns; /* UINT64_MAX: until the process ended */
    uint64_t dev;
    uint64_t inode;
    uint64_t base;    /* of the module: where offset 0 of the file is mapped, or start */
    const char *path; /* "" anonymous */
    uint8_t shared;   /* 1: what one process writes, others see */
    uint8_t began;    /* CTR_MAPPING_*: what its memory held at from_ns */
    /* Of the file; events have it at offset 0 only, other mappings have that one's. */
    const uint8_t *build_id;
    uint32_t build_id_bytes;
};

/*
 * Files that programs mapped whose bytes are in the trace (cannoli-record --embed), as they
 * were when the recorder read them.  Files with equal contents have one number, and their
 * bytes are there once.  Files only: a stream has none.
 */
struct ctr_file {
    const char *path; /* dev, inode: as in struct ctr_mapping */
    uint64_t dev, inode;
    uint64_t size;    /* of the file */
    uint64_t bytes;   /* of it that are in the trace */
    uint32_t number;  /* of its contents */
    uint32_t changed; /* 1: it was changed while the program ran, after it was read or
                         before; what it held when it was mapped is not known */
    uint32_t
        checked; /* 1: the recorder looked at the end whether it was changed; 0: it was
                         killed before, or could not write what it found, and a file that
                         is not marked may have been changed, too */
};
struct ctr_files;
/*
 * Loads the list.  Where the file is damaged it ends, without an error, and
 * ctr_files_damage returns a negated enum ctr_error (0: it is whole).  The trace must not be
 * closed before ctr_files_free.  Once loaded, any number of threads may use it.  Returns
 * -CTR_E_INVAL on a stream, -CTR_E_IO, -CTR_E_NOMEM.
 */
CTR_API int ctr_files_load(struct ctr_files **out, struct ctr_trace *tr,
                           struct ctr_diag *diag);
/* NULL is allowed. */
CTR_API void ctr_files_free(struct ctr_files *files);
CTR_API int ctr_files_damage(const struct ctr_files *files, struct ctr_diag *diag);
/* Bytes of the trace that all of them take. */
CTR_API uint64_t ctr_files_stored(const struct ctr_files *files);
/* File i, in the order of the trace, or NULL; valid until ctr_files_free. */
CTR_API const struct ctr_file *ctr_files_get(const struct ctr_files *files, uint32_t i);
/* The file of a mapping, or NULL. */
CTR_API const struct ctr_file *ctr_files_find(const struct ctr_files *files,
                                              const char *path, uint64_t dev,
                                              uint64_t inode);
/*
 * The first bytes at *off or after it that are in the trace: *off becomes the place of the
 * first one in the file, *n, which says how many out has room for, their number; 0: there
 * are no more.  They may be fewer than there are: the next call has the others.  Returns 0,
 * -CTR_E_CORRUPT, -CTR_E_IO, -CTR_E_NOMEM.
 */
CTR_API int ctr_files_read(const struct ctr_files *files, const struct ctr_file *file,
                           uint64_t *off, void *out, size_t *n, struct ctr_diag *diag);

/*
 * The history of all address spaces, made from the map events of the trace
 * (files only; without CTR_HAS_MAP it is empty).  Read-only once made: any number
 * of threads may query it.  Where a file is damaged the history ends, without an
 * error: see ctr_maps_damage.  A time before a process's first map event counts as the
 * time of that event.
 * Returns -CTR_E_INVAL on a stream, -CTR_E_LIMIT for more than some millions of
 * events or mappings, or a million of these at once, -CTR_E_IO, -CTR_E_NOMEM.
 */
struct ctr_maps;
CTR_API int ctr_maps_load(struct ctr_maps **out, struct ctr_trace *tr,
                          struct ctr_diag *diag);
/*
 * The same, only for what happened before a time (0: all of it), and with flags: chunks
 * begun later are not read.  CTR_MAPS_CODE: only mappings that code may be in: executable
 * mappings, and writable mappings of files.  It is as if
 * nothing else had been mapped, and ctr_maps_time skips changes that make no difference
 * to ctr_maps_find.  So a program that maps and unmaps files and memory all the time has
 * a short history.  -CTR_E_INVAL: other flags.
 */
#define CTR_MAPS_CODE 0x1u
CTR_API int ctr_maps_load_to(struct ctr_maps **out, struct ctr_trace *tr, uint64_t to_ns,
                             unsigned flags, struct ctr_diag *diag);
CTR_API void ctr_maps_free(struct ctr_maps *maps);

/*
 * Damaged events end a history, and are no error of loading it.  Returns 0 if there were
 * none, or a negated enum ctr_error and where they are: then all results for the time
 * *from_ns and later may be wrong, since changes may be missing.
 */
CTR_API int ctr_maps_damage(const struct ctr_maps *maps, uint64_t *from_ns,
                            struct ctr_diag *diag);
/*
 * The time to pass for an instruction of a chunk: that of the last change that its
 * thread made to the mappings before it, or of the chunk's begin if that is later.
 * *until: the ordinal of the thread from which on the time is another one.
 */
CTR_API uint64_t ctr_maps_time(const struct ctr_maps *maps, const struct ctr_chunk *chunk,
                               uint64_t ordinal, uint64_t *until);
/*
 * What is mapped at addr in a process at a time: returns 1 and fills in out, which may be
 * NULL, or returns 0.  Its path and build_id are valid until ctr_maps_free.
 */
CTR_API int ctr_maps_find(const struct ctr_maps *maps, uint32_t process, uint64_t time_ns,
                          uint64_t addr, struct ctr_mapping *out);
/*
 * The mappings of a process at a time, ascending: calls fn for each; stops and
 * returns what fn returned when that is not 0.  Neighbours that /proc/PID/maps would
 * show as one are one; m is valid during the call.
 */
CTR_API int ctr_maps_each(const struct ctr_maps *maps, uint32_t process, uint64_t time_ns,
                          int (*fn)(void *arg, const struct ctr_mapping *m), void *arg);
/*
 * All mappings that a process ever had, by start, those with the same start by from_ns:
 * ctr_maps_find finds a mapping at an address and a time exactly when one of these holds
 * both (a time before the first moment counts as that).  Neighbours of the same time that
 * began alike, and that /proc/PID/maps would show as one, are one; any change (of its range,
 * too) ends a mapping and begins others.  Calls and returns as ctr_maps_each; -CTR_E_NOMEM.
 */
CTR_API int ctr_maps_history(const struct ctr_maps *maps, uint32_t process,
                             int (*fn)(void *arg, const struct ctr_mapping *m),
                             void *arg);

/* ------------------------------------------------------------------ filter */

struct ctr_range {
    uint64_t from;
    uint64_t to;      /* exclusive; UINT64_MAX: includes the last byte */
    uint32_t process; /* 0: of every process; else only of process number process - 1 */
};

#define CTR_KIND_EXEC 0x1u
#define CTR_KIND_LOAD 0x2u
#define CTR_KIND_STORE 0x4u
#define CTR_KIND_REG 0x8u
#define CTR_KIND_SYS 0x10u /* system calls with their memory, signals */
#define CTR_KIND_MAP 0x20u
#define CTR_KIND_THR 0x40u
#define CTR_KIND_MARK 0x80u   /* marks, labels, gates */
#define CTR_KIND_INT 0x100u   /* exceptions and interrupts, returns from them */
#define CTR_KIND_CTX 0x200u   /* address spaces */
#define CTR_KIND_ORDER 0x400u /* slices: when which thread ran */
#define CTR_KIND_PWR 0x800u   /* vCPUs that wait, are off, were reset */
#define CTR_KIND_RAM 0x1000u  /* where a machine has RAM, and what it holds at first */
#define CTR_KIND_DMA 0x2000u  /* what wrote to RAM other than by accesses */
#define CTR_KIND_IO 0x4000u   /* accesses to devices */
#define CTR_KIND_TASK 0x8000u /* which task a vCPU runs, what processes have mapped */
#define CTR_KIND_ALL 0xffffu
/* Key frames: not events of the program, and therefore not among all. */
#define CTR_KIND_KEYFRAME 0x10000u
/* Clocks, and what else a second execution needs: not among all, either. */
#define CTR_KIND_INPUT 0x20000u
/* All kinds of events between instructions. */
#define CTR_KIND_BETWEEN                                                                 \
    (CTR_KIND_SYS | CTR_KIND_MAP | CTR_KIND_THR | CTR_KIND_MARK | CTR_KIND_INT |         \
     CTR_KIND_CTX | CTR_KIND_ORDER | CTR_KIND_PWR | CTR_KIND_RAM | CTR_KIND_DMA |        \
     CTR_KIND_IO | CTR_KIND_TASK | CTR_KIND_KEYFRAME | CTR_KIND_INPUT)

/*
 * Which events are wanted.  All zero (CTR_FILTER_INIT) means all of them.
 * An event must satisfy every part that is given; within a list any entry.
 *   pid, tid     a thread is selected if its pid is in pids (or npid is 0) and
 *                its tid is in tids (or ntid is 0)
 *   processes, threads   the same by indexes of the tables, which are unique: pids and
 *                tids are used again, also after execve
 *   from, to     ordinals, within each selected thread; to == 0: no end
 *   from_ns, to_ns   times (of the trace, see ctr_info.start_ns); to_ns == 0: no end.  An
 *                event of the system counts by its own time, all else by the last time
 *                known before it: that of the event before it in its chunk (of whatever
 *                kind is recorded), or at which the chunk was begun.  A thread that makes
 *                no system calls has times at the begins of its chunks only
 *   from_thread, to_thread   not 0: `from' is an ordinal of thread number from_thread - 1
 *                only, and from_ns counts in the other threads only, so that both name
 *                one moment; the same of `to' (where 0 is no exception then) and to_ns
 *   pcs          pc of the instruction, also for its accesses
 *   addrs, phys  accesses that touch at least one byte of a range, of virtual or of
 *                physical addresses.  With any given, exec events and register changes come only for
 *                instructions that have such an access
 *   privileges   of the code, of machines: a mask of 1 << CTR_PRIVILEGE_*; 0: any
 *   task         says whether a task of a machine's Linux is selected, by the last TASK
 *                event (task.task is 0 where it is not known which one runs); a TASK event is
 *                selected if what it ends or what it begins is
 *   context      the same of an address space, by the last CONTEXT event (all 0 before it).
 *                Both get arg; they are called by any worker, and must say the same of the
 *                same task or address space each time
 *   kinds        CTR_KIND_*; 0 is CTR_KIND_ALL
 * With pcs, addrs or phys given all events between instructions are left out, with the
 * last two also register changes from outside.
 * Chunks that cannot match are not read when there is an index.
 * run callbacks know only threads, from, to, times, privileges, task and context.
 */
struct ctr_filter {
    uint64_t from;
    uint64_t to;
    uint32_t kinds;
    uint32_t npid;
    uint32_t ntid;
    uint32_t npc;
    uint32_t naddr;
    uint32_t privileges;
    const int32_t *pids;
    const int32_t *tids;
    const struct ctr_range *pcs;
    const struct ctr_range *addrs;
    uint64_t from_ns;
    uint64_t to_ns;
    uint32_t from_thread;
    uint32_t to_thread;
    uint32_t nprocess;
    uint32_t nthread;
    const uint32_t *processes;
    const uint32_t *threads;
    uint32_t nphys;
    const struct ctr_range *phys; /* of CTR_HAS_PHYS; else nothing matches */
    int (*task)(void *arg, const struct ctr_task *task);
    int (*context)(void *arg, const struct ctr_context *context);
    void *arg;
    uint32_t most; /* ctr_search only: chunks that are decoded, 0: any number */
    /* ctr_search only, may be NULL: called with arg for each chunk that may be searched, by
     * one worker at a time, from any thread.  Nonzero: the search ends there. */
    int (*stop)(void *arg);
};
#define CTR_FILTER_INIT {0}

/* ------------------------------------------------------------------ replay */

/*
 * The work on one piece of one chunk.  Callbacks use it to append output and
 * to find their chunk, thread and worker.
 */
struct ctr_job;

/* Which worker runs this, 0..workers-1; one callback at a time each. */
CTR_API unsigned ctr_job_worker(const struct ctr_job *job);
CTR_API const struct ctr_chunk *ctr_job_chunk(const struct ctr_job *job);
CTR_API const struct ctr_thread *ctr_job_thread(const struct ctr_job *job);

/*
 * In a callback, with ctr_replay_opts.tasks: the task that runs there. Returns 1, or 0 if
 * it is not known. out->comm is valid during the callback.
 */
CTR_API int ctr_job_task(const struct ctr_job *job, struct ctr_task *out);

/*
 * Room for n more bytes of output, or NULL (no memory; the replay then ends
 * with -CTR_E_NOMEM).  ctr_job_commit reports how many of them are used.
 * A piece may start a new output buffer only between events, so that what one
 * callback commits is never split.
 */
CTR_API void *ctr_job_reserve(struct ctr_job *job, size_t n);
CTR_API void ctr_job_commit(struct ctr_job *job, size_t n);
/* Returns 0 or -CTR_E_NOMEM. */
CTR_API int ctr_job_append(struct ctr_job *job, const void *data, size_t n);

struct ctr_progress {
    uint64_t chunks_done;
    uint64_t chunks;     /* that will be read; 0 on a stream */
    uint64_t insns_done; /* in the chunks done */
    uint64_t insns;      /* 0 on a stream */
    uint64_t bytes_done;
    uint64_t bytes; /* 0 on a stream */
};

/*
 * Callbacks; any may be NULL, and what no callback needs is not decoded.  A
 * callback that returns nonzero stops the replay, which then returns that
 * value (use positive ones to distinguish them from errors).
 *
 * begin, exec, mem, run, end run on worker threads, in parallel for different
 * pieces, in order within one piece: begin, then for each run of a block its
 * run callback, then for each of its instructions exec, then its accesses in the
 * order in which they were made, then the registers it changed; os events come
 * between runs, where they happened, and after those of one place the changes of
 * registers from outside; end.  begin and end come for each chunk that is read.
 *
 * ordered gets what the callbacks appended, strictly in recorded order: one
 * call at a time, but from any thread.  A piece with much output may be passed
 * in several calls; a piece without output is not passed.  `data' is valid
 * during the call.
 *
 * progress is called from time to time (about every 100 ms at most), one call at a time.
 */
struct ctr_replay_ops {
    int (*begin)(void *arg, struct ctr_job *job);
    int (*exec)(void *arg, struct ctr_job *job, const struct ctr_exec *e);
    int (*mem)(void *arg, struct ctr_job *job, const struct ctr_mem *m);
    int (*run)(void *arg, struct ctr_job *job, const struct ctr_run *r);
    int (*reg)(void *arg, struct ctr_job *job, const struct ctr_reg_change *r);
    int (*os)(void *arg, struct ctr_job *job, const struct ctr_os_event *e);
    int (*end)(void *arg, struct ctr_job *job);
    int (*ordered)(void *arg, const struct ctr_job *job, const void *data, size_t n);
    int (*progress)(void *arg, const struct ctr_progress *p);
};

#define CTR_RUN_COUNTS 1u   /* loads and stores; no address is decoded for it */
#define CTR_RUN_ACCESSES 2u /* and all accesses, their data perhaps NULL */
#define CTR_RUN_VALUES 3u   /* and their data, with CTR_HAS_VAL */

struct ctr_replay_opts {
    unsigned workers; /* 0: as many as there are processors */
    /*
     * Not 0: a piece is at most about this many instructions of a chunk instead
     * of a whole one.  For callbacks that are slow or have much output (text):
     * first results come sooner and all workers share one chunk.  Each
     * worker decodes the chunk.  The order of all output is unchanged.
     */
    uint32_t piece_insns;
    const struct ctr_filter *filter; /* NULL: everything */
    /* What run callbacks get of accesses (of a trace without CTR_HAS_MEM none), CTR_RUN_*.
     * This way an analysis that needs no more than that is called once for each run of a
     * block, and not for each access. */
    uint8_t run_accesses;
    /*
     * 1: where threads ran one at a time (CTR_HAS_ORDER; files), output is in the order
     * in which they ran, not in that of chunks. Chunks that overlap in time are then
     * pieces together, whatever piece_insns is, and begin and end come for each slice of
     * them: what a thread did from one SLICE event to the next.
     */
    uint8_t slices;
    uint8_t phys;  /* 1: accesses come with physical addresses (CTR_HAS_PHYS) */
    uint8_t tasks; /* 1: for ctr_job_task */
    /* Not NULL: for each register of the trace 1 if reg callbacks are wanted for it, or 0.
     * Some are computed from others at each instruction; what is not wanted costs less. */
    const uint8_t *registers;
};

/*
 * Replays the trace, or the part that opts->filter selects.  On a file it may
 * be called again and again; a stream is consumed.  opts may be NULL.
 *
 * Chunks are replayed in recorded order: of a file in order of (start_ns, index), but
 * those of a thread always as they follow each other.  At most a few are in memory
 * at a time, and output beyond some MiB of a piece that is not the next in order
 * waits.  On a stream each chunk is replayed when it has arrived.
 *
 * Errors in the data are reported in order: everything recorded before the damaged
 * chunk is delivered first, then the call fails (-CTR_E_CORRUPT, ...).
 * A stream or file that merely ends early is no error here: see
 * ctr_trace_info().state afterwards.
 */
CTR_API int ctr_replay(struct ctr_trace *tr, const struct ctr_replay_ops *ops, void *arg,
                       const struct ctr_replay_opts *opts, struct ctr_diag *diag);

/* ------------------------------------------------------------------ cursor */

struct ctr_cursor;

enum ctr_cursor_kind {
    CTR_CURSOR_EXEC = 1,
    CTR_CURSOR_MEM = 2,
    CTR_CURSOR_REG = 3,
    CTR_CURSOR_OS = 4,
};

struct ctr_event {
    enum ctr_cursor_kind kind;
    struct ctr_exec exec; /* the instruction; with its accesses and registers, too */
    struct ctr_mem mem;   /* by kind: */
    struct ctr_reg_change reg;
    struct ctr_os_event os;
};

/*
 * A cursor is before the first event that the filter (may be NULL, is
 * copied) selects.  Accesses come with physical addresses if the trace has them.  On a stream it can only go forward, and nothing else may
 * read the trace.
 */
CTR_API int ctr_cursor_open(struct ctr_cursor **out, struct ctr_trace *tr,
                            const struct ctr_filter *filter, struct ctr_diag *diag);
CTR_API void ctr_cursor_close(struct ctr_cursor *c);

/* Returns 1 and the next event, 0 at the end, or a negated error. */
CTR_API int ctr_cursor_next(struct ctr_cursor *c, struct ctr_event *ev,
                            struct ctr_diag *diag);

/*
 * Go before the first selected event of: the instruction `ordinal' of a
 * thread (index in the thread table); the first chunk of a thread; the first
 * chunk, in recorded order, that had not ended at time ns (with CTR_HAS_ORDER: of any
 * thread, since that chunk began).  What the system did right before an instruction
 * belongs to it here.  Afterwards the cursor continues in recorded order through all
 * selected threads.
 * Returns -CTR_E_INVAL on a stream or if there is no such place.
 */
CTR_API int ctr_cursor_seek_ordinal(struct ctr_cursor *c, uint32_t thread,
                                    uint64_t ordinal, struct ctr_diag *diag);
CTR_API int ctr_cursor_seek_thread(struct ctr_cursor *c, uint32_t thread,
                                   struct ctr_diag *diag);
CTR_API int ctr_cursor_seek_time(struct ctr_cursor *c, uint64_t ns,
                                 struct ctr_diag *diag);

/* ------------------------------------------------------------------ search */

/* What was found: an access, memory that the system used for a call or signal, or an
 * instruction. */
struct ctr_found {
    const struct ctr_thread *thread;
    uint64_t ordinal; /* of its instruction; of the system's: of the one that follows */
    uint64_t pc;      /* 0 of the system's */
    uint64_t addr;    /* of an instruction: its pc */
    uint64_t size;    /* bytes */
    uint64_t chunk;   /* its number */
    /* Ordinals around it, of its thread, in its chunk: nothing of another selected thread
     * is between them in the order of threads. */
    uint64_t from, to;
    uint32_t kind;    /* CTR_KIND_LOAD, _STORE or _EXEC */
    uint8_t system;   /* 1: the system's */
    uint64_t time_ns; /* its time in the order of threads; 0 if only the thread of the
                         place was selected */
};

#define CTR_SEARCH_BACK 0x1u   /* the last one before the place, not the first after it */
#define CTR_SEARCH_POINT 0x2u  /* the place is the point before the instruction */
#define CTR_SEARCH_SYSTEM 0x4u /* and before what the system did right before it */
#define CTR_SEARCH_FOUND 0x8u  /* the place is what *out is, which a search has found */

/*
 * Finds the event that is closest to the instruction `ordinal' of a thread (index in the
 * thread table): backward or forward from it, through all threads that the filter selects.
 * Only events strictly before or after the instruction count; with CTR_SEARCH_POINT or
 * _SYSTEM the instruction counts as after the place, with CTR_SEARCH_SYSTEM also what the
 * system did right before it.  With any of these flags the ordinal may be the one after the
 * thread's last.
 *
 * Threads that ran one at a time (CTR_HAS_ORDER) are in the order in which they ran.  Other
 * threads are merged by time: an event has the last time that its thread had at or before
 * it in its chunk (ctr_os_event.time_ns), or else the time at which the chunk was begun;
 * memory that the system wrote has the next time before the same instruction, which is that
 * of its call's end.  Of events with the same time those of the thread with the lower index
 * come first.  This order of all events is the same forward and backward and for any filter
 * with more than one thread.  It is that of the program where threads wait for each other
 * by system calls and these have times (CTR_HAS_TIME).  Else events of two threads may be
 * in another order than they were, while a chunk of each lasted: cursors and replays of
 * such traces give chunk after chunk.
 *
 * With CTR_SEARCH_FOUND, *out is what a search with the same threads has found, and thread
 * and ordinal are ignored.  Then repeated searches find each instruction, and what the
 * system did at one place and time, once, and backward what they find forward.
 * Searches from places may leave out, or find twice, what other threads did between two
 * times of a thread that are at one of its instructions.
 *
 * The filter must have addrs (or phys); of its kinds CTR_KIND_LOAD, _STORE and _SYS (memory
 * that the system read or wrote, with _LOAD or _STORE) count.  Or it has pcs only, and of
 * its kinds _EXEC counts: the execution of an instruction there.  Chunks that cannot match are
 * not read if there is an index, and none beyond the one that matches.
 * workers: as in struct ctr_replay_opts.
 *
 * Returns 1 and *out, 0 if there is none, -CTR_E_LIMIT if there is none in the first
 * filter->most chunks that may have one, or before filter->stop ended the search,
 * -CTR_E_INVAL on a stream or if there is no such place, or another error.
 */
CTR_API int ctr_search(struct ctr_trace *tr, const struct ctr_filter *filter,
                       uint32_t thread, uint64_t ordinal, unsigned flags,
                       unsigned workers, struct ctr_found *out, struct ctr_diag *diag);

/*
 * The last key frame that a thread made of the page of an address, before the instruction
 * `ordinal' or right before it; by the index, and without decoding anything else.
 */
struct ctr_key_page {
    uint64_t ordinal; /* of the instruction that follows it */
    uint64_t addr;    /* of its first byte: all of the page */
    uint32_t n;       /* bytes */
    uint8_t data[4096];
};

/* Returns 1 and *out, 0 if there is none (or no index), or an error. */
CTR_API int ctr_key_page_find(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal,
                              uint64_t addr, struct ctr_key_page *out,
                              struct ctr_diag *diag);

/* ----------------------------------------------------------------- moments */

/* A point in the run of a program. */
struct ctr_moment {
    uint32_t thread;       /* index in the thread table */
    uint64_t ordinal;      /* before this instruction; may be the one after the last */
    uint64_t time_ns;      /* of the trace: the last time known before it */
    uint8_t before_system; /* 1: and before what the system did right before that
                              instruction */
};

/*
 * The moment before an instruction of a thread, or after its last one; with its time.
 * Decodes the chunk up to there.  -CTR_E_INVAL: no such place.  Files only, as are the
 * functions below.
 */
CTR_API int ctr_moment_at(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal,
                          struct ctr_moment *out, struct ctr_diag *diag);
/* The moment before a thread's first instruction that is not known to be from before a
 * time; after its last one if there is none.  See struct ctr_filter for what times are
 * known. */
CTR_API int ctr_moment_time(struct ctr_trace *tr, uint32_t thread, uint64_t time_ns,
                            struct ctr_moment *out, struct ctr_diag *diag);
/*
 * The moment, in the thread that made it, of the fork that made a process: 1 and *out; 0:
 * it was not made so, or by none that is recorded; or a negated enum ctr_error.  It is
 * exact if system calls were recorded, else as good as the times known.  Where the begin of the
 * thread that made it was dropped: 0, unless the call is there.
 */
CTR_API int ctr_moment_fork(struct ctr_trace *tr, uint32_t process,
                            struct ctr_moment *out, struct ctr_diag *diag);

/* Whether a system call is one that makes a thread or a process: 1 or 0. */
CTR_API int ctr_syscall_forks(const struct ctr_syscall *s);
/* Whether a process has one thread only in the trace: 1 or 0. */
CTR_API int ctr_process_single(const struct ctr_trace *tr, uint32_t process);

/* ------------------------------------------------------------------ memory */

/*
 * The memory of a process at a moment, as far as the trace shows it.  A byte is known
 *
 *   - if the last access to it before the moment has a value: a load, a store, or what
 *     the system read or wrote (a fork inherits its parent's memory), or a key frame;
 *   - else if the first access after it is a load with a value;
 *   - else if it was not written before and its mapping is of a file whose contents are
 *     provided (struct ctr_memory_files), or is memory that begins as zeros; of a recording
 *     of a part, only of a segment that the program cannot write.
 *
 * Only accesses to the same contents count: not those before memory was mapped, or after it
 * was unmapped; those at the address that it was moved from do.
 *
 * Of a machine these are accesses at virtual addresses: what devices write, and what is
 * written at another address of the same page, does not count.  Of an address that is not
 * the kernel's (as Linux divides them) only accesses in the moment's address space do.  A
 * snapshot that was loaded replaces all of memory.
 *
 * Accesses of several threads are in recorded order.  The trace must have values (CTR_HAS_VAL)
 * for the first two.
 *
 * Files only.  A struct ctr_memory is used by one thread at a time; any number of threads may
 * read the same trace, each with one of its own.  It takes some 64 MiB at most for what was read,
 * and a history of mappings unless the caller provides it; reading takes what ctr_search and
 * ctr_replay take.  How much of the file is read depends on how far away the accesses and key
 * frames are that decide the bytes, not on the file's size; opening without `maps' reads all
 * chunks that have map events.
 */
struct ctr_memory;

/* ctr_memory_files.bytes: the program cannot write there, ... */
#define CTR_MEMORY_CONSTANT 0x1u
/* ... or the file has nothing there, which the system has made zeros. */
#define CTR_MEMORY_CLEARED 0x2u

/* Where the contents of mapped files come from. */
struct ctr_memory_files {
    /*
     * The bytes of the file that is mapped at addr in a process (index): returns them, in *n
     * how many there are from there on (1 or more), valid until the next call; NULL: not
     * known.  *flags, 0 at first: CTR_MEMORY_CONSTANT, of all of these bytes;
     * CTR_MEMORY_CLEARED, with NULL, of *n bytes (0, as at first: of one).
     * mapping: the one at addr; NULL if mappings are not known: then of the file whose code
     * is there.  The functions of the trace may be called.
     */
    const uint8_t *(*bytes)(void *arg, const struct ctr_trace *tr, uint32_t process,
                            uint64_t addr, const struct ctr_mapping *mapping, size_t *n,
                            unsigned *flags);
    void *arg;
};

struct ctr_memory_opts {
    const struct ctr_memory_files *files; /* copied; NULL: no contents of files */
    /* The whole history of mappings (ctr_maps_load), for any number of readers, which must
     * be freed after them; NULL: it is loaded. */
    const struct ctr_maps *maps;
    unsigned workers; /* of a search; 0: as many as there are processors */
    uint32_t most;    /* see ctr_memory_limit */
};

/* opts may be NULL.  Returns -CTR_E_INVAL on a stream or if there is no such thread. */
CTR_API int ctr_memory_open(struct ctr_memory **out, struct ctr_trace *tr,
                            const struct ctr_moment *at,
                            const struct ctr_memory_opts *opts, struct ctr_diag *diag);
/* Goes on to another moment, of any thread: what was read is forgotten, but not what is
 * known of mappings and forks, so that this is cheaper than ctr_memory_open; near moments of
 * a process with one thread keep what was read, too.  -CTR_E_INVAL: no such thread; nothing is
 * changed. */
CTR_API int ctr_memory_move(struct ctr_memory *m, const struct ctr_moment *at);
/* Chunks that are decoded at most for one search (0, at first: any number).  What is not found
 * in them is not known. */
CTR_API void ctr_memory_limit(struct ctr_memory *m, uint32_t chunks);
/* NULL is allowed. */
CTR_API void ctr_memory_close(struct ctr_memory *m);

#define CTR_MEMORY_TEXT 0x1u /* ctr_memory_read */

/*
 * Reads n bytes at addr, in the order of memory: known[i] is 1 if out[i] is right, else
 * 0 and out[i] is 0.  CTR_MEMORY_TEXT: only up to the first NUL or byte that is not known; it
 * costs less, and nothing after it is known.  What was read once is kept.  Returns
 * -CTR_E_INVAL if the range ends beyond the last address, or an error of reading the file;
 * then out and known are undefined.
 */
CTR_API int ctr_memory_read(struct ctr_memory *m, uint64_t addr, uint8_t *out,
                            uint8_t *known, size_t n, unsigned flags,
                            struct ctr_diag *diag);

/* ------------------------------------------------------ index, without events */

/*
 * How often the blocks ran.  `full' counts runs of all instructions.  Runs of
 * only a part (left early, or cut between two chunks) are reported by a call of their
 * own with first and end, full == 0 and partial their count: for the counts of
 * single instructions add both.
 *
 * Runs of the last instruction (all full ones, and partial ones with end == ninsn) went
 * one of two ways, or it is not known which:
 *   fallthrough  how many continued at the address right after the block
 *   unknown      for how many that is not known: the last run of a thread, the last
 *                before recording was paused, runs whose last instruction raised a
 *                signal, and such
 *   others       went elsewhere: runs - fallthrough - unknown
 * For a block that ends with a conditional branch these are the branches not taken and
 * taken, exactly, unless the branch's target is that address.  A signal that came right
 * after a branch does not count as the branch's way if the trace has events of signals
 * (CTR_HAS_SYS); without them its handler does.  A trace of a part (ctr_info.selection,
 * ctr_block.part) has only what followed among what was recorded.
 *
 * MIPS: the way of a branch with a delay slot is that of its slot, the block's last
 * instruction; also of branch-likely, whose slot is recorded as executed where it is
 * skipped, too.  Where translation was cut between a branch and its slot (the end of a
 * page), the branch ends its block and has no way of its own: the way is that of the
 * block that begins with just the slot.
 */
struct ctr_count {
    const struct ctr_block *block;
    uint64_t full;
    uint64_t partial;
    uint64_t fallthrough;
    uint64_t unknown;
    uint16_t first;
    uint16_t end;
};

/*
 * Adds up, over all chunks of the selected threads (pids, tids, processes and threads
 * of filter; NULL: all), how often each block ran, and calls fn once for each block and
 * part.  Uses the index; without one, and in files before version 4 of the format, the
 * columns of words and events are read.  Files only.
 */
CTR_API int ctr_trace_counts(struct ctr_trace *tr, const struct ctr_filter *filter,
                             int (*fn)(void *arg, const struct ctr_count *count),
                             void *arg, struct ctr_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
