/* SPDX-License-Identifier: MIT */
/*
 * Reads data objects, in the child: symbols of all tables, and variables of DWARF, which
 * give the symbols their types.  A variable belongs to the symbol at its address that has
 * its name; the compilers' symbols of a static variable in a function are "count.0" and
 * "tick.count".
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

struct variable {
    uint64_t addr;
    uint32_t name;     /* qualified, without a linkage name */
    uint32_t simple;   /* as in DWARF */
    uint32_t linkage;  /* or 0 */
    uint32_t function; /* around it, or 0 */
    uint32_t ticket, decl_file, decl_line;
    bool tls, external;
};

struct candidate_object {
    struct sym_object o; /* strings as offsets; type: a ticket plus 1, 0: none */
    uint8_t rank;
    bool typed, taken;
};

struct object_reader {
    struct symvec places;    /* struct span: allocated sections */
    struct symvec all;       /* struct candidate_object */
    struct symvec variables; /* struct variable */
    struct symhash seen;     /* symbols, by address and linkage */
    struct symhash declared; /* tickets of external declarations, by linkage + 1 */
};

static struct object_reader *reader_of(struct reader *r)
{
    struct object_reader *b = r->object_reader;
    if (b) {
        return b;
    }
    b = r->object_reader = calloc(1, sizeof(*b));
    if (!b) {
        reader_fail(r, SYMFILE_BAD, "its objects need too much memory");
    }
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    while ((scn = elf_nextscn(r->elf, scn)) != NULL) {
        if (gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_ALLOC && sh.sh_size &&
            sh.sh_addr + sh.sh_size > sh.sh_addr &&
            !(sh.sh_flags & SHF_TLS && sh.sh_type == SHT_NOBITS)) {
            *(struct span *)vec_push(r, &b->places, sizeof(struct span)) =
                (struct span){.addr = sh.sh_addr, .end = sh.sh_addr + sh.sh_size};
        }
    }
    for (uint32_t i = 0; b->places.n == 0 && i < r->file->nr_segments; i++) {
        const struct segment *s = &r->file->segments[i];
        *(struct span *)vec_push(r, &b->places, sizeof(struct span)) =
            (struct span){.addr = s->vaddr, .end = s->vaddr + s->memsz};
    }
    flatten(r, &b->places);
    return b;
}

/* Whether addr is in memory: what the linker discarded is not. */
static bool in_memory(struct object_reader *b, uint64_t addr)
{
    const struct span *v = b->places.p;
    size_t lo = 0, hi = b->places.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid].end <= addr) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < b->places.n && addr >= v[lo].addr;
}

/* -------------------------------------------------------------------- symbols */

static bool is_new(struct reader *r, uint64_t addr, uint32_t linkage, bool tls)
{
    struct {
        uint64_t addr;
        uint32_t linkage, tls;
    } key = {addr, linkage, tls};
    bool found;
    hash_at(r, &reader_of(r)->seen, hash_bytes(HASH_START, &key, sizeof(key)), &found);
    return !found;
}

void objects_symbol(struct reader *r, const char *name, const GElf_Sym *sym,
                    uint64_t addr, GElf_Word shndx, enum sym_source source)
{
    struct object_reader *b = reader_of(r);
    unsigned type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
    bool tls = type == STT_TLS, label = type == STT_NOTYPE;
    uint64_t end;
    if ((type != STT_OBJECT && type != STT_COMMON && !tls && !label) ||
        shndx == SHN_UNDEF || shndx == SHN_ABS || name[0] == '\0' || name[0] == '$' ||
        strncmp(name, ".L", 2) == 0 ||
        (label && (!in_memory(b, addr) || is_code_addr(r, addr, &end)))) {
        return;
    }
    const char *at = strchr(name + 1, '@');
    char *cut = at ? strndup(name, (size_t)(at - name)) : NULL;
    uint32_t linkage = string_add(r, cut ? cut : name);
    free(cut);
    addr = tls ? sym->st_value : addr;
    if (!is_new(r, addr, linkage, tls)) {
        return;
    }
    struct candidate_object *c = vec_push(r, &b->all, sizeof(*c));
    c->o.addr = addr;
    c->o.end = addr + sym->st_size < addr ? addr : addr + sym->st_size;
    c->o.linkage = STRING_PTR(linkage);
    c->o.name = STRING_PTR(string_demangle(r, linkage));
    c->o.decl_file = SYM_NONE;
    c->o.source = (uint8_t)source;
    c->o.local = bind == STB_LOCAL;
    c->o.tls = tls;
    c->rank = rank_name(string_get(r, linkage), sym);
}

