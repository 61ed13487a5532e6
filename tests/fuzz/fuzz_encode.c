/* SPDX-License-Identifier: MIT */
/*
 * Dictionary and encoder; what the encoder accepts must be readable.
 * Input: u8 flags, u16 definitions, u16 words, u16 addresses, u16 extras, then
 * definitions (u16 size, bytes), words, addresses, extras.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ctr_write.h"
#include "fuzz.h"
#include "le.h"
#include "sim.h"
#include "cannoli/events.h"

#define HEAD 9
#define EXTRA_BYTES 24

struct input {
    const uint8_t *p;
    size_t left;
};

static const uint8_t *take(struct input *in, size_t n)
{
    const uint8_t *p = in->p;
    if (n > in->left) {
        return NULL;
    }
    in->p += n;
    in->left -= n;
    return p;
}

static int fail_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)job;
    *(volatile uint64_t *)arg += e->pc;
    return 0;
}

static int fail_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    (void)job;
    *(volatile uint64_t *)arg += m->addr;
    return 0;
}

/* Writes the chunk and reads it back: that must work. */
static void write_and_read(const struct ctr_dict *dict, const struct ctr_packed *packed,
                           unsigned addr_bytes, unsigned events, int resumed)
{
    static const struct ctr_replay_ops ops = {.exec = fail_exec, .mem = fail_mem};
    const struct ctr_meta meta = {.events = events,
                                  .addr_bits = (uint8_t)(addr_bytes * 8)};
    struct ctr_writer *w;
    struct ctr_trace *tr;
    struct ctr_diag diag;
    uint32_t process, thread;
    uint64_t sum = 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ctr_writer_new(&w, fd, dict, &meta, 1, &diag) ||
        ctr_writer_process(w, 1, 0, 0, &process, &diag) ||
        ctr_writer_thread(w, process, 1, 0, 0, &thread, &diag) ||
        ctr_writer_chunk(w, thread, packed, &diag) || ctr_writer_finish(w, &diag) ||
        ctr_open_fd(&tr, fd, 0, &diag)) {
        abort();
    }
    struct ctr_replay_opts opts = {.workers = 1};
    int err = ctr_replay(tr, &ops, &sum, &opts, &diag);
    /* A run that goes on cannot be the first of a thread. */
    if (err && !(resumed && err == -CTR_E_CORRUPT)) {
        fprintf(stderr, "accepted, but not readable: %s (%s)\n", diag.text, diag.field);
        abort();
    }
    ctr_close(tr);
    ctr_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in = {data, n};
    const uint8_t *h = take(&in, HEAD);
    if (!h) {
        return 0;
    }
    unsigned addr_bytes = h[0] & 1 ? 4 : 8;
    unsigned events = h[0] & 2 ? CTR_EVENTS_EXEC : CTR_EVENTS_EXEC | CTR_EVENTS_MEM;
    uint32_t nwords = le16(h + 3), naddrs = le16(h + 5), nextras = le16(h + 7);
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_diag diag;
    if (ctr_dict_new(&dict, events) || ctr_encoder_new(&enc, dict, addr_bytes, 1) ||
        ctr_packed_new(&packed)) {
        abort();
    }
    for (unsigned i = 0; i < le16(h + 1); i++) {
        const uint8_t *size = take(&in, 2);
        const uint8_t *def = size ? take(&in, le16(size)) : NULL;
        if (def) {
            ctr_dict_add(dict, i * 3 + 1, def, le16(size), &diag);
        }
    }
    const uint8_t *words = take(&in, (size_t)nwords * 4);
    const uint8_t *addrs = words ? take(&in, (size_t)naddrs * addr_bytes) : NULL;
    const uint8_t *extras = addrs ? take(&in, (size_t)nextras * EXTRA_BYTES) : NULL;
    if (extras) {
        uint32_t *w = malloc((size_t)nwords * 4 + 4);
        uint8_t *a = malloc((size_t)naddrs * addr_bytes + 8);
        struct ctr_extra *x = calloc((size_t)nextras + 1, sizeof(*x));
        if (!w || !a || !x) {
            abort();
        }
        memcpy(w, words, (size_t)nwords * 4);
        memcpy(a, addrs, (size_t)naddrs * addr_bytes);
        for (uint32_t i = 0; i < nextras; i++) {
            const uint8_t *p = extras + (size_t)i * EXTRA_BYTES;
            x[i] = (struct ctr_extra){le32(p),   le32(p + 4),  le16(p + 8), p[10] & 1,
                                      p[11] & 1, le32(p + 12), le64(p + 16)};
        }
        struct ctr_segment seg = {
            .words = w,
            .n_words = nwords,
            .n_addrs = naddrs,
            .addrs_end = a + (size_t)naddrs * addr_bytes,
            .extras = x,
            .n_extras = nextras,
            .flags = h[0] & 4 ? CTR_SEGMENT_UNSURE : 0,
        };
        if (ctr_encoder_run(enc, &seg, 1, packed, &diag) == 0) {
            int resumed = 0;
            for (uint32_t i = 0; i < nwords; i++) {
                resumed |= CTR_WORD_KIND(w[i]) == CTR_WORD_RESUME;
            }
            write_and_read(dict, packed, addr_bytes, events, resumed);
        }
        free(w);
        free(a);
        free(x);
    }
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    ctr_dict_free(dict);
    return 0;
}

