/* SPDX-License-Identifier: MIT */
/*
 * The parts of the built-in filters (libcannoli-filter.so): arguments (args.c), mnemonics
 * (mnemonic.c), the functions of a file (symbols.c), mapped files (modules.c), and the
 * hooks (filter.c).  Nothing here depends on QEMU, only on cannoli/jitter.h.
 */
#ifndef JITTER_FILTER_H
#define JITTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cannoli/jitter.h"

/* ---- spans.c: memory, and sets of numbers ---- */

/* These abort the process when there is no memory, as QEMU itself does. */
void *filter_grow(void *array, size_t n, size_t *cap, size_t item_bytes);
char *filter_copy(const char *text, size_t n);

struct span {
    uint64_t start, end; /* end exclusive */
};

/* A set of numbers; after spans_finish ascending spans that do not touch. */
struct spans {
    struct span *v;
    size_t n, cap;
};

void spans_add(struct spans *s, uint64_t start, uint64_t end);
void spans_finish(struct spans *s);
bool spans_hold(const struct spans *s, uint64_t x);
/* The same, and the span, or the gap between two spans, that contains x. */
bool spans_around(const struct spans *s, uint64_t x, struct span *around);
void spans_free(struct spans *s);

/* ---- args.c ---- */

/* A pattern for a module or mnemonic, and whether it is negated. */
struct pattern {
    char *text;
    char *real; /* of a module's path: its realpath(3); else NULL */
    bool negated;
};

struct patterns {
    struct pattern *v;
    size_t n, cap;
    bool positive; /* at least one is not negated */
};

/* A function, as a filter or as the place of a trigger. */
struct function {
    struct pattern module; /* text NULL: any module */
    char *name;            /* pattern */
    bool member;           /* its instructions are included, or excluded if negated */
    bool negated;
    int triggers; /* CANNOLI_START etc., at its entry */
};

/* Where triggers are: an address, or with a module an offset from the module's start. */
struct trigger_point {
    struct pattern module; /* text NULL: an address */
    uint64_t value;
    int triggers;
};

/* Of each kind any positive and no negated item must match; all kinds must match. */
struct filter_args {
    struct patterns modules, opcodes;
    struct function *functions;
    size_t nr_functions, cap_functions;
    struct trigger_point *points;
    size_t nr_points, cap_points;
    struct spans ranges, not_ranges;
    bool stores, loads, not_stores, not_loads;
    bool branches, not_branches;
    bool callees, once;
    bool functions_positive; /* a function is a filter of its own instructions */
    bool starts_closed;      /* recording begins with a window */
};

/*
 * text: "key=value,..." with the commas of values doubled.  Returns NULL, or a malloc'ed
 * message if it is wrong.  args must be freed either way.
 */
char *filter_args_parse(struct filter_args *args, const char *text);
void filter_args_free(struct filter_args *args);
bool filter_module_matches(const struct pattern *p, const char *path);

/* ---- mnemonic.c ---- */

/* The state of a Thumb IT block. */
struct thumb_it {
    uint64_t pc;   /* of the next instruction */
    uint8_t state; /* ITSTATE of the processor, 0: outside of an IT block */
};

/* The condition of this instruction in an IT block, or "".  Call it for each instruction
 * of a block. */
const char *mnemonic_condition(struct thumb_it *it, const struct cannoli_insn *insn,
                               uint32_t machine);
/* Whether the mnemonic is selected.  text: the instruction as the host's disassembler
 * writes it, "" if it cannot; len: its bytes. */
bool mnemonic_matches(const struct patterns *list, const char *text, uint32_t machine,
                      const char *condition, uint32_t len);

/* ---- symbols.c ---- */

/* A trigger; sorted by offset. */
struct entry {
    uint64_t offset;
    int triggers;
};

/* The functions of the arguments in one file, by offset in the file. */
struct symbols {
    struct spans included, excluded;
    struct entry *entries;
    size_t nr_entries, cap_entries;
};

/* A file that cannot be read, or is not an ELF file, has none.  Looks only for functions
 * whose module matches path. */
void symbols_load(struct symbols *s, const struct filter_args *args, const char *path);
int symbols_triggers(const struct symbols *s, uint64_t offset);
/* For an offset without triggers: the gap between the next offsets with triggers. */
struct span symbols_gap(const struct symbols *s, uint64_t offset);
void symbols_free(struct symbols *s);

/* ---- modules.c ---- */

/* A mapped file, and what the arguments select in it. */
struct module {
    char *path;
    bool named;     /* matches a --module */
    bool named_not; /* matches a --not --module */
    struct symbols symbols;
    struct file_stamp {
        uint64_t dev, ino, size;
        int64_t sec, nsec;
    } stamp;
    uint64_t generation; /* of the mappings, when the stamp was last checked */
};

struct modules {
    struct module **v;
    size_t n, cap;
};

/* The module of that path ("" for anonymous memory: NULL). */
const struct module *modules_get(struct modules *m, const struct filter_args *args,
                                 const char *path, uint64_t generation);
void modules_free(struct modules *m);

#endif
