/* SPDX-License-Identifier: MIT */
/* Arguments and results of calls; see call.h. */
#include "state/call.h"

#include <elf.h>
#include <string.h>

#include "state/prototypes.h"
#include "symbols/symfile_vars.h"

#define MAX_VALUE 4096u /* bytes shown of a structure */
#define UNKNOWN_ARGS 4u /* shown of functions without a prototype */
#define MAX_ARGS 64u

/* Reads a register; false: the trace has none of that name. */
static bool find_register(const struct ctr_trace *tr, const char *name, uint32_t *index,
                          uint32_t *size)
{
    const struct ctr_reg *r;

    for (uint32_t i = 0; (r = ctr_trace_reg(tr, i)) != NULL; i++) {
        if (!strcmp(r->name, name)) {
            *index = i;
            *size = r->size;
            return true;
        }
    }
    return false;
}

bool call_printer_init(struct call_printer *p, const struct ctr_trace *tr,
                       unsigned string_max, bool soft_float)
{
    struct ctr_info info;
    uint32_t size;

    ctr_trace_info(tr, &info);
    *p = (struct call_printer){
        .abi = abi_find(info.elf_machine, info.addr_bits, info.big_endian, soft_float),
        .trace = tr,
        .values = {.big_endian = info.big_endian,
                   .addr_bytes = info.addr_bits / 8u,
                   .string_max = string_max,
                   .items_max = 16},
    };
    if (!p->abi || !find_register(tr, abi_stack_pointer(p->abi), &p->sp, &size)) {
        p->abi = NULL;
    }
    return p->abi != NULL;
}

bool call_register(const struct call_printer *p, const uint8_t *regs, const char *name,
                   unsigned skip, uint64_t *value)
{
    uint32_t index, size;

    if (!find_register(p->trace, name, &index, &size) || skip >= size) {
        return false;
    }
    *value = 0;
    for (unsigned i = 0; i < 8 && skip + i < size; i++) {
        *value |= (uint64_t)regs[(size_t)index * CTR_REG_STRIDE + skip + i] << 8 * i;
    }
    return true;
}

/* ------------------------------------------------------------------- the bytes */

/* A value's bytes in the order of memory. */
struct bytes {
    uint8_t v[MAX_VALUE];
    uint8_t known[MAX_VALUE];
    size_t n;
};

static uint64_t register_u64(const struct call_printer *p, const struct call_state *s,
                             uint32_t index)
{
    const uint8_t *v = s->regs + (size_t)index * CTR_REG_STRIDE;
    uint64_t value = 0;

    for (unsigned i = 0; i < 8 && i < ctr_trace_reg(p->trace, index)->size; i++) {
        value |= (uint64_t)v[i] << 8 * i;
    }
    return value;
}

static void add_register(const struct call_printer *p, const struct call_state *s,
                         const struct abi_piece *piece, struct bytes *out)
{
    uint32_t index, size;
    const uint8_t *v;

    if (!find_register(p->trace, piece->reg, &index, &size) ||
        piece->skip + piece->size > size) {
        memset(out->known + out->n, 0, piece->size);
        memset(out->v + out->n, 0, piece->size);
        return;
    }
    v = s->regs + (size_t)index * CTR_REG_STRIDE + piece->skip;
    for (uint32_t i = 0; i < piece->size; i++) {
        out->v[out->n + i] = v[p->values.big_endian ? piece->size - 1 - i : i];
        out->known[out->n + i] = 1;
    }
}

static bool read_memory(const struct call_state *s, uint64_t addr, struct bytes *out,
                        size_t n)
{
    if (!s->read || !s->read(s->arg, addr, out->v + out->n, out->known + out->n, n)) {
        memset(out->known + out->n, 0, n);
        memset(out->v + out->n, 0, n);
    }
    return true;
}

/* Collects the pieces of a place; false: not known at all. */
static bool collect(const struct call_printer *p, const struct call_state *s,
                    const struct abi_place *place, uint32_t size, struct bytes *out)
{
    uint64_t sp = register_u64(p, s, p->sp);

    out->n = 0;
    for (uint32_t i = 0; i < place->n; i++) {
        const struct abi_piece *piece = &place->piece[i];
        if (out->n + piece->size > MAX_VALUE) {
            return false;
        }
        if (piece->reg) {
            add_register(p, s, piece, out);
        } else {
            read_memory(s, sp + (uint64_t)piece->offset, out, piece->size);
        }
        out->n += piece->size;
    }
    if (place->n && place->reference) {
        uint64_t addr = value_integer(&p->values, out->v, out->n);
        bool known = out->known[0];
        out->n = 0;
        if (!known || size > MAX_VALUE) {
            return false;
        }
        read_memory(s, addr, out, size);
        out->n = size;
    }
    /* A float of PowerPC is a double in its register. */
    if (place->n == 1 && size == 4 && out->n == 8) {
        uint64_t bits = value_integer(&p->values, out->v, 8);
        double d;
        float f;
        memcpy(&d, &bits, 8);
        f = (float)d;
        memcpy(out->v, &f, 4);
        if (p->values.big_endian) {
            uint8_t t[4] = {out->v[3], out->v[2], out->v[1], out->v[0]};
            memcpy(out->v, t, 4);
        }
        out->n = 4;
    }
    return place->n != 0;
}

