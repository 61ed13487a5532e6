/* SPDX-License-Identifier: MIT */
/* Shared by the parts of locate.h. */
#ifndef TOOLS_LOCATE_PRIV_H
#define TOOLS_LOCATE_PRIV_H

#include "locate.h"

/* What an item was found to be, in the addresses of a module. */
struct hit {
    const struct module *module;
    uint64_t from, to;
};

struct hits {
    struct hit *v;
    uint32_t n;
    size_t cap;
    bool no_memory;
};

/* False: no memory; also remembered. */
bool hits_add(struct hits *h, const struct module *m, uint64_t from, uint64_t to);

/* What a reason for finding nothing is about; the later ones help more. */
enum why {
    WHY_MODULE, /* it is about another module than this one */
    WHY_NAME,   /* there is no such name */
    WHY_BARE,   /* ... and there are few names in a file */
    WHY_EXACT,  /* why this cannot be found, or what was probably meant */
};

/* A search for one item. */
struct finder {
    const struct locate_request *request;
    const struct module *only;     /* the one module to search; NULL: those below */
    const struct module **modules; /* of the trace */
    uint32_t nr_modules;
    bool begins;        /* of functions, only where they begin */
    const char *source; /* only names of this source file; NULL: of any */
    struct hits hits;
    char why[400]; /* why nothing was found, a sentence without a period; "": no reason
                      known yet */
    enum why kind; /* of `why' */
};

/* Finds an item as locate.h describes it; TOOL_OK, also if nothing was found, or TOOL_USAGE
 * after one line on stderr. */
int finder_item(struct finder *f, const char *text);

/* Finds the functions that an item names, with or without a module before them. */
void finder_functions(struct finder *f, const char *text);

/* The module with a number, from 0; NULL: there are no more. */
const struct module *finder_nth(const struct finder *f, uint32_t i);

/* Whether a module is meant by len bytes of text, a glob; len 0: any module.  In a search
 * of one module "libfoo" is also libfoo.so.1. */
bool finder_module(const struct finder *f, const struct module *m, const char *glob,
                   uint32_t len);

/* The module with exactly this name or path, in a search of one module also with more
 * after a dot; NULL: none. */
const struct module *finder_module_named(const struct finder *f, const char *text,
                                         uint32_t len);

/*
 * Adds the functions and objects that len bytes of text name, in the modules of a glob.
 * Sets `why' if there are none.
 */
void find_named(struct finder *f, const char *glob, uint32_t glob_len, const char *text,
                uint32_t len);

/* Keeps the first reason. */
void finder_why(struct finder *f, enum why kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The reason is that there is no module of that name. */
void finder_why_module(struct finder *f, const char *glob, uint32_t len);
/* The reason is that the name is that of a local variable; false: it is none that is quickly
 * found. */
bool finder_why_local(struct finder *f, const char *glob, uint32_t glob_len,
                      const char *name);

#endif
