/* SPDX-License-Identifier: MIT */
/* The functions of maker.h. */
#include "maker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS (1u << 20)
#define MAX_UNITS (4u << 20)
#define MAX_SIDE (32u << 20)

static void die(const char *what, int ret, const struct ctr_diag *diag)
{
    fprintf(stderr, "mktrace: %s: %s: %s\n", what, ctr_strerror(ret),
            diag ? diag->text : "");
    exit(1);
}

void check(const char *what, int ret, const struct ctr_diag *diag)
{
    if (ret < 0) {
        die(what, ret, diag);
    }
}

void maker_open(struct maker *m, const char *path, const char *target, unsigned machine,
                bool be, unsigned addr_bits, uint32_t events)
{
    static const char *const argv[] = {"qemu-test", "./app", "it's \"quoted\"", ""};
    struct ctr_diag diag = {0};
    struct ctr_meta meta = {
        .target = target,
        .qemu_version = "10.0.13",
        .recorder = "mktrace 1",
        .argc = 4,
        .argv = argv,
        .selection = m->selection,
        .dropped_insns = m->dropped * 1000,
        .dropped_loads = m->dropped * 200,
        .dropped_stores = m->dropped * 100,
        .dropped_chunks = m->dropped,
        .elf_machine = machine,
        .events = events,
        .big_endian = be,
        .addr_bits = (uint8_t)addr_bits,
        .start_realtime_ns = 1700000000000000000ull,
        .start_ns = 1000000000ull,
    };

    m->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (m->fd < 0) {
        perror(path);
        exit(1);
    }
    m->addr_bytes = addr_bits / 8;
    m->events = events;
    m->clock_ns = meta.start_ns;
    /* One piece, as in a pipe: words grow up from its start, data down from its end. */
    m->words = calloc(1, MAX_WORDS * sizeof(*m->words) + MAX_UNITS * m->addr_bytes);
    m->data = (uint8_t *)(m->words + MAX_WORDS);
    m->side = aligned_alloc(8, MAX_SIDE);
    check("dict", ctr_dict_new(&m->dict, meta.events), NULL);
    check("encoder", ctr_encoder_new(&m->enc, m->dict, m->addr_bytes, 1), NULL);
    check("packed", ctr_packed_new(&m->packed), NULL);
    check("pages", ctr_physmap_new(&m->physmap, m->addr_bytes, 1), NULL);
    check("writer", ctr_writer_new(&m->writer, m->fd, m->dict, &meta, 1, &diag), &diag);
}

void maker_close(struct maker *m, bool finish)
{
    struct ctr_diag diag = {0};

    if (finish) {
        check("finish", ctr_writer_finish(m->writer, &diag), &diag);
    }
    ctr_writer_free(m->writer);
    ctr_packed_free(m->packed);
    ctr_physmap_free(m->physmap);
    ctr_encoder_free(m->enc);
    ctr_dict_free(m->dict);
    free(m->words);
    free(m->side);
    close(m->fd);
}

uint32_t add_process(struct maker *m, int32_t pid, int32_t ppid)
{
    struct ctr_diag diag = {0};
    uint32_t index;

    check("process", ctr_writer_process(m->writer, pid, ppid, m->clock_ns, &index, &diag),
          &diag);
    return index;
}

uint32_t add_thread(struct maker *m, uint32_t process, int32_t tid, int32_t ptid)
{
    struct ctr_diag diag = {0};
    uint32_t index;

    check("thread",
          ctr_writer_thread(m->writer, process, tid, ptid, m->clock_ns, &index, &diag),
          &diag);
    return index;
}

/* --------------------------------------------------------------- segments */

void put_le(uint8_t *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
}

void put_word(struct maker *m, uint32_t word)
{
    if (m->n_words == MAX_WORDS) {
        fprintf(stderr, "mktrace: too many words\n");
        exit(1);
    }
    m->words[m->n_words++] = word;
}

