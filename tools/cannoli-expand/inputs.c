/* SPDX-License-Identifier: MIT */
/*
 * The events of a thread in their order, as cannoli/inputs.h lays them out.  Left out is what
 * the second execution has of its own: what was chosen to be recorded, and key frames.
 */
#include "inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/inputs.h"
#include "common/options.h"
#include "files.h"

struct writer {
    const struct light *light;
    const struct start *start; /* of the command */
    const struct window *window;
    struct start program; /* of the thread that is written, if argc is not 0 */
    struct files files;
    FILE *out;
    struct inputs_header header;
    struct inputs_thread *threads, *thread; /* all; the one that is written */
    uint64_t ordinal;                       /* of the last event */
    bool ended;                             /* it was the thread's end */
    uint64_t open, cut; /* ordinals where it is recorded from (or WINDOW_ALL), and to */
    bool opened;
};

/* Writes bytes, and zeros up to a multiple of 8. */
static void put(struct writer *w, const void *p, size_t n)
{
    static const uint8_t zeros[8];

    fwrite(p, 1, n, w->out);
    fwrite(zeros, 1, (8 - n % 8) % 8, w->out);
}

static void put_input(struct writer *w, const struct input *in, const void *payload)
{
    put(w, in, sizeof(*in));
    put(w, payload, in->bytes);
    w->thread->bytes += INPUT_SIZE(in->bytes);
}

static bool holds(const struct ctr_map *m, uint64_t addr)
{
    return addr && addr - m->start < m->size;
}

/* A mapping of a file; among them are those of the program and its ELF interpreter. */
static int put_map(struct writer *w, const struct ctr_map *m, struct input *in)
{
    const struct start *s = &w->program;
    const int status = files_number(&w->files, m, &in->file);

    if (!status && s->argc && m->op == CTR_MAP_INITIAL && in->file != INPUTS_NO_FILE) {
        if (holds(m, s->phdr) || (!s->phdr && holds(m, s->entry))) {
            w->thread->program = in->file;
        }
        if (holds(m, s->base)) {
            w->thread->loader = in->file;
        }
    }
    return status;
}

static int put_event(struct writer *w, const struct ctr_os_event *e)
{
    struct input in = {.insns = e->ordinal - w->ordinal,
                       .time_ns = e->time_ns,
                       .type = e->type,
                       .bytes = e->size,
                       .file = INPUTS_NO_FILE};
    struct ctr_thread_event thread;
    struct ctr_usermem mem;
    struct ctr_gate gate;
    struct ctr_map map;
    int status = TOOL_OK;

    if (e->type == CTR_EVENT_SELECT || e->type == CTR_EVENT_GATE) {
        return ctr_parse_gate(e, &gate) || gate.open
                   ? TOOL_OK
                   : light_refuse(w->light, "a part of the program was not recorded");
    }
    if (!ctr_parse_usermem(e, &mem) && mem.flags & CTR_USERMEM_WRITE &&
        mem.n < mem.size) {
        return light_refuse(w->light, "not all memory that the system wrote is in it");
    }
    w->ended = !ctr_parse_thread(e, &thread) && thread.op == CTR_THREAD_END;
    if (!ctr_parse_map(e, &map)) {
        status = put_map(w, &map, &in);
    }
    put_input(w, &in, e->payload);
    w->ordinal = e->ordinal;
    return status;
}

/* An input of this program's own, at an ordinal. */
static void put_own(struct writer *w, uint32_t type, uint64_t ordinal)
{
    const struct input in = {
        .insns = ordinal - w->ordinal, .type = type, .file = INPUTS_NO_FILE};

    put_input(w, &in, "");
    w->ordinal = ordinal;
}

static void put_open(struct writer *w)
{
    put_own(w, INPUT_OPEN, w->open);
    w->opened = true;
}

/* Whether the event comes after the end of the window, or where the thread waits for its next
 * slice, which others have after that. */
static bool is_beyond(const struct writer *w, const struct ctr_os_event *e)
{
    struct ctr_slice slice;

    return e->ordinal > w->cut ||
           (!ctr_parse_slice(e, &slice) && slice.number > w->window->upto);
}

