/* SPDX-License-Identifier: MIT */
/*
 * oracle-memory: does the trace contain every change of memory?
 *
 *   oracle-memory [--forget N] [--dump FILE --fd N] TRACE
 *
 * Follows the first process of a trace, which must have one thread: the initial
 * image (the program's file, zeros, mapped files), then every store and
 * every byte that a system call wrote.  At each load, and wherever a system call
 * reads, memory must hold the bytes that the trace shows; so the next reader, a
 * helper of QEMU or translated code, reveals a store that is not in the trace.
 * So must key frames.
 * At the end of its run the guest writes its own memory to a
 * descriptor (guest.h): these bytes, which are in FILE, must equal the trace's,
 * too.
 *
 * QEMU may make an access of 16 bytes as two of 8; if the second faults, at the
 * begin of a page, the first has been made without being recorded: these 8 bytes are
 * then unknown.
 *
 * If the begin of a trace was dropped (cannoli-record --ring), it has the mappings of the
 * moment where it begins, and memory is unknown before it is read or written.
 *
 * --forget leaves out the N-th write that changes a byte, to show that the check
 * notices it.
 */
#include "shadow.h"

#include "cannoli/events.h"
#include "ctr.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALPHA_MADV_DONTNEED 6 /* no advice elsewhere */

#define MAX_SHOWN 8

struct check {
    struct shadow shadow;
    struct ctr_trace *trace;
    FILE *dump;
    uint64_t dump_fd;
    int64_t forget;
    bool dropped; /* the begin was dropped, and nothing after it was seen yet */
    uint64_t keyframes, key_known;
    uint64_t loads, stores, reads, writes, dumped, adopted, differences, no_data;
    uint64_t ordinal, pc;
};

static void difference(struct check *c, const char *what, uint64_t addr,
                       const uint8_t *expected, const uint8_t *got, size_t n)
{
    if (c->differences++ >= MAX_SHOWN) {
        return;
    }
    printf("ordinal %" PRIu64 " pc 0x%" PRIx64 ": %s at 0x%" PRIx64, c->ordinal, c->pc,
           what, addr);
    if (expected) {
        printf(": trace says");
        for (size_t i = 0; i < n && i < 16; i++) {
            printf(" %02x", got[i]);
        }
        printf(", memory held");
        for (size_t i = 0; i < n && i < 16; i++) {
            printf(" %02x", expected[i]);
        }
    }
    printf("\n");
}

/* Memory must hold what is read at addr. */
static void check_read(struct check *c, const char *what, uint64_t addr,
                       const uint8_t *data, size_t n)
{
    size_t first = n, last = 0;
    uint8_t held[16];

    for (size_t i = 0; i < n; i++) {
        uint8_t *known, *p = shadow_byte(&c->shadow, addr + i, &known);

        if (!p) {
            difference(c, "nothing is mapped where it reads,", addr + i, NULL, NULL, 0);
            return;
        }
        if (!*known) {
            *p = data[i];
            *known = 1;
            c->adopted++;
        } else if (*p != data[i]) {
            first = first < i ? first : i;
            last = i;
        }
    }
    if (first == n) {
        return;
    }
    for (size_t i = first; i <= last; i++) {
        uint8_t *known, *p = shadow_byte(&c->shadow, addr + i, &known);

        if (i - first < sizeof(held)) {
            held[i - first] = *p;
        }
        *p = data[i];
    }
    difference(c, what, addr + first, held, data + first, last - first + 1);
}

static void apply_write(struct check *c, uint64_t addr, const uint8_t *data, size_t n)
{
    bool changes = false;

    for (size_t i = 0; i < n; i++) {
        uint8_t *known, *p = shadow_byte(&c->shadow, addr + i, &known);

        if (!p) {
            difference(c, "nothing is mapped where it writes,", addr + i, NULL, NULL, 0);
            return;
        }
        changes |= *p != data[i];
    }
    if (changes && c->forget-- == 0) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint8_t *known, *p = shadow_byte(&c->shadow, addr + i, &known);

        *p = data[i];
        *known = 1;
    }
}

/* Called at the first event after the dropped part. */
static void begin_after_drop(struct check *c)
{
    for (size_t i = 0; c->dropped && i < c->shadow.nranges; i++) {
        struct shadow_range *r = &c->shadow.ranges[i];

        r->content = SHADOW_UNKNOWN;
        r->zero_from = UINT64_MAX;
        shadow_forget(&c->shadow, r->start, r->end);
    }
    c->dropped = false;
}

static void mem_event(struct check *c, const struct ctr_mem *m)
{
    c->ordinal = m->ordinal;
    c->pc = m->pc;
    if (!m->data) {
        c->no_data++;
    } else if (m->store) {
        c->stores++;
        apply_write(c, m->addr, m->data, m->size);
    } else {
        c->loads++;
        check_read(c, "load", m->addr, m->data, m->size);
    }
}

