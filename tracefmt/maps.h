/* SPDX-License-Identifier: MIT */
/* Inside of the history of address spaces. */
#ifndef CTR_MAPS_H
#define CTR_MAPS_H

#include "util.h"

/* Limits against files that were made to hurt; programs stay far below. */
#define MAPS_MAX_EVENTS (1u << 22)
#define MAPS_MAX_RECORDS (1u << 22)
#define MAPS_MAX_NAMES (256u << 20) /* bytes of paths and build ids */

/* What is mapped, each only once: a file, or a name that the system gives. */
struct map_file {
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    uint64_t dev;
    uint64_t inode;
    uint32_t next;   /* with the same hash */
    uint8_t is_file; /* offsets mean something */
};

/* A piece of an address space, from one moment to another. */
struct map_record {
    struct ctr_mapping pub;
    uint32_t file;
    uint32_t from; /* moments of the process */
    uint32_t to;
    uint8_t shared;
};

/* A process's records, found by moment and address (maps.c). */
struct map_history {
    uint64_t *time; /* moment i is time[i], ascending */
    uint32_t moments;
    uint32_t moments_cap;
    uint32_t first, end; /* its records */
    /* Node k of a tree over the moments has the records
     * list[node[k]..node[k + 1]-1], by address. */
    uint32_t *node;
    uint32_t *list;
};

/* Where a thread changed mappings, ascending. */
struct map_change {
    uint64_t ordinal;
    uint64_t time_ns;
};
struct map_changes {
    struct map_change *v;
    uint32_t n, cap;
};

struct ctr_maps {
    struct map_history *process;
    uint32_t nprocess;
    struct map_changes *thread;
    uint32_t nthread;
    struct map_record *rec;
    uint32_t nrec;
    uint32_t rec_cap;
    struct map_file *file;
    uint32_t nfile;
    uint32_t file_cap;
    uint32_t *hash; /* first file + 1 */
    uint64_t name_bytes;
};

/* Makes the tree of a process.  Returns 0 or -1 (no memory). */
int map_history_index(struct ctr_maps *m, struct map_history *h);

/* map_files.c: the number of a file.  Returns 0, -CTR_E_NOMEM, -CTR_E_LIMIT. */
int map_file_get(struct ctr_maps *m, const struct ctr_map *e, uint32_t *out,
                 struct ctr_diag *diag);
void map_files_fini(struct ctr_maps *m);

#endif
