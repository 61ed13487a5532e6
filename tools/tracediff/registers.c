/* SPDX-License-Identifier: MIT */
/* Pairs the registers of two traces by their names; see registers.h. */
#include "registers.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const struct ctr_reg *find(const struct side *s, const struct ctr_reg *like)
{
    const struct ctr_reg *reg;

    for (uint32_t i = 0; (reg = ctr_trace_reg(s->view, i)) != NULL; i++) {
        if (reg->size == like->size && !strcmp(reg->name, like->name)) {
            return reg;
        }
    }
    return NULL;
}

/* Flags differ wherever operands do, such as pointers; what they decide is compared. */
static bool is_flags(const char *name)
{
    static const char *const flags[] = {"eflags", "cpsr", "cr",  "xer",
                                        "pswm",   "ps",   "ccr", "psr"};

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (!strcmp(flags[i], name)) {
            return true;
        }
    }
    return false;
}

static bool is_ignored(const struct ctr_reg *reg, const char *const *ignored, unsigned n)
{
    if (is_flags(reg->name)) {
        return true;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!fnmatch(ignored[i], reg->name, 0)) {
            return true;
        }
    }
    return false;
}

bool registers_pair(struct side *side[2], const char *const *ignored, unsigned nr_ignored)
{
    const struct ctr_reg *reg, *other;

    for (unsigned i = 0; i < 2; i++) {
        struct side *s = side[i];

        for (s->nr_registers = 0; ctr_trace_reg(s->view, s->nr_registers);) {
            s->nr_registers++;
        }
        s->registers = calloc(s->nr_registers + 1u, sizeof(*s->registers));
        s->wanted = calloc(s->nr_registers + 1u, sizeof(*s->wanted));
        if (!s->registers || !s->wanted) {
            return false;
        }
        for (uint32_t k = 0; k < s->nr_registers && k < UINT16_MAX; k++) {
            reg = ctr_trace_reg(s->view, k);
            other = find(side[!i], reg);
            if (other && other->index < UINT16_MAX &&
                !is_ignored(reg, ignored, nr_ignored)) {
                s->registers[k] = (uint16_t)(1 + (i ? other->index : k));
                s->wanted[k] = 1;
            }
        }
    }
    return true;
}
