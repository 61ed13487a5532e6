/* SPDX-License-Identifier: MIT */
/*
 * The register table and the column of events, before compression, in a trace
 * that has nothing else; with the maps that result from the events.
 * Input: u32 bytes of the table, entries, events, flags, runs, instructions; the
 * table; the column.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "siderec.h"
#include "ctr_write.h"
#include "model/evcol.h"
#include "fuzz.h"
#include "base/le.h"
#include "random.h"
#include "model/regtable.h"
#include "write/writer.h"
#include "cannoli/events.h"

#define INPUT_HEAD 24u

static void write_sections(struct ctr_writer *w, const uint8_t *data, size_t n)
{
    uint32_t table = le32(data);
    size_t left = n - INPUT_HEAD;
    table = table < left ? table : (uint32_t)left;
    struct buf raw = {0};
    struct out_frame f[CHUNK_FRAMES] = {{0}};
    uint8_t body[CHUNK_BODY] = {0};
    if (buf_append(&raw, data + INPUT_HEAD, table) ||
        writer_compress(w, &raw, 0, &f[0], NULL)) {
        abort();
    }
    /* A readable table has a state of the size that it gives. */
    struct regtable t;
    put32(body + REGS_COUNT, le32(data + 4));
    if (regtable_parse(&t, le32(data + 4), raw.p, raw.n, 0, NULL) == 0) {
        put32(body + REGS_STATE, t.state_bytes);
        regtable_fini(&t);
    }
    if (table &&
        writer_section(w, SECT_REGS, SECT_REQUIRED, body, REGS_BODY, f, 1, NULL)) {
        abort();
    }
    memset(body, 0, sizeof(body));
    memset(f, 0, sizeof(f));
    raw.n = 0;
    if (buf_append(&raw, data + INPUT_HEAD + table, left - table) ||
        writer_compress(w, &raw, FRAME_EVENTS, &f[FRAME_EVENTS], NULL)) {
        abort();
    }
    put32(body + CHUNK_EVENTS, le32(data + 8));
    put32(body + CHUNK_FLAGS, le32(data + 12));
    put32(body + CHUNK_RUNS, le32(data + 16));
    put32(body + CHUNK_INSNS, le32(data + 20));
    if (writer_section(w, SECT_CHUNK, SECT_REQUIRED, body, CHUNK_BODY, f, CHUNK_FRAMES,
                       NULL)) {
        abort();
    }
    buf_free(&raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct ctr_meta meta = {
        .target = "arm", .elf_machine = 40, .events = CTR_EVENTS_ALL, .addr_bits = 32};
    struct ctr_dict *dict;
    struct ctr_writer *w;
    uint32_t index;
    if (n < INPUT_HEAD) {
        return 0;
    }
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ctr_dict_new(&dict, meta.events) ||
        ctr_writer_new(&w, fd, dict, &meta, 1, NULL) ||
        ctr_writer_process(w, 1, 0, 0, &index, NULL) ||
        ctr_writer_thread(w, 0, 1, 0, 0, &index, NULL)) {
        abort();
    }
    write_sections(w, data, n);
    struct ctr_writer_stats stats;
    ctr_writer_stats(w, &stats);
    uint8_t *file = malloc(stats.bytes);
    if (!file || pread(fd, file, stats.bytes, 0) != (ssize_t)stats.bytes) {
        abort();
    }
    fuzz_read(file, stats.bytes, 0);
    fuzz_read(file, stats.bytes, CTR_OPEN_STREAM);
    free(file);
    ctr_writer_free(w);
    ctr_dict_free(dict);
    close(fd);
    return 0;
}

/* ---------------------------------------------------------------------- seeds */

