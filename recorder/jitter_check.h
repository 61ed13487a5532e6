/* SPDX-License-Identifier: MIT */
/*
 * Tries a jitter library before QEMU does, in a separate process, so that a library that
 * cannot work costs one line and no recording.
 */
#ifndef RECORDER_JITTER_CHECK_H
#define RECORDER_JITTER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Started under this name, this program tries a library. */
#define JITTER_CHECK_NAME "ctr-library-check"

/* The guest that the library is for, as struct cannoli_host describes it. */
struct jitter_target {
    const char *target; /* "arm"; "": not known, then `load' is not called */
    const char *program;
    uint32_t elf_machine;
    bool big_endian;
    unsigned addr_bytes;
    uint32_t events;
};

/*
 * line: as selection_line makes it.  Returns 0, or -1 and one sentence without an end.
 * Any thread, also while others run.
 */
int jitter_check(const char *line, const struct jitter_target *target, char *why,
                 size_t size);

/* main of such a process; returns its exit status. */
int jitter_check_main(int argc, char **argv);

#endif
