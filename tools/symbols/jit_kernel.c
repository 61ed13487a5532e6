/* SPDX-License-Identifier: MIT */
/*
 * The functions of a Linux kernel's image, from the tables that /proc/kallsyms is made of
 * (kernel/kallsyms.c, scripts/kallsyms.c): names are packed with a table of 256 tokens,
 * which is found by the tokens of the ten digits, and everything else by its place beside
 * that table.  Images of 64-bit little-endian kernels with relative addresses
 * (CONFIG_KALLSYMS_BASE_RELATIVE) since Linux 6.1: Image of arm64 and riscv, bzImage of
 * x86, ELF.
 */
#include "symbols/jit_kernel.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/kernel_unpack.h"
#include "symbols/le.h"

#define TOKENS 256u
#define MARKED 256u /* a marker has the place of each 256th name */
#define MAX_NAME 1024u
#define MAX_FUNCTION_BYTES (UINT64_C(1) << 20)

#define IMAGE_MAGIC 56u /* of arm64 and riscv */

static size_t align8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static bool is_elf(const uint8_t *p, size_t n)
{
    return n >= sizeof(Elf64_Ehdr) && !memcmp(p, ELFMAG, SELFMAG) &&
           p[EI_CLASS] == ELFCLASS64 && p[EI_DATA] == ELFDATA2LSB;
}

bool jit_is_kernel(const uint8_t *p, size_t n)
{
    return is_elf(p, n) || kernel_is_packed(p, n) ||
           (n > IMAGE_MAGIC + 4 && (!memcmp(p + IMAGE_MAGIC, "ARM\x64", 4) ||
                                    !memcmp(p + IMAGE_MAGIC, "RSC\x05", 4)));
}

/* -------------------------------------------------------------------- tables */

/* Offsets in the image. */
struct tables {
    const uint8_t *p;
    size_t n;
    size_t tokens, index;
    size_t markers, nr_markers;
    size_t names;
    uint32_t nr_names;
    size_t offsets;
    uint64_t base;
    uint64_t start;  /* address of the image, 0: not known */
    bool percpu;     /* negative offsets count from base - 1 downwards */
    uint64_t budget; /* names and markers that may still be looked at to find them */
};

/* The table whose tokens of the digits are at `digits'; false: none is. */
static bool find_tokens(struct tables *t, size_t digits)
{
    size_t at = digits, end;

    for (unsigned i = '0'; i; i--) { /* backwards to the first token */
        if (at < 3 || t->p[at - 1] || !t->p[at - 2]) {
            return false;
        }
        for (at -= 2; at && t->p[at - 1]; at--) {
            if (digits - at > '0' * MAX_NAME) {
                return false;
            }
        }
    }
    t->tokens = end = at;
    t->index = 0;
    for (unsigned i = 0; i < TOKENS; i++) {
        size_t most = end < t->n ? t->n - end : 0;
        const uint8_t *zero =
            memchr(t->p + end, 0, most < MAX_NAME + 1 ? most : MAX_NAME + 1);
        if (!zero || zero == t->p + end) {
            return false;
        }
        end = (size_t)(zero - t->p) + 1;
    }
    t->index = align8(end);
    if (t->tokens % 8 || t->n - t->index < 2 * TOKENS || t->index > t->n) {
        return false;
    }
    end = at;
    for (unsigned i = 0; i < TOKENS; i++) {
        const uint8_t *entry = t->p + t->index + 2 * (size_t)i;
        if ((size_t)(entry[0] | entry[1] << 8) != end - at) {
            return false;
        }
        end += strlen((const char *)t->p + end) + 1;
    }
    return true;
}

/* The markers that end at `at', or 4 bytes before. */
static bool find_markers(struct tables *t, size_t at)
{
    uint32_t next;

    at -= at >= 4 && !le32(t->p + at - 4) ? 4 : 0;
    if (at < 4) {
        return false;
    }
    for (next = UINT32_MAX, t->nr_markers = 0; next; t->nr_markers++) {
        uint32_t v;
        t->budget -= t->budget != 0;
        if (at < 4 || !t->budget || (v = le32(t->p + at - 4)) >= next) {
            return false;
        }
        next = v;
        at -= 4;
    }
    t->markers = at;
    return true;
}

/* The length of a name's tokens, at *at, which moves to the first of them. */
static unsigned name_bytes(const struct tables *t, size_t *at)
{
    unsigned n = t->p[(*at)++];

    if (n & 0x80) {
        n = (n & 0x7f) | (unsigned)t->p[(*at)++] << 7;
    }
    return n;
}

