/* SPDX-License-Identifier: MIT */
/*
 * Files of a trace that unpack to far more bytes than they take there are not unpacked: they
 * cost a reader no memory.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctr_write.h"
#include "input/embedded.h"

#include "check.h"
#include "maker.h"

#define PIECES 513u /* of 4 MiB: more than 2 GiB */

static void embed(struct ctr_writer *w, const char *path, uint32_t number,
                  uint32_t pieces)
{
    static const uint8_t zeros[CTR_EMBED_BYTES];

    for (uint32_t i = 0; i < pieces; i++) {
        const struct ctr_embed e = {.path = path,
                                    .dev = 7,
                                    .inode = number,
                                    .size = (uint64_t)pieces * CTR_EMBED_BYTES,
                                    .offset = (uint64_t)i * CTR_EMBED_BYTES,
                                    .bytes = zeros,
                                    .n = sizeof(zeros),
                                    .number = number};
        CHECK(!ctr_writer_embed(w, &e, NULL), "%s, piece %u", path, i);
    }
}

/* A trace that has a file of 8 MiB and one of 2 GiB, or of its begin (cut). */
static struct ctr_trace *make(const char *path, bool cut)
{
    struct maker m = {0};
    struct block b = {.id = 1, .pc = 0x1000};
    struct ctr_trace *tr;
    struct ctr_diag diag;
    struct stat st;

    maker_open(&m, path, "arm", EM_ARM, false, 32, CTR_EVENTS_EXEC);
    block_insn(&b, "\x00\x00\xa0\xe1", 4);
    add_block(&m, &b);
    const uint32_t thread = add_thread(&m, add_process(&m, 1, 0), 1, 0);
    put_word(&m, 1);
    flush_chunk(&m, thread, 0);
    embed(m.writer, "/small", 0, 2);
    embed(m.writer, "/large", 1, cut ? 1 : PIECES);
    if (!cut) {
        ctr_writer_embeds_checked(m.writer);
    }
    maker_close(&m, !cut);
    check(path, ctr_open(&tr, path, 0, &diag), &diag);
    CHECK(!stat(path, &st) && st.st_size < 1 << 20, "the trace is large");
    unlink(path);
    return tr;
}

static struct ctr_mapping mapped(const char *path, uint64_t inode)
{
    return (struct ctr_mapping){
        .path = path, .dev = 7, .inode = inode, .start = 0x10000, .end = 1 << 30};
}

static void test_limit(void)
{
    struct ctr_trace *tr = make("embedded-unit.ctr", false);
    struct embedded *e = embedded_new(tr);
    const struct ctr_file *small = embedded_find(e, "/small", 7, 0);
    const struct ctr_file *large = embedded_find(e, "/large", 7, 1);
    const struct ctr_mapping m = mapped("/large", 1);
    struct ctr_diag diag;
    struct rusage usage;
    size_t n;
    int fd;

    CHECK(small && large && large->bytes == large->size, "the files are not there");
    fd = embedded_open(e, small);
    CHECK(fd >= 0 && lseek(fd, 0, SEEK_END) == 2 * CTR_EMBED_BYTES, "the small file");
    close(fd);
    CHECK(embedded_error(e, &diag) == 0, "an error of the small file");
    CHECK(embedded_open(e, large) < 0, "the large file is unpacked");
    CHECK(embedded_error(e, &diag) == -CTR_E_LIMIT && strstr(diag.text, "2 GiB"),
          "no error: %s", diag.text);
    CHECK(embedded_bytes(e, &m, 0x20000, &n) && n, "no part of the large file");
    getrusage(RUSAGE_SELF, &usage);
    CHECK(usage.ru_maxrss < 512 << 10, "%ld KiB of memory", usage.ru_maxrss);
    embedded_free(e);
    ctr_close(tr);
}

/* Of a recording without an end: what is in the file may have been changed since. */
static void test_cut(void)
{
    struct ctr_trace *tr = make("embedded-unit.ctr", true);
    struct embedded *e = embedded_new(tr);
    struct ctr_mapping m = mapped("/small", 0);
    const struct ctr_file *small = embedded_find(e, "/small", 7, 0);
    size_t n;

    CHECK(small && !small->changed && !small->checked, "the file is not there");
    CHECK(!embedded_bytes(e, &m, 0x20000, &n), "bytes that nothing confirms");
    CHECK(embedded_changed(e, &m), "a file without a build id counts as unchanged");
    m.build_id = (const uint8_t *)"id";
    m.build_id_bytes = 2;
    CHECK(!embedded_changed(e, &m), "a file with a build id counts as changed");
    embedded_free(e);
    ctr_close(tr);
}

int main(void)
{
    test_limit();
    test_cut();
    return failures != 0;
}
