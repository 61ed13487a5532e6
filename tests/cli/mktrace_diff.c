/* SPDX-License-Identifier: MIT */
/*
 * `mktrace diff SEED WHAT A B': two recordings of one random program, for tracediff.  They
 * have other addresses, process ids, cuts of blocks and of chunks; and the second one has the
 * planted difference WHAT; with "copy-" before WHAT only this, with "reg-" they have registers,
 * too.  Prints where: WHAT, ordinals of a and of b, and how many instructions are only in a and
 * only in b.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"

#define BLOCKS 48u
#define STEPS 1500u
#define COPY_STEPS 12000u /* of what must be long enough to be skipped */
#define MARGIN 60u        /* steps at both ends without the difference */
#define LOAD4 2u
#define STORE4 (2u | CTR_ACCESS_STORE)
#define REGISTERS 4u

enum region { DATA, HEAP, STACK, MAPPED, NOWHERE, REGIONS };

/* A place in memory, or, of a value, a pointer to it. */
struct where {
    enum region region;
    uint32_t off;
};

enum value_kind { NUMBER, POINTER, OWN_ID };

struct act {
    struct where at;
    enum value_kind kind;
    uint32_t number;
    struct where to;
};

struct step {
    unsigned block;
    bool call; /* a system call before it */
    bool cut;  /* of a copy, a chunk ends after it */
    uint32_t result, data;
    struct act act[6]; /* of its instructions */
    struct act reg[6]; /* what they write into registers: `at' is not used */
};

struct model {
    unsigned ninsn[BLOCKS];
    uint32_t off[BLOCKS]; /* in the file */
    unsigned slot[BLOCKS][6];
    unsigned reg[BLOCKS][6]; /* the register that is written + 1, 0: none */
    bool registers;
    struct step step[COPY_STEPS + 1];
    unsigned n;
};

/* What is different in each recording. */
struct shape {
    uint32_t module, base[REGIONS];
    int32_t pid;
    unsigned split[BLOCKS]; /* instructions of the first of two definitions, 0: one */
    uint32_t id[BLOCKS][2];
};

static uint64_t state;

/* xorshift64* */
static uint32_t below(uint32_t n)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545f4914f6cdd1dull) >> 33) % n;
}

/* --------------------------------------------------------------------- model */

static struct where random_where(void)
{
    return (struct where){(enum region)below(REGIONS), 4 * below(1000)};
}

static void random_step(struct step *s)
{
    *s = (struct step){.block = below(BLOCKS), .call = !below(30), .cut = !below(200)};
    s->result = below(100);
    s->data = below(1u << 30);
    for (unsigned i = 0; i < 6; i++) {
        s->act[i] = (struct act){random_where(), (enum value_kind)below(3),
                                 below(1u << 20), random_where()};
        s->act[i].to.region = (enum region)below(NOWHERE); /* a pointer is to something */
    }
}

/* Few numbers, so that many writes change nothing. */
static void random_registers(struct step *s)
{
    for (unsigned i = 0; i < 6; i++) {
        s->reg[i] = (struct act){.kind = below(4) ? NUMBER : POINTER,
                                 .number = below(5),
                                 .to = {(enum region)below(NOWHERE), 4 * below(3)}};
    }
}

static void add_registers(struct model *m)
{
    m->registers = true;
    for (unsigned i = 0; i < BLOCKS; i++) {
        for (unsigned k = 0; k < 6; k++) {
            m->reg[i][k] = below(2) ? 1 + below(REGISTERS) : 0;
        }
    }
    for (unsigned i = 0; i < m->n; i++) {
        random_registers(&m->step[i]);
    }
}

static void make_model(struct model *m, unsigned steps)
{
    uint32_t off = 0x1000;

    for (unsigned i = 0; i < BLOCKS; i++) {
        m->ninsn[i] = 1 + below(6);
        m->off[i] = off;
        off += 4 * (m->ninsn[i] + below(3));
        for (unsigned k = 0; k < 6; k++) {
            m->slot[i][k] = below(3) ? 0 : below(2) ? LOAD4 : STORE4;
        }
    }
    m->n = steps;
    for (unsigned i = 0; i < m->n; i++) {
        random_step(&m->step[i]);
    }
}

