/* SPDX-License-Identifier: MIT */
#include "shadow.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "oracle-memory: out of memory\n");
        exit(2);
    }
    return p;
}

/* ---- pages ------------------------------------------------------------- */

static struct shadow_page **page_place(const struct shadow *s, uint64_t number)
{
    size_t i = (size_t)((number * 0x9e3779b97f4a7c15ull) >> 20) & (s->pages_room - 1);

    while (s->pages[i] && s->pages[i]->number != number) {
        i = (i + 1) & (s->pages_room - 1);
    }
    return &s->pages[i];
}

static void pages_rebuild(struct shadow *s, size_t room)
{
    struct shadow_page **old = s->pages;
    size_t n = s->pages_room;

    s->pages_room = room;
    s->pages = need(calloc(room, sizeof(s->pages[0])));
    for (size_t i = 0; i < n; i++) {
        if (old[i]) {
            *page_place(s, old[i]->number) = old[i];
        }
    }
    free(old);
}

/* Removes the pages of [start, end); returns them as a list of *n. */
static struct shadow_page **pages_take(struct shadow *s, uint64_t start, uint64_t end,
                                       size_t *n)
{
    struct shadow_page **out = need(malloc((s->npages + 1) * sizeof(*out)));

    *n = 0;
    for (size_t i = 0; i < s->pages_room; i++) {
        if (s->pages[i] && s->pages[i]->number >= start / SHADOW_PAGE &&
            s->pages[i]->number < (end + SHADOW_PAGE - 1) / SHADOW_PAGE) {
            out[(*n)++] = s->pages[i];
            s->pages[i] = NULL;
        }
    }
    if (*n) {
        s->npages -= *n;
        pages_rebuild(s, s->pages_room);
    }
    return out;
}

static void page_put(struct shadow *s, struct shadow_page *page)
{
    if (s->npages * 2 >= s->pages_room) {
        pages_rebuild(s, s->pages_room ? s->pages_room * 2 : 256);
    }
    *page_place(s, page->number) = page;
    s->npages++;
}

/* ---- ranges ------------------------------------------------------------ */

static const struct shadow_range *range_of(const struct shadow *s, uint64_t addr)
{
    for (size_t i = 0; i < s->nranges; i++) {
        if (addr < s->ranges[i].end) {
            return addr >= s->ranges[i].start ? &s->ranges[i] : NULL;
        }
    }
    return NULL;
}

static void range_insert(struct shadow *s, size_t at, const struct shadow_range *r)
{
    if (s->nranges == s->ranges_room) {
        s->ranges_room = s->ranges_room ? s->ranges_room * 2 : 64;
        s->ranges = need(realloc(s->ranges, s->ranges_room * sizeof(s->ranges[0])));
    }
    memmove(&s->ranges[at + 1], &s->ranges[at], (s->nranges - at) * sizeof(s->ranges[0]));
    s->ranges[at] = *r;
    s->nranges++;
}

static void range_begin_at(struct shadow_range *r, uint64_t addr)
{
    r->offset += addr - r->start;
    r->start = addr;
}

static void ranges_cut(struct shadow *s, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < s->nranges;) {
        struct shadow_range *r = &s->ranges[i];

        if (r->end <= start || r->start >= end) {
            i++;
        } else if (r->start < start && r->end > end) {
            struct shadow_range after = *r;

            r->end = start;
            range_begin_at(&after, end);
            range_insert(s, i + 1, &after);
            return;
        } else if (r->start < start) {
            r->end = start;
            i++;
        } else if (r->end > end) {
            range_begin_at(r, end);
            i++;
        } else {
            s->nranges--;
            memmove(r, r + 1, (s->nranges - i) * sizeof(*r));
        }
    }
}

void shadow_forget(struct shadow *s, uint64_t start, uint64_t end)
{
    size_t n;
    struct shadow_page **gone = pages_take(s, start, end, &n);

    for (size_t i = 0; i < n; i++) {
        free(gone[i]);
    }
    free(gone);
}

void shadow_unmap(struct shadow *s, uint64_t start, uint64_t end)
{
    ranges_cut(s, start, end);
    shadow_forget(s, start, end);
}

void shadow_map(struct shadow *s, const struct shadow_range *r)
{
    size_t at = 0;

    if (r->start >= r->end) {
        return;
    }
    shadow_unmap(s, r->start, r->end);
    while (at < s->nranges && s->ranges[at].start < r->start) {
        at++;
    }
    range_insert(s, at, r);
}