/* A value of `bytes' in the data column: an address is one of a unit's width. */
void put_data(struct maker *m, const uint8_t *le, unsigned bytes)
{
    unsigned k = CTR_UNITS(bytes, m->addr_bytes);

    if (m->n_units + k > MAX_UNITS) {
        fprintf(stderr, "mktrace: too much data\n");
        exit(1);
    }
    m->n_units += k;
    memcpy(m->data + (size_t)(MAX_UNITS - m->n_units) * m->addr_bytes, le, bytes);
}

void put_addr(struct maker *m, uint64_t addr)
{
    uint8_t le[8];

    put_le(le, addr, 8);
    put_data(m, le, m->addr_bytes);
}

void put_value(struct maker *m, uint64_t v, unsigned bytes)
{
    uint8_t le[8];

    put_le(le, v, 8);
    put_data(m, le, bytes);
}

/* Room for a side record with this place in the chunk, `bytes' in total. */
void *put_side(struct maker *m, unsigned type, uint32_t n, size_t bytes)
{
    struct mempipe_side_place *p = (void *)(m->side + m->n_side);

    bytes = (bytes + 7) / 8 * 8;
    if (bytes > MAX_SIDE - m->n_side) {
        fprintf(stderr, "mktrace: too many records\n");
        exit(1);
    }
    memset(p, 0, bytes);
    p->h.bytes = (uint32_t)bytes;
    p->h.type = type;
    p->seq = m->seq;
    p->words = m->n_words;
    p->units = m->n_units;
    p->n = n;
    m->n_side += (uint32_t)bytes;
    return p;
}

/* An access made inside a helper, after everything put so far; data as they are in
 * memory, NULL: none. */
void put_extra(struct maker *m, uint16_t insn, bool store, uint32_t size, uint64_t addr,
               const void *data)
{
    uint32_t n = data ? size : 0;
    struct mempipe_side_access *a = put_side(m, MEMPIPE_SIDE_ACCESS, n, sizeof(*a) + n);

    a->insn = insn;
    a->flags = store ? MEMPIPE_ACCESS_STORE : 0;
    a->size = size;
    a->addr = addr;
    if (data) {
        memcpy(a + 1, data, n);
    }
}

/* The block just entered was left after n instructions. */
void put_left(struct maker *m, unsigned n, unsigned flags)
{
    put_word(m, CTR_WORD_LEFT | flags << 16 | n);
    put_word(m, m->n_units);
}

/* Writes what was put as one chunk of a thread. */
void flush_chunk(struct maker *m, uint32_t thread, unsigned segment_flags)
{
    struct ctr_diag diag = {0};
    struct ctr_segment seg = {
        .words = m->words,
        .n_words = m->n_words,
        .n_units = m->n_units,
        .data_end = m->data + (size_t)MAX_UNITS * m->addr_bytes,
        .side = m->side,
        .side_bytes = m->n_side,
        .flags = segment_flags,
        .start_ns = m->clock_ns,
        .end_ns = m->clock_ns + (m->span_ns ? m->span_ns : 1000000),
    };

    check("encode", ctr_encoder_run(m->enc, &seg, 1, m->packed, &diag), &diag);
    check("pages", ctr_physmap_apply(m->physmap, m->packed, &diag), &diag);
    check("write", ctr_writer_chunk(m->writer, thread, m->packed, &diag), &diag);
    m->clock_ns += 1500000;
    memset(m->words, 0, m->n_words * sizeof(*m->words));
    memset(m->data + (size_t)(MAX_UNITS - m->n_units) * m->addr_bytes, 0,
           (size_t)m->n_units * m->addr_bytes);
    m->n_words = m->n_units = m->n_side = 0;
    m->seq++;
}

/* ----------------------------------------------------------------- blocks */