static uint8_t *put(uint8_t *p, const void *data, size_t n)
{
    if (n) {
        memcpy(p, data, n);
    }
    return p + n;
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    struct sim s;
    struct sim_thread t;
    unsigned events = i % 4 == 3 ? CTR_EVENTS_EXEC : CTR_EVENTS_EXEC | CTR_EVENTS_MEM;
    sim_init(&s, i + 1, 4 + i, i & 1 ? 4 : 8, events, SIM_ALL & ~SIM_BIG);
    sim_thread_run(&s, &t, 20 + i);
    /* The last segment: it may have an unsure tail. */
    const struct sim_segment *g = &t.seg[i % 2 ? t.n_seg - 1 : 0];
    size_t bytes = HEAD;
    for (unsigned k = 0; k < s.nblock; k++) {
        bytes += 2 + s.block[k].def_bytes;
    }
    bytes += (size_t)g->n_words * 4 + (size_t)g->n_addrs * s.addr_bytes +
             (size_t)g->n_extras * EXTRA_BYTES;
    uint8_t *out = malloc(bytes), *p = out;
    if (!out) {
        abort();
    }
    *p++ = (uint8_t)((s.addr_bytes == 4 ? 1 : 0) | (events == CTR_EVENTS_EXEC ? 2 : 0) |
                     (g->flags ? 4 : 0));
    const uint16_t counts[4] = {(uint16_t)s.nblock, (uint16_t)g->n_words,
                                (uint16_t)g->n_addrs, (uint16_t)g->n_extras};
    for (unsigned k = 0; k < 4; k++, p += 2) {
        put16(p, counts[k]);
    }
    for (unsigned k = 0; k < s.nblock; k++) {
        put16(p, (uint16_t)s.block[k].def_bytes);
        p = put(p + 2, s.block[k].def, s.block[k].def_bytes);
    }
    p = put(p, g->words, (size_t)g->n_words * 4);
    p = put(p, g->column, (size_t)g->n_addrs * s.addr_bytes);
    for (uint32_t k = 0; k < g->n_extras; k++, p += EXTRA_BYTES) {
        const struct ctr_extra *x = &g->extras[k];
        memset(p, 0, EXTRA_BYTES);
        put32(p, x->words);
        put32(p + 4, x->addrs);
        put16(p + 8, x->insn);
        p[10] = x->store;
        p[11] = x->big_endian;
        put32(p + 12, x->size);
        put64(p + 16, x->addr);
    }
    *n = bytes;
    sim_thread_fini(&t);
    sim_fini(&s);
    return out;
}
