/* SPDX-License-Identifier: MIT */
/*
 * The consuming end of the mempipe.
 *
 * One thread drains: it looks at every pipe that was ever claimed, reads mail in sequence
 * and empties the side queues.  This code trusts the layout that it made itself and
 * nothing that a guest may have overwritten: buffer numbers, lengths and record sizes are
 * checked before they are used.
 */
#include "mempipe_host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
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

static uint64_t page_up(uint64_t n)
{
    return (n + 4095) & ~(uint64_t)4095;
}

static struct mempipe_ctl layout_of(const struct mempipe_config *c)
{
    const uint64_t nr_buffers = (uint64_t)c->nr_pipes + c->nr_pool;
    struct mempipe_ctl l = {
        .magic = MEMPIPE_MAGIC,
        .version = MEMPIPE_VERSION,
        .ctl_bytes = sizeof(struct mempipe_ctl),
        .nr_pipes = c->nr_pipes,
        .nr_pool = c->nr_pool,
        .buffer_bytes = c->buffer_bytes,
        .side_bytes = c->side_bytes,
        .events = c->events,
        .discard = c->discard,
        .data_limit = c->data_limit,
        .follow = c->follow,
        .watch = c->watch,
        .live = c->live,
        .epoch_blocks = c->epoch_blocks,
        .quantum = c->quantum,
        .vary = c->vary,
        .seed = c->seed,
        .random_seed = c->random_seed,
        .recorder_pid = getpid(),
    };

    if (c->inputs) {
        snprintf(l.inputs, sizeof(l.inputs), "%s", c->inputs);
    }

    l.control_off = page_up(sizeof(struct mempipe_ctl));
    l.requests_off = page_up(l.control_off + sizeof(struct mempipe_control));
    l.shared_off =
        page_up(l.requests_off + c->nr_pipes * sizeof(struct mempipe_requests));
    l.ids_off = page_up(l.shared_off + sizeof(struct mempipe_shared));
    l.pipes_off = page_up(l.ids_off + MEMPIPE_ID_PAGES);
    l.headers_off = page_up(l.pipes_off + c->nr_pipes * sizeof(struct mempipe_pipe));
    l.side_off = page_up(l.headers_off + nr_buffers * sizeof(struct mempipe_buffer));
    l.buffers_off = page_up(l.side_off + (uint64_t)c->nr_pipes * c->side_bytes);
    l.total_bytes = l.buffers_off + nr_buffers * c->buffer_bytes;
    return l;
}

uint64_t mempipe_host_size(const struct mempipe_config *config)
{
    return layout_of(config).total_bytes;
}

