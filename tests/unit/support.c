/* SPDX-License-Identifier: MIT */
/* Code that the unit tests share (see support.h). */
#include "support.h"
#include "small.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cannoli/events.h"

/* ----------------------------------------------------------------- writing */

int recording_write(struct recording *r, int fd, unsigned group, int finish)
{
    static const char *const argv[] = {"qemu-test", "./guest", "an argument", NULL};
    struct ctr_meta meta = {
        .target = r->sim.features & SIM_MACHINE ? "test-softmmu" : "test",
        .qemu_version = "10.0.13",
        .recorder = "unit test",
        .argc = 3,
        .selection = r->sim.features & SIM_PART ? "--module lib --once" : NULL,
        .dropped_insns = r->sim.features & SIM_PART ? 1ull << 40 : 0,
        .dropped_loads = r->sim.features & SIM_PART ? 6 : 0,
        .dropped_stores = r->sim.features & SIM_PART ? 7 : 0,
        .dropped_chunks = r->sim.features & SIM_PART ? 8 : 0,
        .argv = argv,
        .elf_machine = 40,
        .events = r->sim.events,
        .addr_bits = (uint8_t)(r->sim.addr_bytes * 8),
        .start_realtime_ns = 1700000000000000000ull,
        .start_ns = 1000,
    };
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_writer *w;
    struct ctr_segment *seg[MAX_SIM_THREADS];
    struct ctr_physmap *map[MAX_SIM_THREADS] = {NULL};
    unsigned at[MAX_SIM_THREADS] = {0};
    uint32_t index[MAX_SIM_THREADS];
    struct ctr_diag diag;
    assert_int_equal(ctr_dict_new(&dict, r->sim.events), 0);
    sim_fill_dict(&r->sim, dict);
    assert_int_equal(ctr_encoder_new(&enc, dict, r->sim.addr_bytes, 1), 0);
    if (group % 2) { /* chunks end anywhere */
        small_chunks(enc, 2 + group, 100 * group);
    }
    assert_int_equal(ctr_packed_new(&packed), 0);
    int err = ctr_writer_new(&w, fd, dict, &meta, 1, &diag);
    for (unsigned i = 0; i < r->nthread; i++) {
        seg[i] = sim_segments(&r->thread[i]);
    }
    if (!err && r->sim.events & CTR_EVENTS_REG) {
        uint8_t table[SIM_REGS * 8];
        size_t n = sim_reg_table(table);
        err = ctr_writer_regs(w, SIM_REGS, table, n, &diag);
        assert_int_equal(ctr_dict_regs(dict, SIM_REGS, table, n, &diag), 0);
    }
    uint32_t process = 0;
    for (unsigned i = 0; !err && i < r->nthread; i++) {
        if (i % 2 == 0) {
            err = ctr_writer_process(w, 100 + (int)i, 99, 1000, &process, &diag);
        }
        if (!err) {
            err = ctr_writer_thread(w, process, 100 + (int)i, i % 2 ? 99 + (int)i : 0,
                                    1000 + i, &index[i], &diag);
        }
    }
    for (unsigned i = 0; !err && r->sim.features & SIM_PHYS && i < r->nthread; i++) {
        err = ctr_physmap_new(&map[i], r->sim.addr_bytes, 1);
    }
    for (unsigned busy = 1; !err && busy;) {
        busy = 0;
        for (unsigned i = 0; !err && i < r->nthread; i++) {
            unsigned n = r->thread[i].n_seg - at[i], taken;
            n = n < group ? n : group;
            for (; n && !err; n -= taken) {
                busy = 1;
                int bad =
                    ctr_encoder_run_some(enc, seg[i] + at[i], n, &taken, packed, &diag);
                if (bad) {
                    fail_msg("encoder: %s (%s, offset 0x%llx)", diag.text, diag.field,
                             (unsigned long long)diag.off);
                }
                at[i] += taken;
                err = map[i] ? ctr_physmap_apply(map[i], packed, &diag) : 0;
                assert_int_equal(err, 0);
                err = ctr_writer_chunk(w, index[i], packed, &diag);
            }
        }
    }
    for (unsigned i = 0; w && i < r->nthread; i++) {
        ctr_writer_thread_end(w, i, 9000 + i, CTR_END_EXIT, (int)i,
                              r->thread[i].incomplete);
        ctr_writer_process_end(w, i / 2, 9900, CTR_END_GROUP, 7);
    }
    if (finish && w) {
        int bad = ctr_writer_finish(w, &diag);
        err = err ? err : bad;
    }
    for (unsigned i = 0; i < r->nthread; i++) {
        ctr_physmap_free(map[i]);
        free(seg[i]);
    }
    ctr_writer_free(w);
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    ctr_dict_free(dict);
    return err;
}

