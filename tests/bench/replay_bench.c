/* SPDX-License-Identifier: MIT */
/*
 * replay_bench: the speed of reading a trace.
 *
 *   replay_bench [--json] [--workers N] [--repeat N] [--seeks N] [--case NAME] TRACE
 *
 * Each row is a replay with callbacks that do almost nothing, with one worker and with N
 * (default: the number of processors), the median of --repeat times:
 *
 *   empty         begin and end of each chunk only
 *   run           a call for each run of a block
 *   run-counts    the same, with the numbers of loads and stores
 *   run-accesses  the same, with all of them: their addresses are added up
 *   exec          a call for each instruction
 *   exec-mem      a call for each instruction and for each access
 *   ordered       each run appends 12 bytes, which are returned in order and hashed
 *
 * per core: instructions by CPU time, independent of other load.  Peak is the process's
 * largest memory use, including the file's chunk table.  For ordered results N workers
 * must give what one gives.  Then a cursor seeks to random places and reads one event at
 * each.  --case: only this row (and seeks).
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "ctr.h"
#include "cannoli/events.h"

#define MAX_REPEAT 99
#define MAX_WORKERS 256

struct count {
    _Alignas(128) uint64_t insns, loads, stores, calls, sum;
};

struct bench {
    struct ctr_trace *tr;
    struct ctr_info info;
    struct count count[MAX_WORKERS];
    XXH3_state_t *hash;
};

struct sample {
    double wall, cpu;
    long peak_kib;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "replay_bench: %s: %s\n", what, why);
    exit(1);
}

/* ---------------------------------------------------------------- callbacks */

static struct count *count_of(void *arg, const struct ctr_job *job)
{
    struct bench *b = arg;
    return &b->count[ctr_job_worker(job)];
}

static int on_begin(void *arg, struct ctr_job *job)
{
    count_of(arg, job)->calls++;
    return 0;
}

static int on_end(void *arg, struct ctr_job *job)
{
    count_of(arg, job)->insns += ctr_job_chunk(job)->insns;
    return 0;
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct count *c = count_of(arg, job);
    c->insns += (uint64_t)(r->end - r->first);
    c->loads += r->loads;
    c->stores += r->stores;
    return 0;
}

static int on_run_accesses(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct count *c = count_of(arg, job);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->naccess; i++) {
        sum += r->access[i].addr;
    }
    c->sum += sum;
    c->insns += (uint64_t)(r->end - r->first);
    c->loads += r->loads;
    c->stores += r->stores;
    return 0;
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)e;
    count_of(arg, job)->insns++;
    return 0;
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct count *c = count_of(arg, job);
    c->stores += m->store;
    c->loads += !m->store;
    c->sum += m->addr;
    return 0;
}

static int on_run_append(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    uint8_t out[12];
    memcpy(out, &r->ordinal, 8);
    memcpy(out + 8, &r->block->id, 4);
    count_of(arg, job)->insns += (uint64_t)(r->end - r->first);
    return ctr_job_append(job, out, sizeof(out));
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct bench *b = arg;
    (void)job;
    return XXH3_64bits_update(b->hash, data, n) == XXH_OK ? 0 : 1;
}

static const struct row {
    const char *name;
    struct ctr_replay_ops ops;
    uint8_t run_accesses;
    uint8_t mem; /* only for traces with accesses */
    uint8_t counts_mem;
} rows[] = {
    {"empty", {.begin = on_begin, .end = on_end}, 0, 0, 0},
    {"run", {.run = on_run}, 0, 0, 0},
    {"run-counts", {.run = on_run}, CTR_RUN_COUNTS, 1, 1},
    {"run-accesses", {.run = on_run_accesses}, CTR_RUN_ACCESSES, 1, 1},
    {"exec", {.exec = on_exec}, 0, 0, 0},
    {"exec-mem", {.exec = on_exec, .mem = on_mem}, 0, 1, 1},
    {"ordered", {.run = on_run_append, .ordered = on_ordered}, 0, 0, 0},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* ------------------------------------------------------------------ measure */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Linux resets a process's peak on request. */
static void reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5", f);
        fclose(f);
    }
}

static long peak_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) {
            break;
        }
    }
    if (f) {
        fclose(f);
    }
    return kib;
}

static void check_sums(const struct bench *b, const struct row *row)
{
    struct count all = {0};
    for (unsigned i = 0; i < MAX_WORKERS; i++) {
        all.insns += b->count[i].insns;
        all.loads += b->count[i].loads;
        all.stores += b->count[i].stores;
    }
    if (all.insns != b->info.insns ||
        (row->counts_mem &&
         (all.loads != b->info.loads || all.stores != b->info.stores))) {
        die(row->name, "the sums are not those of the trace");
    }
}

