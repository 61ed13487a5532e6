/* SPDX-License-Identifier: MIT */
/*
 * Output of sections.
 *
 * A section is written with one writev if the system permits, so that a stream shows it
 * at once. A section without room is not begun (reserve.c). When a write fails
 * nevertheless, the end of a regular file overwrites what was written of the section,
 * and the file is cut after it.
 */
#include "write/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/le.h"
#include "base/target.h"

static int write_failed(struct ctr_writer *w, size_t done, struct ctr_diag *diag)
{
    int err = ctr_fail(&w->fail, CTR_E_IO, w->off, "write", "cannot write: %s",
                       strerror(errno));
    if (done && w->regular) {
        /* Cutting the file gives the reserved room back: only where there is none. */
        int cut = w->append || w->held <= w->off;
        if ((!cut || ftruncate(w->fd, (off_t)w->off) == 0) &&
            lseek(w->fd, (off_t)w->off, SEEK_SET) >= 0) {
            w->tail |= !cut;
            done = 0;
        }
    }
    w->broken = done != 0;
    if (diag) {
        *diag = w->fail;
    }
    return err;
}

int writer_out(struct ctr_writer *w, struct iovec *iov, unsigned n, struct ctr_diag *diag)
{
    size_t done = 0;
    while (n) {
        ssize_t got = writev(w->fd, iov, (int)n);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return write_failed(w, done, diag);
        }
        done += (size_t)got;
        size_t left = (size_t)got;
        while (n && left >= iov->iov_len) {
            left -= iov->iov_len;
            iov++;
            n--;
        }
        if (n) {
            iov->iov_base = (uint8_t *)iov->iov_base + left;
            iov->iov_len -= left;
        }
    }
    w->off += done;
    w->stats.bytes = w->off;
    errno = reserve_mark(w);
    return errno ? write_failed(w, 0, diag) : 0;
}

static void seek_entry(uint8_t *p, uint32_t csize, uint32_t dsize)
{
    put32(p, csize);
    put32(p + 4, dsize);
}

uint32_t writer_section_head(uint8_t *head, unsigned type, unsigned flags, uint32_t seq,
                             const uint8_t *body, unsigned body_bytes,
                             const struct out_frame *frames, unsigned nframes)
{
    uint32_t n = SECT_OFF_FRAMES + nframes * SECT_FRAME + body_bytes + SECT_HASH;
    put32(head, FRAME_OURS);
    put32(head + 4, n - FRAME_HEAD);
    put32(head + SECT_OFF_TAG, SECT_TAG);
    put16(head + SECT_OFF_TYPE, (uint16_t)type);
    put16(head + SECT_OFF_FLAGS, (uint16_t)flags);
    put32(head + SECT_OFF_SEQ, seq);
    put16(head + SECT_OFF_NFRAMES, (uint16_t)nframes);
    put16(head + SECT_OFF_BODY, (uint16_t)body_bytes);
    uint8_t *p = head + SECT_OFF_FRAMES;
    for (unsigned i = 0; i < nframes; i++, p += SECT_FRAME) {
        put32(p, frames[i].csize);
        put32(p + 4, frames[i].dsize);
        put64(p + 8, frames[i].hash);
    }
    if (body_bytes) {
        memcpy(p, body, body_bytes);
    }
    p += body_bytes;
    put64(p, XXH64(head, (size_t)(p - head), 0));
    return n;
}

