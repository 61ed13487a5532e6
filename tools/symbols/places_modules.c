/* SPDX-License-Identifier: MIT */
/*
 * The set of modules: finds the file on this machine that a trace refers to.
 *
 * If both have a build id, that decides.  Otherwise the name does, and then the bytes of
 * the blocks that ran (places.c): the worst result would be plausible counts of another
 * build.
 */
#include "places_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* "1a2b3c4d", enough to distinguish two of them. */
static const char *short_id(const uint8_t *id, uint32_t n, char text[24])
{
    for (uint32_t i = 0; i < n && i < 8; i++) {
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    }
    return text;
}

/* -------------------------------------------------------------- open, close */

/* Without servers in the environment there is nothing to query. */
static void init_servers(struct modset *s)
{
    const char *urls = getenv("DEBUGINFOD_URLS");

    s->servers = (struct symfile_servers){.prog = s->opt.prog, .quiet = s->opt.quiet};
    if (s->opt.debuginfod && (!urls || !urls[strspn(urls, " ")])) {
        tool_error(s->opt.prog, "--debuginfod: DEBUGINFOD_URLS names no server");
        s->opt.debuginfod = false;
    }
}

static int open_elf(struct modset *s, struct elf_arg *e, const char *path)
{
    struct symfile_options opt = modset_file_options(s);
    struct symfile_error err;

    e->path = path;
    e->name = last_part(path);
    if (symfile_open(&e->file, path, &opt, &err)) {
        tool_error(s->opt.prog, "%s", err.text);
        return TOOL_FAILED;
    }
    if (err.text[0] && !s->opt.quiet) {
        tool_error(s->opt.prog, "%s", err.text);
    }
    symfile_info(e->file, &e->info);
    return TOOL_OK;
}

/* The folders of --debug-dir, and the sysroot's. */
static bool set_debug_dirs(struct modset *s)
{
    static const char tail[] = "/usr/lib/debug";
    const char *root = s->opt.sysroot;
    unsigned n = s->opt.nr_debug_dirs;

    s->debug_dirs = calloc(n + 1, sizeof(*s->debug_dirs));
    if (!s->debug_dirs) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        s->debug_dirs[i] = s->opt.debug_dirs[i];
    }
    if (root) {
        size_t size = strlen(root) + sizeof(tail);
        s->sysroot_debug = malloc(size);
        if (!s->sysroot_debug) {
            return false;
        }
        snprintf(s->sysroot_debug, size, "%s%s", root, tail);
        s->debug_dirs[n++] = s->sysroot_debug;
    }
    s->opt.debug_dirs = s->debug_dirs;
    s->opt.nr_debug_dirs = n;
    return true;
}

int modset_open(struct modset **out, const struct modset_options *opt)
{
    struct modset *s = calloc(1, sizeof(*s));
    int status = TOOL_OK;

    *out = NULL;
    if (!s) {
        tool_error(opt->prog, "no memory");
        return TOOL_FAILED;
    }
    s->opt = *opt;
    init_servers(s);
    s->elfs = calloc(opt->nr_elfs + 1, sizeof(*s->elfs));
    if (!s->elfs || !set_debug_dirs(s)) {
        status = modset_no_memory(s);
        s->opt.nr_elfs = 0;
    }
    for (unsigned i = 0; !status && i < opt->nr_elfs; i++) {
        status = open_elf(s, &s->elfs[i], opt->elfs[i]);
    }
    if (status) {
        modset_close(s);
        return status;
    }
    *out = s;
    return TOOL_OK;
}

void jit_mod_free(struct jit_mod *j)
{
    if (j) {
        free(j->bytes);
        free(j->time_ns);
        free(j->file);
        free(j);
    }
}

void modset_close(struct modset *s)
{
    if (!s) {
        return;
    }
    for (uint32_t i = 0; i < s->nr_mods; i++) {
        struct module *m = &s->mods[i]->pub;
        symfile_close(s->mods[i]->own);
        jit_mod_free(s->mods[i]->jit);
        free((char *)(uintptr_t)m->path);
        free((char *)(uintptr_t)m->name);
        free((uint8_t *)(uintptr_t)m->build_id);
        free((char *)(uintptr_t)m->why);
        free(s->mods[i]);
    }
    for (unsigned i = 0; s->elfs && i < s->opt.nr_elfs; i++) {
        symfile_close(s->elfs[i].file);
    }
    free(s->mods);
    free(s->elfs);
    free(s->debug_dirs);
    free(s->sysroot_debug);
    free(s);
}

uint32_t modset_count(const struct modset *s)
{
    return s->nr_mods;
}

const struct module *modset_module(const struct modset *s, uint32_t i)
{
    return i < s->nr_mods ? &s->mods[i]->pub : NULL;
}

/* ------------------------------------------------------------ one module */

/* The last part of a path in a trace, which may be any text. */
static char *copy_name(const char *path)
{
    size_t end = strlen(path), begin;

    while (end && path[end - 1] == '/') {
        end--;
    }
    for (begin = end; begin && path[begin - 1] != '/';) {
        begin--;
    }
    return begin < end ? strndup(path + begin, end - begin) : strdup("_");
}

