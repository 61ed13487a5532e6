/* SPDX-License-Identifier: MIT */
/*
 * Functions, and what can be said of a block of code before it runs.  Blocks are
 * described once, when they are met first, for all workers; only code whose place
 * depends on the time (libraries that were unloaded) is looked up again and again.
 */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/isa.h"

int code_init(struct code *c, struct ctr_trace *tr, const struct places *places)
{
    struct ctr_info info;

    *c = (struct code){.places = places, .trace = tr};
    ctr_trace_info(tr, &info);
    c->machine = info.elf_machine;
    c->isa_flags = info.addr_bits == 32 ? CANNOLI_ISA_32 : 0;
    c->big_endian = info.big_endian && c->machine != CANNOLI_EM_AARCH64;
    c->pc_mask = c->machine == CANNOLI_EM_ARM ? ~UINT64_C(1) : UINT64_MAX;
    c->nr_buckets = 1024;
    c->table = calloc(c->nr_buckets, sizeof(*c->table));
    c->nr_pages = 1u << (31 - SPOT_PAGE_BITS);
    c->pages = calloc(c->nr_pages, sizeof(*c->pages));
    pthread_mutex_init(&c->lock, NULL);
    return c->table && c->pages ? 0 : -CTR_E_NOMEM;
}

void spot_drop(struct spot *s)
{
    while (s) {
        struct spot *next = s->next;

        free(s);
        s = next;
    }
}

void code_fini(struct code *c)
{
    for (uint32_t i = 0; c->pages && i < c->nr_pages; i++) {
        struct spot_page *page = atomic_load_explicit(&c->pages[i], memory_order_relaxed);

        for (unsigned k = 0; page && k < 1u << SPOT_PAGE_BITS; k++) {
            spot_drop(page->v[k].next);
        }
        free(page);
    }
    for (size_t i = 0; c->table && i < c->nr_buckets; i++) {
        for (struct fn *f = c->table[i], *next; f; f = next) {
            next = f->chain;
            free(f->name);
            free(f);
        }
    }
    free(c->table);
    free(c->pages);
    pthread_mutex_destroy(&c->lock);
}

/* -------------------------------------------------------------- functions */

