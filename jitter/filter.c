/* SPDX-License-Identifier: MIT */
/*
 * The built-in filters of cannoli-record, as a jitter library like any other.
 *
 * Arguments of one kind (module, function, range, opcode, branches, accesses: stores
 * and loads; privileges: user and kernel) are alternatives; an instruction is recorded if it matches every kind that
 * was given, and nothing that was negated.  start-at, stop-at and, with callees,
 * functions are places where a window begins or ends, whether they are recorded or not.
 */
#include "filter.h"

#include <elf.h>
#include <stdlib.h>

#include "cannoli/events.h"

struct filter {
    struct filter_args args;
    const struct cannoli_host *host;
    struct names names;
    struct modules modules;
    bool needs_module;
    bool record_loads, record_stores; /* of instructions that are recorded */
    /* The last mapping found for the block that is being translated. */
    uint64_t block_pc, start, end, offset;
    const struct module *module;
    bool mapped;
    struct thumb_it it;
};

static void unload(void *state)
{
    struct filter *f = state;

    modules_free(&f->modules);
    names_close(&f->names);
    filter_args_free(&f->args);
    free(f);
}

static int load(const struct cannoli_host *host, const char *args, void **state)
{
    struct filter *f = calloc(1, sizeof(*f));
    char *why;

    if (!f) {
        host->error("out of memory");
        return 1;
    }
    f->host = host;
    why = filter_args_parse(&f->args, args);
    why = why ? why : names_open(&f->names, &f->args);
    if (why) {
        host->error("%s", why);
        free(why);
        unload(f);
        return 1;
    }
    f->needs_module = f->args.modules.n || f->args.nr_names;
    f->record_loads = !f->args.not_loads && (f->args.loads || !f->args.stores);
    f->record_stores = !f->args.not_stores && (f->args.stores || !f->args.loads);
    if (f->args.starts_closed) {
        host->starts_closed();
    }
    *state = f;
    return 0;
}

static void look_up(struct filter *f, void *context, uint64_t pc)
{
    struct cannoli_module m;

    f->module = NULL;
    f->mapped = f->host->module(context, pc, &m);
    if (f->mapped) {
        f->module = modules_get(&f->modules, &f->names, m.path, m.generation);
        f->start = m.start;
        f->end = m.end;
        f->offset = m.offset - (pc - m.start);
    }
}

/* Mappings do not change while a block is translated. */
static void find_module(struct filter *f, const struct cannoli_insn *insn)
{
    if (!insn->index || !f->mapped || f->block_pc != insn->block_pc ||
        insn->pc < f->start || insn->pc >= f->end) {
        f->block_pc = insn->block_pc;
        look_up(f, insn->context, insn->pc);
    }
}

static bool is_module(const struct filter *f)
{
    const struct module *m = f->module;

    return (!f->args.modules.positive || (m && m->named)) && !(m && m->named_not);
}

/* Whether a place for this use is at pc, or at the offset of pc in its file. */
static bool is_at(const struct filter *f, enum use use, uint64_t pc, uint64_t offset)
{
    return spans_hold(&f->args.addresses.of[use], pc) ||
           (f->module && spans_hold(&f->module->offsets.of[use], offset));
}

static bool is_function(const struct filter *f, uint64_t pc, uint64_t offset)
{
    return (!f->args.wants_function || is_at(f, USE_FUNCTION, pc, offset)) &&
           !is_at(f, USE_NOT_FUNCTION, pc, offset);
}

static bool is_range(const struct filter *f, uint64_t pc, uint64_t offset)
{
    return (!f->args.wants_range || is_at(f, USE_RANGE, pc, offset)) &&
           !is_at(f, USE_NOT_RANGE, pc, offset);
}

/* An instruction that calls helpers may do any access; hook_mem selects its accesses. */
static bool is_access(const struct filter_args *a, uint32_t flags)
{
    bool wanted = (a->stores && (flags & CANNOLI_INSN_STORE)) ||
                  (a->loads && (flags & CANNOLI_INSN_LOAD)) ||
                  (flags & CANNOLI_INSN_HELPER);

    return ((!a->stores && !a->loads) || wanted) &&
           !(a->not_stores && (flags & CANNOLI_INSN_STORE)) &&
           !(a->not_loads && (flags & CANNOLI_INSN_LOAD));
}

static bool is_branch(const struct filter_args *a, uint32_t flags)
{
    return flags & CANNOLI_INSN_BRANCH ? !a->not_branches : !a->branches;
}

/* All code of a machine that is no user code is the kernel's; a program's is neither. */
static bool is_privilege(const struct filter_args *a, uint32_t privilege)
{
    bool user = CTR_PRIVILEGE_USERS >> privilege & 1;
    bool kernel = privilege != CTR_PRIVILEGE_NONE && !user;

    return ((!a->user && !a->kernel) || (a->user && user) || (a->kernel && kernel)) &&
           !(a->not_user && user) && !(a->not_kernel && kernel);
}

