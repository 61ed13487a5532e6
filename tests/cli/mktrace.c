/* SPDX-License-Identifier: MIT */
/*
 * mktrace: makes the traces that the tests of the tools read, so that they
 * need neither QEMU nor binary files that nobody can make again.
 *
 *   mktrace sample FILE             a small arm trace, the same every time
 *   mktrace killed FILE             the same; its second process was killed
 *   mktrace unfinished FILE         the same, without an end
 *   mktrace target NAME FILE        three instructions of QEMU target NAME
 *   mktrace random SEED CHUNKS RUNS FILE EXPECT
 *       chunks of about RUNS blocks each, of four threads, with everything
 *       that the words of cannoli/events.h can tell.  EXPECT gets the events
 *       as `tracedump --json --no-disas' must show them: written by the code
 *       that invents them, with printf, and not by reading anything back.
 *       EXPECT.cut gets tid and ordinal of each instruction whose accesses are
 *       divided between two chunks.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cannoli/events.h"
#include "ctr_write.h"

#define MAX_WORDS (1u << 20)
#define MAX_EXTRAS (1u << 14)

/* A trace being made: the writer's objects, and the segment being filled. */
struct maker {
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_writer *writer;
    int fd;
    unsigned addr_bytes;
    uint32_t *words;
    uint8_t *addrs; /* MAX_WORDS * addr_bytes, filled from its end */
    struct ctr_extra *extras;
    uint32_t n_words, n_addrs, n_extras;
    uint64_t clock_ns;
    FILE *expect, *cuts;
};

static void die(const char *what, int ret, const struct ctr_diag *diag)
{
    fprintf(stderr, "mktrace: %s: %s: %s\n", what, ctr_strerror(ret),
            diag ? diag->text : "");
    exit(1);
}

static void check(const char *what, int ret, const struct ctr_diag *diag)
{
    if (ret < 0) {
        die(what, ret, diag);
    }
}

