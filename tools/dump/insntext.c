/* SPDX-License-Identifier: MIT */
/*
 * The text of instructions, made once for each block.
 *
 * A dump has far more lines than the guest program has instructions, and
 * disassembling an instruction takes a thousand times as long as copying its text.
 */
#include "dump.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "guest/disas.h"
#include "guest/guest.h"
#include "input/idcache.h"

/* Bytes of text at which a cache is emptied. */
#define CACHE_BYTES (6u << 20)

/* Column where accesses begin, counted from the column of the bytes. */
#define DISAS_WIDTH 30

#define BOLD "\033[1m"
#define FAINT "\033[2m"
#define PLAIN "\033[0m"

struct insntext {
    struct disas *disas; /* NULL with --no-disas */
    struct guest guest;
    bool json, color, bytes_shown, machine;
    unsigned pc_width, bytes_width;
    struct idcache cache; /* of struct block_text */
    struct textbuf scratch;
};

/* Width of the column of instruction bytes: the longest common ones fit. */
static unsigned bytes_width_of(unsigned e_machine)
{
    switch (e_machine) {
    case EM_386:
    case EM_X86_64:
        return 20;
    case EM_S390:
        return 12;
    case EM_68K:
        return 16;
    case EM_SH:
        return 4;
    default:
        return 8;
    }
}

struct insntext *insntext_new(const struct ctr_info *info, const struct dump_options *opt)
{
    struct insntext *t = calloc(1, sizeof(*t));

    if (!t) {
        return NULL;
    }
    guest_init(&t->guest, info);
    t->machine = info->machine;
    t->json = opt->json;
    t->color = opt->color;
    t->bytes_shown = !opt->no_bytes;
    t->cache.max_bytes = CACHE_BYTES;
    t->pc_width = info->addr_bits == 32 ? 8 : 12;
    t->bytes_width = bytes_width_of(info->elf_machine);
    if (!opt->no_disas) {
        t->disas = disas_new(info->elf_machine, info->big_endian, info->target);
        if (!t->disas) {
            free(t);
            return NULL;
        }
    }
    return t;
}

void insntext_free(struct insntext *t)
{
    if (t) {
        idcache_fini(&t->cache);
        textbuf_fini(&t->scratch);
        disas_free(t->disas);
        free(t);
    }
}

/* Limit of a printed tag in bytes. */
#define TAG_TEXT 32u

/* "  tag 0x10", of the block where it begins. */
static char *text_tags(char *p, const struct ctr_block *b, unsigned i)
{
    for (uint32_t k = 0; k < b->ntag; k++) {
        bool whole = b->tags[k].insn == CTR_TAG_BLOCK;

        if (whole ? i == 0 : b->tags[k].insn == i) {
            p = whole ? FMT_LIT(p, "  block tag 0x") : FMT_LIT(p, "  tag 0x");
            p = fmt_hex(p, b->tags[k].tag);
        }
    }
    return p;
}

/* ,"tags":["0x10"] */
static char *json_tags(char *p, const struct ctr_block *b, unsigned insn,
                       const char *name)
{
    bool any = false;

    for (uint32_t k = 0; k < b->ntag; k++) {
        if (b->tags[k].insn != insn) {
            continue;
        }
        if (!any) {
            p = FMT_LIT(p, ",\"");
            p = fmt_mem(p, name, strlen(name));
            p = FMT_LIT(p, "\":[\"0x");
        } else {
            p = FMT_LIT(p, ",\"0x");
        }
        p = fmt_hex(p, b->tags[k].tag);
        *p++ = '"';
        any = true;
    }
    return any ? FMT_LIT(p, "]") : p;
}

/* "EL1   ", of machines */
static char *text_privilege(const struct insntext *t, char *p, const struct ctr_block *b)
{
    const char *name = guest_privilege_name(&t->guest, b->privilege);

    if (!t->machine) {
        return p;
    }
    memset(p, ' ', PRIVILEGE_WIDTH);
    fmt_mem(p, name, strlen(name));
    return p + PRIVILEGE_WIDTH;
}

/* "0x00010400 00482de9 push {fp, lr}" */
static char *text_form(struct insntext *t, char *p, const struct ctr_block *b, unsigned i,
                       struct insn_text *it)
{
    char *start = p, *column;
    unsigned width;

