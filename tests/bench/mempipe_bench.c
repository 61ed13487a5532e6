/* SPDX-License-Identifier: MIT */
/*
 * The speed of the pipe itself, between two processes: hand-overs a second when
 * each carries almost nothing, and bytes a second when buffers are full.  One
 * process writes as a guest thread does, this one drains, reads and returns buffers
 * as the recorder does, without encoding anything.
 *
 *   mempipe_bench [SECONDS]     (for each measurement; default 2)
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "mempipe_host.h"
#include "producer.h"

#define BUFFER_BYTES (512u << 10)

enum what {
    TINY, /* one word a hand-over */
    FILL, /* full buffers, which the producer writes completely */
    COPY, /* the same, and the drainer reads everything */
};

static void produce(void *base, enum what what, uint64_t until_ns)
{
    struct producer q;

    producer_use(&q, base);
    producer_attach(&q, producer_claim(&q), &(struct producer_identity){.pid = getpid()});
    while (producer_now_ns() < until_ns) {
        for (int i = 0; i < (what == TINY ? 256 : 4); i++) {
            size_t room = what == TINY ? 4 : BUFFER_BYTES - MEMPIPE_SLACK;

            memset(q.low, 1, room);
            q.low += room;
            producer_hand_over(&q);
        }
    }
    producer_end(&q, MEMPIPE_END_EXIT, 0);
}

/* Reads a buffer as a decoder must: once, word by word. */
static uint64_t sum(const uint8_t *mem, uint32_t words)
{
    const uint64_t *p = (const uint64_t *)mem;
    uint64_t s[4] = {0};

    for (uint32_t i = 0; i + 4 <= words / 2; i += 4) {
        for (int k = 0; k < 4; k++) {
            s[k] += p[i + (uint32_t)k];
        }
    }
    return s[0] + s[1] + s[2] + s[3];
}

struct result {
    double seconds;
    uint64_t hand_overs, bytes, checksum;
};

static void drain(struct mempipe_host *h, enum what what, struct result *r)
{
    struct mempipe_pipe *p = &h->pipes[0];
    uint32_t seq = 0, state, idle = 0;

    do {
        uint32_t seen = mempipe_host_doorbell(h);
        struct mempipe_mail mail;

        state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
        idle++;
        while (mempipe_host_read_mail(h, 0, seq, &mail) > 0) {
            if (what == COPY) {
                r->checksum += sum(mempipe_host_buffer(h, mail.buffer), mail.words);
            }
            r->hand_overs++;
            r->bytes += mail.words * 4ull;
            mempipe_host_release(h, mail.buffer, mail.words, 0, false);
            seq++;
            idle = 0;
        }
        if (idle > 1000) {
            mempipe_host_wait(h, seen, 1000);
        }
    } while (state != MEMPIPE_ENDED || idle < 2);
}

static int measure(enum what what, double seconds, struct result *r)
{
    struct mempipe_config c = {.nr_pipes = 16,
                               .nr_pool = 48,
                               .buffer_bytes = BUFFER_BYTES,
                               .side_bytes = 128u << 10};
    struct mempipe_host h;
    uint64_t start = producer_now_ns();
    pid_t pid;
    struct mempipe_target target;
    int err = mempipe_host_open(&h, &c);

    if (err) {
        fprintf(stderr, "mempipe_bench: %s\n", strerror(-err));
        return 1;
    }
    h.shared->addr_bytes = 8;
    if (mempipe_host_target(&h, &target)) {
        return 1;
    }
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        produce(h.base, what, start + (uint64_t)(seconds * 1e9));
        _exit(0);
    }
    *r = (struct result){0};
    drain(&h, what, r);
    r->seconds = (double)(producer_now_ns() - start) / 1e9;
    waitpid(pid, NULL, 0);
    mempipe_host_close(&h);
    return 0;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    struct result r;

    if (seconds <= 0) {
        fprintf(stderr, "mempipe_bench: '%s' is no number of seconds\n", argv[1]);
        return 2;
    }
    if (measure(TINY, seconds, &r)) {
        return 1;
    }
    printf("hand-overs of one word:         %8.2f M/s\n",
           (double)r.hand_overs / r.seconds / 1e6);
    if (measure(FILL, seconds, &r)) {
        return 1;
    }
    printf("full buffers, written, zeroed:  %8.2f GiB/s (%.0f buffers/s)\n",
           (double)r.bytes / r.seconds / (1 << 30), (double)r.hand_overs / r.seconds);
    if (measure(COPY, seconds, &r)) {
        return 1;
    }
    printf("full buffers, and read as well: %8.2f GiB/s (%.0f buffers/s)\n",
           (double)r.bytes / r.seconds / (1 << 30), (double)r.hand_overs / r.seconds);
    return 0;
}