static void maker_open(struct maker *m, const char *path, const char *target,
                       unsigned machine, bool be, unsigned addr_bits)
{
    static const char *const argv[] = {"qemu-test", "./app", "it's \"quoted\"", ""};
    struct ctr_diag diag = {0};
    struct ctr_meta meta = {
        .target = target,
        .qemu_version = "10.0.13",
        .recorder = "mktrace 1",
        .argc = 4,
        .argv = argv,
        .elf_machine = machine,
        .events = CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
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
    m->clock_ns = meta.start_ns;
    m->words = calloc(MAX_WORDS, sizeof(*m->words));
    m->addrs = calloc(MAX_WORDS, m->addr_bytes);
    m->extras = calloc(MAX_EXTRAS, sizeof(*m->extras));
    check("dict", ctr_dict_new(&m->dict, meta.events), NULL);
    check("encoder", ctr_encoder_new(&m->enc, m->dict, m->addr_bytes, 1), NULL);
    check("packed", ctr_packed_new(&m->packed), NULL);
    check("writer", ctr_writer_new(&m->writer, m->fd, m->dict, &meta, 1, &diag), &diag);
}

static void maker_close(struct maker *m, bool finish)
{
    struct ctr_diag diag = {0};

    if (finish) {
        check("finish", ctr_writer_finish(m->writer, &diag), &diag);
    }
    ctr_writer_free(m->writer);
    ctr_packed_free(m->packed);
    ctr_encoder_free(m->enc);
    ctr_dict_free(m->dict);
    free(m->words);
    free(m->addrs);
    free(m->extras);
    close(m->fd);
}

static uint32_t add_process(struct maker *m, int32_t pid, int32_t ppid)
{
    struct ctr_diag diag = {0};
    uint32_t index;

    check("process", ctr_writer_process(m->writer, pid, ppid, m->clock_ns, &index, &diag),
          &diag);
    return index;
}

static uint32_t add_thread(struct maker *m, uint32_t process, int32_t tid, int32_t ptid)
{
    struct ctr_diag diag = {0};
    uint32_t index;

    check("thread",
          ctr_writer_thread(m->writer, process, tid, ptid, m->clock_ns, &index, &diag),
          &diag);
    return index;
}

/* --------------------------------------------------------------- segments */

static void put_word(struct maker *m, uint32_t word)
{
    if (m->n_words == MAX_WORDS) {
        fprintf(stderr, "mktrace: too many words\n");
        exit(1);
    }
    m->words[m->n_words++] = word;
}

static void put_addr(struct maker *m, uint64_t addr)
{
    uint8_t *at;

    if (m->n_addrs == MAX_WORDS) {
        fprintf(stderr, "mktrace: too many addresses\n");
        exit(1);
    }
    m->n_addrs++;
    at = m->addrs + (size_t)(MAX_WORDS - m->n_addrs) * m->addr_bytes;
    if (m->addr_bytes == 4) {
        uint32_t a = (uint32_t)addr;
        memcpy(at, &a, 4);
    } else {
        memcpy(at, &addr, 8);
    }
}

/* An access made inside a helper, after all that was put so far. */
static void put_extra(struct maker *m, uint16_t insn, bool store, uint32_t size,
                      uint64_t addr)
{
    if (m->n_extras == MAX_EXTRAS) {
        fprintf(stderr, "mktrace: too many accesses in helpers\n");
        exit(1);
    }
    m->extras[m->n_extras++] = (struct ctr_extra){.words = m->n_words,
                                                  .addrs = m->n_addrs,
                                                  .insn = insn,
                                                  .store = store,
                                                  .size = size,
                                                  .addr = addr};
}

/* The block just entered was left after n instructions. */
static void put_left(struct maker *m, unsigned n, unsigned flags)
{
    put_word(m, CTR_WORD_LEFT | flags << 16 | n);
    put_word(m, m->n_addrs);
}

/* Writes what was put as one chunk of a thread. */
static void flush_chunk(struct maker *m, uint32_t thread, unsigned segment_flags)
{
    struct ctr_diag diag = {0};
    struct ctr_segment seg = {
        .words = m->words,
        .n_words = m->n_words,
        .n_addrs = m->n_addrs,
        .addrs_end = m->addrs + (size_t)MAX_WORDS * m->addr_bytes,
        .extras = m->extras,
        .n_extras = m->n_extras,
        .flags = segment_flags,
        .start_ns = m->clock_ns,
        .end_ns = m->clock_ns + 1000000,
    };

    check("encode", ctr_encoder_run(m->enc, &seg, 1, m->packed, &diag), &diag);
    check("write", ctr_writer_chunk(m->writer, thread, m->packed, &diag), &diag);
    m->clock_ns += 1500000;
    m->n_words = m->n_addrs = m->n_extras = 0;
}

/* ----------------------------------------------------------------- blocks */

struct slot {
    uint16_t insn, group;
    uint8_t access;
};

struct block {
    uint32_t id;
    uint64_t pc;
    unsigned ninsn, nslot, ngroup, mode;
    uint8_t len[64];
    uint8_t code[64 * 16];
    struct slot slot[256];
};

static void block_insn(struct block *b, const void *bytes, unsigned len)
{
    unsigned at = 0;

    for (unsigned i = 0; i < b->ninsn; i++) {
        at += b->len[i];
    }
    memcpy(b->code + at, bytes, len);
    b->len[b->ninsn++] = (uint8_t)len;
}

/* An access of the instruction added last. */
static void block_slot(struct block *b, unsigned group, unsigned access)
{
    b->slot[b->nslot++] = (struct slot){.insn = (uint16_t)(b->ninsn - 1),
                                        .group = (uint16_t)group,
                                        .access = (uint8_t)access};
    b->ngroup = group > b->ngroup ? group : b->ngroup;
}

static void put_le(uint8_t *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        p[i] = (uint8_t)(v >> (8 * i));
    }
}

static void add_block(struct maker *m, const struct block *b)
{
    struct ctr_diag diag = {0};
    uint8_t def[CTR_BLOCKDEF_FIXED + 64 + 64 * 16 + 256 * CTR_BLOCKDEF_SLOT] = {0};
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
    check("block", ctr_dict_add(m->dict, b->id, def, (size_t)(p - def), &diag), &diag);
}

/* ----------------------------------------------------------- fixed traces */

#define LOAD4 2u
#define STORE4 (2u | CTR_ACCESS_STORE)