static void random_event(uint64_t *rng, struct evenc *e, unsigned i)
{
    static const char *const names[] = {"", "/lib/a.so", "[heap]", "/bin/b"};
    struct payload p = {.n = 0};
    uint32_t type = CTR_EVENT_MAP;
    uint64_t page = 0x1000;
    switch (random_below(rng, 21)) {
    case 0:
        type = i % 2 ? CTR_EVENT_SYSRET : CTR_EVENT_SYSCALL;
        payload_syscall(&p, random_below(rng, 4), random_below(rng, 9), 8, "read");
        break;
    case 1:
        type = CTR_EVENT_THREAD;
        if (i % 2) {
            payload_program(&p, i % 4 == 1 ? CTR_THREAD_START : CTR_THREAD_EXEC, 1,
                            "name", "a\0b c\0", 6, 2);
        } else {
            payload_thread(&p, 1 + random_below(rng, 4), 1, 1, "name");
        }
        break;
    case 2:
        type = CTR_EVENT_USERMEM;
        put_u64(&p, 0x4000);
        put_u64(&p, 8);
        put_u32(&p, 1);
        put_u32(&p, 4);
        put_u32(&p, random_below(rng, 3));
        break;
    case 3:
        type = CTR_EVENT_SIGRETURN;
        put_u64(&p, 0x1000);
        break;
    case 4:
        type = CTR_EVENT_MARK;
        put_u32(&p, 1 + random_below(rng, 2));
        put_u32(&p, random_below(rng, 3));
        put_u64(&p, random_below(rng, 100));
        put_u64(&p, page);
        put_str(&p, "text", 4);
        break;
    case 5:
        type = CTR_EVENT_GATE;
        put_u32(&p, random_below(rng, 2));
        put_u32(&p, 1 + random_below(rng, 6));
        break;
    case 6:
        type = CTR_EVENT_LABEL;
        put_u32(&p, 1 + random_below(rng, 2));
        put_u32(&p, 0);
        put_u64(&p, page * random_below(rng, 9));
        put_u64(&p, 64);
        put_str(&p, "type", random_below(rng, 5));
        put_str(&p, "name", 4);
        break;
    case 7:
        type = CTR_EVENT_SELECT;
        put_u32(&p, random_below(rng, 9));
        put_u32(&p, 0);
        put_str(&p, "a.so,x=1\nb.so", random_below(rng, 14));
        break;
    case 8:
        type = CTR_EVENT_INTERRUPT;
        put_u32(&p, random_below(rng, 0x200));
        put_u32(&p, random_below(rng, 40));
        for (unsigned k = 0; k < 4; k++) {
            put_u64(&p, page * random_below(rng, 9));
        }
        put_u32(&p, random_below(rng, CTR_PRIVILEGES));
        put_u32(&p, random_below(rng, CTR_PRIVILEGES));
        break;
    case 9:
        type = CTR_EVENT_INTRET;
        put_u64(&p, page);
        put_u32(&p, random_below(rng, CTR_PRIVILEGES));
        put_u32(&p, random_below(rng, CTR_PRIVILEGES));
        break;
    case 12:
        type = CTR_EVENT_POWER;
        put_u32(&p, 1 + random_below(rng, CTR_POWER_SAVED));
        put_u32(&p, 0);
        break;
    case 13:
        type = CTR_EVENT_RAM;
        put_u32(&p, i % 2 ? CTR_RAM_BYTES : 1 + random_below(rng, CTR_RAM_ANEW));
        put_u32(&p, random_below(rng, le32(p.p) == CTR_RAM_MAP ? CTR_RAM_ROM + 1 : 256));
        put_u64(&p, page);
        for (unsigned k = 0; k < 3; k++) {
            put_u64(&p, page * random_below(rng, 9));
        }
        put_str(&p, "pc.ram", random_below(rng, 7));
        put_u32(&p, i % 2 ? 4 : 0);
        if (i % 2) {
            put_u32(&p, random_below(rng, 3));
        }
        break;
    case 14:
        type = CTR_EVENT_DMA;
        put_u32(&p, 1 + random_below(rng, CTR_DMA_HOST));
        put_u32(&p, 0);
        put_u64(&p, 4);
        put_u64(&p, page * random_below(rng, 9));
        put_str(&p, "ide-hd", random_below(rng, 7));
        put_u32(&p, i % 2 ? 4 : 0);
        if (i % 2) {
            put_u32(&p, random_below(rng, 3));
        }
        break;
    case 15:
        type = CTR_EVENT_IO;
        put_u32(&p, random_below(rng, 8));
        put_u32(&p, 1 + random_below(rng, 8));
        for (unsigned k = 0; k < 3; k++) {
            put_u64(&p, page * random_below(rng, 9));
        }
        put_str(&p, "serial", random_below(rng, 7));
        put_str(&p, "isa-serial", random_below(rng, 11));
        break;
    case 16:
        type = CTR_EVENT_TASK;
        put_u32(&p, random_below(rng, 9));
        put_u32(&p, random_below(rng, 9));
        put_u64(&p, page);
        put_str(&p, "kworker/0:0", random_below(rng, 12));
        break;
    case 17:
        type = CTR_EVENT_AREA;
        put_u32(&p, random_below(rng, 9));
        put_u32(&p, random_below(rng, 3));
        if (le32(p.p + 4) == CTR_AREA_ANEW) {
            page = 0;
        }
        put_u64(&p, page);
        put_u64(&p, page ? page + 4096 * (1 + random_below(rng, 9)) : 0);
        put_u64(&p, page * random_below(rng, 9));
        put_str(&p, "/lib/libc.so.6", page ? random_below(rng, 15) : 0);
        break;
    case 19:
        type = CTR_EVENT_INPUT;
        put_u32(&p, 1 + random_below(rng, CTR_INPUT_CLOCK));
        put_u32(&p, le32(p.p) == CTR_INPUT_SEED ? 8 : 8 * random_below(rng, 4));
        for (unsigned k = le32(p.p + 4); k; k -= 8) {
            put_u64(&p, page);
        }
        break;
    case 18:
        type = CTR_EVENT_KEYFRAME;
        put_u64(&p, CTR_KEYFRAME_BYTES * (uint64_t)random_below(rng, 9));
        put_u32(&p, CTR_KEYFRAME_BYTES);
        for (unsigned k = 0; k < CTR_KEYFRAME_BYTES; k++) {
            p.p[p.n++] = (uint8_t)random_below(rng, 3);
        }
        break;
    case 11:
        type = CTR_EVENT_SLICE;
        put_u64(&p, random_below(rng, 99));
        break;
    case 10:
        type = CTR_EVENT_CONTEXT;
        put_u64(&p, page * random_below(rng, 9));
        put_u64(&p, random_below(rng, 9));
        put_u64(&p, random_below(rng, 9));
        break;
    default:
        payload_map(&p, 1 + random_below(rng, CTR_MAP_DISCARD), random_below(rng, 8),
                    random_below(rng, 3), page * random_below(rng, 30),
                    page * random_below(rng, 10), page * random_below(rng, 4),
                    names[random_below(rng, 4)]);
        put64(p.p + 40, page * random_below(rng, 30));
        put64(p.p + 48, page * random_below(rng, 10));
    }
    if (evenc_add(e, i, i * 5, type, i % 5 ? 1000 + i * 3 : 0, p.p, p.n, NULL)) {
        abort();
    }
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    static const uint8_t table[] = {4, 0, 2,   0,   'r', '0', 16, 2, 1,   0,   'v', 8,
                                    0, 1, 0,   'v', 4,   1,   2,  0, 'N', 'F', 4,   1,
                                    2, 0, 'Z', 'F', 4,   1,   2,  0, 'C', 'F'};
    uint64_t rng = i * 977 + 13;
    struct evenc e;
    struct buf column = {0};
    memset(&e, 0, sizeof(e));
    unsigned events = 5 + i * 4;
    for (unsigned k = 0; k < events; k++) {
        random_event(&rng, &e, k);
    }
    uint32_t regs = i % 2 ? sizeof(table) : 0;
    if (evenc_pack(&e, &column)) {
        abort();
    }
    *n = INPUT_HEAD + regs + column.n;
    uint8_t *out = malloc(*n);
    if (!out) {
        abort();
    }
    put32(out, regs);
    put32(out + 4, 6);
    put32(out + 8, e.count);
    put32(out + 12, e.flags);
    put32(out + 16, events);
    put32(out + 20, events * 5);
    if (regs) {
        memcpy(out + INPUT_HEAD, table, regs);
    }
    memcpy(out + INPUT_HEAD + regs, column.p, column.n);
    buf_free(&column);
    evenc_fini(&e);
    return out;
}
