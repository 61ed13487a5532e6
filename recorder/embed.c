/* SPDX-License-Identifier: MIT */
/* Bytes of mapped files; see embed.h. */
#include "embed_priv.h"

#include <stdlib.h>
#include <unistd.h>

static size_t piece_bytes(uint64_t size, uint64_t off)
{
    return size - off < CTR_EMBED_BYTES ? (size_t)(size - off) : CTR_EMBED_BYTES;
}

static bool hash_file(struct embed *e, int fd, uint64_t size, XXH128_hash_t *hash)
{
    XXH3_state_t *state = XXH3_createState();
    bool ok = state && XXH3_128bits_reset(state) == XXH_OK;

    for (uint64_t off = 0; ok && off < size;) {
        const size_t n = piece_bytes(size, off);

        ok = embed_read(e, fd, off, n);
        if (ok) {
            XXH3_128bits_update(state, e->piece, n);
        }
        off += n;
    }
    if (ok) {
        *hash = XXH3_128bits_digest(state);
    }
    XXH3_freeState(state);
    return ok;
}

static bool find_contents(const struct embed *e, const struct contents *c,
                          uint32_t *number)
{
    uint32_t i = 0;

    while (i < e->n_contents && !(e->contents[i].size == c->size &&
                                  XXH128_isEqual(e->contents[i].hash, c->hash))) {
        i++;
    }
    *number = i;
    return i < e->n_contents;
}

/* All bytes, or only the name if equal contents are there. */
static int write_whole(struct embed *e, struct ctr_writer *w, int fd, struct embedded *f,
                       struct ctr_diag *diag)
{
    const uint64_t size = (uint64_t)f->st.st_size;
    struct contents c = {.size = size};
    struct stat after;
    int err;

    if (!hash_file(e, fd, size, &c.hash)) {
        return 0; /* it has become shorter, or is on a bad disk */
    }
    if (find_contents(e, &c, &f->number)) {
        return embed_section(e, w, f, 0, 0, diag);
    }
    err = embed_contents(e, &c, &f->number);
    for (uint64_t off = 0; !err && off < size;) {
        const size_t n = piece_bytes(size, off);

        if ((size > CTR_EMBED_BYTES && !embed_read(e, fd, off, n)) ||
            (off + n == size && (fstat(fd, &after) || !embed_is_same(&after, &f->st)))) {
            f->changed = true;
        }
        err = embed_section(e, w, f, off, n, diag);
        off += n;
    }
    if (!err && f->changed) {
        e->contents[f->number].size = UINT64_MAX; /* not what the hash is of */
    }
    return err;
}

/* All bytes of a file, unless they are there already. */
static int write_file(struct embed *e, struct ctr_writer *w,
                      const struct embed_file *file, struct ctr_diag *diag)
{
    struct embedded *f;
    struct stat now;
    int fd, err = embed_entry(e, file, &f, &fd);

    if (!err && f && f->done && f->there) {
        return embed_rest(e, w, f, diag);
    }
    if (!err && f && f->done) { /* nothing of it was accessed before */
        free(f->done);
        f->done = NULL;
        fd = embed_again(e, f, &now);
        if (fd >= 0) {
            f->changed |= !embed_is_same(&now, &f->st);
            f->st = now;
        }
    }
    if (!err && fd >= 0) {
        err = write_whole(e, w, fd, f, diag);
        embed_keep(e, f, fd);
    }
    return err;
}

int embed_mapped(struct embed *e, struct ctr_writer *w, struct embed_ranges *ranges,
                 const struct embed_file *file, struct ctr_diag *diag)
{
    const int err = file->written ? embed_written(e, w, file, diag) : 0;

    if (err || !file->in_part) {
        return err ? err : write_file(e, w, file, diag);
    }
    return ranges && !file->written ? embed_map(e, ranges, file) : 0;
}

int embed_finish(struct embed *e, struct ctr_writer *w, struct ctr_diag *diag)
{
    int err = 0;

    for (size_t i = 0; !err && i < e->n_files; i++) {
        struct embedded *f = &e->files[i];
        struct stat now;
        int fd;

        if (!f->there || f->said) {
            continue;
        }
        /* It may have been changed before it was replaced or removed. */
        fd = embed_again(e, f, &now);
        f->changed |= fd < 0 || !embed_is_same(&now, &f->st);
        if (fd >= 0) {
            close(fd);
        }
        if (f->changed) {
            err = embed_section(e, w, f, 0, 0, diag);
        }
    }
    if (!err && !e->unsure) {
        ctr_writer_embeds_checked(w);
    }
    return err;
}
