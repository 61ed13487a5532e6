/* SPDX-License-Identifier: MIT */
/*
 * Lists the entries (FDEs) of call frame information, in the child: libdw finds one only by
 * an address in it.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include "symfile_reader_priv.h"

struct fde_reader {
    struct reader *r;
    const uint8_t *e_ident;
    struct symvec *out;
};

struct section {
    Elf_Data *data;
    uint64_t addr;
    bool eh;
};

static uint64_t load(const struct fde_reader *c, const uint8_t *p, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)p[i] << (8 * (c->r->file->big_endian ? n - 1 - i : i));
    }
    return v;
}

/* The size of an encoded pointer of fixed size, 0 if it has another form. */
static unsigned pointer_bytes(const struct fde_reader *c, uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
        return c->r->file->is64 ? 8 : 4;
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
        return 2;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
        return 4;
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        return 8;
    default:
        return 0;
    }
}

/* The encoding of the addresses of a CIE's entries, from its augmentation. */
static uint8_t encoding_of(const struct fde_reader *c, const Dwarf_CIE *cie)
{
    const uint8_t *p = cie->augmentation_data;
    const uint8_t *end = p + cie->augmentation_data_size;
    if (!p || cie->augmentation[0] != 'z') {
        return DW_EH_PE_absptr;
    }
    for (const char *a = cie->augmentation + 1; *a; a++) {
        if (*a == 'R') {
            return p < end ? *p : DW_EH_PE_absptr;
        }
        if (*a == 'L') {
            p++;
        } else if (*a == 'P') {
            unsigned n = p < end ? pointer_bytes(c, *p) : 0;
            if (n == 0) {
                return DW_EH_PE_omit;
            }
            p += 1 + n;
        } else if (*a != 'S' && *a != 'B') {
            return DW_EH_PE_omit;
        }
    }
    return DW_EH_PE_absptr;
}

static void add_fde(struct fde_reader *c, const struct section *s, const Dwarf_FDE *fde)
{
    Dwarf_CFI_Entry entry;
    Dwarf_Off next;
    uint8_t encoding = DW_EH_PE_absptr;
    if (dwarf_next_cfi(c->e_ident, s->data, s->eh, (Dwarf_Off)fde->CIE_pointer, &next,
                       &entry) != 0 ||
        !dwarf_cfi_cie_p(&entry)) {
        return;
    }
    if (s->eh) {
        encoding = encoding_of(c, &entry.cie);
    }
    unsigned n = pointer_bytes(c, encoding);
    if (n == 0 || encoding == DW_EH_PE_omit || encoding & DW_EH_PE_indirect ||
        fde->end < fde->start || (size_t)(fde->end - fde->start) < 2 * n) {
        return;
    }
    uint64_t v = load(c, fde->start, n), size = load(c, fde->start + n, n);
    if (encoding & 0x08 && n < 8) {
        uint64_t sign = UINT64_C(1) << (8 * n - 1);
        v = (v ^ sign) - sign;
    }
    if ((encoding & 0x70) == DW_EH_PE_pcrel) {
        v += s->addr + (uint64_t)(fde->start - (const uint8_t *)s->data->d_buf);
    } else if ((encoding & 0x70) != DW_EH_PE_absptr) {
        return;
    }
    v = c->r->file->is64 ? v : (uint32_t)v;
    *(struct fde_span *)vec_push(c->r, c->out, sizeof(struct fde_span)) =
        (struct fde_span){v, v + size < v ? UINT64_MAX : v + size};
}

static bool find_section(Elf *elf, const char *name, struct section *s)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr sh;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) {
        return false;
    }
    while ((scn = elf_nextscn(elf, scn)) != NULL) {
        const char *have;
        if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS &&
            (have = elf_strptr(elf, names, sh.sh_name)) && strcmp(have, name) == 0) {
            if (sh.sh_flags & SHF_COMPRESSED) {
                elf_compress(scn, 0, 0);
            }
            s->data = elf_rawdata(scn, NULL);
            s->addr = sh.sh_addr;
            return s->data && s->data->d_buf;
        }
    }
    return false;
}

static int by_addr(const void *pa, const void *pb)
{
    const struct fde_span *a = pa, *b = pb;
    return (a->addr > b->addr) - (a->addr < b->addr);
}

void fdes_list(struct reader *r, Elf *elf, bool eh, struct symvec *out)
{
    struct fde_reader c = {r, (const uint8_t *)elf_getident(elf, NULL), out};
    struct section s = {.eh = eh};
    Dwarf_CFI_Entry entry;
    Dwarf_Off off = 0, next;
    out->n = 0;
    if (!c.e_ident || !find_section(elf, eh ? ".eh_frame" : ".debug_frame", &s)) {
        return;
    }
    /* A status of 1 is the end; a terminator has no content. */
    int status;
    while ((status = dwarf_next_cfi(c.e_ident, s.data, eh, off, &next, &entry)) == 0) {
        if (!dwarf_cfi_cie_p(&entry)) {
            add_fde(&c, &s, &entry.fde);
        }
        if (next <= off) {
            break;
        }
        off = next;
    }
    if (out->n > 1) {
        qsort(out->p, out->n, sizeof(struct fde_span), by_addr);
    }
}