static void make_sample(const char *path, bool killed, bool finish)
{
    struct maker m = {0};
    struct block head = {.id = 7, .pc = 0x10400}, loop = {.id = 9, .pc = 0x10410},
                 thumb = {.id = 4, .pc = 0x20000, .mode = CTR_MODE_THUMB};
    uint32_t p1, p2, t1, t2, t3;

    maker_open(&m, path, "arm", EM_ARM, false, 32);
    block_insn(&head, "\x10\x40\x2d\xe9", 4); /* push {r4, lr} */
    block_slot(&head, 0, STORE4);
    block_slot(&head, 0, STORE4);
    block_insn(&head, "\x00\x40\xa0\xe1", 4); /* mov r4, r0 */
    block_insn(&head, "\x00\x00\x50\xe3", 4); /* cmp r0, #0 */
    block_insn(&head, "\x0a\x00\x00\x0a", 4); /* beq */
    block_insn(&loop, "\x04\x30\x90\x04", 4); /* ldreq r3, [r0], #4 */
    block_slot(&loop, 1, LOAD4);
    block_insn(&loop, "\x00\x30\x84\xe5", 4); /* str r3, [r4] */
    block_slot(&loop, 0, STORE4);
    block_insn(&loop, "\xfc\xff\xff\x1a", 4); /* bne */
    block_insn(&thumb, "\x10\xb5", 2);        /* push {r4, lr} */
    block_slot(&thumb, 0, STORE4);
    block_slot(&thumb, 0, STORE4);
    block_insn(&thumb, "\x00\xf0\x02\xf8", 4); /* bl */
    block_insn(&thumb, "\xff\xde", 2);         /* udf */
    add_block(&m, &head);
    add_block(&m, &loop);
    add_block(&m, &thumb);

    p1 = add_process(&m, 4242, 4000);
    t1 = add_thread(&m, p1, 4242, 0);
    put_word(&m, head.id);
    put_addr(&m, 0x407ff9a8);
    put_addr(&m, 0x407ff9ac);
    for (unsigned i = 0; i < 3; i++) {
        put_word(&m, loop.id);
        if (i != 1) { /* the predicated load is not made in the second round */
            put_word(&m, CTR_WORD_GROUP | 1);
            put_addr(&m, 0x21000 + 4 * i);
        }
        put_addr(&m, 0x22000);
    }
    put_word(&m, loop.id); /* the store faults, is repeated, and goes through */
    put_left(&m, 2, CTR_LEFT_FAULTED);
    put_word(&m, loop.id);
    put_addr(&m, 0x22000);
    flush_chunk(&m, t1, 0);

    t2 = add_thread(&m, p1, 4243, 4242);
    put_word(&m, thumb.id);
    put_addr(&m, 0x40900ff8);
    put_addr(&m, 0x40900ffc);
    put_extra(&m, 1, true, 300, 0x40000000); /* a helper of QEMU stores 300 bytes */
    put_left(&m, 2, 0);
    flush_chunk(&m, t2, 0);

    p2 = add_process(&m, 5000, 4242);
    t3 = add_thread(&m, p2, 5000, 0);
    put_word(&m, head.id);
    put_addr(&m, 0x407ff998);
    put_addr(&m, 0x407ff99c);
    flush_chunk(&m, t3, killed ? CTR_SEGMENT_UNSURE : 0);

    put_word(&m, head.id);
    put_addr(&m, 0x407ff998);
    put_addr(&m, 0x407ff99c);
    flush_chunk(&m, t1, 0);

    ctr_writer_thread_end(m.writer, t1, m.clock_ns, CTR_END_GROUP, 3, 0);
    ctr_writer_thread_end(m.writer, t2, m.clock_ns, CTR_END_EXIT, 0, 0);
    ctr_writer_thread_end(m.writer, t3, m.clock_ns,
                          killed ? CTR_END_KILLED : CTR_END_SIGNAL, killed ? 9 : 11,
                          killed);
    ctr_writer_process_end(m.writer, p1, m.clock_ns, CTR_END_GROUP, 3);
    ctr_writer_process_end(m.writer, p2, m.clock_ns,
                           killed ? CTR_END_KILLED : CTR_END_SIGNAL, killed ? 9 : 11);
    maker_close(&m, finish);
}

/* One block of each target: what its tools would disassemble. */
struct target {
    const char *name;
    unsigned machine;
    bool be;
    unsigned addr_bits, mode, len[3];
    const char *code;
};

