/*
 * Execution tracing into shared memory
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With -cannoli, translated code reports to another process which blocks it
 * runs and which addresses it accesses.  cannoli/mempipe.h (found by configure
 * --with-cannoli) says how the shared memory is laid out, cannoli/events.h what
 * is written; both belong to the recorder's project.
 *
 * What is known at translation time is in a block definition, written once.
 * While a block runs it only appends its id, and the addresses and values of
 * its accesses.  Two TCG globals, the end of the id column and the start of the
 * data column (which grows down, towards the ids), make an event a store and an
 * add, on any host and for any guest: one pass over the finished ops of a block
 * (cannoli_tb_end) finds the accesses and inserts the stores (gen.c).  On
 * x86-64 hosts both are in registers (exec/cannoli.h).
 *
 *  - A block begins with a check that its whole straight-line need is free;
 *    when it is not, the block leaves through the exit-request label before it
 *    has done anything, and cpu_tb_exec hands the buffer over.  QEMU's check
 *    for exit requests is the same comparison: a request moves the limit.
 *  - An address is stored before its access and the pointer moved after it, so
 *    that an access that faults has no event.  A value is stored when it is
 *    known: before a store, after a load.  Pointer moves are deferred and
 *    merged as long as the code is straight; for an exit in instruction i,
 *    lazy[] and accesses[] of the block contain what was deferred.
 *  - An address that follows from that of another access is not stored
 *    (derive.c).  When an access of an instruction does not complete, settle.c
 *    finds out which one.
 *  - Accesses that may be made no time or many times form groups, announced by
 *    a word; exits before the end of a block are announced by a LEFT_AT word.
 *  - Indirect jumps usually find their block without helper_lookup_tb_ptr
 *    (jump.c).
 *  - Exits by longjmp go through cannoli_loop_exit.  It knows the instruction
 *    from the state restore that came first, or from CannoliCPU.insn, which
 *    translated code stores before every call that might not return.
 *  - What helpers access themselves goes into the side queue with its position,
 *    because most helpers may not write TCG globals.
 *  - Registers that an instruction may write are stored at its end, on every
 *    path (regs-pass.c); what else changes them is found by comparing (regs.c)
 *    and goes into the side queue.
 *
 * Translation is serialised, by mmap_lock in user mode, in system emulation by
 * the one thread of all vCPUs or by a lock (system/cannoli/parallel.c), so the
 * working state of the pass is static.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "exec/translator.h"
#include "exec/translation-block.h"
#include "tcg/tcg.h"
#include "tcg/tcg-internal.h"
#include "tcg/tcg-op-common.h"
#include "regs.h"

bool cannoli_on;

/* ---- the pass: what it finds ---- */

/* Where instructions begin, noted as they are translated. */
static struct {
    TCGOp *op;
    vaddr pc;
    uint64_t known; /* value of insn_start then, see CannoliReg */
} starts[TCG_MAX_INSNS];
static int nr_starts;

/* Accesses that need a note. */
typedef struct Note {
    TCGOp *op;
    bool second; /* second op of an access that TCG made in halves */
    bool swap;   /* byte order is changed by other ops */
    bool silent; /* not one of the guest's */
} Note;
static Note notes[2 * CTR_MAX_BLOCK_SLOTS];
static int nr_notes;

static CannoliPass the_pass;

#define WORDS_OFF \
    ((int)offsetof(CPUState, neg.cannoli.words) - (int)sizeof(CPUState))
#define DATA_OFF (WORDS_OFF + (int)sizeof(void *))
QEMU_BUILD_BUG_ON(offsetof(CannoliCPU, data) !=
                  offsetof(CannoliCPU, words) + sizeof(void *));

int cannoli_fixed;
const int cannoli_words_off = WORDS_OFF;

int cannoli_fixed_wanted(void)
{
    return !cannoli_on ? 0 : cannoli_no_data() ? 1 : 2;
}

/* Fixed globals, or NULL: they are in memory. */
void cannoli_tcg_init(void *words, void *data)
{
    if (!cannoli_on) {
        return;
    }
    the_pass.words_ptr =
        words ? words
              : tcg_global_mem_new_ptr(tcg_env, WORDS_OFF, "cannoli_words");
    the_pass.data_ptr =
        data ? data : tcg_global_mem_new_ptr(tcg_env, DATA_OFF, "cannoli_data");
}

