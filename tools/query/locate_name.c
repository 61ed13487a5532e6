/* SPDX-License-Identifier: MIT */
/*
 * Functions and objects by name, parts of objects, and what to say if there is no such
 * name.
 */
#include "query/locate_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/words.h"
#include "symbols/symfile_data.h"

/* A search for a name in one module. */
struct name_search {
    struct finder *finder;
    const struct module *module;
    const char *name;
    const char *part; /* "field[2]" after it, or "" */
};

/* Whether a source file of a module is the one that is meant. */
static bool is_meant(const struct name_search *s, uint32_t file)
{
    const char *path = symfile_file(s->module->file, file);

    return !s->finder->source || (path && sym_path_matches(path, s->finder->source));
}

/* ----------------------------------------------------------------- functions */

static bool add_function(struct name_search *s, const struct sym_function *fn)
{
    struct finder *f = s->finder;
    enum locate_want want = f->request->want;
    bool entry = f->begins || want == LOCATE_ENTRY || want == LOCATE_BEGIN;
    bool local = want == LOCATE_BEGIN && !f->begins && fn->local;

    return hits_add(&f->hits, s->module, fn->addr, entry ? fn->addr + 1 : fn->end) &&
           (!local || fn->local >= fn->end - fn->addr ||
            hits_add(&f->hits, s->module, fn->addr + fn->local,
                     fn->addr + fn->local + 1));
}

/* Compilers put code of a function that runs rarely elsewhere, as NAME.cold. */
static bool is_cold_part(const struct sym_function *part, const struct sym_function *fn)
{
    size_t n = strlen(fn->linkage);

    return !strncmp(part->linkage, fn->linkage, n) &&
           !strncmp(part->linkage + n, ".cold", 5);
}

/* Of one file: stubs of the PLT, unless they are meant, and code that only selects a
 * function are not what the function does. */
static bool is_no_function(struct name_search *s, const struct sym_function *fn)
{
    if (fn->source == SYM_PLT) {
        return !strchr(s->name, '@');
    }
    if (!fn->ifunc || symfile_names_code(s->module->file, fn, s->name)) {
        return false;
    }
    finder_why(s->finder, WHY_EXACT,
               "'%s' only selects one of several functions (IFUNC): name that one",
               fn->name);
    return true;
}

