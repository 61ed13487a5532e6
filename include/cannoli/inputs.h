/* SPDX-License-Identifier: MIT */
/*
 * What a re-executed program gets in place of the system: the layout of the file that
 * cannoli-expand writes and QEMU reads.
 *
 * A program whose instructions read nothing but memory and registers does the same again
 * if everything that came from outside comes again, at the same places.  That is what
 * the events of a trace say: results of system calls and the memory that they wrote,
 * changes of the address space, signals, values of clocks (CTR_EVENT_INPUT).  This file
 * has them in the order of each thread.
 *
 * The folder of the file also has the files that were mapped, by number: "0", "1", ..., which are
 * links: "0.d/libc.so.6" has the name that filters look for.  The recorder puts them into the new
 * trace, and finds them there (common/inputs_file.h).
 * Numbers are little-endian.  The reader trusts the writer: both are of one version.
 *
 *   struct inputs_header
 *   struct inputs_thread   nr_threads times; the first one is that of the program
 *   of each thread: struct input and its payload, padded with zeros to a multiple of 8;
 *   strings
 */
#ifndef CANNOLI_INPUTS_H
#define CANNOLI_INPUTS_H

#include <stdint.h>
#include "cannoli/events.h"

#define INPUTS_NAME "inputs"
#define INPUTS_MAGIC 0x7374757063726374ull /* "ctrcputs" */
#define INPUTS_VERSION 2u
#define INPUTS_NO_FILE UINT32_MAX

/*
 * Exit statuses of QEMU: the program did something else than what was recorded; something
 * of QEMU's own is where the program had memory: another attempt may succeed.
 */
#define INPUTS_STATUS_DIFFERS 121
#define INPUTS_STATUS_PLACE 122

struct inputs_header {
    uint64_t magic;
    uint32_t version;
    uint32_t nr_threads;
    uint64_t seed;                        /* CTR_INPUT_SEED */
    uint64_t start_ns, start_realtime_ns; /* of the recording, see ctr_info */
};

struct inputs_thread {
    uint64_t offset; /* of its first input, in the file */
    uint64_t bytes;  /* of all its inputs */
    int32_t pid, tid, ppid, ptid;
    uint64_t start_ns; /* as the pipe of the thread has it */
    uint64_t first; /* instructions that it executes before it is recorded (INPUT_OPEN) */
    /* Of the first thread of a program, else INPUTS_NO_FILE and 0: */
    uint32_t program; /* number of the program's file */
    uint32_t loader;  /* and of its ELF interpreter, or INPUTS_NO_FILE */
    uint64_t strings; /* offset of strings with a NUL each: the program's path, argc
                            arguments, and the environment */
    uint32_t string_bytes;
    uint32_t argc;
};

struct input {
    uint64_t insns;   /* instructions that the thread executed since the input before */
    uint64_t time_ns; /* of the event */
    uint32_t type;    /* enum ctr_event_type, or INPUT_* */
    uint32_t bytes;   /* of the payload that follows, as events.h describes it */
    uint32_t file;    /* MAP: number of the file that is mapped, or INPUTS_NO_FILE */
    uint32_t zero;
};

/* The recording of the thread ends here, without an event. */
#define INPUT_CUT 0x100u
/* It begins here, of a thread with `first'; before that only events of threads and mappings,
 * marks and labels are emitted. */
#define INPUT_OPEN 0x101u

#define INPUT_SIZE(bytes) ((uint32_t)sizeof(struct input) + (((bytes) + 7u) & ~7u))

#endif
