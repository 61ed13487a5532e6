/* SPDX-License-Identifier: MIT */
/* Prints objects, types, variables and frames of symfile_data.h, symfile_vars.h and
 * symfile_frames.h as text (symdump.c). */
#include "symdump_data.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbols/dwarf_expr.h"
#include "symbols/symfile_data.h"
#include "symbols/symfile_frames.h"
#include "symbols/symfile_vars.h"

static const char *type_name(const struct symfile *f, uint32_t type)
{
    const struct sym_type *t = symfile_type(f, type);
    return t ? t->name : "?";
}

static const char *file_name(const struct symfile *f, uint32_t file)
{
    const char *path = symfile_file(f, file), *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "?";
}

static bool print_object(void *arg, const struct sym_object *o)
{
    static const char *const source[] = {"symtab", "dynsym", "debugdata", "plt", "dwarf"};
    const struct symfile *f = arg;
    printf("%" PRIx64 " %" PRIu64 " %s %s%s %s | %s | %s | %s:%u\n", o->addr,
           o->end - o->addr, source[o->source], o->local ? "local" : "global",
           o->tls ? " tls" : "", o->linkage, o->name, type_name(f, o->type),
           file_name(f, o->decl_file), o->decl_line);
    return true;
}

static void print_objects(const struct symfile *f)
{
    const struct sym_object *v;
    uint32_t n = symfile_objects(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        print_object((void *)(uintptr_t)f, &v[i]);
    }
}

static bool print_function(void *arg, const struct sym_function *fn, const char *name)
{
    (void)arg;
    printf("%" PRIx64 " %s | %s\n", fn->addr, fn->linkage, name);
    return true;
}

static void print_member(const struct symfile *f, const struct sym_member *m)
{
    printf("  %" PRIu64, m->bit_offset / 8);
    if (m->bit_size) {
        printf(":%" PRIu64 " bits %u", m->bit_offset % 8, m->bit_size);
    }
    printf(" %s | %s%s%s%s\n", m->name[0] ? m->name : "-", type_name(f, m->type),
           m->base ? " base" : "", m->dynamic ? " dynamic" : "",
           m->variant ? " variant" : "");
}

static void print_type(const struct symfile *f, uint32_t type)
{
    static const char *const kind[SYM_KINDS] = {
        "void",    "signed",  "unsigned",  "bool",       "char",  "float",
        "complex", "pointer", "reference", "struct",     "union", "class",
        "array",   "enum",    "function",  "unspecified"};
    const struct sym_type *t = symfile_type(f, type);
    const struct sym_member *m;
    const struct sym_enumerator *e;
    if (!t) {
        printf("?\n");
        return;
    }
    symfile_members(f, &m);
    symfile_enumerators(f, &e);
    printf("%s %s size %" PRIu64, t->name, kind[t->kind], t->size);
    if (t->kind == SYM_ARRAY) {
        printf(t->no_count ? " count ?" : " count %" PRIu64, t->count);
    }
    printf(" bare %s", type_name(f, t->bare));
    if (t->target != SYM_NONE) {
        printf(" target %s", type_name(f, t->target));
    }
    printf("%s%s%s%s\n", t->is_signed ? " is_signed" : "", t->swapped ? " swapped" : "",
           t->incomplete ? " incomplete" : "", t->variadic ? " variadic" : "");
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->kind == SYM_ENUM) {
            printf("  %s %" PRId64 "\n", e[t->first + i].name, e[t->first + i].value);
        } else {
            print_member(f, &m[t->first + i]);
        }
    }
}

static void print_types(const struct symfile *f)
{
    const struct sym_type *v;
    uint32_t n = symfile_types(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        print_type(f, i);
    }
}

static void print_prototypes(const struct symfile *f)
{
    const struct sym_prototype *p;
    const struct sym_scope *s;
    const struct sym_variable *v;
    uint32_t n = symfile_prototypes(f, &p);
    symfile_scopes(f, &s);
    symfile_variables(f, &v);
    for (uint32_t i = 0; i < n; i++) {
        printf("%" PRIx64 " %s %s(", p[i].entry, type_name(f, p[i].result),
               s[p[i].scope].name);
        for (uint32_t k = 0; k < p[i].n; k++) {
            const struct sym_variable *x = &v[p[i].first + k];
            printf("%s%s %s", k ? ", " : "", type_name(f, x->type),
                   x->name[0] ? x->name : "-");
        }
        printf("%s)%s\n", p[i].variadic ? ", ..." : "",
               p[i].no_prototype ? " no prototype" : "");
    }
}

