/* SPDX-License-Identifier: MIT */
/* A sink that writes jobs to the file as they come. */
#include "sink.h"

#include <stdlib.h>

#include "inputs.h"

/* Descriptors of mapped files; lifeline.c leaves room for them. */
#define KEPT_FILES 64u

struct sink_file {
    struct sink sink;
    const struct inputs *inputs;
    struct ctr_writer *writer;
    struct embed *embed;
};

static int file_write(struct sink *s, struct job *job, struct ctr_diag *diag)
{
    struct sink_file *f = (struct sink_file *)s;
    struct guest_process *p = job->process;
    struct guest_thread *t = job->thread;
    uint64_t first;
    int err;

    switch (job->kind) {
    case JOB_REGS:
        return ctr_writer_regs(f->writer, job->regs->n, job->regs + 1,
                               job->regs->table_bytes, diag);
    case JOB_PROCESS:
        return ctr_writer_nested_process(f->writer, p->pid, p->ppid,
                                         guest_process_other_number(p), p->start_ns,
                                         &p->index, diag);
    case JOB_THREAD:
        err = ctr_writer_thread(f->writer, p->index, t->tid, t->ptid, t->start_ns,
                                &t->index, diag);
        first = inputs_first(f->inputs, p->pid, t->tid, t->start_ns);
        return err || !first ? err : ctr_writer_thread_first(f->writer, t->index, first);
    case JOB_FILE:
        return embed_mapped(f->embed, f->writer, &p->files, job->file, diag);
    case JOB_CHUNK:
        err = ctr_writer_chunk(f->writer, t->index, job->packed, diag);
        return err ? err
                   : embed_accessed(f->embed, f->writer, &t->process->files, job->packed,
                                    diag);
    case JOB_THREAD_END:
        return ctr_writer_thread_end(f->writer, t->index, t->end_ns, t->end_reason,
                                     t->end_status, t->incomplete || t->unsure);
    case JOB_PROCESS_END:
        return ctr_writer_process_end(f->writer, p->index, p->end_ns, p->end_reason,
                                      p->end_status);
    case JOB_DUMP:
        break;
    }
    return -CTR_E_INVAL;
}

static uint64_t file_job_bytes(const struct sink *s)
{
    (void)s;
    return UINT64_MAX;
}

static void file_stats(const struct sink *s, struct ctr_writer_stats *out,
                       struct ring_numbers *ring)
{
    (void)ring;
    ctr_writer_stats(((const struct sink_file *)s)->writer, out);
}

static int file_finish(struct sink *s, struct ctr_writer_stats *out,
                       struct ring_numbers *ring, struct ctr_diag *diag)
{
    struct sink_file *f = (struct sink_file *)s;
    const int unsaid = embed_finish(f->embed, f->writer, diag);
    int err = ctr_writer_finish(f->writer, unsaid ? NULL : diag);

    file_stats(s, out, ring);
    return unsaid ? unsaid : err;
}

static void file_free(struct sink *s)
{
    embed_free(((struct sink_file *)s)->embed);
    ctr_writer_free(((struct sink_file *)s)->writer);
    free(s);
}

static const struct sink_ops file_ops = {
    .write = file_write,
    .job_bytes = file_job_bytes,
    .stats = file_stats,
    .finish = file_finish,
    .free = file_free,
};

int sink_file_new(struct sink **out, const struct sink_config *config,
                  struct ctr_diag *diag)
{
    struct sink_file *f = calloc(1, sizeof(*f));
    int err;

    if (!f) {
        return -CTR_E_NOMEM;
    }
    f->sink.ops = &file_ops;
    f->inputs = config->inputs;
    f->embed = embed_new(config->meta, KEPT_FILES,
                         config->inputs ? config->inputs->folder : NULL);
    err = f->embed ? ctr_writer_new(&f->writer, config->fd, config->dict, config->meta,
                                    config->level, diag)
                   : -CTR_E_NOMEM;
    if (err) {
        embed_free(f->embed);
        free(f);
        return err;
    }
    *out = &f->sink;
    return 0;
}
