/* SPDX-License-Identifier: MIT */
/* Local variables; see variables.h. */
#include "state/variables.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "guest/dwarf_regs.h"
#include "symbols/dwarf_expr.h"
#include "symbols/symfile_frames.h"
#include "symbols/symfile_vars.h"

#define NEAR 64u /* bytes at the begin of a frame: a prologue writes there first */
#define MAX_BYTES 65536u /* of a variable */

struct reader {
    const struct call_printer *p;
    const struct frame_state *f;
    struct ctr_info info;
    struct dwarf_env env;
    const struct sym_prototype *function; /* around the code, or NULL */
    const char *reason;                   /* why the frame base is not known */
};

/* ---------------------------------------------------------------- environment */

/* A register by DWARF's number. */
static bool read_dwarf(const struct reader *r, const uint8_t *regs, uint32_t number,
                       uint64_t *value)
{
    char text[DWARF_REG_NAME];
    unsigned skip;
    const char *name =
        dwarf_reg_name(r->info.elf_machine, r->info.addr_bits, number, text, &skip);

    return name && regs && call_register(r->p, regs, name, skip, value);
}

static bool read_reg(void *arg, uint32_t number, uint64_t *value)
{
    const struct reader *r = arg;

    return read_dwarf(r, r->f->now.regs, number, value);
}

static bool read_entry_reg(void *arg, uint32_t number, uint64_t *value)
{
    struct reader *r = arg;

    return read_dwarf(r, r->f->entry_regs, number, value);
}

static bool read_memory(void *arg, uint64_t addr, uint8_t *out, size_t n)
{
    struct reader *r = arg;
    uint8_t known[256];

    for (size_t i = 0; i < n; i += sizeof(known)) {
        size_t part = n - i < sizeof(known) ? n - i : sizeof(known);
        if (!r->f->now.read ||
            !r->f->now.read(r->f->now.arg, addr + i, out + i, known, part, false) ||
            memchr(known, 0, part)) {
            return false;
        }
    }
    return true;
}

/* The canonical frame address by the rules of the file, if it was read with them. */
static bool unwind_cfa(const struct reader *r, uint64_t *value)
{
    const struct symfile *file = r->f->module->file;
    const struct sym_frame_row *row = symfile_frame_row(file, r->f->vaddr);
    struct sym_caller caller;

    if (!row || !symfile_unwind(file, row, &r->env, NULL, NULL, &caller)) {
        return false;
    }
    *value = caller.cfa;
    return true;
}

static bool read_cfa(void *arg, uint64_t *value)
{
    const struct reader *r = arg;

    if (!r->f->has_entry) {
        return unwind_cfa(r, value);
    }
    *value = r->f->entry_sp +
             (uint64_t)dwarf_cfa_offset(r->info.elf_machine, r->info.addr_bits);
    if (r->info.addr_bits == 32) {
        *value &= UINT32_MAX;
    }
    return true;
}

static bool read_frame_base(void *arg, uint64_t *value)
{
    struct reader *r = arg;
    const struct sym_prototype *fn = r->function;
    const struct sym_location *l =
        fn ? symfile_location(r->f->module->file, fn->base_first, fn->base_n, r->f->vaddr)
           : NULL;
    struct dwarf_env env = r->env;

    env.frame_base = NULL;
    return l && dwarf_expr_frame_base(l->expr, l->expr_bytes, &env, value, &r->reason);
}

/* -------------------------------------------------------------------- a value */

/* The bytes of a constant, as many as the type has. */
static void constant_bytes(const struct reader *r, const struct sym_variable *v,
                           uint8_t *out, size_t n)
{
    bool big = r->info.big_endian;
    size_t have = v->value_bytes;
    uint8_t fill = 0;

    if (have) {
        fill = v->value[big ? 0 : have - 1] & 0x80 ? 0xff : 0;
    }
    for (size_t i = 0; i < n; i++) { /* i: from the least significant byte */
        uint8_t byte = i < have ? v->value[big ? have - 1 - i : i] : fill;
        out[big ? n - 1 - i : i] = byte;
    }
}

static bool put_reason(struct textbuf *b, const char *reason)
{
    return textbuf_printf(b, "<%s>", reason ? reason : "not known");
}