static bool all_known(const struct bytes *v)
{
    return !memchr(v->known, 0, v->n);
}

/* ---------------------------------------------------------------- types of DWARF */

/* Adds the classes of a structure's halves, and counts equal floats. */
static void classify_members(const struct symfile *f, const struct sym_type *t,
                             uint64_t at, struct abi_type *out, unsigned *floats,
                             uint64_t *float_size, unsigned depth)
{
    const struct sym_member *all;
    uint32_t n = symfile_members(f, &all);

    for (uint32_t i = t->first; i < t->first + t->n && i < n && depth < 8; i++) {
        const struct sym_type *m = symfile_type(f, all[i].type);
        uint64_t offset = at + all[i].bit_offset / 8;
        if (!m || offset >= 16) {
            *floats = 99;
            continue;
        }
        if (m->kind == SYM_STRUCT || m->kind == SYM_UNION || m->kind == SYM_CLASS) {
            classify_members(f, m, offset, out, floats, float_size, depth + 1);
        } else if (m->kind == SYM_FLOAT && m->size <= 8) {
            *floats += !*float_size || *float_size == m->size ? 1 : 99;
            *float_size = m->size;
        } else if (m->size) {
            *floats = 99;
            out->eight[offset / 8] = ABI_INTEGER;
            out->eight[(offset + m->size - 1) / 8 % 2] = ABI_INTEGER;
        }
    }
}

/* What a type is for the calling convention; false: it cannot be passed. */
static bool classify(const struct symfile *f, uint32_t type, struct abi_type *out)
{
    const struct sym_type *t = symfile_type(f, type);
    unsigned floats = 0;
    uint64_t float_size = 0;

    *out = (struct abi_type){.eight = {ABI_FLOAT, ABI_FLOAT}};
    if (!t || !t->size || t->size > MAX_VALUE) {
        return false;
    }
    out->size = (uint32_t)t->size;
    switch (t->kind) {
    case SYM_STRUCT:
    case SYM_UNION:
    case SYM_CLASS:
        out->what = ABI_STRUCT;
        classify_members(f, t, 0, out, &floats, &float_size, 0);
        out->same_floats = floats <= 4 && floats * float_size == t->size ? floats : 0;
        return true;
    case SYM_FLOAT:
        out->what = t->size <= 8 ? ABI_FLOAT : ABI_LONG_DOUBLE;
        return true;
    case SYM_COMPLEX:
    case SYM_VOID:
    case SYM_FUNCTION:
        return false;
    default:
        out->what = ABI_INTEGER;
        return true;
    }
}

static const struct sym_prototype *prototype(const struct module *m,
                                             const struct sym_function *fn)
{
    return m && m->file && fn ? symfile_prototype(m->file, fn->addr) : NULL;
}

static struct value_options options_for(const struct call_printer *p,
                                        const struct module *m,
                                        const struct call_state *s)
{
    struct value_options o = p->values;

    o.file = m ? m->file : NULL;
    o.read = s->read;
    o.arg = s->arg;
    return o;
}

static bool put_dwarf(struct textbuf *b, const struct call_printer *p,
                      const struct module *m, const struct sym_prototype *proto,
                      const struct call_state *s)
{
    struct value_options o = options_for(p, m, s);
    const struct sym_variable *vars;
    uint32_t n = symfile_variables(m->file, &vars);
    struct abi_type type, result;
    struct abi_place place;
    struct abi_walk walk;
    struct bytes v;
    bool ok = true;

    abi_begin(&walk, p->abi, classify(m->file, proto->result, &result) ? &result : NULL);
    for (uint32_t i = 0; ok && i < proto->n && proto->first + i < n; i++) {
        const struct sym_variable *var = &vars[proto->first + i];
        ok = !i || textbuf_printf(b, ", ");
        if (ok && *var->name) {
            ok = textbuf_printable(b, var->name, strlen(var->name)) &&
                 textbuf_printf(b, "=");
        }
        if (!classify(m->file, var->type, &type)) {
            walk.lost = true;
        } else {
            abi_next(&walk, &type, &place);
        }
        if (ok && !walk.lost && collect(p, s, &place, type.size, &v)) {
            ok = value_put(b, &o, var->type, v.v, v.known, v.n);
        } else {
            ok = ok && textbuf_printf(b, "?");
        }
    }
    return ok && (!proto->variadic || proto->no_prototype ||
                  textbuf_printf(b, proto->n ? ", ..." : "..."));
}

/* ----------------------------------------------------------- the C library's types */

