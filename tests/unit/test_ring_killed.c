/* SPDX-License-Identifier: MIT */
/*
 * A recorder is killed between two stores to its ring's books or its journal of
 * definitions.  Whichever stores these are, another process finds the state before or
 * after the operation and continues from it, and its final output is, byte for byte, what
 * would have been written without the kill.
 *
 * Everything in the ring except chunks and events, which the books make valid, and the
 * journal are write-protected in the process that is to die.  Each store raises a signal;
 * the handler counts the store and lets it through with a single step, or ends the
 * process before it.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "siderec.h"
#include "cannoli/events.h"
#include "ctr_write.h"
#include "journal.h"
#include "random.h"
#include "ring_priv.h"
#include "support.h"

#define BASE 0x10000ull
#define PAGE 0x1000ull
#define MS 1000000ull
#define RING (8u << 10)
#define TRAP_FLAG 0x100

enum { OPS = 52, STATE = 24, MORE = 4 };

static const struct ctr_meta meta = {.target = "x",
                                     .qemu_version = "y",
                                     .recorder = "z",
                                     .events = CTR_EVENTS_EXEC | CTR_EVENTS_MAP |
                                               CTR_EVENTS_THR | CTR_EVENTS_MARK,
                                     .addr_bits = 64};

/* ------------------------------------------------------------- operations */

/* Operation number i of a recording is always the same. */
enum kind { THREAD, BLOCK, FORGET, CHUNK, LARGE, END };

static enum kind kind_of(unsigned i)
{
    return i == 0 || i % 17 == 5   ? THREAD
           : i % 13 == 12          ? FORGET
           : i == 1 || i % 5 == 3  ? BLOCK
           : i == 30               ? LARGE
           : i > 40 && i % 11 == 0 ? END
                                   : CHUNK;
}

struct ring_rec {
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ring *ring;
    struct journal *journal;
};

static unsigned count_before(unsigned i, enum kind kind)
{
    unsigned n = 0;
    while (i--) {
        n += kind_of(i) == kind;
    }
    return n;
}

/* Of a chunk: its thread, and the number of that thread's earlier chunks. */
static uint32_t thread_of(unsigned i)
{
    return (i * 7 / 3) % count_before(i, THREAD);
}

static uint32_t seq_of(unsigned i)
{
    uint32_t t = thread_of(i), n = 0;
    while (i--) {
        n += (kind_of(i) == CHUNK || kind_of(i) == LARGE) && thread_of(i) == t;
    }
    return n;
}

static void make_events(struct sidebuf *side, unsigned i, uint64_t now)
{
    uint64_t random = i * 0x9e3779b97f4a7c15ull + 1;
    struct payload p;
    for (unsigned k = 0; k < (kind_of(i) == LARGE ? 1500 : 4); k++) {
        payload_map(&p, CTR_MAP_MMAP, random_below(&random, 8), 2,
                    BASE + random_below(&random, 1u << 30) * PAGE,
                    (1 + random_below(&random, 5)) * PAGE, 0, k % 2 ? "/a.so" : "");
        side_event(side, 0, 0, CTR_EVENT_MAP, now + k, &p);
    }
}

static void chunk(struct ring_rec *b, unsigned i)
{
    const uint64_t now = (i + 1) * 2000 * MS;
    uint32_t words[200];
    struct sidebuf side = {0};
    struct ring_events events = {0};
    struct ctr_diag diag = {.text = ""};
    uint8_t regs[STATE];
    struct ring_place next = {.seq = seq_of(i) + 1};
    for (unsigned k = 0; k < 200; k++) {
        words[k] = 1 + (k * k + i) % count_before(i, BLOCK);
    }
    make_events(&side, i, now);
    const struct ctr_segment seg = {.words = words,
                                    .n_words = 200,
                                    .side = side.p,
                                    .side_bytes = (uint32_t)side.n,
                                    .start_ns = now,
                                    .end_ns = now + MS};
    if (i % 4 == 0) {
        memset(regs, (int)i, sizeof(regs));
        next.from_word = i;
        next.state = regs;
        next.state_bytes = STATE;
    }
    if (ctr_encoder_run(b->enc, &seg, 1, b->packed, &diag) ||
        ring_events_collect(&events, seg.side, seg.side_bytes) ||
        ring_chunk(b->ring, thread_of(i), b->packed, now, now + MS, &events, &next,
                   &diag)) {
        fail_msg("operation %u: %s: %s", i, diag.field, diag.text);
    }
    free(events.data);
    side_free(&side);
}