/* A value in memory may be known in part. */
static bool put_memory(struct textbuf *b, const struct reader *r,
                       const struct sym_variable *v, const struct value_options *o,
                       uint64_t addr, size_t n)
{
    uint8_t *bytes = calloc(2, n + 1), *known = bytes ? bytes + n + 1 : NULL;
    bool ok = bytes != NULL;

    if (ok && (!o->read || !o->read(o->arg, addr, bytes, known, n, false))) {
        ok = put_reason(b, "its memory is not known");
    } else if (ok) {
        ok = value_put(b, o, v->type, bytes, known, n);
    }
    (void)r;
    free(bytes);
    return ok;
}

/* Whether the register that the frame is found by still, or again, has the caller's value:
 * before the prologue sets it, and after the epilogue restores it. */
static bool is_frameless(const struct reader *r, const struct sym_location *l)
{
    const struct sym_prototype *fn = r->function;
    const struct sym_location *base =
        fn ? symfile_location(r->f->module->file, fn->base_first, fn->base_n, r->f->vaddr)
           : NULL;
    uint64_t now, entry;
    uint32_t number;

    if (!r->f->written || !r->f->has_entry || !base || base->expr_bytes != 1 ||
        base->expr[0] < DW_OP_reg0 || base->expr[0] > DW_OP_reg31 || !l->expr_bytes ||
        l->expr[0] != DW_OP_fbreg) {
        return false;
    }
    number = base->expr[0] - DW_OP_reg0;
    return read_dwarf(r, r->f->now.regs, number, &now) &&
           read_dwarf(r, r->f->entry_regs, number, &entry) && now == entry &&
           now != r->f->entry_sp;
}

/* Whether a variable is in its function's frame, which has not written it. */
static bool is_unset(const struct reader *r, const struct sym_location *l, uint64_t addr,
                     uint64_t n)
{
    const struct frame_state *f = r->f;

    return f->written && f->has_entry && l->expr_bytes && l->expr[0] == DW_OP_fbreg &&
           addr < f->entry_sp && n <= f->entry_sp - addr &&
           !f->written(f->now.arg, addr, n);
}

static bool put_variable(struct textbuf *b, struct reader *r,
                         const struct sym_variable *v)
{
    const struct symfile *file = r->f->module->file;
    const struct sym_type *t = symfile_type(file, v->type);
    const struct sym_location *l = symfile_location(file, v->first, v->n, r->f->vaddr);
    struct value_options o = r->p->values;
    struct dwarf_result where;
    const char *reason = NULL;
    uint8_t *bytes, *known;
    bool ok;

    o.file = file;
    o.read = r->f->now.read;
    o.function = r->f->now.function;
    o.arg = r->f->now.arg;
    if (t && t->kind == SYM_ARRAY && t->no_count) {
        return put_reason(b, "its length is not known");
    }
    if (!t || !t->size || t->size > MAX_BYTES) {
        return put_reason(b, "its type is not known");
    }
    if (!v->has_value && !l) {
        return put_reason(b, "optimized out");
    }
    if (!v->has_value && is_frameless(r, l)) {
        bool begun = r->f->written(r->f->now.arg, r->f->entry_sp - NEAR, NEAR);

        return put_reason(b, begun ? "its frame is not there" : "not set yet");
    }
    if (!v->has_value) {
        dwarf_expr_run(l->expr, l->expr_bytes, &r->env, &where);
        if (where.place.where == DWARF_ADDRESS &&
            is_unset(r, l, where.place.number, t->size)) {
            return put_reason(b, "not set yet");
        }
        if (where.place.where == DWARF_ADDRESS) {
            return put_memory(b, r, v, &o, where.place.number, t->size);
        }
    }
    bytes = calloc(2, t->size);
    if (!bytes) {
        return false;
    }
    known = bytes + t->size;
    if (v->has_value) {
        constant_bytes(r, v, bytes, t->size);
        memset(known, 1, t->size);
    } else if (where.place.where == DWARF_NOWHERE) {
        reason = "optimized out";
    } else if (!dwarf_expr_read(&where, &r->env, bytes, known, t->size, &reason)) {
        reason = reason ? reason : "not known";
    } else {
        reason = NULL; /* why some piece is not known */
    }
    ok =
        reason ? put_reason(b, reason) : value_put(b, &o, v->type, bytes, known, t->size);
    free(bytes);
    return ok;
}