/* The type that a letter of a prototype stands for. */
static bool letter_type(const struct call_printer *p, char letter, struct abi_type *type,
                        enum value_basic *basic)
{
    static const struct {
        char letter;
        uint8_t size; /* 0: of an address */
        enum value_basic basic;
    } letters[] = {
        {'i', 4, VALUE_INT},      {'u', 4, VALUE_UNSIGNED}, {'l', 0, VALUE_INT},
        {'z', 0, VALUE_UNSIGNED}, {'q', 8, VALUE_INT},      {'x', 4, VALUE_HEX},
        {'o', 4, VALUE_OCTAL},    {'p', 0, VALUE_POINTER},  {'s', 0, VALUE_STRING},
        {'c', 4, VALUE_CHAR},     {'d', 8, VALUE_FLOAT},    {'f', 4, VALUE_FLOAT},
    };

    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        if (letters[i].letter == letter) {
            *type = (struct abi_type){
                .what = letters[i].basic == VALUE_FLOAT ? ABI_FLOAT : ABI_INTEGER,
                .size = letters[i].size ? letters[i].size : abi_word(p->abi)};
            *basic = letters[i].basic;
            return true;
        }
    }
    return false;
}

static bool put_letters(struct textbuf *b, const struct call_printer *p,
                        const char *letters, const struct call_state *s)
{
    struct value_options o = options_for(p, NULL, s);
    enum value_basic basic;
    struct abi_type type;
    struct abi_place place;
    struct abi_walk walk;
    struct bytes v;
    bool ok = true;

    abi_begin(&walk, p->abi, NULL);
    for (unsigned i = 0; ok && letters[i]; i++) {
        ok = !i || textbuf_printf(b, ", ");
        if (!letter_type(p, letters[i], &type, &basic)) {
            return ok && textbuf_printf(b, "...");
        }
        abi_next(&walk, &type, &place);
        if (ok && collect(p, s, &place, type.size, &v) && all_known(&v)) {
            ok = value_put_basic(b, &o, basic, v.v, v.n);
        } else {
            ok = ok && textbuf_printf(b, "?");
        }
    }
    return ok;
}

/* A function whose prototype is not known: what may be its first arguments. */
static bool put_guess(struct textbuf *b, const struct call_printer *p,
                      const struct call_state *s)
{
    struct value_options o = options_for(p, NULL, s);
    struct abi_type word = {.what = ABI_INTEGER, .size = abi_word(p->abi)};
    struct abi_place place;
    struct abi_walk walk;
    struct bytes v;
    bool ok = true;

    abi_begin(&walk, p->abi, NULL);
    for (unsigned i = 0; ok && i < UNKNOWN_ARGS; i++) {
        abi_next(&walk, &word, &place);
        if (!collect(p, s, &place, word.size, &v) || !all_known(&v)) {
            break;
        }
        ok = value_put_basic(b, &o, VALUE_HEX, v.v, v.n) && textbuf_printf(b, ", ");
    }
    return ok && textbuf_printf(b, "...?");
}

/* ---------------------------------------------------------------------- results */

bool call_put_arguments(struct textbuf *b, const struct call_printer *p,
                        const struct module *m, const struct sym_function *fn,
                        const struct call_state *s)
{
    const struct sym_prototype *proto = prototype(m, fn);
    const char *letters = fn ? prototype_of(fn->linkage) : NULL;

    if (!p->abi || !s->regs) {
        return textbuf_printf(b, "?");
    }
    if (proto && !proto->no_prototype) {
        return put_dwarf(b, p, m, proto, s);
    }
    return letters ? put_letters(b, p, letters + 1, s) : put_guess(b, p, s);
}

bool call_put_result(struct textbuf *b, const struct call_printer *p,
                     const struct module *m, const struct sym_function *fn,
                     const struct call_state *s, bool *any)
{
    const struct sym_prototype *proto = prototype(m, fn);
    const char *letters = fn ? prototype_of(fn->linkage) : NULL;
    struct value_options o = options_for(p, m, s);
    enum value_basic basic = VALUE_HEX;
    struct abi_type type = {.what = ABI_INTEGER};
    const struct sym_type *t = NULL;
    struct abi_place place;
    struct bytes v;

    *any = false;
    if (!p->abi || !s->regs) {
        return true;
    }
    if (proto) {
        t = symfile_type(m->file, proto->result);
        if (!t || t->kind == SYM_VOID || !classify(m->file, proto->result, &type)) {
            return true;
        }
    } else if (letters) {
        if (!letter_type(p, letters[0], &type, &basic)) {
            return true;
        }
    } else {
        type.size = abi_word(p->abi);
    }
    abi_result(p->abi, &type, t ? t->kind == SYM_POINTER : basic == VALUE_POINTER,
               &place);
    *any = true;
    if (!collect(p, s, &place, type.size, &v) || !all_known(&v)) {
        return textbuf_printf(b, "?");
    }
    return t ? value_put(b, &o, proto->result, v.v, v.known, v.n)
             : value_put_basic(b, &o, basic, v.v, v.n);
}