static void block(struct ring_rec *b, uint32_t raw)
{
    uint8_t def[8192];
    /* every third definition has another id, too */
    size_t n = simple_def(def, 0x1000 * (raw % 3 ? raw : raw - 2), 3, 0);
    if (!ctr_dict_has(b->dict, raw)) {
        assert_int_equal(ctr_dict_add(b->dict, raw, def, n, NULL), 0);
    }
    assert_int_equal(
        journal_define(b->journal, raw, ctr_dict_id(b->dict, raw), def, (uint32_t)n), 0);
}

/* An id is dropped, and then given to the same definition again. */
static void forget(struct ring_rec *b, uint32_t raw)
{
    journal_forget(b->journal, raw);
    ctr_dict_forget(b->dict, raw, 0);
    block(b, raw);
}

static bool is_defined(const struct ring_rec *b, uint32_t raw)
{
    struct journal_def def;
    for (uint32_t at = 0; journal_next_def(b->journal, &at, &def);) {
        if (at == raw) {
            return true;
        }
    }
    return false;
}

static void operate(struct ring_rec *b, unsigned i)
{
    uint32_t index, n = count_before(i, THREAD);
    switch (kind_of(i)) {
    case THREAD:
        if (n == 0) {
            assert_int_equal(ring_process(b->ring, 1, 1, 0, 0, 1, &index, NULL), 0);
        }
        assert_int_equal(
            ring_thread(b->ring, 0, (int)i, 0, i * MS, n, n + 7, &index, NULL), 0);
        assert_int_equal(index, n);
        break;
    case BLOCK:
        block(b, 1 + count_before(i, BLOCK));
        break;
    case FORGET:
        forget(b, 3); /* another id refers to it, too */
        break;
    case END:
        ring_thread_end(b->ring, count_before(i, END), i, CTR_END_EXIT, 0, false);
        break;
    default:
        chunk(b, i);
        break;
    }
}

/* Whether the operation is done, as far as the ring shows. */
static bool is_done(const struct ring_rec *b, unsigned i)
{
    struct ring_place p;
    switch (kind_of(i)) {
    case THREAD:
        return b->ring->image->nthread > count_before(i, THREAD);
    case BLOCK:
        return is_defined(b, 1 + count_before(i, BLOCK));
    case FORGET:
        return false; /* repeating it is harmless */
    case END:
        return b->ring->thread[count_before(i, END)].ended;
    default:
        ring_goes_on(b->ring, thread_of(i), &p);
        return p.seq > seq_of(i);
    }
}

static void begin(struct ring_rec *b)
{
    assert_int_equal(ctr_dict_new(&b->dict, meta.events), 0);
    assert_int_equal(ring_new(&b->ring, RING), 0);
    assert_int_equal(journal_new(&b->journal, 4, 4), 0);
    assert_int_equal(ring_begin(b->ring, &meta, b->dict, NULL), 0);
}

static void begin_packing(struct ring_rec *b)
{
    assert_int_equal(ctr_encoder_new(&b->enc, b->dict, 8, 1), 0);
    assert_int_equal(ctr_packed_new(&b->packed), 0);
}

static void end_packing(struct ring_rec *b)
{
    ctr_packed_free(b->packed);
    ctr_encoder_free(b->enc);
}

static void end(struct ring_rec *b)
{
    end_packing(b);
    ctr_dict_free(b->dict);
    ring_free(b->ring);
    journal_free(b->journal);
}

static uint8_t *trace_of(struct ring_rec *b, size_t *n)
{
    struct ctr_writer_stats stats;
    struct ctr_diag diag = {.text = ""};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    uint8_t *p;
    if (ring_write(b->ring, fd, NULL, 1, NULL, 0, &stats, &diag)) {
        fail_msg("%s: %s", diag.field, diag.text);
    }
    *n = (size_t)stats.bytes;
    p = malloc(*n);
    assert_int_equal(pread(fd, p, *n, 0), *n);
    close(fd);
    return p;
}

/* ------------------------------------------------------------------- killing */

static struct {
    uint8_t *at, *end;
} watched[4];
static unsigned n_watched;
static volatile unsigned stores, last_store;
static unsigned *counted; /* shared: number of stores */

static void protect(int prot)
{
    for (unsigned i = 0; i < n_watched; i++) {
        if (mprotect(watched[i].at, (size_t)(watched[i].end - watched[i].at), prot)) {
            _exit(3);
        }
    }
}

static bool is_watched(const uint8_t *at)
{
    for (unsigned i = 0; i < n_watched; i++) {
        if (at >= watched[i].at && at < watched[i].end) {
            return true;
        }
    }
    return false;
}

