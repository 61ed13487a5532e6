/* SPDX-License-Identifier: MIT */
/* Puts all definitions of a trace into a dictionary, for programs that inspect traces. */
#ifndef TESTS_DICTCOPY_H
#define TESTS_DICTCOPY_H

#include "ctr_write.h"
#include "base/le.h"
#include "file/trace.h"

/* The definitions keep their numbers.  Files only, no streams. */
static inline int dict_copy(struct ctr_trace *tr, struct ctr_dict *dict,
                            struct ctr_diag *diag)
{
    struct section sec;
    int err = 0;
    for (uint64_t off = tr->data_off;
         !err && section_read(&tr->src, off, &sec, diag) == 0; off = section_end(&sec)) {
        if (sec.type != SECT_DICT) {
            continue;
        }
        err = section_payload(&tr->src, &sec, 1, &tr->payload, diag);
        err =
            err ? err
                : section_frame(&sec, &tr->payload, 0, tr->dctx, &tr->raw, "dict", diag);
        for (size_t at = 0; !err && at < tr->raw.n;) {
            uint32_t n = le32(tr->raw.p + at + 4);
            err = ctr_dict_add(dict, le32(tr->raw.p + at), tr->raw.p + at + 8, n, diag);
            at += 8 + (size_t)n;
        }
    }
    return err;
}

#endif