static void pool_push(struct mempipe_host *h, uint32_t buffer)
{
    /* pairs with the release below and with the producer's pop */
    uint64_t head = __atomic_load_n(&h->shared->pool_head, __ATOMIC_ACQUIRE);
    uint64_t next;

    do {
        __atomic_store_n(&h->buffers[buffer].next_free, (uint32_t)head, __ATOMIC_RELAXED);
        next = (((head >> 32) + 1) << 32) | (buffer + 1);
    } while (!__atomic_compare_exchange_n(&h->shared->pool_head, &head, next, true,
                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

static int lock_owner(struct mempipe_host *h)
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

/*
 * A memfd of this size, which nobody can make smaller: a missing page would end the
 * recorder with SIGBUS.
 */
static int make_file(uint64_t bytes)
{
    int fd = memfd_create("cannoli", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int err;

    if (fd < 0) {
        return -errno;
    }
    /*
     * The guest's later programs (execve) open it by way of /proc/PID/fd, which the
     * system permits to processes that may inspect this one; nobody else needs access.
     */
    if (fchmod(fd, 0600) < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
        err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

/* Makes both files and maps them, one right after the other. */
static int make_files(struct mempipe_host *h)
{
    const uint64_t first = h->layout.shared_off;
    const uint64_t total = h->layout.total_bytes;
    const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_NORESERVE;
    struct stat st;
    int err;

    h->ctl_fd = make_file(first);
    if (h->ctl_fd < 0) {
        return h->ctl_fd;
    }
    h->shared_fd = make_file(total - first);
    if (h->shared_fd < 0) {
        err = h->shared_fd;
        goto out_ctl;
    }
    if (fstat(h->shared_fd, &st) < 0) {
        err = -errno;
        goto out_shared;
    }
    h->dev = st.st_dev;
    h->ino = st.st_ino;
    h->base =
        mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h->base == MAP_FAILED) {
        err = -errno;
        goto out_shared;
    }
    /* No other mapping of the first file can be written once it is sealed. */
    if (mmap(h->base, first, prot, flags | MAP_FIXED, h->ctl_fd, 0) == MAP_FAILED ||
        mmap(h->base + first, total - first, prot, flags | MAP_FIXED, h->shared_fd, 0) ==
            MAP_FAILED ||
        fcntl(h->ctl_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0 ||
        fcntl(h->shared_fd, F_ADD_SEALS, F_SEAL_SEAL) < 0) {
        err = -errno;
        goto out_map;
    }
    /* Keeps the events out of core files. */
    madvise(h->base, total, MADV_DONTDUMP);
    return 0;

out_map:
    munmap(h->base, total);
out_shared:
    close(h->shared_fd);
out_ctl:
    close(h->ctl_fd);
    return err;
}

static size_t tails_bytes(const struct mempipe_host *h)
{
    return h->layout.nr_pipes * sizeof(*h->side_tails);
}

int mempipe_host_open(struct mempipe_host *h, const struct mempipe_config *config)
{
    const size_t filter_bytes = config->filter ? strlen(config->filter) : 0;
    const uint32_t nr_buffers = config->nr_pipes + config->nr_pool;
    int err;

    memset(h, 0, sizeof(*h));
    if (filter_bytes >= MEMPIPE_FILTER_BYTES) {
        return -E2BIG;
    }
    h->layout = layout_of(config);
    h->addr_bytes = 8;
    h->held = calloc(nr_buffers, sizeof(*h->held));
    h->side_tails = mmap(NULL, tails_bytes(h), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    h->side_tails = h->side_tails == MAP_FAILED ? NULL : h->side_tails;
    err = h->held && h->side_tails ? make_files(h) : -ENOMEM;
    if (err) {
        goto out_own;
    }
    h->layout.ctl_fd = h->ctl_fd;
    h->layout.shared_fd = h->shared_fd;
    h->ctl = (struct mempipe_ctl *)h->base;
    h->control = (struct mempipe_control *)(h->base + h->layout.control_off);
    h->requests = (struct mempipe_requests *)(h->base + h->layout.requests_off);
    h->shared = (struct mempipe_shared *)(h->base + h->layout.shared_off);
    h->pipes = (struct mempipe_pipe *)(h->base + h->layout.pipes_off);
    h->buffers = (struct mempipe_buffer *)(h->base + h->layout.headers_off);
    *h->ctl = h->layout;
    h->control->paused = config->paused;
    h->control->window = config->window;
    h->control->coverage = config->coverage;
    h->control->nr_contexts = config->nr_contexts;
    for (uint32_t i = 0; i < config->nr_contexts; i++) {
        h->control->contexts[i] = config->contexts[i];
    }
    snprintf(h->control->tasks, sizeof(h->control->tasks), "%s",
             config->tasks ? config->tasks : "");
    h->control->filter_bytes = (uint32_t)filter_bytes;
    if (filter_bytes) {
        memcpy(h->control->filter, config->filter, filter_bytes);
    }
    h->shared->after_insns = config->after_insns ? config->after_insns : UINT64_MAX;
    h->shared->for_insns = config->for_insns ? config->for_insns : UINT64_MAX;
    h->shared->next_epoch = 1;
    err = lock_owner(h);
    if (err) {
        goto out_files;
    }
    for (uint32_t i = config->nr_pool; i > 0; i--) {
        pool_push(h, config->nr_pipes + i - 1);
    }
    return 0;

out_files:
    munmap(h->base, h->layout.total_bytes);
    close(h->shared_fd);
    close(h->ctl_fd);
out_own:
    if (h->side_tails) {
        munmap(h->side_tails, tails_bytes(h));
    }
    free(h->held);
    return err;
}

void mempipe_host_close(struct mempipe_host *h)
{
    pthread_mutex_t *owner = (pthread_mutex_t *)h->ctl->owner;

    pthread_mutex_unlock(owner);
    pthread_mutex_destroy(owner);
    munmap(h->base, h->layout.total_bytes);
    close(h->shared_fd);
    close(h->ctl_fd);
    munmap(h->side_tails, tails_bytes(h));
    free(h->held);
    memset(h, 0, sizeof(*h));
}

void mempipe_host_free_ids(struct mempipe_host *h, uint32_t page)
{
    uint32_t *at = &h->shared->id_hint;
    uint32_t hint = __atomic_load_n(at, __ATOMIC_RELAXED);

    /* pairs with the exchange that takes it next */
    __atomic_store_n(h->base + h->layout.ids_off + page, 0, __ATOMIC_RELEASE);
    /* A search from the hint that finds nothing starts over, so this may give up. */
    for (int i = 0; i < 64 && page < hint &&
                    !__atomic_compare_exchange_n(at, &hint, page, true, __ATOMIC_RELEASE,
                                                 __ATOMIC_RELAXED);
         i++) {
    }
}

int mempipe_host_target(struct mempipe_host *h, struct mempipe_target *target)
{
    const struct mempipe_shared *s = h->shared;

    *target = (struct mempipe_target){
        .elf_machine = __atomic_load_n(&s->elf_machine, __ATOMIC_RELAXED),
        .addr_bytes = __atomic_load_n(&s->addr_bytes, __ATOMIC_RELAXED),
        .big_endian = __atomic_load_n(&s->big_endian, __ATOMIC_RELAXED) != 0,
    };
    if (target->addr_bytes != 4 && target->addr_bytes != 8) {
        return -EPROTO;
    }
    memcpy(target->target, s->target, sizeof(target->target) - 1);
    memcpy(target->qemu_version, s->qemu_version, sizeof(target->qemu_version) - 1);
    h->addr_bytes = target->addr_bytes;
    return 0;
}

uint32_t mempipe_host_pipes_high(struct mempipe_host *h)
{
    uint32_t high = __atomic_load_n(&h->shared->pipes_high, __ATOMIC_SEQ_CST);

    high = high < h->layout.nr_pipes ? high : h->layout.nr_pipes;
    h->pipes_high = high > h->pipes_high ? high : h->pipes_high;
    return h->pipes_high;
}

struct mempipe_mail mempipe_host_header(const struct mempipe_host *h, uint32_t buffer)
{
    const struct mempipe_buffer *b = &h->buffers[buffer];

    return (struct mempipe_mail){
        .buffer = buffer,
        .words = __atomic_load_n(&b->words, __ATOMIC_RELAXED),
        .units = __atomic_load_n(&b->units, __ATOMIC_RELAXED),
        .set = __atomic_load_n(&b->set, __ATOMIC_RELAXED),
        .first = __atomic_load_n(&b->first, __ATOMIC_RELAXED),
        .start_ns = __atomic_load_n(&b->start_ns, __ATOMIC_RELAXED),
        .end_ns = __atomic_load_n(&b->end_ns, __ATOMIC_RELAXED),
    };
}

int mempipe_host_see_mail(struct mempipe_host *h, uint32_t pipe, uint32_t seq,
                          struct mempipe_mail *mail)
{
    const uint32_t *slot = &h->pipes[pipe].mail[seq % MEMPIPE_MAIL];
    /* pairs with the producer's release store after it filled the header */
    uint32_t number = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    const struct mempipe_buffer *b;
    struct mempipe_buffer copy;

    if (number == 0) {
        return 0;
    }
    /* A buffer may be taken again while its release is under way, but not twice. */
    if (number > h->layout.nr_pipes + h->layout.nr_pool ||
        __atomic_load_n(&h->held[number - 1], __ATOMIC_RELAXED) > 1) {
        return -EPROTO;
    }
    mempipe_host_hold(h, number - 1);
    b = &h->buffers[number - 1];
    copy.pipe = __atomic_load_n(&b->pipe, __ATOMIC_RELAXED);
    copy.seq = __atomic_load_n(&b->seq, __ATOMIC_RELAXED);
    *mail = mempipe_host_header(h, number - 1);
    if (copy.pipe != pipe || copy.seq != seq ||
        !mempipe_host_fits(h, mail->words, mail->units)) {
        return -EPROTO;
    }
    return 1;
}

void mempipe_host_clear_mail(struct mempipe_host *h, uint32_t pipe, uint32_t seq)
{
    /* pairs with the producer's check that the slot is free */
    __atomic_store_n(&h->pipes[pipe].mail[seq % MEMPIPE_MAIL], 0, __ATOMIC_RELEASE);
}

int mempipe_host_read_mail(struct mempipe_host *h, uint32_t pipe, uint32_t seq,
                           struct mempipe_mail *mail)
{
    int got = mempipe_host_see_mail(h, pipe, seq, mail);

    if (got > 0) {
        mempipe_host_clear_mail(h, pipe, seq);
    }
    return got;
}

int mempipe_host_drain_side(struct mempipe_host *h, uint32_t pipe, mempipe_record_fn *fn,
                            void *ctx)
{
    struct mempipe_pipe *p = &h->pipes[pipe];
    const uint32_t size = h->layout.side_bytes;
    const uint8_t *queue = h->base + h->layout.side_off + (uint64_t)pipe * size;
    /* pairs with the producer's release store after a record */
    uint64_t head = __atomic_load_n(&p->side_head, __ATOMIC_ACQUIRE);
    uint64_t tail = h->side_tails[pipe];
    int result = 0;

    if (head == tail) {
        return 0;
    }
    h->side_most = head - tail > h->side_most ? head - tail : h->side_most;
    while (tail != head) {
        uint32_t at = (uint32_t)tail & (size - 1);
        const struct mempipe_side_record *rec =
            (const struct mempipe_side_record *)(queue + at);
        uint64_t left = head - tail;
        /* once: the guest may overwrite it */
        uint32_t bytes = __atomic_load_n(&rec->bytes, __ATOMIC_RELAXED);

        if (left > size || bytes < sizeof(*rec) || bytes % 8 || bytes > left ||
            bytes > size - at) {
            result = -EPROTO;
            tail = head & ~7ull;
            break;
        }
        if (rec->type != MEMPIPE_SIDE_PAD) {
            result = fn(ctx, pipe, rec, bytes);
            if (result < 0) {
                break;
            }
        }
        tail += bytes;
        if (h->stepwise) {
            __atomic_store_n(&h->side_tails[pipe], tail, __ATOMIC_RELEASE);
        }
    }
    __atomic_store_n(&h->side_tails[pipe], tail, __ATOMIC_RELEASE);
    /* Before the guest may write there: a process that goes on after a sudden end reads
     * this. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    /* pairs with the producer's acquire load when it looks for room */
    __atomic_store_n(&p->side_tail, tail, __ATOMIC_RELEASE);
    __atomic_fetch_add(&h->shared->space, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&h->shared->space_waiters, __ATOMIC_SEQ_CST)) {
        futex(&h->shared->space, FUTEX_WAKE, INT_MAX, NULL);
    }
    return result < 0 ? result : 1;
}

/*
 * Data after the end of a column may have been written without having been counted: an
 * address whose access then faulted, a half-written value.
 */
static void zero_columns(struct mempipe_host *h, uint32_t buffer, uint32_t words,
                         uint32_t units)
{
    uint8_t *base = mempipe_host_buffer(h, buffer);
    const size_t all = h->layout.buffer_bytes;
    size_t low = (size_t)words * sizeof(uint32_t) + MEMPIPE_SLACK;
    size_t high = (size_t)units * h->addr_bytes + MEMPIPE_SLACK;

    if (low >= all || high >= all - low) {
        memset(base, 0, all);
    } else {
        memset(base, 0, low);
        memset(base + all - high, 0, high);
    }
}

void mempipe_host_release(struct mempipe_host *h, uint32_t buffer, uint32_t words,
                          uint32_t units, bool trim)
{
    const off_t off = (off_t)(h->layout.buffers_off - h->layout.shared_off +
                              (uint64_t)buffer * h->layout.buffer_bytes);

    /* A hole reads as zeros; if the system makes none, the columns are zeroed. */
    if (!trim || buffer >= h->layout.nr_pipes ||
        fallocate(h->shared_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off,
                  h->layout.buffer_bytes) < 0) {
        zero_columns(h, buffer, words, units);
    }
    if (buffer < h->layout.nr_pipes) {
        /* pairs with the producer's acquire load of its reserved buffer */
        __atomic_store_n(&h->buffers[buffer].busy, 0, __ATOMIC_RELEASE);
    } else {
        pool_push(h, buffer);
    }
    /*
     * After the buffer is free, so pairs with the load in mempipe_host_reserved_is_back.
     * The buffer may be back here already, which is why this is a count.
     */
    __atomic_fetch_sub(&h->held[buffer], 1, __ATOMIC_RELEASE);
    /* Sequentially consistent with the producer's "register, look again, wait". */
    __atomic_fetch_add(&h->shared->space, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&h->shared->space_waiters, __ATOMIC_SEQ_CST)) {
        futex(&h->shared->space, FUTEX_WAKE, INT_MAX, NULL);
    }
}

void mempipe_host_measure(const struct mempipe_host *h, uint32_t buffer, uint32_t *words,
                          uint32_t *units)
{
    const uint8_t *base = mempipe_host_buffer(h, buffer);
    const uint32_t *col = (const uint32_t *)base;
    const size_t ab = h->addr_bytes;
    const size_t nw = h->layout.buffer_bytes / sizeof(uint32_t);
    uint32_t word;
    size_t w = 0;

    /*
     * The thread that zeroed the buffer did so before the producer filled it: release in
     * mempipe_host_release, acquire in the producer.  Acquired here once more, for
     * ThreadSanitizer, which does not see what the producer's process does.
     */
    (void)__atomic_load_n(&h->shared->pool_head, __ATOMIC_ACQUIRE);
    (void)__atomic_load_n(&h->buffers[buffer].busy, __ATOMIC_ACQUIRE);
    /* Only the number after a LEFT may be 0, so the words are parsed. */
    while (w < nw && (word = __atomic_load_n(&col[w], __ATOMIC_RELAXED)) != 0) {
        uint32_t kind = CTR_WORD_KIND(word);
        w += kind == CTR_WORD_LEFT || kind == CTR_WORD_RESUME ? 2 : 1;
    }
    w = w > nw ? nw : w;
    *words = (uint32_t)w;

    size_t pos = (w * sizeof(uint32_t) + ab - 1) / ab * ab;
    while (pos < h->layout.buffer_bytes) {
        uint64_t v = 0;
        memcpy(&v, base + pos, ab);
        if (v) {
            break;
        }
        pos += ab;
    }
    *units = (uint32_t)((h->layout.buffer_bytes - pos) / ab);
}

bool mempipe_host_reserved_is_back(struct mempipe_host *h, uint32_t pipe)
{
    /* pairs with the end of mempipe_host_release */
    if (__atomic_load_n(&h->held[pipe], __ATOMIC_ACQUIRE)) {
        return false;
    }
    if (__atomic_load_n(&h->buffers[pipe].busy, __ATOMIC_RELAXED)) {
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
    p->live_buffer = 0;
    p->live_seq = 0;
    p->running = 0;
    p->waits = 0;
    p->wait_ns = 0;
    /* Drops what an owner left that was killed before it came alive. */
    h->side_tails[pipe] = __atomic_load_n(&p->side_head, __ATOMIC_RELAXED) & ~7ull;
    __atomic_store_n(&p->side_head, h->side_tails[pipe], __ATOMIC_RELAXED);
    __atomic_store_n(&p->side_tail, h->side_tails[pipe], __ATOMIC_RELAXED);
    memset(p->mail, 0, sizeof(p->mail));
    /* pairs with the compare-and-swap that claims it */
    __atomic_store_n(&p->state, MEMPIPE_FREE, __ATOMIC_RELEASE);
}

void mempipe_host_ring(struct mempipe_host *h)
{
    __atomic_fetch_add(&h->shared->doorbell, 1, __ATOMIC_SEQ_CST);
    futex(&h->shared->doorbell, FUTEX_WAKE, 1, NULL);
}

void mempipe_host_wait(struct mempipe_host *h, uint32_t seen, int timeout_ms)
{
    struct timespec ts = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};

    /* Pairs with "ring, then look at asleep" of the producers. */
    __atomic_store_n(&h->shared->asleep, 1, __ATOMIC_SEQ_CST);
    if (mempipe_host_doorbell(h) == seen) {
        futex(&h->shared->doorbell, FUTEX_WAIT, seen, timeout_ms < 0 ? NULL : &ts);
    }
    __atomic_store_n(&h->shared->asleep, 0, __ATOMIC_SEQ_CST);
}

void mempipe_host_nap(struct mempipe_host *h, int us)
{
    struct timespec ts = {0, (long)us * 1000};

    /* The producers do not see it; one that rings right now is not missed for long. */
    futex(&h->shared->doorbell, FUTEX_WAIT, mempipe_host_doorbell(h), &ts);
}
