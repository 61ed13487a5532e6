/* SPDX-License-Identifier: MIT */
/*
 * Room for the end of the file.
 *
 * A full disk must not leave a file without an end, and other programs write to the
 * same disk. So before a section is written the file system must have reserved the room
 * for it and for all that finishing takes after it. A section without room is not
 * begun, and the end then goes into the room reserved before.
 *
 * The room is allocated beyond the end of the file, which does not change its length.
 * Where the file system cannot do that, it is written: a skippable frame of zeros,
 * which readers skip, follows the last section until the next one overwrites it.
 */
#include "write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/le.h"

/* More than is needed now, so that not every section costs a system call. */
#define STEP_MIN (64u << 10)
#define STEP_MAX (4u << 20)

#define ZEROS_BYTES 4096u
#define FRAME_PAD 0x184D2A50u /* a skippable frame that is no section */

/*
 * Upper bound of a section's bytes with so many frames of so many bytes together before
 * compression.
 */
static uint64_t section_bound(unsigned body, unsigned frames, uint64_t raw)
{
    /* ZSTD_compressBound(n) is at most n + n / 256 + 64 */
    return SECT_OFF_FRAMES + body + SECT_HASH + (uint64_t)frames * (SECT_FRAME + 64) +
           raw + raw / 256;
}

/* Bytes of PART, ROOT, END and the seek table after the current section. */
static uint64_t finish_bytes(const struct ctr_writer *w, uint64_t coming, unsigned frames)
{
    const uint64_t part =
        (w->part.chunks ? w->rows.n + w->counts.n + w->pages.n : 0) + coming;
    const uint64_t root = w->parts.n + ROOT_PART_ROW + w->dicts.n +
                          (uint64_t)w->nproc * PROC_ROW + (uint64_t)w->nthread * THR_ROW +
                          THR_ROW; /* the largest row that a section adds */
    /* The current section, PART, ROOT and END, each with its header. */
    const uint64_t entries = (1 + frames) + (1 + 3) + (1 + 1) + 1;

    return section_bound(PART_BODY, 3, part) + section_bound(ROOT_EMBED_BODY, 1, root) +
           END_BYTES + FRAME_HEAD + w->seek.n + entries * SEEK_ENTRY + SEEK_FOOT;
}

/* Extends the file with zeros.  Returns 0 or an errno value. */
static int write_zeros(struct ctr_writer *w, uint64_t end)
{
    static const uint8_t zeros[ZEROS_BYTES];

    while (w->held < end) {
        size_t n = end - w->held < sizeof(zeros) ? end - w->held : sizeof(zeros);
        ssize_t got = pwrite(w->fd, zeros, n, (off_t)w->held);

        if (got < 0 && errno != EINTR) {
            return errno;
        }
        w->held += got > 0 ? (uint64_t)got : 0;
    }
    return 0;
}

/* Makes w->held at least `end'.  Returns 0 or an errno value. */
static int hold(struct ctr_writer *w, uint64_t end)
{
    int ret;

    if (w->held < w->off) {
        w->held = w->off;
    }
    if (w->room == ROOM_ALLOCATED) {
        do {
            ret = fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->held,
                            (off_t)(end - w->held));
        } while (ret < 0 && errno == EINTR);
        if (ret == 0) {
            w->held = end;
            return 0;
        }
        if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) {
            return errno;
        }
        /* With O_APPEND the next section would go after the zeros. */
        w->room = w->append ? ROOM_NONE : ROOM_WRITTEN;
    }
    return w->room == ROOM_WRITTEN ? write_zeros(w, end) : 0;
}

void reserve_init(struct ctr_writer *w)
{
    w->append = (fcntl(w->fd, F_GETFL) & O_APPEND) != 0;
    w->room = w->regular ? ROOM_ALLOCATED : ROOM_NONE;
}

int reserve_section(struct ctr_writer *w, uint64_t bytes, uint64_t coming,
                    unsigned frames)
{
    const uint64_t end = w->off + bytes + finish_bytes(w, coming, frames);
    uint64_t step = w->off / 4;
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};

    if (!w->regular || w->finishing) {
        return 0;
    }
    /*
     * Read each time: it may change while we run. Whether it applies to room beyond the
     * end of a file does not depend on the file system.
     */
    getrlimit(RLIMIT_FSIZE, &limit);
    if (end > limit.rlim_cur) {
        return EFBIG;
    }
    if (w->room == ROOM_NONE || end <= w->held) {
        return 0;
    }
    step = step < STEP_MIN ? STEP_MIN : step > STEP_MAX ? STEP_MAX : step;
    if (end + step <= limit.rlim_cur && hold(w, end + step) == 0) {
        return 0;
    }
    return w->held >= end ? 0 : hold(w, end);
}

int reserve_mark(struct ctr_writer *w)
{
    uint8_t head[FRAME_HEAD];

    if (w->room != ROOM_WRITTEN || w->finishing || w->held < w->off + FRAME_HEAD) {
        return 0;
    }
    put32(head, FRAME_PAD);
    put32(head + 4, (uint32_t)(w->held - w->off - FRAME_HEAD));
    return pwrite(w->fd, head, sizeof(head), (off_t)w->off) == sizeof(head) ? 0 : EIO;
}

int reserve_release(struct ctr_writer *w)
{
    if (!w->regular || w->released) {
        return 0;
    }
    w->released = 1;
    if (w->held <= w->off && !w->tail) {
        return 0;
    }
    return ftruncate(w->fd, (off_t)w->off) ? errno : 0;
}
