/* SPDX-License-Identifier: MIT */
/*
 * memory_readers FILE THREADS [PLACES]: reads the memory of traces of `mktrace key' from
 * several threads at once, with libctr alone: one trace, one history of mappings, a ctr_memory
 * for each thread.  What it reads must be what FILE.expect says, and the same as one thread
 * alone reads; the threads go through the places in orders of their own.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctr.h"

#define BASE 0x20000u /* as mktrace_key.c */
#define BYTES (3u * 4096u)
#define MAX_THREADS 16u
#define STEPS 7u /* between the places of a thread */

/* What memory holds before an instruction. */
struct want {
    uint64_t ordinal;
    char *digits; /* two for each byte, as in FILE.expect */
};

struct wants {
    struct want *v;
    size_t n;
};

struct reader {
    struct ctr_trace *tr;
    const struct ctr_maps *maps;
    const struct wants *wants;
    struct reader *first; /* which read alone; NULL: it is this one */
    uint8_t *bytes, *known;
    size_t begin;
    int indexed, failed;
};

static void die(const char *what)
{
    fprintf(stderr, "memory_readers: %s\n", what);
    exit(1);
}

static void *must(void *p)
{
    if (!p) {
        die("out of memory");
    }
    return p;
}

/* Every so many lines, at most `most' of them. */
static struct wants read_wants(const char *trace, size_t most)
{
    struct wants w = {must(calloc(most, sizeof(*w.v))), 0};
    char name[4096], *line = NULL;
    size_t cap = 0, lines = 0, step;
    FILE *f;

    snprintf(name, sizeof(name), "%s.expect", trace);
    f = fopen(name, "r");
    if (!f) {
        die("there is no FILE.expect");
    }
    while (getline(&line, &cap, f) > 0) {
        lines++;
    }
    rewind(f);
    step = lines / most + 1;
    for (size_t i = 0; getline(&line, &cap, f) > 0; i++) {
        char *digits = strchr(line, ' ');

        if (i % step == 0 && digits && strlen(digits + 1) >= 2 * (size_t)BYTES) {
            w.v[w.n].ordinal = strtoull(line, NULL, 10);
            w.v[w.n++].digits = must(strdup(digits + 1));
        }
    }
    free(line);
    fclose(f);
    if (!w.n) {
        die("FILE.expect has no places");
    }
    return w;
}

/* What is known must be right; what was written, or is in a key frame, must be known, but for
 * the latter without an index. */
static int check(const struct reader *r, const struct want *w, const uint8_t *bytes,
                 const uint8_t *known)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < BYTES; i++) {
        const char *d = w->digits + 2 * i;

        if (*d == '.' || *d == '?' || (!known[i] && !r->indexed)) {
            continue;
        }
        if (!known[i] || digits[bytes[i] >> 4] != d[0] || digits[bytes[i] & 15] != d[1]) {
            fprintf(stderr, "at %" PRIu64 ": 0x%zx is %02x (known %d), not %.2s\n",
                    w->ordinal, BASE + i, bytes[i], known[i], d);
            return 1;
        }
    }
    return 0;
}

/* Reads all places, in an order of its own. */
static void read_all(struct reader *r)
{
    const size_t n = r->wants->n;
    const struct ctr_memory_opts opts = {.maps = r->maps, .workers = 1};
    struct ctr_memory *m = NULL;
    struct ctr_moment at;
    struct ctr_diag diag;
    int ret = 0;

    for (size_t i = 0; !ret && i < n; i++) {
        const size_t k = (r->begin + i * STEPS) % n;
        uint8_t *bytes = r->bytes + k * BYTES, *known = r->known + k * BYTES;

        ret = ctr_moment_at(r->tr, 0, r->wants->v[k].ordinal, &at, &diag);
        if (!ret && m) {
            ret = ctr_memory_move(m, &at);
        } else if (!ret) {
            ret = ctr_memory_open(&m, r->tr, &at, &opts, &diag);
        }
        ret = ret ? ret : ctr_memory_read(m, BASE, bytes, known, BYTES, 0, &diag);
        if (ret) {
            fprintf(stderr, "memory_readers: %s\n", diag.text);
        } else {
            ret = check(r, &r->wants->v[k], bytes, known);
        }
    }
    r->failed = ret != 0;
    ctr_memory_close(m);
}

static void *run(void *arg)
{
    struct reader *r = arg;
    const size_t n = r->wants->n * BYTES;

    read_all(r);
    if (!r->failed && r->first &&
        (memcmp(r->bytes, r->first->bytes, n) || memcmp(r->known, r->first->known, n))) {
        fprintf(stderr, "memory_readers: several threads read something else\n");
        r->failed = 1;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct reader reader[MAX_THREADS + 1];
    pthread_t thread[MAX_THREADS];
    struct ctr_trace *tr;
    struct ctr_maps *maps;
    struct ctr_diag diag;
    struct wants wants;
    struct ctr_info info;
    unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    size_t known = 0;
    int failed = 0;

    if (argc < 3 || argc > 4 || !n || n > MAX_THREADS) {
        fprintf(stderr, "usage: memory_readers FILE THREADS [PLACES]\n");
        return 2;
    }
    wants = read_wants(argv[1], argc > 3 ? strtoul(argv[3], NULL, 10) : 20);
    while (wants.n % STEPS == 0) { /* each thread must come to each place */
        free(wants.v[--wants.n].digits);
    }
    if (ctr_open(&tr, argv[1], 0, &diag) || ctr_maps_load(&maps, tr, &diag)) {
        die(diag.text);
    }
    ctr_trace_info(tr, &info);
    for (unsigned i = 0; i <= n; i++) {
        reader[i] = (struct reader){.tr = tr,
                                    .maps = maps,
                                    .wants = &wants,
                                    .first = i ? &reader[0] : NULL,
                                    .bytes = must(calloc(wants.n, BYTES)),
                                    .known = must(calloc(wants.n, BYTES)),
                                    .begin = i,
                                    .indexed = info.has_index};
    }
    run(&reader[0]);
    for (unsigned i = 0; i < n; i++) {
        if (pthread_create(&thread[i], NULL, run, &reader[i + 1])) {
            die("no more threads");
        }
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(thread[i], NULL);
    }
    for (unsigned i = 0; i <= n; i++) {
        failed |= reader[i].failed;
        for (size_t k = 0; i == 0 && k < wants.n * BYTES; k++) {
            known += reader[i].known[k];
        }
        free(reader[i].bytes);
        free(reader[i].known);
    }
    printf("%zu places, %u threads, %zu bytes known\n", wants.n, n, known);
    for (size_t i = 0; i < wants.n; i++) {
        free(wants.v[i].digits);
    }
    free(wants.v);
    ctr_maps_free(maps);
    ctr_close(tr);
    return failed;
}
