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
                   .items_max = 16,
                   .x87 = info.elf_machine == EM_386 || info.elf_machine == EM_X86_64},
    };
    for (uint32_t i = 0; ctr_trace_reg(tr, i); i++) {
        p->reg_bytes += CTR_REG_STRIDE;
    }
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

static uint64_t register_u64(const struct call_printer *p, const uint8_t *regs,
                             uint32_t index)
{
    const uint8_t *v = regs + (size_t)index * CTR_REG_STRIDE;
    uint64_t value = 0;

    for (unsigned i = 0; i < 8 && i < ctr_trace_reg(p->trace, index)->size; i++) {
        value |= (uint64_t)v[i] << 8 * i;
    }
    return value;
}

/* Puts an integer of n bytes in the order of memory. */
static void put_bytes(const struct call_printer *p, uint64_t v, uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[p->values.big_endian ? n - 1 - i : i] = (uint8_t)(v >> 8 * i);
    }
}

/* A float or double from a register that has it in another format. */
static void put_converted(const struct call_printer *p, const struct abi_piece *piece,
                          const uint8_t *v, uint8_t *out)
{
    uint64_t bits = 0;
    uint32_t low;
    double d;
    float f;

    if (piece->from == 10) {
        d = (double)value_x87(v);
        f = (float)value_x87(v);
    } else {
        for (unsigned i = 0; i < 8; i++) {
            bits |= (uint64_t)v[i] << 8 * i;
        }
        memcpy(&d, &bits, sizeof(d));
        f = (float)d;
    }
    memcpy(&bits, &d, sizeof(bits));
    memcpy(&low, &f, sizeof(low));
    put_bytes(p, piece->size == 4 ? low : bits, out, piece->size);
}

static void add_register(const struct call_printer *p, const uint8_t *regs,
                         const struct abi_piece *piece, struct bytes *out)
{
    uint32_t index, size, need = piece->from ? piece->from : piece->size;
    uint8_t *to = out->v + piece->at;
    const uint8_t *v;

    if (!regs || !find_register(p->trace, piece->reg, &index, &size) ||
        piece->skip + need > size || need > CTR_REG_STRIDE) {
        return;
    }
    v = regs + (size_t)index * CTR_REG_STRIDE + piece->skip;
    memset(out->known + piece->at, 1, piece->size);
    if (piece->from) {
        put_converted(p, piece, v, to);
        return;
    }
    for (uint32_t i = 0; i < piece->size; i++) {
        to[i] = v[p->values.big_endian ? piece->size - 1 - i : i];
    }
}

static void read_memory(const struct call_state *s, uint64_t addr, struct bytes *out,
                        size_t at, size_t n)
{
    if (!s->read || !s->read(s->arg, addr, out->v + at, out->known + at, n, false)) {
        memset(out->known + at, 0, n);
        memset(out->v + at, 0, n);
    }
}

/* Collects the pieces of a place; false: not known at all. */
static bool collect(const struct call_printer *p, const struct call_state *s,
                    const struct abi_place *place, uint32_t size, struct bytes *out)
{
    uint32_t want = place->reference ? abi_word(p->abi) : size;
    const uint8_t *regs = place->at_entry ? s->entry_regs : s->regs;
    uint64_t sp = regs ? register_u64(p, regs, p->sp) : 0;

    if (!place->n || !regs || size > MAX_VALUE) {
        return false;
    }
    out->n = want;
    memset(out->v, 0, want);
    memset(out->known, 0, want);
    for (uint32_t i = 0; i < place->n; i++) {
        const struct abi_piece *piece = &place->piece[i];
        if (piece->at + piece->size > want) {
            return false;
        }
        if (piece->reg) {
            add_register(p, regs, piece, out);
        } else if (place->at_entry) {
            return false; /* the slot may have been changed since */
        } else {
            read_memory(s, sp + (uint64_t)piece->offset, out, piece->at, piece->size);
        }
    }
    if (place->reference) {
        uint64_t addr = value_integer(&p->values, out->v, out->n);
        if (memchr(out->known, 0, out->n)) {
            return false;
        }
        read_memory(s, addr, out, 0, size);
        out->n = size;
    }
    return true;
}

