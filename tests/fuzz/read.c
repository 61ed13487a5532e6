/* SPDX-License-Identifier: MIT */
/* Functions that the fuzz targets share (see fuzz.h). */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/le.h"
#include "support.h"
#include "cannoli/events.h"

static int count_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    volatile uint64_t *sum = arg;
    (void)job;
    for (unsigned i = 0; i < e->len; i++) {
        *sum += e->bytes[i];
    }
    for (uint32_t i = 0; i < e->block->ntag; i++) {
        *sum += e->block->tags[i].tag + e->block->tags[i].insn;
    }
    *sum += e->pc + e->thread->index + e->block->id;
    return 0;
}

static int count_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    volatile uint64_t *sum = arg;
    *sum += m->addr + m->size + m->pc;
    if (m->phys) {
        *sum += m->phys->addr + m->phys->next + m->phys->size + m->phys->flags;
    }
    for (uint32_t i = 0; m->data && i < m->size; i++) {
        *sum += m->data[i];
    }
    return ctr_job_append(job, &m->addr, sizeof(m->addr));
}

static int count_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r)
{
    volatile uint64_t *sum = arg;
    (void)job;
    for (uint32_t i = 0; i < r->size; i++) {
        *sum += r->value[i];
    }
    *sum += r->ordinal + r->pc + r->insn + (r->block ? r->block->id : 0);
    return 0;
}

/* Reads all of a string of a payload. */
static void count_str(volatile uint64_t *sum, const struct ctr_str *s)
{
    for (size_t i = 0; i < s->n; i++) {
        *sum += (uint8_t)s->p[i];
    }
}

static int count_os(void *arg, struct ctr_job *job, const struct ctr_os_event *o)
{
    volatile uint64_t *sum = arg;
    struct ctr_mark m;
    struct ctr_label l;
    struct ctr_select s;
    struct ctr_gate g;
    struct ctr_ram ram;
    struct ctr_dma dma;
    struct ctr_io io;
    struct ctr_task task;
    struct ctr_area area;
    struct ctr_keyframe frame;
    struct ctr_input input;
    (void)job;
    if (ctr_parse_mark(o, &m) == 0) {
        count_str(sum, &m.text);
    }
    if (ctr_parse_label(o, &l) == 0) {
        count_str(sum, &l.type);
        count_str(sum, &l.name);
    }
    if (ctr_parse_select(o, &s) == 0) {
        count_str(sum, &s.text);
    }
    if (ctr_parse_gate(o, &g) == 0) {
        *sum += g.why;
    }
    if (ctr_parse_ram(o, &ram) == 0) {
        count_str(sum, &ram.block);
        *sum += ram.n ? ram.data[ram.n - 1] : ram.fill;
    }
    if (ctr_parse_dma(o, &dma) == 0) {
        count_str(sum, &dma.device);
        *sum += dma.n ? dma.data[dma.size - 1] : 0;
    }
    if (ctr_parse_io(o, &io) == 0) {
        count_str(sum, &io.region);
        count_str(sum, &io.device);
    }
    if (ctr_parse_task(o, &task) == 0) {
        count_str(sum, &task.comm);
    }
    if (ctr_parse_area(o, &area) == 0) {
        count_str(sum, &area.path);
    }
    if (ctr_parse_keyframe(o, &frame) == 0) {
        *sum += frame.data[frame.n - 1];
    }
    if (ctr_parse_input(o, &input) == 0 && input.n) {
        *sum += ctr_input_number(&input, input.n - 1);
    }
    for (uint32_t i = 0; i < o->size; i++) {
        *sum += o->payload[i];
    }
    *sum += o->ordinal + o->time_ns + o->type;
    return 0;
}

static int count_map(void *arg, const struct ctr_mapping *m)
{
    volatile uint64_t *sum = arg;
    *sum += m->start + m->end + strlen(m->path);
    for (uint32_t i = 0; i < m->build_id_bytes; i++) {
        *sum += m->build_id[i];
    }
    return 0;
}

/* Mappings, and the state in the middle of a thread. */
static void read_maps_and_state(struct ctr_trace *tr, uint64_t *sum)
{
    struct ctr_diag diag;
    struct ctr_maps *maps;
    uint32_t n = 0;
    if (ctr_maps_load(&maps, tr, &diag) == 0) {
        ctr_maps_each(maps, 0, 1500, count_map, sum);
        ctr_maps_history(maps, 0, count_map, sum);
        *sum += (uint64_t)ctr_maps_find(maps, 0, 1500, 0x40000000, NULL);
        ctr_maps_free(maps);
    }
    for (const struct ctr_reg *r; (r = ctr_trace_reg(tr, n)) != NULL; n++) {
        *sum += strlen(r->name) + r->size;
    }
    uint8_t *values = malloc((size_t)n * CTR_REG_STRIDE + 1);
    uint64_t pc, time;
    if (!values) {
        abort();
    }
    if (ctr_state_at(tr, 0, 10, values, &pc, &time, &diag) == 0) {
        for (uint32_t i = 0; i < n; i++) {
            *sum += values[(size_t)i * CTR_REG_STRIDE];
        }
    }
    free(values);
}

