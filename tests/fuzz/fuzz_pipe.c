/* SPDX-License-Identifier: MIT */
/*
 * The recorder's end of the shared memory: a small recording is played into it while the
 * input overwrites all of it, and a second thread does the same concurrently.  What a
 * guest writes there may spoil its recording, which then ends with an error that says so,
 * or contains what the guest made of it.  But it never crashes the recorder or makes it
 * wait, use unbounded memory, signal a foreign process or write a file that cannot be
 * opened.
 *
 * Input: u8 flags, u8 events, u8 more flags, u8 seed, then steps of STEP bytes: u8
 * operation, u8 value, u16 place, u16 detail.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "attached.h"
#include "control.h"
#include "drain.h"
#include "fuzz.h"
#include "base/le.h"
#include "mempipe_host.h"
#include "pipe_child.h"
#include "pipe_play.h"
#include "pipeline.h"
#include "ring.h"
#include "../unit/random.h"

#define HEAD 4
#define STEP 6
#define MAX_STEPS 96
#define MS 1000000ull
/* No input needs that long, however busy the machine is. */
#define HANG_SECONDS 1200
#define MOST_KIB (3l << 20)
#define MOST_PIDS (4u << 20) /* Linux has no larger ones */

/* flags */
#define ADDR4 0x01u
#define RING 0x02u
#define MANY_PIPES 0x04u /* reserved buffers give their memory back */
#define LIVE 0x08u
#define DISCARD 0x10u
#define RACE_END 0x20u /* the second thread runs until the end of the recording */
#define TWO_WORKERS 0x40u
#define NO_NEWS 0x80u /* all threads are attached before anything is overwritten */

static const uint32_t masks[] = {CTR_EVENTS_EXEC,
                                 CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
                                 CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL,
                                 CTR_EVENTS_EXEC | CTR_EVENTS_REG,
                                 CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_REG,
                                 CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_SYS |
                                     CTR_EVENTS_TIME,
                                 CTR_EVENTS_ALL};

struct world {
    struct mempipe_config config;
    struct mempipe_host host;
    struct attached_shared *attached;
    struct guests guests;
    struct control control;
    struct ctr_dict *dict;
    struct drain *drain;
    struct pipeline *pipeline;
    struct ring *ring;
    struct ctr_diag begin_diag;
    unsigned addr_bytes, workers;
    int fd;
    struct play play;
    pid_t pid[PIPE_CHILDREN];
    uint64_t now;
    uint64_t rng;
    int err; /* of a round */
    /* the second thread */
    pthread_t thread;
    bool racing, stop; /* stop: atomic */
    uint64_t thread_rng;
};

/* ---------------------------------------------------------------- failures */

static void wrong(const char *what)
{
    fprintf(stderr, "fuzz_pipe: %s\n", what);
    abort();
}

static uint64_t inputs; /* that have begun; atomic */

static void *watch_main(void *arg)
{
    uint64_t seen = UINT64_MAX;
    (void)arg;
    for (unsigned s = 0; s < HANG_SECONDS; s++) {
        uint64_t now = __atomic_load_n(&inputs, __ATOMIC_RELAXED);
        s = now == seen ? s : 0;
        seen = now;
        sleep(1);
    }
    fprintf(stderr, "fuzz_pipe: input %llu hangs\n", (unsigned long long)seen);
    abort();
}

static void start_once(void)
{
    static bool started;
    pthread_t thread;
    if (!started) {
        started = true;
        pipe_nursery();
        if (pthread_create(&thread, NULL, watch_main, NULL)) {
            wrong("cannot start a thread");
        }
        pthread_detach(thread);
    }
}

/* An error must be one of the library's and have a text. */
static void check_error(int err, const struct ctr_diag *diag)
{
    if (err < -CTR_E_INVAL || err > -CTR_E_IO) {
        fprintf(stderr, "fuzz_pipe: error %d\n", err);
        wrong("an error with an unknown number");
    }
    if (err != -CTR_E_NOMEM && (diag->code != -err || !diag->text[0])) {
        fprintf(stderr, "fuzz_pipe: error %d, code %d, '%s'\n", err, diag->code,
                diag->text);
        wrong("an error without a text");
    }
}

