/* SPDX-License-Identifier: MIT */
/* Bytes of files that were mapped: sections EMBED, each of which names the one before. */
#include "write/writer.h"

#include <string.h>
#include "base/le.h"

_Static_assert(CTR_EMBED_BYTES == EMBED_MAX_BYTES && CTR_EMBED_PATH == EMBED_MAX_PATH,
               "limits of the format");

void ctr_writer_embeds_checked(struct ctr_writer *w)
{
    w->embeds_checked = 1;
}

int ctr_writer_embed(struct ctr_writer *w, const struct ctr_embed *file,
                     struct ctr_diag *diag)
{
    const size_t path_bytes = strlen(file->path);
    if (file->number > w->nembeds || file->n > EMBED_MAX_BYTES ||
        path_bytes >= EMBED_MAX_PATH || file->n > file->size ||
        file->offset > file->size - file->n) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "embed", "bad piece of a file");
    }
    uint8_t body[EMBED_BODY] = {0};
    put32(body + EMBED_NUMBER, file->number);
    put32(body + EMBED_FLAGS, file->changed ? EMBED_F_CHANGED : 0);
    put64(body + EMBED_DEV, file->dev);
    put64(body + EMBED_INODE, file->inode);
    put64(body + EMBED_SIZE, file->size);
    put64(body + EMBED_OFFSET, file->offset);
    put64(body + EMBED_BEFORE, w->embed_off);
    const struct {
        const void *p;
        size_t n;
    } raw[2] = {{file->path, path_bytes}, {file->bytes, file->n}};
    struct out_frame f[2];
    for (unsigned i = 0; i < 2; i++) {
        w->raw.n = 0;
        if (buf_append(&w->raw, raw[i].p, raw[i].n)) {
            return ctr_fail_nomem(diag);
        }
        int err = writer_compress(w, &w->raw, i, &f[i], diag);
        if (err) {
            return err;
        }
    }
    const uint64_t off = w->off;
    int err = writer_section(w, SECT_EMBED, 0, body, sizeof(body), f, 2, diag);
    if (!err) {
        w->embed_off = off;
        w->stats.embed_bytes += w->off - off;
        w->nembeds += file->number == w->nembeds;
    }
    return err;
}
