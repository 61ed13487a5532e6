/* SPDX-License-Identifier: MIT */
/*
 * tracedump --state: a thread's registers, its process's mappings and its next
 * instruction, at any position in the thread.
 */
#include "tracedump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/options.h"
#include "guest/disas.h"
#include "guest/guest.h"
#include "input/machine.h"
#include "input/mappings.h"
#include "input/trace.h"

struct state {
    const struct dump_options *opt;
    const struct ctr_moment *request;
    struct ctr_trace *tr;
    struct ctr_info info;
    const struct ctr_thread *thread;
    struct mappings *modules;
    const struct ctr_maps *maps; /* those of `modules', or NULL */
    struct textbuf out, label;   /* label: of the thread, in JSON */
    struct guest guest;
    struct line_task task; /* of a machine: that of the next instruction, */
    const char *privilege; /* and its privilege; "": not known */
    uint8_t *values;       /* CTR_REG_STRIDE each; NULL: not recorded */
    uint32_t nr_regs;
    uint64_t pc, time_ns;
    bool has_next; /* the next instruction is known */
    struct ctr_chunk chunk;
    uint64_t time; /* for the mappings */
    char disas[DISAS_TEXT_MAX + 1];
    uint8_t bytes[64];
    unsigned len;
    unsigned mappings; /* shown so far */
    bool ok;
};

/* Disassembles the instruction.  Those before it in the block may change its meaning. */
static bool disassemble(struct state *s, const struct ctr_exec *e)
{
    struct disas *d = disas_new(s->info.elf_machine, s->info.big_endian, s->info.target);
    const struct ctr_block *b = e->block;
    size_t n = 0;

    if (!d) {
        return false;
    }
    disas_block(d, b->mode);
    for (unsigned i = 0; i <= e->insn; i++) {
        n = disas_insn(d, ctr_block_pc(b, i), ctr_block_bytes(b, i), ctr_block_len(b, i),
                       s->disas);
    }
    s->disas[n] = 0;
    disas_free(d);
    return true;
}

/* Reads the instruction at the position, if any. */
static int read_next(struct state *s, struct ctr_diag *diag)
{
    struct ctr_filter filter = {.kinds = CTR_KIND_EXEC};
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret;

    if (s->request->ordinal - s->thread->first >= s->thread->insns) {
        return 0;
    }
    ret = ctr_cursor_open(&c, s->tr, &filter, diag);
    if (ret < 0) {
        return ret;
    }
    ret = ctr_cursor_seek_ordinal(c, s->thread->index, s->request->ordinal, diag);
    if (ret == 0) {
        ret = ctr_cursor_next(c, &ev, diag);
    }
    if (ret > 0) {
        s->has_next = true;
        s->pc = ev.exec.pc;
        s->len = ev.exec.len < sizeof(s->bytes) ? ev.exec.len : sizeof(s->bytes);
        memcpy(s->bytes, ev.exec.bytes, s->len);
        ret = s->opt->no_disas || disassemble(s, &ev.exec) ? 0 : -CTR_E_NOMEM;
    }
    ctr_cursor_close(c);
    return ret;
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct state *s = arg;

    line_task_take(&s->task, job);
    s->privilege = guest_privilege_name(&s->guest, e->block->privilege);
    return 0;
}

/* What a machine is doing there: reads the instruction at the position again, with the
 * task that executes it. */
static int read_machine(struct state *s, struct ctr_diag *diag)
{
    const uint64_t ordinal = s->request->ordinal;
    const struct ctr_filter filter = {.kinds = CTR_KIND_EXEC,
                                      .threads = &s->thread->index,
                                      .nthread = 1,
                                      .from = ordinal,
                                      .to = ordinal + 1};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter, .tasks = 1};
    const struct ctr_replay_ops ops = {.exec = on_exec};

    guest_init(&s->guest, &s->info);
    return s->has_next ? ctr_replay(s->tr, &ops, s, &opts, diag) : 0;
}

