/* SPDX-License-Identifier: MIT */
/*
 * Reads the symbols of an ELF file, in the child: mapping symbols, candidates for
 * functions, and the functions that are chosen from all candidates.  libdwfl chooses the
 * symbol table (.symtab, of a separate file if needed, else .dynsym with .gnu_debugdata);
 * .dynsym is read too, because a .symtab may lack names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

static bool has_mapping_symbols(const struct reader *r)
{
    uint32_t m = r->file->machine;
    return m == EM_ARM || m == EM_AARCH64 || m == EM_RISCV || m == EM_CSKY;
}

static void add_mark(struct reader *r, uint64_t addr, char kind)
{
    struct sym_mark *m = vec_push(r, &r->marks, sizeof(*m));
    m->addr = addr;
    m->kind = kind;
}

/* "$a", "$d.realdata", "$xrv64i2p0_m2p0" (RISC-V only) */
static bool is_mapping_symbol(const struct reader *r, const char *name)
{
    return name[0] == '$' && name[1] && strchr("atdx", name[1]) &&
           (name[2] == '\0' || name[2] == '.' ||
            (r->file->machine == EM_RISCV && strncmp(name, "$xrv", 4) == 0));
}

/* Whether the symbol's section is code; a stripped file has no sections. */
static bool in_code(struct reader *r, uint64_t addr, GElf_Word shndx)
{
    uint64_t end;
    return shndx != SHN_UNDEF && shndx != SHN_ABS && shndx != SHN_COMMON &&
           is_code_addr(r, addr, &end);
}

/* "0000001b.plt_call.puts@@GLIBC_2.17", as ld names stubs on PowerPC: "puts..." */
static const char *plt_stub_name(const char *name)
{
    size_t n = strspn(name, "0123456789abcdef");
    return n == 8 && strncmp(name + n, ".plt_call.", 10) == 0 ? name + n + 10 : NULL;
}

/* The address of an undefined function is that of its stub. */
static void add_plt_symbol(struct reader *r, struct symvec *candidates, const char *name,
                           uint64_t addr, bool thumb)
{
    char *text;
    if (asprintf(&text, "%.*s@plt", (int)strcspn(name, "@"), name) >= 0) {
        struct candidate *c = vec_push(r, candidates, sizeof(*c));
        c->addr = addr;
        c->linkage = string_add(r, text);
        c->source = SYM_PLT;
        c->rank = 255; /* besides it there are only the linker's labels */
        c->thumb = thumb;
        free(text);
    }
}

/* PowerPC64 with the ABI ELFv2: how far after its begin callers in the same file enter a
 * function (the field of three bits in st_other: 2 to the power of it, if more than 1). */
static uint8_t local_entry(const struct reader *r, const GElf_Sym *sym)
{
    unsigned field = sym->st_other >> 5;
    bool has = r->file->machine == EM_PPC64 && (r->file->eflags & 3) == 2;
    return has && field > 1 ? (uint8_t)(1u << field) : 0;
}

static void add_symbol(struct reader *r, struct symvec *candidates, const char *name,
                       const GElf_Sym *sym, uint64_t addr, GElf_Word shndx,
                       enum sym_source source)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    uint32_t m = r->file->machine;
    uint64_t end;
    if (name[0] == '$' && type == STT_NOTYPE && has_mapping_symbols(r) &&
        is_mapping_symbol(r, name)) {
        if (in_code(r, addr, shndx)) {
            add_mark(r, addr, name[1] == 'x' ? 'x' : name[1]);
        }
        return;
    }
    if (r->want & SYMFILE_DATA) {
        objects_symbol(r, name, sym, addr, shndx, source);
    }
    bool odd = (m == EM_ARM || m == EM_MIPS) && function && addr & 1;
    addr -= odd;
    const char *stub = plt_stub_name(name);
    if (stub || (shndx == SHN_UNDEF && function && addr && is_code_addr(r, addr, &end))) {
        name = stub ? stub : name;
        add_plt_symbol(r, candidates, name, addr, odd);
        return;
    }
    if ((!function && type != STT_NOTYPE) || name[0] == '\0' ||
        !in_code(r, addr, shndx) || (!function && strncmp(name, ".L", 2) == 0)) {
        return;
    }
    struct candidate *c = vec_push(r, candidates, sizeof(*c));
    const char *at = strchr(name + 1, '@');
    char *cut = at ? strndup(name, (size_t)(at - name)) : NULL;
    c->addr = addr;
    c->size = sym->st_size;
    c->linkage = string_add(r, cut ? cut : name);
    c->source = (uint8_t)source;
    c->thumb = m == EM_ARM && odd;
    c->local = local_entry(r, sym);
    c->ifunc = type == STT_GNU_IFUNC;
    c->label = !function;
    c->rank = rank_name(name, sym);
    free(cut);
}

