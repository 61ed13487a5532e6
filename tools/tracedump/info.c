/* SPDX-License-Identifier: MIT */
/*
 * tracedump --info: describes a recording, as text and as one JSON object.
 *
 * It reads only the tables of a file, the events of mappings, threads and machines, and the
 * index, to check it for damage.  It reads a whole stream, as the totals are known at the
 * end.  The mappings of a stream are not shown, since their history is kept for files
 * only.
 */
#include "tracedump.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cannoli/events.h"
#include "guest/disas.h"
#include "guest/guest.h"
#include "common/array.h"
#include "common/options.h"
#include "input/comm.h"
#include "input/machine.h"
#include "input/trace.h"
#include "machine_facts.h"
#include "file_facts.h"
#include "memory_facts.h"

/* Bytes of a process's arguments that text shows. */
#define ARGS_TEXT 120u

/* Everything that --info shows besides the tables of processes and threads. */
struct facts {
    struct ctr_info info;
    char start[40];           /* date and time, UTC */
    char disas[40];           /* the disassembler, "" if there is none */
    struct comm_table *names; /* of the threads, and the arguments of processes */
    uint64_t *changes;        /* of mappings, per process */
    size_t nr_changes;
    struct ctr_maps *maps; /* NULL: not known */
    struct machine_facts *machine;
    struct memory_facts *memory;
    struct ctr_files *files;  /* NULL: of a stream */
    uint64_t events_bytes;    /* of the file, without them */
    struct ctr_diag *damages; /* in parts that reading does not need: the first ones */
    uint32_t nr_damages;
    uint64_t damaged; /* number of all such damages */
    struct progress progress;
};

#define MAX_DAMAGES 16u

/* Of these kinds it reads the events. */
#define INFO_EVENTS                                                                      \
    (CTR_HAS_MAP | CTR_HAS_THR | CTR_HAS_INT | CTR_HAS_CTX | CTR_HAS_PWR | CTR_HAS_RAM | \
     CTR_HAS_DMA | CTR_HAS_IO | CTR_HAS_TASK)

/* What a worker passes on: of a change of a mapping NOTE_CHANGE, of an event of a machine
 * NOTE_MACHINE and what machine_facts.h makes of it, of one of its memory NOTE_MEMORY and
 * what memory_facts.h does (each of these after a 0), of an event of threads what comm.h
 * does. */
enum { NOTE_CHANGE = 1, NOTE_MACHINE = 2, NOTE_MEMORY = 3 };
struct note {
    uint32_t zero, what;
};

static bool put_note(struct ctr_job *job, uint32_t what)
{
    const struct note note = {.what = what};

    return ctr_job_append(job, &note, sizeof(note)) == 0;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct ctr_map m;
    bool ok;

    (void)arg;
    if (e->type == CTR_EVENT_MAP) {
        ok = ctr_parse_map(e, &m) != 0 || m.op == CTR_MAP_INITIAL ||
             put_note(job, NOTE_CHANGE);
    } else if (e->type == CTR_EVENT_THREAD) {
        ok = comm_take(job, e) == 0;
    } else if (machine_event(e)) {
        ok = put_note(job, NOTE_MACHINE) && machine_take(job, e) == 0;
    } else if (memory_event(e)) {
        ok = put_note(job, NOTE_MEMORY) && memory_take(job, e) == 0;
    } else {
        ok = true;
    }
    return ok ? 0 : DUMP_STOP_NOMEM;
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    (void)arg;
    (void)job;
    (void)r;
    return 0;
}