static void check_memory(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    if (use.ru_maxrss > MOST_KIB) {
        wrong("too much memory is used");
    }
}

/* ---------------------------------------------------------------- scribbling */

/* Whether the number may be the pid of a process of this machine that is not ours. */
static bool may_be_foreign(const struct world *w, uint32_t pid)
{
    return pid > 1 && pid <= MOST_PIDS && pid != (uint32_t)w->pid[0] &&
           pid != (uint32_t)w->pid[1] && pid != (uint32_t)pipe_bystander() &&
           pid != (uint32_t)getpid();
}

static bool is_pid(const struct world *w, uint64_t off)
{
    const struct mempipe_ctl *c = &w->play.ctl;
    return off >= c->pipes_off && off < c->headers_off &&
           (off - c->pipes_off) % sizeof(struct mempipe_pipe) / 4 ==
               offsetof(struct mempipe_pipe, pid) / 4;
}

/* The only way to write into the memory: a word, at any time. */
static void poke(struct world *w, uint64_t off, uint32_t value)
{
    uint32_t *to = (uint32_t *)(void *)(w->host.base + (off & ~3ull));
    if (is_pid(w, off) && may_be_foreign(w, value)) {
        value |= 0x40000000;
    }
    if (off < w->play.ctl.shared_off) {
        return; /* only the recorder can, see check_files */
    }
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static uint32_t peek(struct world *w, uint64_t off)
{
    return __atomic_load_n((uint32_t *)(void *)(w->host.base + (off & ~3ull)),
                           __ATOMIC_RELAXED);
}

/* Words that a guest writes itself, or would choose to. */
static uint64_t word_of_pipe(struct world *w, unsigned place)
{
    static const uint16_t fields[] = {
        offsetof(struct mempipe_pipe, state),
        offsetof(struct mempipe_pipe, state),
        offsetof(struct mempipe_pipe, is_process),
        offsetof(struct mempipe_pipe, serial),
        offsetof(struct mempipe_pipe, pid),
        offsetof(struct mempipe_pipe, tid),
        offsetof(struct mempipe_pipe, ppid),
        offsetof(struct mempipe_pipe, end_reason),
        offsetof(struct mempipe_pipe, start_ns),
        offsetof(struct mempipe_pipe, end_ns),
        offsetof(struct mempipe_pipe, live_buffer),
        offsetof(struct mempipe_pipe, live_seq),
        offsetof(struct mempipe_pipe, running),
        offsetof(struct mempipe_pipe, quiet_words),
        offsetof(struct mempipe_pipe, quiet_units),
        offsetof(struct mempipe_pipe, side_head),
        offsetof(struct mempipe_pipe, side_tail),
        offsetof(struct mempipe_pipe, mail),
        offsetof(struct mempipe_pipe, mail) + 4,
        offsetof(struct mempipe_pipe, mail) + 8,
        offsetof(struct mempipe_pipe, mail) + 12,
        offsetof(struct mempipe_pipe, waits),
    };
    const unsigned n = sizeof(fields) / sizeof(fields[0]);
    const uint32_t pipe = w->play.player[0].pipe + place / n % (PLAYERS + 1);
    return w->play.ctl.pipes_off + pipe * sizeof(struct mempipe_pipe) + fields[place % n];
}

static uint64_t word_of_buffer(struct world *w, unsigned place)
{
    const uint32_t buffers[] = {w->play.player[0].pipe, w->play.player[1].pipe,
                                w->play.player[2].pipe, w->play.ctl.nr_pipes,
                                w->play.ctl.nr_pipes + 1};
    return w->play.ctl.headers_off +
           buffers[place / 16 % 5] * sizeof(struct mempipe_buffer) + place % 16 * 4;
}

/* In the last records that a thread has put, or in the rest of older ones. */
static uint64_t word_of_side_queue(struct world *w, unsigned place)
{
    const struct player *q = &w->play.player[place % PLAYERS];
    const uint32_t size = w->play.ctl.side_bytes;
    return w->play.ctl.side_off + (uint64_t)q->pipe * size +
           ((q->head - (uint64_t)(place / PLAYERS % 4096) * 4) & (size - 1));
}

/* Where words and data of a buffer begin. */
static uint64_t word_of_column(struct world *w, unsigned place)
{
    const uint32_t size = w->play.ctl.buffer_bytes;
    const uint32_t pipe = w->play.player[place % PLAYERS].pipe;
    const uint32_t buffer = place / PLAYERS % 2 ? w->play.ctl.nr_pipes : pipe;
    const uint32_t at = place / 8 % 512 * 4;
    return w->play.ctl.buffers_off + (uint64_t)buffer * size +
           (place / 4096 % 2 ? at : size - 4 - at);
}

static uint64_t some_word(struct world *w, unsigned where, unsigned place)
{
    const struct mempipe_ctl *c = &w->play.ctl;
    switch (where % 8) {
    case 0:
    case 1:
        return c->shared_off + place * 4u % sizeof(struct mempipe_shared);
    case 2:
    case 3:
        return word_of_pipe(w, place);
    case 4:
        return word_of_buffer(w, place);
    case 5:
        return word_of_side_queue(w, place);
    case 6:
        return word_of_column(w, place);
    default:
        return c->shared_off + (c->total_bytes - c->shared_off) / 65536 * place;
    }
}

static uint32_t some_value(struct world *w, unsigned value, unsigned detail, uint64_t off)
{
    const struct mempipe_ctl *c = &w->play.ctl;
    switch (value % 24) {
    case 0:
        return 0;
    case 1:
    case 2:
    case 3:
    case 4:
        return value % 24;
    case 5:
        return UINT32_MAX;
    case 6:
        return 0x7fffffff;
    case 7:
        return 0x80000000;
    case 8:
        return peek(w, off) + 1;
    case 9:
        return peek(w, off) - 1;
    case 10:
        return peek(w, off) ^ 1u << detail % 32;
    case 11:
        return peek(w, some_word(w, detail, detail / 8));
    case 12:
        return (uint32_t)pipe_bystander();
    case 13:
        return (uint32_t)w->pid[detail % PIPE_CHILDREN];
    case 14:
        return c->nr_pipes + detail % 4;
    case 15:
        return c->nr_pipes + c->nr_pool + detail % 2;
    case 16:
        return c->buffer_bytes / (1u << detail % 8);
    case 17:
        return c->side_bytes >> detail % 16;
    case 18: /* a marker among the words */
        return (8u + detail % 8) << 28 | detail >> 3;
    case 19:
        return 8 * (detail % 64);
    case 20:
        return MEMPIPE_SIDE_BLOCK + detail % 12;
    case 21:
        return peek(w, off) << 16 | detail;
    case 22:
        return (uint32_t)getpid();
    default:
        return (uint32_t)detail << 16 | detail;
    }
}

static void scribble(struct world *w, unsigned where, unsigned value, unsigned place,
                     unsigned detail)
{
    uint64_t off = some_word(w, where, place);
    uint32_t v = some_value(w, value, detail, off);
    poke(w, off, v);
    if (value & 0x80 && off + 8 <= w->play.ctl.total_bytes) {
        poke(w, off + 4, v == UINT32_MAX ? v : 0);
    }
}

/* A whole range, as memset would. */
static void scribble_much(struct world *w, unsigned where, unsigned value, unsigned place)
{
    const struct mempipe_ctl *c = &w->play.ctl;
    const uint64_t from[] = {c->shared_off, c->pipes_off, c->headers_off, c->side_off};
    uint64_t off = from[where % 4], bytes = 4096;
    if (where % 4 == 3) {
        off += (uint64_t)w->play.player[place % PLAYERS].pipe * c->side_bytes;
    } else {
        bytes = from[where % 4 + 1] - off;
    }
    for (uint64_t at = 0; at < bytes; at += 4) {
        poke(w, off + at, some_value(w, value, place + (unsigned)at, off + at));
    }
}

/* A word in a place of this kind, or anywhere. */
static void scribble_somewhere(struct world *w, uint64_t *rng, unsigned where)
{
    uint32_t a = random_below(rng, UINT32_MAX), b = random_below(rng, UINT32_MAX);
    scribble(w, where < 8 ? where : a, a >> 3 & 255, a >> 11 & 0xffff, b & 0xffff);
}

static void *race_main(void *arg)
{
    struct world *w = arg;
    /* mostly one kind of place: overwriting all kinds is noticed at once */
    const unsigned where = random_below(&w->thread_rng, 12);
    while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 16; i++) {
            scribble_somewhere(w, &w->thread_rng, where);
        }
        if (random_below(&w->thread_rng, 1000) == 0) {
            scribble_much(w, random_below(&w->thread_rng, 5),
                          random_below(&w->thread_rng, 256), 0);
        }
        sched_yield();
    }
    return NULL;
}