/* Reads the whole table that libdwfl chose. */
static void read_chosen(struct reader *r, struct symvec *candidates)
{
    int n = dwfl_module_getsymtab(r->mod);
    bool own = false;
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    while ((scn = elf_nextscn(r->elf, scn)) != NULL) {
        own |= gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB && sh.sh_size != 0;
    }
    for (int i = 1; i < n; i++) {
        GElf_Sym sym;
        GElf_Addr addr, bias;
        GElf_Word shndx;
        Elf *elf;
        const char *name =
            dwfl_module_getsym_info(r->mod, i, &sym, &addr, &shndx, &elf, &bias);
        enum sym_source source = elf != r->elf
                                     ? (r->debug_path ? SYM_SYMTAB : SYM_DEBUGDATA)
                                 : own ? SYM_SYMTAB
                                       : SYM_DYNSYM;
        if (name) {
            r->has_symtab |= source != SYM_DYNSYM;
            add_symbol(r, candidates, name, &sym, addr, shndx, source);
        }
    }
}

static uint64_t section_addr(const struct reader *r, GElf_Section i)
{
    GElf_Shdr sh;
    return gelf_getshdr(elf_getscn(r->elf, i), &sh) ? sh.sh_addr : 0;
}

/* Reads the file's own tables: .dynsym, and .symtab if no other file may be read. */
static void read_own(struct reader *r, struct symvec *candidates)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    while ((scn = elf_nextscn(r->elf, scn)) != NULL) {
        Elf_Data *data;
        if (!gelf_getshdr(scn, &sh) ||
            (sh.sh_type != SHT_DYNSYM &&
             (sh.sh_type != SHT_SYMTAB || r->depth != DEPTH_FILE)) ||
            !(data = elf_getdata(scn, NULL)) || sh.sh_entsize == 0) {
            continue;
        }
        bool full = sh.sh_type == SHT_SYMTAB, object = r->file->type == ET_REL;
        r->has_symtab |= full;
        for (int i = 1; i < (int)(data->d_size / sh.sh_entsize); i++) {
            GElf_Sym sym;
            const char *name;
            if (gelf_getsym(data, i, &sym) &&
                (name = elf_strptr(r->elf, sh.sh_link, sym.st_name))) {
                uint64_t base = object ? section_addr(r, sym.st_shndx) : 0;
                add_symbol(r, candidates, name, &sym, base + sym.st_value, sym.st_shndx,
                           full ? SYM_SYMTAB : SYM_DYNSYM);
            }
        }
    }
}

static int marks_by_addr(const void *pa, const void *pb)
{
    const struct sym_mark *a = pa, *b = pb;
    return a->addr != b->addr ? (a->addr < b->addr ? -1 : 1)
                              : (a->seq > b->seq) - (a->seq < b->seq);
}

/* Of several at one address the last counts; before its first one a section is unknown.
 */
static void finish_marks(struct reader *r)
{
    if (r->marks.n == 0) {
        return;
    }
    struct symvec all = {0};
    const struct sym_code *code = r->code.p;
    for (size_t i = 0; i < r->code.n; i++) {
        struct sym_mark *m = vec_push(r, &all, sizeof(*m));
        m->addr = code[i].addr;
    }
    for (size_t i = 0; i < r->marks.n; i++) {
        struct sym_mark *m = vec_push(r, &all, sizeof(*m));
        *m = ((struct sym_mark *)r->marks.p)[i];
        m->seq = (uint32_t)i + 1; /* the marks of sections come first */
    }
    qsort(all.p, all.n, sizeof(struct sym_mark), marks_by_addr);
    free(r->marks.p);
    r->marks = all;
}

void read_symbols(struct reader *r, struct symvec *candidates)
{
    if (r->depth > DEPTH_FILE) {
        read_chosen(r, candidates);
    }
    read_own(r, candidates);
    finish_marks(r);
}

/* --------------------------------------------------------------- functions */

static _Thread_local const struct reader *sorting; /* qsort does not pass an argument */