static bool count_change(struct facts *f, uint32_t process)
{
    if (!array_reserve_zeroed(&f->changes, &f->nr_changes, process + (size_t)1,
                              sizeof(*f->changes))) {
        return false;
    }
    f->changes[process]++;
    return true;
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t size)
{
    const struct ctr_thread *t = ctr_job_thread(job);
    struct facts *f = arg;
    struct note note;
    size_t n;

    for (const char *p = data; size >= sizeof(note); p += n, size -= n) {
        memcpy(&note, p, sizeof(note));
        if (note.zero) {
            n = comm_put(f->names, t, p);
        } else if (note.what == NOTE_MACHINE) {
            n = machine_put(f->machine, t, p + sizeof(note));
            n += n ? sizeof(note) : 0;
        } else if (note.what == NOTE_MEMORY) {
            n = memory_put(f->memory, p + sizeof(note));
            n += n ? sizeof(note) : 0;
        } else {
            n = count_change(f, t->process) ? sizeof(note) : 0;
        }
        if (!n) {
            return DUMP_STOP_NOMEM;
        }
    }
    return 0;
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct facts *f = arg;

    progress_update(&f->progress, p->bytes_done, p->bytes, p->insns_done, "instructions");
    return 0;
}

/*
 * Reads names and mappings; reads a stream to its end.  Returns an exit status; even if
 * it is not TOOL_OK, what has been read of a file may be shown.
 */
static int read_facts(struct ctr_trace *tr, const struct dump_options *opt,
                      struct facts *f)
{
    struct ctr_replay_ops ops = {.os = on_os, .ordered = on_ordered};
    struct ctr_filter filter = {.kinds = CTR_KIND_MAP | CTR_KIND_THR | CTR_KIND_INT |
                                         CTR_KIND_CTX | CTR_KIND_PWR | CTR_KIND_RAM |
                                         CTR_KIND_DMA | CTR_KIND_IO | CTR_KIND_TASK};
    struct ctr_replay_opts ropts = {.workers = 1};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret = 0, status = TOOL_OK;

    f->names = comm_new();
    f->machine = machine_facts_new(&f->info);
    f->memory = memory_facts_new(&f->info);
    if (!f->names || !f->machine || !f->memory) {
        return dump_replay_status(opt, DUMP_STOP_NOMEM, 0, NULL);
    }
    if (f->info.seekable && f->info.events & CTR_HAS_MAP) {
        ret = ctr_maps_load(&f->maps, tr, &diag);
        status = dump_replay_status(opt, ret, 0, &diag);
    }
    if (!ret && (!f->info.seekable || f->info.events & INFO_EVENTS)) {
        if (f->info.seekable) {
            ropts.filter = &filter;
        } else {
            ops.run = on_run; /* makes the replay read every chunk */
        }
        progress_init(&f->progress, PROG, opt->quiet);
        ops.progress = f->progress.on ? on_progress : NULL;
        ret = ctr_replay(tr, &ops, f, &ropts, &diag);
        progress_clear(&f->progress);
        status = dump_replay_status(opt, ret, 0, &diag);
    }
    ctr_trace_info(tr, &f->info);
    memory_facts_end(f->memory);
    return machine_facts_end(f->machine, tr)
               ? status
               : dump_replay_status(opt, DUMP_STOP_NOMEM, 0, NULL);
}

static int on_damage(void *arg, const struct ctr_diag *damage)
{
    struct facts *f = arg;

    f->damaged++;
    if (f->nr_damages == MAX_DAMAGES) {
        return 0;
    }
    if (!f->damages && !(f->damages = calloc(MAX_DAMAGES, sizeof(*f->damages)))) {
        return DUMP_STOP_NOMEM;
    }
    f->damages[f->nr_damages++] = *damage;
    return 0;
}

/* Checks the parts that nothing else reads for damage; an exit status. */
static int check_rest(struct ctr_trace *tr, const struct dump_options *opt,
                      struct facts *f)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret = ctr_trace_check(tr, on_damage, f, &diag);

    if (ret || !f->damaged) {
        return dump_replay_status(opt, ret, 0, &diag);
    }
    if (!opt->quiet) {
        const struct ctr_diag *d = &f->damages[0];
        tool_error(PROG,
                   "%s: %s: %s (at offset %" PRIu64 "); no event is missing "
                   "because of it",
                   strcmp(opt->path, "-") ? opt->path : "standard input", d->field,
                   d->text, d->off);
    }
    return TOOL_PARTIAL;
}

