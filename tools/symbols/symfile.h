/* SPDX-License-Identifier: MIT */
/*
 * The information of an ELF file and its DWARF about addresses: functions, source lines,
 * inlined code.
 *
 * elfutils (libelf, libdw) reads ELF and DWARF, and the files are not trusted.  So a
 * child process reads each file, bounded in time and memory, and outputs flat, sorted
 * tables; this process checks them once and then only looks them up.  A hostile file can
 * harm only the child, which is an error here.
 *
 * Addresses are those of the file itself (of its symbols and program headers), called
 * vaddr; places.h maps a guest pc to them.  An open file is read-only: any number of
 * threads may query it.  Strings live as long as the file.
 */
#ifndef TOOLS_SYMFILE_H
#define TOOLS_SYMFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symfile;

#define SYM_NONE UINT32_MAX

enum symfile_status {
    SYMFILE_OK = 0,
    SYMFILE_IO,     /* cannot be read: missing, no permission, a folder */
    SYMFILE_NOTELF, /* not an ELF file, or one without anything to load */
    SYMFILE_BAD,    /* damaged, or the reader gave up on it (crash, time, memory) */
    SYMFILE_NOMEM,
};

/* One sentence without a final period, naming the file. */
struct symfile_error {
    enum symfile_status status;
    char text[512];
};

/* The parts to read; functions are always read, but for SYMFILE_HEADERS. */
#define SYMFILE_LINES 0x1u /* ranges and scopes, from DWARF */
/* Only what headers have: segments, executable sections (without names), build id.  No
 * child process is needed, so it takes microseconds, and any thread may open a file. */
#define SYMFILE_HEADERS 0x100u

struct symfile_options {
    unsigned flags;                /* SYMFILE_* */
    const char *const *debug_dirs; /* searched for separate debug files (as
                                      .build-id/xx/yyy.debug, by path and
                                      .gnu_debuglink), before /usr/lib/debug */
    unsigned nr_debug_dirs;
    unsigned seconds; /* of processor time that reading may take; 0: 60 */
};

/*
 * Opens the ELF file `path'.  Separate debug information is found by build id or
 * .gnu_debuglink (its CRC is checked; a debug file with another build id is not used),
 * next to the file, in debug_dirs and /usr/lib/debug; .gnu_debugdata and dwz files
 * (.gnu_debugaltlink) are read.  Missing debug information is no error.  Servers are not
 * queried.  If the debug information is damaged but the file is not, the file is opened
 * with the readable part of it, or without it: status SYMFILE_OK and a sentence in
 * err->text (also for a missing dwz file).  Otherwise err->text is "" on success.
 * Must be called while the process has one thread (it forks), but for SYMFILE_HEADERS.
 * Returns err->status; err must not be NULL.
 */
enum symfile_status symfile_open(struct symfile **out, const char *path,
                                 const struct symfile_options *opt,
                                 struct symfile_error *err);
/* NULL is allowed. */
void symfile_close(struct symfile *f);

struct symfile_info {
    const char *path;
    const char *debug_path; /* separate debug file in use, or "" */
    uint32_t machine;       /* e_machine */
    bool big_endian;
    uint8_t addr_bits; /* 32 or 64 */
    bool movable;      /* ET_DYN: may be loaded anywhere */
    bool has_symtab;   /* .symtab or .gnu_debugdata, not only .dynsym */
    bool has_lines;    /* there are ranges */
    const uint8_t *build_id;
    uint32_t build_id_bytes; /* 0: none */
};
void symfile_info(const struct symfile *f, struct symfile_info *out);

/* The vaddr at which the byte at an offset of the file is loaded; false if it is not.
 * If two segments contain the byte, the executable one counts. */
bool symfile_vaddr(const struct symfile *f, uint64_t offset, uint64_t *vaddr);

/* The bytes of the file loaded at vaddr, and in *n their number up to the end of the
 * segment; NULL if there are none. */
const uint8_t *symfile_bytes(const struct symfile *f, uint64_t vaddr, size_t *n);

/* Executable sections (or segments, if there are no sections), ascending. */
struct sym_code {
    uint64_t addr, end;
    const char *name; /* ".text" */
};
uint32_t symfile_code(const struct symfile *f, const struct sym_code **v);

