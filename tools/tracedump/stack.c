/* SPDX-License-Identifier: MIT */
/*
 * tracedump --state --stack: the calls that a thread is in at a moment.  Callers are found in
 * two ways, which check each other: by call frame information, as a debugger does, from the
 * registers and memory of the moment; and by the calls that ran, which need neither and are
 * right also where the stack is destroyed.  Where call frame information does not lead on, it
 * begins anew at the next frame, whose registers at its call are known.
 *
 * Where both differ, stack pointers decide.  A call that was made from the frame's place on the
 * stack is right: its return address was overwritten.  Else the frame is of another stack, as
 * after a switch of coroutines, of which the calls can be wrong (calltree.h).
 */
#include "stack.h"

#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "stack_calls.h"
#include "stack_memory.h"
#include "state/memory_files.h"
#include "state/unwind.h"
#include "tracedump.h"

#define AHEAD 10000u /* frames that only one of both ways may have */

struct stack {
    struct ctr_trace *tr;
    const struct dump_options *opt;
    const struct ctr_moment *at;
    const struct ctr_thread *thread;
    struct ctr_info info;
    struct call_printer printer;
    struct unwinder unwinder;
    struct stack_memory own;   /* what the thread itself has accessed lately ... */
    struct ctr_memory *memory; /* ... and what else is known; NULL: not needed yet */
    struct stack_calls calls;
    uint8_t *regs;            /* of a state; NULL: not recorded */
    struct unwind_frame here; /* the frame that was printed last, if `live': */
    bool live;                /* its registers are known */
    uint32_t i;               /* that frame in calls; SYM_NONE: none of them */
    bool apart;               /* it is of another stack than the calls from i - 1 on */
    struct stack_printer out;
    struct ctr_diag diag;
    int error;
};

static bool read_memory(void *arg, uint64_t addr, uint8_t *out, uint8_t *known, size_t n,
                        bool text)
{
    struct stack *s = arg;
    int ret = text ? 0 : stack_memory_read(&s->own, addr, out, n, &s->diag);

    if (ret) {
        memset(known, 1, n);
        s->error = s->error || ret > 0 ? s->error : ret;
        return ret > 0;
    }
    ret = s->memory ? 0
                    : memory_open(&s->memory, s->tr, s->opt->places, s->at, s->opt->jobs,
                                  &s->diag);
    ret = ret ? ret
              : ctr_memory_read(s->memory, addr, out, known, n,
                                text ? CTR_MEMORY_TEXT : 0, &s->diag);
    s->error = s->error ? s->error : ret;
    return !ret;
}

/* ----------------------------------------------------------------------- output */

static void put_frame(struct stack *s, const struct stack_frame *f)
{
    if (!s->error && !stack_put(&s->out, f)) {
        s->error = -CTR_E_NOMEM;
    }
}

/* The frame `here'; other: what the calls have instead, or 0. */
static void put_here(struct stack *s, unsigned by, uint64_t other)
{
    const struct unwind_frame *u = &s->here;
    struct stack_frame f = {.by = by,
                            .has_pc = true,
                            .after_call = u->after_call,
                            .has_place = u->in_file,
                            .pc = u->pc,
                            .is_signal = u->is_signal,
                            .other_pc = other,
                            .place = u->place};

    if (by & STACK_CALLS && stack_calls_interrupts(&s->calls, s->i)) {
        f.is_signal = true;
        f.name = stack_calls_function(&s->calls, s->i)->name;
    }
    put_frame(s, &f);
}

/* Makes the registers those that call i had when it called. */
static void take_state(struct stack *s, uint32_t i)
{
    const struct call_frame *c = &s->calls.frames.v[i];
    uint64_t pc, time_ns;
    int ret;

    s->live = s->regs && !c->unseen;
    if (s->live) {
        ret = ctr_state_at(s->tr, c->now.thread, c->now.ordinal, s->regs, &pc, &time_ns,
                           &s->diag);
        s->error = s->error ? s->error : ret;
        unwind_begin(&s->unwinder, &s->here, pc, false, s->regs);
    }
}

