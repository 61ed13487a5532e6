/* SPDX-License-Identifier: MIT */
/*
 * Dictionary and encoder; what the encoder accepts must be readable.
 * Input: u8 flags, u8 events, u16 definitions, u16 words, u16 units, u16 bytes of
 * records / 8, then definitions (u16 size, bytes), words, data, records.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "model/blockdef.h"
#include "write/encode.h"
#include "fuzz.h"
#include "base/le.h"
#include "sim.h"
#include "small.h"
#include "cannoli/mempipe.h"

#define HEAD 10
#define ADDR4 1u /* flags */
#define UNSURE 2u
#define SMALL 4u /* chunk limits, in blocks and records, from the upper bits */
#define REGS 64u /* registers of the table */
/* Input has eight kinds of events: of a machine are those with accesses and mappings. */
#define WITH_PHYS(events)                                                                \
    ((events) |                                                                          \
     (((events) & CTR_EVENTS_MEM) && ((events) & CTR_EVENTS_MAP) ? CTR_EVENTS_PHYS       \
                                                                 : 0u))

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

static int sum_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)job;
    *(volatile uint64_t *)arg += e->pc;
    return 0;
}

static int sum_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    (void)job;
    *(volatile uint64_t *)arg +=
        m->addr + (m->data ? m->data[m->size - 1] : 0) + (m->phys ? m->phys->addr : 0);
    return 0;
}

static int sum_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r)
{
    (void)job;
    *(volatile uint64_t *)arg += r->reg + r->value[r->size - 1];
    return 0;
}

static int sum_os(void *arg, struct ctr_job *job, const struct ctr_os_event *o)
{
    (void)job;
    *(volatile uint64_t *)arg += o->type + (o->size ? o->payload[o->size - 1] : 0);
    return 0;
}

/* Packs the segment, in one chunk or in as many as needed; 0, or an error. */
static int write_chunks(struct ctr_writer *w, struct ctr_encoder *enc,
                        struct ctr_segment seg, unsigned addr_bytes, int some)
{
    struct ctr_physmap *map;
    struct ctr_packed *packed;
    struct ctr_diag diag;
    unsigned taken = 0;
    int err = 0;
    if (ctr_packed_new(&packed) || ctr_physmap_new(&map, addr_bytes, 1)) {
        abort();
    }
    while (!err && !taken) {
        err = some ? ctr_encoder_run_some(enc, &seg, 1, &taken, packed, &diag)
                   : ctr_encoder_run(enc, &seg, 1, packed, &diag);
        taken = some ? taken : 1;
        if (!err && (ctr_physmap_apply(map, packed, &diag) ||
                     ctr_writer_chunk(w, 0, packed, &diag))) {
            abort();
        }
    }
    ctr_physmap_free(map);
    ctr_packed_free(packed);
    return err;
}