int writer_section(struct ctr_writer *w, unsigned type, unsigned flags,
                   const uint8_t *body, unsigned body_bytes,
                   const struct out_frame *frames, unsigned nframes,
                   struct ctr_diag *diag)
{
    uint8_t head[SECT_MAX_HEAD];
    struct iovec iov[1 + SECT_MAX_FRAMES];
    if (w->fail.code) {
        if (diag) {
            *diag = w->fail;
        }
        return -w->fail.code;
    }
    if (buf_reserve(&w->seek, (1 + (size_t)nframes) * SEEK_ENTRY)) {
        return ctr_fail_nomem(diag);
    }
    if (w->seek.n / SEEK_ENTRY + nframes + 2 > SEEK_MAX_FRAMES) {
        return ctr_fail(diag, CTR_E_LIMIT, w->off, "seek table", "too many frames");
    }
    uint32_t n =
        writer_section_head(head, type, flags, w->seq, body, body_bytes, frames, nframes);
    iov[0] = (struct iovec){head, n};
    unsigned niov = 1;
    uint64_t bytes = n;
    for (unsigned i = 0; i < nframes; i++) {
        if (frames[i].csize) {
            iov[niov++] =
                (struct iovec){(void *)(uintptr_t)frames[i].data, frames[i].csize};
            bytes += frames[i].csize;
        }
    }
    errno = reserve_section(w, bytes, w->coming, nframes);
    int err = errno ? write_failed(w, 0, diag) : writer_out(w, iov, niov, diag);
    if (err) {
        return err;
    }
    w->seq++;
    seek_entry(w->seek.p + w->seek.n, n, 0);
    w->seek.n += SEEK_ENTRY;
    for (unsigned i = 0; i < nframes; i++) {
        if (frames[i].csize) {
            seek_entry(w->seek.p + w->seek.n, frames[i].csize, frames[i].dsize);
            w->seek.n += SEEK_ENTRY;
        }
    }
    return 0;
}

int writer_compress(struct ctr_writer *w, const struct buf *raw, unsigned i,
                    struct out_frame *out, struct ctr_diag *diag)
{
    struct packed_frame *f = &w->z[i];
    const int err = packed_frame_compress(f, w->cctx, raw, diag);
    *out = (struct out_frame){
        .data = f->z.p,
        .csize = (uint32_t)f->z.n,
        .dsize = f->dsize,
        .hash = f->hash,
    };
    return err;
}

int writer_file_head(struct ctr_writer *w, const struct ctr_meta *meta,
                     struct ctr_diag *diag)
{
    uint8_t head[FILE_HEAD] = {0};
    put32(head, FRAME_OURS);
    put32(head + 4, FILE_HEAD - FRAME_HEAD);
    memcpy(head + FILE_OFF_MAGIC, FILE_MAGIC, FILE_MAGIC_BYTES);
    put32(head + FILE_OFF_VERSION, FORMAT_VERSION);
    put32(head + FILE_OFF_INCOMPAT,
          (meta->events & CTR_EVENTS_THR ? FILE_INCOMPAT_ARGS : 0) |
              (meta->target && target_is_machine(meta->target) ? FILE_INCOMPAT_MACHINE
                                                               : 0) |
              (meta->events & CTR_EVENTS_ORDER ? FILE_INCOMPAT_ORDER : 0) |
              (meta->events & CTR_EVENTS_PHYS ? FILE_INCOMPAT_PHYS : 0) |
              (meta->events & CTR_EVENTS_PWR ? FILE_INCOMPAT_POWER | FILE_INCOMPAT_SAVED
                                             : 0) |
              (meta->events & CTR_EVENTS_TASK ? FILE_INCOMPAT_TASK | FILE_INCOMPAT_AREA
                                              : 0) |
              (meta->events & CTR_EVENTS_KEY ? FILE_INCOMPAT_KEY : 0) |
              (meta->events & CTR_EVENTS_INPUT ? FILE_INCOMPAT_INPUT : 0) |
              (meta->events & CTR_EVENTS_MAP ? FILE_INCOMPAT_DISCARD : 0) |
              (meta->events & (CTR_EVENTS_RAM | CTR_EVENTS_DMA | CTR_EVENTS_IO)
                   ? FILE_INCOMPAT_MEMORY
                   : 0));
    put32(head + FILE_OFF_COMPAT, FILE_COMPAT_PAGE_0);
    put64(head + FILE_OFF_HASH, XXH64(head, FILE_OFF_HASH, 0));
    struct iovec iov = {head, sizeof(head)};
    if (buf_reserve(&w->seek, SEEK_ENTRY)) {
        return ctr_fail_nomem(diag);
    }
    errno = reserve_section(w, sizeof(head), 0, 0);
    int err = errno ? write_failed(w, 0, diag) : writer_out(w, &iov, 1, diag);
    if (err) {
        return err;
    }
    seek_entry(w->seek.p, FILE_HEAD, 0);
    w->seek.n = SEEK_ENTRY;
    return 0;
}
