/* SPDX-License-Identifier: MIT */
/*
 * The arguments and results of calls as text: by the machine's calling convention, and by
 * prototypes of DWARF, or else of the C library.
 */
#ifndef TOOLS_CALL_H
#define TOOLS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/abi.h"
#include "state/value.h"
#include "symbols/places.h"

/* What all calls of a trace share. */
struct call_printer {
    const struct abi *abi; /* NULL: no convention is known */
    struct value_options values;
    uint32_t sp;      /* the stack pointer's index in the table of registers */
    size_t reg_bytes; /* of all registers, as ctr_state_at has them */
    const struct ctr_trace *trace;
};

/* The state of a thread: before the first instruction of a function, or after its
 * return. */
struct call_state {
    const uint8_t *regs;       /* as of ctr_state_at */
    const uint8_t *entry_regs; /* result: when the function began; NULL: not known */
    value_read *read;          /* memory */
    value_function *function;  /* NULL: pointers to functions are numbers */
    void *arg;
};

/* soft_float: see abi_find.  False: the machine's calling convention is not known, or
 * registers were not recorded; then only names are shown. */
bool call_printer_init(struct call_printer *p, const struct ctr_trace *tr,
                       unsigned string_max, bool soft_float);

/* The low 64 bits of a register after `skip' bytes; false: the trace has none of that
 * name. */
bool call_register(const struct call_printer *p, const uint8_t *regs, const char *name,
                   unsigned skip, uint64_t *value);

/* Whether the compiler made a function of another one for some of its callers: it may get
 * fewer or other arguments than the source says, and return nothing. */
bool call_is_clone(const struct sym_function *fn);

/* Appends "size=24, name=\"x\""; without parameter names "24, \"x\"".  fn NULL: a function
 * without a symbol; a clone: "...".  False: no memory. */
bool call_put_arguments(struct textbuf *b, const struct call_printer *p,
                        const struct module *m, const struct sym_function *fn,
                        const struct call_state *s);

/* Appends the value of the parameter `name' of a function with a prototype; *any: something
 * was appended.  False: no memory. */
bool call_put_argument(struct textbuf *b, const struct call_printer *p,
                       const struct module *m, const struct sym_function *fn,
                       const struct call_state *s, const char *name, bool *any);

/* Appends the result, nothing if the function returns none.  *any: something was
 * appended. */
bool call_put_result(struct textbuf *b, const struct call_printer *p,
                     const struct module *m, const struct sym_function *fn,
                     const struct call_state *s, bool *any);

#endif
