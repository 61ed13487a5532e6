/* SPDX-License-Identifier: MIT */
/*
 * Names the entries of procedure linkage tables.  An entry loads its jump target from a
 * slot of the global offset table, and the relocation of that slot names the function.
 * So each entry is decoded for its slot, which works for every linker, order and variant
 * (lazy or not, with landing pads, of Thumb callers).  Relocations and symbols are found
 * in the same way as by the dynamic linker, so section headers are not needed.  MIPS
 * stubs need none of this: their symbols have addresses.
 */
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

struct plt {
    struct reader *r;
    const struct symfile *f;
    struct symvec *candidates;
    struct symhash slots;   /* maps a slot's address + 1 to a name (string) */
    struct symvec in_order; /* uint32_t: names of the lazy entries */
    uint64_t symtab, strtab, got, toc, glink;
    bool big_code;
};

/* ------------------------------------------------------------------ reading */

static uint64_t load(const struct plt *p, uint64_t addr, unsigned n, bool big)
{
    size_t have;
    const uint8_t *b = symfile_bytes(p->f, addr, &have);
    uint64_t v = 0;
    if (!b || have < n) {
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)b[i] << (big ? 8 * (n - 1 - i) : 8 * i);
    }
    return v;
}

static uint64_t load_word(const struct plt *p, uint64_t addr)
{
    return load(p, addr, p->f->is64 ? 8 : 4, p->f->big_endian);
}

static uint32_t insn(const struct plt *p, uint64_t addr)
{
    return (uint32_t)load(p, addr, 4, p->big_code);
}