/* Writes what the encoder accepts and reads it back, which must succeed. */
static void write_and_read(struct ctr_dict *dict, struct ctr_encoder *enc,
                           const struct ctr_segment *seg, unsigned addr_bytes,
                           unsigned events, int some, int may_fail)
{
    static const struct ctr_replay_ops ops = {
        .exec = sum_exec, .mem = sum_mem, .reg = sum_reg, .os = sum_os};
    static uint8_t table[REGS * 5];
    const struct ctr_meta meta = {.events = events,
                                  .addr_bits = (uint8_t)(addr_bytes * 8)};
    struct ctr_writer *w;
    struct ctr_trace *tr = NULL;
    struct ctr_diag diag;
    uint32_t process, thread;
    uint64_t sum = 0;
    for (unsigned i = 0; i < REGS; i++) {
        memcpy(table + (size_t)i * 5, (const uint8_t[]){16, 0, 1, 0, 'q'}, 5);
    }
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ctr_writer_new(&w, fd, dict, &meta, 1, &diag) ||
        (events & CTR_EVENTS_REG &&
         (ctr_dict_regs(dict, REGS, table, sizeof(table), &diag) ||
          ctr_writer_regs(w, REGS, table, sizeof(table), &diag))) ||
        ctr_writer_process(w, 1, 0, 0, &process, &diag) ||
        ctr_writer_thread(w, process, 1, 0, 0, &thread, &diag)) {
        abort();
    }
    if (write_chunks(w, enc, *seg, addr_bytes, some) && !some) {
        ctr_writer_free(w);
        close(fd);
        return;
    }
    if (ctr_writer_finish(w, &diag) || ctr_open_fd(&tr, fd, 0, &diag)) {
        abort();
    }
    struct ctr_replay_opts opts = {.workers = 1, .phys = 1};
    int err = ctr_replay(tr, &ops, &sum, &opts, &diag);
    if (err && !(may_fail && err == -CTR_E_CORRUPT)) {
        fprintf(stderr, "accepted, but not readable: %s (%s)\n", diag.text, diag.field);
        abort();
    }
    ctr_close(tr);
    ctr_writer_free(w);
}

/*
 * May reading this fail?  A resumed run cannot be the first of a thread, a state must
 * have the size that the register table gives, and registers must be in the table.
 */
