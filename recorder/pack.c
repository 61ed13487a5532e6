/* SPDX-License-Identifier: MIT */
/* See pack.h. */
#include "pack.h"

unsigned job_pack(struct job *job, struct ctr_encoder *enc,
                  const struct mempipe_host *host, struct sink *sink)
{
    struct ctr_segment segs[JOB_SEGMENTS] = {0};
    unsigned n = job->n_segs, taken = n;

    for (unsigned i = 0; i < n; i++) {
        const struct job_segment *s = &job->segs[i];
        const uint8_t *mem = mempipe_host_buffer(host, s->buffer);

        segs[i] = (struct ctr_segment){
            .words = (const uint32_t *)mem,
            .n_words = s->words,
            .n_units = s->units,
            .data_end = mem + host->layout.buffer_bytes,
            .side = s->side ? s->side->data : NULL,
            .side_bytes = s->side ? s->side->bytes : 0,
            .flags = s->flags,
            .start_ns = s->start_ns,
            .end_ns = s->end_ns,
            .from_word = s->from_word,
            .from_unit = s->from_unit,
            .from_side = s->from_side,
            .from_insn = s->from_insn,
        };
    }
    job->start_ns = segs[0].start_ns;
    job->end_ns = segs[n - 1].end_ns;
    if (job->state) {
        job->error = ctr_encoder_set_state(enc, job->state, job->state_bytes);
        if (job->error) {
            return n;
        }
    }
    job->error = ctr_encoder_run_some(enc, segs, n, &taken, job->packed, &job->diag);
    if (!job->error) {
        n = taken;
    } else if (job->error == -CTR_E_CORRUPT && n > 1 &&
               (segs[n - 1].flags & CTR_SEGMENT_UNSURE)) {
        /*
         * The half-written buffer of a killed process may hold a block that was never
         * defined; what came before it is good.
         */
        job->error =
            ctr_encoder_run_some(enc, segs, n - 1, &taken, job->packed, &job->diag);
        n = taken;
        taken += taken == job->n_segs - 1;
    } else if (job->error == -CTR_E_CORRUPT && (segs[n - 1].flags & CTR_SEGMENT_UNSURE)) {
        segs[0].n_words = 0;
        segs[0].n_units = 0;
        segs[0].side_bytes = 0;
        segs[0].flags &= ~CTR_SEGMENT_UNSURE;
        segs[0].from_word = segs[0].from_unit = segs[0].from_side = segs[0].from_insn = 0;
        job->error = ctr_encoder_run(enc, segs, 1, job->packed, &job->diag);
    }
    if (!job->error && sink->ops->packed) {
        job->error = sink->ops->packed(sink, job, segs, n, taken, enc);
    }
    if (!job->error && taken < job->n_segs) {
        const struct ctr_segment *s = &segs[taken];
        struct job_segment *rest = &job->segs[taken];

        job->end_ns = (ctr_segment_goes_on(s) ? s : s - 1)->end_ns;
        rest->start_ns = s->start_ns;
        rest->from_word = s->from_word;
        rest->from_unit = s->from_unit;
        rest->from_side = s->from_side;
        rest->from_insn = s->from_insn;
    }
    return job->error ? job->n_segs : taken;
}
