/* SPDX-License-Identifier: MIT */
/*
 * Opens an ELF file and looks up the tables that its reader (symfile_child.c) made.  Only
 * the program headers are read here, from a mapping of the file.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "input/embedded.h"
#include "symfile_sections.h"
#include "symfile_table_priv.h"

__attribute__((format(printf, 3, 4))) static enum symfile_status
fail(struct symfile_error *err, enum symfile_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
    va_end(ap);
    err->status = status;
    return status;
}

/* ------------------------------------------------------------------- headers */

/* Reads the program headers; if their number does not fit its field, section 0 has it. */
static enum symfile_status read_segments(struct symfile *f, struct symfile_error *err)
{
    bool w = f->is64;
    uint64_t phoff = symfile_number(f, w ? 32 : 28, w ? 8 : 4),
             n = symfile_number(f, w ? 56 : 44, 2);
    uint64_t size = symfile_number(f, w ? 54 : 42, 2),
             shoff = symfile_number(f, w ? 40 : 32, w ? 8 : 4);
    if (n == PN_XNUM) {
        n = symfile_number(f, shoff + (w ? 44 : 28), 4);
    }
    if (n == 0) {
        return fail(err, SYMFILE_NOTELF, "%s: nothing in it to load", f->label);
    }
    if (size < (w ? 56 : 32) || phoff > f->map_bytes ||
        n > (f->map_bytes - phoff) / size) {
        return fail(err, SYMFILE_BAD, "%s: its program headers are damaged", f->label);
    }
    f->segments = calloc(n, sizeof(*f->segments));
    if (!f->segments) {
        return fail(err, SYMFILE_NOMEM, "%s: no memory", f->label);
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = phoff + i * size;
        struct segment s = {
            .flags = (uint32_t)symfile_number(f, at + (w ? 4 : 24), 4),
            .offset = symfile_number(f, at + (w ? 8 : 4), w ? 8 : 4),
            .vaddr = symfile_number(f, at + (w ? 16 : 8), w ? 8 : 4),
            .filesz = symfile_number(f, at + (w ? 32 : 16), w ? 8 : 4),
            .memsz = symfile_number(f, at + (w ? 40 : 20), w ? 8 : 4),
        };
        if (symfile_number(f, at, 4) != PT_LOAD || s.memsz == 0) {
            continue;
        }
        if (s.offset > f->map_bytes || s.filesz > f->map_bytes - s.offset) {
            return fail(err, SYMFILE_BAD,
                        "%s: it is truncated, or its program headers are damaged",
                        f->label);
        }
        if (s.filesz > s.memsz || s.vaddr + s.memsz < s.vaddr) {
            return fail(err, SYMFILE_BAD, "%s: its program headers are damaged",
                        f->label);
        }
        f->segments[f->nr_segments++] = s;
    }
    if (f->nr_segments == 0) {
        return fail(err, SYMFILE_NOTELF, "%s: nothing in it to load", f->label);
    }
    return SYMFILE_OK;
}

static enum symfile_status read_object(struct symfile *f, struct symfile_error *err)
{
    bool code = false;
    if (symfile_section_table(f).n > SYMFILE_MAX_SECTIONS) {
        return fail(err, SYMFILE_BAD, "%s: it has more than %u sections", f->label,
                    SYMFILE_MAX_SECTIONS);
    }
    if (!symfile_lay_out(f) || !symfile_read_relocs(f)) {
        return fail(err, SYMFILE_NOMEM, "%s: no memory", f->label);
    }
    for (uint32_t i = 0; i < f->nr_segments; i++) {
        code |= (f->segments[i].flags & PF_X) != 0;
    }
    return code ? SYMFILE_OK
                : fail(err, SYMFILE_NOTELF,
                       "%s: it has no code; debug information of another file belongs "
                       "below --debug-dir",
                       f->label);
}

static enum symfile_status read_header(struct symfile *f, struct symfile_error *err)
{
    const uint8_t *id = f->map;
    if (f->map_bytes < EI_NIDENT || memcmp(id, ELFMAG, SELFMAG) != 0) {
        return fail(err, SYMFILE_NOTELF, "%s: not an ELF file", f->label);
    }
    f->is64 = id[EI_CLASS] == ELFCLASS64;
    f->big_endian = id[EI_DATA] == ELFDATA2MSB;
    if (f->map_bytes < (f->is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)) ||
        (!f->is64 && id[EI_CLASS] != ELFCLASS32) ||
        (!f->big_endian && id[EI_DATA] != ELFDATA2LSB)) {
        return fail(err, SYMFILE_BAD, "%s: its ELF header is damaged", f->label);
    }
    f->type = (uint16_t)symfile_number(f, 16, 2);
    f->machine = (uint32_t)symfile_number(f, 18, 2);
    f->eflags = (uint32_t)symfile_number(f, f->is64 ? 48 : 36, 4);
    if (f->type == ET_REL) {
        return read_object(f, err);
    }
    if (f->type != ET_EXEC && f->type != ET_DYN) {
        return fail(err, SYMFILE_NOTELF, "%s: neither a program nor a library", f->label);
    }
    return read_segments(f, err);
}