void shadow_move(struct shadow *s, uint64_t from, uint64_t old, uint64_t to,
                 uint64_t size)
{
    const struct shadow_range *was = range_of(s, from);
    struct shadow_range r = {.zero_from = UINT64_MAX, .content = SHADOW_ZERO, .fd = -1};
    uint64_t keep = old < size ? old : size;
    struct shadow_page **moved;
    size_t n;

    if (was) {
        r = *was;
        range_begin_at(&r, from);
        if (r.zero_from != UINT64_MAX) {
            r.zero_from += to - from;
        }
    }
    moved = pages_take(s, from, from + keep, &n);
    shadow_unmap(s, from, from + old);
    r.start = to;
    r.end = to + size;
    shadow_map(s, &r);
    for (size_t i = 0; i < n; i++) {
        moved[i]->number += to / SHADOW_PAGE - from / SHADOW_PAGE;
        page_put(s, moved[i]);
    }
    free(moved);
}

static struct shadow_page *page_make(const struct shadow_range *r, uint64_t number)
{
    struct shadow_page *page = need(calloc(1, sizeof(*page)));
    uint64_t first = number * SHADOW_PAGE;

    page->number = number;
    if (r->content != SHADOW_UNKNOWN) {
        memset(page->known, 1, sizeof(page->known));
    }
    if (r->content == SHADOW_FILE && pread(r->fd, page->data, SHADOW_PAGE,
                                           (off_t)(r->offset + first - r->start)) < 0) {
        perror("oracle-memory: a mapped file");
        exit(2);
    }
    if (r->zero_from < first + SHADOW_PAGE) {
        size_t at = r->zero_from > first ? (size_t)(r->zero_from - first) : 0;

        memset(page->data + at, 0, SHADOW_PAGE - at);
    }
    return page;
}

uint8_t *shadow_byte(struct shadow *s, uint64_t addr, uint8_t **known)
{
    uint64_t number = addr / SHADOW_PAGE;
    struct shadow_page *page = s->pages_room ? *page_place(s, number) : NULL;

    if (!page) {
        const struct shadow_range *r = range_of(s, addr);

        if (!r) {
            return NULL;
        }
        page = page_make(r, number);
        page_put(s, page);
    }
    *known = &page->known[addr % SHADOW_PAGE];
    return &page->data[addr % SHADOW_PAGE];
}

/* ---- files ------------------------------------------------------------- */

int shadow_file(struct shadow *s, const char *path, size_t n)
{
    for (size_t i = 0; i < s->nfiles; i++) {
        if (strlen(s->files[i].path) == n && memcmp(s->files[i].path, path, n) == 0) {
            return s->files[i].fd;
        }
    }
    s->files = need(realloc(s->files, (s->nfiles + 1) * sizeof(s->files[0])));
    s->files[s->nfiles].path = need(strndup(path, n));
    s->files[s->nfiles].fd = open(s->files[s->nfiles].path, O_RDONLY | O_CLOEXEC);
    return s->files[s->nfiles++].fd;
}

/* An unsigned field of an ELF file. */
static uint64_t field(const uint8_t *p, unsigned bytes, bool big_endian)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint64_t)p[i] << 8 * (big_endian ? bytes - 1 - i : i);
    }
    return v;
}

uint64_t shadow_elf_zeros(int fd, uint64_t start, uint64_t size, uint64_t offset)
{
    uint8_t header[sizeof(Elf64_Ehdr)], ph[sizeof(Elf64_Phdr)];
    bool wide, be;
    uint64_t table;
    unsigned each, n;

    if (pread(fd, header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header, ELFMAG, SELFMAG) != 0) {
        return UINT64_MAX;
    }
    wide = header[EI_CLASS] == ELFCLASS64;
    be = header[EI_DATA] == ELFDATA2MSB;
    table = wide ? field(header + offsetof(Elf64_Ehdr, e_phoff), 8, be)
                 : field(header + offsetof(Elf32_Ehdr, e_phoff), 4, be);
    n = (unsigned)field(
        header + (wide ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr, e_phnum)),
        2, be);
    each = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    for (unsigned i = 0; i < n; i++) {
        uint64_t type, off, filesz, memsz;

        if (pread(fd, ph, each, (off_t)(table + (uint64_t)i * each)) != (ssize_t)each) {
            break;
        }
        type = field(ph, 4, be);
        off = wide ? field(ph + offsetof(Elf64_Phdr, p_offset), 8, be)
                   : field(ph + offsetof(Elf32_Phdr, p_offset), 4, be);
        filesz = wide ? field(ph + offsetof(Elf64_Phdr, p_filesz), 8, be)
                      : field(ph + offsetof(Elf32_Phdr, p_filesz), 4, be);
        memsz = wide ? field(ph + offsetof(Elf64_Phdr, p_memsz), 8, be)
                     : field(ph + offsetof(Elf32_Phdr, p_memsz), 4, be);
        if (type == PT_LOAD && memsz > filesz && off + filesz > offset &&
            off + filesz <= offset + size) {
            return start + (off + filesz - offset);
        }
    }
    return UINT64_MAX;
}
