/* SPDX-License-Identifier: MIT */
/*
 * From a pc in a trace to a place in a file: the modules (programs and libraries) of one
 * or several traces, found by the traces' own mappings and build ids, and which of them
 * was mapped where and when.
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

/* A file that code came from.  Two traces, or processes, that name the same build id, or
 * without one the same path, mean the same module. */
struct module {
    uint32_t index;   /* in the set, from 0 */
    const char *path; /* as the guest knew it, or of --elf; "[vdso]" and the like too */
    const char *name; /* last part of path: never empty, no '/' in it */
    const uint8_t *build_id; /* as the trace says, else of the file */
    uint32_t build_id_bytes;
    struct symfile
        *file;       /* NULL: no file found, addresses count from the module's base */
    const char *why; /* file NULL: a sentence that says why; else "" */
    bool system;     /* no file of anybody, but the system's: "[vdso]" */
};

struct modset;

struct modset_options {
    const char *prog;        /* for messages */
    const char *const *elfs; /* --elf; looked at before what the trace names */
    unsigned nr_elfs;
    bool elfs_only;                /* what is not in elfs has no file */
    const char *sysroot;           /* before paths of the trace, or NULL */
    const char *const *debug_dirs; /* see symfile.h; sysroot's /usr/lib/debug too */
    unsigned nr_debug_dirs;
    /* Only the files of modules of such a path or name are looked for, by globs; 0: all.
     */
    const char *const *modules;
    unsigned nr_modules;
    unsigned flags; /* SYMFILE_* */
    bool force;     /* take a file whose build id is another than the trace's */
    bool quiet;     /* no remarks (files not found); errors are told all the same */
};

/*
 * Opens the --elf files.  One that cannot be read or is no ELF file is told on stderr,
 * and the call fails: returns TOOL_OK or TOOL_FAILED (common/options.h).
 */
int modset_open(struct modset **out, const struct modset_options *opt);
void modset_close(struct modset *s);

uint32_t modset_count(const struct modset *s);
const struct module *modset_module(const struct modset *s, uint32_t i);

/* Whether a module's path or name matches one of the globs. */
bool module_matches(const struct module *m, const char *const *globs, unsigned n);

/*
 * After all traces were loaded: an --elf file that no trace mapped is told, and is an
 * error (TOOL_FAILED) if none of them was.
 */
int modset_verdict(const struct modset *s);

struct places;

/*
 * Loads the mappings of a trace and opens the files of its executable ones (as
 * modset_options tell; before any thread is started).  An --elf file of another machine
 * than the trace's, or whose build id differs from that of the mapping it stands for (the
 * only one with that file name), is refused with one line on stderr: TOOL_FAILED.  A file
 * that only the trace names and that does not fit is passed over with a remark.
 * A trace without mappings (recorded without `map', or a stream): the --elf files that
 * are not movable are at their own addresses in every process; movable ones are refused.
 */
int places_load(struct places **out, struct modset *s, struct ctr_trace *tr,
                const char *path);
void places_free(struct places *p);

/*
 * When the work is done: TOOL_OK, or TOOL_PARTIAL after one line on stderr if the mappings
 * of the trace are damaged, so that code may be missing in places, or in wrong ones.
 * p: NULL is allowed.
 */
int places_verdict(const struct places *p);

/* A pc in a module. */
struct place {
    const struct module *module;
    uint64_t vaddr;      /* of the pc, in the file's own addresses; without a file,
                            counted from the module's base (as tracedump shows it) */
    uint64_t start, end; /* pcs around it for which vaddr moves along */
};

/*
 * Where a pc of a process lay at a time; chunk_end_ns: what to ask instead if nothing was
 * mapped then (times are known at system calls only), or 0.  False if it is in no
 * file (code written at run time, a stack).  Any thread may ask.
 */
bool places_find(const struct places *p, uint32_t process, uint64_t time_ns,
                 uint64_t chunk_end_ns, uint64_t pc, struct place *out);

/*
 * The time that counts at an ordinal of a chunk's thread, and in *until the ordinal from
 * which on it is another one (UINT64_MAX: none): mappings change only there.
 */
uint64_t places_time(const struct places *p, const struct ctr_chunk *chunk,
                     uint64_t ordinal, uint64_t *until);

/*
 * Where a block was, if all processes and times agree: 1 and *out; 0 if in no file, ever;
 * -1 if it depends on process or time (then replay and ask places_find).  Also compares
 * the block's bytes with the file's, which decides between candidates: code that was
 * rewritten is in no file.
 */
int places_find_block(const struct places *p, const struct ctr_block *b,
                      struct place *out);

/*
 * The same in a process at a time, when places_find_block said -1: true and *out, or
 * false.  Of what is mapped there at other times, too, the one is taken that has the
 * block's bytes if what is mapped at that time has not.
 */
bool places_find_block_at(const struct places *p, const struct ctr_block *b,
                          uint32_t process, uint64_t time_ns, uint64_t chunk_end_ns,
                          struct place *out);

/* Where a module was mapped, for formats that speak of loaded modules: from the lowest
 * address to the end, in the first process that had it; false if nowhere. */
struct place_load {
    uint64_t start, end;
    uint64_t vaddr; /* of the byte at start */
};
bool places_loaded(const struct places *p, const struct module *m,
                   struct place_load *out);

#endif
