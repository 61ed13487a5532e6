/* SPDX-License-Identifier: MIT */
/* Walks up a stack by the rules of frame rows; see unwind.h. */
#include "state/unwind.h"

#include <elf.h>
#include <string.h>

#include "guest/dwarf_regs.h"
#include "symbols/symfile_frames.h"

#define LOW_REGS 128u
#define ARM_VFP 256u /* DWARF's number of D0 */

struct step {
    const struct unwinder *u;
    const struct unwind_frame *frame;
    struct unwind_frame *caller;
    bool sp_has_rule;
    uint32_t sp;
};

/* Where a register is in a frame; UNWIND_REGS: it is not followed. */
static uint32_t slot_of(uint32_t number)
{
    if (number < LOW_REGS) {
        return number;
    }
    return number >= ARM_VFP && number - ARM_VFP < UNWIND_REGS - LOW_REGS
               ? number - ARM_VFP + LOW_REGS
               : UNWIND_REGS;
}

static uint32_t number_of(uint32_t slot)
{
    return slot < LOW_REGS ? slot : slot - LOW_REGS + ARM_VFP;
}

static const char *name_of(const struct ctr_info *info, uint32_t number,
                           char text[DWARF_REG_NAME], unsigned *skip)
{
    return dwarf_reg_name(info->elf_machine, info->addr_bits, number, text, skip);
}

/* ---------------------------------------------------------------- environment */

static bool read_reg(void *arg, uint32_t number, uint64_t *value)
{
    const struct step *s = arg;
    const uint32_t slot = slot_of(number);

    if (slot == UNWIND_REGS || !s->frame->known[slot]) {
        return false;
    }
    *value = s->frame->reg[slot];
    return true;
}

static bool read_memory(void *arg, uint64_t addr, uint8_t *out, size_t n)
{
    const struct step *s = arg;
    uint8_t known[256];

    return n <= sizeof(known) && s->u->read &&
           s->u->read(s->u->arg, addr, out, known, n, false) && !memchr(known, 0, n);
}

static void set_reg(void *arg, uint32_t number, const uint64_t *value)
{
    struct step *s = arg;
    const uint32_t slot = slot_of(number);

    s->sp_has_rule |= number == s->sp;
    if (slot < UNWIND_REGS) {
        s->caller->known[slot] = value != NULL;
        s->caller->reg[slot] = value ? *value : 0;
    }
}

/* --------------------------------------------------------------------- frames */

static void find_place(const struct unwinder *u, struct unwind_frame *f)
{
    f->in_file = places_find(u->places, u->process, u->time_ns, u->chunk_end_ns,
                             f->pc - f->after_call, &f->place);
}

void unwind_begin(const struct unwinder *u, struct unwind_frame *f, uint64_t pc,
                  bool after_call, const uint8_t *regs)
{
    struct ctr_info info;
    char text[DWARF_REG_NAME];
    const char *name;
    unsigned skip;

    ctr_trace_info(u->printer->trace, &info);
    *f = (struct unwind_frame){.pc = pc, .after_call = after_call};
    for (uint32_t i = 0; regs && i < UNWIND_REGS; i++) {
        name = name_of(&info, number_of(i), text, &skip);
        f->known[i] = name && call_register(u->printer, regs, name, skip, &f->reg[i]);
    }
    find_place(u, f);
}

/* The address that a return goes to, without what else the register holds. */
static uint64_t return_pc(const struct ctr_info *info, uint64_t pc)
{
    switch (info->elf_machine) {
    case EM_ARM: /* the mode of the instructions there */
    case EM_MIPS:
        return pc & ~UINT64_C(1);
    case EM_PARISC: /* the privilege */
        return pc & ~UINT64_C(3);
    case EM_SPARCV9: /* it is the address of the call */
        return pc + 8;
    case EM_AARCH64: /* above 48 bits there may be a signature (PAC) */
        return pc >> 55 & 1 ? pc | UINT64_C(0xffff) << 48 : pc << 16 >> 16;
    default:
        return pc;
    }
}