/* An event, and before or after it the place where the thread is recorded from on: after all
 * that the system did before its first instruction there, so that key frames have that. */
static int put_next(struct writer *w, const struct ctr_os_event *e)
{
    struct ctr_slice slice;
    int status;

    if (!w->opened && e->ordinal > w->open) {
        put_open(w);
    }
    status = put_event(w, e);
    if (!status && !w->opened && !ctr_parse_slice(e, &slice) &&
        slice.number > w->window->after) {
        put_open(w);
    }
    return status;
}

/*
 * The event of the clocks comes after the instructions that read them: of those before the end
 * of the window it may come after that.  e: the event where the cursor is.
 */
static int put_clocks(struct writer *w, struct ctr_cursor *c, struct ctr_event *e)
{
    struct ctr_input input;
    struct ctr_diag diag;
    int ret = 1;

    while (ret > 0 &&
           (ctr_parse_input(&e->os, &input) || input.what != CTR_INPUT_CLOCK)) {
        ret = ctr_cursor_next(c, e, &diag);
    }
    if (ret < 0) {
        return light_error(w->light, ret, &diag);
    }
    w->ordinal = e->os.ordinal;
    return ret ? put_event(w, &e->os) : TOOL_OK;
}

static int put_events(struct writer *w, const struct ctr_thread *t)
{
    const struct ctr_filter filter = {.kinds = CTR_KIND_SYS | CTR_KIND_MAP |
                                               CTR_KIND_THR | CTR_KIND_MARK |
                                               CTR_KIND_INPUT | CTR_KIND_ORDER,
                                      .nthread = 1,
                                      .threads = &t->index};
    struct ctr_cursor *c;
    struct ctr_event ev;
    struct ctr_diag diag;
    int ret = ctr_cursor_open(&c, w->light->tr, &filter, &diag), status = TOOL_OK;

    if (ret) {
        return light_error(w->light, ret, &diag);
    }
    w->ordinal = 0;
    w->ended = false;
    while (!status && (ret = ctr_cursor_next(c, &ev, &diag)) > 0 &&
           !is_beyond(w, &ev.os)) {
        status = put_next(w, &ev.os);
    }
    if (ret >= 0 && !status && !w->ended) {
        if (!w->opened && w->open < w->cut) {
            put_open(w);
        }
        put_own(w, INPUT_CUT, w->cut);
        status = ret ? put_clocks(w, c, &ev) : TOOL_OK;
    }
    ctr_cursor_close(c);
    return ret < 0 ? light_error(w->light, ret, &diag) : status;
}

static void put_string(struct writer *w, const char *s)
{
    const size_t n = strlen(s) + 1;

    fwrite(s, 1, n, w->out);
    w->thread->string_bytes += (uint32_t)n;
}

/* What the program was given to execve. */
static void put_strings(struct writer *w, uint64_t offset)
{
    const struct start *s = &w->program;

    w->thread->strings = offset;
    w->thread->argc = (uint32_t)s->argc;
    put_string(w, s->execfn);
    for (int i = 0; i < s->argc; i++) {
        put_string(w, s->argv[i]);
    }
    for (int i = 0; i < s->envc; i++) {
        put_string(w, s->envp[i]);
    }
    while (w->thread->string_bytes % 8) {
        put_string(w, "");
    }
}

/* Whether a program begins with the thread. */
static int is_program(const struct writer *w, const struct ctr_thread *t, bool *is)
{
    const struct ctr_filter filter = {
        .kinds = CTR_KIND_THR, .nthread = 1, .threads = &t->index};
    struct ctr_thread_event begin;
    struct ctr_cursor *c;
    struct ctr_event ev;
    struct ctr_diag diag;
    int ret = ctr_cursor_open(&c, w->light->tr, &filter, &diag);

    *is = !t->index;
    if (ret) {
        return light_error(w->light, ret, &diag);
    }
    ret = ctr_cursor_next(c, &ev, &diag);
    if (ret > 0 && !ctr_parse_thread(&ev.os, &begin) && begin.op == CTR_THREAD_EXEC) {
        *is = true;
    }
    ctr_cursor_close(c);
    return ret < 0 ? light_error(w->light, ret, &diag) : TOOL_OK;
}

