/* SPDX-License-Identifier: MIT */
/*
 * Finds separate debug information: for each folder FOLDER/.build-id/xx/yyy.debug, then
 * by the name of .gnu_debuglink FOLDER/dir/of/the/file/name and FOLDER/name, and next to
 * the file and in .debug there.  The folders of the user come first.  libdwfl does nearly
 * the same; here the order is ours, folders may contain a colon, files must be regular
 * (opening a pipe blocks), and another build id is rejected.  A file that a server sent is
 * the last choice (symfile_fetch.c).
 */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "symfile_reader_priv.h"

#define SYSTEM_FOLDER "/usr/lib/debug"

static uint32_t crc32_of(const uint8_t *p, size_t n)
{
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) {
            c = c & 1 ? 0xedb88320 ^ (c >> 1) : c >> 1;
        }
        table[i] = c;
    }
    for (size_t i = 0; i < n; i++) {
        crc = table[(crc ^ p[i]) & 0xff] ^ (crc >> 8);
    }
    return ~crc;
}

struct wanted {
    const void *id; /* build id, NULL: any */
    size_t id_bytes;
    bool by_crc;
    uint32_t crc;
    struct stat self; /* the file itself, which does not count */
};

static bool fits(int fd, const struct wanted *w)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < EI_NIDENT ||
        (st.st_dev == w->self.st_dev && st.st_ino == w->self.st_ino)) {
        return false;
    }
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const void *id = NULL;
    ssize_t n = elf && elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &id) : -1;
    bool ok = n >= 0;
    if (ok && w->id && (n > 0 || !w->by_crc)) {
        ok = (size_t)n == w->id_bytes && memcmp(id, w->id, (size_t)n) == 0;
    }
    elf_end(elf);
    if (ok && w->by_crc) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        ok = p != MAP_FAILED && crc32_of(p, (size_t)st.st_size) == w->crc;
        if (p != MAP_FAILED) {
            munmap(p, (size_t)st.st_size);
        }
    }
    return ok;
}

/* Opens FOLDER/DIR/NAME if it matches. */
static int try_file(const char *folder, const char *dir, const char *name,
                    const struct wanted *w, char **path)
{
    if (asprintf(path, "%s%s%s%s%s", folder, dir[0] && dir[0] != '/' ? "/" : "", dir,
                 folder[0] || dir[0] ? "/" : "", name) < 0) {
        *path = NULL;
        return -1;
    }
    int fd = open(*path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && !fits(fd, w)) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        free(*path);
        *path = NULL;
    }
    return fd;
}

static const char *folder_at(const struct symfile_options *opt, unsigned i)
{
    return i < opt->nr_debug_dirs ? opt->debug_dirs[i] : SYSTEM_FOLDER;
}

static int by_build_id(const struct reader *r, const struct wanted *w, char **path)
{
    char name[2 * 64 + 32];
    const uint8_t *id = w->id;
    if (!id || w->id_bytes < 2 || w->id_bytes > 64) {
        return -1;
    }
    size_t at = (size_t)sprintf(name, "%02x/", id[0]);
    for (size_t i = 1; i < w->id_bytes; i++) {
        at += (size_t)sprintf(name + at, "%02x", id[i]);
    }
    strcpy(name + at, ".debug");
    for (unsigned i = 0; i <= r->opt->nr_debug_dirs; i++) {
        int fd = try_file(folder_at(r->opt, i), ".build-id", name, w, path);
        if (fd >= 0) {
            return fd;
        }
    }
    return -1;
}

/* The folder of a file, "" for the current one. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup("");
}

static int by_name(const struct reader *r, const char *file, const char *name,
                   const struct wanted *w, char **path)
{
    char *real = realpath(file, NULL);
    char *beside = folder_of(file), *dir = folder_of(real ? real : file);
    int fd = -1;
    if (beside && dir) {
        for (unsigned i = 0; fd < 0 && i <= r->opt->nr_debug_dirs; i++) {
            if (i == r->opt->nr_debug_dirs) { /* next to the file, before the system's */
                fd = try_file(beside[0] ? beside : ".", "", name, w, path);
                fd = fd < 0 ? try_file(dir, "", name, w, path) : fd;
                fd = fd < 0 ? try_file(dir, ".debug", name, w, path) : fd;
            }
            if (fd < 0) {
                fd = try_file(folder_at(r->opt, i), dir, name, w, path);
            }
            fd = fd < 0 ? try_file(folder_at(r->opt, i), "", name, w, path) : fd;
        }
    }
    free(real);
    free(beside);
    free(dir);
    return fd;
}

/* A dwz file is identified by a path, relative to the file that names it, and build id.
 */
static int find_alt(const struct reader *r, const char *from, const char *name,
                    const struct wanted *w, char **path)
{
    int fd = by_build_id(r, w, path);
    char *dir = NULL;
    if (fd < 0 && name[0] == '/') {
        fd = try_file("", "", name, w, path);
    } else if (fd < 0) {
        char *real = realpath(from, NULL);
        dir = folder_of(real ? real : from);
        fd = dir ? try_file(dir, "", name, w, path) : -1;
        free(real);
        free(dir);
    }
    /* .../debug/.dwz/x, below a folder of the user */
    const char *dwz = strstr(name, ".dwz/");
    for (unsigned i = 0; fd < 0 && dwz && i <= r->opt->nr_debug_dirs; i++) {
        fd = try_file(folder_at(r->opt, i), "", dwz, w, path);
    }
    return fd;
}

/* libdwfl's callback.  Ignores its second call, for the dwz file: open_alt handles it. */
int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, GElf_Addr base,
                   const char *file_name, const char *debuglink_file,
                   GElf_Word debuglink_crc, char **debuginfo_file_name)
{
    struct reader *r = *userdata;
    struct wanted w = {0};
    (void)mod, (void)modname, (void)base, (void)file_name;
    if (!r || r->depth < DEPTH_DEBUG || r->searched || fstat(r->fd, &w.self) != 0) {
        return -1;
    }
    r->searched = true;
    ssize_t n = dwelf_elf_gnu_build_id(r->elf, &w.id);
    w.id_bytes = n > 0 ? (size_t)n : 0;
    w.id = n > 0 ? w.id : NULL;
    int fd = by_build_id(r, &w, debuginfo_file_name);
    if (fd < 0 && debuglink_file) {
        w.by_crc = true;
        w.crc = debuglink_crc;
        fd = by_name(r, r->file->path, debuglink_file, &w, debuginfo_file_name);
    }
    if (fd < 0 && r->opt->debug_file) {
        w.by_crc = false;
        fd = try_file("", "", r->opt->debug_file, &w, debuginfo_file_name);
    }
    if (fd >= 0) {
        struct stat st;
        reader_more_memory(r, fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0);
        r->debug_path = strdup(*debuginfo_file_name);
    }
    return fd;
}

void open_alt(struct reader *r, Dwarf *dw)
{
    struct wanted w = {0};
    const char *name;
    char *path;
    ssize_t n = dwelf_dwarf_gnu_debugaltlink(dw, &name, &w.id);
    if (n <= 0 || fstat(r->fd, &w.self) != 0) {
        return;
    }
    w.id_bytes = (size_t)n;
    int fd = find_alt(r, r->debug_path ? r->debug_path : r->file->path, name, &w, &path);
    Dwarf *alt = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL;
    if (alt) {
        dwarf_setalt(dw, alt);
    } else {
        reader_remark(r, "the file of shared debug information %s is missing", name);
    }
}