static int best_first(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;
    if (a->addr != b->addr) {
        return a->addr < b->addr ? -1 : 1;
    }
    if (a->label != b->label) {
        return a->label ? 1 : -1;
    }
    if (a->rank != b->rank) {
        return a->rank > b->rank ? -1 : 1;
    }
    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    const char *x = string_get(sorting, a->linkage), *y = string_get(sorting, b->linkage);
    size_t nx = strlen(x), ny = strlen(y);
    return nx != ny ? (nx > ny) - (nx < ny) : strcmp(x, y);
}

/* Keeps all names of a function that are not its own one. */
static void add_aliases(struct reader *r, const struct candidate *c, size_t n,
                        uint32_t function)
{
    const struct sym_function *fn = (struct sym_function *)r->functions.p + function;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)function << 32 | c[i].linkage;
        bool found = STRING_OFF(fn->linkage) == c[i].linkage;
        if (!found) {
            hash_at(r, &r->alias_index, key + 1, &found);
        }
        if (!found) {
            struct sym_alias *a = vec_push(r, &r->aliases, sizeof(*a));
            a->linkage = STRING_PTR(c[i].linkage);
            a->name = STRING_PTR(string_demangle(r, c[i].linkage));
            a->function = function;
            a->ifunc = c[i].ifunc;
        }
    }
}

/* Whether a symbol is that of a function of DWARF; the compiler's copies are "name.isra.0". */
static bool is_of(const struct reader *r, const struct candidate *symbol,
                  const struct candidate *c)
{
    const char *a = string_get(r, symbol->linkage), *b = string_get(r, c->linkage);
    const size_t n = strlen(b);

    return symbol->source != SYM_DWARF && !symbol->label &&
           c->addr - symbol->addr < symbol->size && !strncmp(a, b, n) &&
           (a[n] == '\0' || a[n] == '.');
}

/*
 * A function of DWARF that begins inside its own symbol begins there: GCC leaves out the room
 * for patches at the entry (-fpatchable-function-entry), as in kernels of arm64.  The
 * candidates are sorted; whether one was moved.
 */
static bool move_to_symbols(const struct reader *r, struct candidate *c, size_t n)
{
    enum { MAX_BETWEEN = 16 };
    bool moved = false;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; c[i].source == SYM_DWARF && k-- > 0 && i - k <= MAX_BETWEEN;) {
            if (c[k].addr < c[i].addr && is_of(r, &c[k], &c[i])) {
                c[i].size += c[i].addr - c[k].addr;
                c[i].addr = c[k].addr;
                moved = true;
                break;
            }
        }
    }
    return moved;
}

/*
 * Chooses one name for each address.  A function extends to its size, or without one to
 * the next function; one that begins inside another gets the rest of that (as a label in
 * the middle of assembler code does).  A label inside a function is not a function.
 */
void functions_make(struct reader *r, struct symvec *candidates)
{
    struct candidate *c = candidates->p;
    size_t n = candidates->n;
    uint64_t reach = 0; /* end of the functions with a size up to here */
    struct sym_function *last = NULL;
    sorting = r;
    if (n > 1) {
        qsort(c, n, sizeof(*c), best_first);
        if (move_to_symbols(r, c, n)) {
            qsort(c, n, sizeof(*c), best_first);
        }
    }
    for (size_t i = 0, next; i < n; i = next) {
        uint64_t size = c[i].size, section_end = 0;
        bool label = c[i].label;
        for (next = i + 1; next < n && c[next].addr == c[i].addr; next++) {
            if (!c[next].label && c[next].size > size) {
                size = c[next].size;
            }
        }
        if ((label && c[i].addr < reach) || !is_code_addr(r, c[i].addr, &section_end)) {
            continue;
        }
        if (last && last->end > c[i].addr) {
            last->end = c[i].addr;
        }
        uint64_t end =
            size && size <= section_end - c[i].addr ? c[i].addr + size : section_end;
        if (size && end > reach) {
            reach = end;
        }
        end = size && reach > end && reach <= section_end ? reach : end;
        last = vec_push(r, &r->functions, sizeof(*last));
        last->addr = c[i].addr;
        last->end = end;
        last->linkage = STRING_PTR(c[i].linkage);
        last->name = STRING_PTR(string_demangle(r, c[i].linkage));
        last->source = c[i].source;
        last->thumb = c[i].thumb;
        last->local = c[i].local;
        last->ifunc = c[i].ifunc;
        if (r->want & SYMFILE_NAMES) {
            add_aliases(r, c + i, next - i, (uint32_t)r->functions.n - 1);
        }
    }
}