static void race(struct world *w, bool on)
{
    if (on == w->racing) {
        return;
    }
    w->racing = on;
    if (on) {
        w->stop = false;
        w->thread_rng = w->rng++;
        if (pthread_create(&w->thread, NULL, race_main, w)) {
            wrong("cannot start a thread");
        }
    } else {
        __atomic_store_n(&w->stop, true, __ATOMIC_RELAXED);
        pthread_join(w->thread, NULL);
    }
}

/* ------------------------------------------------------------- the recorder */

static struct pipeline *begin(void *arg, const struct mempipe_target *target)
{
    static const char *const argv[] = {"fuzz"};
    struct world *w = arg;
    const struct pipeline_config config = {
        .host = &w->host,
        .dict = w->dict,
        .ring = w->ring,
        .fd = w->fd,
        .output = "/dev/null",
        .workers = w->workers,
        .processors = 2,
        .level = 1,
        .meta = {.target = target->target,
                 .qemu_version = target->qemu_version,
                 .recorder = "fuzz_pipe",
                 .argc = 1,
                 .argv = argv,
                 .elf_machine = target->elf_machine,
                 .events = w->config.events,
                 .big_endian = target->big_endian,
                 .addr_bits = (uint8_t)(8 * target->addr_bytes)},
    };
    if (w->config.discard) {
        return NULL;
    }
    int err = pipeline_new(&w->pipeline, &config, &w->begin_diag);
    if (err) {
        check_error(err, &w->begin_diag);
        w->pipeline = NULL;
    }
    return w->pipeline;
}

