/* SPDX-License-Identifier: MIT */
/*
 * Text of chosen ordinals, see picked.h: in the output of events.c's workers a mark, which is
 * a byte 0 and an ordinal, is before the text of each; text contains no byte 0.
 */
#include "dump/picked.h"

#include <string.h>

#define MARK_BYTES (1 + sizeof(uint64_t))

/* The place of an ordinal in p->v, or p->n. */
static size_t find(const struct picked *p, uint64_t ordinal)
{
    size_t low = 0, high = p->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (p->v[mid].ordinal < ordinal) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < p->n && p->v[low].ordinal == ordinal ? low : p->n;
}

bool picked_has(const struct picked *p, uint64_t ordinal)
{
    return find(p, ordinal) < p->n;
}

void picked_begin(struct picked *p, uint64_t ordinal)
{
    size_t i = find(p, ordinal);

    if (i < p->n && p->next != i + 1) { /* it may go on in the next chunk */
        p->next = i + 1;
        p->v[i].at = p->text->len;
    }
}

int picked_add(struct picked *p, const char *text, size_t n)
{
    char *to = textbuf_reserve(p->text, n);

    if (!to) {
        return DUMP_STOP_NOMEM;
    }
    textbuf_commit(p->text, fmt_mem(to, text, n));
    if (p->next) {
        p->v[p->next - 1].len += n;
    }
    return p->text->len > p->max ? DUMP_STOP_FULL : 0;
}

int picked_mark(struct ctr_job *job, uint64_t ordinal)
{
    char *p = ctr_job_reserve(job, MARK_BYTES);

    if (!p) {
        return DUMP_STOP_NOMEM;
    }
    *p = 0;
    memcpy(p + 1, &ordinal, sizeof(ordinal));
    ctr_job_commit(job, MARK_BYTES);
    return 0;
}

int picked_take(struct picked *p, const char *data, size_t n)
{
    int ret = 0;

    while (n && !ret) {
        const char *mark = memchr(data, 0, n);
        size_t len = mark ? (size_t)(mark - data) : n;

        if (len) {
            ret = picked_add(p, data, len);
        } else {
            uint64_t ordinal;

            memcpy(&ordinal, data + 1, sizeof(ordinal));
            picked_begin(p, ordinal);
            len = MARK_BYTES;
        }
        data += len;
        n -= len;
    }
    return ret;
}