/* A register's value, highest byte first, all its digits. */
static bool put_value(struct state *s, const struct ctr_reg *reg)
{
    const uint8_t *v = s->values + (size_t)reg->index * CTR_REG_STRIDE;
    unsigned n = reg->size;
    bool whole = !s->opt->json || reg->flags & CTR_REG_VECTOR;
    bool ok = textbuf_printf(&s->out, "0x");

    while (!whole && n > 1 && !v[n - 1]) {
        n--;
    }
    ok = ok && textbuf_printf(&s->out, whole ? "%02x" : "%x", v[n - 1]);
    while (ok && --n) {
        ok = textbuf_printf(&s->out, "%02x", v[n - 1]);
    }
    return ok;
}

static bool module_at(const struct state *s, uint64_t pc, struct place *out)
{
    return s->opt->places && places_find(s->opt->places, s->thread->process, s->time,
                                         s->chunk.end_ns, pc, out);
}

/* ------------------------------------------------------------------- text */

static int text_mapping(void *arg, const struct ctr_mapping *m)
{
    struct state *s = arg;

    s->ok = put_mapping_text(&s->out, m);
    return !s->ok;
}

static bool put_next_text(struct state *s)
{
    struct place at;
    bool ok;

    if (!s->has_next) {
        return textbuf_printf(&s->out, "next       none: the thread ended here\n");
    }
    ok = textbuf_printf(&s->out, "next       0x%" PRIx64, s->pc);
    if (ok && module_at(s, s->pc, &at)) {
        const char *name = at.module->name;
        ok = textbuf_printf(&s->out, " ") &&
             textbuf_printable(&s->out, name, strlen(name)) &&
             textbuf_printf(&s->out, "+0x%" PRIx64, at.vaddr);
    }
    ok = ok && textbuf_printf(&s->out, " ");
    for (unsigned i = 0; ok && i < s->len; i++) {
        ok = textbuf_printf(&s->out, "%02x", s->bytes[i]);
    }
    return ok && (s->opt->no_disas || textbuf_printf(&s->out, " %s", s->disas)) &&
           textbuf_printf(&s->out, "\n");
}

static bool put_reg_text(struct state *s, const struct ctr_reg *reg)
{
    struct textbuf *b = &s->out;
    size_t len = strlen(reg->name);

    return textbuf_printf(b, "  ") && textbuf_printable(b, reg->name, len) &&
           textbuf_printf(b, "%*s", (int)(len < 12 ? 12 - len : 1), "") &&
           put_value(s, reg) && textbuf_printf(b, "\n");
}

/* The task, the privilege. */
static bool put_machine_text(struct state *s)
{
    struct textbuf *b = &s->out;
    bool ok = true;

    if (s->has_next && s->info.events & CTR_HAS_TASK) {
        ok = s->task.task ? textbuf_printf(b, "task       ") &&
                                textbuf_printable(b, s->task.comm, s->task.comm_bytes) &&
                                textbuf_printf(b, "-%u\n", s->task.pid)
                          : textbuf_printf(b, "task       not known\n");
    }
    return ok && (!*s->privilege || textbuf_printf(b, "privilege  %s\n", s->privilege));
}

static bool put_text(struct state *s)
{
    struct textbuf *b = &s->out;
    const struct ctr_thread *t = s->thread;
    const struct ctr_reg *reg;
    char id[THREAD_TEXT];
    bool ok =
        textbuf_printf(
            b, "thread     %s\nplace      before ordinal %" PRIu64 " of %" PRIu64 "%s\n",
            tool_thread_text(&s->info, t->pid, t->tid, id), s->request->ordinal,
            s->opt->insns ? s->opt->insns : t->first + t->insns,
            s->request->before_system ? " and the system call before it" : "") &&
        textbuf_printf(b, "time       %.6f s\n", seconds_of(&s->info, s->time_ns)) &&
        put_machine_text(s) && put_next_text(s) &&
        textbuf_printf(b, s->values ? "registers\n" : "registers  not recorded\n");

    for (unsigned g = 0; ok && s->values && g < REG_GROUPS; g++) {
        for (uint32_t i = 0; ok && (reg = ctr_trace_reg(s->tr, i)); i++) {
            ok = reg_group(reg) != g || put_reg_text(s, reg);
        }
    }
    if (ok && !s->info.machine) { /* which has none */
        ok = textbuf_printf(b, s->modules ? "mappings\n" : "mappings   not recorded\n");
    }
    if (ok && s->modules) {
        s->ok = true;
        ctr_maps_each(s->maps, t->process, s->time, text_mapping, s);
        ok = s->ok;
    }
    return ok;
}

