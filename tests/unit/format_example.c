/* SPDX-License-Identifier: MIT */
/*
 * Writes the smallest trace that shows every kind of section and prints it as
 * FORMAT.md shows it: `format_example' prints, `format_example FORMAT.md' checks
 * that the document holds exactly that text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "ctr_write.h"
#include "cannoli/mempipe.h"

/*
 * Two Thumb instructions: a load of 4 bytes into register 0, which is recorded too, and a
 * store in group 1.
 */
static const uint8_t def1[] = {
    0x00, 0x10, 0,    0,    0,    0, 0, 0, /* pc 0x1000 */
    0,    0,    0,    0,    0,    0, 0, 0, /* cs_base */
    0,    0,    0,    0,    0,    0, 0, 0, /* tb_flags */
    0,    0,    0,    0,                   /* cflags */
    2,    0,    3,    0,    1,    0,       /* 2 instructions, 3 slots, 1 group */
    1,    0,    4,    0,    0,    0,       /* mode, flags, 4 bytes of code */
    2,    2,                               /* lengths */
    0x08, 0x68, 0x08, 0x60,                /* ldr r0,[r1]; str r0,[r1] */
    0,    0,    0,    0,    0x02, 0,       /* slot: insn 0, always, load 4 */
    0,    0,    0,    0,    0x42, 0,       /* slot: insn 0, register 0, 4 bytes */
    1,    0,    1,    0,    0x12, 0,       /* slot: insn 1, group 1, store 4 */
};

/* Two registers of 4 bytes. */
static const uint8_t regs[] = {4, 0, 2, 0, 'r', '0', 4, 0, 2, 0, 'r', '1'};

/* Records of the pipe that belong to the chunk. */
static const struct {
    struct mempipe_side_place state;
    uint8_t values[8];
    struct mempipe_side_access access;
    uint8_t data[8];
    struct mempipe_side_event event;
    uint8_t pc[8];
    struct mempipe_side_regs outside;
    uint8_t change[24];
} side = {
    .state = {.h = {32, MEMPIPE_SIDE_STATE}, .n = 8},
    .values = {5, 0, 0, 0, 0, 0x20, 0, 0},
    .access = {.p = {.h = {48, MEMPIPE_SIDE_ACCESS}, .words = 2, .units = 5, .n = 8},
               .insn = 1,
               .flags = MEMPIPE_ACCESS_STORE,
               .size = 8,
               .addr = 0x3000},
    .data = {1, 2, 3, 4, 5, 6, 7, 8},
    .event = {.p = {.h = {48, MEMPIPE_SIDE_EVENT}, .words = 6, .units = 5, .n = 8},
              .type = CTR_EVENT_SIGRETURN,
              .time_ns = 1150},
    .pc = {0x00, 0x10},
    .outside = {.p = {.h = {56, MEMPIPE_SIDE_REGS}, .words = 6, .units = 5, .n = 1},
                .insn = MEMPIPE_OUTSIDE},
    .change = {1, 0, 0, 0, 0x04, 0x20},
};

static void fail(const char *what, const struct ctr_diag *diag)
{
    fprintf(stderr, "format_example: %s: %s\n", what, diag->text);
    exit(1);
}

