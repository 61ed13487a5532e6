/* SPDX-License-Identifier: MIT */
/*
 * tracesym --trace-calls: finds the calls, then the registers at their begins and ends a
 * batch at a time, and memory where an argument points to text.
 */
#include "trace_calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "call_list.h"
#include "calltree/known.h"
#include "prog.h"
#include "guest/dwarf_regs.h"
#include "input/trace.h"
#include "state/call.h"
#include "state/memory_files.h"
#include "state/variables.h"

/* Calls whose registers are in memory at a time. */
#define BATCH 4096u

/* A thread's registers at an instruction. */
struct point {
    uint64_t pc, time_ns;
    uint8_t *regs; /* as of ctr_state_at; NULL: not recorded */
};

/* What is known of a call of the batch. */
struct call_points {
    struct point before; /* the instruction that called */
    struct point begin, end;
};

struct tracer {
    struct ctr_trace *tr;
    const struct places *places;
    const struct trace_calls_options *opt;
    const struct dump_options *dump;
    struct ctr_info info;
    struct call_printer printer;
    struct call_list list;
    struct call_points *points; /* of the batch */
    bool partial;               /* instructions were left out of the recording */
    size_t listed;              /* calls whose caller is selected */
    struct textbuf out, label;
    /* the memory of one moment */
    struct ctr_memory *memory;
    struct ctr_moment memory_at;
    struct ctr_diag diag;
    int error; /* of reading memory */
};

/* ---------------------------------------------------------------------- states */

static int on_state(void *arg, const struct instant_wanted *w,
                    const struct ctr_state_point *s)
{
    const struct tracer *t = arg;
    struct point *p = w->to;

    p->pc = s->pc;
    p->time_ns = s->time_ns;
    if (s->values && w->flag) {
        p->regs = malloc(t->printer.reg_bytes + 1);
        if (!p->regs) {
            return DUMP_STOP_NOMEM;
        }
        memcpy(p->regs, s->values, t->printer.reg_bytes);
    }
    return 0;
}

static int read_states(struct tracer *t, const struct call *calls, size_t n)
{
    struct instant_wanted *v = calloc(3 * n + 1, sizeof(*v)); /* flag: with registers */
    size_t wanted = 0;
    int ret = DUMP_STOP_NOMEM;

    for (size_t i = 0; v && i < n; i++) {
        const struct call *c = &calls[i];
        const struct instant *o = &c->opened;
        struct call_points *p = &t->points[i];

        if (o->ordinal > ctr_trace_thread(t->tr, o->thread)->first &&
            !(c->uncalled && t->partial)) {
            v[wanted++] = (struct instant_wanted){
                {o->thread, o->ordinal - 1}, &p->before, t->partial};
        }
        v[wanted++] = (struct instant_wanted){c->from, &p->begin, true};
        v[wanted++] = (struct instant_wanted){c->to, &p->end, true};
    }
    if (v) {
        ret = instants_read(t->tr, v, wanted, on_state, t, DUMP_STOP_NOMEM, &t->diag);
    }
    free(v);
    return ret;
}

static void free_states(struct tracer *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(t->points[i].before.regs);
        free(t->points[i].begin.regs);
        free(t->points[i].end.regs);
        t->points[i] = (struct call_points){0};
    }
}

/* ---------------------------------------------------------------------- memory */

static bool read_memory(void *arg, uint64_t addr, uint8_t *out, uint8_t *known, size_t n,
                        bool text)
{
    struct tracer *t = arg;
    int ret = t->memory ? 0
                        : memory_open(&t->memory, t->tr, t->places, &t->memory_at,
                                      t->dump->jobs, &t->diag);

    ret = ret ? ret
              : ctr_memory_read(t->memory, addr, out, known, n,
                                text ? CTR_MEMORY_TEXT : 0, &t->diag);
    t->error = t->error ? t->error : ret;
    return !ret;
}

static bool put_function(void *arg, struct textbuf *b, uint64_t addr)
{
    const struct tracer *t = arg;

    return site_address(b, t->places, t->tr, &t->memory_at, addr);
}

/* The state for printing, with the memory of that moment. */
static struct call_state state_at(struct tracer *t, const struct instant *at,
                                  const struct point *p)
{
    t->memory_at = (struct ctr_moment){at->thread, at->ordinal, p->time_ns};
    if (t->memory) {
        ctr_memory_move(t->memory, &t->memory_at);
    }
    return (struct call_state){
        .regs = p->regs, .read = read_memory, .function = put_function, .arg = t};
}

/* --------------------------------------------------------------------- a line */

/*
 * Whether the function is called by the code before and after it, not by something in
 * between that was not recorded, nor with calls of its own between them that are still
 * open: that has moved the stack pointer.
 */
