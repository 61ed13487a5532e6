/* SPDX-License-Identifier: MIT */
/* Contents of files and new memory for memory.h; see memory_initial.h. */
#include "state/memory_initial.h"

#include <string.h>
#include <sys/mman.h>

/* The byte of the file that is mapped at addr; false: there is none, or it is not known.
 * Without mappings it is that of the module whose code is there. */
static bool find_file(const struct memory_initial *m, uint32_t process, uint64_t addr,
                      const struct ctr_mapping *mapping, struct place *out)
{
    return m->places && (!mapping || mapping->path[0]) &&
           places_find_data(m->places, m->tr, process, addr, out) && out->module->file &&
           (!mapping || !strcmp(out->module->path, mapping->path));
}

const uint8_t *memory_initial_constant(const struct memory_initial *m, uint32_t process,
                                       uint64_t addr, const struct memory_origin *origin,
                                       size_t *n)
{
    const struct ctr_mapping *c = origin->mapping;
    const uint8_t *bytes = NULL;
    struct place place;

    *n = origin->end == UINT64_MAX ? SIZE_MAX : (size_t)(origin->end - addr);
    if (!m->places || !c || origin->prot & PROT_WRITE || !c->path[0]) {
        return NULL;
    }
    if (find_file(m, process, addr, c, &place) &&
        symfile_is_constant(place.module->file, place.vaddr)) {
        bytes = symfile_bytes(place.module->file, place.vaddr, n);
    }
    if (!bytes) { /* looked for again soon, as a part of it may be such */
        *n = 64 - addr % 64;
    }
    *n = *n > origin->end - addr ? (size_t)(origin->end - addr) : *n;
    return bytes;
}

/* New memory of the program's own: zeros.  The stack and what was there at the start were
 * filled by the system. */
static bool is_zeroed(const struct memory_origin *origin)
{
    const struct ctr_mapping *c = origin->mapping;

    return origin->kind == ORIGIN_NEW && c && (!c->path[0] || !strcmp(c->path, "[heap]"));
}

/* What the system cleared when it loaded the program. */
static bool is_cleared(const struct memory_initial *m, uint32_t process, uint64_t addr,
                       const struct memory_origin *origin)
{
    struct place place;

    return origin->kind == ORIGIN_PROCESS && m->places &&
           places_find_data(m->places, m->tr, process, addr, &place) &&
           place.module->file && symfile_is_cleared(place.module->file, place.vaddr);
}

bool memory_initial_byte(const struct memory_initial *m, uint32_t process, uint64_t addr,
                         const struct memory_origin *origin, uint8_t *value)
{
    const uint8_t *bytes = NULL;
    struct place place;
    size_t n;

    if (find_file(m, process, addr, origin->mapping, &place)) {
        bytes = symfile_bytes(place.module->file, place.vaddr, &n);
    }
    if (bytes && n &&
        (!m->part || symfile_is_constant(place.module->file, place.vaddr))) {
        *value = *bytes;
        return true;
    }
    *value = 0;
    return !m->part && (is_zeroed(origin) || is_cleared(m, process, addr, origin));
}