static struct mod *new_mod(struct modset *s, const char *path, const uint8_t *id,
                           uint32_t id_bytes)
{
    struct mod *m = calloc(1, sizeof(*m));
    uint8_t *copy = malloc(id_bytes + 1u);
    char *name = copy_name(path);

    if (s->nr_mods == s->cap) {
        uint32_t cap = 2 * s->cap + 16;
        struct mod **v = realloc(s->mods, cap * sizeof(struct mod *));
        if (v) {
            s->mods = v;
            s->cap = cap;
        }
    }
    if (!m || !copy || !name || s->nr_mods == s->cap ||
        !modset_set_text(&m->pub.path, path) || !modset_set_text(&m->pub.why, "")) {
        if (m) {
            free((char *)(uintptr_t)m->pub.path);
        }
        free(m);
        free(copy);
        free(name);
        return NULL;
    }
    if (id_bytes) {
        memcpy(copy, id, id_bytes);
    }
    m->pub.index = s->nr_mods;
    m->pub.name = name;
    m->pub.build_id = copy;
    m->pub.build_id_bytes = id_bytes;
    m->pub.system = path[0] != '/';
    s->mods[s->nr_mods++] = m;
    return m;
}

struct mod *modset_add_generated(struct modset *s, const char *path, struct symfile *file)
{
    struct mod *m = new_mod(s, path, NULL, 0);

    if (m) {
        m->own = m->pub.file = file;
        m->pub.system = false;
        m->pub.generated = true;
    }
    return m;
}

/* --------------------------------------------------------- files of a trace */

/* The --elf file of a mapped file: by its build id, else by its name. */
static struct elf_arg *find_elf(struct modset *s, const struct mapped_file *f,
                                bool *differs)
{
    struct elf_arg *named = NULL;
    const char *name = last_part(f->path);

    *differs = false;
    for (unsigned i = 0; i < s->opt.nr_elfs; i++) {
        struct elf_arg *e = &s->elfs[i];
        if (modset_same_id(f->build_id, f->build_id_bytes, e->info.build_id,
                           e->info.build_id_bytes)) {
            return e;
        }
    }
    for (unsigned i = 0; i < s->opt.nr_elfs; i++) {
        struct elf_arg *e = &s->elfs[i];
        bool ids = f->build_id_bytes && e->info.build_id_bytes;
        if (f->path[0] == '/' && !strcmp(name, e->name)) {
            if (!ids || s->opt.force) {
                return e;
            }
            named = e;
        }
    }
    *differs = named != NULL;
    return named;
}

/* Whether a file of the trace has the build id of this --elf file. */
static bool is_mapped(const struct elf_arg *e, const struct mapped_file *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (modset_same_id(v[i].build_id, v[i].build_id_bytes, e->info.build_id,
                           e->info.build_id_bytes)) {
            return true;
        }
    }
    return false;
}

/* The number of earlier files of the trace with the same path and without a build id. */
static uint32_t generation_of(const struct mapped_file *v, uint32_t n, uint32_t i)
{
    uint32_t before = 0;

    for (uint32_t k = 0; k < n; k++) {
        before +=
            v[k].seq < v[i].seq && !v[k].build_id_bytes && !strcmp(v[k].path, v[i].path);
    }
    return before;
}

static struct mod *find_mod(struct modset *s, const struct mapped_file *f,
                            uint32_t generation)
{
    for (uint32_t i = 0; i < s->nr_mods; i++) {
        struct mod *m = s->mods[i];
        uint32_t own = m->borrowed_id ? 0 : m->pub.build_id_bytes;
        if (m->rejected || m->pub.generated) {
            continue;
        }
        if (f->build_id_bytes
                ? modset_same_id(f->build_id, f->build_id_bytes, m->pub.build_id, own)
                : !own && m->generation == generation && !strcmp(f->path, m->pub.path)) {
            return m;
        }
    }
    return NULL;
}

static int resolve_elf(struct modset *s, struct elf_arg *e, const struct mapped_file *f)
{
    bool ids = f->build_id_bytes && e->info.build_id_bytes;

    e->mod = e->info.build_id_bytes
                 ? new_mod(s, f->path, e->info.build_id, e->info.build_id_bytes)
                 : new_mod(s, f->path, f->build_id, f->build_id_bytes);
    if (!e->mod) {
        return modset_no_memory(s);
    }
    e->mod->elf = e;
    e->mod->pub.file = e->file;
    e->mod->verify = !ids;
    e->mod->trusted = s->opt.force;
    return TOOL_OK;
}