static bool is_direct(const struct tracer *t, const struct call *c,
                      const struct call_points *p, const struct point *caller)
{
    uint64_t inside, outside, pushed;

    if (!(t->partial || c->open || c->paused) || !t->printer.abi || !caller->regs ||
        !p->begin.regs) {
        return true;
    }
    pushed = (uint64_t)dwarf_cfa_offset(t->info.elf_machine,
                                        t->info.addr_bits); /* by the call */
    return call_register(&t->printer, p->begin.regs, abi_stack_pointer(t->printer.abi), 0,
                         &inside) &&
           call_register(&t->printer, caller->regs, abi_stack_pointer(t->printer.abi), 0,
                         &outside) &&
           /* what returns may pop its arguments, too */
           (outside - inside == pushed ||
            (!t->partial && (int64_t)(outside - inside - pushed) > 0));
}

/*
 * Whether a call returned: whether the instruction after its end follows the one that
 * called, with its delay slot.
 */
static bool returned(const struct tracer *t, const struct call *c,
                     const struct call_points *p)
{
    uint64_t after = p->end.pc - p->before.pc;

    return p->before.pc && p->end.pc && after && after <= 16 &&
           is_direct(t, c, p, &p->end);
}

/* How a call ended. */
enum outcome {
    OUTCOME_RETURNED,
    OUTCOME_NO_RETURN,
    OUTCOME_NOT_SELECTED, /* what is selected ends before */
    OUTCOME_NOT_RECORDED, /* so does the recording, or that instruction was left out */
};

static const char *const outcome_texts[] = {
    [OUTCOME_NO_RETURN] = "no return",
    [OUTCOME_NOT_SELECTED] = "return not selected",
    [OUTCOME_NOT_RECORDED] = "return not recorded",
};

/* Whether the trace has all of a thread, up to its end. */
static bool is_whole(const struct ctr_thread *th)
{
    return th->end_reason != CTR_END_UNKNOWN && th->end_reason != CTR_END_KILLED &&
           !th->incomplete;
}

static enum outcome outcome_of(const struct tracer *t, const struct call *c,
                               const struct call_points *p)
{
    const struct ctr_thread *th = ctr_trace_thread(t->tr, c->to.thread);

    if (returned(t, c, p)) {
        return OUTCOME_RETURNED;
    }
    if (c->open && c->to.ordinal < th->first + th->insns) {
        return OUTCOME_NOT_SELECTED;
    }
    if (t->partial || c->paused || (c->open && !is_whole(th))) {
        return OUTCOME_NOT_RECORDED;
    }
    return OUTCOME_NO_RETURN;
}

static bool find_caller(struct tracer *t, const struct call *c,
                        const struct call_points *p, struct site *out)
{
    const struct instant *o = &c->opened;
    struct ctr_chunk chunk;
    struct place place;
    uint64_t until, time_ns;

    if (!p->before.pc || !is_direct(t, c, p, &p->before) ||
        (c->uncalled && !returned(t, c, p)) ||
        ctr_trace_find(t->tr, o->thread, o->ordinal - 1, &chunk, &t->diag)) {
        return false;
    }
    time_ns = places_time(t->places, &chunk, o->ordinal - 1, &until);
    if (!places_find(t->places, ctr_trace_thread(t->tr, o->thread)->process, time_ns,
                     chunk.end_ns, p->before.pc, &place)) {
        return false;
    }
    site_find(out, &place);
    return true;
}

/* Whether the caller is in what --module and --function select. */
static bool is_wanted(struct tracer *t, const struct call *c, const struct call_points *p)
{
    const struct site_options *o = t->opt->site;
    struct site site;

    return !(o->nr_modules || o->nr_functions) ||
           (find_caller(t, c, p, &site) && site_wanted(&site, o));
}

static bool put_arguments(struct tracer *t, const struct call *c,
                          const struct call_points *p, struct textbuf *out)
{
    const struct call_function *f = &t->list.tree->functions[c->function];
    struct frame_state s = {.module = f->module, .scope = SYM_NONE};

    if (!p->begin.regs) {
        return textbuf_printf(out, "...");
    }
    s.now = state_at(t, &c->from, &p->begin);
    if (f->symbol) {
        variables_begin(&s, &t->printer, f->symbol->addr, p->begin.pc);
    }
    return variables_put_arguments(out, &t->printer, f->symbol, &s);
}

/* "malloc(24) = 0x4a12a0", the arguments and result in `args' and `result'. */
struct call_text {
    struct textbuf args, result;
    bool any_result;
    enum outcome outcome;
};