/* A holder of the files cannot make them shorter or longer. */
static void check_size(int fd, uint64_t bytes)
{
    const off_t sizes[] = {0, (off_t)bytes - 4096, (off_t)bytes + 4096};
    char name[64];
    struct stat st;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    for (unsigned i = 0; i < 3; i++) {
        if (truncate(name, sizes[i]) == 0 || errno != EPERM) {
            wrong("a file of the memory can be resized");
        }
    }
    if (fstat(fd, &st) || (uint64_t)st.st_size != bytes) {
        wrong("a file of the memory has another size");
    }
}

/* Nor can it change the first one. */
static void check_files(const struct world *w)
{
    const struct mempipe_ctl *c = &w->play.ctl;
    check_size(w->host.ctl_fd, c->shared_off);
    check_size(w->host.shared_fd, c->total_bytes - c->shared_off);
    if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, w->host.ctl_fd, 0) !=
            MAP_FAILED ||
        pwrite(w->host.ctl_fd, "x", 1, 0) >= 0) {
        wrong("the layout is writable");
    }
}

static void open_world(struct world *w, const uint8_t *head, uint64_t rng)
{
    const unsigned flags = head[0];
    memset(w, 0, sizeof(*w));
    w->addr_bytes = flags & ADDR4 ? 4 : 8;
    w->workers = flags & TWO_WORKERS ? 2 : 1;
    w->rng = rng | 1;
    w->config = (struct mempipe_config){
        .nr_pipes = flags & MANY_PIPES ? 72 : 4,
        .nr_pool = 1 + head[2] % 6,
        .buffer_bytes = 64u << 10,
        .side_bytes = 128u << 10,
        .events = masks[head[1] % (sizeof(masks) / sizeof(masks[0]))] | CTR_EVENTS_MARK,
        .data_limit = 256,
        .follow = MEMPIPE_FOLLOW_FORK,
        .discard = (flags & DISCARD) != 0,
        .live = (flags & LIVE) != 0,
        .watch = true,
        .filter = "/lib/a.so",
    };
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    w->now = (uint64_t)ts.tv_sec * 1000 * MS;
    const struct drain_ops ops = {.begin = begin, .arg = w};
    w->fd = memfd_create("trace", MFD_CLOEXEC);
    w->attached = calloc(1, sizeof(*w->attached));
    if (w->fd < 0 || !w->attached || mempipe_host_open(&w->host, &w->config) ||
        guests_open(&w->guests, &w->host, w->attached) ||
        ctr_dict_new(&w->dict, w->config.events) ||
        control_init(&w->control, &w->host, w->config.filter) ||
        (flags & RING && ring_new(&w->ring, RING_MIN_BYTES))) {
        wrong("cannot set up");
    }
    w->drain = drain_new(&w->host, &w->guests, w->dict, w->workers, &ops);
    if (!w->drain) {
        wrong("cannot set up");
    }
    attached_file_init(&w->attached->file, w->host.dev, w->host.ino, w->host.ctl_fd);
    pipe_children_start(w->host.shared_fd,
                        w->host.layout.total_bytes - w->host.layout.shared_off, w->pid);
    drain_set_root(w->drain, w->pid[0], DRAIN_STATUS_UNKNOWN);
    play_begin(&w->play, w->host.base, w->config.events, w->addr_bytes,
               flags & MANY_PIPES ? 66 : 0, w->pid);
    /* as QEMU fills it in */
    struct mempipe_shared *shared = play_shared(&w->play);
    shared->addr_bytes = w->addr_bytes;
    shared->elf_machine = 40;
    strcpy(shared->target, "arm");
    for (unsigned i = 0; flags & NO_NEWS && i < PLAYERS; i++) {
        play_step(&w->play, i, w->now);
    }
}