/* Goes on to the call i, which the rules did not find, and prints it. */
static void take_call(struct stack *s, uint32_t i, const char *why,
                      const struct unwind_frame *other)
{
    struct stack_frame f = {.by = STACK_CALLS,
                            .name = stack_calls_function(&s->calls, i)->name};

    s->live = false;
    if (stack_calls_interrupts(&s->calls, i)) {
        f.is_signal = true;
    } else {
        f.pc = stack_calls_return(&s->calls, i);
        f.has_pc = f.pc != 0;
        f.after_call = !stack_calls_interrupts(&s->calls, i + 1);
    }
    if (!f.is_signal && f.has_pc) {
        f.has_place =
            places_find(s->unwinder.places, s->unwinder.process, s->unwinder.time_ns,
                        s->unwinder.chunk_end_ns, f.pc - f.after_call, &f.place);
    }
    if (!f.is_signal) {
        take_state(s, i);
    }
    if (s->regs && other) {
        f.other_pc = other->pc;
    } else if (s->regs) {
        f.why = why;
    }
    s->i = i;
    put_frame(s, &f);
}

/* ------------------------------------------------------------------------ walk */

/* Whether the rules lead on from `next': to one of the calls above i, to the first frame of
 * a stack, or to code that has no rules.  Rules that are wrong lead elsewhere. */
static bool leads_on(struct stack *s, uint32_t i, const struct unwind_frame *next)
{
    struct unwind_frame f = *next, up;
    enum unwind_result got = UNWIND_CALLER;
    const char *why = NULL;

    for (unsigned n = 0; n < AHEAD; n++) {
        got = unwind_next(&s->unwinder, &f, &up, &why);
        if (got != UNWIND_CALLER || (stack_calls_agree(&s->calls, i, &up) &&
                                     stack_calls_same_place(&s->calls, i, &up))) {
            break;
        }
        f = up;
    }
    return got == UNWIND_OUTERMOST ? !why
                                   : got == UNWIND_CALLER || unwind_lacks_rules(&f);
}

/* The call above i that a frame is of; SYM_NONE: none. */
static uint32_t call_of(struct stack *s, uint32_t i, const struct unwind_frame *f)
{
    if (stack_calls_agree(&s->calls, i - 1, f)) {
        return i - 1;
    }
    for (uint32_t k = i - 1; k-- > 0 && i - k <= AHEAD;) {
        if (s->calls.cfa[k] && s->calls.cfa[k] == f->inner_cfa &&
            stack_calls_agree(&s->calls, k, f)) {
            return k;
        }
    }
    return SYM_NONE;
}

/* Goes on to `next', which the rules found for a frame that was called. */
static void go_to(struct stack *s, const struct unwind_frame *next)
{
    const uint32_t match = call_of(s, s->i, next), i = s->i - 1;

    if (match != SYM_NONE) {
        while (!s->apart && s->i - 1 > match) {
            take_call(s, s->i - 1, NULL, NULL);
        }
        s->i = match;
        s->live = true;
        s->apart = false;
        s->here = *next;
        put_here(s, STACK_CFI | STACK_CALLS, 0);
        if (!stack_calls_same_place(&s->calls, match, next) &&
            !leads_on(s, match, next)) {
            take_state(s, match); /* the rules of the frame before are wrong in part */
        }
    } else if (s->apart ||
               (!stack_calls_same_place(&s->calls, i, next) && leads_on(s, i, next))) {
        s->here = *next;
        put_here(s, STACK_CFI, s->apart ? 0 : stack_calls_return(&s->calls, i));
        s->apart = true;
    } else {
        take_call(s, i, NULL, next);
    }
}

/* Whether the frame is the one that its thread began in, all of which was recorded. */
static bool is_first(const struct stack *s)
{
    return s->i == 0 && !s->apart && !s->calls.frames.v[0].opened.ordinal &&
           !s->info.selection[0];
}

/* The last line. */
static void put_end(struct stack *s, bool outermost, const char *why)
{
    const bool first = is_first(s);
    const bool whole = first || outermost;

    why = first       ? "the thread began in it"
          : outermost ? "by its rules nothing called it"
                      : why;
    if (!stack_put_end(&s->out, why, *s->calls.why && !whole ? s->calls.why : NULL,
                       whole)) {
        s->error = -CTR_E_NOMEM;
    }
}

/* Goes to the caller of the frame that was printed; false at the end, which is printed. */
static bool go_up(struct stack *s)
{
    static const char no_regs[] = "registers were not recorded (-e reg)";
    const bool called = s->i != SYM_NONE && s->i > 0;
    const char *why = s->regs ? NULL : no_regs;
    struct unwind_frame next;
    enum unwind_result got =
        s->live ? unwind_next(&s->unwinder, &s->here, &next, &why) : UNWIND_LOST;

    if (s->error) {
        return false;
    }
    if (called && got == UNWIND_CALLER && !s->calls.frames.v[s->i].uncalled) {
        go_to(s, &next);
    } else if (called && got != UNWIND_CALLER && !s->apart) {
        take_call(s, s->i - 1,
                  got == UNWIND_OUTERMOST ? "by its rules nothing called it" : why, NULL);
    } else if (got == UNWIND_CALLER && (s->apart || !is_first(s))) {
        s->i = SYM_NONE;
        s->here = next;
        put_here(s, STACK_CFI, 0);
    } else {
        put_end(s, got == UNWIND_OUTERMOST, why ? why : "its caller is not known");
        return false;
    }
    s->error = s->error ? s->error : s->calls.error;
    return !s->error;
}

