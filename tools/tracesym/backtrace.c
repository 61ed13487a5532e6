/* SPDX-License-Identifier: MIT */
/*
 * tracesym --backtrace: the frames are those of the call tree, so no stack is unwound: the
 * trace has where each call was made, and what the registers were there.
 */
#include "backtrace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calltree/frames.h"
#include "calltree/known.h"
#include "last_place.h"
#include "prog.h"
#include "state/call.h"
#include "state/memory_files.h"
#include "state/variables.h"

#define STOP_NOMEM 1

/* What is known of a frame besides its call. */
struct frame_at {
    const struct call_frame *call;
    /* states at the instruction that it is at, and at its begin */
    uint64_t pc;
    bool past; /* pc is that of the instruction before */
    uint8_t *regs, *entry;
    uint64_t entry_pc, entry_ns;
};

struct backtracer {
    struct ctr_trace *tr;
    const struct places *places;
    const struct backtrace_options *opt;
    const struct dump_options *dump;
    struct ctr_info info;
    struct call_printer printer;
    struct call_frames calls;
    struct frame_at *v; /* one for each */
    uint32_t n;
    struct textbuf out;
    struct ctr_memory *memory;
    struct ctr_moment memory_at;
    struct ctr_diag diag;
    int error;       /* of reading memory */
    unsigned number; /* of the next frame that is printed */
    bool no_memory;
};

/* ---------------------------------------------------------------------- frames */

static int find_frames(struct backtracer *b)
{
    const struct calltree_options tree = {
        .prog = PROG, .jobs = b->dump->jobs, .quiet = b->dump->quiet};
    int status =
        call_frames_find(&b->calls, b->tr, b->dump->path, b->places, b->opt->at, &tree);

    b->v = status ? NULL : calloc(b->calls.n + (size_t)1, sizeof(*b->v));
    if (!status && !b->v) {
        return dump_replay_status(b->dump, DUMP_STOP_NOMEM, 0, NULL);
    }
    b->n = b->v ? b->calls.n : 0;
    for (uint32_t i = 0; i < b->n; i++) {
        b->v[i].call = &b->calls.v[i];
    }
    return status;
}

/* Copies registers; NULL: none, or no memory. */
static uint8_t *copy_regs(struct backtracer *b, const uint8_t *values)
{
    uint8_t *copy = values ? malloc(b->printer.reg_bytes + 1) : NULL;

    if (copy) {
        memcpy(copy, values, b->printer.reg_bytes);
    }
    b->no_memory |= values && !copy;
    return copy;
}

/* flag: where the frame is now, else at its begin */
static int on_state(void *arg, const struct instant_wanted *w,
                    const struct ctr_state_point *s)
{
    struct backtracer *b = arg;
    struct frame_at *f = w->to;

    if (w->flag && !f->call->unseen) {
        f->pc = s->pc;
        f->regs = copy_regs(b, s->values);
    } else if (!w->flag) {
        f->entry_pc = s->pc;
        f->entry_ns = s->time_ns;
        f->entry = f->call->midway ? NULL : copy_regs(b, s->values);
    }
    return b->no_memory ? STOP_NOMEM : 0;
}

static int on_last_pc(void *arg, size_t i, const struct ctr_state_point *s)
{
    struct frame_at *f = arg;

    (void)i;
    f->pc = s->pc;
    f->past = true;
    return 0;
}

/* The states at the begin of each frame's function and where it is now. */
static int read_states(struct backtracer *b)
{
    struct instant_wanted *v = calloc(2 * (size_t)b->n + 1, sizeof(*v));
    struct frame_at *last = b->n ? &b->v[b->n - 1] : NULL;
    int ret = STOP_NOMEM;

    for (uint32_t i = 0; v && i < b->n; i++) {
        v[2 * i] = (struct instant_wanted){b->calls.v[i].from, &b->v[i], false};
        v[2 * i + 1] = (struct instant_wanted){b->calls.v[i].now, &b->v[i], true};
    }
    if (v) {
        ret =
            instants_read(b->tr, v, 2 * (size_t)b->n, on_state, b, STOP_NOMEM, &b->diag);
    }
    free(v);
    if (!ret && last && !last->pc &&
        last->call->now.ordinal >
            ctr_trace_thread(b->tr, last->call->now.thread)->first) {
        /* at the thread's end: the place is that of its last instruction */
        const uint64_t before = last->call->now.ordinal - 1;

        ret = ctr_states(b->tr, last->call->now.thread, &before, 1, on_last_pc, last,
                         &b->diag);
    }
    return ret;
}