/* --------------------------------------------------------------- functions */

enum sym_source { SYM_SYMTAB, SYM_DYNSYM, SYM_DEBUGDATA, SYM_PLT, SYM_DWARF };

/*
 * A function of the symbol tables: STT_FUNC and STT_GNU_IFUNC, labels of assembler code
 * in executable sections that are not inside a function, entries of the PLT as
 * "name@plt", and functions that only DWARF has.  Of several names for one address, the
 * one that users expect is used (global before local, few leading underscores, strong
 * before weak, ...).  Functions are disjoint: one without a size, or that overlaps the
 * next one, ends where the next begins, or with its section; one that begins inside
 * another extends to that one's end.
 */
struct sym_function {
    uint64_t addr, end;
    const char *name;    /* demangled (C++, Rust, D, ...) */
    const char *linkage; /* as in the table, without a version */
    uint8_t source;      /* enum sym_source */
    uint8_t thumb;       /* arm: T32 code (addr is even nevertheless) */
};
/* All functions, ascending. */
uint32_t symfile_functions(const struct symfile *f, const struct sym_function **v);
/* The function that contains vaddr, or NULL. */
const struct sym_function *symfile_function(const struct symfile *f, uint64_t vaddr);
/* By the mapping symbols of ARM, AArch64 and RISC-V: false for data ($d). */
bool symfile_is_code(const struct symfile *f, uint64_t vaddr);
/* arm: whether the code at vaddr is T32, by mapping symbols ($t) or function. */
bool symfile_is_thumb(const struct symfile *f, uint64_t vaddr);

/* ------------------------------------------------------------------- lines */

/*
 * A range of code that belongs to one place in the source.  Disjoint, ascending; code
 * without line information is in no range.  line 0: made by the compiler.
 */
struct sym_range {
    uint64_t addr, end;
    uint32_t file; /* for symfile_file */
    uint32_t line;
    uint32_t column;
    uint32_t scope; /* innermost function instance, SYM_NONE if unknown */
    bool stmt;      /* begins a statement */
};
uint32_t symfile_ranges(const struct symfile *f, const struct sym_range **v);
/* The range that contains vaddr, or NULL. */
const struct sym_range *symfile_range(const struct symfile *f, uint64_t vaddr);

/* Source file by number: absolute path (with DW_AT_comp_dir) at compile time, "." and
 * ".." folded; one path has one number.  NULL for SYM_NONE. */
const char *symfile_file(const struct symfile *f, uint32_t file);
uint32_t symfile_nr_files(const struct symfile *f);

/*
 * An instance of a source function: compiled out of line (parent is SYM_NONE), or
 * inlined into its parent.  Instances of the same function share `origin'.
 */
struct sym_scope {
    const char *name;    /* linkage demangled, "ns::C::f(int)"; without linkage, the
                            name in DWARF: "f"; "" if there is none either */
    const char *linkage; /* "" if there is none (C) */
    uint32_t origin;     /* number of the source function, from 0: name and declaration */
    uint32_t parent;     /* less than the scope's own number */
    uint32_t decl_file, decl_line;              /* SYM_NONE, 0: not known */
    uint32_t call_file, call_line, call_column; /* inlined: place of the call */
    uint64_t entry;                             /* address of its first instruction */
};
uint32_t symfile_scopes(const struct symfile *f, const struct sym_scope **v);
uint32_t symfile_nr_origins(const struct symfile *f);

/* One frame of `addr2line -i -f': the innermost first. */
struct sym_frame {
    const char *function; /* name of the scope, or of the symbol; NULL if unknown */
    const char *file;     /* NULL if unknown */
    uint32_t line;        /* 0 if unknown */
    uint32_t column;
    bool inlined; /* into the next frame */
};
/* Fills in at most max frames; returns the number of all frames, at least 1. */
unsigned symfile_frames(const struct symfile *f, uint64_t vaddr, struct sym_frame *out,
                        unsigned max);

/* Demangles a linkage name (C++, Rust); returns false if it is not mangled.
 * Free *out with free(3). */
bool sym_demangle(const char *linkage, char **out);

#endif
