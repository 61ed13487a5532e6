/*
 * Execution tracing into shared memory: querying what is recorded of a block
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Part of the pass over a block, see pass.c.  What one library requests is
 * recorded, whatever the others answer.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "cpu.h"
#include "exec/page-protection.h"
#include "exec/translation-block.h"
#include "tcg/tcg.h"
#include "tcg/helper-info.h"
#include "tcg/tcg-internal.h"
#include "cannoli/isa.h"
#include "jitter.h"

#define MAX_INSN_BYTES 255

/* The instructions of the block that is translated, as libraries see them. */
static struct cannoli_insn queried[TCG_MAX_INSNS];
static uint32_t wanted_by[TCG_MAX_INSNS]; /* libraries that record it: bits */
static uint8_t code[TCG_MAX_INSNS * (MAX_INSN_BYTES + 1)];
static CannoliQuery query;

/* ---- tags ---- */

typedef struct Tag {
    uint16_t insn; /* or CTR_TAG_BLOCK */
    uint16_t library;
    uint64_t tag;
} Tag;
static Tag tags[CTR_MAX_BLOCK_TAGS];
static int nr_tags;
static bool too_many_tags;

static void add_tag(unsigned insn, uint64_t tag)
{
    Tag t = { insn, query.library->number, tag };

    for (int i = 0; i < nr_tags; i++) {
        if (tags[i].insn == t.insn && tags[i].library == t.library) {
            tags[i] = t;
            return;
        }
    }
    if (nr_tags < CTR_MAX_BLOCK_TAGS) {
        tags[nr_tags++] = t;
    } else {
        too_many_tags = true;
    }
}

void cannoli_tag_insn(void *context, uint64_t tag)
{
    if (query.insn) {
        add_tag(query.insn->index, tag);
    }
}

void cannoli_tag_block(void *context, uint64_t tag)
{
    if (query.insn) {
        add_tag(CTR_TAG_BLOCK, tag);
    }
}

uint32_t cannoli_put_tags(CannoliPass *p, uint8_t *q)
{
    uint8_t *begin = q;

    if (!cannoli_nr_libraries) {
        return 0;
    }
    q += 4;
    for (int i = 0; i < nr_tags; i++) {
        unsigned insn = tags[i].insn;

        if (insn != CTR_TAG_BLOCK && !p->insns[insn].recorded) {
            continue;
        }
        stw_le_p(q, insn == CTR_TAG_BLOCK ? insn : p->insns[insn].number);
        stw_le_p(q + 2, tags[i].library);
        stq_le_p(q + 4, tags[i].tag);
        q += CTR_BLOCKDEF_TAG;
        p->nr_tags++;
    }
    stl_le_p(begin, p->nr_tags);
    return p->nr_tags ? q - begin : 0;
}

/* ---- what the instructions are ---- */

bool cannoli_code_is_big_endian(void)
{
#ifdef TARGET_ARM
    return arm_sctlr_b(cpu_env(query.cpu));
#else
    return TARGET_BIG_ENDIAN;
#endif
}

static uint32_t classify(const CannoliPass *p, const DisasContextBase *db,
                         const struct cannoli_insn *in)
{
    uint32_t flags, mode = in->mode;
    if (TARGET_LONG_BITS == 32) {
        mode |= CANNOLI_ISA_32;
    }
    if (cannoli_isa_flags(cannoli_elf_machine, mode,
                          cannoli_code_is_big_endian(), in->bytes, in->len,
                          &flags)) {
        return flags;
    }
    /* Used when nothing is known: the translator ended the block here. */
    return in->index == p->nr_insns - 1 && db->is_jmp != DISAS_NEXT &&
                   db->is_jmp != DISAS_TOO_MANY
               ? CANNOLI_INSN_BRANCH
               : 0;
}

/*
 * s390x EXECUTE: its target is recorded with it, so the libraries are queried
 * about EXECUTE.
 */
static uint32_t execute_bytes(vaddr pc, uint8_t *bytes)
{
    uint32_t n = cannoli_read_guest(bytes, pc, 6);

    return n ? MIN(n, bytes[0] >> 6 == 1 ? 4 : 6) : 0;
}