/* ------------------------------------------------------------------ variables */

static bool is_tls_op(const Dwarf_Op *op)
{
    return op->atom == DW_OP_form_tls_address || op->atom == DW_OP_GNU_push_tls_address;
}

/* The value of an operation that pushes a constant address. */
static bool constant_op(Dwarf_Attribute *a, const Dwarf_Op *op, uint64_t *value,
                        bool *is_addr)
{
    Dwarf_Attribute at;
    Dwarf_Addr addr;
    Dwarf_Word v;
    *is_addr = op->atom == DW_OP_addr || op->atom == DW_OP_addrx ||
               op->atom == DW_OP_GNU_addr_index;
    switch (op->atom) {
    case DW_OP_addr:
    case DW_OP_const4u:
    case DW_OP_const8u:
    case DW_OP_constu:
        *value = op->number;
        return true;
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        *value = 0;
        if (dwarf_getlocation_attr(a, op, &at) != 0 || dwarf_formaddr(&at, &addr) != 0) {
            return false;
        }
        *value = addr;
        return true;
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
        if (dwarf_getlocation_attr(a, op, &at) != 0 ||
            (dwarf_formudata(&at, &v) != 0 && dwarf_formaddr(&at, &v) != 0)) {
            return false;
        }
        *value = v;
        return true;
    default:
        return false;
    }
}

/* A location that is one address, maybe plus a number, or an offset of thread storage. */
static bool fixed_place(Dwarf_Attribute *a, uint64_t *addr, bool *tls)
{
    Dwarf_Block block;
    Dwarf_Op *ops;
    size_t n;
    bool is_addr;
    if (!a->valp || dwarf_formblock(a, &block) != 0 || block.length < 2 ||
        dwarf_getlocation(a, &ops, &n) != 0 || n == 0 ||
        !constant_op(a, &ops[0], addr, &is_addr)) {
        return false;
    }
    *tls = n == 2 && is_tls_op(&ops[1]);
    if (*tls) {
        return true;
    }
    if (is_addr && n == 2 && ops[1].atom == DW_OP_plus_uconst) {
        *addr += ops[1].number;
        n = 1;
    } else if (is_addr && n == 3 && ops[2].atom == DW_OP_plus &&
               (ops[1].atom == DW_OP_constu || ops[1].atom == DW_OP_const1u ||
                ops[1].atom == DW_OP_const2u || ops[1].atom == DW_OP_const4u)) {
        *addr += ops[1].number;
        n = 1;
    }
    return is_addr && n == 1;
}

static uint32_t joined(struct reader *r, const char *a, const char *between,
                       const char *b)
{
    char *whole = NULL;
    if (asprintf(&whole, "%s%s%s", a, between, b) < 0) {
        return 0;
    }
    uint32_t s = string_add(r, whole);
    free(whole);
    return s;
}

static void declared(struct reader *r, struct var_attrs *a, const char *name)
{
    const char *linkage = a->linkage.valp ? dwarf_formstring(&a->linkage) : NULL;
    uint32_t ticket;
    bool found;
    if (!a->external || !a->type.valp) {
        return;
    }
    uint32_t key = string_add(r, linkage ? linkage : name);
    ticket = type_ticket(r, &a->type, SYM_NONE);
    uint32_t *at = hash_at(r, &reader_of(r)->declared, (uint64_t)key + 1, &found);
    *at = found ? *at : ticket;
}

