/* SPDX-License-Identifier: MIT */
/* Queries of an open file: binary searches in checked tables. */
#include <elf.h>
#include "symfile_table_priv.h"

void symfile_info(const struct symfile *f, struct symfile_info *out)
{
    *out = (struct symfile_info){
        .path = f->path,
        .debug_path = f->strings + f->table->debug_path,
        .machine = f->machine,
        .elf_flags = f->eflags,
        .big_endian = f->big_endian,
        .addr_bits = f->is64 ? 64 : 32,
        .movable = f->type == ET_DYN,
        .object = f->type == ET_REL,
        .has_symtab = f->table->has_symtab,
        .has_lines = f->table->part[PART_RANGES].n != 0,
        .lacks_debug = f->table->wants_debug && !f->table->has_symtab,
        .build_id = f->table->build_id,
        .build_id_bytes = f->table->build_id_bytes,
    };
}

bool symfile_vaddr(const struct symfile *f, uint64_t offset, uint64_t *vaddr)
{
    bool found = false;
    for (uint32_t i = 0; i < f->nr_segments; i++) {
        const struct segment *s = &f->segments[i];
        if (offset >= s->offset && offset - s->offset < s->filesz &&
            (!found || s->flags & PF_X)) {
            *vaddr = s->vaddr + (offset - s->offset);
            if (s->flags & PF_X) {
                return true;
            }
            found = true;
        }
    }
    return found;
}

/* The segment with these flags that has a byte from the file at vaddr, or NULL. */
static const struct segment *segment_at(const struct symfile *f, uint64_t vaddr,
                                        uint32_t flags)
{
    for (uint32_t i = 0; i < f->nr_segments; i++) {
        const struct segment *s = &f->segments[i];
        if ((s->flags & flags) == flags && vaddr >= s->vaddr &&
            vaddr - s->vaddr < s->filesz) {
            return s;
        }
    }
    return NULL;
}

bool symfile_offset(const struct symfile *f, uint64_t vaddr, uint64_t *offset,
                    uint64_t *n)
{
    const struct segment *s = segment_at(f, vaddr, PF_X);

    if (!s) {
        return false;
    }
    *offset = s->offset + (vaddr - s->vaddr);
    *n = s->filesz - (vaddr - s->vaddr);
    return true;
}

const uint8_t *symfile_bytes(const struct symfile *f, uint64_t vaddr, size_t *n)
{
    const struct segment *s = segment_at(f, vaddr, 0);

    *n = s ? (size_t)(s->filesz - (vaddr - s->vaddr)) : 0;
    return s ? f->map + s->offset + (vaddr - s->vaddr) : NULL;
}

uint64_t symfile_in_module(const struct symfile *f, uint64_t vaddr)
{
    const struct segment *s = segment_at(f, vaddr, 0);

    return !s || s->in_module == SYMFILE_NOT_IN_MODULE
               ? SYMFILE_NOT_IN_MODULE
               : s->in_module + (vaddr - s->vaddr);
}

/* Bytes of a segment in memory: one with cleared bytes has its last page cleared, too, where
 * allocators begin.  Pages have at least this size. */
static uint64_t bytes_in_memory(const struct segment *s)
{
    const uint64_t page = 4096, end = s->vaddr + s->memsz;

    return s->memsz > s->filesz ? s->memsz + (page - end % page) % page : s->memsz;
}

/* Of n bytes at vaddr, which the file has nothing for, those before another segment begins. */
static uint64_t up_to_segment(const struct symfile *f, uint64_t vaddr, uint64_t n)
{
    for (uint32_t i = 0; i < f->nr_segments; i++) {
        const struct segment *s = &f->segments[i];
        if (s->vaddr > vaddr && s->vaddr - vaddr < n) {
            n = s->vaddr - vaddr;
        }
    }
    return n;
}

size_t symfile_cleared(const struct symfile *f, uint64_t vaddr)
{
    for (uint32_t i = 0; f->type != ET_REL && i < f->nr_segments; i++) {
        const struct segment *s = &f->segments[i];
        if (vaddr >= s->vaddr && vaddr - s->vaddr >= s->filesz &&
            vaddr - s->vaddr < bytes_in_memory(s)) {
            return segment_at(f, vaddr, 0)
                       ? 0
                       : (size_t)up_to_segment(f, vaddr,
                                               bytes_in_memory(s) - (vaddr - s->vaddr));
        }
    }
    return 0;
}

bool symfile_is_constant(const struct symfile *f, uint64_t vaddr)
{
    const struct segment *s = segment_at(f, vaddr, 0);

    return s && !(s->flags & PF_W);
}

