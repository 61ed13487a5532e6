/* SPDX-License-Identifier: MIT */
/*
 * How fast the encoder is, and how small its output, on the events of a real program.
 * A trace is converted back to what translated code had written into the pipe: words and
 * data, markers included; side records (helper accesses and system events) are
 * left out.  Then
 *
 *   encode_bench [OPTION]... TRACE          encodes this repeatedly
 *   encode_bench --raw [OPTION]... TRACE    writes it to stdout instead, for each chunk
 *                                           first the words, then the data: its size
 *                                           after plain zstd is the one to compare with
 *
 *   -t N  up to N threads, each with an encoder and chunks of its own (default 1)
 *   -s S  seconds for each measurement (default 2)
 *   -c N  at most N chunks, spread over the whole trace (default 64)
 *   -e    only the blocks, no accesses
 *   -l N  level of zstd (default 1)
 */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctr_write.h"
#include "dictcopy.h"
#include "decode/feed.h"
#include "base/le.h"

struct chunk {
    uint32_t *words;
    uint32_t n_words, cap_words;
    uint8_t *data; /* units in the order made; later reversed */
    size_t n_data, cap_data;
};

struct input {
    struct ctr_dict *dict;
    unsigned addr_bytes;
    unsigned events;
    struct chunk *chunk;
    unsigned n;
    uint64_t insns;
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "encode_bench: %s\n", what);
    exit(1);
}

static void check(int err, const struct ctr_diag *diag)
{
    if (err < 0) {
        die(diag->text);
    }
}

/* ------------------------------------------------------- the pipe's contents */

static void *room(void *p, size_t n, size_t *cap, size_t size)
{
    if (n > *cap) {
        *cap = n * 2 + 1024;
        p = realloc(p, *cap * size);
        if (!p) {
            die("no memory");
        }
    }
    return p;
}

static void put_word(struct chunk *c, uint32_t word)
{
    size_t cap = c->cap_words;
    c->words = room(c->words, (size_t)c->n_words + 2, &cap, sizeof(c->words[0]));
    c->cap_words = (uint32_t)cap;
    c->words[c->n_words++] = word;
}

/* An integer of n bytes; the data column holds its highest unit first. */
static void put_units(struct chunk *c, unsigned unit, const uint8_t *low_first,
                      unsigned n)
{
    unsigned units = CTR_UNITS(n, unit);
    c->data = room(c->data, c->n_data + (size_t)units * unit, &c->cap_data, 1);
    memset(c->data + c->n_data, 0, (size_t)units * unit);
    for (unsigned i = 0; i < n; i++) {
        unsigned at = units - 1 - i / unit;
        c->data[c->n_data + (size_t)at * unit + i % unit] = low_first[i];
    }
    c->n_data += (size_t)units * unit;
}

static void put_access(const struct input *in, struct chunk *c,
                       const struct ctr_access *a)
{
    uint8_t v[128];
    if (a->flags & CTR_ACC_HELPER) {
        return;
    }
    if (!(a->flags & CTR_ACC_DERIVED)) {
        put64(v, a->addr);
        put_units(c, in->addr_bytes, v, in->addr_bytes);
    }
    if (!a->data) {
        return;
    }
    for (unsigned i = 0; i < a->size; i++) {
        v[i] = a->data[a->flags & CTR_ACC_BE ? a->size - 1 - i : i];
    }
    put_units(c, in->addr_bytes, v, a->size);
}

/* The words of a run, whose tokens are from..d->at. */
static void put_run(const struct input *in, struct chunk *c, const struct decoder *d,
                    uint32_t from, const struct run *r)
{
    for (uint32_t i = 0; i < r->naccess; i++) {
        put_access(in, c, &r->access[i]);
    }
    for (uint32_t i = from; i < d->at; i++) {
        uint32_t tok = d->tok[i];
        switch (tok >> 31 ? CTR_WORD_KIND(tok) : 0) {
        case 0:
            put_word(c, r->block->pub.id);
            break;
        case CTR_WORD_LEFT: /* the next word: in a file slots, in the pipe units */
            put_word(c, tok);
            put_word(c, (uint32_t)(c->n_data / in->addr_bytes));
            i++;
            break;
        case CTR_WORD_LEFT_AT:
            put_word(c, in->events & CTR_EVENTS_MEM ? tok : tok & ~0x3fffu);
            break;
        case CTR_WORD_RESUME:
            put_word(c, tok);
            break;
        default: /* GROUP */
            if (in->events & CTR_EVENTS_MEM) {
                put_word(c, tok);
            }
        }
    }
}

