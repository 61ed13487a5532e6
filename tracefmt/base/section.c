/* SPDX-License-Identifier: MIT */
/*
 * The lowest layer of reading. A section header has a checksum of itself and one of
 * each payload frame, so nothing is parsed unchecked. Sizes are compared with what is
 * there, and with limits, before allocating.
 */
#include "base/section.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/le.h"

#define HEAD_MAX 4096u       /* of any section, also of later versions */
#define READ_STEP (1u << 20) /* a stream's payload is allocated as it arrives */

int source_read(struct source *s, uint64_t off, void *buf, size_t n, size_t *got,
                const char *field, struct ctr_diag *diag)
{
    size_t done = 0;
    while (done < n) {
        ssize_t r = s->seekable ? pread(s->fd, (uint8_t *)buf + done, n - done,
                                        (off_t)(off + done))
                                : read(s->fd, (uint8_t *)buf + done, n - done);
        if (r < 0) {
            if (errno == EINTR) {
                continue;
            }
            return ctr_fail(diag, CTR_E_IO, off + done, field, "cannot read: %s",
                            strerror(errno));
        }
        if (r == 0) {
            break;
        }
        done += (size_t)r;
        atomic_fetch_add_explicit(&s->work, (uint64_t)r, memory_order_relaxed);
        if (!s->seekable) {
            s->pos += (uint64_t)r;
        }
    }
    if (got) {
        *got = done;
    }
    if (done < n) {
        return ctr_fail(diag, CTR_E_TRUNCATED, off + done, field,
                        "the file ends too early");
    }
    return 0;
}

/*
 * The minimum size of a type's header and the maximum of its columns together; 0 frames
 * and body for other types.
 */
static const struct {
    uint16_t body;
    uint16_t frames;
    uint16_t more; /* that it may have */
    uint32_t raw;
    const char *name;
} known[] = {
    [SECT_META] = {META_BODY, 1, 0, META_MAX, "meta"},
    [SECT_PROCESS] = {PROC_BODY, 0, 0, 0, "process"},
    [SECT_THREAD] = {THR_BODY, 0, 0, 0, "thread"},
    [SECT_DICT] = {DICT_BODY, 1, 0, DICT_MAX_RAW, "dict"},
    [SECT_CHUNK] = {CHUNK_BODY, CHUNK_FRAMES, CHUNK_PHYS_FRAMES - CHUNK_FRAMES,
                    MAX_COLUMN, "chunk"},
    [SECT_PART] = {PART_BODY, 3, 0, PART_MAX_RAW, "part"},
    [SECT_ROOT] = {ROOT_BODY, 1, 0, ROOT_MAX_RAW, "root"},
    [SECT_END] = {END_BODY, 0, 0, 0, "end"},
    [SECT_REGS] = {REGS_BODY, 1, 0, REGS_MAX_RAW, "regs"},
    [SECT_EMBED] = {EMBED_BODY, 2, 0, EMBED_MAX_PATH + EMBED_MAX_BYTES, "embed"},
};

static int is_known(unsigned type)
{
    return type >= 1 && type < sizeof(known) / sizeof(known[0]);
}