/* clang-format off */
static const struct target targets[] = {
    {"arm", EM_ARM, false, 32, 0, {4, 4, 4},
     "\x10\x40\x2d\xe9\x00\x40\xa0\xe1\x1e\xff\x2f\xe1"},
    {"armeb", EM_ARM, true, 32, 0, {4, 4, 4},
     "\xe9\x2d\x40\x10\xe1\xa0\x40\x00\xe1\x2f\xff\x1e"},
    {"aarch64", EM_AARCH64, false, 64, 0, {4, 4, 4},
     "\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\xc0\x03\x5f\xd6"},
    {"mips", EM_MIPS, true, 32, 0, {4, 4, 4},
     "\x27\xbd\xff\xe0\x03\xe0\x00\x08\x00\x00\x00\x00"},
    {"mipsel", EM_MIPS, false, 32, 0, {4, 4, 4},
     "\xe0\xff\xbd\x27\x08\x00\xe0\x03\x00\x00\x00\x00"},
    {"mips64", EM_MIPS, true, 64, 0, {4, 4, 4},
     "\x67\xbd\xff\xe0\x03\xe0\x00\x08\x00\x00\x00\x00"},
    {"riscv64", EM_RISCV, false, 64, 0, {2, 4, 2},
     "\x41\x11\x13\x05\x10\x00\x82\x80"},
    {"x86_64", EM_X86_64, false, 64, CTR_MODE_X86_64, {1, 3, 10},
     "\x55\x48\x89\xe5\x48\xb8\x88\x77\x66\x55\x44\x33\x22\x11"},
    {"i386", EM_386, false, 32, CTR_MODE_X86_32, {1, 2, 2},
     "\x55\x89\xe5\xf3\xa4"},
    {"s390x", EM_S390, true, 64, 0, {6, 4, 2},
     "\xeb\x6f\xf0\x30\x00\x24\xa7\xfb\xff\x60\x07\xfe"},
    {"ppc", EM_PPC, true, 32, 0, {4, 4, 4},
     "\x7c\x08\x02\xa6\x94\x21\xff\xf0\x4e\x80\x00\x20"},
    {"ppc64le", EM_PPC64, false, 64, 0, {4, 4, 4},
     "\xa6\x02\x08\x7c\xe1\xff\x21\xf8\x20\x00\x80\x4e"},
    {"sparc64", EM_SPARCV9, true, 64, 0, {4, 4, 4},
     "\x9d\xe3\xbf\x50\x81\xc7\xe0\x08\x01\x00\x00\x00"},
    {"m68k", EM_68K, true, 32, 0, {4, 2, 2},
     "\x4e\x56\xff\xfc\x4e\x5e\x4e\x75"},
    {"hppa", EM_PARISC, true, 32, 0, {4, 4, 4},
     "\x08\x00\x02\x40\xe8\x40\xc0\x02\x34\x1c\x00\x00"},
};
/* clang-format on */

static void make_target(const char *name, const char *path)
{
    const struct target *t = NULL;
    struct maker m = {0};
    struct block b = {.id = 1, .pc = 0x10000};
    const char *code;
    uint32_t thread;

    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
        if (!strcmp(targets[i].name, name)) {
            t = &targets[i];
        }
    }
    if (!t) {
        fprintf(stderr, "mktrace: no target %s\n", name);
        exit(2);
    }
    maker_open(&m, path, t->name, t->machine, t->be, t->addr_bits);
    b.mode = t->mode;
    code = t->code;
    for (unsigned i = 0; i < 3; i++) {
        block_insn(&b, code, t->len[i]);
        code += t->len[i];
    }
    block_slot(&b, 0, 3u | CTR_ACCESS_STORE | (t->be ? CTR_ACCESS_BE : 0));
    add_block(&m, &b);
    thread = add_thread(&m, add_process(&m, 1, 0), 1, 0);
    put_word(&m, b.id);
    put_addr(&m, t->addr_bits == 64 ? 0xffffff8000001000ull : 0xfffff000ull);
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}

/* ---------------------------------------------------------- random traces */

#define NR_BLOCKS 300
#define NR_THREADS 4

static uint64_t rng_state;

