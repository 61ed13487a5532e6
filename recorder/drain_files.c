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

int drain_look_for_file(struct drain *d, const struct slot *s, const uint8_t *record,
                        uint32_t bytes)
{
    struct mempipe_side_event e;
    struct embed_file *file;
    struct job *job;
    uint64_t key;
    bool added, once;

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
    /* Of one that is whole, or written to, nothing more is needed; each mapping of another one
     * counts. */
    once = !file->in_part || file->written;
    key = map64_mix(embed_file_key(file), file->written);
    if (map64_get(&d->files, key) ||
        (once && (d->files.used >= (file->written ? 2 * MAX_WHOLE : MAX_WHOLE) ||
                  !map64_put(&d->files, key, 0, &added)))) {
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
