/* SPDX-License-Identifier: MIT */
/*
 * The memory of the ring: its parts, and the chunks mapped twice in a row.
 */
#include "ring_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Room that is only used as far as there is something to say; a limit on address
 * space or on the size of files makes it smaller. */
#define MAX_THREADS (1u << 22)
#define LOG_BYTES (1ull << 30)
#define AREA_BYTES (1ull << 30)
#define MIN_SHARE (1ull << 20)

static uint64_t lay_out(struct ring *r)
{
    uint64_t at = ring_pages(sizeof(struct ring_image));
    uint64_t proc = at, thread, log, area;

    at += ring_pages(r->max_threads * sizeof(struct ring_proc));
    thread = at;
    at += ring_pages(r->max_threads * sizeof(struct ring_thread));
    log = at;
    at += 2 * ring_pages(r->log_bytes);
    area = at;
    at += 2 * ring_pages(r->area_bytes);
    if (r->base) {
        r->image = (struct ring_image *)r->base;
        r->proc = (struct ring_proc *)(r->base + proc);
        r->thread = (struct ring_thread *)(r->base + thread);
        r->log[0] = r->base + log;
        r->log[1] = r->log[0] + ring_pages(r->log_bytes);
        r->area[0] = r->base + area;
        r->area[1] = r->area[0] + ring_pages(r->area_bytes);
    }
    return at;
}

static uint64_t most_bytes(void)
{
    struct rlimit as, fsize;
    uint64_t most = UINT64_MAX;

    if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY) {
        most = as.rlim_cur / 8;
    }
    if (getrlimit(RLIMIT_FSIZE, &fsize) == 0 && fsize.rlim_cur / 2 < most) {
        most = fsize.rlim_cur / 2;
    }
    return most;
}

/* The chunks twice in a row. */
static int map_chunks(struct ring *r)
{
    const int prot = PROT_READ | PROT_WRITE;
    uint8_t *p;

    if (r->size > SIZE_MAX / 2) {
        return -ENOMEM;
    }
    p = mmap(NULL, 2 * r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
             -1, 0);
    if (p == MAP_FAILED) {
        return -errno;
    }
    r->chunks = p;
    for (int i = 0; i < 2; i++, p += r->size) {
        if (mmap(p, r->size, prot, MAP_SHARED | MAP_FIXED, r->fd, (off_t)r->bytes) ==
            MAP_FAILED) {
            return -errno;
        }
    }
    return 0;
}

int ring_new(struct ring **out, uint64_t bytes)
{
    struct ring *r = calloc(1, sizeof(*r));
    uint64_t most = most_bytes();
    int err;

    *out = NULL;
    if (!r) {
        return -ENOMEM;
    }
    pthread_mutex_init(&r->log_lock, NULL);
    r->size = ring_pages(bytes);
    r->max_threads = MAX_THREADS;
    r->log_bytes = LOG_BYTES;
    r->area_bytes = AREA_BYTES;
    while (lay_out(r) > most && r->area_bytes > MIN_SHARE) {
        r->max_threads /= 2;
        r->log_bytes /= 2;
        r->area_bytes /= 2;
    }
    r->bytes = lay_out(r);
    r->fd = memfd_create("cannoli-ring", MFD_CLOEXEC);
    if (r->fd < 0) {
        err = -errno;
        goto out_free;
    }
    if (r->size > INT64_MAX - r->bytes) {
        err = -ENOMEM;
        goto out_free;
    }
    if (ftruncate(r->fd, (off_t)(r->bytes + r->size)) < 0) {
        err = -errno;
        goto out_free;
    }
    r->base = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (r->base == MAP_FAILED) {
        r->base = NULL;
        err = -errno;
        goto out_free;
    }
    lay_out(r);
    /* Number 0 is that of no chunk. */
    r->image->state[0].head_seq = r->image->state[0].tail_seq = 1;
    err = map_chunks(r);
    if (err) {
        goto out_free;
    }
    *out = r;
    return 0;

out_free:
    ring_free(r);
    return err;
}

void ring_free(struct ring *r)
{
    if (!r) {
        return;
    }
    if (r->chunks) {
        munmap(r->chunks, 2 * r->size);
    }
    if (r->base) {
        munmap(r->base, r->bytes);
    }
    if (r->fd >= 0) {
        close(r->fd);
    }
    pthread_mutex_destroy(&r->log_lock);
    free(r->item_at);
    free(r);
}

uint64_t ring_size(const struct ring *r)
{
    return r->size;
}

uint32_t ring_buffer_bytes(uint64_t ring_bytes, uint32_t most)
{
    uint32_t n = 64u << 10;

    while (n < most && (uint64_t)n * 16 <= ring_bytes) {
        n *= 2;
    }
    return n;
}