static uint64_t ordinal_of(const struct model *m, unsigned step)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < step; i++) {
        n += m->ninsn[m->step[i].block];
    }
    return n;
}

/* ------------------------------------------------------------------- writing */

static void make_shape(struct shape *s, const struct model *m)
{
    uint32_t next = 1, order[BLOCKS];

    s->module = 0x10000 + 0x1000 * below(64);
    s->base[DATA] = s->module + 0x10000;
    s->base[HEAP] = s->module + 0x40000 + 0x1000 * below(100);
    s->base[MAPPED] = 0x40000000 + 0x1000 * below(1000);
    s->base[STACK] = 0x60000000 + 0x1000 * below(1000);
    s->base[NOWHERE] = 0x90000000;
    s->pid = 1000 + (int32_t)below(20000);
    for (unsigned i = 0; i < BLOCKS; i++) {
        order[i] = i;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        const unsigned k = i + below(BLOCKS - i), block = order[k];
        order[k] = order[i];
        s->split[block] =
            m->ninsn[block] > 1 && below(2) ? 1 + below(m->ninsn[block] - 1) : 0;
        s->id[block][0] = next++;
        if (s->split[block]) {
            s->id[block][1] = next++;
        }
    }
}

/* Instructions from..to-1 of a block as a definition. */
static void define(struct maker *k, const struct model *m, const struct shape *s,
                   unsigned block, unsigned from, unsigned to, uint32_t id)
{
    struct block b = {.id = id, .pc = s->module + m->off[block] + 4 * from};

    for (unsigned i = from; i < to; i++) {
        uint8_t code[4];
        put_le(code, 0xe2800000u | block << 12 | i, 4); /* add */
        block_insn(&b, code, 4);
        if (m->slot[block][i]) {
            block_slot(&b, 0, m->slot[block][i]);
        }
        if (m->reg[block][i]) {
            block_reg(&b, m->reg[block][i] - 1, 4);
        }
    }
    add_block(k, &b);
}

static int by_id(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void define_all(struct maker *k, const struct model *m, const struct shape *s)
{
    uint32_t part[2 * BLOCKS][2]; /* id, block */
    unsigned n = 0;

    for (unsigned i = 0; i < BLOCKS; i++) {
        for (unsigned p = 0; p < (s->split[i] ? 2u : 1u); p++) {
            part[n][0] = s->id[i][p];
            part[n++][1] = 2 * i + p;
        }
    }
    qsort(part, n, sizeof(part[0]), by_id);
    for (unsigned i = 0; i < n; i++) {
        const unsigned block = part[i][1] / 2, split = s->split[block];
        if (part[i][1] % 2) {
            define(k, m, s, block, split, m->ninsn[block], part[i][0]);
        } else {
            define(k, m, s, block, 0, split ? split : m->ninsn[block], part[i][0]);
        }
    }
}

static uint64_t address(const struct shape *s, struct where w)
{
    return s->base[w.region] + w.off;
}

static uint64_t number_of(const struct shape *s, const struct act *a)
{
    return a->kind == NUMBER    ? a->number
           : a->kind == POINTER ? address(s, a->to)
                                : (uint32_t)s->pid;
}

static void put_insns(struct maker *k, const struct model *m, const struct shape *s,
                      const struct step *step, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        const struct act *a = &step->act[i];
        if (m->slot[step->block][i]) {
            put_addr(k, address(s, a->at));
            put_value(k, number_of(s, a), 4);
        }
        if (m->reg[step->block][i]) {
            uint8_t *v = k->state + k->reg_off[m->reg[step->block][i] - 1];
            put_le(v, number_of(s, &step->reg[i]), 4);
            put_data(k, v, 4);
        }
    }
}