/*
 * This applies to every kind of block: a helper that leaves by longjmp must
 * leave the pointers where they can be found.
 */
static void store_fixed(CannoliPass *p, TCGContext *s)
{
    TCGOp *op;

    QTAILQ_FOREACH (op, &s->ops, link) {
        if (cannoli_is_real_call(op)) {
            s->emit_before_op = op;
            tcg_gen_st_ptr(p->words_ptr, tcg_env, WORDS_OFF);
            if (cannoli_fixed > 1) {
                tcg_gen_st_ptr(p->data_ptr, tcg_env, DATA_OFF);
            }
        }
    }
    s->emit_before_op = NULL;
}

static uint64_t known_at(TCGOp *op)
{
#ifdef TARGET_INSN_START_EXTRA_WORDS
    return tcg_get_insn_start_param(op, 1);
#else
    return 0;
#endif
}

/*
 * The translator of sh4 translates some sequences as a whole, unless plugins
 * must see each instruction.  A recording must, too.
 */
void cannoli_tb_start(DisasContextBase *db)
{
    if (cannoli_on) {
        db->plugin_enabled = true;
    }
}

void cannoli_insn_start(DisasContextBase *db)
{
    if (!cannoli_on) {
        return;
    }
    if (db->num_insns == 1) {
        nr_starts = 0;
        nr_notes = 0;
        cannoli_silent = false; /* left from an abandoned translation */
    }
    /* A translator may have removed instructions again. */
    nr_starts = MIN(nr_starts, db->num_insns - 1);
    starts[nr_starts].op = db->insn_start;
    starts[nr_starts].pc = db->pc_next;
    starts[nr_starts].known = known_at(db->insn_start);
    nr_starts++;
}

static Note *note_last_op(void)
{
    TCGOp *op = tcg_last_op();

    if (!nr_notes || notes[nr_notes - 1].op != op) {
        /* More than there can be slots: the block is too complex anyway. */
        nr_notes = MIN(nr_notes, ARRAY_SIZE(notes) - 1);
        notes[nr_notes++] = (Note){ .op = op };
    }
    return &notes[nr_notes - 1];
}

void cannoli_note_pair(bool swap)
{
    if (cannoli_on) {
        Note *note = note_last_op();

        note->second = true;
        note->swap = swap;
    }
}

/* Called of every access but a second half. */
void cannoli_note_swap(bool swap)
{
    if (cannoli_on && (swap || cannoli_silent)) {
        Note *note = note_last_op();

        note->swap = swap;
        note->silent = cannoli_silent;
    }
}

/* Ops are in the order of the notes, but some with a note may be removed. */
static const Note *find_note(TCGOp *op, int *next)
{
    for (int i = 0; i < nr_notes; i++) {
        const Note *note = &notes[(*next + i) % nr_notes];

        if (note->op == op) {
            *next = note - notes + 1;
            return note;
        }
    }
    return NULL;
}

static int wanted_insns, bound_insns;

void cannoli_shorten(TCGContext *s, int insns)
{
    wanted_insns = bound_insns = insns;
    siglongjmp(s->jmp_trans, -2);
}

void cannoli_max_insns(int *max_insns)
{
    if (wanted_insns) {
        *max_insns = wanted_insns;
        wanted_insns = 0;
    }
}

void cannoli_too_complex(CannoliPass *p, TCGContext *s)
{
    if (p->nr_insns > 1) {
        cannoli_shorten(s, 0);
    }
    error_report("cannoli: an instruction at 0x%" VADDR_PRIx
                 " is too complex to be recorded",
                 p->insns[0].pc);
    exit(EXIT_FAILURE);
}

void cannoli_too_long(CannoliPass *p, TCGContext *s, uint32_t bytes)
{
    if (p->nr_insns > 1) {
        cannoli_shorten(s, 0);
    }
    error_report("cannoli: the description of an instruction at 0x%" VADDR_PRIx
                 " is too long: %u bytes, the limit is %u",
                 p->insns[0].pc, bytes,
                 cannoli_ctl->side_bytes -
                     (uint32_t)sizeof(struct mempipe_side_block));
    exit(EXIT_FAILURE);
}