static double seconds(const struct facts *f, uint64_t ns)
{
    return seconds_of(&f->info, ns);
}

static uint64_t map_changes(const struct facts *f, uint32_t process)
{
    return process < f->nr_changes ? f->changes[process] : 0;
}

static double per(double what, uint64_t of)
{
    return of ? what / (double)of : 0;
}

static const struct {
    uint32_t bit;
    const char *name;
} event_names[] = {
    {CTR_HAS_EXEC, "exec"},   {CTR_HAS_MEM, "mem"},     {CTR_HAS_VAL, "val"},
    {CTR_HAS_REG, "reg"},     {CTR_HAS_SYS, "sys"},     {CTR_HAS_MAP, "map"},
    {CTR_HAS_THR, "thr"},     {CTR_HAS_INT, "int"},     {CTR_HAS_CTX, "ctx"},
    {CTR_HAS_TIME, "time"},   {CTR_HAS_ORDER, "order"}, {CTR_HAS_PHYS, "phys"},
    {CTR_HAS_PWR, "pwr"},     {CTR_HAS_RAM, "ram"},     {CTR_HAS_DMA, "dma"},
    {CTR_HAS_IO, "io"},       {CTR_HAS_TASK, "task"},   {CTR_HAS_KEY, "key"},
    {CTR_HAS_INPUT, "input"},
};

static bool put_events(struct textbuf *b, uint32_t events, const char *quote)
{
    const char *between = "";
    bool ok = true;

    for (size_t i = 0; ok && i < sizeof(event_names) / sizeof(*event_names); i++) {
        if (events & event_names[i].bit) {
            ok =
                textbuf_printf(b, "%s%s%s%s", between, quote, event_names[i].name, quote);
            between = ",";
        }
    }
    return ok;
}

static const char *const reg_groups[REG_GROUPS] = {"general", "special", "vector"};

/* ------------------------------------------------------------------- text */

/* "name          text" */
static bool put_line(struct textbuf *b, const char *name, const char *text)
{
    return textbuf_printf(b, "%-14s", name) && textbuf_printable(b, text, strlen(text)) &&
           textbuf_printf(b, "\n");
}

static bool put_end(struct textbuf *b, const struct facts *f, uint64_t end_ns,
                    uint32_t reason, int32_t status)
{
    bool ok = textbuf_printf(b, "  %s", end_name(reason));

    if (ok &&
        (reason == CTR_END_GROUP || reason == CTR_END_SIGNAL || reason == CTR_END_EXIT)) {
        ok = textbuf_printf(b, " %d", status);
    }
    if (ok && reason == CTR_END_SIGNAL) {
        char name[GUEST_SIGNAL_MAX];
        struct guest g;

        guest_init(&g, &f->info);
        ok = textbuf_printf(b, " (%s)", guest_signal_name(&g, (unsigned)status, name));
    }
    if (ok && end_ns) {
        ok = textbuf_printf(b, " at %.3f s", seconds(f, end_ns));
    }
    return ok;
}

/* The names of the registers, by group, in lines that fit a terminal. */
static bool put_regs_text(struct textbuf *b, const struct ctr_trace *tr)
{
    const struct ctr_reg *r;
    bool ok = textbuf_printf(b, "registers\n");

    for (unsigned g = 0; ok && g < REG_GROUPS; g++) {
        size_t line = 0;
        for (uint32_t i = 0; ok && (r = ctr_trace_reg(tr, i)) != NULL; i++) {
            if (reg_group(r) != g) {
                continue;
            }
            if (!line || b->len - line > 80) {
                ok = textbuf_printf(b, "%s  %-10s", line ? "\n" : "",
                                    line ? "" : reg_groups[g]);
                line = b->len;
            }
            ok = ok && textbuf_printf(b, " ") &&
                 textbuf_printable(b, r->name, strlen(r->name));
        }
        ok = ok && (!line || textbuf_printf(b, "\n"));
    }
    return ok;
}

