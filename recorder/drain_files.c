/* SPDX-License-Identifier: MIT */
/* Notices the files that programs map, as soon as the events of the mappings arrive: they
 * may be gone before these are packed. */
#include "drain_priv.h"

#include <stdlib.h>
#include <string.h>

#include "mapping.h"

/* More files with code are not noticed. */
#define MAX_WHOLE 65536u

void drain_set_embed(struct drain *d, enum embed_mode mode)
{
    d->embed = mode;
}

/* Passes a file on, which it takes. */
static int submit(struct drain *d, struct guest_process *process, struct embed_file *file)
{
    /* Of one that is whole, or written to, nothing more is needed; each mapping of another one
     * counts. */
    const bool once = !file->in_part || file->written;
    const uint64_t key = map64_mix(embed_file_key(file), file->written);
    struct job *job;
    bool added;

    if (map64_get(&d->files, key) ||
        (once && (d->files.used < (file->written ? 2 * MAX_WHOLE : MAX_WHOLE)
                      ? !map64_put(&d->files, key, 0, &added)
                      : !file->written))) {
        free(file);
        return 0;
    }
    job = drain_job_new(JOB_FILE, process, NULL);
    if (!job) {
        free(file);
        return -CTR_E_NOMEM;
    }
    job->file = file;
    return drain_submit(d, job);
}

struct finding {
    struct drain *d;
    struct guest_process *process;
    uint64_t time_ns;
};

static void report(const struct finding *f, const struct ctr_map *m)
{
    if (f->d->ops.mapped) {
        f->d->ops.mapped(f->d->ops.arg, f->process->pid, f->time_ns, m);
    }
}

/* A mapping that is shared has become writable: that is as if it were mapped so. */
static void report_file(const struct finding *f, const struct embed_file *file)
{
    const struct ctr_map m = {.op = CTR_MAP_MMAP,
                              .prot = MAPPING_WRITES,
                              .flags = MAPPING_SHARED,
                              .start = file->start,
                              .size = file->size,
                              .offset = file->offset,
                              .dev = file->dev,
                              .inode = file->inode,
                              .path = {file->path, file->bytes - 1}};

    report(f, &m);
}

static int found(void *arg, struct embed_file *file)
{
    const struct finding *f = arg;

    if (file->written == EMBED_WRITES) {
        report_file(f, file);
    }
    return submit(f->d, f->process, file);
}

/* The mapping of a record, which is the guest's; false: it is of no mapping, or not whole. */
static bool read_mapping(const uint8_t *record, uint32_t bytes, uint64_t *time_ns,
                         struct ctr_map *out)
{
    struct mempipe_side_event e;

    if (bytes < sizeof(e)) {
        return false;
    }
    memcpy(&e, record, sizeof(e));
    *time_ns = e.time_ns;
    return e.p.h.type == MEMPIPE_SIDE_EVENT && e.type == CTR_EVENT_MAP &&
           e.p.n <= bytes - sizeof(e) &&
           !ctr_mapping_read(record + sizeof(e), e.p.n, out);
}

int drain_look_for_file(struct drain *d, const struct slot *s, const uint8_t *record,
                        uint32_t bytes)
{
    struct guest_process *p = s->thread ? s->thread->process : NULL;
    struct finding f = {.d = d, .process = p};
    struct embed_file *file;
    struct ctr_map m;
    int err;

    if (d->embed == EMBED_NONE || !p || !read_mapping(record, bytes, &f.time_ns, &m)) {
        return 0;
    }
    report(&f, &m);
    err = embed_shared_event(&p->shared, &m, f.time_ns, p->host_pid, d->embed, found, &f);
    file = err ? NULL : embed_of_event(&m, f.time_ns, p->host_pid, d->embed);
    return file ? submit(d, p, file) : err;
}
