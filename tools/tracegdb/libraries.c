/* SPDX-License-Identifier: MIT */
/*
 * Programs and libraries by the trace's mappings, where no memory is known (no `val'): gdb
 * then cannot read the loader's list of libraries, nor where the program was loaded.  Both
 * follow from the mappings and the headers of the files.  Where memory is known the loader's
 * list is there (linkmap.c), which also has what the loader has not finished yet.
 */
#include "session.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the headers of a file say that is mapped. */
struct image {
    uint64_t bias, headers, entry, dynamic; /* addresses; 0: there is none */
    uint64_t segment;                       /* of the first one in the headers */
    uint64_t end;                           /* after the last byte of all */
    uint64_t header_bytes, nr_headers;
    const char *interpreter; /* NULL: none */
};

/* The bytes of a file at an address, NULL if these are not all there. */
static const uint8_t *bytes_at(const struct symfile *f, uint64_t vaddr, size_t n)
{
    size_t room;
    const uint8_t *p = symfile_bytes(f, vaddr, &room);

    return p && room >= n ? p : NULL;
}

static bool read_headers(const struct session *s, const struct symfile *f, uint64_t first,
                         struct image *out)
{
    const struct guest *g = &s->guest;
    const unsigned word = g->word;
    const bool wide = word == 8;
    const uint8_t *e = bytes_at(f, first, sizeof(Elf64_Ehdr)), *table;

    if (!e || memcmp(e, ELFMAG, SELFMAG) ||
        e[EI_CLASS] != (wide ? ELFCLASS64 : ELFCLASS32)) {
        return false;
    }
    out->entry = out->bias + guest_load(g, e + 24, word);
    out->headers = guest_load(g, e + 24 + word, word);
    out->header_bytes = guest_load(g, e + 30 + 3 * word, 2);
    out->nr_headers = guest_load(g, e + 32 + 3 * word, 2);
    if (out->header_bytes != (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr))) {
        return false;
    }
    table = bytes_at(f, first + out->headers, out->header_bytes * out->nr_headers);
    bool segments = false;

    for (uint64_t i = 0; table && i < out->nr_headers; i++) {
        const uint8_t *p = table + i * out->header_bytes;
        const uint64_t type = guest_load(g, p, 4),
                       vaddr = guest_load(g, p + 2 * word, word);
        size_t room;

        if (type == PT_LOAD) {
            const uint64_t end = out->bias + vaddr + guest_load(g, p + 5 * word, word);

            out->segment = segments ? out->segment : out->bias + vaddr;
            out->end = segments && end < out->end ? out->end : end;
            segments = true;
        } else if (type == PT_DYNAMIC) {
            out->dynamic = out->bias + vaddr;
        } else if (type == PT_INTERP) {
            const char *name = (const char *)symfile_bytes(f, vaddr, &room);

            out->interpreter = name && memchr(name, 0, room) ? name : NULL;
        }
    }
    out->headers += first + out->bias;
    return table != NULL;
}

/* Whether a mapping is the begin of a program or library; *out: what it is. */
static bool find_image(const struct session *s, const struct ctr_mapping *m,
                       struct image *out)
{
    const struct module **v;
    const struct symfile *file = NULL;
    uint64_t first;
    uint32_t n = 0;

    if (m->offset || m->path[0] != '/' || !s->places) {
        return false;
    }
    v = places_modules(s->places, &n);
    for (uint32_t i = 0; v && i < n; i++) {
        if (v[i]->file && !strcmp(v[i]->path, m->path)) {
            file = v[i]->file;
        }
    }
    free(v);
    if (!file || !symfile_vaddr(file, 0, &first)) {
        return false;
    }
    *out = (struct image){.bias = m->start - first};
    return read_headers(s, file, first, out);
}