void recording_make(struct recording *r, uint64_t seed, unsigned nthread, unsigned runs,
                    unsigned nblock, unsigned addr_bytes, unsigned events,
                    unsigned features, unsigned group, int finish)
{
    memset(r, 0, sizeof(*r));
    sim_init(&r->sim, seed, nblock, addr_bytes, events, features);
    r->nthread = nthread;
    for (unsigned i = 0; i < nthread; i++) {
        sim_thread_run(&r->sim, &r->thread[i], runs);
    }
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(recording_write(r, fd, group, finish), 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    r->bytes = (size_t)st.st_size;
    r->file = malloc(r->bytes);
    assert_non_null(r->file);
    assert_int_equal(pread(fd, r->file, r->bytes, 0), (ssize_t)r->bytes);
    close(fd);
}

void recording_free(struct recording *r)
{
    for (unsigned i = 0; i < r->nthread; i++) {
        sim_thread_fini(&r->thread[i]);
    }
    sim_fini(&r->sim);
    free(r->file);
}

void out_open(struct out *o, const struct ctr_meta *meta)
{
    o->fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(o->fd >= 0);
    assert_int_equal(ctr_dict_new(&o->dict, meta->events), 0);
    assert_int_equal(ctr_encoder_new(&o->enc, o->dict, meta->addr_bits / 8u, 1), 0);
    assert_int_equal(ctr_packed_new(&o->packed), 0);
    assert_int_equal(ctr_writer_new(&o->w, o->fd, o->dict, meta, 1, NULL), 0);
}

void out_threads(struct out *o, uint32_t n)
{
    uint32_t index;
    assert_int_equal(ctr_writer_process(o->w, 1, 0, 0, &index, NULL), 0);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ctr_writer_thread(o->w, 0, 1 + (int)i, 0, 0, &index, NULL), 0);
    }
}

int out_finish(struct out *o)
{
    assert_int_equal(ctr_writer_finish(o->w, NULL), 0);
    ctr_writer_free(o->w);
    ctr_packed_free(o->packed);
    ctr_encoder_free(o->enc);
    ctr_dict_free(o->dict);
    return o->fd;
}

int file_of(const void *data, size_t n)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), (ssize_t)n);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

struct ctr_trace *open_bytes(const void *data, size_t n, unsigned flags)
{
    struct ctr_trace *tr;
    struct ctr_diag diag;
    if (ctr_open_fd(&tr, file_of(data, n), flags, &diag)) {
        fail_msg("open: %s", diag.text);
    }
    return tr;
}

/* ----------------------------------------------------------------- reading */

void event_of_exec(const struct ctr_exec *e, struct got *out)
{
    memset(out, 0, sizeof(*out));
    out->thread = e->thread->index;
    out->e.ordinal = e->ordinal;
    out->e.pc = e->pc;
    out->e.insn = e->insn;
    out->e.size = e->len;
    out->e.flags = (uint8_t)e->flags;
    out->e.code = sim_hash(e->bytes, e->len) + (e->block->part ? SIM_PART_CODE : 0);
    for (uint32_t i = 0; i < e->block->ntag; i++) {
        const struct ctr_tag *t = &e->block->tags[i];
        if (t->insn == e->insn || t->insn == CTR_TAG_BLOCK) {
            out->e.code += sim_tag_code(t->insn, t->library, t->tag);
        }
    }
}

void event_of_mem(const struct ctr_mem *m, struct got *out)
{
    memset(out, 0, sizeof(*out));
    out->thread = m->thread->index;
    out->e.mem = 1;
    out->e.ordinal = m->ordinal;
    out->e.pc = m->pc;
    out->e.insn = m->insn;
    out->e.addr = m->addr;
    out->e.size = m->size;
    out->e.store = m->store;
    out->e.big_endian = m->big_endian;
    out->e.helper = m->helper;
    out->e.code = m->data ? sim_hash(m->data, m->size) : 0;
    if (m->phys) {
        out->e.phys = m->phys->flags == CTR_PHYS_KNOWN ? m->phys->addr : UINT64_MAX;
        out->e.phys_next = m->phys->next;
    }
}

void event_of_reg(const struct ctr_reg_change *r, struct got *out)
{
    memset(out, 0, sizeof(*out));
    out->thread = r->thread->index;
    out->e.reg = 1;
    out->e.outside = r->outside;
    out->e.ordinal = r->ordinal;
    /* where something outside of instructions happened depends on the chunks */
    out->e.pc = r->outside ? 0 : r->pc;
    out->e.insn = r->outside ? 0 : r->insn;
    out->e.addr = r->reg;
    out->e.size = r->size;
    out->e.code = sim_hash(r->value, r->size);
}