static void put_step(struct maker *k, const struct model *m, const struct shape *s,
                     const struct step *step)
{
    const unsigned split = s->split[step->block], n = m->ninsn[step->block];
    const uint32_t buffer = s->base[HEAP] + 64;
    const struct call c = {"read", 3, {3, buffer, 4}};
    uint8_t data[4];

    if (step->call) {
        put_le(data, step->data, 4);
        enter(k, &c);
        memory(k, buffer, data, 4, 4, CTR_USERMEM_WRITE);
        leave(k, &c, step->result);
    }
    put_word(k, s->id[step->block][0]);
    put_insns(k, m, s, step, 0, split ? split : n);
    if (split) {
        put_word(k, s->id[step->block][1]);
        put_insns(k, m, s, step, split, n);
    }
}

static void map_all(struct maker *k, const struct shape *s)
{
    mapping(k, CTR_MAP_INITIAL, 5, 2, s->module, 0x10000, 0, "/bin/app");
    mapping(k, CTR_MAP_INITIAL, 3, 2, s->base[DATA], 0x2000, 0x10000, "/bin/app");
    mapping(k, CTR_MAP_INITIAL, 3, 0x22, s->base[STACK], 0x8000, 0, "[stack]");
    mapping(k, CTR_MAP_BRK, 3, 0x22, s->base[HEAP], 0x4000, 0, "");
    mapping(k, CTR_MAP_MMAP, 3, 0x22, s->base[MAPPED], 0x4000, 0, "");
}

static void make_registers(struct maker *k)
{
    uint8_t table[REGISTERS * 16];
    char name[4];
    size_t n = 0;

    for (unsigned i = 0; i < REGISTERS; i++) {
        snprintf(name, sizeof(name), "r%u", i);
        add_register(k, table, &n, name, 4, 0);
    }
    write_registers(k, table, n);
}

static void begin_chunk(struct maker *k, const struct model *m)
{
    if (m->registers) {
        put_state(k);
    }
}

static void write_trace(const char *path, const struct model *m, unsigned threads,
                        const struct shape *shape, bool copy)
{
    struct shape s = *shape;
    struct maker k = {0};
    uint32_t process, thread[8];

    maker_open(&k, path, "arm", EM_ARM, false, 32,
               PROGRAM_EVENTS & (m->registers ? ~0u : ~CTR_EVENTS_REG));
    if (m->registers) {
        make_registers(&k);
    }
    define_all(&k, m, &s);
    process = add_process(&k, s.pid, s.pid - 1);
    for (unsigned t = 0; t < threads; t++) {
        const unsigned n = t ? 20 : m->n;
        thread[t] = add_thread(&k, process, s.pid + (int32_t)t, t ? s.pid : 0);
        memset(k.state, 0, sizeof(k.state));
        begin_chunk(&k, m);
        if (!t) {
            map_all(&k, &s);
        }
        for (unsigned i = 0; i < n; i++) {
            put_step(&k, m, &s, &m->step[i]);
            if (copy ? m->step[i].cut : !below(200)) {
                flush_chunk(&k, thread[t], 0);
                begin_chunk(&k, m);
            }
        }
        flush_chunk(&k, thread[t], 0);
    }
    maker_close(&k, true);
}

/* ------------------------------------------------------------------- planting */

/* A step with an access, and the instruction of the first. */
static unsigned find_access(const struct model *m, unsigned *insn)
{
    for (;;) {
        const unsigned r = MARGIN + below(m->n - 2 * MARGIN);
        for (unsigned i = 0; i < m->ninsn[m->step[r].block]; i++) {
            if (m->slot[m->step[r].block][i]) {
                *insn = i;
                return r;
            }
        }
    }
}

static void insert(struct model *m, unsigned r, struct step s)
{
    memmove(&m->step[r + 1], &m->step[r], (m->n - r) * sizeof(m->step[0]));
    m->step[r] = s;
    m->n++;
}

/* The last write to the same register before; NULL: there is none. */
static const struct act *write_before(const struct model *m, unsigned r, unsigned insn)
{
    const unsigned reg = m->reg[m->step[r].block][insn];

    for (r++; r-- > 0;) {
        for (; insn-- > 0;) {
            if (m->reg[m->step[r].block][insn] == reg) {
                return &m->step[r].reg[insn];
            }
        }
        insn = r ? m->ninsn[m->step[r - 1].block] : 0;
    }
    return NULL;
}