static bool is_zeros(const struct ctr_str *s)
{
    return s->n >= 9 && memcmp(s->p, "/dev/zero", 9) == 0;
}

static bool is_path(const struct ctr_str *s)
{
    return s->n && s->p[0] == '/' && !is_zeros(s);
}

static bool is_named(const struct ctr_str *s, const char *name)
{
    return s->n == strlen(name) && memcmp(s->p, name, s->n) == 0;
}

static void map_pages(struct check *c, const struct ctr_map *m)
{
    struct shadow_range r = {.start = m->start,
                             .end = m->start + m->size,
                             .zero_from = UINT64_MAX,
                             .content = SHADOW_ZERO,
                             .fd = -1};

    if (is_path(&m->path)) {
        r.fd = shadow_file(&c->shadow, m->path.p, m->path.n);
        r.offset = m->offset;
        r.content = r.fd < 0 ? SHADOW_UNKNOWN : SHADOW_FILE;
        if (r.fd >= 0 && m->op == CTR_MAP_INITIAL && (m->prot & 2)) {
            r.zero_from = shadow_elf_zeros(r.fd, m->start, m->size, m->offset);
        }
    } else if (m->op == CTR_MAP_SHMAT ||
               (m->path.n && !is_zeros(&m->path) && !is_named(&m->path, "[stack]") &&
                !is_named(&m->path, "[heap]"))) {
        r.content = SHADOW_UNKNOWN;
    }
    shadow_map(&c->shadow, &r);
}

static uint64_t page_up(uint64_t addr)
{
    return (addr + SHADOW_PAGE - 1) & ~(uint64_t)(SHADOW_PAGE - 1);
}

static void set_heap(struct check *c, const struct ctr_map *m)
{
    struct shadow_range r = {.start = page_up(m->old_start + m->old_size),
                             .end = page_up(m->start + m->size),
                             .zero_from = UINT64_MAX,
                             .content = SHADOW_ZERO,
                             .fd = -1};

    if (r.end > r.start) {
        shadow_map(&c->shadow, &r);
    } else {
        shadow_unmap(&c->shadow, r.end, r.start);
    }
}

static void map_event(struct check *c, const struct ctr_map *m)
{
    switch (m->op) {
    case CTR_MAP_INITIAL:
    case CTR_MAP_MMAP:
    case CTR_MAP_SHMAT:
        map_pages(c, m);
        break;
    case CTR_MAP_MUNMAP:
    case CTR_MAP_SHMDT:
        shadow_unmap(&c->shadow, m->start, m->start + m->size);
        break;
    case CTR_MAP_MREMAP:
        shadow_move(&c->shadow, m->old_start, m->old_size, m->start, m->size);
        break;
    case CTR_MAP_BRK:
        set_heap(c, m);
        break;
    default:
        break;
    }
}

/* The guest wrote a piece of its memory to the dump. */
static void compare_dump(struct check *c, uint64_t addr, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        uint8_t *known, *p = shadow_byte(&c->shadow, addr + i, &known);
        int got = getc(c->dump);
        uint8_t byte = (uint8_t)got;

        if (got == EOF || !p) {
            difference(
                c, got == EOF ? "the dump ends early," : "the dump has unmapped memory,",
                addr + i, NULL, NULL, 0);
            return;
        }
        if (*known) {
            c->dumped++;
            if (*p != byte) {
                difference(c, "the guest's own dump (as `trace')", addr + i, p, &byte, 1);
                *p = byte;
            }
        } else {
            c->adopted++;
        }
    }
}

static void fault_at(struct check *c, const struct ctr_signal *s)
{
    if (!(s->flags & CTR_SIGNAL_SYNC) || s->addr % SHADOW_PAGE != 0) {
        return;
    }
    for (uint64_t at = s->addr - 8; at != s->addr; at++) {
        uint8_t *known;

        if (shadow_byte(&c->shadow, at, &known)) {
            *known = 0;
        }
    }
}

static void check_keyframe(struct check *c, const struct ctr_keyframe *k)
{
    c->keyframes++;
    for (uint32_t i = 0; i < k->n; i++) {
        uint8_t *known, *p = shadow_byte(&c->shadow, k->addr + i, &known);

        if (p && *known) {
            c->key_known++;
            if (*p != k->data[i]) {
                difference(c, "a key frame (as `trace')", k->addr + i, p, &k->data[i], 1);
            }
        }
    }
}