static int text_mapping(void *arg, const struct ctr_mapping *m)
{
    struct textbuf *b = arg;

    return !textbuf_printf(b, "  ") || !put_mapping_text(b, m);
}

static bool put_maps_text(struct textbuf *b, const struct ctr_trace *tr,
                          const struct facts *f)
{
    const struct ctr_process *p;
    bool ok = textbuf_printf(b, "mappings\n");

    for (uint32_t i = 0; ok && (p = ctr_trace_process(tr, i)) != NULL; i++) {
        ok = textbuf_printf(b, "  %d  after %" PRIu64 " changes\n", p->pid,
                            map_changes(f, i)) &&
             !ctr_maps_each(f->maps, i, UINT64_MAX - 1, text_mapping, b);
    }
    return ok;
}

/* What was dropped because only the newest part was kept. */
static bool put_dropped_text(struct textbuf *b, const struct ctr_info *in)
{
    return !in->dropped_chunks ||
           textbuf_printf(b,
                          "dropped       %" PRIu64 " instructions, %" PRIu64
                          " loads, %" PRIu64 " stores in %" PRIu64 " chunks before\n",
                          in->dropped_insns, in->dropped_loads, in->dropped_stores,
                          in->dropped_chunks);
}

static bool put_dropped_json(struct textbuf *b, const struct ctr_info *in)
{
    return !in->dropped_chunks ||
           textbuf_printf(b,
                          ",\"dropped\":{\"instructions\":%" PRIu64 ",\"loads\":%" PRIu64
                          ",\"stores\":%" PRIu64 ",\"chunks\":%" PRIu64 "}",
                          in->dropped_insns, in->dropped_loads, in->dropped_stores,
                          in->dropped_chunks);
}

static bool put_damages_text(struct textbuf *b, const struct facts *f)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < f->nr_damages; i++) {
        const struct ctr_diag *d = &f->damages[i];
        ok = textbuf_printf(b, "damaged       %s, at offset %" PRIu64 ": %s\n", d->field,
                            d->off, d->text);
    }
    return ok && (f->damaged == f->nr_damages ||
                  textbuf_printf(b, "damaged       %" PRIu64 " more places\n",
                                 f->damaged - f->nr_damages));
}

static bool put_damages_json(struct textbuf *b, const struct facts *f)
{
    bool ok = !f->damaged || textbuf_printf(b, ",\"damaged\":[");

    for (uint32_t i = 0; ok && i < f->nr_damages; i++) {
        const struct ctr_diag *d = &f->damages[i];
        ok = textbuf_printf(b, "%s{\"what\":", i ? "," : "") &&
             textbuf_json_string(b, d->field, strlen(d->field)) &&
             textbuf_printf(b, ",\"offset\":%" PRIu64 ",\"text\":", d->off) &&
             textbuf_json_string(b, d->text, strlen(d->text)) && textbuf_printf(b, "}");
    }
    return ok && (!f->damaged || textbuf_printf(b, "]"));
}

static bool put_argv_text(struct textbuf *b, const struct facts *f, uint32_t process)
{
    const struct program p = comm_program(f->names, process);

    return !p.args.n ||
           (textbuf_printf(b, "  argv ") && args_put_shell(b, &p, ARGS_TEXT));
}