/* One look at everything, as in the recorder's loop. */
static int one_round(struct world *w)
{
    struct ctr_diag diag = {0};
    char text[64];
    int got;
    w->now += MS;
    control_failure(&w->control, text, sizeof(text));
    if (w->err) {
        return 0;
    }
    got = drain_round(w->drain, w->now, &diag);
    if (got < 0) {
        check_error(got, &diag);
        w->err = got;
    }
    if (drain_patience(w->drain) < 0 || drain_nap_us(w->drain) < 0) {
        wrong("a negative time");
    }
    return got > 0;
}

static void rounds(struct world *w, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        one_round(w);
    }
}

static void dump(struct world *w)
{
    struct ctr_diag diag = {0};
    char name[64];
    if (!w->ring || w->err || !w->pipeline) {
        return;
    }
    int err = drain_dump(w->drain, w->now, "/dev/null", name, sizeof(name), &diag);
    if (err) {
        check_error(err, &diag);
    }
}

/* Requests that a user may make meanwhile. */
static void request(struct world *w, unsigned detail)
{
    struct drain_totals totals;
    switch (detail % 6) {
    case 0:
        control_pause(&w->control, !control_is_paused(&w->control));
        break;
    case 1:
        control_mark(&w->control, "a mark", 6, w->now);
        break;
    case 2:
        control_load(&w->control, "/lib/b.so,x=y");
        break;
    case 3:
        control_unload(&w->control, "b.so");
        break;
    case 4:
        free(control_loading(&w->control));
        break;
    default:
        drain_get_totals(w->drain, &totals);
        break;
    }
}

