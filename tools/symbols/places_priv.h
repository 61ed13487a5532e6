/* SPDX-License-Identifier: MIT */
/* Internals of places.h: the set of modules, and the ranges they were mapped at. */
#ifndef TOOLS_PLACES_PRIV_H
#define TOOLS_PLACES_PRIV_H

#include "input/embedded.h"
#include "places.h"

/* ---------------------------------------------------------- places_modules.c */

/* A module, and how its file was found. */
struct mod {
    struct module pub;
    struct elf_arg *elf; /* its file, given with --elf, or NULL */
    struct symfile *own; /* its file, found by path, or NULL */
    uint32_t generation; /* of modules without build id and with the same path */
    bool trusted;        /* its bytes are not compared with the file's: --force */
    bool filled_in;   /* trusted, but only blocks that resemble the file's are its own */
    bool verify;      /* no build ids: compare bytes to check that the file matches */
    bool remarked;    /* a remark about it was printed */
    bool borrowed_id; /* its build id is the file's; no trace has it */
    bool rejected;    /* without a file, because the file did not match */
    struct jit_mod *jit; /* of pub.generated, else NULL */
};

/* Of a module of generated code: what its file has no place for, by function. */
struct jit_mod {
    const uint8_t **bytes; /* of the code; NULL: not known */
    uint64_t *time_ns;     /* when it was made; NULL: not known of any */
    uint8_t *file;         /* that the bytes are in, of the first layer; or NULL */
};

/* A file of --elf. */
struct elf_arg {
    const char *path;
    const char *name;
    struct symfile *file;
    struct symfile_info info;
    struct mod *mod; /* the module that uses it, or NULL */
    /* Where it should be, code differs in so many blocks: it is not used. */
    uint64_t differ, of;
};

struct modset {
    struct modset_options opt;
    const char **debug_dirs; /* opt's, and the sysroot's */
    char *sysroot_debug;
    struct elf_arg *elfs;
    struct mod **mods;
    uint32_t nr_mods, cap;
    bool loaded; /* a trace was loaded */
    struct symfile_servers servers;
};

/* places_set.c */
bool modset_same_id(const uint8_t *a, uint32_t n, const uint8_t *b, uint32_t m);
struct symfile_options modset_file_options(struct modset *s);
/* Stores why a module has no file.  With `remark' prints it once, unless quiet. */
bool modset_without_file(struct modset *s, struct mod *m, const char *why, bool remark);
/* Replaces a text of malloc(3); false: no memory. */
bool modset_set_text(const char **field, const char *text);
/* Says so; TOOL_FAILED. */
int modset_no_memory(const struct modset *s);

/* A file that is mapped in a trace, as code. */
struct mapped_file {
    const char *path;
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    uint64_t dev, inode;
    uint32_t seq;        /* order of appearance, from 0 */
    struct mod *mod;     /* NULL: not known yet */
    uint32_t process;    /* the first process that mapped it */
    uint64_t start, end; /* there; both 0: not mapped yet */
};

/* The target of a trace, and its name for messages. */
struct target {
    bool is_machine; /* its programs are not those of this machine */
    const char *path;
    const char *name;
    uint32_t machine;
    bool big_endian;
    uint8_t addr_bits;
    struct embedded *embedded; /* its files */
};

const char *modset_machine_name(uint32_t machine, bool big_endian);
bool modset_right_machine(const struct symfile_info *i, const struct target *t);

/* places_own.c: the file of a module that no --elf file is: a TOOL_* status. */
int modset_find_own(struct modset *s, const struct target *t, const struct mapped_file *f,
                    struct mod *m);

/* Finds or makes the modules of a trace's files.  Returns a TOOL_* status, after a
 * message on stderr if it failed. */
int modset_resolve(struct modset *s, const struct target *target, struct mapped_file *v,
                   uint32_t n);
/* The module of an --elf file in a trace without mappings. */
int modset_resolve_elf(struct modset *s, struct elf_arg *e);
/* Checks that --elf files are for the trace's machine: TOOL_OK, or TOOL_FAILED and a
 * message. */
int modset_check_machine(const struct modset *s, const struct target *target);
/*
 * Rejects a file whose code differs, which has no build id to compare: TOOL_FAILED and a
 * message if it was given with --elf; else prints a remark, and *m becomes a module
 * without a file.
 */