void objects_variable(struct reader *r, Dwarf_Die *die, uint32_t prefix,
                      uint32_t function, Dwarf_Addr bias)
{
    struct object_reader *b = reader_of(r);
    struct var_attrs a;
    uint64_t addr;
    bool tls;
    if (function && !dwarf_hasattr_integrate(die, DW_AT_location) &&
        !dwarf_hasattr(die, DW_AT_declaration)) {
        return; /* most local variables of optimized code */
    }
    var_attrs_of(die, &a);
    const char *name = a.name.valp ? dwarf_formstring(&a.name) : NULL;
    if (!name) {
        return;
    }
    if (a.declaration || !a.location.valp) { /* gcc cannot describe TLS everywhere */
        declared(r, &a, name);
    }
    if (!fixed_place(&a.location, &addr, &tls) || (!tls && !in_memory(b, addr + bias))) {
        return;
    }
    const char *linkage = a.linkage.valp ? dwarf_formstring(&a.linkage) : NULL;
    Dwarf_Word line = 0;
    struct variable v = {
        .addr = tls ? addr : addr + bias, .function = function, .tls = tls};
    v.simple = string_add(r, name);
    v.name = prefix ? joined(r, string_get(r, prefix), "", name) : v.simple;
    v.linkage = linkage ? string_add(r, linkage) : 0;
    v.external = a.external;
    v.ticket = type_ticket(r, &a.type, SYM_NONE);
    v.decl_file = a.decl_file.valp ? file_of(r, &a.decl_file) : SYM_NONE;
    if (a.decl_line.valp && dwarf_formudata(&a.decl_line, &line) == 0 &&
        line < UINT32_MAX) {
        v.decl_line = (uint32_t)line;
    }
    *(struct variable *)vec_push(r, &b->variables, sizeof(v)) = v;
}

/* ---------------------------------------------------------------------- merging */

static _Thread_local const struct reader *sorting; /* qsort does not pass an argument */

static int best_first(const void *pa, const void *pb)
{
    const struct candidate_object *a = pa, *b = pb;
    if (a->o.tls != b->o.tls) {
        return a->o.tls ? 1 : -1;
    }
    if (a->o.addr != b->o.addr) {
        return a->o.addr < b->o.addr ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank > b->rank ? -1 : 1;
    }
    const char *x = string_get(sorting, STRING_OFF(a->o.linkage)),
               *y = string_get(sorting, STRING_OFF(b->o.linkage));
    size_t nx = strlen(x), ny = strlen(y);
    return nx != ny ? (nx > ny) - (nx < ny) : strcmp(x, y);
}

static void sort(struct reader *r)
{
    struct object_reader *b = reader_of(r);
    sorting = r;
    if (b->all.n > 1) {
        qsort(b->all.p, b->all.n, sizeof(struct candidate_object), best_first);
    }
}

/* The first of n sorted objects at an address or after it. */
static size_t lower(const struct object_reader *b, size_t n, uint64_t addr, bool tls)
{
    const struct candidate_object *v = b->all.p;
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid].o.tls < tls || (v[mid].o.tls == tls && v[mid].o.addr < addr)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Whether a symbol is that of a variable. */
static bool same_name(const struct reader *r, const struct variable *v,
                      const struct sym_object *o)
{
    const char *symbol = string_get(r, STRING_OFF(o->linkage));
    const char *name = string_get(r, v->simple), *f = string_get(r, v->function);
    size_t n = strlen(name), nf = strlen(f);
    if (v->linkage) {
        return STRING_OFF(o->linkage) == v->linkage;
    }
    if (STRING_OFF(o->linkage) == v->simple) {
        return true;
    }
    if (strncmp(symbol, name, n) == 0 && symbol[n] == '.') {
        return symbol[n + 1 + strspn(symbol + n + 1, "0123456789")] == '\0';
    }
    if (nf && strncmp(symbol, f, nf) == 0 && symbol[nf] == '.' &&
        strncmp(symbol + nf + 1, name, n) == 0) {
        return symbol[nf + 1 + n] == '\0' || symbol[nf + 1 + n] == '.';
    }
    const char *text = string_get(r, STRING_OFF(o->name)); /* "f()::count" */
    size_t nt = strlen(text);
    return STRING_OFF(o->name) != STRING_OFF(o->linkage) && nt > n + 2 &&
           memcmp(text + nt - n - 2, "::", 2) == 0 && strcmp(text + nt - n, name) == 0;
}

/* Gives a symbol the type and place of a variable. */
static void describe(struct reader *r, const struct variable *v,
                     struct candidate_object *c)
{
    c->o.type = type_of_ticket(r, v->ticket);
    c->typed = c->o.type != SYM_NONE;
    c->taken = true;
    c->o.decl_file = v->decl_file;
    c->o.decl_line = v->decl_line;
    if (STRING_OFF(c->o.name) == STRING_OFF(c->o.linkage)) { /* C */
        const char *f = string_get(r, v->function);
        c->o.name =
            STRING_PTR(f[0] ? joined(r, f, "::", string_get(r, v->simple)) : v->name);
    }
}

