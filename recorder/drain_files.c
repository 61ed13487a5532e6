/* SPDX-License-Identifier: MIT */
/* Notices the files that programs map, as soon as the events of the mappings arrive: they
 * may be gone before these are packed. */
#include "drain_priv.h"

#include <stdlib.h>
#include <string.h>

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
};

static int found(void *arg, struct embed_file *file)
{
    const struct finding *f = arg;

    return submit(f->d, f->process, file);
}

static void show_mapping(const struct drain *d, const struct guest_process *p,
                         const struct mempipe_side_event *e, const uint8_t *payload)
{
    const struct ctr_os_event event = {
        .type = CTR_EVENT_MAP, .size = e->p.n, .payload = payload};
    struct ctr_map m;

    if (d->ops.mapped && !ctr_parse_map(&event, &m)) {
        d->ops.mapped(d->ops.arg, p->pid, e->time_ns, &m);
    }
}

int drain_look_for_file(struct drain *d, const struct slot *s, const uint8_t *record,
                        uint32_t bytes)
{
    struct guest_process *p = s->thread ? s->thread->process : NULL;
    struct finding f = {d, p};
    struct mempipe_side_event e;
    struct embed_file *file;
    int err;

    if (d->embed == EMBED_NONE || !p || bytes < sizeof(e)) {
        return 0;
    }
    memcpy(&e, record, sizeof(e));
    if (e.p.h.type != MEMPIPE_SIDE_EVENT || e.type != CTR_EVENT_MAP ||
        e.p.n > bytes - sizeof(e)) {
        return 0;
    }
    record += sizeof(e);
    show_mapping(d, p, &e, record);
    err = embed_shared_event(&p->shared, record, e.p.n, e.time_ns, p->host_pid, d->embed,
                             found, &f);
    file = err ? NULL : embed_of_event(record, e.p.n, e.time_ns, p->host_pid, d->embed);
    return file ? submit(d, p, file) : err;
}