/* splitmix64 */
static uint64_t rng(void)
{
    uint64_t z = (rng_state += 0x9e3779b97f4a7c15ull);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static unsigned below(unsigned n)
{
    return (unsigned)(rng() % n);
}

/* A guest thread and where it stands. */
struct walker {
    uint32_t thread;
    int32_t pid, tid;
    uint64_t ordinal; /* of its next instruction */
    /* cut inside the loop of an instruction: goes on in its next chunk */
    const struct block *cut;
    unsigned cut_insn, cut_rounds;
};

static void random_block(struct block *b, uint32_t id)
{
    static const char *const insns[] = {"\x10\x40\x2d\xe9", "\x00\x40\xa0\xe1",
                                        "\x04\x30\x90\x04", "\x00\x30\x84\xe5",
                                        "\xfc\xff\xff\x1a", "\x00\x00\x50\xe3"};
    unsigned n = 1 + below(below(4) ? 8 : 40);

    *b = (struct block){.id = id, .pc = 0x10000 + 4 * (uint64_t)below(1u << 20)};
    for (unsigned i = 0; i < n; i++) {
        block_insn(b, insns[below(6)], 4);
        if (below(3)) {
            continue;
        }
        for (unsigned k = below(3); k; k--) {
            block_slot(b, 0, below(5) | (below(2) ? CTR_ACCESS_STORE : 0));
        }
        if (!below(3)) {
            unsigned group = b->ngroup + 1;
            block_slot(b, group, below(5));
            if (below(2)) {
                block_slot(b, group, below(5) | CTR_ACCESS_STORE);
            }
        }
        if (!below(4)) {
            block_slot(b, 0, below(5));
        }
    }
}

static uint64_t pc_of(const struct block *b, unsigned insn)
{
    return b->pc + 4 * insn;
}

static void tell_exec(const struct maker *m, const struct walker *w,
                      const struct block *b, unsigned insn, bool faulted)
{
    const uint8_t *c = b->code + 4 * insn;

    fprintf(m->expect,
            "{\"kind\":\"exec\",\"ordinal\":%" PRIu64
            ",\"pid\":%d,\"tid\":%d,\"pc\":\"0x%" PRIx64
            "\",\"bytes\":\"%02x%02x%02x%02x\"%s}\n",
            w->ordinal, w->pid, w->tid, pc_of(b, insn), c[0], c[1], c[2], c[3],
            faulted ? ",\"faulted\":true" : "");
}

static void tell_access(const struct maker *m, const struct walker *w,
                        const struct block *b, unsigned insn, bool store, uint64_t addr,
                        unsigned size)
{
    fprintf(m->expect,
            "{\"kind\":\"%s\",\"ordinal\":%" PRIu64
            ",\"pid\":%d,\"tid\":%d,\"pc\":\"0x%" PRIx64 "\",\"addr\":\"0x%" PRIx64
            "\",\"size\":%u}\n",
            store ? "store" : "load", w->ordinal, w->pid, w->tid, pc_of(b, insn), addr,
            size);
}

/* Makes the access of slot s. */
static void do_slot(struct maker *m, const struct walker *w, const struct block *b,
                    unsigned s)
{
    static uint64_t stride;
    const struct slot *slot = &b->slot[s];
    uint64_t addr = below(4) ? 0x40000000 + 16 * s + 4 * stride++ : rng() & 0xffffffff;

    addr &= 0xffffffff;
    put_addr(m, addr);
    tell_access(m, w, b, slot->insn, slot->access & CTR_ACCESS_STORE, addr,
                CTR_ACCESS_SIZE(slot->access));
}

static unsigned slots_of_group(const struct block *b, unsigned s)
{
    unsigned n = 1;

    while (s + n < b->nslot && b->slot[s + n].group == b->slot[s].group) {
        n++;
    }
    return n;
}

/* Some rounds of the group that begins with slot s; its slots follow each
 * other.  Returns rounds left to do if the chunk is to end in between. */
static unsigned do_group(struct maker *m, const struct walker *w, const struct block *b,
                         unsigned s, unsigned rounds, bool may_cut)
{
    unsigned n = slots_of_group(b, s);

    for (; rounds; rounds--) {
        if (may_cut && !below(20)) {
            return rounds;
        }
        put_word(m, CTR_WORD_GROUP | b->slot[s].group);
        for (unsigned k = 0; k < n; k++) {
            do_slot(m, w, b, s + k);
        }
    }
    return 0;
}

/*
 * The accesses of one instruction from slot s on.  Returns the first slot of
 * the next instruction, or UINT32_MAX when the chunk ends inside a group.
 */
static unsigned do_accesses(struct maker *m, struct walker *w, const struct block *b,
                            unsigned insn, unsigned s, unsigned rounds, bool may_cut)
{
    while (s < b->nslot && b->slot[s].insn == insn) {
        if (b->slot[s].group) {
            unsigned r = rounds ? rounds : below(3) ? below(2) : below(30);
            unsigned left = do_group(m, w, b, s, r, may_cut);
            rounds = 0;
            if (left) {
                w->cut = b;
                w->cut_insn = insn;
                w->cut_rounds = left;
                return UINT32_MAX;
            }
            s += slots_of_group(b, s);
        } else {
            do_slot(m, w, b, s);
            s++;
        }
    }
    if (!below(40)) {
        bool store = below(2);
        uint32_t size = 1 + below(1000);
        uint64_t addr = rng() & 0x7fffffff;
        put_extra(m, (uint16_t)insn, store, size, addr);
        tell_access(m, w, b, insn, store, addr, size);
    }
    return s;
}

/* Runs a block; false if the chunk ended inside it. */
static bool do_run(struct maker *m, struct walker *w, const struct block *b, bool may_cut)
{
    unsigned s = 0, end = b->ninsn, why = below(16);
    bool faults = why == 1;

    if (why < 2) {
        end = 1 + below(b->ninsn);
    }
    put_word(m, b->id);
    for (unsigned i = 0; i < end; i++) {
        bool faulted = faults && i == end - 1;
        tell_exec(m, w, b, i, faulted);
        if (faulted) { /* before it made any access */
            w->ordinal++;
            break;
        }
        s = do_accesses(m, w, b, i, s, 0, may_cut);
        if (s == UINT32_MAX) {
            put_left(m, i + 1, CTR_LEFT_SUSPEND);
            return false;
        }
        w->ordinal++;
    }
    if (why < 2) {
        put_left(m, end, faults ? CTR_LEFT_FAULTED : 0);
    }
    return true;
}

/* Goes on with what the thread's chunk before was cut in; ends the block
 * after that instruction. */
static void do_resume(struct maker *m, struct walker *w)
{
    const struct block *b = w->cut;
    unsigned s = 0;

    while (b->slot[s].insn != w->cut_insn || !b->slot[s].group) {
        s++;
    }
    fprintf(m->cuts, "%d %" PRIu64 "\n", w->tid, w->ordinal);
    put_word(m, CTR_WORD_RESUME | w->cut_insn);
    put_word(m, b->id);
    do_accesses(m, w, b, w->cut_insn, s, w->cut_rounds, false);
    put_left(m, w->cut_insn + 1, 0);
    w->cut = NULL;
    w->ordinal++;
}

static void make_random(char **argv)
{
    static struct block blocks[NR_BLOCKS];
    struct maker m = {0};
    struct walker walkers[NR_THREADS] = {0};
    unsigned chunks, runs;
    uint32_t process = 0;
    char cuts[4096];

    rng_state = strtoull(argv[0], NULL, 0);
    chunks = (unsigned)strtoul(argv[1], NULL, 0);
    runs = (unsigned)strtoul(argv[2], NULL, 0);
    maker_open(&m, argv[3], "arm", EM_ARM, false, 32);
    snprintf(cuts, sizeof(cuts), "%s.cut", argv[4]);
    m.expect = fopen(argv[4], "w");
    m.cuts = fopen(cuts, "w");
    if (!m.expect || !m.cuts) {
        perror(argv[4]);
        exit(1);
    }
    for (uint32_t i = 0; i < NR_BLOCKS; i++) {
        random_block(&blocks[i], 2 * i + 1);
        add_block(&m, &blocks[i]);
    }
    for (int i = 0; i < NR_THREADS; i++) {
        int32_t pid = i < 3 ? 100 : 200;
        if (i == 0 || i == 3) {
            process = add_process(&m, pid, 1);
        }
        walkers[i] = (struct walker){.pid = pid, .tid = pid + (i < 3 ? i : 0)};
        walkers[i].thread = add_thread(&m, process, walkers[i].tid, 0);
    }
    for (unsigned c = 0; c < chunks; c++) {
        struct walker *w = &walkers[below(NR_THREADS)];
        if (w->cut) {
            do_resume(&m, w);
        }
        for (unsigned r = 0; r < runs; r++) {
            if (!do_run(&m, w, &blocks[below(NR_BLOCKS)], r + 10 > runs)) {
                break;
            }
        }
        flush_chunk(&m, w->thread, 0);
    }
    maker_close(&m, true);
    if (fclose(m.expect) || fclose(m.cuts)) {
        perror(argv[4]);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "sample")) {
        make_sample(argv[2], false, true);
    } else if (argc == 3 && !strcmp(argv[1], "killed")) {
        make_sample(argv[2], true, true);
    } else if (argc == 3 && !strcmp(argv[1], "unfinished")) {
        make_sample(argv[2], false, false);
    } else if (argc == 4 && !strcmp(argv[1], "target")) {
        make_target(argv[2], argv[3]);
    } else if (argc == 7 && !strcmp(argv[1], "random")) {
        make_random(argv + 2);
    } else {
        fprintf(stderr, "mktrace: wrong arguments\n");
        return 2;
    }
    return 0;
}
