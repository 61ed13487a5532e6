/* SPDX-License-Identifier: MIT */
/*
 * Reads the contents of a file that has no index, or a damaged one: section by section,
 * headers only. What is whole is used; what ended the scan is kept as the damage of the
 * trace.
 */
#include "file/trace.h"

#include <string.h>
#include "base/le.h"

static int scan_chunk(struct ctr_trace *tr, const struct section *sec,
                      struct ctr_diag *diag)
{
    struct chunk_row row;
    int err = trace_read_header(tr, sec, &row, diag);
    if (!err) {
        err = trace_count_chunk(tr, &row.pub, diag);
    }
    return err ? err : chunktab_add(tr->chunks, &row, diag);
}

static int scan_section(struct ctr_trace *tr, const struct section *sec, int *ended,
                        struct ctr_diag *diag)
{
    if (sec->type == 0) {
        return sec->flags ? ctr_fail(diag, CTR_E_CORRUPT, sec->off, "seek table",
                                     "a seek table without an end")
                          : 0;
    }
    int err = trace_count_section(tr, sec, diag);
    if (err) {
        return err;
    }
    switch (sec->type) {
    case SECT_PROCESS:
        return trace_add_process(tr, sec->body, sec->off, diag);
    case SECT_THREAD:
        return trace_add_thread(tr, sec->body, sec->off, diag);
    case SECT_DICT:
        return blocktab_add_row(tr->blocks, sec->off, le32(sec->body + DICT_FIRST),
                                le32(sec->body + DICT_COUNT), diag);
    case SECT_CHUNK:
        return scan_chunk(tr, sec, diag);
    case SECT_REGS:
        return trace_set_regs(tr, sec, diag);
    case SECT_EMBED:
        tr->embed_off = sec->off;
        return 0;
    case SECT_ROOT:
        return trace_set_root(tr, sec, 0, diag);
    case SECT_END:
        trace_set_end(tr, sec);
        *ended = 1;
        return 0;
    case SECT_META:
        return ctr_fail(diag, CTR_E_CORRUPT, sec->off, "meta", "a second description");
    default:
        return 0;
    }
}

int trace_open_scan(struct ctr_trace *tr, struct ctr_diag *diag)
{
    uint64_t off = tr->data_off;
    struct ctr_diag why;
    int ended = 0;
    memset(&tr->damage, 0, sizeof(tr->damage));
    tr->damage.off = CTR_NO_OFF;
    tr->next_seq = 1;
    tr->state = CTR_UNFINISHED;
    for (;;) {
        struct section sec;
        int err = section_read(&tr->src, off, &sec, &why);
        if (err == SECTION_EOF) {
            return 0;
        }
        if (!err) {
            err = scan_section(tr, &sec, &ended, &why);
        }
        if (err == -CTR_E_CORRUPT || err == -CTR_E_TRUNCATED) {
            tr->damage = why;
            tr->state = CTR_TRUNCATED;
            return 0;
        }
        if (err) {
            if (diag) {
                *diag = why;
            }
            return err;
        }
        off = section_end(&sec);
        if (ended) {
            break;
        }
    }
    /* Only the seek table may follow; readers that come here do not need it. */
    tr->state = CTR_COMPLETE;
    struct section sec;
    int err = section_read(&tr->src, off, &sec, &why);
    if (err || sec.type != 0 || !sec.flags) {
        tr->state = CTR_TRUNCATED;
        ctr_fail(&tr->damage, CTR_E_TRUNCATED, off, "seek table",
                 "the seek table is missing or damaged");
    }
    return 0;
}