static int by_cpu(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* The median of several replays; *hash is of the ordered results. */
static struct sample measure(struct bench *b, const struct row *row, unsigned workers,
                             unsigned repeat, uint64_t *hash)
{
    struct sample s[MAX_REPEAT];
    const struct ctr_replay_opts opts = {.workers = workers,
                                         .run_accesses = row->run_accesses};
    for (unsigned i = 0; i < repeat; i++) {
        struct ctr_diag diag;
        memset(b->count, 0, sizeof(b->count));
        XXH3_64bits_reset(b->hash);
        reset_peak();
        double wall = now(), cpu = cpu_now();
        if (ctr_replay(b->tr, &row->ops, b, &opts, &diag)) {
            die(row->name, diag.text);
        }
        s[i] = (struct sample){now() - wall, cpu_now() - cpu, peak_kib()};
        check_sums(b, row);
        *hash = XXH3_64bits_digest(b->hash);
    }
    qsort(s, repeat, sizeof(s[0]), by_cpu);
    return s[repeat / 2];
}

/* -------------------------------------------------------------------- seeks */

struct seeks {
    double p50, p99, max; /* milliseconds */
    double cpu_max;       /* of CPU time, independent of other load */
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct seeks measure_seeks(struct bench *b, unsigned n, int by_time)
{
    double *ms = calloc(n, sizeof(ms[0])), cpu_max = 0;
    uint64_t random = 1, chunks = b->info.chunks;
    struct ctr_diag diag;
    if (!ms) {
        die("seeks", "no memory");
    }
    for (unsigned i = 0; i < n; i++) {
        struct ctr_chunk c;
        struct ctr_cursor *cursor;
        struct ctr_event ev;
        struct ctr_filter filter = CTR_FILTER_INIT;
        uint64_t r = next_random(&random);
        if (ctr_trace_chunk(b->tr, next_random(&random) % chunks, &c, NULL)) {
            die("seeks", "no such chunk");
        }
        uint64_t span = by_time ? c.end_ns - c.start_ns : c.insns;
        if (span == 0) {
            i--;
            continue;
        }
        filter.from_ns = by_time ? c.start_ns + r % span : 0;
        double begin = now(), cpu = cpu_now();
        if (ctr_cursor_open(&cursor, b->tr, &filter, &diag) ||
            (by_time ? ctr_cursor_seek_time(cursor, filter.from_ns, &diag)
                     : ctr_cursor_seek_ordinal(cursor, c.thread, c.first + r % span,
                                               &diag)) ||
            ctr_cursor_next(cursor, &ev, &diag) < 0) {
            die("seeks", diag.text);
        }
        ms[i] = (now() - begin) * 1e3;
        cpu = (cpu_now() - cpu) * 1e3;
        cpu_max = cpu > cpu_max ? cpu : cpu_max;
        if (!by_time && ev.kind == CTR_CURSOR_EXEC &&
            ev.exec.ordinal != c.first + r % span) {
            die("seeks", "another instruction was found");
        }
        ctr_cursor_close(cursor);
    }
    qsort(ms, n, sizeof(ms[0]), by_value);
    struct seeks s = {ms[n / 2], ms[n * 99 / 100], ms[n - 1], cpu_max};
    free(ms);
    return s;
}

/* ------------------------------------------------------------------- output */

static void events_text(uint32_t events, char *out, size_t n)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{CTR_HAS_MEM, ",mem"},
                 {CTR_HAS_VAL, ",val"},
                 {CTR_HAS_REG, ",reg"},
                 {CTR_HAS_SYS, ",sys"},
                 {CTR_HAS_MAP, ",map"}};
    size_t at = (size_t)snprintf(out, n, "exec");
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (events & names[i].bit && at < n) {
            at += (size_t)snprintf(out + at, n - at, "%s", names[i].name);
        }
    }
}

static void print_sample(const struct bench *b, const char *name, unsigned workers,
                         const struct sample *s, int json, int first)
{
    double minsn = (double)b->info.insns / 1e6;
    if (json) {
        printf("%s{\"case\":\"%s\",\"workers\":%u,\"wall_s\":%.6f,\"cpu_s\":%.6f,"
               "\"minsn_per_s\":%.1f,\"minsn_per_cpu_s\":%.1f,\"peak_kib\":%ld}",
               first ? "" : ",", name, workers, s->wall, s->cpu, minsn / s->wall,
               minsn / s->cpu, s->peak_kib);
    } else {
        printf("%-13s %2u worker%s  %8.3f s  %8.1f M insn/s  %8.1f per core  %6.1f MiB\n",
               name, workers, workers == 1 ? " " : "s", s->wall, minsn / s->wall,
               minsn / s->cpu, (double)s->peak_kib / 1024);
    }
    fflush(stdout);
}