/* Adds a variable without a symbol. */
static void add_variable(struct reader *r, const struct variable *v)
{
    struct object_reader *b = reader_of(r);
    const char *f = string_get(r, v->function);
    uint32_t linkage = v->linkage ? v->linkage : v->simple;
    uint32_t name = v->linkage ? string_demangle(r, v->linkage) : v->name;
    if (f[0] && (!v->linkage || name == v->linkage)) {
        name = joined(r, f, "::", string_get(r, v->simple));
    }
    struct candidate_object c = {.o = {.addr = v->addr,
                                       .name = STRING_PTR(name),
                                       .linkage = STRING_PTR(linkage),
                                       .type = type_of_ticket(r, v->ticket),
                                       .decl_file = v->decl_file,
                                       .decl_line = v->decl_line,
                                       .source = SYM_DWARF,
                                       .local = !v->external,
                                       .tls = v->tls}};
    uint64_t size =
        c.o.type == SYM_NONE ? 0 : ((struct sym_type *)r->types.p)[c.o.type].size;
    c.o.end = v->addr + size < v->addr ? v->addr : v->addr + size;
    c.typed = c.taken = true;
    c.rank = 1;
    *(struct candidate_object *)vec_push(r, &b->all, sizeof(c)) = c;
}

/* Several units may have one variable (inline variables, templates). */
static void merge(struct reader *r, size_t symbols)
{
    struct object_reader *b = reader_of(r);
    const struct variable *v = b->variables.p;
    for (size_t i = 0; i < b->variables.n; i++) {
        bool found = false;
        for (size_t k = lower(b, symbols, v[i].addr, v[i].tls); k < symbols && !found;
             k++) {
            struct candidate_object *c = (struct candidate_object *)b->all.p + k;
            if (c->o.addr != v[i].addr || c->o.tls != v[i].tls) {
                break;
            }
            found = same_name(r, &v[i], &c->o);
            if (found && !c->taken) {
                describe(r, &v[i], c);
            }
        }
        if (!found &&
            is_new(r, v[i].addr, v[i].linkage ? v[i].linkage : v[i].name, v[i].tls)) {
            add_variable(r, &v[i]);
        }
    }
}

/* Objects of one address and size have one type; a symbol that some unit declares has the
 * declared type (data that another module defines, or assembler code). */
static void spread_types(struct reader *r)
{
    struct object_reader *b = reader_of(r);
    struct candidate_object *v = b->all.p;
    size_t n = b->all.n;
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i;
             next < n && v[next].o.addr == v[i].o.addr && v[next].o.tls == v[i].o.tls;
             next++) {
        }
        for (size_t from = i; from < next && next - i > 1 && next - i < 64; from++) {
            for (size_t to = i; v[from].taken && v[from].typed && to < next; to++) {
                if (!v[to].typed && v[to].o.end == v[from].o.end) {
                    v[to].o.type = v[from].o.type;
                    v[to].typed = true;
                }
            }
        }
        for (size_t k = i; k < next; k++) {
            uint64_t key = (uint64_t)STRING_OFF(v[k].o.linkage) + 1;
            bool found = false;
            if (v[k].typed || v[k].o.local || b->declared.n == 0) {
                continue;
            }
            uint32_t *at = hash_at(r, &b->declared, key, &found);
            if (!found) {
                *at = SYM_NONE;
            } else {
                v[k].o.type = type_of_ticket(r, *at);
                v[k].typed = v[k].o.type != SYM_NONE;
            }
        }
    }
}

void objects_finish(struct reader *r)
{
    struct object_reader *b = reader_of(r);
    struct symvec spans = {0};
    sort(r);
    size_t symbols = b->all.n;
    merge(r, symbols);
    sort(r);
    spread_types(r);
    const struct candidate_object *v = b->all.p;
    for (size_t i = 0; i < b->all.n; i++) {
        struct sym_object *o = vec_push(r, &r->objects, sizeof(*o));
        *o = v[i].o;
        o->type = v[i].typed ? o->type : SYM_NONE;
    }
    for (size_t i = b->all.n; i--;) { /* of one address the last one counts */
        if (!v[i].o.tls && v[i].o.end > v[i].o.addr) {
            *(struct span *)vec_push(r, &spans, sizeof(struct span)) =
                (struct span){v[i].o.addr, v[i].o.end, 0, (uint32_t)(b->all.n - 1 - i)};
        }
    }
    flatten_at(r, &spans, &r->object_at);
    struct sym_at *at = r->object_at.p;
    for (size_t i = 0; i < r->object_at.n; i++) {
        at[i].item = (uint32_t)(b->all.n - 1) - at[i].item;
    }
}