static bool on_function(void *arg, const struct sym_function *fn, const char *name)
{
    struct name_search *s = arg;
    const struct sym_function *all;
    uint32_t n = symfile_functions(s->module->file, &all);
    bool whole = s->finder->request->want == LOCATE_CODE && !s->finder->begins;

    (void)name;
    if (s->finder->source && !is_meant(s, symfile_function_file(s->module->file, fn))) {
        return true;
    }
    if (s->finder->only && is_no_function(s, fn)) {
        return true;
    }
    if (!add_function(s, fn)) {
        return false;
    }
    for (uint32_t i = 0; whole && i < n; i++) {
        if (is_cold_part(&all[i], fn) && !add_function(s, &all[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------- objects */

/* Whether an object is an internal one of a library of the system, which has its debug
 * information in another file: nobody means "data.txt" as a member of it. */
static bool is_internal(const struct name_search *s, const struct sym_object *o)
{
    struct symfile_info info;

    symfile_info(s->module->file, &info);
    return o->local && info.debug_path[0];
}

static bool on_object(void *arg, const struct sym_object *o)
{
    struct name_search *s = arg;
    struct finder *f = s->finder;
    struct sym_part part = {.size = o->end - o->addr};
    char why[200];

    if (!is_meant(s, o->decl_file)) {
        return true;
    }
    if (o->tls) {
        finder_why(f, WHY_EXACT,
                   "'%s' exists once for each thread; where is not recorded", o->name);
        return true;
    }
    if (*s->part &&
        !symfile_member(s->module->file, o->type, s->part, &part, why, sizeof(why))) {
        if (!is_internal(s, o)) {
            finder_why(f, WHY_EXACT, "%s of %s: %s", o->name, s->module->name, why);
        }
        return true;
    }
    /* Of an object without a size the first byte is known. */
    return hits_add(&f->hits, s->module, o->addr + part.offset,
                    o->addr + part.offset + (part.size ? part.size : 1));
}

/* Part `part' of the objects that the first n bytes of a name name. */
static void find_part(struct name_search *s, const char *name, size_t n)
{
    char *object = strndup(name, n);

    s->part = name + n;
    if (object) {
        symfile_find_objects(s->module->file, object, on_object, s);
    } else {
        s->finder->hits.no_memory = true;
    }
    free(object);
}

/* "a.b[1]" is the object "a.b[1]", else part ".b[1]" of "a", else part "[1]" of "a.b": the
 * first one that exists. */
static void find_object(struct name_search *s, const char *name)
{
    const struct hits *h = &s->finder->hits;
    uint32_t before = h->n;

    find_part(s, name, strlen(name));
    for (size_t i = 1; h->n == before && name[i] && !h->no_memory; i++) {
        if (name[i] == '.' || name[i] == '[') {
            find_part(s, name, i);
        }
    }
}

/* In all modules: functions, or objects. */
static void find_in_modules(struct finder *f, const char *glob, uint32_t glob_len,
                            const char *name, bool objects)
{
    const struct module *m;

    for (uint32_t i = 0; (m = finder_nth(f, i)) != NULL; i++) {
        struct name_search s = {.finder = f, .module = m, .name = name, .part = ""};
        if (!m->file || !finder_module(f, m, glob, glob_len)) {
            continue;
        }
        if (objects) {
            find_object(&s, name);
        } else {
            symfile_find_functions(m->file, name, on_function, &s);
        }
    }
}

/* ------------------------------------------------------------- nothing found */

/* The name that was probably meant by n bytes of a name, or NULL. */
static const char *nearest(const struct finder *f, const char *glob, uint32_t glob_len,
                           const char *name, size_t len, bool objects)
{
    const struct sym_function *fn;
    const struct sym_object *ob;
    const struct module *m;
    const char *found = NULL;

    for (uint32_t i = 0; !found && (m = finder_nth(f, i)) != NULL; i++) {
        if (!m->file || !finder_module(f, m, glob, glob_len)) {
            continue;
        }
        uint32_t n =
            objects ? symfile_objects(m->file, &ob) : symfile_functions(m->file, &fn);
        const struct words w = {
            .what = "name",
            .first = !n        ? NULL
                     : objects ? (const void *)&ob->name
                               : &fn->name,
            .stride = objects ? sizeof(*ob) : sizeof(*fn),
            .n = n,
        };
        found = words_nearest(&w, name, len);
    }
    return found;
}

/* Whether mappings were recorded, but are not known because it is a stream. */
static bool is_mapped_stream(const struct ctr_trace *tr)
{
    struct ctr_info info = {0};

    if (tr) {
        ctr_trace_info(tr, &info);
    }
    return tr && !info.seekable && info.events & CTR_HAS_MAP;
}

/* The reason is a similar name; of "cgf.head" also one of "cgf".  False: there is none. */
static bool why_similar(struct finder *f, const char *glob, uint32_t glob_len,
                        const char *name, bool objects, const char *what)
{
    size_t len = strlen(name), object = strcspn(name, ".[");
    const char *meant = nearest(f, glob, glob_len, name, len, objects);

    if (!meant && objects && object < len) {
        len = object;
        meant = nearest(f, glob, glob_len, name, len, objects);
        meant = meant && !strncmp(meant, name, len) && !meant[len] ? NULL : meant;
    }
    if (meant) {
        finder_why(f, WHY_EXACT, "no %s '%.*s' (did you mean '%s'?)", what, (int)len,
                   name, meant);
    }
    return meant != NULL;
}

/* The reason is that a function has code in others only.  False: it is not. */
static bool why_inlined(struct finder *f, const char *glob, uint32_t glob_len,
                        const char *name)
{
    const struct sym_scope *scope = NULL;
    const struct module *m;

    for (uint32_t i = 0; !scope && (m = finder_nth(f, i)) != NULL; i++) {
        if (m->file && finder_module(f, m, glob, glob_len) &&
            (scope = symfile_find_inlined(m->file, name)) != NULL) {
            finder_why(f, WHY_EXACT,
                       "'%s' has no address: it is inlined into '%s'; use its lines, "
                       "FILE:LINE",
                       name, symfile_inlined_into(m->file, scope));
        }
    }
    return scope != NULL;
}

/* Why there may be no such name: the modules without a file or without symbols. */
static void say_missing(struct finder *f, const char *glob, uint32_t glob_len,
                        const char *name)
{
    bool objects = f->request->want == LOCATE_DATA;
    const char *what = objects ? "object or function" : "function";
    const struct module *m, *bare = NULL;
    const struct module *named =
        glob_len ? NULL : finder_module_named(f, name, (uint32_t)strlen(name));
    struct symfile_info info;
    bool stream = is_mapped_stream(f->request->trace);
    unsigned modules = 0;

    for (uint32_t i = 0; (m = finder_nth(f, i)) != NULL; i++) {
        if (!finder_module(f, m, glob, glob_len)) {
            continue;
        }
        modules++;
        info.has_symtab = false;
        if (m->file) {
            symfile_info(m->file, &info);
        }
        bare = bare || info.has_symtab || m->system ? bare : m;
    }
    if (!modules && glob_len) {
        finder_why_module(f, glob, glob_len);
    } else if (!modules) {
        finder_why(f, WHY_EXACT,
                   stream ? "names need a file, not a stream, or --elf"
                          : "the trace names no programs (recorded without map): use "
                            "--elf");
    } else if (named) {
        finder_why(f, WHY_EXACT, "'%s' is a program or library, no %s: its code is %s!*",
                   name, what, named->name);
    } else if ((objects ? finder_why_local(f, glob, glob_len, name)
                        : why_inlined(f, glob, glob_len, name)) ||
               why_similar(f, glob, glob_len, name, objects, what)) {
        return;
    } else if (bare && !bare->file && bare->why[0]) {
        finder_why(f, WHY_BARE, "no %s '%s'; %s", what, name, bare->why);
    } else if (bare) {
        finder_why(f, WHY_BARE, "no %s '%s'; %s has %s", what, name, bare->name,
                   bare->file ? "no symbols but those it exports" : "no file here");
    } else {
        finder_why(f, WHY_NAME, "no %s '%s'", what, name);
    }
}

/* "app!*" is all code of a file, also that in no function. */
static void find_all_code(struct finder *f, const char *glob, uint32_t glob_len)
{
    const struct module *m;

    for (uint32_t i = 0; (m = finder_nth(f, i)) != NULL; i++) {
        const struct sym_code *v;
        uint32_t n = m->file && finder_module(f, m, glob, glob_len)
                         ? symfile_code(m->file, &v)
                         : 0;

        for (uint32_t k = 0; k < n; k++) {
            hits_add(&f->hits, m, v[k].addr, v[k].end);
        }
    }
}

/* The reason for not finding a name in f->source. */
static void say_missing_in(struct finder *f, const char *glob, uint32_t glob_len,
                           const char *name)
{
    bool data = f->request->want == LOCATE_DATA, known = false;
    const struct module *m;

    for (uint32_t i = 0; !known && (m = finder_nth(f, i)) != NULL; i++) {
        uint32_t n = m->file && finder_module(f, m, glob, glob_len)
                         ? symfile_nr_files(m->file)
                         : 0;

        for (uint32_t k = 0; !known && k < n; k++) {
            known = sym_path_matches(symfile_file(m->file, k), f->source);
        }
    }
    if (known) {
        finder_why(f, WHY_EXACT, "no %s '%s' in %s",
                   data ? "object or function" : "function", name, f->source);
    } else {
        finder_why(f, WHY_NAME,
                   "no source file '%s' in the debug information of what ran", f->source);
    }
}

static void find_name(struct finder *f, const char *glob, uint32_t glob_len,
                      const char *text, uint32_t len)
{
    const bool data = f->request->want == LOCATE_DATA;
    char *name = malloc(len + 1u);
    uint32_t before = f->hits.n;

    if (!name) {
        f->hits.no_memory = true;
        return;
    }
    location_name(text, len, name);
    if (data && strstr(name, "->") && !strstr(name, "operator")) {
        finder_why(f, WHY_EXACT, "'%s': pointers are not followed: use the address",
                   name);
    } else if (*name) {
        if (glob_len && !strcmp(name, "*") && !f->source && !f->begins &&
            f->request->want == LOCATE_CODE) {
            find_all_code(f, glob, glob_len);
        } else {
            find_in_modules(f, glob, glob_len, name, data);
        }
        if (data && f->hits.n == before && !f->why[0]) {
            find_in_modules(f, glob, glob_len, name, false);
        }
        if (f->hits.n == before && f->source) {
            say_missing_in(f, glob, glob_len, name);
        } else if (f->hits.n == before) {
            say_missing(f, glob, glob_len, name);
        }
    } else {
        finder_why(f, WHY_EXACT, "'%.*s!' has no name after it", (int)glob_len, glob);
    }
    free(name);
}

void find_named(struct finder *f, const char *glob, uint32_t glob_len, const char *text,
                uint32_t len)
{
    uint32_t file, file_len, name;
    char *source;

    if (!location_source(text, len, &file, &file_len, &name)) {
        find_name(f, glob, glob_len, text, len);
        return;
    }
    source = strndup(text + file, file_len);
    f->source = source;
    if (source) {
        find_name(f, glob, glob_len, text + name, len - name);
    } else {
        f->hits.no_memory = true;
    }
    f->source = NULL;
    free(source);
}

void finder_functions(struct finder *f, const char *text)
{
    uint32_t len = (uint32_t)strlen(text), module = location_module(text, len);

    if (module < len) {
        find_named(f, text, module, text + module + 1, len - module - 1);
    } else {
        find_named(f, text, 0, text, len);
    }
}