static bool names_fit(struct tables *t, size_t names, uint32_t nr)
{
    size_t at = names;

    for (uint32_t i = 0; i < nr && t->budget; i++) {
        unsigned len;
        t->budget--;
        if (i % MARKED == 0 && le32(t->p + t->markers + 4 * (i / MARKED)) != at - names) {
            return false;
        }
        len = name_bytes(t, &at);
        at += len;
        if (at > t->markers) {
            return false;
        }
    }
    return t->budget && t->markers - at < 8;
}

/* The names are before the markers, and their number is before them. */
static bool find_names(struct tables *t)
{
    size_t last = le32(t->p + t->markers + 4 * (t->nr_markers - 1)), high, low;

    if (last > t->markers) {
        return false;
    }
    high = (t->markers - last) & ~(size_t)7;
    low = high > MARKED * MAX_NAME ? high - MARKED * MAX_NAME : 8;
    for (size_t at = high; at >= low && at >= 8; at -= 8) {
        uint32_t nr = le32(t->p + at - 8);
        if (!t->budget || !--t->budget) {
            return false;
        }
        if (!le32(t->p + at - 4) && nr && (nr + MARKED - 1) / MARKED == t->nr_markers &&
            names_fit(t, at, nr)) {
            t->names = at;
            t->nr_names = nr;
            return true;
        }
    }
    return false;
}

/*
 * The base of an image that relocates itself, as arm64's does, is only in its relocations
 * (R_AARCH64_RELATIVE): the value for the place `at'.  The image begins at a multiple of
 * 2 MiB, and of all places that this allows the base is closest to the begin.
 */
static void find_relocated_base(struct tables *t, size_t at)
{
    uint64_t least = t->n;

    if (t->budget < t->n / 8) {
        return;
    }
    t->budget -= t->n / 8;
    t->start = 0;
    for (size_t i = 0; i + sizeof(Elf64_Rela) <= t->n; i += 8) {
        uint64_t start = le64(t->p + i) - at, value = le64(t->p + i + 16);

        if (le64(t->p + i + 8) == R_AARCH64_RELATIVE && start >> 63 &&
            start % (UINT64_C(2) << 20) == 0 && value - start < least) {
            least = value - start;
            t->start = start;
            t->base = value;
        }
    }
}

/* Whether the offsets of the names, which are sorted by address, can be at `at'. */
static bool offsets_fit(struct tables *t, size_t at, size_t base)
{
    uint32_t negative = 0, before = 0;

    if (at > t->n || (t->n - at) / 4 < t->nr_names || base > t->n || t->n - base < 8) {
        return false;
    }
    for (uint32_t i = 0; i < t->nr_names; i++) {
        negative += le32(t->p + at + 4 * (size_t)i) >> 31;
    }
    t->percpu = negative > t->nr_names / 2;
    for (uint32_t i = 0; i < t->nr_names; i++) {
        uint32_t v = le32(t->p + at + 4 * (size_t)i);
        if (t->percpu && !(v >> 31)) {
            continue; /* absolute */
        }
        v = t->percpu ? ~v : v;
        if (v < before) {
            return false;
        }
        before = v;
    }
    t->offsets = at;
    t->base = le64(t->p + base);
    if (!t->base) {
        find_relocated_base(t, base);
    }
    return before != 0;
}

/* After the tokens, since Linux 6.4, or before the number of names, as in 6.1. */
static bool find_offsets(struct tables *t)
{
    size_t after = align8(t->index + 2 * TOKENS), bytes = align8(4 * (size_t)t->nr_names);
    size_t number = t->names - 8;

    return offsets_fit(t, after, after + bytes) ||
           (number >= bytes + 8 && offsets_fit(t, number - 8 - bytes, number - 8));
}

/* The markers, and before them the names, end at `end'. */
static bool find_all(struct tables *t, size_t end)
{
    return find_markers(t, end) && find_names(t) && find_offsets(t);
}

/*
 * From 6.2 to 6.3, and in updates of 6.1, a table of 3 bytes for each name is between the
 * markers and the tokens.
 */
static bool find_before_seqs(struct tables *t)
{
    for (size_t at = t->tokens; at >= 8 && t->budget; at -= 8) {
        if (find_all(t, at) && t->tokens - at - 3 * (size_t)t->nr_names < 8) {
            return true;
        }
    }
    return false;
}

static bool find_tables(struct tables *t)
{
    static const char digits[] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
    const uint8_t *p = t->p, *end = p + t->n;

    while ((p = memmem(p, (size_t)(end - p), digits, sizeof(digits))) != NULL) {
        if (find_tokens(t, (size_t)(p - t->p)) &&
            (find_all(t, t->tokens) || find_before_seqs(t))) {
            return true;
        }
        p++;
    }
    return false;
}

/* ----------------------------------------------------------------- functions */