static size_t bucket(const struct code *c, enum fn_kind kind, const struct module *m,
                     uint64_t key)
{
    uint64_t h = key * 4 + kind + (m ? (uint64_t)(m->index + 1) << 48 : 0);

    return (size_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (c->nr_buckets - 1);
}

static void grow(struct code *c)
{
    size_t n = c->nr_buckets;
    struct fn **old = c->table, **v = calloc(2 * n, sizeof(*v));

    if (!v) {
        return;
    }
    c->table = v;
    c->nr_buckets = 2 * n;
    for (size_t i = 0; i < n; i++) {
        for (struct fn *f = old[i], *next; f; f = next) {
            size_t to = bucket(c, f->kind, f->module, f->vaddr);

            next = f->chain;
            f->chain = v[to];
            v[to] = f;
        }
    }
    free(old);
}

static bool is_twice(const struct sym_function *s)
{
    static const char *const names[] = {"setjmp",     "_setjmp",     "__setjmp",
                                        "sigsetjmp",  "__sigsetjmp", "savectx",
                                        "getcontext", "__getcontext"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(s->linkage, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static struct fn *find(struct code *c, enum fn_kind kind, const struct module *m,
                       uint64_t key)
{
    struct fn **head = &c->table[bucket(c, kind, m, key)], *f = *head;

    while (f && (f->kind != kind || f->module != m || f->vaddr != key)) {
        f = f->chain;
    }
    if (f || !(f = calloc(1, sizeof(*f)))) {
        return f;
    }
    *f = (struct fn){.chain = *head, .module = m, .vaddr = key, .kind = kind};
    f->range = f;
    f->index = SYM_NONE;
    *head = f;
    if (++c->nr_fns > c->nr_buckets) {
        grow(c);
    }
    return f;
}

struct fn *code_fn(struct code *c, enum fn_kind kind, const struct module *m,
                   uint64_t vaddr)
{
    struct fn *f;

    pthread_mutex_lock(&c->lock);
    f = find(c, kind, m, vaddr);
    pthread_mutex_unlock(&c->lock);
    return f;
}

struct fn *code_numbered(struct code *c, enum fn_kind kind, uint32_t number)
{
    struct fn *f = code_fn(c, kind, NULL, number);

    if (f && f->number != number) {
        f->number = number;
    }
    return f;
}

struct fn *code_enter(struct code *c, struct fn *range, uint64_t vaddr)
{
    struct fn *f;

    if (range->kind != FN_STRETCH) {
        return range;
    }
    pthread_mutex_lock(&c->lock);
    f = find(c, FN_CODE, range->module, vaddr);
    if (f && f->range == f) {
        f->range = range;
    }
    pthread_mutex_unlock(&c->lock);
    return f;
}

/*
 * The part of a function that a compiler took elsewhere because it seldom runs
 * ("parse.cold") is that function.
 */
static const struct sym_function *whole_of(const struct symfile *file,
                                           const struct sym_function *s)
{
    const char *cold = strstr(s->linkage, ".cold");
    const struct sym_function *v;
    uint32_t n;
    size_t len;

    if (!cold || (cold[5] && cold[5] != '.')) {
        return s;
    }
    len = (size_t)(cold - s->linkage);
    n = symfile_functions(file, &v);
    for (uint32_t i = 0; i < n; i++) {
        if (strncmp(v[i].linkage, s->linkage, len) == 0 && !v[i].linkage[len]) {
            return &v[i];
        }
    }
    return s;
}

/* In which function vaddr lies, or which stretch between; *end: how far. */
static struct fn *range_of(struct code *c, const struct module *m, uint64_t vaddr,
                           uint64_t *end, bool *start)
{
    const struct sym_function *v, *s;
    struct fn *f;
    uint32_t low = 0, high;

    *start = false;
    *end = UINT64_MAX;
    if (!m && c->machine == CANNOLI_EM_ARM && vaddr >= CODE_KUSER) {
        *start = !(vaddr & 31); /* helpers that the kernel has there for programs */
        *end = (vaddr | 31) + 1;
        return find(c, FN_CODE, NULL, vaddr & ~UINT64_C(31));
    }
    if (!m || !m->file) {
        return find(c, FN_STRETCH, m, 0);
    }
    high = symfile_functions(m->file, &v);
    s = symfile_function(m->file, vaddr);
    if (s) {
        const struct sym_function *whole = whole_of(m->file, s);

        *end = s->end;
        /* The second is the local entry point of ELFv2. */
        *start = s == whole && (vaddr == s->addr ||
                                (c->machine == CANNOLI_EM_PPC64 && vaddr == s->addr + 8));
        f = find(c, FN_CODE, m, whole->addr);
        if (f && !f->symbol) { /* new: others read it without the lock */
            f->symbol = whole;
            f->end = whole->end;
            f->twice = is_twice(whole);
        }
        return f;
    }
    while (low < high) { /* the first function behind vaddr */
        uint32_t mid = low + (high - low) / 2;

        if (v[mid].addr <= vaddr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low < symfile_functions(m->file, &v)) {
        *end = v[low].addr;
    }
    f = find(c, FN_STRETCH, m, low ? v[low - 1].end : 0);
    if (f && !f->end) {
        f->end = *end;
    }
    return f;
}

/* ---------------------------------------------------------------- branches */

static uint32_t flags_of(const struct code *c, uint8_t mode, const uint8_t *bytes,
                         uint32_t len)
{
    uint32_t flags = 0;

    cannoli_isa_flags(c->machine, mode | c->isa_flags, c->big_endian, bytes, len, &flags);
    /* Calls by convention use r14; what else keeps its address does so to find data. */
    if (c->machine == CANNOLI_EM_S390 && flags & CANNOLI_INSN_CALL && len >= 2 &&
        bytes[1] >> 4 != 14) {
        flags &= ~CANNOLI_INSN_CALL;
    }
    return flags;
}

#define MOV_LR_PC 0x01a0e00fu /* without its condition */

/* That before the instruction; QEMU ends a block where a page ends, so that it may
 * be in the block before. */
static bool sets_link(const struct code *c, const struct ctr_block *b, unsigned from,
                      unsigned i, const struct spot *s)
{
    const uint8_t *p = NULL;
    size_t n;

    if (c->machine != CANNOLI_EM_ARM || b->mode != CTR_ISA_DEFAULT) {
        return false;
    }
    if (i > from) {
        p = ctr_block_bytes(b, i - 1);
    } else if (s->range->module && s->range->module->file && s->vaddr >= 4) {
        p = symfile_bytes(s->range->module->file, s->vaddr - 4, &n);
        p = p && n >= 4 ? p : NULL;
    }
    return p && (cannoli_isa_u32(p, c->big_endian) & 0x0fffffff) == MOV_LR_PC;
}

void code_leave(const struct code *c, const struct ctr_block *b, unsigned from,
                unsigned i, struct spot *s)
{
    unsigned at = i;
    uint32_t f = flags_of(c, b->mode, ctr_block_bytes(b, i), ctr_block_len(b, i));

    s->delay_open = false;
    if (c->machine == CANNOLI_EM_MIPS) {
        if (f & CANNOLI_INSN_BRANCH) {
            s->delay_open = b->mode == CTR_ISA_DEFAULT;
        } else if (i > from) {
            at = i - 1;
            f = flags_of(c, b->mode, ctr_block_bytes(b, at), ctr_block_len(b, at));
        }
    }
    if ((f & (CANNOLI_INSN_INDIRECT | CANNOLI_INSN_RETURN)) == CANNOLI_INSN_INDIRECT &&
        sets_link(c, b, from, i, s)) {
        f |= CANNOLI_INSN_CALL;
    }
    /* Whether a Thumb branch is conditional is said by an IT before it. */
    s->cond = (f & CANNOLI_INSN_COND) ||
              (c->machine == CANNOLI_EM_ARM && b->mode == CTR_ISA_THUMB);
    s->site_off = (uint16_t)(ctr_block_pc(b, at) - ctr_block_pc(b, from));
    s->leave = !(f & CANNOLI_INSN_BRANCH)  ? LEAVE_NONE
               : f & CANNOLI_INSN_CALL     ? LEAVE_CALL
               : f & CANNOLI_INSN_RETURN   ? LEAVE_RETURN
               : f & CANNOLI_INSN_INDIRECT ? LEAVE_INDIRECT
                                           : LEAVE_JUMP;
}

static bool x86_call_before(const uint8_t *end, unsigned bits, uint64_t vaddr,
                            const struct symfile *file)
{
    size_t n;

    if (end[-5] == 0xe8) { /* of the file's own code, else it is something else */
        uint64_t to = vaddr + (uint64_t)(int32_t)cannoli_isa_u32(end - 4, 0);

        if (symfile_bytes(file, bits == 32 ? (uint32_t)to : to, &n)) {
            return true;
        }
    }
    for (unsigned k = 2; k < 8; k++) { /* ff /2 with an operand of that length */
        unsigned modrm = end[1 - (int)k], mod = modrm >> 6, rm = modrm & 7;
        unsigned len = 2 + (mod != 3 && rm == 4) +
                       (mod == 1              ? 1
                        : mod == 2            ? 4
                        : mod == 0 && rm == 5 ? 4
                                              : 0);

        if (end[-(int)k] == 0xff && (modrm >> 3 & 7) == 2 && len == k) {
            return true;
        }
    }
    return false;
}

/* May the instruction before vaddr be a call?  By the file's bytes. */
static bool may_return_to(const struct code *c, const struct module *m, uint64_t vaddr,
                          uint8_t mode)
{
    const struct sym_code *code;
    const uint8_t *p;
    size_t n;
    unsigned step = 2, most = 4;

    if (!m || !m->file || mode == CTR_ISA_MIPS16 || mode == CTR_ISA_MICROMIPS ||
        vaddr < 8) {
        return true;
    }
    for (uint32_t i = symfile_code(m->file, &code); i-- > 0;) {
        if (code[i].addr == vaddr) {
            return false;
        }
    }
    p = symfile_bytes(m->file, vaddr - 8, &n);
    if (!p || n < 8) {
        return true;
    }
    p += 8;
    switch (c->machine) {
    case CANNOLI_EM_386:
    case CANNOLI_EM_X86_64:
        return x86_call_before(p, c->machine == CANNOLI_EM_386 ? 32 : 64, vaddr, m->file);
    case CANNOLI_EM_MIPS:
        p -= 4;
        step = 4;
        break;
    case CANNOLI_EM_S390:
        most = 6;
        break;
    case CANNOLI_EM_ARM:
        step = mode == CTR_ISA_THUMB ? 2 : 4;
        if (step == 4 &&
            (cannoli_isa_u32(p - 8, c->big_endian) & 0x0fffffff) == MOV_LR_PC) {
            return true;
        }
        break;
    case CANNOLI_EM_RISCV:
        break;
    default:
        step = 4;
    }
    for (unsigned k = step; k <= most; k += step) {
        if (flags_of(c, mode, p - k, k) & CANNOLI_INSN_CALL) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- spots */

static bool place_of(struct code *c, uint64_t pc, const struct when *w, struct place *out)
{
    return c->places &&
           places_find(c->places, w->process, w->time_ns, w->chunk_end_ns, pc, out);
}

/* place NULL: in no file.  False: no memory; what was made is in s->next. */
static bool make(struct code *c, const struct ctr_block *b, const struct place *place,
                 struct spot *s)
{
    const struct module *m = place ? place->module : NULL;

    for (unsigned i = 0; i < b->ninsn;) {
        uint64_t pc = ctr_block_pc(b, i), end;
        unsigned k = i + 1;

        if (i) {
            s = s->next = aligned_alloc(64, sizeof(*s));
        }
        if (!s) {
            return false;
        }
        memset(s, 0, sizeof(*s));
        s->first = (uint16_t)i;
        s->pc = pc;
        s->vaddr = place ? place->vaddr + (pc - b->pc) : pc;
        s->range = range_of(c, m, s->vaddr, &end, &s->start);
        if (!s->range) {
            return false;
        }
        while (k < b->ninsn &&
               ctr_block_pc(b, k) == ctr_block_pc(b, k - 1) + ctr_block_len(b, k - 1) &&
               ctr_block_pc(b, k) - pc < end - s->vaddr) {
            k++;
        }
        s->end = (uint16_t)k;
        s->fall = ctr_block_pc(b, k - 1) + ctr_block_len(b, k - 1);
        code_leave(c, b, i, k - 1, s);
        s->after_call = may_return_to(c, m, s->vaddr, b->mode);
        if (s->range->kind == FN_STRETCH) {
            s->start = !s->after_call;
        } else {
            atomic_store_explicit(&s->entry, s->range, memory_order_relaxed);
        }
        i = k;
    }
    return true;
}

struct spot *code_spot_new(struct code *c, const struct ctr_block *b)
{
    struct place place;
    int where = c->places ? places_find_block(c->places, b, &place) : 0;
    struct spot_page *page;
    struct spot *s = NULL;

    pthread_mutex_lock(&c->lock);
    page = atomic_load_explicit(&c->pages[b->id >> SPOT_PAGE_BITS], memory_order_relaxed);
    if (!page) {
        page = aligned_alloc(64, sizeof(*page));
        if (page) {
            memset(page, 0, sizeof(*page));
            atomic_store_explicit(&c->pages[b->id >> SPOT_PAGE_BITS], page,
                                  memory_order_release);
        }
    }
    if (page) {
        s = &page->v[b->id & ((1u << SPOT_PAGE_BITS) - 1)];
    }
    if (s && atomic_load_explicit(&s->state, memory_order_relaxed) == SPOT_NEW) {
        if (where >= 0 && !make(c, b, where ? &place : NULL, s)) {
            spot_drop(s->next);
            s->next = NULL;
            s = NULL;
        } else {
            atomic_store_explicit(&s->state,
                                  where < 0                  ? SPOT_DEPENDS
                                  : s->next || s->delay_open ? SPOT_KNOWN
                                                             : SPOT_PLAIN,
                                  memory_order_release);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

struct spot *code_spot_at(struct code *c, const struct ctr_block *b, const struct when *w)
{
    struct place place;
    bool found = place_of(c, b->pc, w, &place);
    struct spot *s = aligned_alloc(64, sizeof(*s));

    pthread_mutex_lock(&c->lock);
    if (s && !make(c, b, found ? &place : NULL, s)) {
        spot_drop(s);
        s = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

bool code_locate(struct code *c, uint64_t pc, const struct when *w, struct spot *out)
{
    struct place place;
    uint64_t end;
    bool found;

    memset(out, 0, sizeof(*out));
    out->pc = out->fall = pc & c->pc_mask;
    found = place_of(c, out->pc, w, &place);
    out->vaddr = found ? place.vaddr : out->pc;
    out->after_call = true;
    pthread_mutex_lock(&c->lock);
    out->range = range_of(c, found ? place.module : NULL, out->vaddr, &end, &out->start);
    pthread_mutex_unlock(&c->lock);
    return out->range != NULL;
}