static void os_event(struct check *c, const struct ctr_os_event *e)
{
    struct ctr_keyframe key;
    struct ctr_usermem u;
    struct ctr_syscall s;
    struct ctr_signal signal;
    struct ctr_map m;

    c->ordinal = e->ordinal;
    if (ctr_parse_usermem(e, &u) == 0) {
        if (u.n != u.size) {
            printf("only %u of %" PRIu64 " bytes of a system call: record with "
                   "--data-limit=all\n",
                   u.n, u.size);
            c->differences++;
        } else if (u.flags & CTR_USERMEM_WRITE) {
            c->writes++;
            apply_write(c, u.addr, u.data, u.n);
        } else {
            c->reads++;
            check_read(c, "a system call's read", u.addr, u.data, u.n);
        }
    } else if (ctr_parse_keyframe(e, &key) == 0) {
        check_keyframe(c, &key);
    } else if (ctr_parse_signal(e, &signal) == 0) {
        fault_at(c, &signal);
    } else if (ctr_parse_map(e, &m) == 0) {
        map_event(c, &m);
    } else if (ctr_parse_syscall(e, &s) == 0 && e->type == CTR_EVENT_SYSRET) {
        if (c->dump && is_named(&s.name, "write") && s.args[0] == c->dump_fd &&
            s.result > 0) {
            compare_dump(c, s.args[1], (uint64_t)s.result);
        } else if (is_named(&s.name, "madvise") &&
                   (s.args[2] == MADV_DONTNEED || s.args[2] == ALPHA_MADV_DONTNEED) &&
                   s.result == 0) {
            shadow_forget(&c->shadow, s.args[0], s.args[0] + s.args[1]);
        }
    }
}

static int follow(struct check *c, struct ctr_diag *diag)
{
    const struct ctr_process *process = ctr_trace_process(c->trace, 0);
    struct ctr_filter filter = CTR_FILTER_INIT;
    struct ctr_cursor *cursor;
    struct ctr_event ev;
    struct ctr_info info;
    int r;

    ctr_trace_info(c->trace, &info);
    c->dropped = info.dropped_chunks > 0;
    if (!process) {
        printf("no process\n");
        return 1;
    }
    filter.kinds = CTR_KIND_ALL | CTR_KIND_KEYFRAME;
    filter.npid = 1;
    filter.pids = &process->pid;
    r = ctr_cursor_open(&cursor, c->trace, &filter, diag);
    if (r) {
        return r;
    }
    while ((r = ctr_cursor_next(cursor, &ev, diag)) == 1) {
        const struct ctr_thread *thread =
            ev.kind == CTR_CURSOR_OS ? ev.os.thread : ev.exec.thread;

        if (ev.kind == CTR_CURSOR_REG) {
            continue;
        }
        if (thread->process == 0 && thread->tid != process->pid) {
            printf("more than one thread\n");
            r = 1;
            break;
        }
        if (thread->process != 0) {
            continue;
        }
        if (ev.kind != CTR_CURSOR_OS) {
            begin_after_drop(c);
        }
        if (ev.kind == CTR_CURSOR_MEM) {
            mem_event(c, &ev.mem);
        } else if (ev.kind == CTR_CURSOR_OS) {
            os_event(c, &ev.os);
        }
    }
    ctr_cursor_close(cursor);
    return r;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"forget", required_argument, NULL, 'f'},
        {"dump", required_argument, NULL, 'd'},
        {"fd", required_argument, NULL, 'n'},
        {NULL, 0, NULL, 0},
    };
    struct check c = {.forget = -1};
    struct ctr_diag diag = {0};
    const char *dump = NULL;
    int opt, r;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (opt) {
        case 'f':
            c.forget = strtoll(optarg, NULL, 10);
            break;
        case 'd':
            dump = optarg;
            break;
        case 'n':
            c.dump_fd = strtoull(optarg, NULL, 10);
            break;
        default:
            return 2;
        }
    }
    if (optind + 1 != argc) {
        fprintf(stderr, "usage: oracle-memory [--forget N] [--dump FILE --fd N] TRACE\n");
        return 2;
    }
    if (dump && !(c.dump = fopen(dump, "rb"))) {
        perror("oracle-memory");
        return 2;
    }
    r = ctr_open(&c.trace, argv[optind], 0, &diag);
    if (r == 0) {
        r = follow(&c, &diag);
    }
    if (r < 0) {
        printf("the trace cannot be read: %s: %s\n", ctr_strerror(r), diag.text);
        return 2;
    }
    if (c.dump && getc(c.dump) != EOF) {
        printf("the dump goes on\n");
        c.differences++;
    }
    printf("%s: %" PRIu64 " loads, %" PRIu64 " stores, %" PRIu64 " reads and %" PRIu64
           " writes by system calls, %" PRIu64 " bytes dumped, %" PRIu64
           " taken as they were, %" PRIu64 " key frames with %" PRIu64
           " known bytes, %" PRIu64 " accesses without data, %" PRIu64 " differences\n",
           r || c.differences || c.no_data || !c.loads || !c.stores ? "different"
                                                                    : "equal",
           c.loads, c.stores, c.reads, c.writes, c.dumped, c.adopted, c.keyframes,
           c.key_known, c.no_data, c.differences);
    ctr_close(c.trace);
    return r || c.differences || c.no_data || !c.loads || !c.stores;
}
