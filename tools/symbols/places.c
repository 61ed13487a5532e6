/* SPDX-License-Identifier: MIT */
/*
 * Where code was mapped: the mappings of a trace as ranges of modules.
 *
 * Most blocks of a trace have one place only, in any process at any time; this is found
 * without process and time (places_ranges.c).  The other blocks are rare because a
 * block's bytes are known: of two libraries that were mapped at the same addresses one
 * after the other, only one contains them.
 */
#include "places_priv.h"

#include <string.h>

#include "input/mappings.h"

/* The place of a pc in a range; false: that part of the file is not loaded. */
bool range_place(const struct range *r, uint64_t pc, struct place *out)
{
    uint64_t offset = pc - r->start + r->offset, first, bias, low, high;
    struct symfile *f = r->mod->pub.file;
    size_t left = 0;

    if (r->mod->jit) {
        return jit_place(r->mod, pc, out);
    }
    out->module = &r->mod->pub;
    out->vaddr = offset;
    out->start = r->start;
    out->end = r->end;
    if (!f || r->fixed) {
        return true;
    }
    if (!symfile_vaddr(f, offset, &out->vaddr)) {
        return false;
    }
    bias = out->vaddr - offset;
    symfile_bytes(f, out->vaddr, &left);
    if (left && left < out->end - pc) {
        out->end = pc + left;
    }
    /* The start of the segment, or of the mapping if that is later. */
    for (low = r->start, high = pc; low < high;) {
        uint64_t mid = low == r->start ? low : low + (high - low) / 2;
        uint64_t at = mid - r->start + r->offset;
        if (symfile_vaddr(f, at, &first) && first - at == bias) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    out->start = high;
    return true;
}

static const uint8_t *bytes_of(const struct mod *m, uint64_t vaddr, size_t *n)
{
    return m->jit ? jit_bytes(m, vaddr, n) : symfile_bytes(m->pub.file, vaddr, n);
}

/* Of a block, fewer bytes say nothing: Linux replaces some instructions by others. */
#define ENOUGH_BYTES 16u
/* x86: of a jump to the return thunk, only a return may be left. */
#define JUMP_BYTES 5u

/* Compares a block with a file that was changed when it was loaded. */
static enum likeness resembles(const struct ctr_block *b, const struct symfile *f,
                               uint64_t vaddr)
{
    unsigned same = 0, of = 0;

    for (unsigned i = 0; i < b->ninsn; i++) {
        const uint64_t at = vaddr + (b->pcs ? b->pcs[i] - b->pc : b->off[i]);
        const uint8_t *code = ctr_block_bytes(b, i), *bytes;
        const size_t len = ctr_block_len(b, i);
        size_t left;

        if (symfile_is_filled_in(f, at, len == 1 ? JUMP_BYTES : len)) {
            continue;
        }
        bytes = symfile_bytes(f, at, &left);
        for (size_t k = 0; k < len; k++) {
            same += k < left && bytes[k] == code[k];
        }
        of += (unsigned)len;
    }
    return 2 * same > of ? SAME : of < ENOUGH_BYTES ? UNKNOWN : DIFFERS;
}

/* Compares the bytes of the block and of the file. */
enum likeness places_compare(const struct ctr_block *b, const struct mod *m,
                             uint64_t vaddr)
{
    size_t len, left;
    const uint8_t *bytes;

    if (mod_has_bytes(m) && m->filled_in) {
        return resembles(b, m->pub.file, vaddr);
    }
    if (!mod_has_bytes(m) || m->trusted) {
        return UNKNOWN;
    }
    if (!b->pcs) {
        len = b->off[b->ninsn];
        bytes = bytes_of(m, vaddr, &left);
        return !bytes                                        ? UNKNOWN
               : left >= len && !memcmp(bytes, b->code, len) ? SAME
                                                             : DIFFERS;
    }
    for (unsigned i = 0; i < b->ninsn; i++) {
        len = ctr_block_len(b, i);
        bytes = bytes_of(m, vaddr + (b->pcs[i] - b->pc), &left);
        if (!bytes) {
            return UNKNOWN;
        }
        if (left < len || memcmp(bytes, ctr_block_bytes(b, i), len)) {
            return DIFFERS;
        }
    }
    return SAME;
}

/* The result of comparing a block with its candidates. */
struct comparison {
    unsigned same, unknown, nowhere, patched;
    bool
        by_task; /* an unknown one is of a process: others may have something else there */
    struct place same_at, unknown_at, patched_at; /* the first of each */
};

static void compare_candidates(const struct places *p, const struct range_piece *piece,
                               const struct ctr_block *b, struct comparison *c)
{
    struct place place;

    memset(c, 0, sizeof(*c));
    for (uint32_t i = 0; i < piece->n; i++) {
        const struct range *r = &p->ranges.v[p->ranges.list[piece->first + i]];
        if (!r->mod) {
            c->nowhere++; /* may have been written at run time */
            continue;
        }
        if (!range_place(r, b->pc, &place)) {
            continue;
        }
        switch (places_compare(b, r->mod, place.vaddr)) {
        case SAME:
            c->same_at = c->same ? c->same_at : place;
            c->same++;
            break;
        case UNKNOWN:
            c->by_task |= p->tasks && !r->fixed;
            c->unknown_at = c->unknown ? c->unknown_at : place;
            c->unknown++;
            break;
        case DIFFERS: /* programs change the code that they made */
            c->patched_at = c->patched ? c->patched_at : place;
            c->patched += r->mod->jit != NULL;
            break;
        }
    }
    if (!c->same && !c->unknown) {
        c->unknown = c->patched;
        c->unknown_at = c->patched_at;
    }
}

int places_find_block(const struct places *p, const struct ctr_block *b,
                      struct place *out)
{
    const struct range_piece *piece = ranges_find(&p->ranges, b->pc);
    struct comparison c;

    if (!piece) {
        return 0;
    }
    if (piece->n == RANGES_MANY) {
        return -1;
    }
    compare_candidates(p, piece, b, &c);
    if (c.same) {
        *out = c.same_at;
        /* Code of no name may equal what another process made. */
        return c.same + c.unknown == 1 && !(c.nowhere && out->module->generated) ? 1 : -1;
    }
    if (!c.unknown) {
        return 0;
    }
    *out = c.unknown_at;
    return c.unknown + c.nowhere == 1 && !c.by_task ? 1 : -1;
}

/* What a machine always has there. */
static bool find_fixed(const struct places *p, uint64_t pc, struct place *out)
{
    const struct range_piece *piece = ranges_find(&p->ranges, pc);

    for (uint32_t i = 0; piece && piece->n != RANGES_MANY && i < piece->n; i++) {
        const struct range *r = &p->ranges.v[p->ranges.list[piece->first + i]];
        if (r->fixed) {
            return range_place(r, pc, out);
        }
    }
    return false;
}

bool places_find(const struct places *p, uint32_t process, uint64_t time_ns,
                 uint64_t chunk_end_ns, uint64_t pc, struct place *out)
{
    const struct places *whole = NULL;
    const struct mapped_file *f;
    struct mod *mod;
    struct ctr_mapping m;
    struct range r;

    if (!p->mappings) {
        return (p->tasks && places_tasks_find(p, time_ns, pc, &r) &&
                range_place(&r, pc, out)) ||
               find_fixed(p, pc, out);
    }
    if (!mappings_find(p->mappings, process, time_ns, chunk_end_ns, pc, &m)) {
        mod = NULL;
    } else if (p->lazy) {
        mod = places_lazy_mod(p, &m, &whole);
    } else {
        f = places_file(p, &m);
        mod = f ? f->mod : NULL;
    }
    if (!mod && !whole && p->lazy) {
        whole = places_lazy_generated(p, process, chunk_end_ns);
    }
    if (whole) {
        return places_find(whole, process, time_ns, chunk_end_ns, pc, out);
    }
    if (!mod) {
        return places_jit_find(p, process, time_ns, pc, out);
    }
    r = range_of_mapping(&m, mod);
    return range_place(&r, pc, out);
}

int places_find_always(const struct places *p, uint64_t pc, struct place *out)
{
    const struct range_piece *piece = ranges_find(&p->ranges, pc);
    const struct range *r;

    if (!piece) {
        return 0;
    }
    if (piece->n != 1) {
        return -1;
    }
    r = &p->ranges.v[p->ranges.list[piece->first]];
    if (p->tasks && !r->fixed) {
        return -1;
    }
    return r->mod && range_place(r, pc, out);
}

bool places_find_block_at(const struct places *p, const struct ctr_block *b,
                          uint32_t process, uint64_t time_ns, uint64_t chunk_end_ns,
                          struct place *out)
{
    const struct range_piece *piece = ranges_find(&p->ranges, b->pc);
    enum likeness like = DIFFERS;
    bool patched = false;
    struct comparison c;

    if (places_find(p, process, time_ns, chunk_end_ns, b->pc, out)) {
        const struct mod *m = p->set->mods[out->module->index];
        like = places_compare(b, m, out->vaddr);
        patched = m->jit && like == DIFFERS;
    }
    if (like == DIFFERS && !p->tasks && piece && piece->n != RANGES_MANY) {
        compare_candidates(p, piece, b, &c);
        if (c.same && (!c.same_at.module->generated ||
                       places_jit_in(p, process, c.same_at.module))) {
            *out = c.same_at;
            return true;
        }
    }
    return like != DIFFERS || patched;
}

uint64_t places_time(const struct places *p, const struct ctr_chunk *chunk,
                     uint64_t ordinal, uint64_t *until)
{
    *until = UINT64_MAX;
    if (p->tasks) {
        return places_tasks_time(p->tasks, chunk->thread, ordinal, until);
    }
    return p->mappings ? mappings_time(p->mappings, chunk, ordinal, until)
                       : chunk->start_ns;
}

bool places_by_task(const struct places *p)
{
    return p->tasks != NULL;
}

bool places_loaded(const struct places *p, const struct module *m, struct place_load *out)
{
    const struct mapped_file *f = p->files, *end = f + p->nr_files;
    struct place place;

    while (f < end && !(f->mod && &f->mod->pub == m && f->end)) {
        f++;
    }
    if (f == end) {
        return false;
    }
    out->start = f->start;
    out->end = f->end;
    for (size_t i = 0; i < p->ranges.n; i++) {
        const struct range *r = &p->ranges.v[i];
        if (r->mod != f->mod || r->start < f->start || r->start >= f->end) {
            continue;
        }
        /* The segment may begin anywhere in its first pages. */
        for (uint64_t pc = r->start; pc < r->end && pc - r->start < 0x20000;
             pc += 0x400) {
            if (range_place(r, pc, &place)) {
                out->vaddr = place.vaddr - (pc - f->start);
                return true;
            }
        }
    }
    return false;
}

struct modset *places_modset(const struct places *p)
{
    return p->set;
}