/* ------------------------------------------------------------------ variables */

struct context {
    const struct symfile *f;
    uint64_t pc;
    char **regs; /* "NUMBER=HEX", by DWARF's numbers */
};

static bool given_reg(void *arg, uint32_t number, uint64_t *value)
{
    const struct context *c = arg;
    for (char **r = c->regs; *r; r++) {
        char *rest;
        if (strtoul(*r, &rest, 10) == number && *rest == '=') {
            *value = strtoull(rest + 1, NULL, 16);
            return true;
        }
    }
    return false;
}

static void print_place(const struct dwarf_place *p, const char *reason)
{
    switch (p->where) {
    case DWARF_UNKNOWN:
        printf("unknown: %s", reason);
        break;
    case DWARF_NOWHERE:
        printf("optimized out");
        break;
    case DWARF_ADDRESS:
        printf("address %" PRIx64, p->number);
        break;
    case DWARF_REGISTER:
        printf("register %" PRIu64, p->number);
        break;
    case DWARF_VALUE:
        printf("value %" PRIx64, p->number);
        break;
    case DWARF_PIECES:
        printf("pieces");
        break;
    default:
        printf("bytes");
        for (size_t i = 0; i < p->nr_bytes; i++) {
            printf(" %02x", p->bytes[i]);
        }
        break;
    }
}

static bool print_variable(void *arg, const struct sym_variable *v,
                           const struct sym_block *b)
{
    struct context *c = arg;
    const struct sym_scope *s;
    struct symfile_info info;
    struct dwarf_result r;
    symfile_scopes(c->f, &s);
    symfile_info(c->f, &info);
    struct dwarf_env env = {.arg = c,
                            .reg = given_reg,
                            .addr_bytes = info.addr_bits / 8,
                            .big_endian = info.big_endian};
    printf("%s: %s %s | %s | ", s[b->scope].name, v->parameter ? "parameter" : "local",
           v->name, type_name(c->f, v->type));
    symfile_locate(c->f, v, c->pc, &env, &r);
    print_place(&r.place, r.reason);
    for (unsigned i = 0; i < r.nr_pieces && r.place.where == DWARF_PIECES; i++) {
        printf(", %" PRIu64 " bits ", r.piece[i].bit_size);
        print_place(&r.piece[i], NULL);
    }
    printf("\n");
    return true;
}

/* The variables at the start of every block: all kinds of locations. */
static void print_all_variables(const struct symfile *f)
{
    static char *none[1];
    const struct sym_prototype *p;
    uint32_t n = symfile_prototypes(f, &p);
    for (uint32_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < 64; k += 7) {
            struct context c = {f, p[i].entry + k, none};
            symfile_visible(f, c.pc, print_variable, &c);
        }
    }
}

/* ---------------------------------------------------------------------- frames */

static void print_rule(const struct sym_rule *r)
{
    static const char *const kind[SYM_RULES] = {"undefined", "at",      "is",
                                                "register",  "at-expr", "is-expr"};
    printf(" r%u=%s", r->reg, kind[r->kind]);
    if (r->kind == SYM_RULE_REGISTER) {
        printf(" r%u", r->from);
    }
    printf("%+" PRId64, r->offset);
    for (uint32_t i = 0; i < r->expr_bytes; i++) {
        printf("%s%02x", i ? "" : " ", r->expr[i]);
    }
}

static void print_frames(const struct symfile *f)
{
    const struct sym_frame_row *v;
    const struct sym_rule *rule;
    uint32_t n = symfile_frame_rows(f, &v);
    symfile_frame_rules(f, &rule);
    for (uint32_t i = 0; i < n; i++) {
        printf("%" PRIx64 " %" PRIx64 " ra r%u%s cfa", v[i].addr, v[i].end,
               v[i].return_reg, v[i].signal_frame ? " signal" : "");
        print_rule(&v[i].cfa);
        printf(" :");
        for (uint32_t k = 0; k < v[i].n; k++) {
            print_rule(&rule[v[i].first + k]);
        }
        printf("\n");
    }
}

/* ---------------------------------------------------------------------- lookups */

static bool print_range(void *arg, const struct sym_range *r)
{
    (void)arg;
    printf("%" PRIx64 " %" PRIx64 "\n", r->addr, r->end);
    return true;
}