void block_insn(struct block *b, const void *bytes, unsigned len)
{
    unsigned at = 0;

    for (unsigned i = 0; i < b->ninsn; i++) {
        at += b->len[i];
    }
    memcpy(b->code + at, bytes, len);
    b->len[b->ninsn++] = (uint8_t)len;
}

/* An access of the most recently added instruction. */
void block_slot(struct block *b, unsigned group, unsigned access)
{
    b->slot[b->nslot++] = (struct slot){.insn = (uint16_t)(b->ninsn - 1),
                                        .group = (uint16_t)group,
                                        .access = (uint8_t)access};
    b->ngroup = group > b->ngroup ? group : b->ngroup;
}

void add_block(struct maker *m, const struct block *b)
{
    struct ctr_diag diag = {0};
    uint8_t def[CTR_BLOCKDEF_FIXED + 64 + 64 * 16 + 256 * CTR_BLOCKDEF_SLOT + 64 * 8 + 4 +
                8 * CTR_BLOCKDEF_TAG] = {0};
    uint8_t *p = def + CTR_BLOCKDEF_FIXED;
    unsigned code = 0;

    for (unsigned i = 0; i < b->ninsn; i++) {
        code += b->len[i];
    }
    put_le(def + CTR_BLOCKDEF_PC, b->pc, 8);
    put_le(def + CTR_BLOCKDEF_NINSN, b->ninsn, 2);
    put_le(def + CTR_BLOCKDEF_NSLOT, b->nslot, 2);
    put_le(def + CTR_BLOCKDEF_NGROUP, b->ngroup, 2);
    def[CTR_BLOCKDEF_MODE] = (uint8_t)b->mode;
    put_le(def + CTR_BLOCKDEF_CODELEN, code, 4);
    memcpy(p, b->len, b->ninsn);
    p += b->ninsn;
    memcpy(p, b->code, code);
    p += code;
    for (unsigned i = 0; i < b->nslot; i++, p += CTR_BLOCKDEF_SLOT) {
        put_le(p, b->slot[i].insn, 2);
        put_le(p + 2, b->slot[i].group, 2);
        p[4] = b->slot[i].access;
    }
    def[CTR_BLOCKDEF_FLAGS] =
        (uint8_t)((b->part ? CTR_BLOCK_PART | CTR_BLOCK_HAS_PCS : 0u) |
                  (b->ntag ? CTR_BLOCK_HAS_TAGS : 0u));
    for (unsigned i = 0; b->part && i < b->ninsn; i++, p += 8) {
        put_le(p, b->at[i], 8);
    }
    if (b->ntag) {
        put_le(p, b->ntag, 4);
        p += 4;
    }
    for (unsigned i = 0; i < b->ntag; i++, p += CTR_BLOCKDEF_TAG) {
        put_le(p, b->tag[i].insn, 2);
        put_le(p + 2, b->tag[i].library, 2);
        put_le(p + 4, b->tag[i].tag, 8);
    }
    check("block", ctr_dict_add(m->dict, b->id, def, (size_t)(p - def), &diag), &diag);
}

void block_reg(struct block *b, unsigned reg, unsigned size)
{
    block_slot(b, 0, CTR_ACCESS_REG | (unsigned)__builtin_ctz(size));
    b->slot[b->nslot - 1].group = (uint16_t)reg;
}

/* --------------------------------------------------- registers and events */

void add_register(struct maker *m, uint8_t *table, size_t *at, const char *name,
                  unsigned size, unsigned flags)
{
    size_t len = strlen(name);
    uint8_t *p = table + *at;

    p[0] = (uint8_t)size;
    p[1] = (uint8_t)flags;
    p[2] = (uint8_t)len;
    p[3] = 0;
    memcpy(p + 4, name, len);
    *at += 4 + len;
    m->reg_size[m->n_regs] = size;
    m->reg_off[m->n_regs++] = m->state_bytes;
    m->state_bytes += size;
}