static int64_t sign(uint64_t v, unsigned bits)
{
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* -------------------------------------------------------------- relocations */

static uint32_t plt_name(struct plt *p, const char *name, size_t n)
{
    char *text = malloc(n + 5);
    if (!text) {
        return 0;
    }
    memcpy(text, name, n);
    memcpy(text + n, "@plt", 5);
    uint32_t off = string_add(p->r, text);
    free(text);
    return off;
}

static uint32_t symbol_name(struct plt *p, uint64_t index)
{
    size_t have;
    uint64_t at = p->symtab + index * (p->f->is64 ? 24 : 16);
    uint64_t name = load(p, at, 4, p->f->big_endian);
    const char *s = (const char *)symfile_bytes(p->f, p->strtab + name, &have);
    if (!p->symtab || !p->strtab || !index || !name || !s || !memchr(s, 0, have)) {
        return 0;
    }
    return plt_name(p, s, strcspn(s, "@"));
}

/* An indirect function inside the file is named after its resolver. */
static uint32_t local_name(struct plt *p, uint64_t target)
{
    const struct candidate *c = p->candidates->p, *best = NULL;
    for (size_t i = 0; i < p->candidates->n; i++) {
        if (c[i].addr == target && !c[i].label && (!best || c[i].rank > best->rank)) {
            best = &c[i];
        }
    }
    if (!best) {
        return 0;
    }
    char *name = strdup(string_get(p->r, best->linkage));
    uint32_t off = name ? plt_name(p, name, strlen(name)) : 0;
    free(name);
    return off;
}

static bool is_irelative(uint32_t machine, uint32_t type)
{
    switch (machine) {
    case EM_X86_64:
        return type == R_X86_64_IRELATIVE;
    case EM_386:
        return type == R_386_IRELATIVE;
    case EM_AARCH64:
        return type == R_AARCH64_IRELATIVE;
    case EM_ARM:
        return type == R_ARM_IRELATIVE;
    case EM_PPC64:
        return type == R_PPC64_IRELATIVE;
    case EM_S390:
        return type == R_390_IRELATIVE;
    case EM_RISCV:
        return type == R_RISCV_IRELATIVE;
    default:
        return false;
    }
}

static void read_relocations(struct plt *p, uint64_t addr, uint64_t size, bool rela,
                             bool lazy)
{
    unsigned w = p->f->is64 ? 8 : 4, entry = (rela ? 3 : 2) * w;
    unsigned irelative = 0;
    for (uint64_t i = 0; i < size / entry; i++) {
        size_t have;
        uint64_t at = addr + i * entry, slot = load_word(p, at);
        uint64_t info = load_word(p, at + w), index, target;
        uint32_t type = p->f->is64 ? (uint32_t)info : (uint32_t)(info & 0xff);
        bool found;
        if (!symfile_bytes(p->f, at, &have) || have < entry) {
            break; /* the stored size was wrong */
        }
        index = p->f->is64 ? info >> 32 : info >> 8;
        if (p->f->is64 && p->f->machine == EM_MIPS && !p->f->big_endian) {
            index = info & 0xffffffff;
        }
        target = rela ? load_word(p, at + 2 * w) : load_word(p, slot);
        uint32_t name = 0;
        if (index) {
            name = symbol_name(p, index);
        } else if (is_irelative(p->f->machine, type) && ++irelative < 4096) {
            name = local_name(p, target);
        }
        if (lazy) {
            *(uint32_t *)vec_push(p->r, &p->in_order, sizeof(uint32_t)) = name;
        }
        if (name && slot) {
            *hash_at(p->r, &p->slots, slot + 1, &found) = name;
        }
    }
}

/* Uses the dynamic segment; a static program has sections only. */
static void find_relocations(struct plt *p)
{
    GElf_Phdr ph;
    size_t n = 0;
    uint64_t v[40] = {0};
    unsigned w = p->f->is64 ? 8 : 4;
    elf_getphdrnum(p->r->elf, &n);
    for (size_t i = 0; i < n; i++) {
        if (!gelf_getphdr(p->r->elf, (int)i, &ph) || ph.p_type != PT_DYNAMIC) {
            continue;
        }
        for (uint64_t at = ph.p_vaddr; at - ph.p_vaddr + 2 * w <= ph.p_filesz;
             at += 2 * w) {
            uint64_t tag = load_word(p, at);
            if (tag == DT_NULL) {
                break;
            }
            if (tag < 40) {
                v[tag] = load_word(p, at + w);
            } else if (tag == DT_PPC64_GLINK && p->f->machine == EM_PPC64) {
                p->glink = load_word(p, at + w);
            }
        }
    }
    p->symtab = v[DT_SYMTAB];
    p->strtab = v[DT_STRTAB];
    p->got = v[DT_PLTGOT];
    read_relocations(p, v[DT_RELA], v[DT_RELASZ], true, false);
    read_relocations(p, v[DT_REL], v[DT_RELSZ], false, false);
    read_relocations(p, v[DT_JMPREL], v[DT_PLTRELSZ], v[DT_PLTREL] == DT_RELA, true);
}

/* ------------------------------------------------------------------- entries */

/* An entry at an address: its length, and its slot or a name. */
struct entry {
    unsigned bytes;
    uint64_t slot;
    uint32_t name;
};

/* endbr; [bnd] jmp *slot, or for lazy entries with landing pads: endbr; push number. */
static bool x86_entry(struct plt *p, uint64_t at, struct entry *e)
{
    size_t n;
    const uint8_t *b = symfile_bytes(p->f, at, &n);
    bool m64 = p->f->machine == EM_X86_64;
    unsigned i = 0;
    if (!b || n < 16) {
        return false;
    }
    if (b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && (b[3] | 1) == 0xfb) {
        i = 4;
    }
    e->bytes = i || b[6] == 0x68 || at % 16 ? 16 : 8; /* push after the jump */
    if (at % 16 && !i) {
        e->bytes = 8;
    }
    if (i && b[i] == 0x68) {
        uint64_t k = load(p, at + i + 1, 4, false) / (m64 ? 1 : 8);
        e->name = k < p->in_order.n ? ((uint32_t *)p->in_order.p)[k] : 0;
        return e->name != 0;
    }
    i += b[i] == 0xf2;
    int64_t disp = sign(load(p, at + i + 2, 4, false), 32);
    if (b[i] != 0xff || (b[i + 1] != 0x25 && (m64 || b[i + 1] != 0xa3))) {
        return false;
    }
    e->slot = m64                ? at + i + 6 + (uint64_t)disp
              : b[i + 1] == 0x25 ? (uint32_t)disp
                                 : (uint32_t)(p->got + (uint64_t)disp);
    return true;
}

/* [bti c]; adrp x16, slot; ldr x17, [x16, slot]; add; br x17 */
static bool aarch64_entry(struct plt *p, uint64_t at, struct entry *e)
{
    uint64_t start = at;
    at += insn(p, at) == 0xd503245f ? 4 : 0;
    uint32_t adrp = insn(p, at), ldr = insn(p, at + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211) {
        return false;
    }
    uint64_t page = (adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;
    e->slot = (at & ~UINT64_C(0xfff)) + ((uint64_t)sign(page, 21) << 12) +
              ((ldr >> 10 & 0xfff) << 3);
    e->bytes = at != start || insn(p, at + 12) == 0xd50323df ? 24 : 16;
    return true;
}

static uint32_t arm_immediate(uint32_t i)
{
    unsigned rot = (i >> 8 & 15) * 2;
    uint32_t v = i & 0xff;
    return rot ? v >> rot | v << (32 - rot) : v;
}

/* [bx pc; nop]; add ip, pc, x; add ip, ip, y [twice]; ldr pc, [ip, z]!
 * or of T32 only: movw ip, x; movt ip, y; add ip, pc; ldr.w pc, [ip] */
static bool arm_entry(struct plt *p, uint64_t at, struct entry *e)
{
    uint64_t start = at;
    uint32_t movw = insn(p, at), movt = insn(p, at + 4);
    if (!p->big_code && (movw & 0x8f00fbf0) == 0x0c00f240 &&
        (movt & 0x8f00fbf0) == 0x0c00f2c0 && insn(p, at + 8) == 0xf8dc44fc) {
        uint32_t half[2] = {movw, movt}, v[2];
        for (int i = 0; i < 2; i++) {
            uint32_t x = half[i];
            v[i] = (x & 15) << 12 | (x >> 10 & 1) << 11 | (x >> 28 & 7) << 8 |
                   (x >> 16 & 0xff);
        }
        e->slot = (uint32_t)((v[0] | v[1] << 16) + at + 8 + 4);
        e->bytes = 16;
        return true;
    }
    uint16_t bx = (uint16_t)load(p, at, 2, p->big_code);
    at += bx == 0x4778 ? 4 : 0;
    uint32_t i = insn(p, at);
    if ((i & 0xfffff000) != 0xe28fc000) {
        return false;
    }
    uint32_t slot = (uint32_t)at + 8 + arm_immediate(i);
    for (int k = 0; k < 2; k++) {
        i = insn(p, at += 4);
        if ((i & 0xfffff000) == 0xe28cc000) {
            slot += arm_immediate(i);
        } else {
            at -= 4;
            break;
        }
    }
    i = insn(p, at += 4);
    if ((i & 0xfffff000) != 0xe5bcf000) {
        return false;
    }
    e->slot = (uint32_t)(slot + (i & 0xfff));
    e->bytes = (unsigned)(at + 4 - start);
    return true;
}

/* auipc t3, hi; ld t3, lo(t3); jalr t1, t3; nop */
static bool riscv_entry(struct plt *p, uint64_t at, struct entry *e)
{
    uint32_t auipc = insn(p, at), ld = insn(p, at + 4);
    if ((auipc & 0xfff) != 0xe17 || (ld & 0xfefff) != 0xe2e03) {
        return false;
    }
    e->slot = at + (uint64_t)sign(auipc & 0xfffff000, 32) + (uint64_t)sign(ld >> 20, 12);
    e->slot = p->f->is64 ? e->slot : (uint32_t)e->slot;
    e->bytes = 16;
    return true;
}

/* lui $15, hi; lw $25, lo($15); addiu/jr */
static bool mips_entry(struct plt *p, uint64_t at, struct entry *e)
{
    uint32_t lui = insn(p, at), lw = insn(p, at + 4);
    if (lui >> 16 != 0x3c0f || (lw >> 16 != 0x8df9 && lw >> 16 != 0xddf9)) {
        return false;
    }
    e->slot = (uint64_t)sign((uint64_t)(lui & 0xffff) << 16, 32) + (uint64_t)sign(lw, 16);
    e->slot = p->f->is64 ? e->slot : (uint32_t)e->slot;
    e->bytes = 16;
    return true;
}

/* larl %r1, slot; lg %r1, 0(%r1); br %r1; ... */
static bool s390x_entry(struct plt *p, uint64_t at, struct entry *e)
{
    if (load(p, at, 2, true) != 0xc010 || load(p, at + 6, 4, true) != 0xe3101000) {
        return false;
    }
    e->slot = at + 2 * (uint64_t)sign(load(p, at + 2, 4, true), 32);
    e->bytes = 32;
    return true;
}

/* std r2, 24(r1); [addis r12, r2, hi]; ld r12, lo(r12 or r2); mtctr r12; bctr.  Stubs
 * are between functions, usually before those that call them. */
static bool ppc64_entry(struct plt *p, uint64_t at, struct entry *e)
{
    uint64_t start = at, slot = p->toc;
    uint32_t base = 0xe9820000; /* ld r12, x(r2) */
    at += insn(p, at) == 0xf8410018 ? 4 : 0;
    uint32_t i = insn(p, at);
    if (i >> 16 == 0x3d82) {
        slot += (uint64_t)sign((uint64_t)(i & 0xffff) << 16, 32);
        base = 0xe98c0000;
        i = insn(p, at += 4);
    }
    if (!p->toc || (i & 0xffff0003) != base || insn(p, at + 4) != 0x7d8903a6 ||
        insn(p, at + 8) != 0x4e800420) {
        return false;
    }
    e->slot = slot + (uint64_t)sign(i & 0xfffc, 16);
    e->bytes = (unsigned)(at + 12 - start);
    return true;
}

/* pcaddu12i $t3, hi; ld.d $t3, $t3, lo; jirl $t1, $t3, 0 */
static bool loongarch_entry(struct plt *p, uint64_t at, struct entry *e)
{
    uint32_t hi = insn(p, at), ld = insn(p, at + 4);
    if ((hi & 0xfe00001f) != 0x1c00000f || (ld & 0xffc003ff) != 0x28c001ef) {
        return false;
    }
    e->slot = at + (uint64_t)sign((uint64_t)(hi >> 5 & 0xfffff) << 12, 32) +
              (uint64_t)sign(ld >> 10 & 0xfff, 12);
    e->bytes = 16;
    return true;
}

static void add_entry(struct plt *p, uint64_t addr, unsigned bytes, uint32_t name)
{
    struct candidate *c = vec_push(p->r, p->candidates, sizeof(*c));
    c->addr = addr;
    c->size = bytes;
    c->linkage = name;
    c->source = SYM_PLT;
}

/* Looks for entries at every step.  A section that also has other code (or all code, when
 * sections are not known) is searched only where no function is known. */
static void scan(struct plt *p, const struct sym_code *c, unsigned step,
                 bool (*decode)(struct plt *, uint64_t, struct entry *))
{
    for (uint64_t at = (c->addr + step - 1) / step * step; at < c->end;) {
        struct entry e = {0};
        bool found;
        if (!decode(p, at, &e) || e.bytes > c->end - at) {
            at += step;
            continue;
        }
        if (!e.name) {
            uint32_t *name = hash_at(p->r, &p->slots, e.slot + 1, &found);
            e.name = found ? *name : 0;
        }
        if (e.name) {
            add_entry(p, at, e.bytes, e.name);
        }
        at += e.name ? e.bytes : step;
    }
}

/* PowerPC's lazy entries, one branch each in the order of their relocations, begin 32
 * bytes after the address in the dynamic segment. */
static void scan_glink(struct plt *p)
{
    for (size_t i = 0; p->glink && i < p->in_order.n; i++) {
        uint64_t at = p->glink + 32 + 4 * i;
        uint32_t name = ((uint32_t *)p->in_order.p)[i];
        if ((insn(p, at) & 0xfc000003) != 0x48000000) {
            break;
        }
        if (name) {
            add_entry(p, at, 4, name);
        }
    }
}

static bool is_plt_section(const char *name)
{
    return strncmp(name, ".plt", 4) == 0 || strcmp(name, ".iplt") == 0 || name[0] == '\0';
}

void read_plt(struct reader *r, struct symvec *candidates)
{
    const struct symfile *f = r->file;
    struct plt p = {.r = r, .f = f, .candidates = candidates};
    bool (*decode)(struct plt *, uint64_t, struct entry *) = NULL;
    unsigned step = 4;
    p.big_code = f->big_endian && !(f->machine == EM_ARM && f->eflags & 0x00800000);
    switch (f->machine) {
    case EM_386:
    case EM_X86_64:
        decode = x86_entry;
        step = 8;
        break;
    case EM_AARCH64:
        decode = aarch64_entry;
        p.big_code = false;
        break;
    case EM_ARM:
        decode = arm_entry;
        break;
    case EM_RISCV:
        decode = riscv_entry;
        p.big_code = false;
        break;
    case EM_MIPS:
        decode = mips_entry;
        break;
    case EM_S390:
        decode = f->is64 ? s390x_entry : NULL;
        break;
    case EM_PPC64:
        decode = ppc64_entry;
        break;
    case 258:
        decode = loongarch_entry;
        break; /* EM_LOONGARCH */
    default:
        break;
    }
    if (!decode) {
        return;
    }
    find_relocations(&p);
    size_t shstrndx = 0;
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    elf_getshdrstrndx(r->elf, &shstrndx);
    while ((scn = elf_nextscn(r->elf, scn)) != NULL) {
        if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC)) {
            continue;
        }
        const char *name = elf_strptr(r->elf, shstrndx, sh.sh_name);
        if (name && strcmp(name, ".got") == 0) {
            p.toc = sh.sh_addr + 0x8000;
        } else if (!p.symtab && (sh.sh_type == SHT_RELA || sh.sh_type == SHT_REL)) {
            read_relocations(&p, sh.sh_addr, sh.sh_size, sh.sh_type == SHT_RELA, false);
        }
    }
    const struct sym_code *code = r->code.p;
    for (size_t i = 0; p.slots.n && i < r->code.n; i++) {
        const char *name = string_get(r, STRING_OFF(code[i].name));
        if (is_plt_section(name) || f->machine == EM_PPC64) {
            scan(&p, &code[i], name[0] == '\0' && step == 8 ? 16 : step, decode);
        }
    }
    scan_glink(&p);
}