static int make(void)
{
    static const char *const argv[] = {"qemu-arm", "./app"};
    const struct ctr_meta meta = {
        .target = "arm",
        .qemu_version = "10.0.13",
        .recorder = "example",
        .argc = 2,
        .argv = argv,
        .elf_machine = 40,
        .events =
            CTR_EVENTS_ALL & ~(CTR_EVENTS_MACHINE | CTR_EVENTS_KEY | CTR_EVENTS_INPUT),
        .addr_bits = 32,
        .start_realtime_ns = 1700000000000000000ull,
        .start_ns = 1000,
    };
    /* Block 7 runs whole with its store, then its load faults. */
    static const uint32_t words[] = {7, 0x80000001, 7, 0xd0000001, 5, 0xe0000000};
    /* backwards: address, value; register; address, value */
    static const uint32_t column[5] = {42, 0x2000, 42, 42, 0x2000};
    const struct ctr_segment seg = {
        .words = words,
        .n_words = 6,
        .n_units = 5,
        .data_end = column + 5,
        .side = &side,
        .side_bytes = sizeof(side),
        .start_ns = 1100,
        .end_ns = 1200,
    };
    struct ctr_dict *dict = NULL;
    struct ctr_encoder *enc = NULL;
    struct ctr_packed *packed = NULL;
    struct ctr_writer *w = NULL;
    struct ctr_diag diag = {.text = "out of memory"};
    uint32_t process, thread;
    int fd = memfd_create("example", MFD_CLOEXEC);
    if (fd < 0 || ctr_dict_new(&dict, meta.events) || ctr_encoder_new(&enc, dict, 4, 1) ||
        ctr_packed_new(&packed) || ctr_dict_add(dict, 7, def1, sizeof(def1), &diag) ||
        ctr_dict_regs(dict, 2, regs, sizeof(regs), &diag) ||
        ctr_encoder_run(enc, &seg, 1, packed, &diag) ||
        ctr_writer_new(&w, fd, dict, &meta, 1, &diag) ||
        ctr_writer_regs(w, 2, regs, sizeof(regs), &diag) ||
        ctr_writer_process(w, 42, 41, 1050, &process, &diag) ||
        ctr_writer_thread(w, process, 42, 0, 1050, &thread, &diag) ||
        ctr_writer_chunk(w, thread, packed, &diag) ||
        ctr_writer_thread_end(w, thread, 1300, CTR_END_SIGNAL, 11, 0) ||
        ctr_writer_process_end(w, process, 1300, CTR_END_SIGNAL, 11) ||
        ctr_writer_finish(w, &diag)) {
        fail("cannot write", &diag);
    }
    ctr_writer_free(w);
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    ctr_dict_free(dict);
    return fd;
}

static void dump(FILE *out, const uint8_t *p, size_t n, size_t off)
{
    for (size_t i = 0; i < n; i += 16) {
        fprintf(out, "%06zx ", off + i);
        for (size_t k = i; k < i + 16 && k < n; k++) {
            fprintf(out, " %02x", p[k]);
        }
        fputc('\n', out);
    }
}

static void print(FILE *out, const uint8_t *p, size_t n)
{
    static const char *const names[] = {"?",     "META", "PROCESS", "THREAD", "DICT",
                                        "CHUNK", "PART", "ROOT",    "END",    "REGS"};
    for (size_t at = 0; at < n;) {
        size_t size = ZSTD_findFrameCompressedSize(p + at, n - at);
        if (ZSTD_isError(size)) {
            fprintf(stderr, "format_example: no frame at %zu\n", at);
            exit(1);
        }
        if (p[at] == 0x5c && memcmp(p + at + 8, "SECT", 4) == 0) {
            fprintf(out, "-- section header: %s\n", names[p[at + 12] & 15]);
        } else if (p[at] == 0x5c) {
            fprintf(out, "-- file header\n");
        } else if (p[at] == 0x5e) {
            fprintf(out, "-- seek table\n");
        } else {
            uint8_t raw[4096];
            size_t got = ZSTD_decompress(raw, sizeof(raw), p + at, size);
            if (ZSTD_isError(got)) {
                fprintf(stderr, "format_example: bad frame at %zu\n", at);
                exit(1);
            }
            fprintf(out, "-- zstd frame of %zu bytes at %06zx, decompressed:\n", size,
                    at);
            dump(out, raw, got, 0);
            at += size;
            continue;
        }
        dump(out, p + at, size, at);
        at += size;
    }
}

int main(int argc, char **argv)
{
    uint8_t file[8192];
    char *text = NULL;
    size_t len = 0;
    int fd = make();
    ssize_t n = pread(fd, file, sizeof(file), 0);
    FILE *out = open_memstream(&text, &len);
    if (n <= 0 || !out) {
        perror("format_example");
        return 1;
    }
    print(out, file, (size_t)n);
    fclose(out);
    if (argc < 2) {
        fputs(text, stdout);
        return 0;
    }
    if (ZSTD_versionNumber() != 10504) {
        printf("skipped: the example was made with zstd 1.5.4\n");
        return 77;
    }
    FILE *md = fopen(argv[1], "r");
    static char doc[1 << 20];
    size_t got = md ? fread(doc, 1, sizeof(doc) - 1, md) : 0;
    doc[got] = 0;
    if (!strstr(doc, text)) {
        fprintf(stderr,
                "format_example: the example in %s differs from what is written\n",
                argv[1]);
        return 1;
    }
    fclose(md);
    free(text);
    close(fd);
    return 0;
}