static uint64_t address_of(const struct tables *t, uint32_t i)
{
    uint32_t v = le32(t->p + t->offsets + 4 * (size_t)i);

    return !t->percpu ? t->base + v : v >> 31 ? t->base + ~v : v;
}

/* Unpacks a name, with its type before it; 0: damaged. */
static size_t unpack_name(const struct tables *t, size_t *at, char *to)
{
    unsigned n = name_bytes(t, at);
    size_t len = 0;

    for (unsigned i = 0; i < n; i++) {
        const uint8_t *entry = t->p + t->index + 2 * (size_t)t->p[(*at)++];
        const char *token = (const char *)t->p + t->tokens + (entry[0] | entry[1] << 8);
        size_t bytes = strlen(token);

        if (len + bytes > MAX_NAME) {
            *at += n - i - 1;
            return 0;
        }
        memcpy(to + len, token, bytes);
        len += bytes;
    }
    return len;
}

static bool is_code(char type)
{
    return type == 'T' || type == 't' || type == 'W' || type == 'w';
}

static bool add_functions(struct jit_code *c, const struct tables *t, uint64_t *text)
{
    char name[MAX_NAME + 1];
    size_t at = t->names;
    uint64_t taken = 0;
    uint32_t next = 0; /* the first name of a higher address */

    *text = 0;
    for (uint32_t i = 0; i < t->nr_names && c->nr_functions < JIT_MAX_FUNCTIONS; i++) {
        struct jit_function f = {.addr = address_of(t, i)};
        size_t len = unpack_name(t, &at, name);

        for (next = next > i ? next : i + 1;
             next < t->nr_names && address_of(t, next) == f.addr;) {
            next++;
        }
        f.end = next < t->nr_names ? address_of(t, next) : f.addr + MAX_FUNCTION_BYTES;
        if (len < 2 || !is_code(name[0])) {
            continue;
        }
        if (!*text && ((len == 6 && !memcmp(name + 1, "_text", 5)) ||
                       (len == 7 && !memcmp(name + 1, "_start", 6)))) {
            *text = f.addr;
        }
        if (f.end <= f.addr || f.addr + 1 == taken) {
            continue;
        }
        if (f.end - f.addr > MAX_FUNCTION_BYTES) {
            f.end = f.addr + MAX_FUNCTION_BYTES;
        }
        if (c->string_bytes > JIT_MAX_BYTES) {
            jit_bad(c, i, "its names are too long");
            return true;
        }
        taken = f.addr + 1;
        if (!jit_add_string(c, name + 1, len - 1, &f.name) || !jit_add(c, &f, i)) {
            return false;
        }
    }
    return true;
}

/* -------------------------------------------------------------------- images */

static void elf_segments(struct jit_kernel *k)
{
    Elf64_Ehdr e;

    memcpy(&e, k->p, sizeof(e));
    for (unsigned i = 0; i < e.e_phnum && k->code.n < SLIDE_PIECES; i++) {
        Elf64_Phdr h;
        uint64_t at = e.e_phoff + (uint64_t)i * sizeof(h);

        if (e.e_phoff > k->n || at > k->n - sizeof(h)) {
            return;
        }
        memcpy(&h, k->p + at, sizeof(h));
        if (h.p_type == PT_LOAD && h.p_flags & PF_X && h.p_offset <= k->n &&
            h.p_filesz <= k->n - h.p_offset) {
            k->code.v[k->code.n++] =
                (struct slide_piece){h.p_vaddr, k->p + h.p_offset, h.p_filesz};
        }
    }
}

bool jit_parse_kernel(struct jit_code *c, struct jit_kernel *k, const uint8_t *p,
                      size_t n)
{
    const char *why = NULL;
    struct tables t;
    uint64_t text;

    *k = (struct jit_kernel){.p = p, .n = n, .code.addr_bits = 64};
    if (kernel_is_packed(p, n)) {
        k->own = kernel_unpack(p, n, &k->n, &why);
        k->p = k->own;
        if (!k->own) {
            jit_bad(c, 0, why ? why : "no memory");
            return why != NULL;
        }
    }
    t = (struct tables){.p = k->p, .n = k->n, .budget = 4 * (uint64_t)k->n};
    if (!find_tables(&t)) {
        jit_bad(c, 0, "it has no kallsyms that can be read");
        return true;
    }
    if (!add_functions(c, &t, &text)) {
        return false;
    }
    if (is_elf(k->p, k->n)) {
        elf_segments(k);
    } else if (t.start || text) {
        k->code.v[k->code.n++] =
            (struct slide_piece){t.start ? t.start : text, k->p, k->n};
    }
    return true;
}

void jit_kernel_fini(struct jit_kernel *k)
{
    free(k->own);
    *k = (struct jit_kernel){0};
}
