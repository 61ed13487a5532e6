/* SPDX-License-Identifier: MIT */
/*
 * The local variables of a frame as text: by the locations of DWARF, the registers of the
 * frame and memory.
 */
#ifndef TOOLS_VARIABLES_H
#define TOOLS_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "state/call.h"
#include "symbols/places.h"

/* A frame: where it is, and what its code sees. */
struct frame_state {
    const struct module *module;
    uint64_t vaddr;            /* of the instruction */
    uint64_t bias;             /* pc less vaddr */
    struct call_state now;     /* registers of the frame, memory of the moment */
    const uint8_t *entry_regs; /* at the function's entry; NULL: not known */
    uint64_t entry_sp;         /* the stack pointer at the function's entry */
    bool has_entry;            /* it is known */
};

/* Calls put for each parameter and local variable in scope, the innermost block first; a
 * variable that another one hides is left out.  text has its value, or why there is none
 * in "<...>".  Returns false when there is no memory, or put returned false. */
bool variables_each(const struct call_printer *p, const struct frame_state *f,
                    bool (*put)(void *arg, const char *name, bool parameter,
                                const struct textbuf *text),
                    void *arg);

#endif