static void reset_labels(CannoliPass *p, TCGContext *s)
{
    if (s->nb_labels > p->max_labels) {
        p->max_labels = MAX(1024, s->nb_labels * 2);
        p->labels = cannoli_alloc(p->max_labels * sizeof(*p->labels));
    }
    for (int i = 0; i < s->nb_labels; i++) {
        p->labels[i] = (LabelInfo){ .pos = -1, .source = -1 };
    }
}

/* The op begins an instruction; next: the next entry of starts[]. */
static void add_insn(CannoliPass *p, TCGOp *op, int *next)
{
    InsnInfo *in = &p->insns[p->nr_insns++];

    *in = (InsnInfo){
        .simple = true,
        .recorded = true,
        .number = p->nr_insns - 1,
        .wants = CANNOLI_INSN_ALL,
        .regs = true,
    };
    /* sh4 starts more instructions than requested */
    in->known_later = known_at(op);
    if (*next < nr_starts && starts[*next].op == op) {
        in->known = starts[*next].known;
        in->pc = starts[(*next)++].pc;
    } else {
        in->known = in->known_later;
        in->pc = tcg_get_insn_start_param(op, 0);
    }
}

static void measure_insns(CannoliPass *p, const DisasContextBase *db)
{
    for (int i = 0; i < p->nr_insns; i++) {
        vaddr end = i + 1 < p->nr_insns ? p->insns[i + 1].pc : db->pc_next;
        int64_t len = end - p->insns[i].pc;

        if (db->fake_insn) {
            len = db->record_len;
        }
        p->insns[i].len = len < 0 || len > 255 ? 0 : len;
    }
}

static bool is_exitreq_label(const TCGContext *s, const TCGOp *op)
{
    return op->opc == INDEX_op_set_label &&
           arg_label(op->args[0]) == s->exitreq_label;
}

/* Step 1: list ops, labels and branches, up to the exit-request stub. */
static void collect(CannoliPass *p, TCGContext *s, DisasContextBase *db)
{
    TCGOp *op;
    int next = 0, next_note = 0;
    bool store;

    p->nr_ops = 0;
    p->nr_insns = 0;
    reset_labels(p, s);
    QTAILQ_FOREACH (op, &s->ops, link) {
        TCGLabel *l;

        if (is_exitreq_label(s, op)) {
            break;
        }
        if (p->nr_ops == p->max_ops) {
            OpInfo *old = p->ops;
            int *old_cover = p->cover;

            p->max_ops = MAX(8192, p->max_ops * 2);
            p->ops = cannoli_alloc(p->max_ops * sizeof(*p->ops));
            p->cover = cannoli_alloc((p->max_ops + 1) * sizeof(*p->cover));
            if (p->nr_ops) {
                memcpy(p->ops, old, p->nr_ops * sizeof(*p->ops));
                memcpy(p->cover, old_cover, p->nr_ops * sizeof(*p->cover));
            }
        }
        p->ops[p->nr_ops] = (OpInfo){
            .op = op,
            .slot = -1,
            .done = -1,
            .stub = -1,
        };
        if (cannoli_is_access(op, &store)) {
            const Note *note = find_note(op, &next_note);

            if (note) {
                p->ops[p->nr_ops].second = note->second;
                p->ops[p->nr_ops].swap = note->swap;
                p->ops[p->nr_ops].silent = note->silent;
            }
        }
        p->cover[p->nr_ops] = 0;
        if (op->opc == INDEX_op_set_label) {
            p->labels[arg_label(op->args[0])->id].pos = p->nr_ops;
        }
        l = cannoli_branch_label(op);
        if (l && l != s->exitreq_label) {
            if (p->labels[l->id].sources++ == 0) {
                p->labels[l->id].source = p->nr_ops;
            }
        }
        if (op->opc == INDEX_op_insn_start) {
            add_insn(p, op, &next);
        }
        p->nr_ops++;
    }
    p->cover[p->nr_ops] = 0;
    measure_insns(p, db);
}