static void reverse(struct chunk *c, unsigned unit)
{
    for (size_t i = 0, k = c->n_data; i + unit < k; i += unit) {
        uint8_t t[8];
        k -= unit;
        if (k <= i) {
            break;
        }
        memcpy(t, c->data + i, unit);
        memcpy(c->data + i, c->data + k, unit);
        memcpy(c->data + k, t, unit);
    }
}

static void read_input(struct input *in, const char *path, uint64_t most, int exec)
{
    struct ctr_diag diag = {0};
    struct ctr_trace *tr;
    struct feed feed;
    struct decoder d;
    struct raw_chunk raw;
    check(ctr_open(&tr, path, 0, &diag), &diag);
    if (tr->events & CTR_EVENTS_REG || !tr->src.seekable) {
        die("not for traces with registers, nor for streams");
    }
    in->addr_bytes = tr->addr_bits / 8;
    in->events = tr->events & (CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL);
    if (exec) {
        in->events = CTR_EVENTS_EXEC;
    }
    memset(&raw, 0, sizeof(raw));
    if (ctr_dict_new(&in->dict, in->events) || feed_init(&feed, tr, NULL, &diag) ||
        decoder_init(&d)) {
        die("no memory");
    }
    check(dict_copy(tr, in->dict, &diag), &diag);
    feed.want = in->events & CTR_EVENTS_VAL   ? DEC_MEM | DEC_VAL
                : in->events & CTR_EVENTS_MEM ? DEC_MEM
                                              : 0;
    uint64_t n = tr->nchunks < most ? tr->nchunks : most;
    in->chunk = calloc(n ? n : 1, sizeof(in->chunk[0]));
    for (uint64_t i = 0; in->chunk && i < n; i++) {
        struct chunk *c = &in->chunk[in->n];
        struct ctr_chunk which;
        struct run run;
        check(ctr_trace_chunk(tr, i * tr->nchunks / n, &which, &diag), &diag);
        check(feed_read(&feed, &which, &raw, &diag), &diag);
        check(decoder_begin(&d, tr, &raw, feed.want, &diag), &diag);
        for (uint32_t from = d.at; (check(decoder_next(&d, &run), &diag), run.block);
             from = d.at) {
            put_run(in, c, &d, from, &run);
        }
        reverse(c, in->addr_bytes);
        in->insns += which.insns;
        in->n += c->n_words != 0;
    }
    decoder_fini(&d);
    feed_fini(&feed);
    buf_free(&raw.payload);
    ctr_close(tr);
    if (in->n == 0) {
        die("nothing in it");
    }
}

static void free_input(struct input *in)
{
    for (unsigned i = 0; i < in->n; i++) {
        free(in->chunk[i].words);
        free(in->chunk[i].data);
    }
    free(in->chunk);
    ctr_dict_free(in->dict);
}

/* --------------------------------------------------------------- measuring */