/* ------------------------------------------------------------------- JSON */

static int json_mapping(void *arg, const struct ctr_mapping *m)
{
    struct state *s = arg;

    s->ok = textbuf_printf(&s->out, s->mappings++ ? ",{" : "{") &&
            put_mapping_json(&s->out, m) && textbuf_printf(&s->out, "}");
    return !s->ok;
}

static bool put_next_json(struct state *s)
{
    struct place at;
    bool ok = textbuf_printf(&s->out, ",\"next\":{\"pc\":\"0x%" PRIx64 "\",\"bytes\":\"",
                             s->pc);

    for (unsigned i = 0; ok && i < s->len; i++) {
        ok = textbuf_printf(&s->out, "%02x", s->bytes[i]);
    }
    ok = ok && textbuf_printf(&s->out, "\"");
    if (ok && !s->opt->no_disas) {
        ok = textbuf_printf(&s->out, ",\"disas\":") &&
             textbuf_json_string(&s->out, s->disas, strlen(s->disas));
    }
    if (ok && module_at(s, s->pc, &at)) {
        const char *path = at.module->path;
        ok = textbuf_printf(&s->out, ",\"module\":") &&
             textbuf_json_string(&s->out, path, strlen(path)) &&
             textbuf_printf(&s->out, ",\"module_offset\":\"0x%" PRIx64 "\"", at.vaddr);
    }
    return ok && textbuf_printf(&s->out, "}");
}

static bool put_json(struct state *s)
{
    struct textbuf *b = &s->out;
    const struct ctr_reg *reg;
    bool ok =
        thread_label(&s->label, &s->info, true, s->thread, &s->task) &&
        textbuf_printf(b, "{\"kind\":\"state\",\"ordinal\":%" PRIu64 "%.*s",
                       s->request->ordinal, (int)s->label.len, s->label.data) &&
        (!*s->privilege || textbuf_printf(b, ",\"privilege\":\"%s\"", s->privilege)) &&
        textbuf_printf(b, ",\"time\":%.9f", seconds_of(&s->info, s->time_ns)) &&
        (!s->has_next || put_next_json(s));

    if (ok && s->values) {
        ok = textbuf_printf(b, ",\"registers\":{");
        for (uint32_t i = 0; ok && (reg = ctr_trace_reg(s->tr, i)); i++) {
            ok = textbuf_printf(b, i ? "," : "") &&
                 textbuf_json_string(b, reg->name, strlen(reg->name)) &&
                 textbuf_printf(b, ":\"") && put_value(s, reg) && textbuf_printf(b, "\"");
        }
        ok = ok && textbuf_printf(b, "}");
    }
    if (ok && s->modules) {
        ok = textbuf_printf(b, ",\"mappings\":[");
        s->ok = ok;
        if (ok) {
            ctr_maps_each(s->maps, s->thread->process, s->time, json_mapping, s);
        }
        ok = s->ok && textbuf_printf(b, "]");
    }
    return ok && textbuf_printf(b, "}\n");
}

/* --------------------------------------------------------------------------- */

/* Makes the registers those after the instruction before, without what the system changed
 * since then. */
