/* SPDX-License-Identifier: MIT */
/*
 * tracedump --info: what is known about a recording, for people and as one
 * JSON object.
 *
 * A file is not read beyond its tables.  A stream has to be: what it holds is
 * known at its end.
 */
#include "dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/disas.h"
#include "common/options.h"
#include "common/trace.h"

/* Everything that --info shows beside the tables of processes and threads. */
struct facts {
    struct ctr_info info;
    uint64_t raw_bytes; /* of all chunks before compression */
    char start[40];     /* date and time, UTC */
    char disas[40];     /* what disassembles, "" if nothing can */
};

/* While a stream is read. */
struct stream_work {
    struct progress progress;
    uint64_t raw_bytes;
};

static int on_piece(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct stream_work *work = arg;

    (void)job;
    (void)n;
    work->raw_bytes += *(const uint64_t *)data;
    return 0;
}

static int on_end(void *arg, struct ctr_job *job)
{
    (void)arg;
    return ctr_job_append(job, &ctr_job_chunk(job)->raw_bytes, sizeof(uint64_t))
               ? DUMP_STOP_NOMEM
               : 0;
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct stream_work *work = arg;

    progress_update(&work->progress, p->bytes_done, p->bytes, p->insns_done,
                    "instructions");
    return 0;
}

/* Adds up raw_bytes; reads a stream to its end. */
static int read_chunks(struct ctr_trace *tr, const struct dump_options *opt,
                       struct facts *f)
{
    static const struct ctr_replay_ops ops = {
        .end = on_end, .ordered = on_piece, .progress = on_progress};
    struct ctr_replay_opts ropts = {.workers = 1};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct stream_work work = {0};
    struct ctr_chunk chunk;
    int ret;

    if (f->info.seekable) {
        for (uint64_t i = 0; i < f->info.chunks; i++) {
            if (ctr_trace_chunk(tr, i, &chunk) == 0) {
                f->raw_bytes += chunk.raw_bytes;
            }
        }
        return TOOL_OK;
    }
    progress_init(&work.progress, PROG, opt->quiet);
    ret = ctr_replay(tr, &ops, &work, &ropts, &diag);
    progress_clear(&work.progress);
    f->raw_bytes = work.raw_bytes;
    ctr_trace_info(tr, &f->info);
    return dump_replay_status(opt, ret, 0, &diag);
}

static double seconds(const struct facts *f, uint64_t ns)
{
    return ns > f->info.start_ns ? (double)(ns - f->info.start_ns) / 1e9 : 0;
}

static double per(double what, uint64_t of)
{
    return of ? what / (double)of : 0;
}

static const char *end_name(uint32_t reason)
{
    static const char *const names[] = {"unknown", "exit", "exit_group",
                                        "signal",  "exec", "killed"};

    return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "unknown";
}

/* ------------------------------------------------------------------- text */

/* A command's word as a shell would have to be given it. */
static bool put_word(struct textbuf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./,:@%^";
    bool ok = true;

    if (*word && !word[strspn(word, plain)]) {
        return textbuf_printf(b, " %s", word);
    }
    ok = textbuf_printf(b, " '");
    for (; ok && *word; word++) {
        if (*word == '\'') {
            ok = textbuf_printf(b, "'\\''");
        } else if ((unsigned char)*word < 0x20 || *word == 0x7f) {
            ok = textbuf_printf(b, "?"); /* a terminal must not be steered by a file */
        } else {
            ok = textbuf_printf(b, "%c", *word);
        }
    }
    return ok && textbuf_printf(b, "'");
}

/* "name          text": a string from the file must not steer the terminal. */
static bool put_line(struct textbuf *b, const char *name, const char *text)
{
    bool ok = textbuf_printf(b, "%-14s", name);

    for (; ok && *text; text++) {
        bool control = (unsigned char)*text < 0x20 || *text == 0x7f;
        ok = textbuf_printf(b, "%c", control ? '?' : *text);
    }
    return ok && textbuf_printf(b, "\n");
}

static bool put_end(struct textbuf *b, const struct facts *f, uint64_t end_ns,
                    uint32_t reason, int32_t status)
{
    bool ok = textbuf_printf(b, "  %s", end_name(reason));

    if (ok &&
        (reason == CTR_END_GROUP || reason == CTR_END_SIGNAL || reason == CTR_END_EXIT)) {
        ok = textbuf_printf(b, " %d", status);
    }
    if (ok && end_ns) {
        ok = textbuf_printf(b, " at %.3f s", seconds(f, end_ns));
    }
    return ok;
}