uint64_t symfile_first_vaddr(const struct symfile *f)
{
    return f->segments[0].vaddr;
}

uint32_t symfile_code(const struct symfile *f, const struct sym_code **v)
{
    *v = f->code;
    return (uint32_t)f->table->part[PART_CODE].n;
}

uint32_t symfile_functions(const struct symfile *f, const struct sym_function **v)
{
    *v = f->functions;
    return (uint32_t)f->table->part[PART_FUNCTIONS].n;
}

uint32_t symfile_ranges(const struct symfile *f, const struct sym_range **v)
{
    *v = f->ranges;
    return (uint32_t)f->table->part[PART_RANGES].n;
}

uint32_t symfile_scopes(const struct symfile *f, const struct sym_scope **v)
{
    *v = f->scopes;
    return (uint32_t)f->table->part[PART_SCOPES].n;
}

uint32_t symfile_nr_origins(const struct symfile *f)
{
    return f->table->nr_origins;
}

uint32_t symfile_nr_files(const struct symfile *f)
{
    return (uint32_t)f->table->part[PART_FILES].n;
}

const char *symfile_file(const struct symfile *f, uint32_t file)
{
    return file < f->table->part[PART_FILES].n ? f->files[file] : NULL;
}

uint64_t symfile_upto(const void *v, size_t elem, uint64_t n, uint64_t vaddr)
{
    uint64_t lo = 0;
    while (n) {
        uint64_t half = n / 2;
        const uint64_t *addr = (const void *)((const char *)v + (lo + half) * elem);
        if (*addr <= vaddr) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

uint32_t symfile_functions_upto(const struct symfile *f, uint64_t vaddr)
{
    return (uint32_t)symfile_upto(f->functions, sizeof(*f->functions),
                                  f->table->part[PART_FUNCTIONS].n, vaddr);
}

const struct sym_function *symfile_function(const struct symfile *f, uint64_t vaddr)
{
    uint64_t i = symfile_upto(f->functions, sizeof(*f->functions),
                              f->table->part[PART_FUNCTIONS].n, vaddr);
    return i && vaddr < f->functions[i - 1].end ? &f->functions[i - 1] : NULL;
}

const struct sym_range *symfile_range(const struct symfile *f, uint64_t vaddr)
{
    uint64_t i =
        symfile_upto(f->ranges, sizeof(*f->ranges), f->table->part[PART_RANGES].n, vaddr);
    return i && vaddr < f->ranges[i - 1].end ? &f->ranges[i - 1] : NULL;
}

/* The kind of the mapping symbol in effect, 0 if there is none. */
static char mark_at(const struct symfile *f, uint64_t vaddr)
{
    uint64_t i =
        symfile_upto(f->marks, sizeof(*f->marks), f->table->part[PART_MARKS].n, vaddr);
    return i ? f->marks[i - 1].kind : 0;
}

bool symfile_is_code(const struct symfile *f, uint64_t vaddr)
{
    uint64_t i =
        symfile_upto(f->code, sizeof(*f->code), f->table->part[PART_CODE].n, vaddr);
    return i && vaddr < f->code[i - 1].end && mark_at(f, vaddr) != 'd';
}

bool symfile_is_thumb(const struct symfile *f, uint64_t vaddr)
{
    char kind = mark_at(f, vaddr);
    if (f->machine != EM_ARM || kind == 'a' || kind == 't') {
        return f->machine == EM_ARM && kind == 't';
    }
    const struct sym_function *fn = symfile_function(f, vaddr);
    return fn && fn->thumb;
}

unsigned symfile_frames(const struct symfile *f, uint64_t vaddr, struct sym_frame *out,
                        unsigned max)
{
    const struct sym_range *r = symfile_range(f, vaddr);
    struct sym_frame frame = {0};
    unsigned n = 0;
    uint32_t scope = SYM_NONE;
    if (r) {
        frame.file = symfile_file(f, r->file);
        frame.line = r->line;
        frame.column = r->column;
        scope = r->scope;
    }
    while (scope != SYM_NONE) {
        const struct sym_scope *s = &f->scopes[scope];
        frame.function = s->name[0] ? s->name : NULL;
        frame.inlined = s->parent != SYM_NONE;
        if (!frame.inlined) {
            break;
        }
        if (n < max) {
            out[n] = frame;
        }
        n++;
        frame = (struct sym_frame){.file = symfile_file(f, s->call_file),
                                   .line = s->call_line,
                                   .column = s->call_column};
        scope = s->parent;
    }
    if (!frame.function) {
        const struct sym_function *fn = symfile_function(f, vaddr);
        frame.function = fn ? fn->name : NULL;
    }
    if (n < max) {
        out[n] = frame;
    }
    return n + 1;
}