static bool is_opcode(const struct filter *f, const struct cannoli_insn *insn,
                      const char *condition)
{
    char text[256];

    if (!f->args.opcodes.n) {
        return true;
    }
    if (!f->host->disas(insn->context, text, sizeof(text))) {
        text[0] = '\0';
    }
    return mnemonic_matches(&f->args.opcodes, text, f->host->elf_machine, condition,
                            insn->len);
}

static const struct {
    enum use use;
    int flag;
} triggers[] = {
    {USE_START, CANNOLI_START},
    {USE_STOP, CANNOLI_STOP},
    {USE_TREE, CANNOLI_TREE},
};
#define NR_TRIGGERS (sizeof(triggers) / sizeof(triggers[0]))

static int triggers_at(const struct filter *f, uint64_t pc, uint64_t offset)
{
    int flags = 0;

    for (size_t i = 0; i < NR_TRIGGERS; i++) {
        flags |= is_at(f, triggers[i].use, pc, offset) ? triggers[i].flag : 0;
    }
    return flags;
}

static void narrow(struct cannoli_range *r, uint64_t start, uint64_t end)
{
    r->start = start > r->start ? start : r->start;
    r->end = end < r->end ? end : r->end;
}

/* Converts s, offsets in the current mapping's file, to addresses and narrows r. */
static void narrow_to_offsets(const struct filter *f, struct cannoli_range *r,
                              struct span s)
{
    uint64_t bytes = f->end - f->start, end = s.end - f->offset;

    narrow(r, s.start > f->offset ? f->start + (s.start - f->offset) : f->start,
           f->start + (end < bytes ? end : bytes));
}

/* As is_at, and narrows r to where the answer is the same. */
static bool is_around(const struct filter *f, enum use use, uint64_t pc, uint64_t offset,
                      struct cannoli_range *r)
{
    struct span addresses, offsets;

    if (spans_around(&f->args.addresses.of[use], pc, &addresses)) {
        narrow(r, addresses.start, addresses.end);
        return true;
    }
    if (f->module && spans_around(&f->module->offsets.of[use], offset, &offsets)) {
        narrow_to_offsets(f, r, offsets);
        return true;
    }
    narrow(r, addresses.start, addresses.end);
    if (f->module) {
        narrow_to_offsets(f, r, offsets);
    }
    return false;
}

/* Whether pc alone excludes the instruction; if so, narrows r to the excluded range. */
static bool is_ruled_out(const struct filter *f, uint64_t pc, uint64_t offset,
                         struct cannoli_range *r)
{
    const struct {
        enum use use;
        bool matters, answer; /* the one that excludes */
    } tests[] = {
        {USE_RANGE, f->args.wants_range, false},
        {USE_NOT_RANGE, true, true},
        {USE_FUNCTION, f->args.wants_function, false},
        {USE_NOT_FUNCTION, true, true},
    };

    if (!is_module(f)) {
        return true;
    }
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        struct cannoli_range around = *r;

        if (tests[i].matters &&
            is_around(f, tests[i].use, pc, offset, &around) == tests[i].answer) {
            *r = around;
            return true;
        }
    }
    return false;
}

static int hook_range(void *state, void *context, uint64_t pc,
                      struct cannoli_range *range)
{
    struct filter *f = state;
    uint64_t offset = 0;
    int answer = 0;

    if (f->args.opcodes.n && f->host->elf_machine == EM_ARM) {
        return CANNOLI_ANYTHING; /* an IT affects the instructions after it */
    }
    if (f->needs_module) {
        look_up(f, context, pc);
        if (!f->mapped) {
            return CANNOLI_ANYTHING;
        }
        offset = f->offset + (pc - f->start);
        narrow(range, f->start, f->end);
    }
    for (size_t i = 0; i < NR_TRIGGERS; i++) {
        answer |= is_around(f, triggers[i].use, pc, offset, range) ? triggers[i].flag : 0;
    }
    return is_ruled_out(f, pc, offset, range) ? answer : answer | CANNOLI_ALWAYS;
}

static int hook_inst(void *state, const struct cannoli_insn *insn)
{
    struct filter *f = state;
    const char *condition = "";
    uint64_t offset = 0;
    int answer;

    if (f->args.opcodes.n) {
        condition = mnemonic_condition(&f->it, insn, f->host->elf_machine);
    }
    if (f->needs_module) {
        find_module(f, insn);
        offset = f->offset + (insn->pc - f->start);
    }
    answer = triggers_at(f, insn->pc, offset);
    if (is_range(f, insn->pc, offset) && is_access(&f->args, insn->flags) &&
        is_branch(&f->args, insn->flags) && is_module(f) &&
        is_privilege(&f->args, insn->privilege) && is_function(f, insn->pc, offset) &&
        is_opcode(f, insn, condition)) {
        answer |= f->args.once ? CANNOLI_ONCE : CANNOLI_ALWAYS;
    }
    return answer;
}

static int hook_mem(void *state, const struct cannoli_insn *insn, int is_write,
                    uint32_t size)
{
    const struct filter *f = state;

    (void)insn;
    (void)size;
    return is_write ? f->record_stores : f->record_loads;
}

const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER,    .name = "built-in filters", .load = load,
    .unload = unload,         .hook_inst = hook_inst,     .hook_mem = hook_mem,
    .hook_range = hook_range,
};
