/* SPDX-License-Identifier: MIT */
/*
 * The information of an ELF file and its DWARF about addresses: functions, source lines,
 * inlined code.  symfile_data.h has data objects and types, symfile_vars.h prototypes and
 * variables, symfile_frames.h the rules to unwind a stack.
 *
 * elfutils (libelf, libdw) reads ELF and DWARF, and the files are not trusted.  So a
 * child process reads each file, bounded in time and memory, and outputs flat, sorted
 * tables; this process checks them once and then only looks them up.  A hostile file can
 * harm only the child, which is an error here.
 *
 * Addresses are those of the file itself (of its symbols and program headers; of an object,
 * whose sections have none, as symfile_layout.c lays them out), called vaddr; places.h maps a
 * guest pc to them.  An open file is read-only: any number of
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

/* The parts to read; functions are always read, but for HEADERS.  DATA, TYPES and LOCALS
 * include LINES, and LOCALS includes TYPES. */
#define SYMFILE_LINES 0x1u   /* ranges and scopes, from DWARF */
#define SYMFILE_NAMES 0x2u   /* every name of a function, for symfile_find_functions */
#define SYMFILE_DATA 0x4u    /* objects and their types (symfile_data.h) */
#define SYMFILE_TYPES 0x8u   /* prototypes and their types (symfile_vars.h) */
#define SYMFILE_LOCALS 0x10u /* variables with their locations (symfile_vars.h) */
#define SYMFILE_FRAMES 0x20u /* frame rows (symfile_frames.h) */
/* Only what headers have: segments, executable sections (without names), build id.  No
 * child process is needed, so it takes microseconds, and any thread may open a file. */
#define SYMFILE_HEADERS 0x100u

/* Servers of debug information, for files whose own is not here. */
struct symfile_servers {
    const char *prog; /* for the progress line */
    bool quiet;       /* none */
    bool down;        /* set after an error: they are not queried any more */
};

struct symfile_options {
    unsigned flags;                /* SYMFILE_* */
    const char *const *debug_dirs; /* searched for separate debug files (as
                                      .build-id/xx/yyy.debug, by path and
                                      .gnu_debuglink), before /usr/lib/debug */
    unsigned nr_debug_dirs;
    unsigned seconds;                /* of processor time that reading may take; 0: 60 */
    struct symfile_servers *servers; /* NULL: none is queried */
    const int
        *image; /* a descriptor of the file's bytes, which stays the caller's: the path
                         is only its name; or NULL */
    const char *debug_file; /* used if no other is found and its build id fits; or NULL */
};

/*
 * Opens the ELF file `path'.  Separate debug information is found by build id or
 * .gnu_debuglink (its CRC is checked; a debug file with another build id is not used),
 * next to the file, in debug_dirs and /usr/lib/debug; .gnu_debugdata and dwz files
 * (.gnu_debugaltlink) are read.  Missing debug information is no error.  opt->servers are
 * queried by build id; if none has it, err->text says so, or why.  If the debug
 * information is damaged but the file is not, the file is opened with the readable part of
 * it, or without it: status SYMFILE_OK and a sentence in err->text (also for a missing dwz
 * file).  Else err->text is "" on success.
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
    uint32_t elf_flags;     /* e_flags */
    bool big_endian;
    uint8_t addr_bits; /* 32 or 64 */
    bool movable;      /* ET_DYN: may be loaded anywhere */
    bool object;       /* ET_REL: a module of a Linux kernel (symfile_in_module) */
    bool has_symtab;   /* .symtab or .gnu_debugdata, not only .dynsym */
    bool has_lines;    /* there are ranges */
    bool lacks_debug;  /* stripped, and no separate debug file was found */
    const uint8_t *build_id;
    uint32_t build_id_bytes; /* 0: none */
};
void symfile_info(const struct symfile *f, struct symfile_info *out);
/* A new descriptor of the file's bytes, which the caller closes; -1: there is none. */
int symfile_descriptor(const struct symfile *f);

/* The vaddr at which the byte at an offset of the file is loaded; false if it is not.
 * If two segments contain the byte, the executable one counts. */
bool symfile_vaddr(const struct symfile *f, uint64_t offset, uint64_t *vaddr);

/* The vaddr at which its first segment begins, in the order of the program headers. */
uint64_t symfile_first_vaddr(const struct symfile *f);

/* The inverse, of code: the offset of the byte that is loaded at vaddr, and in *n the bytes
 * up to the end of the segment; false if no executable segment has it from the file. */
bool symfile_offset(const struct symfile *f, uint64_t vaddr, uint64_t *offset,
                    uint64_t *n);

/* The bytes of the file loaded at vaddr, and in *n their number up to the end of the
 * segment; NULL if there are none. */
const uint8_t *symfile_bytes(const struct symfile *f, uint64_t vaddr, size_t *n);

/* How many bytes the loader clears at vaddr: the segment, or its last page, has them, but the file
 * has no bytes for them. */
size_t symfile_cleared(const struct symfile *f, uint64_t vaddr);

/* Whether the program cannot write there: the segment is not writable. */
bool symfile_is_constant(const struct symfile *f, uint64_t vaddr);

/* Of an object: how far its code at vaddr is after the begin of all the module's code in
 * memory; NOT_IN_MODULE: it is not with that (code that Linux frees after the start, data). */