static bool put_text(struct textbuf *b, const struct ctr_trace *tr, const struct facts *f)
{
    const struct ctr_info *in = &f->info;
    char id[THREAD_TEXT];
    const struct ctr_process *p;
    const struct ctr_thread *t;
    bool ok = textbuf_printf(b, "command      ");

    for (int i = 0; ok && i < in->argc; i++) {
        ok = textbuf_printf(b, " ") &&
             textbuf_shell_word(b, in->argv[i], strlen(in->argv[i]));
    }
    ok = ok &&
         textbuf_printf(b, "\nrecorded      %s, %.3f s\n", f->start,
                        seconds(f, in->end_ns)) &&
         put_line(b, "recorder", in->recorder) && put_line(b, "target", in->target) &&
         textbuf_printf(b, "machine       %u bits, %s-endian, ELF machine %u\n",
                        in->addr_bits, in->big_endian ? "big" : "little",
                        in->elf_machine) &&
         put_line(b, "qemu", in->qemu_version) &&
         put_line(b, "disassembly", f->disas[0] ? f->disas : "none for this target") &&
         (!in->selection[0] || put_line(b, "selection", in->selection)) &&
         textbuf_printf(b, "events        ") && put_events(b, in->events, "") &&
         textbuf_printf(b, "\n") &&
         textbuf_printf(b, "state         %s, format version %u%s\n",
                        tool_state_name(in->state), in->version,
                        in->has_index ? ", indexed" : "") &&
         put_damages_text(b, f) &&
         textbuf_printf(b, "instructions  %" PRIu64 "\n", in->insns) &&
         textbuf_printf(b, "loads         %" PRIu64 "\n", in->loads) &&
         textbuf_printf(b, "stores        %" PRIu64 "\n", in->stores) &&
         put_dropped_text(b, in) && textbuf_printf(b, "blocks        %u\n", in->blocks) &&
         textbuf_printf(b,
                        "size          %" PRIu64 " bytes in %" PRIu64
                        " chunks, %.2f bits per instruction, ratio %.2f\n",
                        in->file_bytes, in->chunks,
                        per(8.0 * (double)f->events_bytes, in->insns),
                        per((double)in->raw_bytes, f->events_bytes)) &&
         textbuf_printf(b, "processes     %u\n", in->processes);
    for (uint32_t i = 0; ok && (p = ctr_trace_process(tr, i)) != NULL; i++) {
        ok = textbuf_printf(b, "  %d", p->pid) &&
             (!p->host_pid || textbuf_printf(b, " (host's %d)", p->host_pid)) &&
             textbuf_printf(b, "  parent %d  from %.3f s", p->ppid,
                            seconds(f, p->start_ns)) &&
             put_end(b, f, p->end_ns, p->end_reason, p->end_status) &&
             put_argv_text(b, f, i) && textbuf_printf(b, "\n");
    }
    ok = ok && textbuf_printf(b, "threads       %u\n", in->threads);
    for (uint32_t i = 0; ok && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        ok = textbuf_printf(b,
                            "  %s  %" PRIu64 " instructions, %" PRIu64 " loads, %" PRIu64
                            " stores",
                            tool_thread_text(in, t->pid, t->tid, id), t->insns, t->loads,
                            t->stores) &&
             put_end(b, f, t->end_ns, t->end_reason, t->end_status) &&
             textbuf_printf(b, "%s", t->incomplete ? "  incomplete" : "");
        const char *name = comm_last(f->names, i);
        if (ok && *name) {
            ok = textbuf_printf(b, "  named ") &&
                 syscall_put_quoted(b, (const uint8_t *)name, strlen(name), false);
        }
        ok = ok && textbuf_printf(b, "\n");
    }
    ok = ok && machine_facts_text(b, f->machine) && memory_facts_text(b, f->memory) &&
         file_facts_text(b, f->files);
    if (ok && in->events & CTR_HAS_REG) {
        ok = put_regs_text(b, tr);
    }
    return ok && (!f->maps || put_maps_text(b, tr, f));
}

/* ------------------------------------------------------------------- JSON */

static bool put_argv_json(struct textbuf *b, const struct facts *f, uint32_t process)
{
    const struct program p = comm_program(f->names, process);

    return args_put_json(b, &p);
}

static bool put_member(struct textbuf *b, const char *name, const char *value)
{
    return textbuf_printf(b, ",\"%s\":", name) &&
           textbuf_json_string(b, value, strlen(value));
}

static bool put_json_end(struct textbuf *b, const struct facts *f, uint64_t start_ns,
                         uint64_t end_ns, uint32_t reason, int32_t status)
{
    return textbuf_printf(b, ",\"start\":%.9f", seconds(f, start_ns)) &&
           (!end_ns || textbuf_printf(b, ",\"end\":%.9f", seconds(f, end_ns))) &&
           put_member(b, "end_reason", end_name(reason)) &&
           textbuf_printf(b, ",\"end_status\":%d", status);
}

