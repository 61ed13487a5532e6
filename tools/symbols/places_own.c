/* SPDX-License-Identifier: MIT */
/*
 * Finds the file of a module: the one at the path that the trace names, or its bytes in the
 * trace.
 */
#include "places_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"

/* What speaks against a file that was found for a module, in `why'; "": nothing. */
static void compare_file(const struct modset *s, const struct target *t,
                         const struct mod *m, const struct symfile *f, char *why,
                         size_t size)
{
    struct symfile_info info;

    symfile_info(f, &info);
    why[0] = 0;
    if (!modset_right_machine(&info, t)) {
        snprintf(why, size, "%s is of %s, not the file that was recorded", info.path,
                 modset_machine_name(info.machine, info.big_endian));
    } else if (m->pub.build_id_bytes && info.build_id_bytes && !s->opt.force &&
               !modset_same_id(m->pub.build_id, m->pub.build_id_bytes, info.build_id,
                               info.build_id_bytes)) {
        snprintf(why, size, "%s has another build id than the file recorded", info.path);
    }
}

/* The file at the path that the trace names; NULL and err, or a reason in `why'. */
static struct symfile *open_named(struct modset *s, const struct target *t,
                                  const struct mod *m, struct symfile_error *err,
                                  char *why, size_t size)
{
    struct symfile_options opt = modset_file_options(s);
    const char *root = s->opt.sysroot;
    struct symfile *f = NULL;
    char *rooted = NULL;

    *err = (struct symfile_error){SYMFILE_IO, ""};
    if (root && asprintf(&rooted, "%s%s", root, m->pub.path) < 0) {
        err->status = SYMFILE_NOMEM;
        snprintf(err->text, sizeof(err->text), "%s: no memory", m->pub.path);
        return NULL;
    }
    if (rooted) {
        symfile_open(&f, rooted, &opt, err);
    }
    /* Also with a sysroot: with QEMU -L the recorded paths may contain it. */
    if (err->status == SYMFILE_IO && !t->is_machine) {
        symfile_open(&f, m->pub.path, &opt, err);
    }
    free(rooted);
    if (f) {
        compare_file(s, t, m, f, why, size);
        if (why[0]) {
            symfile_close(f);
            f = NULL;
        }
    }
    return f;
}

/* The same file in the trace; it is used if the one at its path is not there, or is not shown
 * to be the one that was mapped. */
static struct symfile *open_embedded(struct modset *s, const struct target *t,
                                     const struct mod *m, const struct mapped_file *f,
                                     struct symfile_error *err)
{
    const struct ctr_file *file = embedded_find(t->embedded, f->path, f->dev, f->inode);
    const int fd = file ? embedded_open(t->embedded, file) : -1;
    struct symfile_options opt = modset_file_options(s);
    struct symfile *sym = NULL;
    struct symfile_error own;
    char why[1024];

    if (fd < 0) {
        return NULL;
    }
    opt.image = &fd;
    symfile_open(&sym, f->path, &opt, &own);
    close(fd);
    if (sym) {
        compare_file(s, t, m, sym, why, sizeof(why));
        if (why[0]) {
            symfile_close(sym);
            return NULL;
        }
        *err = own;
    }
    return sym;
}

/* Whether its build id shows that a file is the one that was mapped. */
static bool is_shown(const struct mod *m, const struct symfile *f)
{
    struct symfile_info info;

    symfile_info(f, &info);
    return m->pub.build_id_bytes && info.build_id_bytes;
}

/* Why a module cannot have a file, without looking for one, or NULL. */
static const char *why_none(const struct modset *s, const struct target *t,
                            const struct module *m)
{
    return m->system                          ? "is no file"
           : s->opt.elfs_only                 ? "was not given with --elf"
           : t->is_machine && !s->opt.sysroot ? "is a file of the machine (--sysroot)"
           : s->opt.nr_modules && !module_matches(m, s->opt.modules, s->opt.nr_modules)
               ? "was not chosen"
               : NULL;
}

int modset_find_own(struct modset *s, const struct target *t, const struct mapped_file *v,
                    struct mod *m)
{
    const char *none = why_none(s, t, &m->pub);
    char why[1024] = "";
    struct symfile_error err;
    struct symfile_info info;
    struct symfile *f, *here;

    if (none) {
        snprintf(why, sizeof(why), "%s %s", m->pub.path, none);
        return modset_without_file(s, m, why, false) ? TOOL_OK : modset_no_memory(s);
    }
    f = open_named(s, t, m, &err, why, sizeof(why));
    if (!f || !is_shown(m, f)) {
        here = open_embedded(s, t, m, v, &err);
        if (here) {
            symfile_close(f);
            f = here;
        }
    }
    if (!f && err.status) {
        bool remark = !s->opt.missing_ok || err.status != SYMFILE_IO;
        return modset_without_file(s, m, err.text, remark) ? TOOL_OK
                                                           : modset_no_memory(s);
    }
    if (!f) {
        return modset_without_file(s, m, why, true) ? TOOL_OK : modset_no_memory(s);
    }
    symfile_info(f, &info);
    if (err.text[0] && !s->opt.quiet) {
        tool_error(s->opt.prog, "%s", err.text);
    }
    m->own = m->pub.file = f;
    m->verify = !m->pub.build_id_bytes || !info.build_id_bytes;
    m->trusted = s->opt.force;
    if (m->verify && info.build_id_bytes) {
        uint8_t *id = malloc(info.build_id_bytes);
        if (!id) {
            return modset_no_memory(s);
        }
        memcpy(id, info.build_id, info.build_id_bytes);
        free((uint8_t *)(uintptr_t)m->pub.build_id);
        m->pub.build_id = id;
        m->pub.build_id_bytes = info.build_id_bytes;
        m->borrowed_id = true;
    }
    return TOOL_OK;
}
