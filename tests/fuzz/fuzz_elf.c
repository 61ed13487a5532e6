/* SPDX-License-Identifier: MIT */
/*
 * symfile_open on damaged ELF and DWARF, and all queries on the files that it accepts.
 * The reading child may die; this process must stay correct, and a diagnostic must be one
 * sentence.  Seeds are the files of CANNOLI_ELF_CORPUS (elf_corpus.sh).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fuzz.h"
#include "fuzz_symbols.h"

/* The input is a mutation by the driver; symfile_open refuses it soon if it is no ELF. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const dirs[] = {"/nonexistent"};
    struct symfile_options opt = {.flags = SYMFILE_LINES | SYMFILE_NAMES | SYMFILE_DATA |
                                           SYMFILE_TYPES | SYMFILE_LOCALS |
                                           SYMFILE_FRAMES,
                                  .debug_dirs = dirs,
                                  .nr_debug_dirs = 1,
                                  .seconds = 2};
    struct symfile_error err;
    struct symfile *f;
    char path[64];
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n) {
        abort();
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    enum symfile_status status = symfile_open(&f, path, &opt, &err);
    CHECK(status == err.status);
    CHECK((status == SYMFILE_OK) == (f != NULL));
    CHECK(status == SYMFILE_OK || err.text[0]);
    CHECK(memchr(err.text, 0, sizeof(err.text)));
    CHECK(!err.text[0] || strncmp(err.text, path, strlen(path)) == 0);
    for (const char *c = err.text; *c; c++) {
        CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
    }
    if (f) {
        fuzz_query(f);
        symfile_close(f);
    }
    opt.flags = SYMFILE_HEADERS; /* this process reads them itself */
    if (symfile_open(&f, path, &opt, &err) == SYMFILE_OK) {
        fuzz_query(f);
        symfile_close(f);
    }
    close(fd);
    return 0;
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    const char *dir = getenv("CANNOLI_ELF_CORPUS");
    char path[4096];
    snprintf(path, sizeof(path), "%s/%u.elf", dir ? dir : ".", 10 + i);
    uint8_t *p = fuzz_read_file(path, n);
    if (!p) {
        snprintf(path, sizeof(path), "%s/10.elf", dir ? dir : ".");
        p = fuzz_read_file(path, n);
    }
    if (!p) {
        fprintf(stderr, "no seeds: set CANNOLI_ELF_CORPUS (elf_corpus.sh)\n");
        exit(77);
    }
    return p;
}