static bool all_known(const struct bytes *v)
{
    return !memchr(v->known, 0, v->n);
}

/* ---------------------------------------------------------------- types of DWARF */

/* What the members of a structure are. */
struct members {
    struct abi_type *out;
    unsigned count;      /* basic ones */
    unsigned floats;     /* of them */
    uint64_t float_size; /* of them all; 1: they differ */
    unsigned max_align;
    bool mixed;   /* a union of floats and others is passed as its eightbytes say */
    bool unknown; /* where it is passed is not known here */
};

static void add_basic(struct members *c, const struct sym_type *t, uint64_t at)
{
    uint64_t align = t->size < c->max_align ? t->size : c->max_align;
    bool is_float = t->kind == SYM_FLOAT;
    unsigned first = at < 16 ? (unsigned)at / 8 : 2;

    if (!t->size || t->size > 8 || t->kind == SYM_COMPLEX) {
        c->unknown = true;
        return;
    }
    c->out->align = align > c->out->align ? (uint32_t)align : c->out->align;
    if (c->count < 2) {
        c->out->basic[c->count] =
            (struct abi_basic){(uint32_t)at, (uint8_t)t->size, is_float};
    }
    c->count++;
    if (is_float) {
        c->floats++;
        c->float_size = !c->float_size || c->float_size == t->size ? t->size : 1;
        c->out->doubles |= (uint8_t)(t->size == 8 && at < 64 ? 1u << at / 8 : 0);
    } else if (first < 2) {
        c->out->eight[first] = ABI_INTEGER;
        c->out->eight[(at + t->size - 1) / 8 % 2] = ABI_INTEGER;
    }
    c->unknown |= at % align != 0; /* packed */
}

/* A union of floats and others is passed as if it had no floats, except on x86; where one
 * of floats alone is passed depends on the machine.  before: without its members. */
static void add_union(struct members *c, const struct members *before, uint64_t at,
                      uint64_t size)
{
    unsigned floats = c->floats - before->floats;

    if (!floats || c->mixed) {
        return;
    }
    c->unknown |= floats == c->count - before->count;
    c->floats = before->floats;
    c->float_size = before->float_size;
    c->count += 2; /* not a member like others */
    for (uint64_t i = at / 8; i < 8 && i * 8 < at + size; i++) {
        c->out->doubles &= (uint8_t)~(1u << i);
    }
}

/* Adds the basic members of a type, to a depth and number that any real one has. */
static void add_members(struct members *c, const struct symfile *f,
                        const struct sym_type *t, uint64_t at, unsigned depth)
{
    const struct sym_type *e = symfile_type(f, t->target);
    const struct sym_member *all;
    uint32_t n = symfile_members(f, &all);

    if (depth > 8 || c->count > 4096) {
        c->unknown = true;
    } else if (t->kind == SYM_ARRAY) {
        c->unknown |= !e || !e->size;
        for (uint64_t i = 0; !c->unknown && i < t->count && c->count <= 4096; i++) {
            add_members(c, f, e, at + i * e->size, depth + 1);
        }
    } else if (t->kind == SYM_STRUCT || t->kind == SYM_UNION || t->kind == SYM_CLASS) {
        const struct members before = *c;
        /* A class may have to be passed by reference, for its copy constructor. */
        c->unknown |= t->kind == SYM_CLASS;
        for (uint32_t i = t->first; i < t->first + t->n && i < n; i++) {
            const struct sym_type *m = symfile_type(f, all[i].type);
            if (!m || all[i].dynamic || all[i].variant || all[i].base) {
                c->unknown = true;
            } else if (all[i].bit_size) {
                add_basic(c, m, m->size ? all[i].bit_offset / 8 / m->size * m->size : 0);
                c->count += 2; /* not a member like others */
            } else {
                add_members(c, f, m, at + all[i].bit_offset / 8, depth + 1);
            }
        }
        if (t->kind == SYM_UNION) {
            add_union(c, &before, at, t->size);
        }
        c->unknown |= t->incomplete != 0;
    } else {
        add_basic(c, t, at);
    }
}