/* ---------------------------------------------------------------------- memory */

static bool read_memory(void *arg, uint64_t addr, uint8_t *out, uint8_t *known, size_t n,
                        bool text)
{
    struct backtracer *b = arg;
    int ret = b->memory ? 0
                        : memory_open(&b->memory, b->tr, b->places, &b->memory_at,
                                      b->dump->jobs, &b->diag);

    ret = ret ? ret
              : ctr_memory_read(b->memory, addr, out, known, n,
                                text ? CTR_MEMORY_TEXT : 0, &b->diag);
    b->error = b->error ? b->error : ret;
    return !ret;
}

static bool put_function(void *arg, struct textbuf *out, uint64_t addr)
{
    const struct backtracer *b = arg;

    return site_address(out, b->places, b->tr, &b->memory_at, addr);
}

static struct call_state state_at(struct backtracer *b, struct instant at,
                                  uint64_t time_ns, const uint8_t *regs)
{
    if (b->memory_at.ordinal != at.ordinal || b->memory_at.thread != at.thread) {
        b->memory_at = (struct ctr_moment){at.thread, at.ordinal, time_ns};
        if (b->memory) {
            ctr_memory_move(b->memory, &b->memory_at);
        }
    }
    return (struct call_state){
        .regs = regs, .read = read_memory, .function = put_function, .arg = b};
}

/* ------------------------------------------------------------------------ text */

static bool find_place(struct backtracer *b, const struct frame_at *f, struct place *out)
{
    const struct ctr_thread *t = ctr_trace_thread(b->tr, f->call->now.thread);
    uint64_t ordinal =
                 f->call->now.ordinal - (f->call->now.ordinal >= t->first + t->insns),
             until;
    struct ctr_chunk chunk;

    return f->pc && !ctr_trace_find(b->tr, t->index, ordinal, &chunk, &b->diag) &&
           places_find(b->places, t->process,
                       places_time(b->places, &chunk, ordinal, &until), chunk.end_ns,
                       f->pc, out);
}

/* A frame whose variables are printed. */
struct locals {
    struct backtracer *b;
    const struct frame_at *frame;
    const struct call_function *fn; /* NULL: inlined */
};

static struct call_state state_now(struct backtracer *b, const struct frame_at *f)
{
    return state_at(b, (struct instant){b->opt->at->thread, b->opt->at->ordinal},
                    b->opt->at->time_ns, f->regs);
}

/* The value of a parameter that the prologue has not stored yet, as it was passed. */
static bool put_passed(const struct locals *l, const char *name, bool *any)
{
    struct backtracer *b = l->b;
    const struct frame_at *f = l->frame;
    struct call_state s = state_at(b, f->call->from, f->entry_ns, f->entry);
    bool ok = call_put_argument(&b->out, &b->printer, l->fn->module, l->fn->symbol, &s,
                                name, any);

    state_now(b, f); /* for the variables after it */
    return ok;
}

static bool put_local(void *arg, const char *name, bool parameter,
                      const struct textbuf *text)
{
    static const char unset[] = "<not set yet>";
    const struct locals *l = arg;
    struct backtracer *b = l->b;
    bool any = false;
    bool ok = textbuf_printf(&b->out, "        ") &&
              textbuf_printable(&b->out, name, strlen(name)) &&
              textbuf_printf(&b->out, " = ");

    if (ok && parameter && l->fn && l->frame->entry && text->len == sizeof(unset) - 1 &&
        !memcmp(text->data, unset, text->len)) {
        ok = put_passed(l, name, &any);
    }
    return ok && textbuf_printf(&b->out, "%.*s\n", any ? 0 : (int)text->len, text->data);
}

/* Whether the innermost function has written some of these bytes of its frame; true also
 * if another thread wrote them last, or the trace does not show it. */
