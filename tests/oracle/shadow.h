/* SPDX-License-Identifier: MIT */
/*
 * A guest's memory as a trace describes it: mapped ranges, and those of their pages
 * that were accessed.  Unknown bytes (of the vdso) become known when the trace first
 * contains them.
 */
#ifndef ORACLE_SHADOW_H
#define ORACLE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHADOW_PAGE 4096u

enum shadow_content {
    SHADOW_ZERO,
    SHADOW_FILE,
    SHADOW_UNKNOWN,
};

struct shadow_range {
    uint64_t start, end; /* end: exclusive */
    uint64_t offset;     /* SHADOW_FILE: of start in the file */
    uint64_t zero_from;  /* bytes from this address on are 0 */
    enum shadow_content content;
    int fd; /* SHADOW_FILE */
};

struct shadow_page {
    uint64_t number; /* address / SHADOW_PAGE */
    uint8_t data[SHADOW_PAGE];
    uint8_t known[SHADOW_PAGE]; /* 1: known */
};

struct shadow {
    struct shadow_range *ranges; /* ascending, do not overlap */
    size_t nranges, ranges_room;
    struct shadow_page **pages; /* hash table */
    size_t npages, pages_room;
    struct {
        char *path;
        int fd;
    } *files;
    size_t nfiles;
};

/* Ends the program if there is not enough memory. */
void shadow_map(struct shadow *s, const struct shadow_range *r);
void shadow_unmap(struct shadow *s, uint64_t start, uint64_t end);
/* As madvise(2), MADV_DONTNEED: the mapping has its original contents again. */
void shadow_forget(struct shadow *s, uint64_t start, uint64_t end);
/* As mremap(2): the known bytes of [from, from + old) move to [to, to + size). */
void shadow_move(struct shadow *s, uint64_t from, uint64_t old, uint64_t to,
                 uint64_t size);

/* The byte at addr, or NULL if nothing is mapped there. */
uint8_t *shadow_byte(struct shadow *s, uint64_t addr, uint8_t **known);

/* A descriptor of a file, -1 if it cannot be read.  Each file is opened once. */
int shadow_file(struct shadow *s, const char *path, size_t n);

/*
 * Where QEMU's ELF loader put zeros after a segment's last byte of the file: the
 * address in a mapping of it, or UINT64_MAX.
 */
uint64_t shadow_elf_zeros(int fd, uint64_t start, uint64_t size, uint64_t offset);

#endif