static bool put_regs_json(struct textbuf *b, const struct ctr_trace *tr)
{
    const struct ctr_reg *r;
    bool ok = textbuf_printf(b, ",\"registers\":[");

    for (uint32_t i = 0; ok && (r = ctr_trace_reg(tr, i)) != NULL; i++) {
        ok = textbuf_printf(b, "%s{\"name\":", i ? "," : "") &&
             textbuf_json_string(b, r->name, strlen(r->name)) &&
             textbuf_printf(b, ",\"size\":%u,\"group\":\"%s\"}", r->size,
                            reg_groups[reg_group(r)]);
    }
    return ok && textbuf_printf(b, "]");
}

/* The output array of mappings. */
struct map_array {
    struct textbuf *b;
    int32_t pid;
    unsigned n;
};

static int json_mapping(void *arg, const struct ctr_mapping *m)
{
    struct map_array *a = arg;

    return !textbuf_printf(a->b, "%s{\"pid\":%d,", a->n++ ? "," : "", a->pid) ||
           !put_mapping_json(a->b, m) || !textbuf_printf(a->b, "}");
}

static bool put_maps_json(struct textbuf *b, const struct ctr_trace *tr,
                          const struct facts *f)
{
    struct map_array a = {.b = b};
    const struct ctr_process *p;
    bool ok = textbuf_printf(b, ",\"maps\":[");

    for (uint32_t i = 0; ok && (p = ctr_trace_process(tr, i)) != NULL; i++) {
        a.pid = p->pid;
        ok = !ctr_maps_each(f->maps, i, UINT64_MAX - 1, json_mapping, &a);
    }
    return ok && textbuf_printf(b, "]");
}

static bool put_json(struct textbuf *b, const struct ctr_trace *tr, const struct facts *f)
{
    const struct ctr_info *in = &f->info;
    const struct ctr_process *p;
    const struct ctr_thread *t;
    bool ok = textbuf_printf(b, "{\"format_version\":%u,\"command\":[", in->version);

    for (int i = 0; ok && i < in->argc; i++) {
        ok = textbuf_printf(b, i ? "," : "") &&
             textbuf_json_string(b, in->argv[i], strlen(in->argv[i]));
    }
    ok =
        ok && textbuf_printf(b, "]") && put_member(b, "recorded", f->start) &&
        textbuf_printf(b, ",\"duration\":%.9f", seconds(f, in->end_ns)) &&
        put_member(b, "recorder", in->recorder) && put_member(b, "target", in->target) &&
        put_member(b, "qemu_version", in->qemu_version) &&
        textbuf_printf(b, ",\"elf_machine\":%u,\"address_bits\":%u,\"big_endian\":%s",
                       in->elf_machine, in->addr_bits,
                       in->big_endian ? "true" : "false") &&
        (!f->disas[0] || put_member(b, "disassembler", f->disas)) &&
        (!in->selection[0] || put_member(b, "selection", in->selection)) &&
        textbuf_printf(b, ",\"events\":[") && put_events(b, in->events, "\"") &&
        textbuf_printf(b, "]") && put_member(b, "state", tool_state_name(in->state)) &&
        textbuf_printf(b, ",\"indexed\":%s", in->has_index ? "true" : "false") &&
        put_damages_json(b, f) &&
        textbuf_printf(b,
                       ",\"instructions\":%" PRIu64 ",\"loads\":%" PRIu64
                       ",\"stores\":%" PRIu64 ",\"blocks\":%u,\"chunks\":%" PRIu64
                       ",\"file_bytes\":%" PRIu64 ",\"raw_bytes\":%" PRIu64,
                       in->insns, in->loads, in->stores, in->blocks, in->chunks,
                       in->file_bytes, in->raw_bytes) &&
        put_dropped_json(b, in) &&
        textbuf_printf(b, ",\"bits_per_instruction\":%.4f,\"ratio\":%.4f,\"processes\":[",
                       per(8.0 * (double)f->events_bytes, in->insns),
                       per((double)in->raw_bytes, f->events_bytes));
    for (uint32_t i = 0; ok && (p = ctr_trace_process(tr, i)) != NULL; i++) {
        ok = textbuf_printf(b, "%s{\"pid\":%d,\"ppid\":%d", i ? "," : "", p->pid,
                            p->ppid) &&
             (!p->host_pid || textbuf_printf(b, ",\"host_pid\":%d", p->host_pid)) &&
             put_json_end(b, f, p->start_ns, p->end_ns, p->end_reason, p->end_status) &&
             (!f->maps ||
              textbuf_printf(b, ",\"map_changes\":%" PRIu64, map_changes(f, i))) &&
             put_argv_json(b, f, i) && textbuf_printf(b, "}");
    }
    ok = ok && textbuf_printf(b, "],\"threads\":[");
    for (uint32_t i = 0; ok && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        ok =
            textbuf_printf(
                b,
                "%s{\"pid\":%d,\"tid\":%d,\"ptid\":%d,\"instructions\":%" PRIu64
                ",\"loads\":%" PRIu64 ",\"stores\":%" PRIu64 ",\"chunks\":%" PRIu64,
                i ? "," : "", t->pid, t->tid, t->ptid, t->insns, t->loads, t->stores,
                t->chunks) &&
            put_json_end(b, f, t->start_ns, t->end_ns, t->end_reason, t->end_status) &&
            textbuf_printf(b, ",\"incomplete\":%s", t->incomplete ? "true" : "false") &&
            (!*comm_last(f->names, i) || put_member(b, "name", comm_last(f->names, i))) &&
            textbuf_printf(b, "}");
    }
    ok = ok && textbuf_printf(b, "]") && machine_facts_json(b, f->machine) &&
         memory_facts_json(b, f->memory) && file_facts_json(b, f->files);
    if (ok && in->events & CTR_HAS_REG) {
        ok = put_regs_json(b, tr);
    }
    return ok && (!f->maps || put_maps_json(b, tr, f)) && textbuf_printf(b, "}\n");
}

