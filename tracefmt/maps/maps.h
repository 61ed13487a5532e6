/* SPDX-License-Identifier: MIT */
/* Internals of the history of address spaces. */
#ifndef CTR_MAPS_H
#define CTR_MAPS_H

#include "ctr.h"
#include "base/util.h"

/*
 * Limits against hostile files; programs stay far below. Together they come to some 768
 * MiB: 200 for names (short ones take more than is counted), 160 for records, 128 for
 * changes, 96 for moments, 128 for events, and the rest for skews and for sorting.
 */
#define MAPS_MAX_EVENT_BYTES (128u << 20) /* packed, at once */
#define MAPS_MAX_CHANGES (1u << 22)       /* pieces that ever began */
#define MAPS_MAX_PIECES (1u << 20)        /* at once */
#define MAPS_MAX_MOMENTS (1u << 23)
#define MAPS_MAX_THREAD_CHANGES (1u << 23) /* changes of threads */
#define MAPS_MAX_NAMES (128u << 20)        /* bytes of paths and build ids */

/* What is mapped, each only once: a file, or a name from the system. */
struct map_file {
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    uint64_t dev;
    uint64_t inode;
    uint32_t next;   /* with the same hash */
    uint8_t is_file; /* offsets mean something */
};

/*
 * A piece of an address space, from one moment to another. There may be very many:
 * results for callers are made from them on demand.
 */
struct map_record {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* of start in the file; 0 if there is none */
    uint32_t from;   /* moments of the process */
    uint32_t to;
    uint32_t skew; /* see map_skew_get */
    uint32_t file : 26;
    uint32_t prot : 3;
    uint32_t shared : 1;
    uint32_t began : 2; /* CTR_MAPPING_* */
};
_Static_assert(sizeof(struct map_record) == 40, "many of them");
_Static_assert(MAPS_MAX_NAMES / sizeof(struct map_file) < 1u << 26, "bits of a file");

/* A process's records, found by moment and address (query.c). */
struct map_history {
    uint64_t *time; /* moment i is time[i], ascending */
    uint32_t moments;
    uint32_t moments_cap;
    struct map_record *rec;
    uint32_t nrec, rec_cap;
    /* Node k of a tree over the moments, from 1, has the records
     * node[k]..node[k + 1]-1, by address; NULL: there are none. */
    uint32_t *node;
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
    uint32_t changes; /* pieces that began */
    uint32_t moments; /* of all processes */
    uint32_t thread_changes;
    uint64_t *skew;
    uint32_t nskew;
    uint32_t skew_cap;
    struct map_file *file;
    uint32_t nfile;
    uint32_t file_cap;
    uint32_t *hash; /* first file + 1 */
    uint64_t name_bytes;
    int damage; /* what ended the history early, or 0 ... */
    struct ctr_diag why;
    uint64_t damage_ns; /* ... and the time from which on changes may be missing */
};

/*
 * Builds the tree of a process; its records change their places. Returns 0 or -1 (no
 * memory).
 */
int map_history_index(struct map_history *h);

/*
 * skew: how much higher a module begins than where offset 0 of the file would be if
 * what is mapped here were mapped like that from there on. It is 0 for most, and hardly
 * ever one that others do not have. Splitting and moving a piece do not change it.
 * Returns 0 or -1 (no memory).
 */
int map_skew_get(struct ctr_maps *m, uint64_t skew, uint32_t *out);
static inline uint64_t map_base(const struct ctr_maps *m, uint64_t start, uint64_t offset,
                                uint32_t skew)
{
    return start - offset + (skew ? m->skew[skew - 1] : 0);
}

/*
 * ctr_maps_load_to; events are applied whenever they take `pending' more bytes than
 * remained the last time.
 */
int maps_load(struct ctr_maps **out, struct ctr_trace *tr, uint64_t to_ns, unsigned flags,
              size_t pending, struct ctr_diag *diag);

/* names.c: the number of a file.  Returns 0, -CTR_E_NOMEM, -CTR_E_LIMIT. */
int map_file_get(struct ctr_maps *m, const struct ctr_map *e, uint32_t *out,
                 struct ctr_diag *diag);
void map_files_fini(struct ctr_maps *m);

#endif