/* ----------------------------------------------------------------------- begin */

/* The place at the end of a thread is after its last instruction. */
static int find_end(struct stack *s, uint64_t *pc)
{
    const struct ctr_filter filter = {.kinds = CTR_KIND_EXEC};
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret = ctr_cursor_open(&c, s->tr, &filter, &s->diag);

    if (ret) {
        return ret;
    }
    ret = ctr_cursor_seek_ordinal(c, s->thread->index, s->at->ordinal - 1, &s->diag);
    ret = ret ? ret : ctr_cursor_next(c, &ev, &s->diag);
    if (ret == 1) {
        *pc = ev.exec.pc + ev.exec.len;
        ret = 0;
    }
    ctr_cursor_close(c);
    return ret;
}

/* Reads the state at the moment and makes it the first frame. */
static int begin(struct stack *s)
{
    const struct ctr_thread *t = s->thread;
    const bool ended = s->at->ordinal >= t->first + t->insns;
    const uint64_t ordinal = s->at->ordinal - (ended && t->insns);
    struct ctr_chunk chunk;
    uint64_t pc = 0, time_ns, until;
    int ret = ctr_trace_find(s->tr, t->index, ordinal, &chunk, &s->diag);

    if (ret) {
        return ret;
    }
    if (s->info.events & CTR_HAS_REG) {
        s->regs = malloc(s->printer.reg_bytes + 1);
        if (!s->regs) {
            return -CTR_E_NOMEM;
        }
    }
    ret = ctr_state_at(s->tr, t->index, s->at->ordinal, s->regs, &pc, &time_ns, &s->diag);
    ret = ret == -CTR_E_INVAL && !s->regs ? 0 : ret;
    if (!ret && ended && t->insns) {
        ret = find_end(s, &pc);
    }
    s->unwinder =
        (struct unwinder){.printer = &s->printer,
                          .places = s->opt->places,
                          .process = t->process,
                          .time_ns = places_time(s->opt->places, &chunk, ordinal, &until),
                          .chunk_end_ns = chunk.end_ns,
                          .read = read_memory,
                          .arg = s};
    unwind_begin(&s->unwinder, &s->here, pc, ended, s->regs);
    s->live = s->regs != NULL;
    return ret;
}

int dump_stack(struct ctr_trace *tr, const struct dump_options *opt,
               const struct ctr_moment *at)
{
    struct stack s = {.tr = tr,
                      .opt = opt,
                      .at = at,
                      .thread = ctr_trace_thread(tr, at->thread),
                      .out = {.json = opt->json},
                      .own = {.tr = tr, .at = at, .jobs = opt->jobs},
                      .diag = {.off = CTR_NO_OFF}};
    int status, ret, sys_errno = 0;

    ctr_trace_info(tr, &s.info);
    s.out.digits = s.info.addr_bits / 4;
    call_printer_init(&s.printer, tr, opt->string_max, false);
    s.calls = (struct stack_calls){.tr = tr, .printer = &s.printer, .diag = &s.diag};
    status = stack_calls_open(&s.calls, opt, at);
    if (!status) {
        s.i = s.calls.frames.n ? s.calls.frames.n - 1 : SYM_NONE;
        ret = begin(&s);
        s.error = s.error ? s.error : ret;
        if (!s.error && !opt->json && !textbuf_printf(&s.out.out, "stack\n")) {
            s.error = -CTR_E_NOMEM;
        }
        if (!s.error) {
            put_here(&s, STACK_STATE, 0);
        }
        while (!s.error && go_up(&s)) {
        }
        ret = s.error ? s.error : dump_write(s.out.out.data, s.out.out.len, &sys_errno);
        status = dump_replay_status(opt, ret, sys_errno, &s.diag);
    }
    ctr_memory_close(s.memory);
    stack_memory_fini(&s.own);
    textbuf_fini(&s.out.out);
    stack_calls_close(&s.calls);
    free(s.regs);
    return status;
}