/* A step that writes a register, and the instruction of the first that loads nothing: what a
 * load of an id leads to is not compared. */
static unsigned find_write(const struct model *m, unsigned *insn)
{
    for (;;) {
        const unsigned r = MARGIN + below(m->n - 2 * MARGIN);
        for (unsigned i = 0; i < m->ninsn[m->step[r].block]; i++) {
            if (m->reg[m->step[r].block][i] && m->slot[m->step[r].block][i] != LOAD4) {
                *insn = i;
                return r;
            }
        }
    }
}

/* Another number in a register, or with `kept' the one that it has. */
static unsigned plant_register(struct model *b, unsigned *insn, bool kept)
{
    for (;;) {
        const unsigned r = find_write(b, insn);
        const struct act *before = write_before(b, r, *insn);
        struct act *a = &b->step[r].reg[*insn];

        if (!kept) {
            *a = (struct act){a->at, NUMBER, 1 + (1u << 20) + below(1000), a->to};
            return r;
        }
        if (before && before->kind == NUMBER && a->kind == NUMBER &&
            before->number != a->number) {
            a->number = before->number;
            return r;
        }
    }
}

/* Changes the model of b and prints what to find. */
static void plant(const char *what, struct model *b, unsigned *threads)
{
    unsigned insn = 0, r;
    uint64_t at, only_a = 0, only_b = 0;

    do {
        r = MARGIN + below(b->n - 2 * MARGIN);
    } while (b->step[r].call); /* else it comes first */

    if (!strcmp(what, "value") || !strcmp(what, "address")) {
        struct act *a;
        r = find_access(b, &insn);
        a = &b->step[r].act[insn];
        if (*what == 'v') {
            *a = (struct act){a->at, NUMBER, 1 + (1u << 20) + below(1000), a->to};
        } else {
            a->at.off += 4000 + 4 * below(4);
        }
    } else if (!strcmp(what, "register") || !strcmp(what, "kept")) {
        r = plant_register(b, &insn, *what == 'k');
    } else if (!strcmp(what, "inserted")) {
        struct step s;
        do {
            random_step(&s);
        } while (s.block == b->step[r].block);
        s.call = s.cut = false;
        only_b = b->ninsn[s.block];
        insert(b, r, s);
    } else if (!strcmp(what, "result") || !strcmp(what, "memory")) {
        while (!b->step[r].call) {
            r = MARGIN + below(b->n - 2 * MARGIN);
        }
        b->step[r].result += *what == 'r';
        b->step[r].data ^= *what == 'm' ? 1u << below(30) : 0;
    } else if (!strcmp(what, "end")) {
        only_a = ordinal_of(b, b->n);
        b->n = r;
        only_a -= ordinal_of(b, r);
    } else if (!strcmp(what, "thread")) {
        *threads += 1;
    }
    at = ordinal_of(b, r) + insn;
    printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", what, at, only_a, only_b);
}

void make_diff(char **argv)
{
    static struct model a, b;
    static const char prefix[] = "copy-", regs[] = "reg-";
    const bool registers = !strncmp(argv[1], regs, sizeof(regs) - 1);
    const bool copy = !strncmp(argv[1], prefix, sizeof(prefix) - 1);
    struct shape shape = {.module = 0};
    unsigned threads = 2, more = 2;

    state = 0x9e3779b97f4a7c15ull * (strtoull(argv[0], NULL, 10) + 1);
    make_model(&a, copy ? COPY_STEPS : STEPS);
    if (registers) {
        add_registers(&a);
    }
    b = a;
    plant(argv[1] + (copy        ? sizeof(prefix) - 1
                     : registers ? sizeof(regs) - 1
                                 : 0),
          &b, &more);
    make_shape(&shape, &a);
    write_trace(argv[2], &a, threads, &shape, copy);
    if (!copy) {
        make_shape(&shape, &b);
    }
    write_trace(argv[3], &b, more, &shape, copy);
}