static void free_facts(struct facts *f)
{
    ctr_maps_free(f->maps);
    comm_free(f->names);
    machine_facts_free(f->machine);
    memory_facts_free(f->memory);
    ctr_files_free(f->files);
    free(f->changes);
    free(f->damages);
}

int dump_info(struct ctr_trace *tr, const struct dump_options *opt)
{
    struct facts f = {0};
    struct textbuf out = {0};
    struct disas *disas;
    time_t start;
    struct tm tm;
    int status, sys_errno = 0, ret;

    ctr_trace_info(tr, &f.info);
    status = read_facts(tr, opt, &f);
    status = status ? status : check_rest(tr, opt, &f);
    if (status && status != TOOL_PARTIAL && !f.info.seekable) {
        free_facts(&f);
        return status;
    }
    f.events_bytes = f.info.file_bytes;
    if (f.info.seekable && !ctr_files_load(&f.files, tr, NULL)) {
        f.events_bytes -= ctr_files_stored(f.files);
    }
    start = (time_t)(f.info.start_realtime_ns / 1000000000u);
    if (!gmtime_r(&start, &tm) ||
        !strftime(f.start, sizeof(f.start), "%Y-%m-%dT%H:%M:%SZ", &tm)) {
        f.start[0] = 0;
    }
    disas = disas_new(f.info.elf_machine, f.info.big_endian, f.info.target);
    if (disas && disas_engine(disas)) {
        snprintf(f.disas, sizeof(f.disas), "%s", disas_engine(disas));
    }
    ret = disas && (opt->json ? put_json(&out, tr, &f) : put_text(&out, tr, &f))
              ? dump_write(out.data, out.len, &sys_errno)
              : DUMP_STOP_NOMEM;
    disas_free(disas);
    textbuf_fini(&out);
    free_facts(&f);
    ret = dump_replay_status(opt, ret, sys_errno, NULL);
    return ret ? ret : status;
}
