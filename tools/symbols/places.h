/* SPDX-License-Identifier: MIT */
/*
 * Maps a pc in a trace to a place in a file: finds the modules (programs and libraries)
 * of one or several traces by the traces' mappings and build ids, and where and when each
 * was mapped.
 *
 *   modset   the modules: one for each file, shared by all traces that are read
 *   places   the mappings of one trace, as ranges of modules
 */
#ifndef TOOLS_PLACES_H
#define TOOLS_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"
#include "symfile.h"

/* A file with code.  Files of two traces or processes are the same module if they have
 * the same build id or, without one, the same path. */
struct module {
    uint32_t index;   /* in the set, from 0 */
    const char *path; /* the guest's, or that of --elf; may be "[vdso]" or similar */
    const char *name; /* last part of path: never empty, no '/' in it */
    const uint8_t *build_id; /* from the trace, else from the file */
    uint32_t build_id_bytes;
    struct symfile
        *file;       /* NULL: no file found, addresses count from the module's base */
    const char *why; /* file NULL: a sentence with the reason; else "" */
    bool system;     /* not a file but made by the system: "[vdso]" */
    bool generated;  /* code that the program made and a perf map or jitdump names: its
                        addresses are those in memory, and the file has no bytes */
};

struct modset;

struct modset_options {
    const char *prog;        /* for messages */
    const char *const *elfs; /* --elf; preferred to files that the trace names */
    unsigned nr_elfs;
    bool elfs_only;                /* modules that are not in elfs have no file */
    const char *sysroot;           /* prefix for paths of the trace, or NULL */
    const char *const *debug_dirs; /* see symfile.h; sysroot's /usr/lib/debug too */
    unsigned nr_debug_dirs;
    bool debuginfod; /* query servers for debug information that is not here */
    /* Perf maps and jitdumps, or folders of them; 0: those that the processes left. */
    const char *const *perf_maps;
    unsigned nr_perf_maps;
    bool no_generated; /* no perf maps and jitdumps */
    /* Images or copies of /proc/kallsyms of machines' kernels. */
    const char *const *kallsyms;
    unsigned nr_kallsyms;
    /* How far a machine's kernel runs above the addresses of its file; NULL: found by its
     * code. */
    const uint64_t *slide;
    /* Globs: only modules whose path or name matches get a file; 0: all. */
    const char *const *modules;
    unsigned nr_modules;
    unsigned flags;  /* SYMFILE_* */
    bool force;      /* use a file even if its build id differs from the trace's */
    bool quiet;      /* no remarks (files not found); errors are still printed */
    bool missing_ok; /* no remark on a file that cannot be read, only on a wrong one */
    /* No remark on a trace without mappings: the caller makes it. */
    bool unmapped_quiet;
};

/*
 * Opens the --elf files.  Returns TOOL_OK; or TOOL_FAILED (common/options.h) after a
 * message on stderr if one cannot be read or is not an ELF file.
 */
int modset_open(struct modset **out, const struct modset_options *opt);
void modset_close(struct modset *s);

uint32_t modset_count(const struct modset *s);
const struct module *modset_module(const struct modset *s, uint32_t i);

/* Whether a module's path or name matches one of the globs. */
bool module_matches(const struct module *m, const char *const *globs, unsigned n);

/*
 * Call after all traces were loaded: reports each --elf file that no trace mapped.
 * Returns TOOL_FAILED if no trace mapped any of them.
 */
int modset_status(const struct modset *s);

struct places;

/* Why code of a machine has no names; after the path of the trace. */
#define PLACES_MACHINE_UNKNOWN                                                           \
    "which programs and libraries of a machine ran is not known (--elf, --kallsyms, "    \
    "--sysroot)"

/*
 * Loads the mappings of a trace and opens the files of its executable ones (according to
 * modset_options; call before any thread is started), and finds the names of code that its
 * processes made at run time.  TOOL_FAILED after one line on
 * stderr if an --elf file is for another machine than the trace's, or if its build id
 * differs from that of the mapping it is used for (the only one with that file name).  A
 * file that only the trace names and that does not match is skipped with a remark.
 * A trace without mappings (recorded without `map', or a stream): the --elf files that
 * are not movable are at their own addresses in every process; movable ones are refused.
 * Of a machine, where a file was moved to is found by its code; one of a process is where the
 * process has it, and one that no process had is not used (modset_status).
 */
int places_load(struct places **out, struct modset *s, struct ctr_trace *tr,
                const char *path);

/*
 * The same for places_find, places_time and places_status only; the modset must have
 * SYMFILE_HEADERS.  Of a trace with very many changes of mappings, mappings are read and
 * files are opened when a query needs them.  open_flags: CTR_OPEN_*, those of tr.  *out
 * is NULL if the trace has no mappings and there is no --elf file: no place is known.
 */
int places_load_lazily(struct places **out, struct modset *s, struct ctr_trace *tr,
                       const char *path, unsigned open_flags);
/* NULL is allowed. */
void places_free(struct places *p);

