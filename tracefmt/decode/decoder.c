/* SPDX-License-Identifier: MIT */
/* What all parts of a decoder need: errors, room, and the definitions it holds. */
#include "decode/decode.h"

#include <stdlib.h>
#include <string.h>

int decoder_bad(struct decoder *d, const char *column, const char *what)
{
    return ctr_fail(d->diag, CTR_E_CORRUPT, d->pub.off, column, "chunk %llu: %s",
                    (unsigned long long)d->pub.index, what);
}

int decoder_room(struct decoder *d, void *p, size_t *cap, size_t n, size_t size)
{
    void *old, *new;
    if (n <= *cap) {
        return 0;
    }
    size_t more = n + n / 8 + 64;
    memcpy(&old, p, sizeof(old));
    new = realloc(old, more * size);
    if (!new) {
        return ctr_fail_nomem(d->diag);
    }
    memcpy(p, &new, sizeof(new));
    *cap = more;
    return 0;
}

int decoder_pages(struct decoder *d, int err)
{
    return err == -CTR_E_NOMEM ? ctr_fail_nomem(d->diag)
           : err               ? decoder_bad(d, "chunk.pages", "makes no sense")
                               : 0;
}

void decoder_drop(struct decoder *d)
{
    if (d->nheld) {
        blocktab_drop(d->blocks, d->held, d->nheld);
        d->nheld = 0;
    }
}
