/* SPDX-License-Identifier: MIT */
/* Notices the files that programs map, as soon as the events of the mappings arrive: they
 * may be gone before these are packed. */
#include "drain_priv.h"

#include <stdlib.h>
#include <string.h>

void drain_set_embed(struct drain *d, enum embed_mode mode)
{
    d->embed = mode;
}

int drain_look_for_file(struct drain *d, const struct slot *s, const uint8_t *record,
                        uint32_t bytes)
{
    struct mempipe_side_event e;
    struct embed_file *file;
    struct job *job;
    bool added;

    if (d->embed == EMBED_NONE || !s->thread || bytes < sizeof(e)) {
        return 0;
    }
    memcpy(&e, record, sizeof(e));
    if (e.p.h.type != MEMPIPE_SIDE_EVENT || e.type != CTR_EVENT_MAP ||
        e.p.n > bytes - sizeof(e)) {
        return 0;
    }
    file = embed_of_event(record + sizeof(e), e.p.n, e.time_ns,
                          s->thread->process->host_pid, d->embed);
    if (!file) {
        return 0;
    }
    /* Of one that is whole nothing more is needed; each mapping of another one counts. */
    if (map64_get(&d->files, embed_file_key(file)) ||
        (!file->in_part && !map64_put(&d->files, embed_file_key(file), 0, &added))) {
        free(file);
        return 0;
    }
    job = drain_job_new(JOB_FILE, s->thread->process, NULL);
    if (!job) {
        free(file);
        return -CTR_E_NOMEM;
    }
    job->file = file;
    return drain_submit(d, job);
}
