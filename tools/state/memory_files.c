/* SPDX-License-Identifier: MIT */
/* What the files of a trace's processes hold, for its memory; see memory_files.h. */
#include "state/memory_files.h"

#include <string.h>

/* Without mappings it is the file of the module whose code is there. */
static bool is_of(const struct ctr_mapping *mapping, const struct place *place)
{
    return !mapping || (mapping->path[0] && !strcmp(place->module->path, mapping->path));
}

/* What the trace itself has of the mapped file; ctr_memory knows what the process could change
 * of it. */
static const uint8_t *embedded(const struct places *places,
                               const struct ctr_mapping *mapping, uint64_t addr,
                               size_t *n, unsigned *flags)
{
    *flags |= CTR_MEMORY_CONSTANT;
    return mapping ? places_mapped_bytes(places, mapping, addr, n) : NULL;
}

/* As ctr_memory_files.bytes. */
static const uint8_t *file_bytes(void *arg, const struct ctr_trace *tr, uint32_t process,
                                 uint64_t addr, const struct ctr_mapping *mapping,
                                 size_t *n, unsigned *flags)
{
    const struct places *places = arg;
    const struct symfile *file;
    const uint8_t *bytes;
    struct place place;

    if (mapping && places_is_changed(places, mapping)) {
        return NULL;
    }
    if (!places_find_data(places, tr, process, addr, &place) || !place.module->file) {
        return embedded(places, mapping, addr, n, flags);
    }
    file = place.module->file;
    *n = symfile_cleared(file, place.vaddr);
    if (*n) {
        *flags |= CTR_MEMORY_CLEARED; /* whatever the file has there */
        return NULL;
    }
    bytes = is_of(mapping, &place) ? symfile_bytes(file, place.vaddr, n) : NULL;
    if (!bytes) { /* what a page has beside a segment */
        return embedded(places, mapping, addr, n, flags);
    }
    if (symfile_is_constant(file, place.vaddr)) {
        *flags |= CTR_MEMORY_CONSTANT;
    }
    return bytes;
}

int memory_open(struct ctr_memory **out, struct ctr_trace *tr,
                const struct places *places, const struct ctr_moment *at, unsigned jobs,
                struct ctr_diag *diag)
{
    const struct ctr_memory_files files = {file_bytes, (void *)places};
    const struct ctr_memory_opts opts = {.files = places ? &files : NULL,
                                         .workers = jobs};

    return ctr_memory_open(out, tr, at, &opts, diag);
}