/* Count what is recorded, and find where the block's id goes. */
static void find_recorded(CannoliPass *p)
{
    int i, depth = 0, insn = -1;

    p->nr_recorded = 0;
    p->all_wanted = true;
    for (i = 0; i < p->nr_insns; i++) {
        InsnInfo *in = &p->insns[i];

        in->number = p->nr_recorded;
        if (in->recorded) {
            if (!p->nr_recorded++) {
                p->first_recorded = i;
            }
            p->last = i;
        }
        p->all_wanted &= in->recorded && in->wants == CANNOLI_INSN_ALL;
    }
    /*
     * Before the first one recorded, or before everything if that may be
     * skipped.
     */
    p->first = p->first_recorded;
    for (i = 0; i < p->nr_ops; i++) {
        depth += p->cover[i];
        if (p->ops[i].op->opc == INDEX_op_insn_start &&
            ++insn == p->first_recorded) {
            break;
        }
    }
    if (depth) {
        p->first = 0;
    }
}

/* Where recording starts or stops, a block begins. */
static void split_at_places(CannoliPass *p, TCGContext *s,
                            const DisasContextBase *db)
{
    if (!p->triggers) {
        return;
    }
    if (db->fake_insn) {
        /* EXECUTE itself was the place. */
        p->triggers = 0;
        return;
    }
    for (int i = 1; i < p->nr_insns; i++) {
        if (p->insns[i].triggers) {
            cannoli_shorten(s, i);
        }
    }
    p->triggers = p->insns[0].triggers;
}

/*
 * Registers are compared with the last recorded state where a block begins, so
 * the recorded part must not begin in the middle of one.
 */
static void split_at_registers(CannoliPass *p, TCGContext *s)
{
    for (int i = 1; i < p->nr_insns; i++) {
        if (cannoli_records_regs(p, i) && !cannoli_records_regs(p, i - 1)) {
            cannoli_shorten(s, i);
        }
    }
}

/* Insert the code that watches for windows. */
static void insert_gate(CannoliPass *p, TCGContext *s,
                        const DisasContextBase *db)
{
    if (p->triggers || (tb_cflags(db->tb) & CF_CANNOLI_MASK)) {
        cannoli_gate_insert(p, s, db, cannoli_first_op(p, s));
    }
}

/* Handle a block of which nothing is recorded. */
static void leave_out(CannoliPass *p, TCGContext *s, DisasContextBase *db)
{
    ((TranslationBlock *)db->tb)->cannoli = NULL;
    p->code = false;
    if (tb_cflags(db->tb) & CF_CANNOLI_COUNT) {
        cannoli_find_exits(p, s);
    }
    insert_gate(p, s, db);
}

/*
 * Most of what coverage needs to know: is the block one that only its last
 * instruction leaves, with nothing that goes back?  Then only its instructions
 * are listed, and its ops are not analysed.
 */
static bool collect_straight(CannoliPass *p, TCGContext *s,
                             const DisasContextBase *db)
{
    bool leaves = false;
    int next = 0;
    TCGOp *op;

    if (cannoli_nr_libraries || db->fake_insn ||
        (cannoli_ctl->events & (CTR_EVENTS_MEM | CTR_EVENTS_REG)) ||
        (tb_cflags(db->tb) & CF_CANNOLI_MASK)) {
        return false;
    }
    p->code = false;
    p->nr_ops = 0;
    p->nr_insns = p->nr_slots = p->nr_uncond = p->nr_groups = p->units = 0;
    p->nr_derived = 0;
    reset_labels(p, s);
    QTAILQ_FOREACH (op, &s->ops, link) {
        TCGLabel *label = cannoli_branch_label(op);

        if (is_exitreq_label(s, op)) {
            break;
        }
        if (op->opc == INDEX_op_insn_start) {
            if (leaves) {
                return false;
            }
            add_insn(p, op, &next);
        } else if (op->opc == INDEX_op_set_label) {
            LabelInfo *l = &p->labels[arg_label(op->args[0])->id];

            l->pos = 0;
            if (l->sources && l->source != p->nr_insns) {
                return false;
            }
        } else if (label && label != s->exitreq_label) {
            LabelInfo *l = &p->labels[label->id];

            if (l->pos >= 0 || (l->sources && l->source != p->nr_insns)) {
                return false;
            }
            l->sources++;
            l->source = p->nr_insns;
        }
        leaves |= op->opc == INDEX_op_goto_tb || op->opc == INDEX_op_exit_tb ||
                  op->opc == INDEX_op_goto_ptr || cannoli_is_real_call(op);
    }
    measure_insns(p, db);
    p->nr_tags = 0;
    p->triggers = 0;
    find_recorded(p);
    return true;
}