static void describe_insns(CannoliPass *p, CPUState *cpu, DisasContextBase *db)
{
    uint32_t mode = cannoli_block_mode(cpu, db->tb);
    uint32_t privilege = cannoli_privilege(cpu, db->tb->flags, db->tb->cs_base);
    uint8_t *q = code;
    bool store;

    for (int i = 0; i < p->nr_insns; i++) {
        struct cannoli_insn *in = &queried[i];
        uint32_t len = p->insns[i].len;

        if (db->fake_insn) {
            len = execute_bytes(p->insns[i].pc, q);
        } else {
            cannoli_insn_bytes(p, db, i, q);
        }
        *in = (struct cannoli_insn){
            .pc = p->insns[i].pc,
            .bytes = q,
            .len = len,
            .mode = mode,
            .index = i,
            .block_pc = db->pc_first,
            .context = &query,
            .privilege = privilege,
            .vcpu = cannoli_vcpus_split ? cpu->cpu_index : 0,
        };
        in->flags = classify(p, db, in);
        if (db->fake_insn) {
            in->flags |= CANNOLI_INSN_HELPER;
        }
        q += len;
    }
    for (int i = 0; i < p->nr_ops; i++) {
        const OpInfo *o = &p->ops[i];

        if (o->insn < 0) {
            continue;
        }
        if (cannoli_is_access(o->op, &store)) {
            queried[o->insn].flags |=
                store ? CANNOLI_INSN_STORE : CANNOLI_INSN_LOAD;
        } else if (cannoli_is_real_call(o->op) &&
                   !(tcg_call_info(o->op)->flags & TCG_CALL_NO_SIDE_EFFECTS)) {
            queried[o->insn].flags |= CANNOLI_INSN_HELPER;
        }
    }
}

/* ---- queries about addresses ---- */

/*
 * The combined answers of all libraries; the oldest is replaced first.  Most of
 * the code that a program runs is in a few modules.
 */
#define NR_RANGES 16
static struct {
    struct cannoli_range v[NR_RANGES];
    int answer[NR_RANGES];
    unsigned n, next;
    uint64_t generation; /* of the mappings at the query */
} ranges;

static void forget_ranges(void)
{
    ranges.n = ranges.next = 0;
}

/* What hook_inst may answer, at most, in *range, which holds addr. */
static int query_range(uint64_t addr, struct cannoli_range *range)
{
    int answer = 0;

    *range = (struct cannoli_range){ 0, UINT64_MAX };
    for (int i = 0; i < cannoli_nr_libraries; i++) {
        const CannoliLibrary *lib = &cannoli_libraries[i];
        struct cannoli_range r = { 0, UINT64_MAX };

        query.library = lib;
        if (!lib->jitter.hook_range) {
            return CANNOLI_ANYTHING;
        }
        answer |= CANNOLI_LIBRARY_CALL(
            lib, lib->jitter.hook_range(lib->state, &query, addr, &r));
        range->start = MAX(range->start, r.start);
        range->end = MIN(range->end, r.end);
    }
    return addr >= range->start && addr < range->end ? answer
                                                     : CANNOLI_ANYTHING;
}

static bool in_range(const DisasContextBase *db, const struct cannoli_range *r)
{
    return db->pc_first >= r->start && db->pc_next <= r->end &&
           db->pc_first < db->pc_next;
}

bool cannoli_choose_nothing(CPUState *cpu, DisasContextBase *db)
{
    uint32_t gate = tb_cflags(db->tb) & CF_CANNOLI_MASK;
    int matters = CANNOLI_ANYTHING;
    struct cannoli_range r;
    int answer;

    if (gate & ~CF_CANNOLI_OFF) {
        /* The code that watches for windows is in every block. */
        return false;
    }
    if (gate & CF_CANNOLI_OFF) {
        if (!cannoli_nr_libraries) {
            return true;
        }
        matters = CANNOLI_START | CANNOLI_STOP | CANNOLI_TREE;
    }
    if (!cannoli_nr_libraries || db->fake_insn) {
        return false;
    }
    if (ranges.generation != cannoli_modules_generation) {
        ranges.generation = cannoli_modules_generation;
        forget_ranges();
    }
    for (unsigned i = 0; i < ranges.n; i++) {
        if (!(ranges.answer[i] & matters) && in_range(db, &ranges.v[i])) {
            return true;
        }
    }
    query.cpu = cpu;
    query.db = db;
    query.insn = NULL;
    answer = query_range(db->pc_first, &r);
    if (answer & matters) {
        return false;
    }
    ranges.v[ranges.next] = r;
    ranges.answer[ranges.next] = answer;
    ranges.next = (ranges.next + 1) % NR_RANGES;
    ranges.n = MIN(ranges.n + 1, NR_RANGES);
    return in_range(db, &r);
}