    p = text_privilege(t, p, b);
    p = FMT_LIT(p, "0x");
    p = fmt_hex_width(p, ctr_block_pc(b, i), t->pc_width);
    it->pc_len = (uint16_t)(p - start);
    if (!t->bytes_shown) {
        it->pad = 0;
        return text_tags(p, b, i);
    }
    *p++ = ' ';
    if (t->color) {
        p = FMT_LIT(p, FAINT);
    }
    column = p;
    p = fmt_bytes(p, ctr_block_bytes(b, i), ctr_block_len(b, i));
    width = t->bytes_width;
    if (t->disas) {
        while (p - column < (ptrdiff_t)width) {
            *p++ = ' ';
        }
        if (t->color) {
            p = FMT_LIT(p, PLAIN BOLD);
        }
        *p++ = ' ';
        column = p;
        p += disas_insn(t->disas, ctr_block_pc(b, i), ctr_block_bytes(b, i),
                        ctr_block_len(b, i), p);
        width = DISAS_WIDTH;
    }
    p = text_tags(p, b, i);
    it->pad =
        p - column < (ptrdiff_t)width ? (uint16_t)(width - (unsigned)(p - column)) : 0;
    if (t->color) {
        p = FMT_LIT(p, PLAIN);
    }
    return p;
}

/* ,"pc":"0x10400","bytes":"00482de9","disas":"push {fp, lr}" */
static char *json_form(struct insntext *t, char *p, const struct ctr_block *b, unsigned i,
                       struct insn_text *it)
{
    const char *privilege = guest_privilege_name(&t->guest, b->privilege);
    char *start = p;

    if (*privilege) {
        p = FMT_LIT(p, ",\"privilege\":\"");
        p = fmt_mem(p, privilege, strlen(privilege));
        *p++ = '"';
    }
    p = FMT_LIT(p, ",\"pc\":\"0x");
    p = fmt_hex(p, ctr_block_pc(b, i));
    *p++ = '"';
    it->pc_len = (uint16_t)(p - start);
    p = FMT_LIT(p, ",\"bytes\":\"");
    p = fmt_bytes(p, ctr_block_bytes(b, i), ctr_block_len(b, i));
    *p++ = '"';
    if (t->disas) {
        /* Capstone's texts hold nothing that JSON would escape. */
        p = FMT_LIT(p, ",\"disas\":\"");
        p += disas_insn(t->disas, ctr_block_pc(b, i), ctr_block_bytes(b, i),
                        ctr_block_len(b, i), p);
        *p++ = '"';
    }
    p = json_tags(p, b, i, "tags");
    return json_tags(p, b, CTR_TAG_BLOCK, "block_tags");
}

struct block_text *insntext_make(struct insntext *t, const struct ctr_block *b)
{
    struct block_text *bt = idcache_get(&t->cache, b->id);
    size_t head = sizeof(*bt) + b->ninsn * sizeof(bt->insn[0]);

    if (bt) {
        return bt;
    }
    if (t->disas) {
        disas_block(t->disas, b->mode);
    }
    t->scratch.len = 0;
    bt = (struct block_text *)textbuf_reserve(&t->scratch, head);
    if (!bt) {
        return NULL;
    }
    memset(bt, 0, head);
    textbuf_commit(&t->scratch, t->scratch.data + head);
    for (unsigned i = 0; i < b->ninsn; i++) {
        size_t most = 2 * (size_t)ctr_block_len(b, i) + DISAS_TEXT_MAX + 160 +
                      (size_t)b->ntag * TAG_TEXT;
        char *p = textbuf_reserve(&t->scratch, most);
        struct insn_text it = {.off = (uint32_t)(t->scratch.len - head)};

        if (!p) {
            return NULL;
        }
        p = t->json ? json_form(t, p, b, i, &it) : text_form(t, p, b, i, &it);
        textbuf_commit(&t->scratch, p);
        it.len = (uint32_t)(t->scratch.len - head) - it.off;
        bt = (struct block_text *)t->scratch.data; /* may have moved */
        bt->insn[i] = it;
    }
    bt = malloc(t->scratch.len);
    if (!bt) {
        return NULL;
    }
    memcpy(bt, t->scratch.data, t->scratch.len);
    bt->text = (char *)bt + head;
    if (!idcache_put(&t->cache, b->id, bt, t->scratch.len)) {
        free(bt);
        return NULL;
    }
    return bt;
}