static bool make_text(struct tracer *t, const struct call *c, const struct call_points *p,
                      struct call_text *out)
{
    const struct call_function *f = &t->list.tree->functions[c->function];
    struct call_state s;
    bool ok;

    out->args.len = out->result.len = 0;
    out->any_result = false;
    out->outcome = outcome_of(t, c, p);
    ok = put_arguments(t, c, p, &out->args);
    if (ok && out->outcome == OUTCOME_RETURNED && p->end.regs) {
        s = state_at(t, &c->to, &p->end);
        s.entry_regs = p->begin.regs;
        ok = call_put_result(&out->result, &t->printer, f->module, f->symbol, &s,
                             &out->any_result);
    }
    return ok;
}

/* Who called: the thread, of a machine the vCPU and its task. */
static bool put_label(struct tracer *t, const struct call *c, bool json)
{
    const bool known = c->in_task && (c->task.pid || c->task.name[0]);
    struct line_task task = {.task = known, /* its address is not shown */
                             .pid = c->task.pid,
                             .tgid = c->task.tgid,
                             .comm_bytes = (uint32_t)strlen(c->task.name)};

    memcpy(task.comm, c->task.name, task.comm_bytes);
    return thread_label(&t->label, &t->info, json,
                        ctr_trace_thread(t->tr, c->from.thread),
                        c->in_task ? &task : NULL);
}

static bool put_text(struct tracer *t, const struct call *c, const struct call_points *p,
                     const struct call_text *text)
{
    const struct call_function *f = &t->list.tree->functions[c->function];
    struct textbuf *b = &t->out;
    struct site site;
    bool ok =
        put_label(t, c, false) && textbuf_printf(b, "%10" PRIu64 "%.*s", c->from.ordinal,
                                                 (int)t->label.len, t->label.data);

    if (ok && t->dump->times && p->begin.time_ns) {
        ok = textbuf_printf(b, "[%.6f] ", seconds_of(&t->info, p->begin.time_ns));
    }
    ok = ok && textbuf_printf(b, "%2" PRIu32 "  ", c->depth) &&
         textbuf_printable(b, f->name, site_called_length(f->name)) &&
         textbuf_printf(b, "(%.*s)", (int)text->args.len,
                        text->args.len ? text->args.data : "");
    if (ok && text->outcome != OUTCOME_RETURNED) {
        ok = textbuf_printf(b, " <%s>", outcome_texts[text->outcome]);
    } else if (ok && text->any_result) {
        ok = textbuf_printf(b, " = %.*s", (int)text->result.len, text->result.data);
    }
    ok = ok && textbuf_printf(b, " <%" PRIu64 ">", c->insns);
    if (ok && find_caller(t, c, p, &site)) {
        ok = textbuf_printf(b, " from") && site_text(b, &site, t->opt->site);
    }
    return ok && textbuf_printf(b, "\n");
}

/* "returned": true, false, or null with the reason. */
static bool put_json_outcome(struct textbuf *b, enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_RETURNED:
    case OUTCOME_NO_RETURN:
        return textbuf_printf(b, ",\"returned\":%s",
                              outcome == OUTCOME_RETURNED ? "true" : "false");
    default:
        return textbuf_printf(b, ",\"returned\":null,\"return\":\"%s\"",
                              outcome_texts[outcome] + strlen("return "));
    }
}

static bool put_json(struct tracer *t, const struct call *c, const struct call_points *p,
                     const struct call_text *text)
{
    const struct call_function *f = &t->list.tree->functions[c->function];
    struct textbuf *b = &t->out;
    struct site site;
    bool ok =
        put_label(t, c, true) &&
        textbuf_printf(b,
                       "{\"kind\":\"call\",\"ordinal\":%" PRIu64 "%.*s,\"depth\":%" PRIu32
                       ",\"function\":",
                       c->from.ordinal, (int)t->label.len, t->label.data, c->depth) &&
        textbuf_json_string(b, f->name, strlen(f->name));

    if (ok && f->module) {
        ok = textbuf_printf(b, ",\"module\":") &&
             textbuf_json_string(b, f->module->path, strlen(f->module->path));
    }
    if (ok && p->begin.time_ns) {
        ok = textbuf_printf(b, ",\"time\":%.9f", seconds_of(&t->info, p->begin.time_ns));
    }
    ok = ok && textbuf_printf(b, ",\"arguments\":") &&
         textbuf_json_string(b, text->args.data, text->args.len);
    if (ok && text->any_result) {
        ok = textbuf_printf(b, ",\"result\":") &&
             textbuf_json_string(b, text->result.data, text->result.len);
    }
    ok = ok && put_json_outcome(b, text->outcome) &&
         textbuf_printf(b, ",\"instructions\":%" PRIu64, c->insns);
    if (ok && find_caller(t, c, p, &site)) {
        ok = textbuf_printf(b, ",\"caller\":{\"pc\":\"0x%" PRIx64 "\"", p->before.pc) &&
             site_json(b, &site, t->opt->site) && textbuf_printf(b, "}");
    }
    return ok && textbuf_printf(b, "}\n");
}