int modset_reject(struct modset *s, const struct target *target, struct mod **m,
                  uint64_t differ, uint64_t of);

/* Adds a module of generated code; it owns the file.  NULL: no memory. */
struct mod *modset_add_generated(struct modset *s, const char *path,
                                 struct symfile *file);
void jit_mod_free(struct jit_mod *j); /* NULL is allowed */

/* --------------------------------------------------------- places_ranges.c */

/* A mapping at some time: pc is byte pc - start + offset of the file, or pc - base of
 * the module.  mod NULL: executable memory without a file. */
struct range {
    uint64_t start, end;
    struct mod *mod;
    uint64_t offset; /* of start: in the file, or without a file from the base */
    bool fixed;      /* no mapping is known, or generated code: offset is the vaddr */
    bool section; /* other parts of the file have another distance: a module of a kernel,
                        a second address of the kernel's own code */
};

/* All ranges, with fast lookup by pc. */
struct ranges {
    struct range *v;
    size_t n, cap;
    /* Pieces between two neighbouring bounds; list[first..first+n) are the indexes of the
     * ranges there that map a pc to different places. */
    struct range_piece {
        uint64_t start, end;
        uint32_t first;
        uint32_t n; /* RANGES_MANY: too many to list */
    } *pieces;
    size_t nr_pieces;
    uint32_t *list;
};
#define RANGES_MAX 16u
#define RANGES_MANY UINT32_MAX

struct range range_of_mapping(const struct ctr_mapping *m, struct mod *mod);
/* Returns false when there is no memory. */
bool ranges_add(struct ranges *r, const struct range *new);
/* By address, each once; returns their number. */
size_t ranges_sort(struct ranges *r);
/* Call after the last range. */
bool ranges_finish(struct ranges *r);
void ranges_fini(struct ranges *r);
/* NULL: nothing was ever mapped there. */
const struct range_piece *ranges_find(const struct ranges *r, uint64_t pc);

/* ---------------------------------------------------------------- places.c */

struct places {
    struct modset *set;
    struct mappings *mappings; /* NULL: none recorded */
    struct ranges ranges;
    struct ranges writable; /* of modules to verify: where code may be rewritten */
    struct target target;
    /* The files that were mapped as code, by the address of their path, which all
     * mappings of a file share. */
    struct mapped_file *files;
    uint32_t nr_files;
    size_t cap_files;
    struct jit_process *jit; /* by process */
    uint32_t nr_jit;
    struct lazy_places *lazy;   /* or NULL: all is loaded */
    struct task_places *tasks;  /* of a machine, or NULL */
    struct place_kernel kernel; /* of a machine ... */
    bool has_kernel;            /* ... if it is known */
    bool at_once; /* for queries only that say themselves where damage matters */
};

/* The file of an executable mapping is added to the list, unless it is no module; 1: no
 * memory. */
int places_add_file(void *places, const struct ctr_mapping *m);

/* Whether this is the name of a jitdump file, which is mapped only to be found. */
bool path_is_jitdump(const char *path);
/* Whether a mapping is of a program or library. */
bool places_is_module(const struct ctr_mapping *m);

/* ------------------------------------------------ places_jit.c, places_jit_load.c */

/* A process, and the code that it made. */
struct jit_process {
    int32_t pid;
    uint32_t parent;   /* whose memory it began with, or UINT32_MAX */
    uint32_t next;     /* with the same number, or UINT32_MAX */
    bool made;         /* it has executable memory of no file */
    const char *dump;  /* the jitdump that it mapped, or NULL */
    struct mod **mods; /* the newest layer first */
    uint32_t nr_mods;
    size_t cap_mods;
};

/* The processes of the trace; false: no memory. */
bool places_jit_init(struct places *p, const struct ctr_trace *tr);
void places_jit_fini(struct places *p);
/* Call for all mappings, then load: TOOL_OK, or TOOL_FAILED after a message. */
void places_jit_note(struct places *p, const struct ctr_mapping *m);
int places_jit_load(struct places *p, const struct ctr_trace *tr);
/* The kernel of a machine, by the options: adds its ranges. */
int places_kallsyms_load(struct places *p, struct ctr_trace *tr);