/* Directories of the journals: this recording's and the unkilled one's. */
static void find_journals(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[256];
    void *at, *end;
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        if (strstr(line, "cannoli-journal") && sscanf(line, "%p-%p", &at, &end) == 2) {
            if (n_watched == 4) {
                _exit(5);
            }
            watched[n_watched].at = at;
            watched[n_watched++].end = end;
        }
    }
    fclose(f);
}

static void on_store(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    const uint8_t *at = info->si_addr;
    if (sig == SIGTRAP) {
#ifdef __x86_64__
        uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
#endif
        protect(PROT_READ);
        return;
    }
    if (!is_watched(at)) {
        _exit(4);
    }
    if (stores++ == last_store) {
        kill(getpid(), SIGKILL);
    }
#ifdef __x86_64__
    uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
#endif
    protect(PROT_READ | PROT_WRITE);
}

/* The process that is killed before or after store number `last' of operation i. */
static void die(struct ring_rec *b, unsigned i, unsigned last)
{
    struct sigaction sa = {.sa_sigaction = on_store, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGTRAP, &sa, NULL);
    watched[0].at = b->ring->base;
    watched[0].end = b->ring->area[0];
    n_watched = 1;
    find_journals();
    last_store = last;
    protect(PROT_READ);
    operate(b, i);
    *counted = stores;
    kill(getpid(), SIGKILL);
}

/* One recording with that kill; returns whether the operation was completed. */
static bool killed_at(unsigned i, unsigned last, const uint8_t *want, size_t want_n)
{
    struct ring_rec b;
    struct ring_place p;
    struct journal_def def;
    int status;
    size_t n;
    begin(&b);
    begin_packing(&b);
    for (unsigned k = 0; k < i; k++) {
        operate(&b, k);
    }
    *counted = UINT32_MAX;
    pid_t pid = fork();
    if (pid == 0) {
        die(&b, i, last);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    /* another process continues */
    end_packing(&b);
    ctr_dict_free(b.dict);
    ring_recover(b.ring);
    journal_recover(b.journal);
    free(trace_of(&b, &n)); /* the recording could end here */
    assert_int_equal(ring_make_dict(b.ring, &b.dict, NULL), 0);
    for (uint32_t raw = 0; journal_next_def(b.journal, &raw, &def);) {
        assert_int_equal(
            ctr_dict_restore_raw(b.dict, raw, def.id, def.def, def.bytes, NULL), 0);
    }
    assert_int_equal(ring_resume(b.ring, b.dict, NULL), 0);
    begin_packing(&b);
    bool done = is_done(&b, i);
    if (done && kind_of(i) == CHUNK && i % 4 == 0) {
        ring_goes_on(b.ring, thread_of(i), &p);
        assert_int_equal(p.from_word, i);
        assert_int_equal(p.state_bytes, STATE);
        assert_int_equal(((const uint8_t *)p.state)[STATE - 1], i);
    }
    for (unsigned k = i + done; k < i + MORE; k++) {
        if (k == i && kind_of(i) == THREAD && b.ring->image->nproc == 0) {
            assert_int_equal(i, 0);
        } else if (k == i && i == 0) {
            b.ring->image->nproc = 0; /* its process was already registered */
        }
        operate(&b, k);
    }
    uint8_t *got = trace_of(&b, &n);
    if (n != want_n || memcmp(got, want, n) != 0) {
        fail_msg("killed at store %u of operation %u: the trace differs", last, i);
    }
    free(got);
    end(&b);
    return *counted != UINT32_MAX;
}

static void test_killed(void **unused)
{
    struct ring_rec b;
    size_t n;
    unsigned points = 0, folded = 0;
    (void)unused;
#ifndef __x86_64__
    skip(); /* needs a single step */
#endif
    counted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(counted != MAP_FAILED);
    begin(&b);
    begin_packing(&b);
    for (unsigned i = 0; i < MORE - 1; i++) {
        operate(&b, i);
    }
    for (unsigned i = 0; i < OPS; i++) {
        operate(&b, i + MORE - 1);
        folded += b.ring->image->area != (folded & 1);
        uint8_t *want = trace_of(&b, &n);
        assert_true(killed_at(i, UINT32_MAX, want, n));
        const unsigned all = *counted;
        assert_true(all > 0);
        for (unsigned k = 0; k < all; k++, points++) {
            if (killed_at(i, k, want, n)) {
                fail_msg("operation %u has fewer stores than it had", i);
            }
        }
        free(want);
    }
    end(&b);
    assert_true(folded > 0);
    print_message("killed at %u places\n", points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
