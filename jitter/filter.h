/* SPDX-License-Identifier: MIT */
/*
 * The parts of the built-in filters (libcannoli-filter.so): what the arguments say
 * (args.c), mnemonics (mnemonic.c), the functions of a file (symbols.c), what is mapped
 * where (modules.c), and the answers (filter.c).  Nothing here knows QEMU; all of it is
 * cannoli/jitter.h.
 */
#ifndef JITTER_FILTER_H
#define JITTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cannoli/jitter.h"

/* ---- spans.c: memory, and sets of numbers ---- */

/* These end the process when there is no memory, as QEMU itself does. */
void *filter_grow(void *array, size_t n, size_t *cap, size_t item_bytes);
char *filter_copy(const char *text, size_t n);

struct span {
    uint64_t start, end; /* end exclusive */
};

/* A set of numbers: ascending spans that do not touch, once it is finished. */
struct spans {
    struct span *v;
    size_t n, cap;
};

void spans_add(struct spans *s, uint64_t start, uint64_t end);
void spans_finish(struct spans *s);
bool spans_hold(const struct spans *s, uint64_t x);
/* The same, and which span, or which gap between two, holds x. */
bool spans_around(const struct spans *s, uint64_t x, struct span *around);
void spans_free(struct spans *s);

/* ---- args.c ---- */

/* A name of a module or mnemonic, and whether it was negated. */
struct pattern {
    char *text;
    char *real; /* of a module's path: where it leads; else NULL */
    bool negated;
};

struct patterns {
    struct pattern *v;
    size_t n, cap;
    bool positive; /* there is one that is not negated */
};

/* A function, as a filter or as the place of a trigger. */
struct function {
    struct pattern module; /* text NULL: of any */
    char *name;            /* pattern */
    bool member;           /* its instructions are told, or with negated: are not */
    bool negated;
    int triggers; /* CANNOLI_START etc., at its entry */
};

/* A place that is an address, or with a module a distance from where that begins. */
struct place {
    struct pattern module; /* text NULL: an address */
    uint64_t value;
    int triggers;
};

/* Kinds of which any positive and no negated one must hold; all kinds must. */
struct filter_args {
    struct patterns modules, opcodes;
    struct function *functions;
    size_t nr_functions, cap_functions;
    struct place *places;
    size_t nr_places, cap_places;
    struct spans ranges, not_ranges;
    bool stores, loads, not_stores, not_loads;
    bool branches, not_branches;
    bool callees, once;
    bool functions_positive; /* a function is a filter of its own instructions */
    bool starts_closed;      /* a window begins somewhere */
};

/*
 * text: "key=value,..." with the commas of values doubled.  Returns NULL, or why it is
 * not right (malloc'ed).  args must be freed either way.
 */
char *filter_args_parse(struct filter_args *args, const char *text);
void filter_args_free(struct filter_args *args);
bool filter_module_matches(const struct pattern *p, const char *path);

/* ---- mnemonic.c ---- */

/* What an IT instruction says of those behind it. */
struct thumb_it {
    uint64_t pc;   /* of the next instruction */
    uint8_t state; /* as the processor has it, 0: outside of one */
};

/* The condition that an IT gave this instruction, or "".  To be called for each
 * instruction of a block. */
const char *mnemonic_condition(struct thumb_it *it, const struct cannoli_insn *insn,
                               uint32_t machine);
/* text: the instruction as the host's disassembler writes it, "" if it cannot; len: its
 * bytes. */
bool mnemonic_is_told(const struct patterns *list, const char *text, uint32_t machine,
                      const char *condition, uint32_t len);

/* ---- symbols.c ---- */

/* Where a trigger stands; sorted by offset. */
struct entry {
    uint64_t offset;
    int triggers;
};

/* What the functions of the arguments are in one file, by offset in the file. */
struct symbols {
    struct spans told, not_told;
    struct entry *entries;
    size_t nr_entries, cap_entries;
};

/* A file that cannot be read, or is no ELF file, has none.  Only functions whose module
 * matches path are looked for. */
void symbols_load(struct symbols *s, const struct filter_args *args, const char *path);
int symbols_triggers(const struct symbols *s, uint64_t offset);
/* Of an offset without triggers: the gap between two with some. */
struct span symbols_gap(const struct symbols *s, uint64_t offset);
void symbols_free(struct symbols *s);

/* ---- modules.c ---- */

/* A file of which something is mapped, and what the arguments mean in it. */
struct module {
    char *path;
    bool named;     /* a --module */
    bool named_not; /* a --not --module */
    struct symbols symbols;
    struct file_stamp {
        uint64_t dev, ino, size;
        int64_t sec, nsec;
    } stamp;
    uint64_t generation; /* of the mappings, when the stamp was last looked at */
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
