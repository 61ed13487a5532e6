/* SPDX-License-Identifier: MIT */
/*
 * Checks what readers do not depend on: the seek table, which is for other programs,
 * and the index, which readers replace by the chunks themselves where it is damaged.
 */
#include "file/trace.h"

#include <string.h>
#include <xxhash.h>
#include "base/le.h"

#define STEP 65536u

/* XXH64 of the seek table's frame, whose header was read. Reads the rest of it. */
static int hash_table(struct source *src, const struct section *sec, uint64_t *hash,
                      struct ctr_diag *diag)
{
    uint8_t head[FRAME_HEAD];
    uint8_t *step = malloc(STEP);
    XXH64_state_t *state = XXH64_createState();
    int err = step && state ? 0 : ctr_fail_nomem(diag);
    put32(head, FRAME_SEEK_TABLE);
    put32(head + 4, (uint32_t)sec->payload);
    if (!err) {
        XXH64_reset(state, 0);
        XXH64_update(state, head, sizeof(head));
    }
    for (uint64_t left = sec->payload; !err && left;) {
        size_t n = left < STEP ? (size_t)left : STEP;
        err =
            source_read(src, section_end(sec) - left, step, n, NULL, "seek table", diag);
        if (!err) {
            XXH64_update(state, step, n);
            left -= n;
        }
    }
    *hash = err ? 0 : XXH64_digest(state);
    XXH64_freeState(state);
    free(step);
    return err;
}

int trace_read_seek_table(struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct section sec;
    uint64_t hash;
    int err = section_read(&tr->src, tr->seek_off, &sec, diag);
    if (!err && !(sec.type == 0 && sec.flags)) {
        err = -CTR_E_CORRUPT;
    }
    if (err > 0 || err == -CTR_E_CORRUPT || err == -CTR_E_TRUNCATED) {
        return ctr_fail(diag, CTR_E_TRUNCATED, tr->seek_off, "seek table",
                        "the seek table is missing or damaged");
    }
    err = err ? err : hash_table(&tr->src, &sec, &hash, diag);
    if (err) {
        return err;
    }
    if (hash != tr->seek_hash) {
        return ctr_fail(diag, CTR_E_CORRUPT, tr->seek_off, "seek table",
                        "checksum is wrong");
    }
    if (tr->src.seekable && section_end(&sec) != tr->src.size) {
        return ctr_fail(diag, CTR_E_CORRUPT, section_end(&sec), "end of file",
                        "%llu bytes come after the end of the trace",
                        (unsigned long long)(tr->src.size - section_end(&sec)));
    }
    return 0;
}

/* Reports a finding; what the system refused is an error of the call. */
static int report(int err, const struct ctr_diag *why,
                  int (*fn)(void *arg, const struct ctr_diag *damage), void *arg,
                  struct ctr_diag *diag)
{
    if (err >= 0) {
        return 0;
    }
    if (err != -CTR_E_NOMEM && err != -CTR_E_IO) {
        return fn(arg, why);
    }
    if (diag) {
        *diag = *why;
    }
    return err;
}

int ctr_trace_check(struct ctr_trace *tr,
                    int (*fn)(void *arg, const struct ctr_diag *damage), void *arg,
                    struct ctr_diag *diag)
{
    struct ctr_diag why;
    int err;
    if (tr->state != CTR_COMPLETE) {
        return 0; /* ctr_trace_damage reports that */
    }
    if (!tr->src.seekable) {
        return tr->seek_damage.code ? fn(arg, &tr->seek_damage) : 0;
    }
    int bad = trace_read_seek_table(tr, &why);
    err = report(bad, &why, fn, arg, diag);
    if (!err && !bad && tr->index_damage.code) {
        err = fn(arg, &tr->index_damage);
    }
    for (uint32_t i = 0; !err && tr->has_index && i < chunktab_groups(tr->chunks); i++) {
        err = report(trace_check_part(tr, chunktab_group(tr->chunks, i), &why), &why, fn,
                     arg, diag);
    }
    return err ? err : report(trace_check_files(tr, &why), &why, fn, arg, diag);
}
