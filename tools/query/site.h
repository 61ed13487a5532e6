/* SPDX-License-Identifier: MIT */
/*
 * The place of an instruction: module, function, source line; and its output.
 */
#ifndef TOOLS_SITE_H
#define TOOLS_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/textbuf.h"
#include "query/moment.h"
#include "symbols/places.h"

/* Limit of shown frames of code inlined into each other. */
#define SITE_FRAMES 32u

struct site {
    const struct module *module; /* NULL: in no file; the rest is not known */
    uint64_t vaddr;
    const struct sym_function *function;  /* or NULL */
    struct sym_frame frames[SITE_FRAMES]; /* innermost first */
    unsigned nr_frames;
};

/* `place' NULL: in no file. */
void site_find(struct site *s, const struct place *place);

/* How sites are written, and which are selected. */
struct site_options {
    bool json, color;
    bool inlines;                  /* all frames */
    bool basenames;                /* text: source files without folders */
    const char *const *substitute; /* as sym_substitute has them */
    unsigned nr_substitute;        /* pairs */
    /* Globs; none: all. */
    const char *const *modules; /* by name or path */
    unsigned nr_modules;
    const char *const *functions; /* by demangled or linkage name, with or without the
                                     parameters; also of inlined functions */
    unsigned nr_functions;
};

/* Whether a name matches a glob, with or without its parameters.  name: NULL never does. */
bool site_name_fits(const char *glob, const char *name);

bool site_wanted(const struct site *s, const struct site_options *opt);

/* " /src/app.c:12" */
bool site_source(struct textbuf *b, const char *file, uint32_t line,
                 const struct site_options *opt);
/* "app main+0x4 /src/app.c:12 (inlined f)", a blank before each part.  False: no
 * memory. */
bool site_text(struct textbuf *b, const struct site *s, const struct site_options *opt);
/* ,"module":"/bin/app","vaddr":"0x1139","function":"main","offset":"0x4",... */
bool site_json(struct textbuf *b, const struct site *s, const struct site_options *opt);

/* " <main>", " <main+4>": the function of an address in a thread's process at an instruction,
 * which may be its end; nothing if there is none.  False: no memory. */
bool site_address(struct textbuf *b, const struct places *places, struct ctr_trace *tr,
                  const struct ctr_moment *at, uint64_t addr);

/* sym_name_bare_length of a function as its caller names it: "malloc@plt" is "malloc". */
size_t site_called_length(const char *name);

#endif
