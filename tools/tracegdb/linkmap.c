/* SPDX-License-Identifier: MIT */
/*
 * The loader's list of libraries, as memory has it.  gdb could read it by itself, but looks in
 * its own folder for a library that the program opened by a relative path: here such a one has
 * the path of its mapping.  What is not known here, or is not simple, is left to gdb.
 */
#include "session.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#ifndef DT_MIPS_RLD_MAP_REL
#define DT_MIPS_RLD_MAP_REL 0x70000035
#endif

#define ENTRIES_MOST 1024u /* of the program's dynamic section */
#define LIBRARIES_MOST 4096u
#define NAME_MOST 4096u

/* A word of memory at the position; false: it is not known. */
static bool word_at(struct session *s, uint64_t addr, uint64_t *value)
{
    const unsigned n = s->guest.word;
    uint8_t bytes[8], known[8];

    if (position_memory(s, addr, bytes, known, n) || memchr(known, 0, n)) {
        return false;
    }
    *value = guest_load(&s->guest, bytes, n);
    return true;
}

/* A string with its NUL; false: not all of it is known. */
static bool string_at(struct session *s, uint64_t addr, char out[NAME_MOST])
{
    uint8_t known[64];

    for (size_t n = 0; n < NAME_MOST; n += sizeof(known)) {
        uint8_t *piece = (uint8_t *)out + n;
        const uint8_t *end;

        if (position_memory(s, addr + n, piece, known, sizeof(known))) {
            return false;
        }
        end = memchr(piece, 0, sizeof(known));
        if (memchr(known, 0, end ? (size_t)(end - piece) + 1 : sizeof(known))) {
            return false;
        }
        if (end) {
            return true;
        }
    }
    return false;
}

/* Where the loader's structure is, by the program's dynamic section; 0: not known, or not yet. */
static uint64_t find_debug(struct session *s, uint64_t dynamic)
{
    const unsigned word = s->guest.word;
    const uint64_t mask = UINT64_MAX >> (64 - 8 * word);
    uint64_t tag = 1, value, place = 0;

    for (unsigned i = 0; i < ENTRIES_MOST && tag; i++) {
        const uint64_t at = dynamic + (uint64_t)i * 2 * word;

        if (!word_at(s, at, &tag) || !word_at(s, at + word, &value)) {
            return 0;
        }
        if (tag == DT_DEBUG) {
            return value;
        }
        /* Of mips the section cannot be written: it has the address of the address. */
        if (s->info.elf_machine == EM_MIPS) {
            place = tag == DT_MIPS_RLD_MAP_REL         ? (at + value) & mask
                    : tag == DT_MIPS_RLD_MAP && !place ? value
                                                       : place;
        }
    }
    return place && word_at(s, place, &value) ? value : 0;
}

/* The absolute path of what is mapped at the dynamic section of a library that has a name
 * without one; else the name.  *maps: NULL, or as loaded for another one. */
static const char *absolute(struct session *s, struct ctr_maps **maps, const char *name,
                            uint64_t dynamic)
{
    struct ctr_mapping m;

    if (!*name || *name == '/' ||
        (!*maps && ctr_maps_load_to(maps, s->tr, s->here.at.time_ns + 1, 0, &s->diag)) ||
        ctr_maps_find(*maps, s->here.process, s->here.at.time_ns, dynamic, &m) != 1) {
        return name;
    }
    return m.path[0] == '/' ? m.path : name;
}

/* struct r_debug: version, first library, and three words more; of version 2 the structure of
 * another namespace. */
static bool read_debug(struct session *s, uint64_t debug, uint64_t *first)
{
    const unsigned word = s->guest.word;
    uint8_t bytes[4], known[4];
    uint64_t next = 0;

    return debug && !position_memory(s, debug, bytes, known, sizeof(bytes)) &&
           !memchr(known, 0, sizeof(known)) && word_at(s, debug + word, first) &&
           *first &&
           (guest_load(&s->guest, bytes, 4) < 2 ||
            (word_at(s, debug + 5 * word, &next) && !next));
}

bool linkmap_list(struct session *s, uint64_t dynamic, struct textbuf *b, bool *known)
{
    const unsigned word = s->guest.word;
    char name[NAME_MOST];
    struct ctr_maps *maps = NULL;
    uint64_t at = 0;
    bool ok;

    *known = dynamic && read_debug(s, find_debug(s, dynamic), &at);
    if (!*known) {
        return true;
    }
    ok = textbuf_printf(
        b, "<library-list-svr4 version=\"1.0\" main-lm=\"0x%" PRIx64 "\">\n", at);
    for (unsigned i = 0; ok && *known && at && i < LIBRARIES_MOST; i++) {
        const uint64_t here = at;
        uint64_t bias, text, section;

        *known = word_at(s, here, &bias) && word_at(s, here + word, &text) &&
                 word_at(s, here + 2 * word, &section) &&
                 word_at(s, here + 3 * word, &at) && string_at(s, text, name);
        if (*known && i && *name) { /* the first one is the program */
            const char *path = absolute(s, &maps, name, section);

            ok = textbuf_printf(b, "<library name=\"") &&
                 textbuf_markup(b, path, strlen(path)) &&
                 textbuf_printf(b,
                                "\" lm=\"0x%" PRIx64 "\" l_addr=\"0x%" PRIx64
                                "\" l_ld=\"0x%" PRIx64 "\" lmid=\"0x0\"/>\n",
                                here, bias, section);
        }
    }
    ctr_maps_free(maps);
    return ok && textbuf_printf(b, "</library-list-svr4>\n");
}