static bool put_text(struct textbuf *b, const struct ctr_trace *tr, const struct facts *f)
{
    const struct ctr_info *in = &f->info;
    const struct ctr_process *p;
    const struct ctr_thread *t;
    bool ok = textbuf_printf(b, "command      ");

    for (int i = 0; ok && i < in->argc; i++) {
        ok = put_word(b, in->argv[i]);
    }
    ok =
        ok &&
        textbuf_printf(b, "\nrecorded      %s, %.3f s\n", f->start,
                       seconds(f, in->end_ns)) &&
        put_line(b, "recorder", in->recorder) && put_line(b, "target", in->target) &&
        textbuf_printf(b, "machine       %u bits, %s-endian, ELF machine %u\n",
                       in->addr_bits, in->big_endian ? "big" : "little",
                       in->elf_machine) &&
        put_line(b, "qemu", in->qemu_version) &&
        put_line(b, "disassembly", f->disas[0] ? f->disas : "none for this target") &&
        textbuf_printf(b, "events        %s%s\n", in->events & CTR_HAS_EXEC ? "exec" : "",
                       in->events & CTR_HAS_MEM ? ",mem" : "") &&
        textbuf_printf(b, "state         %s, format version %u%s\n",
                       tool_state_name(in->state), in->version,
                       in->has_index ? ", indexed" : "") &&
        textbuf_printf(b, "instructions  %" PRIu64 "\n", in->insns) &&
        textbuf_printf(b, "loads         %" PRIu64 "\n", in->loads) &&
        textbuf_printf(b, "stores        %" PRIu64 "\n", in->stores) &&
        textbuf_printf(b, "blocks        %u\n", in->blocks) &&
        textbuf_printf(b,
                       "size          %" PRIu64 " bytes in %" PRIu64
                       " chunks, %.2f bits per instruction, ratio %.2f\n",
                       in->file_bytes, in->chunks,
                       per(8.0 * (double)in->file_bytes, in->insns),
                       per((double)f->raw_bytes, in->file_bytes)) &&
        textbuf_printf(b, "processes     %u\n", in->processes);
    for (uint32_t i = 0; ok && (p = ctr_trace_process(tr, i)) != NULL; i++) {
        ok = textbuf_printf(b, "  %d  parent %d  from %.3f s", p->pid, p->ppid,
                            seconds(f, p->start_ns)) &&
             put_end(b, f, p->end_ns, p->end_reason, p->end_status) &&
             textbuf_printf(b, "\n");
    }
    ok = ok && textbuf_printf(b, "threads       %u\n", in->threads);
    for (uint32_t i = 0; ok && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        ok = textbuf_printf(b,
                            "  %d/%d  %" PRIu64 " instructions, %" PRIu64
                            " loads, %" PRIu64 " stores",
                            t->pid, t->tid, t->insns, t->loads, t->stores) &&
             put_end(b, f, t->end_ns, t->end_reason, t->end_status) &&
             textbuf_printf(b, "%s\n", t->incomplete ? "  incomplete" : "");
    }
    return ok;
}

/* ------------------------------------------------------------------- JSON */

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
        textbuf_printf(b, ",\"events\":[%s%s]",
                       in->events & CTR_HAS_EXEC ? "\"exec\"" : "",
                       in->events & CTR_HAS_MEM ? ",\"mem\"" : "") &&
        put_member(b, "state", tool_state_name(in->state)) &&
        textbuf_printf(b, ",\"indexed\":%s", in->has_index ? "true" : "false") &&
        textbuf_printf(b,
                       ",\"instructions\":%" PRIu64 ",\"loads\":%" PRIu64
                       ",\"stores\":%" PRIu64 ",\"blocks\":%u,\"chunks\":%" PRIu64
                       ",\"file_bytes\":%" PRIu64 ",\"raw_bytes\":%" PRIu64,
                       in->insns, in->loads, in->stores, in->blocks, in->chunks,
                       in->file_bytes, f->raw_bytes) &&
        textbuf_printf(b, ",\"bits_per_instruction\":%.4f,\"ratio\":%.4f,\"processes\":[",
                       per(8.0 * (double)in->file_bytes, in->insns),
                       per((double)f->raw_bytes, in->file_bytes));
    for (uint32_t i = 0; ok && (p = ctr_trace_process(tr, i)) != NULL; i++) {
        ok = textbuf_printf(b, "%s{\"pid\":%d,\"ppid\":%d", i ? "," : "", p->pid,
                            p->ppid) &&
             put_json_end(b, f, p->start_ns, p->end_ns, p->end_reason, p->end_status) &&
             textbuf_printf(b, "}");
    }
    ok = ok && textbuf_printf(b, "],\"threads\":[");
    for (uint32_t i = 0; ok && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        ok = textbuf_printf(
                 b,
                 "%s{\"pid\":%d,\"tid\":%d,\"ptid\":%d,\"instructions\":%" PRIu64
                 ",\"loads\":%" PRIu64 ",\"stores\":%" PRIu64 ",\"chunks\":%" PRIu64,
                 i ? "," : "", t->pid, t->tid, t->ptid, t->insns, t->loads, t->stores,
                 t->chunks) &&
             put_json_end(b, f, t->start_ns, t->end_ns, t->end_reason, t->end_status) &&
             textbuf_printf(b, ",\"incomplete\":%s}", t->incomplete ? "true" : "false");
    }
    return ok && textbuf_printf(b, "]}\n");
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
    status = read_chunks(tr, opt, &f);
    if (status) {
        return status;
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
    return dump_replay_status(opt, ret, sys_errno, NULL);
}