/* ------------------------------------------------------------------------ all */

struct visit {
    struct reader *r;
    bool (*put)(void *arg, const char *name, bool parameter, const struct textbuf *text);
    void *arg;
    bool ok;
};

static bool on_variable(void *arg, const struct sym_variable *v,
                        const struct sym_block *b)
{
    const struct sym_prototype *all;
    struct textbuf text = {0};
    struct visit *s = arg;
    struct reader *r = s->r;

    if (!*v->name || (r->f->scope != SYM_NONE && b->scope != r->f->scope)) {
        return true;
    }
    r->function = b->prototype < symfile_prototypes(r->f->module->file, &all)
                      ? &all[b->prototype]
                      : NULL;
    s->ok = put_variable(&text, r, v) && s->put(s->arg, v->name, v->parameter, &text);
    textbuf_fini(&text);
    return s->ok;
}

bool variables_each(const struct call_printer *p, const struct frame_state *f,
                    bool (*put)(void *arg, const char *name, bool parameter,
                                const struct textbuf *text),
                    void *arg)
{
    struct reader r = {.p = p, .f = f};
    struct visit s = {.r = &r, .put = put, .arg = arg, .ok = true};

    ctr_trace_info(p->trace, &r.info);
    r.env = (struct dwarf_env){
        .arg = &r,
        .reg = read_reg,
        .entry_reg = read_entry_reg,
        .memory = read_memory,
        .frame_base = read_frame_base,
        .cfa = read_cfa,
        .bias = f->bias,
        .addr_bytes = r.info.addr_bits / 8,
        .big_endian = r.info.big_endian,
    };
    if (f->module && f->module->file) {
        symfile_visible(f->module->file, f->vaddr, on_variable, &s);
    }
    return s.ok;
}

void variables_set_entry(struct frame_state *f, const struct call_printer *p,
                         const uint8_t *regs)
{
    f->entry_regs = regs;
    f->has_entry = regs && p->abi &&
                   call_register(p, regs, abi_stack_pointer(p->abi), 0, &f->entry_sp);
}

void variables_begin(struct frame_state *f, const struct call_printer *p, uint64_t addr,
                     uint64_t pc)
{
    /* Files are mapped by pages; a call may enter a few instructions later (ppc64). */
    f->bias = (pc - addr) & ~(uint64_t)0xfff;
    f->vaddr = pc - f->bias;
    variables_set_entry(f, p, f->now.regs);
}

/* ----------------------------------------------------------------- parameters */

struct list {
    struct textbuf *b;
    bool any;
};

static bool put_parameter(void *arg, const char *name, bool parameter,
                          const struct textbuf *text)
{
    struct list *l = arg;
    bool ok = !parameter || !l->any || textbuf_printf(l->b, ", ");

    if (ok && parameter) {
        l->any = true;
        ok = textbuf_printable(l->b, name, strlen(name)) &&
             textbuf_printf(l->b, "=%.*s", (int)text->len, text->data);
    }
    return ok;
}

bool variables_put_parameters(struct textbuf *b, const struct call_printer *p,
                              const struct frame_state *f)
{
    struct list l = {.b = b};

    return variables_each(p, f, put_parameter, &l);
}

bool variables_put_arguments(struct textbuf *b, const struct call_printer *p,
                             const struct sym_function *fn, const struct frame_state *f)
{
    const struct symfile *file = f->module ? f->module->file : NULL;
    const struct sym_prototype *proto =
        file && fn ? symfile_prototype(file, fn->addr) : NULL;
    const struct sym_block *block;
    struct frame_state own = *f;

    if (!proto || !call_is_clone(fn) || !symfile_blocks(file, &block)) {
        return call_put_arguments(b, p, f->module, fn, &f->now);
    }
    own.scope = proto->scope;
    own.vaddr = own.vaddr == fn->addr ? proto->entry : own.vaddr;
    return variables_put_parameters(b, p, &own);
}