/* head holds all of the header's out->head_bytes bytes. */
static int parse_head(const uint8_t *head, struct section *out, struct ctr_diag *diag)
{
    uint32_t n = out->head_bytes;
    uint64_t off = out->off;
    if (le32(head + SECT_OFF_TAG) != SECT_TAG) {
        return ctr_fail(diag, CTR_E_CORRUPT, off, "section", "no section here");
    }
    if (le64(head + n - SECT_HASH) != XXH64(head, n - SECT_HASH, 0)) {
        return ctr_fail(diag, CTR_E_CORRUPT, off, "section",
                        "checksum of a section header is wrong");
    }
    out->type = le16(head + SECT_OFF_TYPE);
    out->flags = le16(head + SECT_OFF_FLAGS);
    out->seq = le32(head + SECT_OFF_SEQ);
    out->nframes = le16(head + SECT_OFF_NFRAMES);
    out->body_bytes = le16(head + SECT_OFF_BODY);
    if (out->type == 0 ||
        n != SECT_OFF_FRAMES + out->nframes * SECT_FRAME + out->body_bytes + SECT_HASH) {
        return ctr_fail(diag, CTR_E_CORRUPT, off, "section", "bad section header");
    }
    const uint8_t *p = head + SECT_OFF_FRAMES;
    for (unsigned i = 0; i < out->nframes; i++, p += SECT_FRAME) {
        out->payload += le32(p);
    }
    if (!is_known(out->type)) {
        if (out->flags & SECT_REQUIRED) {
            return ctr_fail(diag, CTR_E_UNSUPPORTED, off, "section",
                            "section type %u is newer than this program", out->type);
        }
        out->nframes = 0;
        out->body_bytes = 0;
        return 0;
    }
    if (out->nframes < known[out->type].frames ||
        out->nframes > known[out->type].frames + known[out->type].more ||
        out->body_bytes < known[out->type].body || out->body_bytes > SECT_MAX_BODY) {
        return ctr_fail(diag, CTR_E_CORRUPT, off, known[out->type].name,
                        "bad section header");
    }
    memcpy(out->body, p, out->body_bytes);
    uint64_t raw = 0;
    p = head + SECT_OFF_FRAMES;
    for (unsigned i = 0; i < out->nframes; i++, p += SECT_FRAME) {
        struct section_frame *f = &out->frame[i];
        f->csize = le32(p);
        f->dsize = le32(p + 4);
        f->hash = le64(p + 8);
        if ((f->csize == 0) != (f->dsize == 0) ||
            f->csize > ZSTD_compressBound(f->dsize)) {
            return ctr_fail(diag, CTR_E_CORRUPT, off, known[out->type].name,
                            "impossible size of a frame");
        }
        raw += f->dsize;
    }
    if (raw > known[out->type].raw) {
        return ctr_fail(diag, CTR_E_LIMIT, off, known[out->type].name,
                        "columns of %llu bytes are too large", (unsigned long long)raw);
    }
    return 0;
}

int section_read(struct source *s, uint64_t off, struct section *out,
                 struct ctr_diag *diag)
{
    uint8_t head[HEAD_MAX];
    size_t got;
    memset(out, 0, sizeof(*out));
    out->off = off;
    int err = source_read(s, off, head, FRAME_HEAD, &got, "section", diag);
    if (err) {
        return err == -CTR_E_TRUNCATED && got == 0 ? SECTION_EOF : err;
    }
    uint32_t magic = le32(head);
    uint64_t size = le32(head + 4);
    if (magic != FRAME_OURS) {
        if ((magic & 0xfffffff0u) != 0x184D2A50u) {
            return ctr_fail(diag, CTR_E_CORRUPT, off, "section", "no section here");
        }
        out->head_bytes = FRAME_HEAD;
        out->payload = size;
        out->flags = magic == FRAME_SEEK_TABLE;
    } else {
        if (size + FRAME_HEAD > HEAD_MAX ||
            size < SECT_OFF_FRAMES + SECT_HASH - FRAME_HEAD) {
            return ctr_fail(diag, CTR_E_CORRUPT, off, "section", "bad section header");
        }
        out->head_bytes = (uint32_t)size + FRAME_HEAD;
        err = source_read(s, off + FRAME_HEAD, head + FRAME_HEAD, size, NULL, "section",
                          diag);
        if (!err) {
            err = parse_head(head, out, diag);
        }
        if (err) {
            return err;
        }
    }
    if (s->seekable && section_end(out) > s->size) {
        return ctr_fail(diag, CTR_E_TRUNCATED, s->size,
                        is_known(out->type) ? known[out->type].name : "section",
                        "the file ends inside a section");
    }
    return 0;
}

/* Reads n bytes of the payload, from `at' on. */
static int read_payload(struct source *s, const struct section *sec, uint64_t at,
                        uint64_t n, struct buf *buf, struct ctr_diag *diag)
{
    const char *name = is_known(sec->type) ? known[sec->type].name : "section";
    buf->n = 0;
    while (buf->n < n) {
        size_t step = n - buf->n < READ_STEP || s->seekable ? n - buf->n : READ_STEP;
        if (buf_reserve(buf, step)) {
            return ctr_fail_nomem(diag);
        }
        int err = source_read(s, sec->off + sec->head_bytes + at + buf->n,
                              buf->p + buf->n, step, NULL, name, diag);
        if (err) {
            return err;
        }
        buf->n += step;
    }
    return 0;
}