static bool classify_struct(const struct call_printer *p, const struct symfile *f,
                            const struct sym_type *t, struct abi_type *out)
{
    struct members c = {
        .out = out, .max_align = abi_alignment(p->abi), .mixed = p->values.x87};

    out->what = ABI_STRUCT;
    out->eight[0] = out->eight[1] = ABI_FLOAT;
    add_members(&c, f, t, 0, 0);
    out->floats = c.floats != 0;
    out->nr_basic = (uint8_t)(c.count < 255 ? c.count : 255);
    if (c.floats == c.count && c.count <= 8 && c.floats * c.float_size == t->size) {
        out->same_floats = (uint8_t)c.floats;
    }
    return !c.unknown && c.count;
}

/* What a type is for the calling convention; false: how it is passed is not known. */
static bool classify(const struct call_printer *p, const struct symfile *f, uint32_t type,
                     struct abi_type *out)
{
    const struct sym_type *t = symfile_type(f, type);

    *out = (struct abi_type){0};
    if (!t || !t->size || t->size > MAX_VALUE) {
        return false;
    }
    out->size = out->align = (uint32_t)t->size;
    switch (t->kind) {
    case SYM_STRUCT:
    case SYM_UNION:
    case SYM_CLASS:
        out->align = 1;
        return classify_struct(p, f, t, out);
    case SYM_FLOAT:
        out->what = t->size <= 8 ? ABI_FLOAT : ABI_LONG_DOUBLE;
        return true;
    case SYM_COMPLEX:
    case SYM_VOID:
    case SYM_FUNCTION:
    case SYM_ARRAY: /* a vector */
        return false;
    default:
        out->what = ABI_INTEGER;
        return t->size <= 16;
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
    o.function = s->function;
    o.arg = s->arg;
    return o;
}

/* only: the value of the parameter of that name; NULL: all with their names. */
static bool put_dwarf(struct textbuf *b, const struct call_printer *p,
                      const struct module *m, const struct sym_prototype *proto,
                      const struct call_state *s, const char *only)
{
    struct value_options o = options_for(p, m, s);
    const struct sym_variable *vars;
    uint32_t n = symfile_variables(m->file, &vars);
    const struct sym_type *t = symfile_type(m->file, proto->result);
    struct abi_type type, result;
    struct abi_place place;
    struct abi_walk walk;
    struct bytes v;
    bool ok = true, known;

    known = classify(p, m->file, proto->result, &result);
    abi_begin(&walk, p->abi, o.big_endian, proto->variadic, known ? &result : NULL);
    walk.lost = !known && t && t->kind != SYM_VOID;
    for (uint32_t i = 0; ok && i < proto->n && proto->first + i < n; i++) {
        const struct sym_variable *var = &vars[proto->first + i];
        bool wanted = !only || !strcmp(only, var->name);
        ok = !i || only || textbuf_printf(b, ", ");
        if (ok && !only && *var->name) {
            ok = textbuf_printable(b, var->name, strlen(var->name)) &&
                 textbuf_printf(b, "=");
        }
        if (!classify(p, m->file, var->type, &type)) {
            walk.lost = true;
        } else {
            abi_next(&walk, &type, &place);
        }
        if (ok && wanted && !walk.lost && collect(p, s, &place, type.size, &v)) {
            ok = value_put(b, &o, var->type, v.v, v.known, v.n);
        } else {
            ok = ok && (!wanted || textbuf_printf(b, "?"));
        }
    }
    return ok && (only || !proto->variadic || proto->no_prototype ||
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
            type->align = type->size;
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

    abi_begin(&walk, p->abi, o.big_endian, false, NULL);
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
    struct abi_type word = {.what = ABI_INTEGER, .size = abi_word(p->abi), .align = 1};
    struct abi_place place;
    struct abi_walk walk;
    struct bytes v;
    bool ok = true;

    abi_begin(&walk, p->abi, o.big_endian, false, NULL);
    for (unsigned i = 0; ok && i < UNKNOWN_ARGS; i++) {
        abi_next(&walk, &word, &place);
        if (!collect(p, s, &place, word.size, &v) || !all_known(&v)) {
            break;
        }
        ok = value_put_basic(b, &o, VALUE_HEX, v.v, v.n) && textbuf_printf(b, ", ");
    }
    return ok && textbuf_printf(b, "...?");
}

/* -------------------------------------------------------- arguments and results */

/* The printer for functions of a module: those of ARM say in their file whether floats
 * are in registers for them. */
static struct call_printer printer_for(const struct call_printer *p,
                                       const struct module *m)
{
    struct call_printer out = *p;
    struct symfile_info info;

    if (p->abi && m && m->file) {
        symfile_info(m->file, &info);
        if (info.machine == EM_ARM && !(info.elf_flags & EF_ARM_ABI_FLOAT_HARD)) {
            out.abi = abi_find(EM_ARM, 32, p->values.big_endian, true);
        }
    }
    return out;
}

bool call_is_clone(const struct sym_function *fn)
{
    static const char *const suffixes[] = {".constprop", ".isra", ".part"};

    for (size_t i = 0; fn && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        const char *at = strstr(fn->linkage, suffixes[i]);
        size_t n = strlen(suffixes[i]);

        if (at && at != fn->linkage && (!at[n] || at[n] == '.')) {
            return true;
        }
    }
    return false;
}

bool call_put_arguments(struct textbuf *b, const struct call_printer *p,
                        const struct module *m, const struct sym_function *fn,
                        const struct call_state *s)
{
    const struct sym_prototype *proto = prototype(m, fn);
    const char *letters = fn ? prototype_of(fn->linkage) : NULL;
    struct call_printer q = printer_for(p, m);

    p = &q;
    if (!p->abi || !s->regs) {
        return textbuf_printf(b, "?");
    }
    if (call_is_clone(fn)) {
        return textbuf_printf(b, "...");
    }
    if (proto && !proto->no_prototype) {
        return put_dwarf(b, p, m, proto, s, NULL);
    }
    return letters ? put_letters(b, p, letters + 1, s) : put_guess(b, p, s);
}

bool call_put_argument(struct textbuf *b, const struct call_printer *p,
                       const struct module *m, const struct sym_function *fn,
                       const struct call_state *s, const char *name, bool *any)
{
    const struct sym_prototype *proto = prototype(m, fn);
    struct call_printer q = printer_for(p, m);
    size_t before = b->len;
    bool ok = true;

    if (q.abi && s->regs && proto && !proto->no_prototype && !call_is_clone(fn)) {
        ok = put_dwarf(b, &q, m, proto, s, name);
    }
    *any = b->len > before;
    return ok;
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
    struct call_printer q = printer_for(p, m);

    p = &q;
    *any = false;
    if (!p->abi || !s->regs || call_is_clone(fn)) {
        return true;
    }
    if (proto) {
        t = symfile_type(m->file, proto->result);
        if (!t || t->kind == SYM_VOID) {
            return true;
        }
        if (!classify(p, m->file, proto->result, &type)) {
            *any = true;
            return textbuf_printf(b, "?");
        }
    } else if (letters) {
        if (!letter_type(p, letters[0], &type, &basic)) {
            return true;
        }
    } else {
        type.size = abi_word(p->abi);
    }
    abi_result(p->abi, &type, t ? t->kind == SYM_POINTER : basic == VALUE_POINTER,
               o.big_endian, &place);
    *any = true;
    if (!collect(p, s, &place, type.size, &v) || (!t && !all_known(&v))) {
        return textbuf_printf(b, "?");
    }
    return t ? value_put(b, &o, proto->result, v.v, v.known, v.n)
             : value_put_basic(b, &o, basic, v.v, v.n);
}