void event_of_os(const struct ctr_os_event *o, struct got *out)
{
    memset(out, 0, sizeof(*out));
    out->thread = o->thread->index;
    out->e.os = 1;
    out->e.ordinal = o->ordinal;
    out->e.addr = o->time_ns;
    out->e.size = o->size;
    out->e.code = sim_hash(o->payload, o->size) + SIM_TYPE_CODE(o->type);
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct got g;
    (void)arg;
    event_of_exec(e, &g);
    return ctr_job_append(job, &g, sizeof(g));
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct got g;
    (void)arg;
    event_of_mem(m, &g);
    return ctr_job_append(job, &g, sizeof(g));
}

static int on_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r)
{
    struct got g;
    (void)arg;
    event_of_reg(r, &g);
    return ctr_job_append(job, &g, sizeof(g));
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *o)
{
    struct got g;
    (void)arg;
    event_of_os(o, &g);
    return ctr_job_append(job, &g, sizeof(g));
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct events *ev = arg;
    size_t k = n / sizeof(struct got);
    (void)job;
    if (ev->n + k > ev->cap) {
        ev->cap = (ev->n + k) * 2;
        ev->e = realloc(ev->e, ev->cap * sizeof(ev->e[0]));
        assert_non_null(ev->e);
    }
    memcpy(ev->e + ev->n, data, n);
    ev->n += k;
    return 0;
}

int read_events(struct ctr_trace *tr, const struct ctr_replay_opts *opts,
                struct events *out, struct ctr_diag *diag)
{
    static const struct ctr_replay_ops ops = {
        .exec = on_exec, .mem = on_mem, .ordered = on_ordered};
    static const struct ctr_replay_ops all = {.exec = on_exec,
                                              .mem = on_mem,
                                              .reg = on_reg,
                                              .os = on_os,
                                              .ordered = on_ordered};
    struct ctr_info info;
    memset(out, 0, sizeof(*out));
    ctr_trace_info(tr, &info);
    return ctr_replay(tr, info.events & (CTR_HAS_REG | CTR_HAS_SYS) ? &all : &ops, out,
                      opts, diag);
}

void events_free(struct events *e)
{
    free(e->e);
    memset(e, 0, sizeof(*e));
}

static void event_text(const struct sim_event *e, char *out)
{
    const char *kind = e->mem   ? (e->store ? "store" : "load")
                       : e->reg ? (e->outside ? "outside" : "reg")
                       : e->os  ? "os"
                                : "exec";
    snprintf(out, 160,
             "%s ordinal %llu pc %llx insn %u addr %llx phys %llx size %u flags %u "
             "code %llx",
             kind, (unsigned long long)e->ordinal, (unsigned long long)e->pc, e->insn,
             (unsigned long long)e->addr, (unsigned long long)e->phys, e->size, e->flags,
             (unsigned long long)e->code);
}

size_t check_prefix(const struct recording *r, const struct events *got)
{
    size_t at[MAX_SIM_THREADS] = {0};
    for (size_t i = 0; i < got->n; i++) {
        const struct got *g = &got->e[i];
        assert_true(g->thread < r->nthread);
        const struct sim_thread *t = &r->thread[g->thread];
        size_t k = at[g->thread]++;
        assert_true(k < t->n_ev);
        if (memcmp(&g->e, &t->ev[k], sizeof(g->e)) != 0) {
            const struct sim_event *w = &t->ev[k];
            char text[2][160];
            event_text(&g->e, text[0]);
            event_text(w, text[1]);
            fail_msg("thread %u event %zu: got %s, want %s", g->thread, k, text[0],
                     text[1]);
        }
    }
    return got->n;
}

void check_events(const struct recording *r, const struct events *got)
{
    size_t want = 0;
    for (unsigned i = 0; i < r->nthread; i++) {
        want += r->thread[i].n_ev;
    }
    assert_int_equal(check_prefix(r, got), want);
}

size_t simple_def(uint8_t *d, uint64_t pc, unsigned ninsn, unsigned nslot)
{
    memset(d, 0, 40);
    memcpy(d, &pc, 8); /* the tests' machines are little-endian */
    d[28] = (uint8_t)ninsn;
    d[29] = (uint8_t)(ninsn >> 8);
    d[30] = (uint8_t)nslot;
    d[36] = (uint8_t)(ninsn * 4);
    d[37] = (uint8_t)(ninsn * 4 >> 8);
    uint8_t *p = d + 40;
    memset(p, 4, ninsn);
    p += ninsn;
    memset(p, 0x90, ninsn * 4);
    p += ninsn * 4;
    for (unsigned i = 0; i < nslot; i++, p += 6) {
        memset(p, 0, 6);
        p[0] = (uint8_t)(i < ninsn ? i : ninsn - 1);
        p[4] = 2;
    }
    return (size_t)(p - d);
}