int section_payload(struct source *s, const struct section *sec, unsigned nframes,
                    struct buf *buf, struct ctr_diag *diag)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < nframes && i < sec->nframes; i++) {
        n += sec->frame[i].csize;
    }
    return read_payload(s, sec, 0, s->seekable ? n : sec->payload, buf, diag);
}

int section_columns(struct source *s, struct section *sec, unsigned columns,
                    struct buf *buf, struct ctr_diag *diag)
{
    uint64_t at = 0, from = 0, to = 0;
    for (unsigned i = 0; i < sec->nframes; i++) {
        uint64_t end = at + sec->frame[i].csize;
        if (columns >> i & 1 && end > at) {
            from = to ? from : at;
            to = end;
        }
        at = end;
    }
    sec->have_at = s->seekable ? from : 0;
    return s->seekable ? read_payload(s, sec, from, to - from, buf, diag)
                       : read_payload(s, sec, 0, sec->payload, buf, diag);
}

int section_skip(struct source *s, const struct section *sec, struct ctr_diag *diag)
{
    uint8_t scrap[HEAD_MAX];
    uint64_t left = sec->payload;
    while (left && !s->seekable) {
        size_t n = left < sizeof(scrap) ? left : sizeof(scrap);
        int err =
            source_read(s, section_end(sec) - left, scrap, n, NULL, "section", diag);
        if (err) {
            return err;
        }
        left -= n;
    }
    return 0;
}

/* The bytes of a frame, and in *off their place in the file; checks them. */
static int find_frame(const struct section *sec, const struct buf *payload, unsigned i,
                      const uint8_t **src, uint64_t *off, const char *field,
                      struct ctr_diag *diag)
{
    const struct section_frame *f = &sec->frame[i];
    uint64_t at = 0;
    for (unsigned k = 0; k < i; k++) {
        at += sec->frame[k].csize;
    }
    *off = sec->off + sec->head_bytes + at;
    if (at < sec->have_at || at - sec->have_at + f->csize > payload->n) {
        return ctr_fail(diag, CTR_E_CORRUPT, *off, field, "column missing");
    }
    *src = payload->p + (at - sec->have_at);
    if (XXH64(*src, f->csize, 0) != f->hash) {
        return ctr_fail(diag, CTR_E_CORRUPT, *off, field, "checksum is wrong");
    }
    return 0;
}

int section_check(const struct section *sec, const struct buf *payload, unsigned i,
                  const char *field, struct ctr_diag *diag)
{
    const uint8_t *src;
    uint64_t off;
    return sec->frame[i].csize ? find_frame(sec, payload, i, &src, &off, field, diag) : 0;
}

int section_frame(const struct section *sec, const struct buf *payload, unsigned i,
                  ZSTD_DCtx *dctx, struct buf *out, const char *field,
                  struct ctr_diag *diag)
{
    const struct section_frame *f = &sec->frame[i];
    const uint8_t *src;
    uint64_t off;
    out->n = 0;
    if (f->csize == 0) {
        return 0;
    }
    int err = find_frame(sec, payload, i, &src, &off, field, diag);
    if (err) {
        return err;
    }
    if (ZSTD_getFrameContentSize(src, f->csize) != f->dsize ||
        ZSTD_findFrameCompressedSize(src, f->csize) != f->csize) {
        return ctr_fail(diag, CTR_E_CORRUPT, off, field, "bad zstd frame");
    }
    if (buf_room(out, f->dsize)) {
        return ctr_fail_nomem(diag);
    }
    size_t n = ZSTD_decompressDCtx(dctx, out->p, f->dsize, src, f->csize);
    if (ZSTD_isError(n) || n != f->dsize) {
        return ctr_fail(diag, CTR_E_CORRUPT, off, field, "cannot decompress: %s",
                        ZSTD_getErrorName(n));
    }
    out->n = n;
    return 0;
}