static int read_before_system(struct state *s, struct ctr_diag *diag)
{
    const uint64_t ordinal = s->request->ordinal - 1;
    struct ctr_filter filter = {.kinds = CTR_KIND_REG,
                                .threads = &s->thread->index,
                                .nthread = 1,
                                .from = ordinal,
                                .to = ordinal + 1};
    struct ctr_cursor *c;
    struct ctr_event ev;
    uint64_t pc, time_ns;
    int ret =
        ctr_state_at(s->tr, s->thread->index, ordinal, s->values, &pc, &time_ns, diag);

    ret = ret ? ret : ctr_cursor_open(&c, s->tr, &filter, diag);
    if (ret) {
        return ret;
    }
    while ((ret = ctr_cursor_next(c, &ev, diag)) == 1) {
        const struct ctr_reg_change *r = &ev.reg;
        if (ev.kind == CTR_CURSOR_REG && !r->outside && r->reg < s->nr_regs) {
            memcpy(s->values + (size_t)r->reg * CTR_REG_STRIDE, r->value, r->size);
        }
    }
    ctr_cursor_close(c);
    return ret;
}

/* Reads everything to show; 0, an enum dump_stop or an error of libctr. */
static int read_state(struct state *s, struct ctr_diag *diag)
{
    uint64_t until;
    int ret =
        ctr_trace_find(s->tr, s->thread->index, s->request->ordinal, &s->chunk, diag);

    if (ret) {
        return ret;
    }
    if (s->info.events & CTR_HAS_REG) {
        while (ctr_trace_reg(s->tr, s->nr_regs)) {
            s->nr_regs++;
        }
        s->values = calloc(s->nr_regs + 1u, CTR_REG_STRIDE);
        if (!s->values) {
            return DUMP_STOP_NOMEM;
        }
    }
    ret = ctr_state_at(s->tr, s->thread->index, s->request->ordinal, s->values, &s->pc,
                       &s->time_ns, diag);
    if (ret == -CTR_E_INVAL && !s->values) {
        ret = 0;
    }
    if (!ret && s->request->before_system) {
        s->time_ns = s->request->time_ns;
        if (s->values && s->request->ordinal > s->thread->first) {
            ret = read_before_system(s, diag);
        }
    }
    ret = ret ? ret
              : mappings_load(&s->modules, s->tr, s->opt->path,
                              s->opt->no_index ? CTR_OPEN_NO_INDEX : 0, 0, diag);
    if (!ret && s->modules) {
        s->time = s->request->before_system
                      ? s->time_ns
                      : mappings_time(s->modules, &s->chunk, s->request->ordinal, &until);
        s->time = s->time_ns > s->time ? s->time_ns : s->time;
        s->maps = mappings_history(s->modules, s->time);
        ret = s->maps ? 0 : mappings_error(s->modules, diag);
    } else if (!ret && s->opt->places) {
        s->time = places_time(s->opt->places, &s->chunk, s->request->ordinal, &until);
    }
    ret = ret ? ret : read_next(s, diag);
    return ret || !s->info.machine ? ret : read_machine(s, diag);
}

int dump_state(struct ctr_trace *tr, const struct dump_options *opt,
               const struct ctr_moment *at)
{
    struct state s = {.opt = opt, .request = at, .tr = tr, .privilege = ""};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret, sys_errno = 0, status;

    ctr_trace_info(tr, &s.info);
    s.thread = ctr_trace_thread(tr, at->thread);
    ret = read_state(&s, &diag);
    if (!ret) {
        ret = (opt->json ? put_json(&s) : put_text(&s))
                  ? dump_write(s.out.data, s.out.len, &sys_errno)
                  : DUMP_STOP_NOMEM;
    }
    status = dump_replay_status(opt, ret, sys_errno, &diag);
    if (status == TOOL_OK) {
        status = tool_mappings_status(PROG, opt->path, s.modules);
    }
    if (status == TOOL_OK) {
        status = places_status(opt->places);
    }
    mappings_free(s.modules);
    textbuf_fini(&s.out);
    textbuf_fini(&s.label);
    free(s.values);
    return status;
}
