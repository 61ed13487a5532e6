/* SPDX-License-Identifier: MIT */
/*
 * Dumps of a ring.  A dump is a job like others, so that all jobs before it are in it;
 * the writer makes it while the submitter waits.
 */
#include "pipeline_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* Opens the file and copies its name; with NULL the first one that does not exist. */
static int open_dump(const struct pipeline *pl, const char *file, struct output *out,
                     char *name, size_t n, const char **why)
{
    int err = -EEXIST;

    for (unsigned i = 1; err == -EEXIST && i; i++) {
        int len = file ? snprintf(name, n, "%s", file)
                       : snprintf(name, n, "%s.%u", pl->output, i);

        if (len < 0 || (size_t)len >= n) {
            *why = strerror(ENAMETOOLONG);
            return -ENAMETOOLONG;
        }
        err = output_open(out, name, !file, why);
    }
    return err;
}

int pipeline_dump(struct pipeline *pl, const struct sink_tail *tails, uint32_t n_tails,
                  const char *file, char *name, size_t name_bytes, struct ctr_diag *diag)
{
    struct pipeline_dump d = {.tails = tails, .n_tails = n_tails};
    struct output out;
    const char *why;
    struct job *job;
    int err;

    memset(diag, 0, sizeof(*diag));
    if (!pl->sink->ops->dump) {
        diag->code = CTR_E_INVAL;
        snprintf(diag->text, sizeof(diag->text), "there is no ring");
        return -CTR_E_INVAL;
    }
    err = open_dump(pl, file, &out, name, name_bytes, &why);
    if (err) {
        diag->code = CTR_E_IO;
        diag->sys_errno = -err;
        snprintf(diag->field, sizeof(diag->field), "%s", PIPELINE_DUMP_FILE);
        snprintf(diag->text, sizeof(diag->text), "%s", why);
        return -CTR_E_IO;
    }
    d.fd = out.fd;
    job = calloc(1, sizeof(*job));
    if (!job) {
        output_close(&out, false);
        diag->code = CTR_E_NOMEM;
        return -CTR_E_NOMEM;
    }
    job->kind = JOB_DUMP;
    job->dump = &d;
    pipeline_submit(pl, job);
    pthread_mutex_lock(&pl->lock);
    while (!d.done) {
        pthread_cond_wait(&pl->dumped, &pl->lock);
    }
    pthread_mutex_unlock(&pl->lock);
    *diag = d.diag;
    err = output_close(&out, true);
    if (err && !d.error) {
        diag->code = CTR_E_IO;
        diag->sys_errno = -err;
        d.error = -CTR_E_IO;
    }
    return d.error;
}
