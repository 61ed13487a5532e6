/* SPDX-License-Identifier: MIT */
/* From a job's segments to a chunk of the file. */
#ifndef RECORDER_PACK_H
#define RECORDER_PACK_H

#include "job.h"
#include "sink.h"

/*
 * Packs the job's segments, or as many as one chunk should have, into job->packed.
 * Returns how many of them are done; the next one may be packed in part.  job->error is
 * the result.
 */
unsigned job_pack(struct job *job, struct ctr_encoder *enc,
                  const struct mempipe_host *host, struct sink *sink);

#endif