/* ------------------------------------------------------------------- the end */

static int count_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)job;
    (void)e;
    ++*(uint64_t *)arg;
    return 0;
}

/*
 * A finished file opens, whatever its contents.  The guest's data may be inconsistent (a
 * resumed run that was never begun): then the reader says so.
 */
static void check_file(struct world *w)
{
    static const struct ctr_replay_ops ops = {.exec = count_exec};
    const struct ctr_replay_opts opts = {.workers = 1};
    struct ctr_trace *tr;
    struct ctr_diag diag = {0};
    struct ctr_info info;
    uint64_t n = 0;
    off_t bytes = lseek(w->fd, 0, SEEK_END);
    uint8_t *p = malloc((size_t)bytes + 1);
    if (!p || bytes < 0 || pread(w->fd, p, (size_t)bytes, 0) != bytes) {
        wrong("cannot read the file");
    }
    fuzz_read(p, (size_t)bytes, 0);
    fuzz_read(p, (size_t)bytes, CTR_OPEN_STREAM);
    free(p);
    int err = ctr_open_fd(&tr, dup(w->fd), 0, &diag);
    if (err) {
        fprintf(stderr, "fuzz_pipe: %s: %s\n", diag.field, diag.text);
        wrong("the file cannot be opened");
    }
    ctr_trace_info(tr, &info);
    if (info.state != CTR_COMPLETE) {
        wrong("the file has no end");
    }
    err = ctr_replay(tr, &ops, &n, &opts, &diag);
    if (err && err != -CTR_E_CORRUPT) {
        fprintf(stderr, "fuzz_pipe: %s: %s\n", diag.field, diag.text);
        wrong("the file cannot be read");
    }
    if (getenv("FUZZ_PIPE_VERBOSE")) {
        fprintf(stderr, "%llu instructions, %u threads, round %d: %s\n",
                (unsigned long long)n, info.threads, w->err, err ? diag.text : "read");
    }
    ctr_close(tr);
}

static void finish_file(struct world *w)
{
    struct ctr_diag diag = {0};
    struct pipeline_stats stats;
    if (!w->pipeline) {
        return;
    }
    int err = pipeline_finish(w->pipeline, &diag);
    if (err) {
        check_error(err, &diag);
        wrong("the file cannot be finished");
    }
    err = pipeline_error(w->pipeline, &diag);
    if (err) {
        check_error(err, &diag);
    }
    pipeline_stats(w->pipeline, &stats);
    check_file(w);
}

/*
 * The guest dies, or, after an error, the recorder kills it.  The recording ends when no
 * traced process runs, whatever pids are in the memory: the bystander survives.
 */
static void end_world(struct world *w)
{
    if (w->err) {
        attached_kill_all(w->attached);
    }
    for (int i = 0; i < PIPE_CHILDREN; i++) {
        pipe_child_end(w->pid[i]);
    }
    drain_set_root(w->drain, w->pid[0], 9);
    /* A separate thread reports deaths, and may be slow. */
    for (unsigned i = 0; !w->err && (one_round(w) || !drain_is_over(w->drain)); i++) {
        w->now += 200 * MS;
        if (i > 20) {
            usleep(1000);
        }
        if (i == 20) {
            race(w, false);
        }
    }
    race(w, false);
    if (attached_kill_all(w->attached)) {
        wrong("a process is attached that has ended");
    }
    finish_file(w);
    pipeline_free(w->pipeline);
    drain_free(w->drain);
    guests_close(&w->guests);
    control_fini(&w->control);
    ctr_dict_free(w->dict);
    ring_free(w->ring);
    mempipe_host_close(&w->host);
    free(w->attached);
    close(w->fd);
    pipe_bystander_is_well();
    check_memory();
}