static enum symfile_status map_file(struct symfile *f, int fd, struct symfile_error *err)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        return fail(err, SYMFILE_IO, "%s: %s", f->label, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return fail(err, SYMFILE_IO, "%s: %s", f->label,
                    S_ISDIR(st.st_mode) ? strerror(EISDIR) : "not a regular file");
    }
    if (st.st_size == 0) {
        return fail(err, SYMFILE_NOTELF, "%s: the file is empty", f->label);
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
        return fail(err, SYMFILE_IO, "%s: %s", f->label, strerror(errno));
    }
    f->map = p;
    f->map_bytes = (size_t)st.st_size;
    return read_header(f, err);
}

static enum table_depth depth_of(unsigned flags)
{
    return flags & ~(SYMFILE_LINES | SYMFILE_NAMES) ? DEPTH_FULL
           : flags & SYMFILE_LINES                  ? DEPTH_LINES
                                                    : DEPTH_DEBUG;
}

/* If the reader gives up, tries again with fewer parts: the file itself may be good. */
static enum symfile_status read_tables(struct symfile *f, int fd,
                                       const struct symfile_options *opt,
                                       struct symfile_error *err)
{
    struct symfile_error first = {SYMFILE_OK, ""};
    static const char *const without[] = {
        [DEPTH_FILE] = "debug information",
        [DEPTH_DEBUG] = "source lines",
        [DEPTH_LINES] = "types, variables and frames",
    };
    int depth = depth_of(opt->flags);
    for (; depth >= DEPTH_FILE; depth--) {
        bool ok = symfile_run_child(f, fd, opt, (enum table_depth)depth, err) == 0;
        if (ok && !symfile_check_table(f)) {
            fail(err, SYMFILE_BAD, "%s: it is damaged: its symbols make no sense",
                 f->label);
            ok = false;
        }
        if (ok) {
            err->status = SYMFILE_OK;
            err->text[0] = '\0';
            if (first.status != SYMFILE_OK) {
                fail(err, SYMFILE_OK, "%.400s; going on without %s", first.text,
                     without[depth]);
            } else if (f->table->text[0]) {
                fail(err, SYMFILE_OK, "%s: %.200s", f->label, f->table->text);
            }
            if (depth > DEPTH_FILE) {
                symfile_fetch_debug(f, fd, opt, (enum table_depth)depth, err);
            }
            return SYMFILE_OK;
        }
        if (f->table) {
            munmap(f->table, f->table_bytes);
            f->table = NULL;
        }
        if (err->status != SYMFILE_BAD) {
            return err->status;
        }
        first = first.status == SYMFILE_OK ? *err : first;
    }
    return err->status;
}

enum symfile_status symfile_open(struct symfile **out, const char *path,
                                 const struct symfile_options *opt,
                                 struct symfile_error *err)
{
    static const struct symfile_options none;
    struct symfile *f = calloc(1, sizeof(*f));
    *out = NULL;
    err->status = SYMFILE_OK;
    err->text[0] = '\0';
    if (!f || !(f->path = strdup(path))) {
        free(f);
        return fail(err, SYMFILE_NOMEM, "%s: no memory", path);
    }
    size_t n = strlen(path);
    snprintf(f->label, sizeof(f->label), "%s%s", n < sizeof(f->label) ? "" : "...",
             n < sizeof(f->label) ? path : path + n - (sizeof(f->label) - 4));
    opt = opt ? opt : &none;
    f->image = opt->image != NULL;
    int fd = f->image ? fcntl(*opt->image, F_DUPFD_CLOEXEC, 3)
                      : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum symfile_status status = map_file(f, fd, err);
    if (status == SYMFILE_OK && opt->flags & SYMFILE_HEADERS) {
        if (!symfile_read_headers(f)) {
            status = fail(err, SYMFILE_NOMEM, "%s: no memory", f->label);
        }
    } else if (status == SYMFILE_OK) {
        status = read_tables(f, fd, opt, err);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (status != SYMFILE_OK) {
        symfile_close(f);
        return status;
    }
    *out = f;
    return SYMFILE_OK;
}

int symfile_descriptor(const struct symfile *f)
{
    return f->image ? embedded_image(f->map, f->map_bytes)
                    : open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

void symfile_close(struct symfile *f)
{
    if (!f) {
        return;
    }
    if (f->map) {
        munmap(f->map, f->map_bytes);
    }
    if (f->table) {
        munmap(f->table, f->table_bytes);
    }
    free(f->segments);
    free(f->filled_in);
    free(f->path);
    free(f);
}