static void report_block(CannoliPass *p, TCGContext *s, CPUState *cpu,
                         DisasContextBase *db)
{
    TranslationBlock *tb = (TranslationBlock *)db->tb;
    uint32_t need;
    CannoliBlock *b;
    bool stubborn;

    tb->cannoli_once = NULL;
    p->unit = CANNOLI_ADDR_BYTES;
    if (cannoli_coverage && collect_straight(p, s, db)) {
        tb->cannoli = cannoli_define(p, cpu, db);
        cannoli_once_block(p, tb, tb->cannoli, false);
        return;
    }
    if (cannoli_regs_on()) {
        cannoli_regs_keep(s);
    }
    if (cannoli_choose_nothing(cpu, db)) {
        tb->cannoli = NULL;
        bound_insns = 0;
        return;
    }
    collect(p, s, db);
    cannoli_find_conditional(p, s);
    if (db->fake_insn) {
        /*
         * The target of s390x EXECUTE, whose bytes are nowhere in memory: what
         * it does is part of the instruction that ran last.  Its slots form
         * groups, because RESUME leaves unconditional ones out.
         */
        p->insns[0].loops = true;
    }
    cannoli_find_insns(p);
    /* sh4 does not always begin as many instructions as requested. */
    stubborn = bound_insns && p->nr_insns > bound_insns;
    bound_insns = 0;
    p->nr_tags = 0;
    p->triggers = 0;
    if (cannoli_choosing) {
        /*
         * Places where recording starts and stops, a closed gate, what was
         * recorded once: they exclude instructions, or shorten the block.
         */
        cannoli_choose(p, cpu, db);
        if (!stubborn) {
            split_at_places(p, s, db);
        }
    }
    if (tb_cflags(db->tb) & CF_CANNOLI_OFF) {
        for (int i = 0; i < p->nr_insns; i++) {
            p->insns[i].recorded = false;
        }
    } else if (cannoli_choosing) {
        cannoli_once_choose(p, cpu, db);
    }
    find_recorded(p);
    if (!p->nr_recorded) {
        leave_out(p, s, db);
        return;
    }
    if (cannoli_regs_on()) {
        if (cannoli_regs_shadow() && !stubborn) {
            split_at_registers(p, s);
        }
        cannoli_regs_find(p, s, db->tb);
    }
    do {
        cannoli_find_slots(p, s, cannoli_ctl->events & CTR_EVENTS_MEM);
    } while (!cannoli_find_reg_exits(p));
    cannoli_find_derived(p, s);
    cannoli_find_exits(p, s);
    cannoli_plan_lazy(p);
    need = 8 + 4 + 4 * p->nr_groups + MEMPIPE_SLACK + p->units * p->unit;
    if (need > CANNOLI_MAX_NEED) {
        cannoli_too_complex(p, s);
    }
    b = cannoli_define(p, cpu, db);
    tb->cannoli = b;
    p->code = cannoli_once_block(p, tb, b, db->fake_insn);
    insert_gate(p, s, db);
    if (p->code) {
        cannoli_insert(p, s, b, need, db);
    }
}

void cannoli_tb_end(CPUState *cpu, DisasContextBase *db)
{
    if (cannoli_on) {
#ifdef CONFIG_USER_ONLY
        report_block(&the_pass, tcg_ctx, cpu, db);
#else
        TCGOp *request = cannoli_find_request(tcg_ctx, db);
        TCGOp *task = cannoli_find_switch(cpu, tcg_ctx, db->tb);

        report_block(&the_pass, tcg_ctx, cpu, db);
        cannoli_insert_switch(tcg_ctx, task);
        cannoli_insert_request(tcg_ctx, request);
#endif
        if (cannoli_fixed) {
            store_fixed(&the_pass, tcg_ctx);
        }
    }
}