static int resolve(struct modset *s, const struct target *t, struct mapped_file *v,
                   uint32_t n, uint32_t i)
{
    struct mapped_file *f = &v[i];
    char a[24] = "", b[24] = "";
    bool differs;
    struct elf_arg *e = find_elf(s, f, &differs);
    uint32_t generation;
    int status;

    if (e && differs) {
        if (!is_mapped(e, v, n)) {
            tool_error(s->opt.prog,
                       "%s: its build id is %s..., that of %s in %s is %s...; --force "
                       "uses it anyway",
                       e->path, short_id(e->info.build_id, e->info.build_id_bytes, a),
                       f->path, t->path, short_id(f->build_id, f->build_id_bytes, b));
            return TOOL_FAILED;
        }
    } else if (e) {
        status = e->mod ? TOOL_OK : resolve_elf(s, e, f);
        f->mod = e->mod;
        return status;
    }
    generation = f->build_id_bytes ? 0 : generation_of(v, n, i);
    f->mod = find_mod(s, f, generation);
    if (f->mod) {
        return TOOL_OK;
    }
    f->mod = new_mod(s, f->path, f->build_id, f->build_id_bytes);
    if (!f->mod) {
        return modset_no_memory(s);
    }
    f->mod->generation = generation;
    return modset_find_own(s, t, f, f->mod);
}

int modset_check_machine(const struct modset *s, const struct target *t)
{
    for (unsigned i = 0; i < s->opt.nr_elfs; i++) {
        const struct elf_arg *e = &s->elfs[i];
        if (!modset_right_machine(&e->info, t)) {
            tool_error(s->opt.prog, "%s: a file of %s, but %s is a trace of %s", e->path,
                       modset_machine_name(e->info.machine, e->info.big_endian), t->path,
                       t->name);
            return TOOL_FAILED;
        }
        if (e->info.object && !t->is_machine) {
            tool_error(s->opt.prog,
                       "%s: an object; only modules of a machine's kernel are taken, and "
                       "%s is the trace of a program",
                       e->path, t->path);
            return TOOL_FAILED;
        }
    }
    return TOOL_OK;
}

int modset_resolve(struct modset *s, const struct target *t, struct mapped_file *v,
                   uint32_t n)
{
    uint32_t *order = malloc((n + 1u) * sizeof(*order));
    int status = TOOL_OK;

    if (!order) {
        return modset_no_memory(s);
    }
    s->loaded = true;
    for (uint32_t i = 0; i < n; i++) {
        order[v[i].seq] = i;
    }
    for (uint32_t i = 0; !status && i < n; i++) {
        status = resolve(s, t, v, n, order[i]);
    }
    free(order);
    return status;
}

int modset_resolve_elf(struct modset *s, struct elf_arg *e)
{
    if (!e->mod) {
        e->mod = new_mod(s, e->path, e->info.build_id, e->info.build_id_bytes);
        if (!e->mod) {
            return modset_no_memory(s);
        }
        e->mod->elf = e;
        e->mod->pub.file = e->file;
        e->mod->pub.system = false;
        e->mod->verify = true;
        e->mod->trusted = s->opt.force;
    }
    return TOOL_OK;
}

int modset_reject(struct modset *s, const struct target *t, struct mod **m,
                  uint64_t differ, uint64_t of)
{
    struct mod *old = *m;
    char why[1024];
    uint32_t generation = old->generation;

    if (old->elf) {
        tool_error(s->opt.prog,
                   "%s: not the file that ran in %s: its code differs in %" PRIu64
                   " of %" PRIu64 " blocks; --force uses it anyway",
                   old->elf->path, t->path, differ, of);
        return TOOL_FAILED;
    }
    snprintf(why, sizeof(why),
             "%s is not the file that ran in %s: its code differs in %" PRIu64
             " of %" PRIu64 " blocks",
             old->pub.path, t->path, differ, of);
    /* Reuse the module without a file: the file may match another trace. */
    for (uint32_t i = 0; i < s->nr_mods; i++) {
        struct mod *k = s->mods[i];
        if (k->rejected && !strcmp(k->pub.path, old->pub.path) &&
            k->generation == generation) {
            *m = k;
            return TOOL_OK;
        }
    }
    *m = new_mod(s, old->pub.path, NULL, 0);
    if (!*m) {
        return modset_no_memory(s);
    }
    (*m)->generation = generation;
    (*m)->rejected = true;
    return modset_without_file(s, *m, why, true) ? TOOL_OK : modset_no_memory(s);
}

int modset_status(const struct modset *s)
{
    unsigned used = 0;

    for (unsigned i = 0; i < s->opt.nr_elfs; i++) {
        used += s->elfs[i].mod != NULL;
    }
    for (unsigned i = 0; s->loaded && i < s->opt.nr_elfs; i++) {
        const struct elf_arg *e = &s->elfs[i];
        if (e->mod || (s->opt.quiet && used)) {
            continue;
        }
        if (e->of) {
            tool_error(s->opt.prog,
                       "%s: not the file that ran in any trace: its code differs in "
                       "%" PRIu64 " of %" PRIu64 " blocks; --force uses it anyway",
                       e->path, e->differ, e->of);
        } else {
            tool_error(s->opt.prog, "%s: %s", e->path,
                       e->info.object
                           ? "hardly any of its code ran, or a copy of /proc/modules or "
                             "/proc/kallsyms has to say where it was (--kallsyms)"
                           : "no such program or library ran in any trace");
        }
    }
    return s->opt.nr_elfs && s->loaded && !used ? TOOL_FAILED : TOOL_OK;
}