static bool was_written(void *arg, uint64_t addr, uint64_t n)
{
    struct backtracer *b = arg;
    const struct ctr_moment *at = b->opt->at;
    const struct instant *from = &b->calls.v[b->n - 1].from;
    const struct ctr_thread *t = ctr_trace_thread(b->tr, at->thread);
    struct ctr_range range = {addr, addr + n, 0};
    struct ctr_filter filter = {.kinds = CTR_KIND_STORE | CTR_KIND_SYS,
                                .processes = &t->process,
                                .nprocess = 1,
                                .addrs = &range,
                                .naddr = 1};
    struct ctr_found found;
    int ret;

    if (b->info.selection[0] || !(b->info.events & CTR_HAS_MEM)) {
        return true;
    }
    ret = ctr_search(b->tr, &filter, at->thread, at->ordinal, CTR_SEARCH_BACK,
                     b->dump->jobs, &found, &b->diag);
    b->error = b->error || ret >= 0 ? b->error : ret;
    return ret < 0 || (ret == 1 && (found.thread->index != from->thread ||
                                    found.ordinal >= from->ordinal));
}

/* The frame at the moment: what a function, or one inlined in it, sees. */
static struct frame_state state_of(struct backtracer *b, const struct frame_at *f,
                                   const struct place *place, uint32_t scope)
{
    struct frame_state s = {.module = place->module,
                            .vaddr = place->vaddr,
                            .bias = f->pc - place->vaddr,
                            .scope = scope};

    s.now = state_now(b, f);
    if (f == &b->v[b->n - 1] && f->call->from.thread == b->opt->at->thread) {
        s.written = was_written;
    }
    variables_set_entry(&s, &b->printer, f->entry);
    return s;
}

static bool put_locals(struct backtracer *b, const struct frame_at *f,
                       const struct call_function *fn, const struct place *place,
                       uint32_t scope)
{
    struct frame_state s = state_of(b, f, place, scope);
    struct locals l = {b, f, fn};

    return variables_each(&b->printer, &s, put_local, &l);
}

/* What a function was called with. */
static bool put_arguments(struct backtracer *b, const struct frame_at *f,
                          const struct call_function *fn)
{
    struct frame_state s = {.module = fn->module, .scope = SYM_NONE};

    if (!f->entry) {
        return textbuf_printf(&b->out, "...");
    }
    s.now = state_at(b, f->call->from, f->entry_ns, f->entry);
    if (fn->symbol) {
        variables_begin(&s, &b->printer, fn->symbol->addr, f->entry_pc);
    }
    return variables_put_arguments(&b->out, &b->printer, fn->symbol, &s);
}

/* A line of the output: a function, or one that the compiler inlined. */
struct line {
    const struct call_function *fn; /* NULL: inlined */
    const char *name;
    const char *file; /* NULL: not known */
    uint32_t line;
    uint32_t scope; /* SYM_NONE: not known */
    bool outer;     /* after a call: the line begins with the address */
};

/* "#1  0x1234 in main (argc=1) at /src/app.c:12"; place: NULL if not known */
static bool put_line(struct backtracer *b, const struct frame_at *f, const struct line *l,
                     const struct place *place)
{
    struct textbuf *o = &b->out;
    bool ok = textbuf_printf(o, "#%-2u ", b->number++);

    if (ok && l->outer && f->pc) { /* not known after the last instruction */
        ok = textbuf_printf(o, "0x%" PRIx64 " in ", f->pc);
    }
    ok = ok && textbuf_printable(o, l->name, site_called_length(l->name)) &&
         textbuf_printf(o, " (");
    if (ok && l->fn && (f->entry || !f->regs || l->scope == SYM_NONE)) {
        ok = put_arguments(b, f, l->fn);
    } else if (ok && f->regs && l->scope != SYM_NONE) {
        struct frame_state s = state_of(b, f, place, l->scope);

        ok = variables_put_parameters(o, &b->printer, &s);
    }
    ok = ok && textbuf_printf(o, ")");
    if (ok && l->file) {
        ok = textbuf_printf(o, " at") && site_source(o, l->file, l->line, b->opt->site);
    } else if (ok && l->fn && l->fn->module) {
        ok = textbuf_printf(o, " from ") &&
             textbuf_printable(o, l->fn->module->path, strlen(l->fn->module->path));
    }
    ok = ok && textbuf_printf(o, "\n");
    return ok && (!b->opt->locals || !place || f->past ||
                  put_locals(b, f, l->fn, place, l->scope));
}

/* The innermost instance at a place, SYM_NONE if it is not known. */
static uint32_t innermost(const struct place *place)
{
    const struct sym_range *r = place && place->module->file
                                    ? symfile_range(place->module->file, place->vaddr)
                                    : NULL;

    return r ? r->scope : SYM_NONE;
}

