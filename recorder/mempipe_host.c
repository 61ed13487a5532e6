/* SPDX-License-Identifier: MIT */
/*
 * The consuming end of the mempipe.
 *
 * One thread drains: it looks at every pipe that was ever claimed, takes mail
 * in sequence and empties the aux rings.  Everything here trusts the layout it
 * made itself and nothing that a guest may have overwritten: chunk numbers,
 * lengths and record sizes are checked before they are used.
 */
#include "mempipe_host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long futex(uint32_t *word, int op, uint32_t val, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op, val, timeout, NULL, 0);
}

struct layout {
    uint64_t control, pipes, headers, aux, chunks, total;
};

static uint64_t page_up(uint64_t n)
{
    return (n + 4095) & ~(uint64_t)4095;
}

static struct layout layout_of(const struct mempipe_config *c)
{
    uint64_t nr_chunks = (uint64_t)c->nr_pipes + c->nr_pool;
    struct layout l;

    l.control = page_up(sizeof(struct mempipe_ctl));
    l.pipes = page_up(l.control + sizeof(struct mempipe_control));
    l.headers = page_up(l.pipes + c->nr_pipes * sizeof(struct mempipe_pipe));
    l.aux = page_up(l.headers + nr_chunks * sizeof(struct mempipe_chunk));
    l.chunks = page_up(l.aux + (uint64_t)c->nr_pipes * c->aux_bytes);
    l.total = l.chunks + nr_chunks * c->chunk_bytes;
    return l;
}

uint64_t mempipe_host_size(const struct mempipe_config *config)
{
    return layout_of(config).total;
}