static int count_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    volatile uint64_t *sum = arg;
    (void)job;
    if (r->first > r->end || r->end > r->block->ninsn) {
        abort();
    }
    *sum += r->ordinal + r->end + r->loads + r->stores;
    for (uint32_t i = 0; i < r->naccess; i++) {
        const struct ctr_access *c = &r->access[i];
        *sum += c->addr + c->size + c->insn;
        for (uint32_t k = 0; c->data && k < c->size; k++) {
            *sum += c->data[k];
        }
    }
    return 0;
}

static int count_count(void *arg, const struct ctr_count *c)
{
    volatile uint64_t *sum = arg;
    *sum += c->full + c->partial + c->block->pc;
    return 0;
}

void fuzz_read(const uint8_t *data, size_t n, unsigned flags)
{
    static const struct ctr_replay_ops ops = {
        .exec = count_exec,
        .mem = count_mem,
        .run = count_run,
        .reg = count_reg,
        .os = count_os,
    };
    static const struct ctr_replay_ops counting = {.run = count_run};
    struct ctr_trace *tr;
    struct ctr_diag diag;
    uint64_t sum = 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET)) {
        abort();
    }
    if (ctr_open_fd(&tr, fd, flags, &diag)) {
        return;
    }
    struct ctr_replay_opts opts = {.workers = 1, .piece_insns = 100};
    ctr_replay(tr, &ops, &sum, &opts, &diag);
    if (!(flags & CTR_OPEN_STREAM)) {
        struct ctr_range range = {0x1000, 0x40000000, 0};
        struct ctr_filter f = {
            .pcs = &range, .npc = 1, .addrs = &range, .naddr = 1, .from = 5};
        opts.filter = &f;
        ctr_replay(tr, &ops, &sum, &opts, &diag);
        f = (struct ctr_filter){.phys = &range, .nphys = 1};
        ctr_replay(tr, &ops, &sum, &opts, &diag);
        f = (struct ctr_filter){.addrs = &range, .naddr = 1};
        opts.filter = NULL;
        opts.phys = 1;
        opts.slices = 1;
        ctr_replay(tr, &ops, &sum, &opts, &diag);
        opts.slices = 0;
        ctr_replay(tr, &counting, &sum, &opts, &diag);
        for (uint8_t level = CTR_RUN_COUNTS; level <= CTR_RUN_VALUES; level++) {
            opts.run_accesses = level;
            ctr_replay(tr, &counting, &sum, &opts, &diag);
        }
        ctr_trace_counts(tr, NULL, count_count, &sum, &diag);
        read_maps_and_state(tr, &sum);
        struct ctr_cursor *c;
        if (ctr_cursor_open(&c, tr, NULL, &diag) == 0) {
            struct ctr_event ev;
            for (unsigned i = 0; i < 50 && ctr_cursor_next(c, &ev, &diag) == 1; i++) {
                sum += ev.exec.ordinal;
            }
            ctr_cursor_seek_ordinal(c, 0, 20, &diag);
            ctr_cursor_next(c, &ev, &diag);
            ctr_cursor_close(c);
        }
        for (unsigned flag = 0; flag <= CTR_SEARCH_BACK; flag += CTR_SEARCH_BACK) {
            struct ctr_found found;
            if (ctr_search(tr, &f, 0, 20, flag, 1, &found, &diag) == 1) {
                sum += found.ordinal;
            }
        }
    }
    struct ctr_info info;
    ctr_trace_info(tr, &info);
    sum += strlen(info.selection) + info.dropped_insns;
    for (uint32_t i = 0; i < info.threads; i++) {
        sum += ctr_trace_thread(tr, i)->insns;
    }
    ctr_close(tr);
}

uint8_t *fuzz_trace(unsigned seed, size_t *n)
{
    static const uint16_t masks[] = {0x03, 0x10ff, 0x07, 0x0f, 0x01, 0x09, 0x0b};
    unsigned events = masks[seed % 7];
    struct recording r;
    recording_make(
        &r, seed + 1, 1 + seed % 3, 30 + seed * 5, 5 + seed, seed & 1 ? 4 : 8, events,
        (SIM_ALL & ~SIM_BIG) | (events & CTR_EVENTS_SYS ? SIM_SYSTEM : 0) |
            (events & CTR_EVENTS_PHYS ? SIM_PHYS : 0) | (seed % 5 > 1 ? SIM_PART : 0),
        1 + seed % 3, seed % 4 != 3);
    uint8_t *p = r.file;
    *n = r.bytes;
    r.file = NULL;
    recording_free(&r);
    return p;
}