struct listing {
    struct session *s;
    struct textbuf *out;
    const char *program;
    struct image main;  /* of the program */
    const char *loader; /* the last part of its interpreter's name */
    uint64_t loader_at; /* 0: not mapped */
    const char *last;   /* the file listed last, and where it ends */
    uint64_t last_end;
    bool found, list;
};

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int on_mapping(void *arg, const struct ctr_mapping *m)
{
    struct listing *l = arg;
    struct image image;

    if (!find_image(l->s, m, &image)) {
        return 0;
    }
    if (l->program && !strcmp(m->path, l->program)) {
        l->main = l->found ? l->main : image;
        l->found = true;
        l->loader = image.interpreter ? last_part(image.interpreter) : NULL;
        return 0;
    }
    if (l->loader && !strcmp(last_part(m->path), l->loader)) {
        l->loader_at = m->start;
    }
    /* A second segment of a small file begins at its first page, too. */
    if (!l->list || !image.dynamic ||
        (l->last && m->start < l->last_end && !strcmp(m->path, l->last))) {
        return 0;
    }
    l->last = m->path;
    l->last_end = image.end;
    /* gdb wants the address of a loader's structure, which names the library. */
    return !(textbuf_printf(l->out, "<library name=\"") &&
             textbuf_markup(l->out, m->path, strlen(m->path)) &&
             textbuf_printf(l->out,
                            "\" lm=\"0x%" PRIx64 "\" l_addr=\"0x%" PRIx64
                            "\" l_ld=\"0x%" PRIx64 "\" lmid=\"0x0\"/>\n",
                            m->start, image.bias, image.dynamic));
}

/* Looks at all mappings at a time; the program's come before its loader's in the trace. */
static bool look(struct session *s, struct listing *l, uint64_t time_ns)
{
    struct ctr_maps *maps;
    int ret;

    l->s = s;
    if (ctr_maps_load_to(&maps, s->tr, time_ns + 1, 0, &s->diag)) {
        return false;
    }
    ret = ctr_maps_each(maps, s->here.process, time_ns, on_mapping, l);
    if (!ret && l->loader && !l->loader_at && !l->list) {
        ret = ctr_maps_each(maps, s->here.process, time_ns, on_mapping, l);
    }
    ctr_maps_free(maps);
    return !ret;
}

bool libraries_offsets(struct session *s, const char *program, struct textbuf *b)
{
    struct listing l = {.program = program};
    const uint64_t mask = UINT64_MAX >> (64 - s->info.addr_bits);

    /* In the way of a program's, Text, Data and Bss, gdb would leave some sections where they
     * are: see kernel.c. */
    return !program || !look(s, &l, process_begin_ns(s)) || !l.found || !l.main.bias ||
           textbuf_printf(b, "TextSeg=%" PRIx64, l.main.segment & mask);
}

bool libraries_needed(const struct session *s)
{
    return !s->info.machine && s->info.events & CTR_HAS_MAP &&
           !(s->info.events & CTR_HAS_VAL);
}

bool libraries_listed(const struct session *s)
{
    return !s->info.machine && s->info.events & CTR_HAS_MAP;
}

bool libraries_list(struct session *s, const char *program, struct textbuf *b,
                    bool *known)
{
    struct listing l = {.out = b, .program = program};

    *known = libraries_needed(s);
    if (!*known) {
        return !program || !look(s, &l, process_begin_ns(s)) || !l.found ||
               linkmap_list(s, l.main.dynamic, b, known);
    }
    l.list = true;
    if (!textbuf_printf(b, "<library-list-svr4 version=\"1.0\">\n")) {
        return false;
    }
    look(s, &l, s->here.at.time_ns); /* of damaged mappings, those that can be read */
    return textbuf_printf(b, "</library-list-svr4>\n");
}

size_t libraries_auxv(struct session *s, const char *program, uint8_t *out, size_t most)
{
    struct listing l = {.program = program};
    const unsigned word = s->guest.word;
    size_t n = 0;

    if (!libraries_needed(s) || !look(s, &l, s->here.at.time_ns) || !l.found) {
        return 0;
    }
    const uint64_t entries[] = {
        AT_PHDR,  l.main.headers,    AT_PHENT, l.main.header_bytes,
        AT_PHNUM, l.main.nr_headers, AT_BASE,  l.loader_at,
        AT_ENTRY, l.main.entry,      AT_NULL,  0,
    };
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]) && n + word <= most;
         i++) {
        guest_store(&s->guest, out + n, entries[i], word);
        n += word;
    }
    return n;
}