#define SYMFILE_NOT_IN_MODULE UINT64_MAX
uint64_t symfile_in_module(const struct symfile *f, uint64_t vaddr);
/* Of an object: whether who loads it fills in some of the n bytes of an instruction. */
bool symfile_is_filled_in(const struct symfile *f, uint64_t vaddr, size_t n);

/* Executable sections (or segments, if there are no sections), ascending. */
struct sym_code {
    uint64_t addr, end;
    const char *name; /* ".text" */
};
uint32_t symfile_code(const struct symfile *f, const struct sym_code **v);

/* --------------------------------------------------------------- functions */

enum sym_source {
    SYM_SYMTAB,
    SYM_DYNSYM,
    SYM_DEBUGDATA,
    SYM_PLT,
    SYM_DWARF,
    SYM_UNWIND /* never in a symfile: see unwind_table.h */
};

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
    uint8_t local;       /* PowerPC64: bytes from addr to where callers in the same file
                            enter it, 0: at addr; may be after its end */
    uint8_t ifunc;       /* only selects the function that is called (STT_GNU_IFUNC) */
};
/* All functions, ascending. */
uint32_t symfile_functions(const struct symfile *f, const struct sym_function **v);
/* How many of them begin at vaddr or before. */
uint32_t symfile_functions_upto(const struct symfile *f, uint64_t vaddr);
/* The function that contains vaddr, or NULL. */
const struct sym_function *symfile_function(const struct symfile *f, uint64_t vaddr);
/* By the mapping symbols of ARM, AArch64 and RISC-V: false for data ($d). */
bool symfile_is_code(const struct symfile *f, uint64_t vaddr);
/* arm: whether the code at vaddr is T32, by mapping symbols ($t) or function. */
bool symfile_is_thumb(const struct symfile *f, uint64_t vaddr);

/*
 * Whether a name matches a pattern of a user.  A pattern is a name, or a glob with * ? [.
 * It matches the whole demangled name, that name without its parameters, the linkage
 * name, and both demangled forms from any "::" on: "bar", "Foo::bar" and "bar(int)" match
 * "ns::Foo::bar(int)".  Without '<' in it, it also matches a name without the template
 * arguments of its last part.  Spaces do not count.  A pattern that begins with "::" does
 * not match from a later "::" on.  A name that contains glob characters itself
 * ("operator[]") matches as it is.
 */
bool sym_name_matches(const char *pattern, const char *name, const char *linkage);

/* Length of a demangled name without its parameters: "ns::f(int) const" is "ns::f". */
size_t sym_name_bare_length(const char *name);

/*
 * Calls back for each function of which a name matches, ascending, once each; fewer names
 * are known without SYMFILE_NAMES: one for each address.  `name' is the demangled name
 * that matched, fn->name if several did.  The callback returns false to stop.
 * Returns the number of calls.
 */
typedef bool (*sym_function_fn)(void *arg, const struct sym_function *fn,
                                const char *name);
uint32_t symfile_find_functions(const struct symfile *f, const char *pattern,
                                sym_function_fn match, void *arg);
/* Whether one of the names of a function matches; as above, needs SYMFILE_NAMES for all. */
bool symfile_function_matches(const struct symfile *f, const struct sym_function *fn,
                              const char *pattern);
/* Its i-th name besides fn->name (SYMFILE_NAMES), or NULL. */
const char *symfile_other_name(const struct symfile *f, const struct sym_function *fn,
                               uint32_t i);
/* Whether one of the names that match is that of the code itself: fn->ifunc is of the name
 * that is shown, and code that selects a function may have a name of its own, too. */
bool symfile_names_code(const struct symfile *f, const struct sym_function *fn,
                        const char *pattern);

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
/* The first function with a matching name that is inlined into another one, or NULL. */
const struct sym_scope *symfile_find_inlined(const struct symfile *f,
                                             const char *pattern);
/* The name of the function that it is inlined into. */
const char *symfile_inlined_into(const struct symfile *f, const struct sym_scope *scope);
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

/*
 * The code of a source line.  `file' is the end of a path, whole components ("parse.c",
 * "src/parse.c"), or an absolute path; several files may match.  If no code is of that
 * line, the nearest later line with code in one of the files is used, as gdb does.
 */
struct sym_line_match {
    uint32_t nr_files;  /* that match; 0: no such file */
    uint32_t nr_ranges; /* for which the callback was called; 0: no code from there on */
    uint32_t line;      /* the one used; 0: none */
};
/* Calls back for each range of the line, ascending (several may belong to one copy of the
 * code, and some to inlined ones).  The callback returns false to stop. */
struct sym_line_match symfile_lines(const struct symfile *f, const char *file,
                                    uint32_t line,
                                    bool (*match)(void *arg, const struct sym_range *r),
                                    void *arg);
/* Whether a path is one that `end' names: whole components of its end, or all of it. */
bool sym_path_matches(const char *path, const char *end);
/* The source file that declares a function, SYM_NONE if unknown; needs SYMFILE_LINES. */
uint32_t symfile_function_file(const struct symfile *f, const struct sym_function *fn);
/* Splits "parse.c:120": *file_bytes of the text are the file.  Returns false if it has
 * no such form; line numbers begin at 1. */
bool sym_parse_line(const char *text, size_t *file_bytes, uint32_t *line);

/* Demangles a linkage name (C++, Rust); returns false if it is not mangled.
 * Free *out with free(3). */
bool sym_demangle(const char *linkage, char **out);

#endif
