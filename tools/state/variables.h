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
    bool has_entry;            /* it is known; else frames are by SYMFILE_FRAMES */
    /* Whether some of these bytes of the function's frame were written since its entry, with
     * now.arg; NULL: it is not known.  A variable in bytes that were not is "<not set yet>":
     * the code that sets it, or the prologue that stores a parameter, is still to come. */
    bool (*written)(void *arg, uint64_t addr, uint64_t n);
    uint32_t scope; /* the function, or inlined one, whose variables count;
                                  SYM_NONE: all that are in scope */
};

/* Calls put for each parameter and local variable in scope, the innermost block first: of
 * several with one name the first hides the others.  text has its value, or why there is
 * none in "<...>".  Returns false when there is no memory, or put returned false. */
bool variables_each(const struct call_printer *p, const struct frame_state *f,
                    bool (*put)(void *arg, const char *name, bool parameter,
                                const struct textbuf *text),
                    void *arg);

/* Sets the frame's registers at its function's entry; NULL: not known. */
void variables_set_entry(struct frame_state *f, const struct call_printer *p,
                         const uint8_t *regs);

/* Sets where a function is at its first instruction, from its address in the file and the
 * pc of the instruction, and its entry: f->now. */
void variables_begin(struct frame_state *f, const struct call_printer *p, uint64_t addr,
                     uint64_t pc);

/* Appends "a=1, b=<optimized out>": the parameters of f->scope. */
bool variables_put_parameters(struct textbuf *b, const struct call_printer *p,
                              const struct frame_state *f);

/* As call_put_arguments, for a function at whose first instruction f is: the parameters of
 * a clone by DWARF's locations, if those were read. */
bool variables_put_arguments(struct textbuf *b, const struct call_printer *p,
                             const struct sym_function *fn, const struct frame_state *f);

#endif