/*
 * Call when the work is done: TOOL_OK, or TOOL_PARTIAL after one line on stderr if the
 * mappings of the trace are damaged, so that code may have no place, or a wrong one; or
 * TOOL_FAILED, after a message, if a query of places_load_lazily could not be answered.
 * p: NULL is allowed.
 */
int places_status(const struct places *p);

/*
 * The bytes of a file of the trace that is no module, as a process has it mapped at addr, and in
 * *n their number; NULL: they are not known.  Any thread; valid until places_free.
 */
const uint8_t *places_mapped_bytes(const struct places *p, const struct ctr_mapping *m,
                                   uint64_t addr, size_t *n);
/* Whether the mapping's file was changed while it was mapped, or may have been (embedded.h). */
bool places_is_changed(const struct places *p, const struct ctr_mapping *m);

/* A pc in a module. */
struct place {
    const struct module *module;
    uint64_t vaddr;      /* of the pc, in the file's own addresses; without a file,
                            counted from the module's base in memory */
    uint64_t start, end; /* pcs around it with the same offset to vaddr */
};

/*
 * The place of a process's pc at a time.  chunk_end_ns: the time to use if nothing is
 * mapped at time_ns (times are known at system calls only), or 0.  False if the pc is in
 * no file (a stack, code written at run time that has no name).  Any thread may call
 * this.
 */
bool places_find(const struct places *p, uint32_t process, uint64_t time_ns,
                 uint64_t chunk_end_ns, uint64_t pc, struct place *out);

/* The same without process and time: 1 and *out if the place of a pc is always the same; 0
 * if it is never in a file; -1 if it depends on process or time. */
int places_find_always(const struct places *p, uint64_t pc, struct place *out);

/*
 * The time to use at an ordinal of a chunk's thread; *until: the first ordinal with
 * another time (UINT64_MAX: none).  Mappings change only there.  Where places_by_task, no
 * other time can be used.
 */
uint64_t places_time(const struct places *p, const struct ctr_chunk *chunk,
                     uint64_t ordinal, uint64_t *until);

/* Whether the time of a place is a number that says which process a vCPU runs. */
bool places_by_task(const struct places *p);

/*
 * The place of a block.  Returns 1 and *out if it is the same in all processes and at all
 * times; 0 if it is never in a file; -1 if it depends on process or time (then replay and
 * call places_find).  Also compares the block's bytes with the file's, which decides
 * between candidates: code that was rewritten is in no file.
 */
int places_find_block(const struct places *p, const struct ctr_block *b,
                      struct place *out);

/*
 * The same in a process at a time, if places_find_block returned -1: true and *out, or
 * false.  If the file that is mapped at that time does not have the block's bytes, a file
 * that is mapped there at another time and has them is used, but not where places_by_task.
 */
bool places_find_block_at(const struct places *p, const struct ctr_block *b,
                          uint32_t process, uint64_t time_ns, uint64_t chunk_end_ns,
                          struct place *out);

/* The addresses of a module, for formats with loaded modules: from the lowest address to
 * the end, in the first process that mapped it; false if none did. */
struct place_load {
    uint64_t start, end;
    uint64_t vaddr; /* of the byte at start */
};
bool places_loaded(const struct places *p, const struct module *m,
                   struct place_load *out);

/* What to add to a module's own addresses (struct place, vaddr) to get those of a
 * process. */
struct place_bias {
    uint32_t process; /* index; PLACE_ANY_PROCESS: of every process */
    uint64_t bias;
    uint64_t first,
        last; /* the addresses for which that is so; others may have another one */
};
#define PLACE_ANY_PROCESS UINT32_MAX
/*
 * Calls fn for each process in which code of a module was mapped, once for each address
 * that it was loaded at, and of a module of a kernel for each of its sections.  fn returns false to stop.  False: no memory.
 */
bool places_each_bias(const struct places *p, const struct ctr_trace *tr,
                      const struct module *m,
                      bool (*fn)(void *arg, const struct place_bias *b), void *arg);

/* The place of a byte that was loaded from a file, of code or data, or cleared for it: like
 * places_find, at any time.  False: there is none. */
bool places_find_data(const struct places *p, const struct ctr_trace *tr,
                      uint32_t process, uint64_t addr, struct place *out);

/* A machine's kernel, or firmware that was moved: where its file is linked to begin, and how
 * far above that it runs. */
struct place_kernel {
    uint64_t start, slide;
};
/* That of the first --elf file that is none of a process and no module, else that of an image
 * of --kallsyms; false: there is none, or it did not run. */
bool places_kernel(const struct places *p, struct place_kernel *out);

/*
 * The modules of the trace, in the order of the set: those that are mapped as code in it,
 * or that it made.  A file that turned out not to be the one that ran is none of them.
 * NULL: no memory, else to be freed.
 */
const struct module **places_modules(const struct places *p, uint32_t *n);

/* The set that the trace's modules are in. */
struct modset *places_modset(const struct places *p);

#endif