/* ---- queries about instructions ---- */

typedef enum { HOOK_MEM, HOOK_VALUE, HOOK_REG } Hook;

/* A library without the hook wants everything. */
static bool library_wants(const CannoliLibrary *lib, Hook hook, bool store,
                          uint32_t size)
{
    const struct cannoli_jitter *j = &lib->jitter;
    const struct cannoli_insn *in = query.insn;
    void *state = lib->state;

    switch (hook) {
    case HOOK_MEM:
        return !j->hook_mem ||
               CANNOLI_LIBRARY_CALL(lib, j->hook_mem(state, in, store, size));
    case HOOK_VALUE:
        return !j->hook_value ||
               CANNOLI_LIBRARY_CALL(lib, j->hook_value(state, in, store, size));
    case HOOK_REG:
        return !j->hook_reg ||
               CANNOLI_LIBRARY_CALL(lib, j->hook_reg(state, in));
    default:
        g_assert_not_reached();
    }
}

/*
 * Returns the bit of the first of the libraries in `among' that wants it, or 0.
 * Those that follow are not queried.
 */
static uint32_t query_first(Hook hook, int insn, uint32_t among, bool store,
                            uint32_t size)
{
    query.insn = &queried[insn];
    for (int i = 0; i < cannoli_nr_libraries; i++) {
        const CannoliLibrary *lib = &cannoli_libraries[i];

        query.library = lib;
        if ((among & (1u << i)) && library_wants(lib, hook, store, size)) {
            return 1u << i;
        }
    }
    return 0;
}

/* Returns which of the libraries in `among' want these accesses. */
static uint32_t query_mem(int insn, uint32_t among, bool store, uint32_t size)
{
    uint32_t yes = 0, bit;

    while ((bit = query_first(HOOK_MEM, insn, among, store, size))) {
        yes |= bit;
        among &= ~(bit | (bit - 1));
    }
    return yes;
}

/* Does one of them want their values? */
static bool query_value(int insn, uint32_t among, bool store, uint32_t size)
{
    return query_first(HOOK_VALUE, insn, among, store, size) != 0;
}

static bool query_reg(int insn, uint32_t among)
{
    return query_first(HOOK_REG, insn, among, false, 0) != 0;
}

/* What libraries want of accesses that the instruction's helpers make. */
static uint32_t query_helper(int insn)
{
    uint32_t loads = query_mem(insn, wanted_by[insn], false, 0);
    uint32_t stores = query_mem(insn, wanted_by[insn], true, 0);
    uint32_t wants = 0;

    if (loads) {
        wants |= CANNOLI_INSN_LOADS;
        if (!cannoli_values || query_value(insn, loads, false, 0)) {
            wants |= CANNOLI_INSN_LOADED;
        }
    }
    if (stores) {
        wants |= CANNOLI_INSN_STORES;
        if (!cannoli_values || query_value(insn, stores, true, 0)) {
            wants |= CANNOLI_INSN_STORED;
        }
    }
    return wants;
}

static void query_insn(InsnInfo *in, int insn)
{
    bool always = false, once = false;

    query.insn = &queried[insn];
    wanted_by[insn] = 0;
    for (int i = 0; i < cannoli_nr_libraries; i++) {
        const CannoliLibrary *lib = &cannoli_libraries[i];
        int answer = CANNOLI_ALWAYS;

        query.library = lib;
        if (lib->jitter.hook_inst) {
            answer = CANNOLI_LIBRARY_CALL(
                lib, lib->jitter.hook_inst(lib->state, query.insn));
        }
        in->triggers |= answer & (CANNOLI_START | CANNOLI_STOP | CANNOLI_TREE);
        switch (answer & CANNOLI_HOOK_MASK) {
        case CANNOLI_ALWAYS:
            always = true;
            break;
        case CANNOLI_ONCE:
            once = true;
            break;
        default:
            continue;
        }
        wanted_by[insn] |= 1u << i;
    }
    in->choice = always ? CANNOLI_ALWAYS : once ? CANNOLI_ONCE : CANNOLI_NEVER;
}