/* ------------------------------------------------------------------ the input */

static void step(struct world *w, const uint8_t *p)
{
    const unsigned value = p[1], place = le16(p + 2), detail = le16(p + 4);
    switch (p[0] % 32) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        play_step(&w->play, p[0] % 32, w->now);
        break;
    case 6:
        rounds(w, 1 + value % 4);
        break;
    case 7:
        race(w, true);
        rounds(w, 1 + value % 8);
        race(w, false);
        break;
    case 8:
        race(w, true);
        break;
    case 9:
        race(w, false);
        break;
    case 10:
        play_end(&w->play, value, detail % 6, w->now);
        break;
    case 11:
        pipe_child_end(w->pid[value % PIPE_CHILDREN]);
        break;
    case 12:
        dump(w);
        break;
    case 13:
        request(w, detail);
        break;
    case 14:
        w->now += detail * MS;
        break;
    case 15:
        scribble_much(w, value, detail, place);
        break;
    case 16:
    case 17:
    case 18:
    case 19:
        for (unsigned i = 0; i <= detail % 4; i++) {
            scribble_somewhere(w, &w->rng, value % 16);
        }
        rounds(w, value / 128);
        break;
    default:
        scribble(w, p[0] >> 5 | (p[0] & 3) << 3, value, place, detail);
        if (p[0] & 4) {
            rounds(w, 1);
        }
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct world w;
    if (n < HEAD) {
        return 0;
    }
    start_once();
    __atomic_fetch_add(&inputs, 1, __ATOMIC_RELAXED);
    open_world(&w, data, XXH64(data, n, 0)); /* other input, other random numbers */
    check_files(&w);
    for (size_t at = HEAD, k = 0; at + STEP <= n && k < MAX_STEPS; at += STEP, k++) {
        step(&w, data + at);
    }
    if (data[0] & RACE_END) {
        race(&w, true);
    } else {
        race(&w, false);
    }
    end_world(&w);
    return 0;
}

/* All threads attach and hand buffers over; at the end something is overwritten. */
uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    static const uint8_t flags[16] = {0,
                                      ADDR4,
                                      RING,
                                      MANY_PIPES | TWO_WORKERS,
                                      LIVE,
                                      0,
                                      DISCARD,
                                      RACE_END,
                                      ADDR4 | RING | TWO_WORKERS,
                                      NO_NEWS,
                                      RACE_END | ADDR4,
                                      NO_NEWS | RING,
                                      TWO_WORKERS,
                                      NO_NEWS | ADDR4 | MANY_PIPES,
                                      NO_NEWS | TWO_WORKERS | RACE_END,
                                      ADDR4 | LIVE};
    uint64_t rng = i + 1;
    const unsigned steps = 24 + i * 3;
    uint8_t *out = malloc(HEAD + (size_t)steps * STEP), *p = out + HEAD;
    if (!out) {
        abort();
    }
    memcpy(out, (uint8_t[HEAD]){flags[i % 16], (uint8_t)i, (uint8_t)(i + 2), (uint8_t)i},
           HEAD);
    for (unsigned k = 0; k < steps; k++, p += STEP) {
        for (unsigned b = 0; b < STEP; b++) {
            p[b] = (uint8_t)random_below(&rng, 256);
        }
        const unsigned kind = random_below(&rng, i < 8 ? 24 : 12);
        if (k < 4 || kind > 5) {
            p[0] = (uint8_t)random_below(&rng, 3); /* a regular step */
        } else if (kind > 2) {
            p[0] = kind == 3 ? 6 : 7 + (p[1] & 3);
        } else if (kind > 0) {
            p[0] = 16;
        }
    }
    *n = (size_t)(p - out);
    return out;
}