/* ----------------------------------------------------------------------- all */

static int print_batch(struct tracer *t, const struct call *calls, size_t n,
                       int *sys_errno)
{
    struct call_text text = {0};
    int ret = read_states(t, calls, n);

    for (size_t i = 0; !ret && i < n; i++) {
        bool wanted = is_wanted(t, &calls[i], &t->points[i]);
        bool ok = !wanted || make_text(t, &calls[i], &t->points[i], &text);

        t->listed += wanted;
        ok = ok &&
             (!wanted || (t->dump->json ? put_json(t, &calls[i], &t->points[i], &text)
                                        : put_text(t, &calls[i], &t->points[i], &text)));
        ret = !ok ? DUMP_STOP_NOMEM : t->error;
        if (!ret && (t->out.len > 65536 || i + 1 == n)) {
            ret = dump_write(t->out.data, t->out.len, sys_errno);
            t->out.len = 0;
        }
    }
    textbuf_fini(&text.args);
    textbuf_fini(&text.result);
    free_states(t, n);
    return ret;
}

static int print_all(struct tracer *t)
{
    int ret = 0, sys_errno = 0;

    for (size_t i = 0; !ret && i < t->list.n; i += BATCH) {
        size_t n = t->list.n - i < BATCH ? t->list.n - i : BATCH;
        ret = print_batch(t, t->list.v + i, n, &sys_errno);
    }
    return dump_replay_status(t->dump, ret, sys_errno, &t->diag);
}

/* What the trace lacks for arguments and results. */
static void remark(const struct tracer *t)
{
    const char *path = t->dump->path;

    if (t->dump->quiet || !t->list.n) {
        return;
    }
    if (!(t->info.events & CTR_HAS_REG)) {
        tool_error(PROG,
                   "%s: registers were not recorded (-e reg): calls without arguments "
                   "and results",
                   path);
    } else if (!t->printer.abi) {
        tool_error(PROG, "%s: how functions of %s get arguments is not known", path,
                   t->info.target);
    } else if (!(t->info.events & CTR_HAS_VAL)) {
        tool_error(PROG,
                   "%s: values were not recorded (-e val): text is shown as its address",
                   path);
    }
}

/* Why there is no call, or none of some function: TOOL_OK or TOOL_NOTHING. */
static int report_missing(const struct tracer *t)
{
    bool none = !t->listed;
    unsigned n = 0;

    if (none || !t->dump->quiet) {
        n = call_list_unmatched(t->list.tree, t->dump->path, t->places, t->opt->patterns,
                                t->opt->nr_patterns);
    }
    if (none && n < t->opt->nr_patterns) {
        tool_error(PROG, "%s: no call from what --module and --function select",
                   t->dump->path);
    }
    return none ? TOOL_NOTHING : TOOL_OK;
}

int trace_calls(struct ctr_trace *tr, const struct places *places,
                const struct trace_calls_options *opt)
{
    struct tracer t = {.tr = tr,
                       .places = places,
                       .opt = opt,
                       .dump = opt->dump,
                       .diag = {.off = CTR_NO_OFF}};
    struct calltree_options tree = {.prog = PROG,
                                    .filter = opt->filter,
                                    .jobs = opt->dump->jobs,
                                    .quiet = opt->dump->quiet};
    int status = calls_are_known(tr, PROG, t.dump->path);

    if (status) {
        return status;
    }
    ctr_trace_info(tr, &t.info);
    t.partial = t.info.selection[0] != 0;
    if (!t.info.seekable) {
        tool_error(PROG, "--trace-calls needs a file, not a stream");
        return TOOL_FAILED;
    }
    status = call_list_make(&t.list, tr, t.dump->path, places, &tree, opt->patterns,
                            opt->nr_patterns);
    call_printer_init(&t.printer, tr, t.dump->string_max, false);
    if (!status) {
        remark(&t);
        t.points = calloc(BATCH, sizeof(*t.points));
        status = t.points ? print_all(&t)
                          : dump_replay_status(t.dump, DUMP_STOP_NOMEM, 0, NULL);
        status = status ? status : report_missing(&t);
    }
    ctr_memory_close(t.memory);
    textbuf_fini(&t.out);
    textbuf_fini(&t.label);
    free(t.points);
    call_list_free(&t.list);
    return status;
}