void cannoli_choose(CannoliPass *p, CPUState *cpu, DisasContextBase *db)
{
    p->triggers = 0;
    nr_tags = 0;
    too_many_tags = false;
    if (!cannoli_nr_libraries) {
        for (int i = 0; i < p->nr_insns; i++) {
            p->insns[i].choice = CANNOLI_ALWAYS;
            p->insns[i].regs = true;
        }
        return;
    }
    query.cpu = cpu;
    query.db = db;
    describe_insns(p, cpu, db);
    for (int i = 0; i < p->nr_insns; i++) {
        InsnInfo *in = &p->insns[i];

        query_insn(in, i);
        p->triggers |= in->triggers;
        in->recorded = in->choice != CANNOLI_NEVER;
        if (in->recorded) {
            in->regs = !(cannoli_ctl->events & CTR_EVENTS_REG) ||
                       query_reg(i, wanted_by[i]);
            if (!in->regs) {
                in->wants &= ~CANNOLI_INSN_REGS;
            }
            if ((cannoli_ctl->events & CTR_EVENTS_MEM) &&
                (queried[i].flags & CANNOLI_INSN_HELPER)) {
                in->wants &= query_helper(i) | CANNOLI_INSN_REGS;
            }
        }
    }
    /* One instruction cannot have so many tags; a shorter block has fewer. */
    if (too_many_tags && p->nr_insns > 1) {
        cannoli_shorten(tcg_ctx, 0);
    }
}

int cannoli_choose_access(CannoliPass *p, int insn, unsigned access)
{
    bool store = access & CTR_ACCESS_STORE;
    uint32_t size = CTR_ACCESS_SIZE(access), yes;

    if (!cannoli_nr_libraries) {
        return access;
    }
    yes = query_mem(insn, wanted_by[insn], store, size);
    if (!yes) {
        return -1;
    }
    if (cannoli_values && !query_value(insn, yes, store, size)) {
        access |= CTR_ACCESS_NOVALUE;
    }
    return access;
}

/* ---- system calls ---- */

#define NR_ANSWERS 8192
enum { UNKNOWN, RECORDED, NOT_RECORDED };
static uint8_t answers[NR_ANSWERS];
static GHashTable *more_answers; /* of large numbers */

void cannoli_forget_answers(void)
{
    forget_ranges();
    memset(answers, 0, sizeof(answers));
    if (more_answers) {
        g_hash_table_remove_all(more_answers);
    }
}

static int query_libraries(int nr, const char *name)
{
    for (int i = 0; i < cannoli_nr_libraries; i++) {
        const CannoliLibrary *lib = &cannoli_libraries[i];

        if (!lib->jitter.hook_syscall ||
            CANNOLI_LIBRARY_CALL(
                lib, lib->jitter.hook_syscall(lib->state, nr, name))) {
            return RECORDED;
        }
    }
    return NOT_RECORDED;
}

static int query_syscall(int nr, const char *name)
{
    sigset_t old;
    int answer;

    cannoli_unblock_crashes(&old);
    answer = query_libraries(nr, name);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return answer;
}

bool cannoli_choose_syscall(int nr, const char *name)
{
    int answer = UNKNOWN;

    if (!cannoli_nr_libraries) {
        return true;
    }
    if ((unsigned)nr < NR_ANSWERS) {
        answer = qatomic_read(&answers[nr]);
    }
    if (answer != UNKNOWN) {
        return answer == RECORDED;
    }
    mmap_lock();
    if ((unsigned)nr < NR_ANSWERS) {
        answer = answers[nr];
        if (answer == UNKNOWN) {
            answer = query_syscall(nr, name);
            qatomic_set(&answers[nr], answer);
        }
    } else {
        cannoli_apart++;
        if (!more_answers) {
            more_answers = g_hash_table_new(NULL, NULL);
        }
        answer = GPOINTER_TO_INT(
            g_hash_table_lookup(more_answers, GINT_TO_POINTER(nr)));
        if (answer == UNKNOWN) {
            answer = query_syscall(nr, name);
            g_hash_table_insert(more_answers, GINT_TO_POINTER(nr),
                                GINT_TO_POINTER(answer));
        }
        cannoli_apart--;
    }
    mmap_unlock();
    return answer == RECORDED;
}