static void pool_push(struct mempipe_host *h, uint32_t chunk)
{
    /* pairs with the release below and with the producer's pop */
    uint64_t head = __atomic_load_n(&h->ctl->pool_head, __ATOMIC_ACQUIRE);
    uint64_t next;

    do {
        __atomic_store_n(&h->chunks[chunk].next_free, (uint32_t)head, __ATOMIC_RELAXED);
        next = (((head >> 32) + 1) << 32) | (chunk + 1);
    } while (!__atomic_compare_exchange_n(&h->ctl->pool_head, &head, next, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

static int take_owner(struct mempipe_host *h)
{
    pthread_mutexattr_t attr;
    int err;

    _Static_assert(sizeof(pthread_mutex_t) <= sizeof(h->ctl->owner), "owner too small");
    err = pthread_mutexattr_init(&attr);
    if (err) {
        return -err;
    }
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    err = pthread_mutex_init((pthread_mutex_t *)h->ctl->owner, &attr);
    pthread_mutexattr_destroy(&attr);
    if (!err) {
        err = pthread_mutex_lock((pthread_mutex_t *)h->ctl->owner);
    }
    return -err;
}

int mempipe_host_open(struct mempipe_host *h, const struct mempipe_config *config)
{
    struct layout l = layout_of(config);
    const size_t filter_bytes = config->filter ? strlen(config->filter) : 0;
    struct stat st;
    int err;

    memset(h, 0, sizeof(*h));
    if (filter_bytes >= MEMPIPE_FILTER_BYTES) {
        return -E2BIG;
    }
    h->bytes = l.total;
    h->fd = memfd_create("cannoli", MFD_CLOEXEC);
    if (h->fd < 0) {
        return -errno;
    }
    /*
     * The guest's later programs (execve) open it by way of /proc/PID/fd, which the
     * system allows to who may look into this process; nobody else has business here.
     */
    if (fchmod(h->fd, 0600) < 0 || ftruncate(h->fd, (off_t)l.total) < 0 ||
        fstat(h->fd, &st) < 0) {
        err = -errno;
        goto out_fd;
    }
    h->ino = st.st_ino;
    h->base =
        mmap(NULL, l.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, h->fd, 0);
    if (h->base == MAP_FAILED) {
        err = -errno;
        goto out_fd;
    }
    /* The events are nobody's business in a core file. */
    madvise(h->base, l.total, MADV_DONTDUMP);

    h->ctl = (struct mempipe_ctl *)h->base;
    h->control = (struct mempipe_control *)(h->base + l.control);
    h->pipes = (struct mempipe_pipe *)(h->base + l.pipes);
    h->chunks = (struct mempipe_chunk *)(h->base + l.headers);
    *h->ctl = (struct mempipe_ctl){
        .magic = MEMPIPE_MAGIC,
        .version = MEMPIPE_VERSION,
        .ctl_bytes = sizeof(struct mempipe_ctl),
        .total_bytes = l.total,
        .nr_pipes = config->nr_pipes,
        .nr_pool = config->nr_pool,
        .chunk_bytes = config->chunk_bytes,
        .aux_bytes = config->aux_bytes,
        .events = config->events,
        .data_limit = config->data_limit,
        .follow = config->follow,
        .recorder_pid = getpid(),
        .pipe_fd = h->fd,
        .discard = config->discard,
        .live = config->live,
        .control_off = l.control,
        .watch = config->watch,
        .pipes_off = l.pipes,
        .headers_off = l.headers,
        .aux_off = l.aux,
        .chunks_off = l.chunks,
        .next_id = 1,
    };
    h->control->paused = config->paused;
    h->control->window = config->window;
    h->control->coverage = config->coverage;
    h->control->after_insns = config->after_insns ? config->after_insns : UINT64_MAX;
    h->control->for_insns = config->for_insns ? config->for_insns : UINT64_MAX;
    h->control->filter_bytes = (uint32_t)filter_bytes;
    if (filter_bytes) {
        memcpy(h->control->filter, config->filter, filter_bytes);
    }
    h->held = calloc((size_t)config->nr_pipes + config->nr_pool, 1);
    err = h->held ? take_owner(h) : -ENOMEM;
    if (err) {
        goto out_map;
    }
    for (uint32_t i = config->nr_pool; i > 0; i--) {
        pool_push(h, config->nr_pipes + i - 1);
    }
    return 0;

out_map:
    free(h->held);
    munmap(h->base, h->bytes);
out_fd:
    close(h->fd);
    return err;
}

void mempipe_host_close(struct mempipe_host *h)
{
    pthread_mutex_t *owner = (pthread_mutex_t *)h->ctl->owner;

    pthread_mutex_unlock(owner);
    pthread_mutex_destroy(owner);
    munmap(h->base, h->bytes);
    close(h->fd);
    free(h->held);
    memset(h, 0, sizeof(*h));
}

uint32_t mempipe_host_take_mail(struct mempipe_host *h, uint32_t pipe, uint32_t seq)
{
    uint32_t *slot = &h->pipes[pipe].mail[seq % MEMPIPE_MAIL];
    /* pairs with the producer's release store after it filled the header */
    uint32_t mail = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

    if (mail == 0 || mail > h->ctl->nr_pipes + h->ctl->nr_pool) {
        return 0;
    }
    /* pairs with the producer's check that the slot is free */
    __atomic_store_n(slot, 0, __ATOMIC_RELEASE);
    mempipe_host_hold(h, mail - 1);
    return mail;
}

int mempipe_host_drain_aux(struct mempipe_host *h, uint32_t pipe, mempipe_aux_fn *fn,
                           void *ctx)
{
    struct mempipe_pipe *p = &h->pipes[pipe];
    const uint32_t size = h->ctl->aux_bytes;
    const uint8_t *ring = h->base + h->ctl->aux_off + (uint64_t)pipe * size;
    /* pairs with the producer's release store behind a record */
    uint64_t head = __atomic_load_n(&p->aux_head, __ATOMIC_ACQUIRE);
    uint64_t tail = p->aux_tail;
    int result = 0;

    if (head == tail) {
        return 0;
    }
    h->aux_most = head - tail > h->aux_most ? head - tail : h->aux_most;
    while (tail != head) {
        uint32_t at = (uint32_t)tail & (size - 1);
        const struct mempipe_aux *rec = (const struct mempipe_aux *)(ring + at);
        uint64_t left = head - tail;
        /* once: the guest may scribble */
        uint32_t bytes = __atomic_load_n(&rec->bytes, __ATOMIC_RELAXED);

        if (left > size || bytes < sizeof(*rec) || bytes % 8 || bytes > left ||
            bytes > size - at) {
            result = -EPROTO;
            tail = head;
            break;
        }
        if (rec->type != MEMPIPE_AUX_PAD) {
            result = fn(ctx, pipe, rec, bytes);
            if (result < 0) {
                break;
            }
        }
        tail += bytes;
    }
    /* pairs with the producer's acquire load when it looks for room */
    __atomic_store_n(&p->aux_tail, tail, __ATOMIC_RELEASE);
    __atomic_fetch_add(&h->ctl->space, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&h->ctl->space_waiters, __ATOMIC_SEQ_CST)) {
        futex(&h->ctl->space, FUTEX_WAKE, INT_MAX, NULL);
    }
    return result < 0 ? result : 1;
}

/*
 * What lies behind the end of a column may have been written without having
 * been counted: an address whose access then faulted, a half-written value.
 */
static void zero_columns(struct mempipe_host *h, uint32_t chunk, uint32_t words,
                         uint32_t units)
{
    uint8_t *base = mempipe_host_chunk(h, chunk);
    const size_t all = h->ctl->chunk_bytes;
    size_t low = (size_t)words * sizeof(uint32_t) + MEMPIPE_SLACK;
    size_t high = (size_t)units * h->ctl->addr_bytes + MEMPIPE_SLACK;

    if (low >= all || high >= all - low) {
        memset(base, 0, all);
    } else {
        memset(base, 0, low);
        memset(base + all - high, 0, high);
    }
}

void mempipe_host_release(struct mempipe_host *h, uint32_t chunk, uint32_t words,
                          uint32_t units, bool trim)
{
    const off_t off = (off_t)(h->ctl->chunks_off + (uint64_t)chunk * h->ctl->chunk_bytes);

    /* A hole reads as zeros; should the system not make one, so be it. */
    if (!trim || chunk >= h->ctl->nr_pipes ||
        fallocate(h->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off,
                  h->ctl->chunk_bytes) < 0) {
        zero_columns(h, chunk, words, units);
    }
    if (chunk < h->ctl->nr_pipes) {
        /* pairs with the producer's acquire load of its home chunk */
        __atomic_store_n(&h->chunks[chunk].busy, 0, __ATOMIC_RELEASE);
    } else {
        pool_push(h, chunk);
    }
    /*
     * After the chunk is free, so pairs with the load in home_is_back.  The
     * chunk may be back here already, which is why this is a count.
     */
    __atomic_fetch_sub(&h->held[chunk], 1, __ATOMIC_RELEASE);
    /* Sequentially consistent with the producer's "register, look again, wait". */
    __atomic_fetch_add(&h->ctl->space, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&h->ctl->space_waiters, __ATOMIC_SEQ_CST)) {
        futex(&h->ctl->space, FUTEX_WAKE, INT_MAX, NULL);
    }
}

void mempipe_host_measure(const struct mempipe_host *h, uint32_t chunk, uint32_t *words,
                          uint32_t *units)
{
    const uint8_t *base = mempipe_host_chunk(h, chunk);
    const uint32_t *col = (const uint32_t *)base;
    const size_t ab = h->ctl->addr_bytes ? h->ctl->addr_bytes : 8;
    const size_t nw = h->ctl->chunk_bytes / sizeof(uint32_t);
    size_t w = 0;

    /* Only the number behind a LEFT may be 0, so the words are parsed. */
    while (w < nw && col[w]) {
        uint32_t kind = CTR_WORD_KIND(col[w]);
        w += kind == CTR_WORD_LEFT || kind == CTR_WORD_RESUME ? 2 : 1;
    }
    w = w > nw ? nw : w;
    *words = (uint32_t)w;

    size_t pos = (w * sizeof(uint32_t) + ab - 1) / ab * ab;
    while (pos < h->ctl->chunk_bytes) {
        uint64_t v = 0;
        memcpy(&v, base + pos, ab);
        if (v) {
            break;
        }
        pos += ab;
    }
    *units = (uint32_t)((h->ctl->chunk_bytes - pos) / ab);
}

bool mempipe_host_home_is_back(struct mempipe_host *h, uint32_t pipe)
{
    /* pairs with the end of mempipe_host_release */
    if (__atomic_load_n(&h->held[pipe], __ATOMIC_ACQUIRE)) {
        return false;
    }
    if (__atomic_load_n(&h->chunks[pipe].busy, __ATOMIC_RELAXED)) {
        mempipe_host_hold(h, pipe);
        mempipe_host_release(h, pipe, 0, 0, false);
    }
    return true;
}

void mempipe_host_free_pipe(struct mempipe_host *h, uint32_t pipe)
{
    struct mempipe_pipe *p = &h->pipes[pipe];

    p->pid = 0;
    p->tid = 0;
    p->ppid = 0;
    p->end_reason = 0;
    p->live_chunk = 0;
    p->live_seq = 0;
    p->running = 0;
    p->waits = 0;
    p->wait_ns = 0;
    p->aux_tail = p->aux_head; /* of an owner that was killed before it came alive */
    memset(p->mail, 0, sizeof(p->mail));
    /* pairs with the compare-and-swap that claims it */
    __atomic_store_n(&p->state, MEMPIPE_FREE, __ATOMIC_RELEASE);
}

bool mempipe_host_knows(const struct mempipe_host *h, pid_t pid)
{
    uint32_t high = __atomic_load_n(&h->ctl->pipes_high, __ATOMIC_SEQ_CST);

    for (uint32_t i = 0; pid > 0 && i < high && i < h->ctl->nr_pipes; i++) {
        if (__atomic_load_n(&h->pipes[i].pid, __ATOMIC_RELAXED) == pid &&
            __atomic_load_n(&h->pipes[i].state, __ATOMIC_ACQUIRE) != MEMPIPE_FREE) {
            return true;
        }
    }
    return false;
}

void mempipe_host_ring(struct mempipe_host *h)
{
    __atomic_fetch_add(&h->ctl->doorbell, 1, __ATOMIC_SEQ_CST);
    futex(&h->ctl->doorbell, FUTEX_WAKE, 1, NULL);
}

void mempipe_host_wait(struct mempipe_host *h, uint32_t seen, int timeout_ms)
{
    struct timespec ts = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};

    /* Pairs with "ring, then look at asleep" of the producers. */
    __atomic_store_n(&h->ctl->asleep, 1, __ATOMIC_SEQ_CST);
    if (mempipe_host_doorbell(h) == seen) {
        futex(&h->ctl->doorbell, FUTEX_WAIT, seen, timeout_ms < 0 ? NULL : &ts);
    }
    __atomic_store_n(&h->ctl->asleep, 0, __ATOMIC_SEQ_CST);
}

void mempipe_host_nap(struct mempipe_host *h, int us)
{
    struct timespec ts = {0, (long)us * 1000};

    /* The producers do not see it; one that rings right now is not missed for long. */
    futex(&h->ctl->doorbell, FUTEX_WAIT, mempipe_host_doorbell(h), &ts);
}