void write_registers(struct maker *m, const uint8_t *table, size_t bytes)
{
    struct ctr_diag diag = {0};

    check("registers", ctr_dict_regs(m->dict, m->n_regs, table, bytes, &diag), &diag);
    check("registers", ctr_writer_regs(m->writer, m->n_regs, table, bytes, &diag), &diag);
}

void put_state(struct maker *m)
{
    struct mempipe_side_place *p =
        put_side(m, MEMPIPE_SIDE_STATE, m->state_bytes, sizeof(*p) + m->state_bytes);

    memcpy(p + 1, m->state, m->state_bytes);
}

void put_register(struct maker *m, uint32_t insn, unsigned reg, const uint8_t *le)
{
    struct mempipe_side_regs *r =
        put_side(m, MEMPIPE_SIDE_REGS, 1, sizeof(*r) + MEMPIPE_REG_BYTES);
    uint8_t *p = (uint8_t *)(r + 1);

    r->insn = insn;
    put_le(p, reg, 2);
    memcpy(p + 4, le, m->reg_size[reg]);
}

void put_event(struct maker *m, unsigned type, uint64_t time_ns, const void *payload,
               size_t n)
{
    struct mempipe_side_event *e =
        put_side(m, MEMPIPE_SIDE_EVENT, (uint32_t)n, sizeof(*e) + n);

    e->type = type;
    e->time_ns = time_ns;
    memcpy(e + 1, payload, n);
}

void add(struct payload *o, uint64_t v, unsigned bytes)
{
    put_le(o->p + o->n, v, bytes);
    o->n += bytes;
}

static void add_bytes(struct payload *o, const char *s, size_t n)
{
    add(o, n, 2);
    memcpy(o->p + o->n, s, n);
    o->n += n;
}

void add_string(struct payload *o, const char *s)
{
    add_bytes(o, s, strlen(s));
}

uint64_t tick(struct maker *m)
{
    return m->clock_ns += 1000;
}

/* Without the arguments. */
static struct payload thread_payload(unsigned op, int32_t pid, int32_t tid, int32_t ppid,
                                     int32_t ptid, unsigned reason, int32_t status,
                                     const char *name)
{
    struct payload o = {.n = 0};

    add(&o, op, 4);
    add(&o, (uint32_t)pid, 4);
    add(&o, (uint32_t)tid, 4);
    add(&o, (uint32_t)ppid, 4);
    add(&o, (uint32_t)ptid, 4);
    add(&o, reason, 4);
    add(&o, (uint32_t)status, 4);
    add_string(&o, name);
    return o;
}

void thread_event(struct maker *m, unsigned op, int32_t pid, int32_t tid, int32_t ppid,
                  int32_t ptid, unsigned reason, int32_t status, const char *name)
{
    const struct payload o =
        thread_payload(op, pid, tid, ppid, ptid, reason, status, name);

    put_event(m, CTR_EVENT_THREAD, tick(m), o.p, o.n);
}

void program_event(struct maker *m, unsigned op, int32_t pid, int32_t ppid,
                   const char *name, const char *args, size_t n, unsigned argc)
{
    struct payload o = thread_payload(op, pid, pid, ppid, 0, 0, (int32_t)argc, name);

    add_bytes(&o, args, n);
    put_event(m, CTR_EVENT_THREAD, tick(m), o.p, o.n);
}

void return_event(struct maker *m, uint64_t pc, uint32_t from, uint32_t to)
{
    struct payload o = {.n = 0};

    add(&o, pc, 8);
    add(&o, from, 4);
    add(&o, to, 4);
    put_event(m, CTR_EVENT_INTRET, tick(m), o.p, o.n);
}

void power_event(struct maker *m, uint32_t op)
{
    struct payload o = {.n = 0};

    add(&o, op, 4);
    add(&o, 0, 4);
    put_event(m, CTR_EVENT_POWER, tick(m), o.p, o.n);
}