struct worker {
    const struct input *in;
    int level;
    double seconds; /* to run */
    double cpu;     /* seconds used */
    uint64_t insns; /* encoded */
    uint64_t bytes; /* of each chunk, counted once */
    pthread_t thread;
};

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct input *in = w->in;
    struct ctr_diag diag = {0};
    struct ctr_encoder *enc;
    struct ctr_packed *out;
    if (ctr_encoder_new(&enc, in->dict, in->addr_bytes, w->level) ||
        ctr_packed_new(&out)) {
        die("no memory");
    }
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    double end = now(CLOCK_MONOTONIC) + w->seconds;
    for (unsigned round = 0; round == 0 || now(CLOCK_MONOTONIC) < end; round++) {
        for (unsigned i = 0; i < in->n; i++) {
            const struct chunk *c = &in->chunk[i];
            struct ctr_packed_info info;
            struct ctr_segment seg = {
                .words = c->words,
                .n_words = c->n_words,
                .n_units = (uint32_t)(c->n_data / in->addr_bytes),
                .data_end = c->data + c->n_data,
            };
            check(ctr_encoder_run(enc, &seg, 1, out, &diag), &diag);
            ctr_packed_info(out, &info);
            w->insns += info.insns;
            w->bytes += round ? 0 : info.bytes;
        }
        if (round == 0) { /* all pages are mapped now */
            w->insns = 0;
            start = now(CLOCK_THREAD_CPUTIME_ID);
        }
    }
    w->cpu = now(CLOCK_THREAD_CPUTIME_ID) - start;
    ctr_packed_free(out);
    ctr_encoder_free(enc);
    return NULL;
}

static void measure(const struct input *in, unsigned threads, double seconds, int level)
{
    struct worker *w = calloc(threads, sizeof(w[0]));
    double cpu = 0, start = now(CLOCK_MONOTONIC);
    uint64_t insns = 0;
    for (unsigned i = 0; w && i < threads; i++) {
        w[i] = (struct worker){.in = in, .level = level, .seconds = seconds};
        if (pthread_create(&w[i].thread, NULL, work, &w[i])) {
            die("cannot make a thread");
        }
    }
    for (unsigned i = 0; w && i < threads; i++) {
        pthread_join(w[i].thread, NULL);
        cpu += w[i].cpu;
        insns += w[i].insns;
    }
    if (!w || cpu <= 0) {
        die("nothing was measured");
    }
    double wall = now(CLOCK_MONOTONIC) - start;
    uint64_t all = 0;
    for (unsigned i = 0; i < in->n; i++) {
        all += (uint64_t)in->chunk[i].n_words * 4 + in->chunk[i].n_data;
    }
    printf("%2u thread%c %8.1f M instructions a second of a core, %.2f cores busy, %.3f "
           "bits an instruction (%.2f in the pipe)\n",
           threads, threads > 1 ? 's' : ' ', (double)insns / cpu / 1e6, cpu / wall,
           8.0 * (double)w[0].bytes / (double)in->insns,
           8.0 * (double)all / (double)in->insns);
    free(w);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"raw", no_argument, NULL, 'r'}, {0}};
    struct input in = {0};
    int raw = 0, exec = 0, level = 1, c;
    unsigned threads = 1;
    uint64_t chunks = 64;
    double seconds = 2;
    while ((c = getopt_long(argc, argv, "t:s:c:l:er", options, NULL)) != -1) {
        switch (c) {
        case 't':
            threads = (unsigned)atoi(optarg);
            break;
        case 's':
            seconds = atof(optarg);
            break;
        case 'c':
            chunks = strtoull(optarg, NULL, 10);
            break;
        case 'l':
            level = atoi(optarg);
            break;
        case 'e':
            exec = 1;
            break;
        case 'r':
            raw = 1;
            break;
        default:
            return 2;
        }
    }
    if (optind + 1 != argc || threads < 1 || chunks < 1) {
        fprintf(stderr, "usage: encode_bench [--raw] [-t THREADS] [-s SECONDS] "
                        "[-c CHUNKS] [-l LEVEL] [-e] TRACE\n");
        return 2;
    }
    read_input(&in, argv[optind], chunks, exec);
    for (unsigned i = 0; raw && i < in.n; i++) {
        const struct chunk *k = &in.chunk[i];
        if (fwrite(k->words, 4, k->n_words, stdout) != k->n_words ||
            fwrite(k->data, 1, k->n_data, stdout) != k->n_data) {
            die("cannot write");
        }
    }
    for (unsigned n = 1; !raw && n <= threads; n++) {
        measure(&in, n, seconds, level);
    }
    free_input(&in);
    return 0;
}