/* Adds the ranges of executable memory of no module; false: no memory. */
bool places_jit_add_ranges(struct places *p, const struct ctr_mapping *m);
/* As places_find, in generated code. */
bool places_jit_find(const struct places *p, uint32_t process, uint64_t time_ns,
                     uint64_t pc, struct place *out);
/* Whether a process has a module's code. */
bool places_jit_in(const struct places *p, uint32_t process, const struct module *module);
/* Whether a process may have generated code that has names, by the mappings that are known
 * so far. */
bool places_jit_wanted(const struct places *p, uint32_t process,
                       const struct ctr_maps *maps);
/* The place of a pc in a module of generated code; false: in no function. */
bool jit_place(const struct mod *m, uint64_t pc, struct place *out);
/* As symfile_bytes. */
const uint8_t *jit_bytes(const struct mod *m, uint64_t vaddr, size_t *n);

/* ----------------------------------------------------------- places_tasks.c */

struct task_places;
/* Whether user programs of a machine can have names: not if the only files are kernels. */
bool places_tasks_wanted(const struct modset *s, const struct ctr_info *info);
/* Reads which files its processes have as code: they become the first ones of the list.
 * False: no memory.  places_tasks_fini in any case. */
bool places_tasks_read(struct places *p, struct ctr_trace *tr);
/* Call when the files have modules; false: no memory. */
bool places_tasks_add_ranges(struct places *p);
void places_tasks_fini(struct places *p);
/* As places_time and places_find. */
uint64_t places_tasks_time(const struct task_places *t, uint32_t thread, uint64_t ordinal,
                           uint64_t *until);
bool places_tasks_find(const struct places *p, uint64_t time, uint64_t pc,
                       struct range *out);
/* What ended the reading of the events early, or 0. */
int places_tasks_error(const struct places *p, struct ctr_diag *diag);
/* Whether a module is one of these files. */
bool places_tasks_have(const struct places *p, const struct module *m);

/* ----------------------------------------------------------- places_fixed.c */

/* Adds the --elf files of a trace without mappings, and their ranges; why it has none. */
int places_fixed_load(struct places *p, struct ctr_trace *tr, const char *why_unmapped);

/* ---------------------------------------------------------- places_module.c */

/* What the address of a module's code is a multiple of. */
uint32_t places_module_align(const struct elf_arg *e);
/* Where a module's code is, by copies of the kernel's files; false: they do not say it. */
bool places_find_module(const struct places *p, const struct elf_arg *e, uint64_t *base);

/* ------------------------------------------------------------ places_lazy.c */

/* How places are completely loaded and freed: places_load and places_free. */
struct whole_places {
    int (*load)(struct places **out, struct modset *s, struct ctr_trace *tr,
                const char *path);
    void (*free)(struct places *p);
};
bool places_lazy_init(struct places *p, const char *path, unsigned open_flags,
                      const struct whole_places *ops);
void places_lazy_fini(struct places *p);
/* TOOL_OK, or TOOL_FAILED if a query could not be answered. */
int places_lazy_status(const struct places *p);
/*
 * The module of a mapping, or NULL.  *whole: NULL, or other places, completely loaded,
 * which have the answer instead.  Any thread may call this.
 */
struct mod *places_lazy_mod(const struct places *p, const struct ctr_mapping *m,
                            const struct places **whole);
/* Other places that know the code that a process made, or NULL.  Any thread may call
 * this. */
const struct places *places_lazy_generated(const struct places *p, uint32_t process,
                                           uint64_t time_ns);
/* The file of a mapping, or NULL. */
struct mapped_file *places_file(const struct places *p, const struct ctr_mapping *m);
/* The index of a path in the list of files, or the index where it belongs. */
uint32_t places_lower_file(const struct places *p, const char *path);

static inline bool mod_has_bytes(const struct mod *m)
{
    return m && m->pub.file;
}

/* Whether the file has to be compared with the code that ran. */
static inline bool mod_needs_check(const struct mod *m)
{
    return m && m->verify && !m->trusted && mod_has_bytes(m);
}

/* The place of a pc in a range with a module; false: that part of the file is not
 * loaded. */
bool range_place(const struct range *r, uint64_t pc, struct place *out);

/* Compares a block's bytes with those of a file at vaddr. */
enum likeness { DIFFERS, UNKNOWN, SAME };
enum likeness places_compare(const struct ctr_block *b, const struct mod *m,
                             uint64_t vaddr);

#endif
