/* SPDX-License-Identifier: MIT */
/*
 * The callers of a place by call frame information: from the registers of a frame and
 * memory to the registers of its caller.
 */
#ifndef TOOLS_UNWIND_H
#define TOOLS_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "state/call.h"
#include "symbols/places.h"

/* Registers that are followed: DWARF's numbers up to 127, and those of arm's D0 to D31. */
#define UNWIND_REGS 160u

/* What all frames of a moment share.  The places must have SYMFILE_FRAMES. */
struct unwinder {
    const struct call_printer *printer;
    const struct places *places;
    uint32_t process; /* of the code, at this time: as of places_find */
    uint64_t time_ns, chunk_end_ns;
    value_read *read; /* memory of the moment */
    void *arg;
};

struct unwind_frame {
    uint64_t pc;
    bool after_call;    /* pc is after the call of the next frame */
    bool in_file;       /* `place' is known: */
    struct place place; /* of pc, or of the byte before it if after_call */
    bool is_signal;     /* by its rules it was called by the system, for a signal */
    uint64_t inner_cfa; /* of the frame that it called; 0: not known */
    uint64_t reg[UNWIND_REGS];
    bool known[UNWIND_REGS];
};

/* A frame by the registers of a state, as ctr_state_at has them. */
void unwind_begin(const struct unwinder *u, struct unwind_frame *f, uint64_t pc,
                  bool after_call, const uint8_t *regs);

/* Whether a frame is in code that has no rules: of the system, or of a file without them.
 * A signal may have called it. */
bool unwind_lacks_rules(const struct unwind_frame *f);

enum unwind_result {
    UNWIND_CALLER,    /* *caller is filled in */
    UNWIND_OUTERMOST, /* by its rules nothing called it; if *why is not NULL, only because
                         its return address is 0 */
    UNWIND_LOST,      /* *why says what is not known, as the end of a sentence */
};
enum unwind_result unwind_next(const struct unwinder *u, const struct unwind_frame *f,
                               struct unwind_frame *caller, const char **why);

#endif
