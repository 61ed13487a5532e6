/* SPDX-License-Identifier: MIT */
/* Inside of places.h: the set of modules, and what lies where. */
#ifndef TOOLS_PLACES_IMPL_H
#define TOOLS_PLACES_IMPL_H

#include "places.h"

/* ---------------------------------------------------------- places_modules.c */

/* A module, and how it was come by. */
struct mod {
    struct module pub;
    struct elf_arg *elf; /* its file is that of --elf */
    struct symfile *own; /* or was found by its path */
    uint32_t generation; /* of modules without build id and with the same path */
    bool trusted;        /* its bytes are not compared with the file's: --force */
    bool verify;         /* no build ids: its bytes say whether the file is the one */
    bool told;           /* a remark was made about it */
    bool borrowed_id;    /* its build id is that of the file, no trace knows it */
    bool rejected;       /* stands in for one whose file was another one */
};

/* A file of --elf. */
struct elf_arg {
    const char *path;
    const char *name;
    struct symfile *file;
    struct symfile_info info;
    struct mod *mod; /* what it is the file of, or NULL */
};

struct modset {
    struct modset_options opt;
    const char **debug_dirs; /* opt's, and that of the sysroot */
    char *sysroot_debug;
    struct elf_arg *elfs;
    struct mod **mods;
    uint32_t nr_mods, cap;
    bool loaded; /* a trace was */
};

/* A file that is mapped in a trace, as code. */
struct mapped_file {
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    uint32_t seq;        /* in which they were met, from 0 */
    struct mod *mod;     /* NULL: not known yet */
    uint32_t process;    /* the first that had it, and where */
    uint64_t start, end; /* both 0: nowhere yet */
};

/* The target of a trace, and its name for messages. */
struct target {
    const char *path;
    const char *name;
    uint32_t machine;
    bool big_endian;
    uint8_t addr_bits;
};

/* Finds or makes the modules of a trace's files.  Returns a TOOL_* status, having said
 * on stderr what is wrong. */
int modset_resolve(struct modset *s, const struct target *target, struct mapped_file *v,
                   uint32_t n);
/* The module of an --elf file in a trace without mappings. */
int modset_resolve_elf(struct modset *s, struct elf_arg *e);
/* --elf files are of the trace's machine: TOOL_OK, or TOOL_FAILED and a message. */
int modset_check_machine(const struct modset *s, const struct target *target);
/*
 * A file without build id turned out to be another one: TOOL_FAILED and a message if it
 * is of --elf, else a remark, and *m becomes a module without a file.
 */
int modset_reject(struct modset *s, const struct target *target, struct mod **m,
                  uint64_t differ, uint64_t of);

/* --------------------------------------------------------- places_ranges.c */

/* What lay somewhere at some time: pc is byte pc - start + offset of the file, or
 * pc - base of the module.  mod NULL: memory without a file, that was code. */
struct range {
    uint64_t start, end;
    struct mod *mod;
    uint64_t offset; /* of start in the file; without a file from the base */
    bool fixed;      /* no mapping is known: offset is the vaddr */
};

/* All ranges; what is at a pc is found fast. */
struct ranges {
    struct range *v;
    size_t n, cap;
    /* Pieces between two neighbouring bounds; list[first..first+n) are numbers of ranges
     * that differ in what they make of a pc. */
    struct range_piece {
        uint64_t start, end;
        uint32_t first;
        uint32_t n; /* RANGES_MANY: too many of them to tell */
    } *pieces;
    size_t nr_pieces;
    uint32_t *list;
};
#define RANGES_MAX 16u
#define RANGES_MANY UINT32_MAX

/* Returns false when there is no memory. */
bool ranges_add(struct ranges *r, const struct range *new);
/* After the last one. */
bool ranges_finish(struct ranges *r);
void ranges_fini(struct ranges *r);
/* NULL: nothing was there, ever. */
const struct range_piece *ranges_find(const struct ranges *r, uint64_t pc);

/* ---------------------------------------------------------------- places.c */

struct places {
    struct modset *set;
    struct mappings *mappings; /* NULL: none recorded */
    struct ranges ranges;
    struct ranges writable; /* of modules to be verified: where code may be rewritten */
    struct target target;
    /* The files that were mapped as code, by the address of their path, which all
     * mappings of a file share. */
    struct mapped_file *files;
    uint32_t nr_files, cap_files;
};

/* The file of a mapping, or NULL; and where it is, or would be, in the list. */
struct mapped_file *places_file(const struct places *p, const struct ctr_mapping *m);
uint32_t places_lower_file(const struct places *p, const char *path);

static inline bool mod_has_bytes(const struct mod *m)
{
    return m && m->pub.file;
}

struct range range_of_mapping(const struct ctr_mapping *m, struct mod *mod);
/* The place of a pc in a range with a module; false: that part of the file is not
 * loaded. */
bool range_place(const struct range *r, uint64_t pc, struct place *out);

/* How like a block's bytes are those of a file at vaddr. */
enum likeness { DIFFERS, UNKNOWN, SAME };
enum likeness places_compare(const struct ctr_block *b, const struct mod *m,
                             uint64_t vaddr);

#endif
