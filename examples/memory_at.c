/* SPDX-License-Identifier: MIT */
/*
 * memory_at: what a recorded program's memory held at a moment.  An example of libctr's
 * moments and memory.
 *
 *   cannoli-record -q -e all -o run.ctr -- ./app
 *   memory_at run.ctr 4242 1000000 0x40800120 64     before this instruction of thread 4242
 *   memory_at run.ctr 4242 1.5s 0x40800120 64        1.5 s after the recording began
 *
 * A line has an address and up to 16 bytes; ?? is a byte that the trace does not show.
 *
 * Build: cc -o memory_at memory_at.c $(pkg-config --cflags --libs libctr)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctr.h>

#define MAX_BYTES (1u << 20)

/* A number that fills all of a text; 0: it is none. */
static int parse(const char *text, uint64_t *out)
{
    char *end;

    *out = strtoull(text, &end, 0);
    return end != text && !*end;
}

/* The first thread with this id; NULL: there is none. */
static const struct ctr_thread *find_thread(const struct ctr_trace *tr, uint64_t tid)
{
    const struct ctr_thread *t = NULL;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        if ((uint64_t)t->tid == tid) {
            break;
        }
    }
    return t;
}

/* The moment that a text names: an ordinal, or seconds since the recording began. */
static int find_moment(struct ctr_trace *tr, uint32_t thread, const char *text,
                       struct ctr_moment *out, struct ctr_diag *diag)
{
    struct ctr_info info;
    uint64_t ordinal;
    char *end;
    double seconds;

    if (parse(text, &ordinal)) {
        return ctr_moment_at(tr, thread, ordinal, out, diag);
    }
    seconds = strtod(text, &end);
    if (end == text || strcmp(end, "s") != 0 || !(seconds >= 0 && seconds < 1e9)) {
        snprintf(diag->text, sizeof(diag->text), "'%s' is no moment", text);
        return -CTR_E_INVAL;
    }
    ctr_trace_info(tr, &info);
    return ctr_moment_time(tr, thread, info.start_ns + (uint64_t)(seconds * 1e9), out,
                           diag);
}

static void print(uint64_t addr, const uint8_t *bytes, const uint8_t *known, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i % 16 == 0) {
            printf("0x%08" PRIx64 " ", addr + i);
        }
        if (known[i]) {
            printf(" %02x", bytes[i]);
        } else {
            printf(" ??");
        }
        if (i % 16 == 15 || i + 1 == n) {
            putchar('\n');
        }
    }
}

static int show(struct ctr_trace *tr, const struct ctr_moment *at, uint64_t addr,
                size_t n, struct ctr_diag *diag)
{
    uint8_t *bytes = calloc(2, n), *known = bytes + n;
    struct ctr_memory *memory = NULL;
    int ret = -CTR_E_NOMEM;

    if (bytes) {
        ret = ctr_memory_open(&memory, tr, at, NULL, diag);
    }
    if (ret == 0) {
        ret = ctr_memory_read(memory, addr, bytes, known, n, 0, diag);
    }
    if (ret == 0) {
        print(addr, bytes, known, n);
    }
    ctr_memory_close(memory);
    free(bytes);
    return ret;
}

int main(int argc, char **argv)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    const struct ctr_thread *thread;
    struct ctr_trace *tr = NULL;
    struct ctr_moment at;
    uint64_t tid, addr, n;
    int ret;

    if (argc != 6 || !parse(argv[2], &tid) || !parse(argv[4], &addr) ||
        !parse(argv[5], &n) || !n || n > MAX_BYTES) {
        fprintf(stderr, "usage: memory_at FILE THREAD MOMENT ADDRESS BYTES\n");
        return 2;
    }
    ret = ctr_open(&tr, argv[1], 0, &diag);
    thread = ret ? NULL : find_thread(tr, tid);
    if (ret == 0 && !thread) {
        snprintf(diag.text, sizeof(diag.text), "no thread %s", argv[2]);
        ret = -CTR_E_INVAL;
    }
    if (ret == 0) {
        ret = find_moment(tr, thread->index, argv[3], &at, &diag);
    }
    if (ret == 0) {
        ret = show(tr, &at, addr, (size_t)n, &diag);
    }
    if (ret < 0) {
        fprintf(stderr, "memory_at: %s: %s\n", argv[1],
                *diag.text ? diag.text : ctr_strerror(ret));
    }
    ctr_close(tr);
    return ret < 0;
}
