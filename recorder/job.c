/* SPDX-License-Identifier: MIT */
/* See job.h. */
#include "job.h"

#include <stdlib.h>

void job_free(struct job *job)
{
    free(job->events.data);
    free((void *)(uintptr_t)job->next.state);
    free(job->state);
    free(job->file);
    free(job->regs);
    free(job);
}

void guest_process_free(struct guest_process *p)
{
    map64_fini(&p->keyframes);
    embed_ranges_fini(&p->files);
    embed_shared_free(p->shared);
    free(p);
}

uint64_t job_side_bytes(const struct job *job)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < job->n_segs; i++) {
        n += job->segs[i].side ? job->segs[i].side->bytes : 0;
    }
    return n;
}

int32_t guest_process_other_number(const struct guest_process *p)
{
    return p->host_pid == p->pid ? 0 : p->host_pid;
}
