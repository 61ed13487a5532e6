/* SPDX-License-Identifier: MIT */
/* The calls that ran as frames of a stack; see stack_calls.h. */
#include "stack_calls.h"

#include <elf.h>
#include <stdlib.h>

#include "guest/dwarf_regs.h"
#include "tracedump.h"

#define CALL_BYTES 16u /* a call, and what is in its delay slot */

struct reader {
    struct stack_calls *c;
    struct ctr_info info;
};

/* A call pushes its return address there, which is below the CFA. */
static bool pushes(const struct ctr_info *info)
{
    return info->elf_machine == EM_X86_64 || info->elf_machine == EM_386 ||
           info->elf_machine == EM_68K;
}

static int on_state(void *arg, const struct instant_wanted *w,
                    const struct ctr_state_point *p)
{
    const struct reader *r = arg;
    struct stack_calls *c = r->c;
    const struct call_frame *f = w->to;
    const size_t i = (size_t)(f - c->frames.v);
    const struct abi *abi = c->printer->abi;
    uint64_t sp;

    c->pc[i] = f->unseen ? 0 : p->pc;
    if (!f->unseen && p->values && abi &&
        call_register(c->printer, p->values, abi_stack_pointer(abi), 0, &sp)) {
        c->cfa[i] =
            pushes(&r->info)
                ? sp
                : sp + (uint64_t)dwarf_cfa_offset(r->info.elf_machine, r->info.addr_bits);
    }
    return 0;
}

static int read_states(struct stack_calls *c)
{
    const uint32_t n = c->frames.n;
    struct instant_wanted *v = calloc(n + (size_t)1, sizeof(*v));
    struct reader r = {.c = c};
    int ret = -CTR_E_NOMEM;

    ctr_trace_info(c->tr, &r.info);
    c->pc = calloc(n + (size_t)1, sizeof(*c->pc));
    c->cfa = calloc(n + (size_t)1, sizeof(*c->cfa));
    if (v && c->pc && c->cfa) {
        for (uint32_t i = 0; i < n; i++) {
            v[i] = (struct instant_wanted){c->frames.v[i].now, &c->frames.v[i], false};
        }
        ret = instants_read(c->tr, v, n, on_state, &r, -CTR_E_NOMEM, c->diag);
    }
    free(v);
    return ret;
}

int stack_calls_open(struct stack_calls *c, const struct dump_options *opt,
                     const struct ctr_moment *at)
{
    const struct calltree_options tree = {
        .prog = PROG, .jobs = opt->jobs, .quiet = opt->quiet};
    int status;

    if (calls_known(c->tr, c->why)) {
        return TOOL_OK;
    }
    status = call_frames_find(&c->frames, c->tr, opt->path, opt->places, at, &tree);
    return status ? status : dump_replay_status(opt, read_states(c), 0, c->diag);
}

void stack_calls_close(struct stack_calls *c)
{
    call_frames_free(&c->frames);
    free(c->pc);
    free(c->cfa);
}

const struct call_function *stack_calls_function(const struct stack_calls *c, uint32_t i)
{
    return &c->frames.tree->functions[c->frames.v[i].function];
}

bool stack_calls_interrupts(const struct stack_calls *c, uint32_t i)
{
    const enum call_kind kind = stack_calls_function(c, i)->kind;

    return kind == CALL_SIGNAL || kind == CALL_EXCEPTION;
}

/* What an event says of where the code goes on; 0: nothing. */
static uint64_t event_return(const struct ctr_event *ev)
{
    struct ctr_interrupt in;
    struct ctr_signal sig;

    if (ev->kind == CTR_CURSOR_EXEC) {
        return ev->exec.pc + ev->exec.len;
    }
    return ev->kind != CTR_CURSOR_OS            ? 0
           : !ctr_parse_signal(&ev->os, &sig)   ? sig.pc
           : !ctr_parse_interrupt(&ev->os, &in) ? in.from
                                                : 0;
}

uint64_t stack_calls_return(struct stack_calls *c, uint32_t i)
{
    const struct call_frame *f = &c->frames.v[i];
    const bool interrupted = stack_calls_interrupts(c, i + 1);
    const struct instant from = interrupted ? f[1].opened : f->now;
    const struct ctr_filter filter = {.kinds = interrupted ? CTR_KIND_SYS | CTR_KIND_INT
                                                           : CTR_KIND_EXEC};
    struct ctr_cursor *cursor;
    struct ctr_event ev;
    uint64_t pc = 0;
    int ret = f->unseen ? 1 : ctr_cursor_open(&cursor, c->tr, &filter, c->diag);

    if (ret) {
        c->error = ret < 0 ? ret : c->error;
        return 0;
    }
    ret = ctr_cursor_seek_ordinal(cursor, from.thread, from.ordinal, c->diag);
    ret = ret ? ret : ctr_cursor_next(cursor, &ev, c->diag);
    while (ret == 1 &&
           !(interrupted && (ev.kind != CTR_CURSOR_OS || ev.os.ordinal > from.ordinal))) {
        pc = event_return(&ev) ? event_return(&ev) : pc;
        if (ev.kind == CTR_CURSOR_EXEC) {
            break;
        }
        ret = ctr_cursor_next(cursor, &ev, c->diag);
    }
    c->error = ret < 0 && !c->error ? ret : c->error;
    ctr_cursor_close(cursor);
    return pc;
}

/* Handlers of MIPS return to a page that the kernel maps for that, which is no file. */
static bool may_be_trampoline(const struct stack_calls *c, const struct unwind_frame *f)
{
    struct ctr_info info;

    ctr_trace_info(c->tr, &info);
    return info.elf_machine == EM_MIPS && !f->in_file;
}

bool stack_calls_agree(struct stack_calls *c, uint32_t i, const struct unwind_frame *f)
{
    if (stack_calls_interrupts(c, i)) {
        return f->is_signal || unwind_lacks_rules(f) || may_be_trampoline(c, f);
    }
    if (stack_calls_interrupts(c, i + 1)) {
        return !f->after_call && f->pc == stack_calls_return(c, i);
    }
    return c->pc[i] && f->pc > c->pc[i] && f->pc - c->pc[i] <= CALL_BYTES;
}

bool stack_calls_same_place(const struct stack_calls *c, uint32_t i,
                            const struct unwind_frame *f)
{
    return stack_calls_interrupts(c, i) || stack_calls_interrupts(c, i + 1) ||
           !c->cfa[i] || c->cfa[i] == f->inner_cfa;
}