static void print_seeks(const char *name, const struct seeks *s, unsigned n, int json)
{
    if (json) {
        printf("\"%s\":{\"n\":%u,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
               "\"cpu_max_ms\":%.3f}",
               name, n, s->p50, s->p99, s->max, s->cpu_max);
    } else {
        printf("seek to %-8s %u times: half %.2f ms, 99 %% %.2f ms, all %.2f ms "
               "(CPU time %.2f ms)\n",
               name, n, s->p50, s->p99, s->max, s->cpu_max);
    }
}

static int usage(FILE *to, int status)
{
    fputs("Usage: replay_bench [--json] [--workers N] [--repeat N] [--seeks N]"
          " [--case NAME] TRACE\n",
          to);
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'J'},
                                            {"workers", required_argument, NULL, 'w'},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"seeks", required_argument, NULL, 's'},
                                            {"case", required_argument, NULL, 'c'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    static struct bench b;
    struct ctr_diag diag;
    char events[64];
    const char *only = NULL;
    unsigned repeat = 3, seeks = 200;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned workers = cpus > 0 ? (unsigned)cpus : 1;
    int json = 0, opt, first = 1, same = 1;

    while ((opt = getopt_long(argc, argv, "Jw:r:s:c:h", options, NULL)) != -1) {
        unsigned v = optarg ? (unsigned)strtoul(optarg, NULL, 10) : 0;
        switch (opt) {
        case 'J':
            json = 1;
            break;
        case 'w':
            workers = v < 1 ? 1 : v > MAX_WORKERS ? MAX_WORKERS : v;
            break;
        case 'r':
            repeat = v < 1 ? 1 : v > MAX_REPEAT ? MAX_REPEAT : v;
            break;
        case 's':
            seeks = v;
            break;
        case 'c':
            only = optarg;
            break;
        case 'h':
            return usage(stdout, 0);
        default:
            return usage(stderr, 2);
        }
    }
    if (argc != optind + 1) {
        return usage(stderr, 2);
    }
    if (ctr_open(&b.tr, argv[optind], 0, &diag) < 0) {
        die(argv[optind], diag.text);
    }
    ctr_trace_info(b.tr, &b.info);
    b.hash = XXH3_createState();
    if (!b.hash || ctr_trace_blocks(b.tr, &diag)) {
        die(argv[optind], "cannot read its blocks");
    }
    events_text(b.info.events, events, sizeof(events));
    if (json) {
        printf("{\"trace\":\"%s\",\"events\":\"%s\",\"insns\":%" PRIu64
               ",\"loads\":%" PRIu64 ",\"stores\":%" PRIu64 ",\"bytes\":%" PRIu64
               ",\"chunks\":%" PRIu64 ",\"cpus\":%ld,\"replay\":[",
               argv[optind], events, b.info.insns, b.info.loads, b.info.stores,
               b.info.file_bytes, b.info.chunks, cpus);
    } else {
        printf("%s: %s, %.1f M instructions, %" PRIu64 " chunks\n", argv[optind], events,
               (double)b.info.insns / 1e6, b.info.chunks);
    }
    for (unsigned i = 0; i < ROWS; i++) {
        uint64_t hash[2] = {0};
        for (unsigned k = 0; k < (workers > 1 ? 2 : 1); k++) {
            if ((rows[i].mem && !(b.info.events & CTR_HAS_MEM)) ||
                (only && strcmp(only, rows[i].name))) {
                continue;
            }
            unsigned n = k ? workers : 1;
            struct sample s = measure(&b, &rows[i], n, repeat, &hash[k]);
            print_sample(&b, rows[i].name, n, &s, json, first);
            first = 0;
            same &= k == 0 || hash[0] == hash[1];
        }
    }
    printf(json ? "],\"ordered_same\":%s" : "ordered results are the same: %s\n",
           same ? "true" : "false");
    if (json) {
        printf(",\"seek\":{");
    }
    for (int by_time = 0; by_time < 2 && seeks && b.info.chunks; by_time++) {
        struct seeks s = measure_seeks(&b, seeks, by_time);
        if (json && by_time) {
            putchar(',');
        }
        print_seeks(by_time ? "time" : "ordinal", &s, seeks, json);
    }
    if (json) {
        puts("}}");
    }
    XXH3_freeState(b.hash);
    ctr_close(b.tr);
    return same ? 0 : 1;
}