static int may_fail(const struct ctr_segment *seg)
{
    for (uint32_t i = 0; i < seg->n_words; i++) {
        if (CTR_WORD_KIND(seg->words[i]) == CTR_WORD_RESUME) {
            return 1;
        }
    }
    for (uint32_t at = 0; at < seg->side_bytes;) {
        const struct mempipe_side_place *p =
            (const void *)((const uint8_t *)seg->side + at);
        if (p->h.type == MEMPIPE_SIDE_STATE && p->n != REGS * 16) {
            return 1;
        }
        const uint8_t *reg = (const uint8_t *)p + sizeof(struct mempipe_side_regs);
        for (uint32_t i = 0; p->h.type == MEMPIPE_SIDE_REGS && i < p->n; i++) {
            if (le16(reg + i * MEMPIPE_REG_BYTES) >= REGS) {
                return 1;
            }
        }
        at += p->h.bytes;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in = {data, n};
    const uint8_t *h = take(&in, HEAD);
    if (!h) {
        return 0;
    }
    unsigned addr_bytes = h[0] & ADDR4 ? 4 : 8;
    unsigned events = WITH_PHYS(h[1]) | CTR_EVENTS_EXEC;
    uint32_t nwords = le16(h + 4), nunits = le16(h + 6), nside = le16(h + 8) * 8u;
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_diag diag;
    int big = 0; /* some registers are beyond the table */
    if (ctr_dict_new(&dict, events) || ctr_encoder_new(&enc, dict, addr_bytes, 1)) {
        abort();
    }
    for (unsigned i = 0; i < le16(h + 2); i++) {
        const uint8_t *size = take(&in, 2);
        const uint8_t *def = size ? take(&in, le16(size)) : NULL;
        struct blockdef d;
        if (def && ctr_dict_add(dict, i * 3 + 1, def, le16(size), &diag) == 0 &&
            blockdef_parse(&d, def, le16(size), 0, &diag) == 0) {
            big |= d.reg_end > REGS;
        }
    }
    const uint8_t *words = take(&in, (size_t)nwords * 4);
    const uint8_t *units = words ? take(&in, (size_t)nunits * addr_bytes) : NULL;
    const uint8_t *side = units ? take(&in, nside) : NULL;
    if (side) {
        /* as in the pipe: words, no free room, data */
        size_t data_end = ((size_t)nwords * 4 + (size_t)nunits * addr_bytes + 71) / 8 * 8;
        uint8_t *buffer = calloc(1, data_end);
        uint8_t *x = malloc((size_t)nside + 1);
        if (!buffer || !x) {
            abort();
        }
        memcpy(buffer, words, (size_t)nwords * 4);
        memcpy(buffer + data_end - (size_t)nunits * addr_bytes, units,
               (size_t)nunits * addr_bytes);
        memcpy(x, side, nside);
        struct ctr_segment seg = {
            .words = (const uint32_t *)buffer,
            .n_words = nwords,
            .n_units = nunits,
            .data_end = buffer + data_end,
            .side = x,
            .side_bytes = nside,
            .flags = h[0] & UNSURE ? CTR_SEGMENT_UNSURE : 0,
        };
        uint64_t extra_bytes = 0;
        if (encode_side_check(&enc->rec, &seg, &extra_bytes, &diag) == 0) {
            if (h[0] & SMALL) {
                small_chunks(enc, h[0] >> 4, 64u * (h[0] >> 6));
            }
            write_and_read(dict, enc, &seg, addr_bytes, events, h[0] & SMALL,
                           big || may_fail(&seg));
        }
        free(buffer);
        free(x);
    }
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
    static const uint8_t masks[] = {0x01, 0x03, 0x07, 0x09, 0x0b, 0x0f, 0xff};
    struct sim s;
    struct sim_thread t;
    unsigned events = masks[i % 7];
    sim_init(&s, i + 1, 4 + i, i & 1 ? 4 : 8, events,
             (SIM_ALL & ~SIM_BIG) | (WITH_PHYS(events) & CTR_EVENTS_PHYS ? SIM_PHYS : 0) |
                 (events & CTR_EVENTS_SYS ? SIM_SYSTEM : 0) | (i % 3 ? SIM_PART : 0));
    sim_thread_run(&s, &t, 20 + i);
    /* The last segment: its tail may be unsure. */
    const struct sim_segment *g = &t.seg[i % 2 ? t.n_seg - 1 : 0];
    uint32_t side = g->n_side;
    struct {
        struct mempipe_side_place place;
        uint8_t value[REGS * 16];
    } state = {{{sizeof(state), MEMPIPE_SIDE_STATE}, 0, 0, 0, sizeof(state.value)}, {0}};
    uint32_t nstate = 0;
    if (g->n_side && events & CTR_EVENTS_REG) {
        /* replaces the state, which fits another table */
        side -= ((const struct mempipe_side_record *)g->side)->bytes;
        nstate = sizeof(state);
    }
    size_t units = (size_t)g->n_units * s.addr_bytes;
    size_t bytes = HEAD;
    for (unsigned k = 0; k < s.nblock; k++) {
        bytes += 2 + s.block[k].def_bytes;
    }
    bytes += (size_t)g->n_words * 4 + units + nstate + side;
    uint8_t *out = malloc(bytes), *p = out;
    if (!out || (nstate + side) / 8 > UINT16_MAX) {
        abort();
    }
    *p++ = (uint8_t)((s.addr_bytes == 4 ? ADDR4 : 0) | (g->flags ? UNSURE : 0) |
                     (i % 5 ? SMALL : 0) | (i * 0x10));
    *p++ = (uint8_t)events;
    const uint16_t counts[4] = {(uint16_t)s.nblock, (uint16_t)g->n_words,
                                (uint16_t)g->n_units, (uint16_t)((nstate + side) / 8)};
    for (unsigned k = 0; k < 4; k++, p += 2) {
        put16(p, counts[k]);
    }
    for (unsigned k = 0; k < s.nblock; k++) {
        put16(p, (uint16_t)s.block[k].def_bytes);
        p = put(p + 2, s.block[k].def, s.block[k].def_bytes);
    }
    p = put(p, g->words, (size_t)g->n_words * 4);
    p = put(p, (const uint8_t *)g->data_end - units, units);
    p = put(p, &state, nstate);
    put(p, side ? g->side + g->n_side - side : NULL, side);
    *n = bytes;
    sim_thread_fini(&t);
    sim_fini(&s);
    return out;
}
