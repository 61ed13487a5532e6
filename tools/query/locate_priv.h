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

/* A search for one item. */
struct finder {
    const struct locate_request *request;
    struct hits hits;
    char why[400]; /* why nothing was found, a sentence without a period; "": no reason
                      known yet */
};

/* Whether a module is meant by len bytes of text, a glob; len 0: any module. */
bool finder_module(const struct module *m, const char *glob, uint32_t len);

/* The module with exactly this name or path; NULL: none. */
const struct module *finder_module_named(const struct finder *f, const char *text,
                                         uint32_t len);

/*
 * Adds the functions and objects that len bytes of text name, in the modules of a glob.
 * Sets `why' if there are none.
 */
void find_named(struct finder *f, const char *glob, uint32_t glob_len, const char *text,
                uint32_t len);

/* Keeps the first reason. */
void finder_why(struct finder *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