static int put_program(struct writer *w, const struct ctr_thread *t, uint64_t *offset)
{
    bool is;
    int status = is_program(w, t, &is);

    if (!status && is) {
        status = start_read(&w->program, w->light, t->index);
    }
    status = status ? status : put_events(w, t);
    *offset += w->thread->bytes;
    if (!status && is) {
        put_strings(w, *offset);
        *offset += w->thread->string_bytes;
        if (w->thread->program == INPUTS_NO_FILE) {
            status = light_refuse(w->light, "%s itself is not in it", w->program.execfn);
        }
    }
    start_free(&w->program);
    w->program = (struct start){.argc = 0};
    return status;
}

/* The inputs of a thread, which begin at *offset of the file. */
static int put_thread(struct writer *w, const struct ctr_thread *t, uint64_t *offset)
{
    const struct ctr_process *p = ctr_trace_process(w->light->tr, t->process);
    const uint64_t end = w->window->end[t->index];

    w->open = w->window->first[t->index];
    w->cut = end < t->insns ? end : t->insns;
    w->opened = !w->open;
    w->thread = &w->threads[t->index];
    *w->thread = (struct inputs_thread){.offset = *offset,
                                        .pid = t->pid,
                                        .tid = t->tid,
                                        .ppid = p->ppid,
                                        .ptid = t->ptid,
                                        .start_ns = t->start_ns,
                                        .first = w->open < w->cut ? w->open : w->cut,
                                        .program = INPUTS_NO_FILE,
                                        .loader = INPUTS_NO_FILE};
    return w->window->begun[t->index] ? put_program(w, t, offset) : TOOL_OK;
}

/* What the reader finds first; most of it is known only at the end. */
static void put_header(struct writer *w)
{
    put(w, &w->header, sizeof(w->header));
    for (uint32_t i = 0; i < w->header.nr_threads; i++) {
        put(w, &w->threads[i], sizeof(w->threads[i]));
    }
}

static int put_all(struct writer *w)
{
    const struct ctr_info *info = &w->light->info;
    uint64_t offset = sizeof(w->header) + info->threads * sizeof(*w->threads);
    int status = TOOL_OK;

    w->header = (struct inputs_header){.magic = INPUTS_MAGIC,
                                       .version = INPUTS_VERSION,
                                       .nr_threads = info->threads,
                                       .seed = w->start->seed,
                                       .start_ns = info->start_ns,
                                       .start_realtime_ns = info->start_realtime_ns};
    w->threads = calloc(info->threads, sizeof(*w->threads));
    if (!w->threads) {
        return light_refuse(w->light, "no memory");
    }
    put_header(w);
    for (uint32_t i = 0; !status && i < info->threads; i++) {
        status = put_thread(w, ctr_trace_thread(w->light->tr, i), &offset);
    }
    if (!status) {
        rewind(w->out);
        put_header(w);
    }
    free(w->threads);
    return status;
}

int inputs_write(const struct light *l, const struct start *start,
                 const struct window *window, const char *folder)
{
    struct writer w = {.light = l, .start = start, .window = window};
    bool failed;
    char *name;
    int status;

    if (asprintf(&name, "%s/%s", folder, INPUTS_NAME) < 0) {
        return light_refuse(l, "no memory");
    }
    w.out = fopen(name, "wxe");
    failed = !w.out;
    status = failed ? TOOL_OK : files_open(&w.files, l, folder);
    if (!failed && !status) {
        status = put_all(&w);
        files_close(&w.files);
    }
    if (w.out) {
        failed = ferror(w.out) != 0;
        failed |= fclose(w.out) != 0;
    }
    if (!status && failed) {
        tool_error(l->prog, "%s: %s", name, strerror(errno));
        status = TOOL_FAILED;
    }
    free(name);
    return status;
}