static int find_line(const struct symfile *f, const char *text)
{
    size_t n;
    uint32_t line;
    if (!sym_parse_line(text, &n, &line)) {
        printf("not a line\n");
        return 1;
    }
    char *file = strndup(text, n);
    struct sym_line_match m = symfile_lines(f, file, line, print_range, NULL);
    printf("files %u ranges %u line %u\n", m.nr_files, m.nr_ranges, m.line);
    free(file);
    return 0;
}

static bool first_object(void *arg, const struct sym_object *o)
{
    *(const struct sym_object **)arg = o;
    return false;
}

static bool first_type(void *arg, const struct sym_object *o)
{
    *(uint32_t *)arg = o->type;
    return o->type == SYM_NONE;
}

/* Prints the number in a part of an object, from the bytes of the file. */
static int print_value(const struct symfile *f, const char *name, const char *path)
{
    const struct sym_object *o = NULL;
    struct symfile_info info;
    struct sym_part p;
    char why[200];
    size_t n;
    symfile_find_objects(f, name, first_object, &o);
    symfile_info(f, &info);
    if (!o || !symfile_member(f, o->type, path, &p, why, sizeof(why))) {
        printf("%s\n", o ? why : "no such object");
        return 1;
    }
    const uint8_t *at = symfile_bytes(f, o->addr + p.offset, &n);
    if (!at || n < p.size || p.size > 9) {
        printf("no bytes\n");
        return 1;
    }
    uint64_t v = p.bit_size ? sym_bit_field(at, p.bit_offset, p.bit_size, info.big_endian)
                            : sym_bit_field(at, 0, 8 * (uint32_t)p.size, info.big_endian);
    printf("%" PRIx64 "\n", v);
    return 0;
}

/* PATH is of a type, or of the first object with that name */
static int find_part(const struct symfile *f, const char *name, const char *path)
{
    struct sym_part p;
    char why[200];
    uint32_t type = symfile_find_type(f, name);
    if (type == SYM_NONE) {
        symfile_find_objects(f, name, first_type, &type);
    }
    if (!symfile_member(f, type, path, &p, why, sizeof(why))) {
        printf("%s\n", why);
        return 1;
    }
    printf("offset %" PRIu64 " size %" PRIu64, p.offset, p.size);
    if (p.bit_size) {
        printf(" bits %u+%u", p.bit_offset, p.bit_size);
    }
    printf(" %s\n", type_name(f, p.type));
    return 0;
}

void symdump_data_all(const struct symfile *f)
{
    print_objects(f);
    print_types(f);
    print_prototypes(f);
    print_all_variables(f);
    print_frames(f);
}

int symdump_data(const char *what, const struct symfile *f, char **arg)
{
    void *opaque = (void *)(uintptr_t)f;
    if (strcmp(what, "objects") == 0) {
        print_objects(f);
    } else if (strcmp(what, "types") == 0) {
        print_types(f);
    } else if (strcmp(what, "prototypes") == 0) {
        print_prototypes(f);
    } else if (strcmp(what, "frames") == 0) {
        print_frames(f);
    } else if (!arg[0]) {
        return -1;
    } else if (strcmp(what, "type") == 0) {
        print_type(f, symfile_find_type(f, arg[0]));
    } else if (strcmp(what, "find-functions") == 0) {
        symfile_find_functions(f, arg[0], print_function, NULL);
    } else if (strcmp(what, "find-objects") == 0) {
        symfile_find_objects(f, arg[0], print_object, opaque);
    } else if (strcmp(what, "object") == 0) {
        const struct sym_object *o = symfile_object(f, strtoull(arg[0], NULL, 16));
        printf("%s\n", o ? o->name : "-");
    } else if (strcmp(what, "variables") == 0) {
        struct context c = {f, strtoull(arg[0], NULL, 16), arg + 1};
        symfile_visible(f, c.pc, print_variable, &c);
    } else if (strcmp(what, "line") == 0) {
        return find_line(f, arg[0]);
    } else if (strcmp(what, "part") == 0 && arg[1]) {
        return find_part(f, arg[0], arg[1]);
    } else if (strcmp(what, "value") == 0 && arg[1]) {
        return print_value(f, arg[0], arg[1]);
    } else if (strcmp(what, "match") == 0 && arg[1] && arg[2]) {
        printf("%d\n", sym_name_matches(arg[0], arg[1], arg[2]));
    } else {
        return -1;
    }
    return 0;
}