/* A frame with those that the compiler inlined in it. */
static bool put_frames(struct backtracer *b, const struct frame_at *f)
{
    const struct call_function *fn = &b->calls.tree->functions[f->call->function];
    const struct sym_scope *scopes;
    struct place place;
    struct site site;
    bool found = find_place(b, f, &place), ok = true;
    uint32_t scope = innermost(found ? &place : NULL);
    unsigned last;

    if (fn->kind == CALL_SIGNAL || fn->kind == CALL_EXCEPTION) {
        return textbuf_printf(&b->out, "#%-2u <%s>\n", b->number++, fn->name);
    }
    site_find(&site, found ? &place : NULL);
    last = site.nr_frames ? site.nr_frames - 1 : 0;
    for (unsigned i = 0; ok && i <= last; i++) {
        const struct sym_frame *in = i < site.nr_frames ? &site.frames[i] : NULL;
        struct line l = {.fn = i == last ? fn : NULL,
                         .name = i == last ? fn->name : in->function,
                         .file = in ? in->file : NULL,
                         .line = in ? in->line : 0,
                         .scope = scope,
                         .outer = i == 0};

        l.name = l.name ? l.name : "??";
        ok = put_line(b, f, &l, found ? &place : NULL);
        if (scope != SYM_NONE) {
            symfile_scopes(place.module->file, &scopes);
            scope = scopes[scope].parent;
        }
    }
    return ok;
}

static int print_all(struct backtracer *b)
{
    int ret = read_states(b), sys_errno = 0;

    for (uint32_t i = b->n; !ret && i-- > 0;) {
        ret = !put_frames(b, &b->v[i]) ? STOP_NOMEM : b->error;
    }
    if (!ret) {
        ret = dump_write(b->out.data, b->out.len, &sys_errno);
    }
    return dump_replay_status(b->dump, ret == STOP_NOMEM ? DUMP_STOP_NOMEM : ret,
                              sys_errno, &b->diag);
}

static void remark(const struct backtracer *b)
{
    if (b->dump->quiet) {
        return;
    }
    if (!(b->info.events & CTR_HAS_REG)) {
        tool_error(PROG,
                   "%s: registers were not recorded (-e reg): frames without arguments",
                   b->dump->path);
    } else if (b->opt->locals && !(b->info.events & CTR_HAS_VAL)) {
        tool_error(PROG,
                   "%s: values were not recorded (-e val): variables in memory are not "
                   "known",
                   b->dump->path);
    }
}

/* Whether the thread has come to the moment in code that was recorded: TOOL_OK, or another
 * status after a line on stderr. */
static int check_end(struct backtracer *b)
{
    const struct ctr_thread *t = ctr_trace_thread(b->tr, b->opt->at->thread);
    uint64_t pc;
    int ret = 0;

    if (b->info.selection[0] && b->opt->at->ordinal >= t->first + t->insns) {
        ret = last_place_unseen(b->tr, t, &pc, &b->diag);
    }
    if (ret == 1) {
        tool_error(PROG,
                   "%s: the instruction at 0x%" PRIx64 " that the signal came at was not "
                   "recorded (%s): who called it is not known; the last one recorded is "
                   "%" PRIu64,
                   b->dump->path, pc, b->info.selection, t->first + t->insns - 1);
        return TOOL_NOTHING;
    }
    return ret ? dump_replay_status(b->dump, ret, 0, &b->diag) : TOOL_OK;
}

int backtrace(struct ctr_trace *tr, const struct places *places,
              const struct backtrace_options *opt)
{
    struct backtracer b = {.tr = tr,
                           .places = places,
                           .opt = opt,
                           .dump = opt->dump,
                           .diag = {.off = CTR_NO_OFF}};
    int status = calls_are_known(tr, PROG, opt->dump->path);

    if (status) {
        return status;
    }
    ctr_trace_info(tr, &b.info);
    call_printer_init(&b.printer, tr, opt->dump->string_max, false);
    b.memory_at = *opt->at;
    status = check_end(&b);
    status = status ? status : find_frames(&b);
    if (!status && !b.n) {
        tool_error(PROG, "%s: the thread is in no function yet", opt->dump->path);
        status = TOOL_NOTHING;
    } else if (!status) {
        remark(&b);
        status = print_all(&b);
    }
    ctr_memory_close(b.memory);
    textbuf_fini(&b.out);
    for (uint32_t i = 0; i < b.n; i++) {
        free(b.v[i].regs);
        free(b.v[i].entry);
    }
    free(b.v);
    call_frames_free(&b.calls);
    return status;
}