/* The number of the stack pointer; UINT32_MAX: not known. */
static uint32_t stack_pointer(const struct unwinder *u, const struct ctr_info *info)
{
    char text[DWARF_REG_NAME];
    unsigned skip;

    for (uint32_t i = 0; u->printer->abi && i < LOW_REGS; i++) {
        const char *name = name_of(info, i, text, &skip);
        if (name && !strcmp(name, abi_stack_pointer(u->printer->abi))) {
            return i;
        }
    }
    return UINT32_MAX;
}

static const struct sym_frame_row *row_of(const struct unwind_frame *f, const char **why)
{
    const struct sym_frame_row *row = NULL;

    if (!f->in_file) {
        *why = "its code is in no file";
    } else if (!f->place.module->file) {
        *why = "the file of its code is not here";
    } else {
        row = symfile_frame_row(f->place.module->file, f->place.vaddr);
        *why = "its file has no call frame information of it";
    }
    return row;
}

/* Stacks grow down: a caller's frame is above, but for signals, which may have a stack of
 * their own. */
static bool is_above(const struct ctr_info *info, const struct unwind_frame *f,
                     const struct unwind_frame *caller, uint64_t cfa)
{
    if (!f->inner_cfa || f->is_signal || info->elf_machine == EM_PARISC) {
        return !f->inner_cfa || cfa != f->inner_cfa || caller->pc != f->pc;
    }
    return cfa > f->inner_cfa || (cfa == f->inner_cfa && caller->pc != f->pc);
}

/* Whether a frame is the trampoline that a signal handler returns to: nothing called it, so
 * that the byte before it may be another function's. */
static void find_signal(const struct unwinder *u, struct unwind_frame *f)
{
    struct unwind_frame at = *f;
    const struct sym_frame_row *row;
    const char *why;

    at.after_call = false;
    find_place(u, &at);
    row = row_of(&at, &why);
    if (row && row->signal_frame) {
        *f = at;
        f->is_signal = true;
    }
}

bool unwind_lacks_rules(const struct unwind_frame *f)
{
    const char *why;

    return f->in_file && (f->place.module->system || !row_of(f, &why));
}

enum unwind_result unwind_next(const struct unwinder *u, const struct unwind_frame *f,
                               struct unwind_frame *caller, const char **why)
{
    const struct sym_frame_row *row = row_of(f, why);
    struct sym_caller found;
    struct ctr_info info;
    struct step s = {.u = u, .frame = f, .caller = caller};
    struct dwarf_env env = {.arg = &s, .reg = read_reg, .memory = read_memory};

    if (!row) {
        return UNWIND_LOST;
    }
    ctr_trace_info(u->printer->trace, &info);
    env.bias = f->pc - f->after_call - f->place.vaddr;
    env.addr_bytes = info.addr_bits / 8;
    env.big_endian = info.big_endian;
    s.sp = stack_pointer(u, &info);
    *caller = *f;
    if (!symfile_unwind(f->place.module->file, row, &env, set_reg, &s, &found) ||
        (!found.pc_known && !found.outermost)) {
        *why = found.reason;
        return UNWIND_LOST;
    }
    if (found.outermost || !found.pc) {
        *why = found.outermost ? NULL : "its return address is 0";
        return UNWIND_OUTERMOST;
    }
    if (!s.sp_has_rule && slot_of(s.sp) < UNWIND_REGS) {
        caller->reg[slot_of(s.sp)] = found.cfa;
        caller->known[slot_of(s.sp)] = true;
    }
    caller->pc = return_pc(&info, found.pc);
    caller->after_call = !row->signal_frame;
    caller->inner_cfa = found.cfa;
    caller->is_signal = false;
    if (!is_above(&info, f, caller, found.cfa)) {
        *why = "its rules lead to no frame above it";
        return UNWIND_LOST;
    }
    find_place(u, caller);
    find_signal(u, caller);
    return UNWIND_CALLER;
}
