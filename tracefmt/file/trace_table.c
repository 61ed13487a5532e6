/* SPDX-License-Identifier: MIT */
/*
 * The tables of an open trace: checks what META, PROCESS, THREAD, DICT, ROOT and
 * END say and that chunks follow each other, no matter how they were found.
 */
#include "file/trace.h"

#include <string.h>
#include "base/le.h"

static int corrupt(struct ctr_diag *diag, uint64_t off, const char *field,
                   const char *what)
{
    return ctr_fail(diag, CTR_E_CORRUPT, off, field, "%s", what);
}

/* -------------------------------------------------------------------- META */

int trace_set_meta(struct ctr_trace *tr, const struct section *sec, struct ctr_diag *diag)
{
    int err = section_payload(&tr->src, sec, 1, &tr->payload, diag);
    if (!err) {
        err = section_frame(sec, &tr->payload, 0, tr->dctx, &tr->raw, "meta", diag);
    }
    if (err) {
        return err;
    }
    const uint8_t *p = tr->raw.p;
    size_t n = tr->raw.n;
    if (n < META_STRINGS) {
        return corrupt(diag, sec->off, "meta", "too short");
    }
    tr->events = le32(p + META_EVENTS);
    blocktab_events(tr->blocks, tr->events);
    tr->elf_machine = le32(p + META_MACHINE);
    tr->big_endian = p[META_BIG_ENDIAN];
    tr->addr_bits = p[META_ADDR_BITS];
    tr->start_realtime_ns = le64(p + META_REALTIME);
    tr->start_ns = le64(p + META_START);
    tr->end_ns = tr->start_ns;
    uint64_t argc = le32(p + META_ARGC);
    tr->dropped_insns = le64(sec->body + META_DROPPED_INSNS);
    tr->dropped_loads = le64(sec->body + META_DROPPED_LOADS);
    tr->dropped_stores = le64(sec->body + META_DROPPED_STORES);
    tr->dropped_chunks = le64(sec->body + META_DROPPED_CHUNKS);
    if (tr->addr_bits != 32 && tr->addr_bits != 64) {
        return corrupt(diag, sec->off, "meta", "address width");
    }
    /* Every string is at least its NUL. */
    n -= META_STRINGS;
    const uint64_t strings = argc + 4;
    if (strings > n) {
        return corrupt(diag, sec->off, "meta", "number of arguments");
    }
    tr->meta = malloc(n);
    tr->argv = calloc(argc + 1, sizeof(tr->argv[0]));
    if (!tr->meta || !tr->argv) {
        return ctr_fail_nomem(diag);
    }
    memcpy(tr->meta, p + META_STRINGS, n);
    const char *s = tr->meta;
    const char *end = s + n;
    tr->selection = "";
    for (uint64_t i = 0; i < strings; i++) {
        const char *nul = memchr(s, 0, (size_t)(end - s));
        if (!nul) {
            return corrupt(diag, sec->off, "meta", "strings");
        }
        switch (i) {
        case 0:
            tr->target = s;
            break;
        case 1:
            tr->qemu_version = s;
            break;
        case 2:
            tr->recorder = s;
            break;
        default:
            *(i == argc + 3 ? &tr->selection : &tr->argv[i - 3]) = s;
        }
        s = nul + 1;
    }
    tr->argc = (uint32_t)argc;
    return 0;
}

int trace_count_section(struct ctr_trace *tr, const struct section *sec,
                        struct ctr_diag *diag)
{
    if (sec->seq != tr->next_seq) {
        return ctr_fail(diag, CTR_E_CORRUPT, sec->off, "section",
                        "section %u where %u should be", sec->seq, tr->next_seq);
    }
    tr->next_seq++;
    return 0;
}

/* --------------------------------------------------- processes and threads */

int trace_add_process(struct ctr_trace *tr, const uint8_t *body, uint64_t off,
                      struct ctr_diag *diag)
{
    if (le32(body + PROC_INDEX) != tr->nprocs || tr->nprocs >= MAX_THREADS) {
        return corrupt(diag, off, "process", "processes are out of order");
    }
    struct ctr_process *p = calloc(1, sizeof(*p));
    if (!p || idtab_set(&tr->procs, tr->nprocs, p)) {
        free(p);
        return ctr_fail_nomem(diag);
    }
    p->index = tr->nprocs;
    p->pid = (int32_t)le32(body + PROC_PID);
    p->ppid = (int32_t)le32(body + PROC_PPID);
    p->host_pid = (int32_t)le32(body + PROC_HOST);
    p->start_ns = le64(body + PROC_START);
    tr->nprocs++;
    return 0;
}

int trace_add_thread(struct ctr_trace *tr, const uint8_t *body, uint64_t off,
                     struct ctr_diag *diag)
{
    uint32_t process = le32(body + THR_PROCESS);
    if (le32(body + THR_INDEX) != tr->nthreads || tr->nthreads >= MAX_THREADS ||
        process >= tr->nprocs) {
        return corrupt(diag, off, "thread", "threads are out of order");
    }
    const struct ctr_process *p = idtab_get(&tr->procs, process);
    struct thread *t = calloc(1, sizeof(*t));
    if (!t || idtab_set(&tr->threads, tr->nthreads, t)) {
        free(t);
        return ctr_fail_nomem(diag);
    }
    t->pub.index = tr->nthreads;
    t->pub.process = process;
    t->pub.pid = p->pid;
    t->pub.tid = (int32_t)le32(body + THR_TID);
    t->pub.ptid = (int32_t)le32(body + THR_PTID);
    t->pub.start_ns = le64(body + THR_START);
    tr->nthreads++;
    return 0;
}

/* ------------------------------------------------------------------ chunks */

int trace_count_chunk(struct ctr_trace *tr, const struct ctr_chunk *c,
                      struct ctr_diag *diag)
{
    struct thread *t = trace_thread(tr, c->thread);
    if (c->flags & CHUNK_F_GAP && t->chunks == 0) {
        t->next = c->first;
        t->pub.first = c->first;
    }
    if (c->index != tr->nchunks || c->first != t->next ||
        (c->flags & CHUNK_F_GAP && t->chunks)) {
        return corrupt(diag, c->off, "chunk", "a chunk is missing before it");
    }
    if (c->start_ns < t->begun_ns) {
        return corrupt(diag, c->off, "chunk", "times of its thread fall");
    }
    t->begun_ns = c->start_ns;
    t->next += c->insns;
    t->insns += c->insns;
    t->loads += c->loads;
    t->stores += c->stores;
    t->chunks++;
    tr->nchunks++;
    tr->insns += c->insns;
    tr->loads += c->loads;
    tr->stores += c->stores;
    tr->raw_bytes += c->raw_bytes;
    if (c->end_ns > tr->end_ns) {
        tr->end_ns = c->end_ns;
    }
    return 0;
}

void trace_publish_totals(struct ctr_trace *tr)
{
    for (uint32_t i = 0; i < tr->nthreads; i++) {
        struct thread *t = trace_thread(tr, i);
        t->pub.insns = t->insns;
        t->pub.loads = t->loads;
        t->pub.stores = t->stores;
        t->pub.chunks = t->chunks;
    }
}

/* -------------------------------------------------------------------- ROOT */

/* Reads a thread's totals from its row of ROOT. */
static void read_totals(struct thread *t, const uint8_t *row)
{
    t->pub.first = le64(row + THR_FIRST);
    t->insns = le64(row + THR_INSNS);
    t->loads = le64(row + THR_LOADS);
    t->stores = le64(row + THR_STORES);
    t->chunks = le64(row + THR_CHUNKS);
}

/*
 * Before allocating: whether there can be so much. Everything counted must be in the
 * file.
 */
static int root_is_possible(const struct ctr_trace *tr, const struct section *sec,
                            int all)
{
    const uint64_t nparts = le32(sec->body + ROOT_PARTS);
    const uint64_t ndicts = le32(sec->body + ROOT_DICTS);
    const uint64_t nprocs = le32(sec->body + ROOT_PROCESSES);
    const uint64_t nthreads = le32(sec->body + ROOT_THREADS);
    const uint64_t least = SECT_OFF_FRAMES + SECT_HASH; /* of a section */
    const uint64_t most =
        all ? tr->src.size / least
            : tr->nchunks + blocktab_known(tr->blocks) + tr->nprocs + tr->nthreads;
    return nparts * ROOT_PART_ROW + ndicts * ROOT_DICT_ROW + nprocs * PROC_ROW +
                   nthreads * THR_ROW ==
               sec->frame[0].dsize &&
           nparts + ndicts + nprocs + nthreads <= most;
}

int trace_set_root(struct ctr_trace *tr, const struct section *sec, int all,
                   struct ctr_diag *diag)
{
    if (!root_is_possible(tr, sec, all)) {
        return corrupt(diag, sec->off, "root", "length of the index");
    }
    int err = section_payload(&tr->src, sec, 1, &tr->payload, diag);
    if (!err) {
        err = section_frame(sec, &tr->payload, 0, tr->dctx, &tr->raw, "root", diag);
    }
    if (err) {
        return err;
    }
    uint64_t nparts = le32(sec->body + ROOT_PARTS);
    uint64_t ndicts = le32(sec->body + ROOT_DICTS);
    uint64_t nprocs = le32(sec->body + ROOT_PROCESSES);
    uint64_t nthreads = le32(sec->body + ROOT_THREADS);
    const uint8_t *p = tr->raw.p;
    tr->has_root = 1;
    tr->embeds_checked = sec->body_bytes >= ROOT_EMBED_BODY &&
                         le64(sec->body + ROOT_EMBED_FLAGS) & ROOT_EMBED_CHECKED;
    if (all) {
        for (uint64_t i = 0; i < nparts; i++, p += ROOT_PART_ROW) {
            err = chunktab_add_part(tr->chunks, p, diag);
            if (err) {
                return err;
            }
        }
        tr->regs_off = le64(sec->body + ROOT_REGS);
        tr->embed_off =
            sec->body_bytes >= ROOT_EMBED + 8 ? le64(sec->body + ROOT_EMBED) : 0;
        for (uint64_t i = 0; i < ndicts; i++, p += ROOT_DICT_ROW) {
            err = blocktab_add_row(tr->blocks, le64(p), le32(p + 8), le32(p + 12), diag);
            if (err) {
                return err;
            }
        }
    } else {
        p += nparts * ROOT_PART_ROW + ndicts * ROOT_DICT_ROW;
        if (nprocs != tr->nprocs || nthreads != tr->nthreads ||
            le64(sec->body + ROOT_CHUNKS) != tr->nchunks) {
            return corrupt(diag, sec->off, "root", "the index is of another file");
        }
    }
    for (uint64_t i = 0; i < nprocs; i++, p += PROC_ROW) {
        if (all) {
            err = trace_add_process(tr, p, sec->off, diag);
            if (err) {
                return err;
            }
        }
        struct ctr_process *proc = idtab_get(&tr->procs, (uint32_t)i);
        proc->end_ns = le64(p + PROC_END);
        proc->end_reason = le32(p + PROC_REASON);
        proc->end_status = (int32_t)le32(p + PROC_STATUS);
    }
    for (uint64_t i = 0; i < nthreads; i++, p += THR_ROW) {
        if (all) {
            err = trace_add_thread(tr, p, sec->off, diag);
            if (err) {
                return err;
            }
        }
        struct thread *t = trace_thread(tr, (uint32_t)i);
        t->pub.end_ns = le64(p + THR_END);
        t->pub.end_reason = le32(p + THR_REASON);
        t->pub.end_status = (int32_t)le32(p + THR_STATUS);
        t->pub.incomplete = (le32(p + THR_FLAGS) & THR_INCOMPLETE) != 0;
        if (t->pub.end_ns > tr->end_ns) {
            tr->end_ns = t->pub.end_ns;
        }
        if (all) {
            read_totals(t, p);
        }
    }
    if (all) {
        tr->raw_bytes = le64(sec->body + ROOT_RAW);
    }
    return 0;
}

void trace_set_end(struct ctr_trace *tr, const struct section *sec)
{
    tr->seek_off = section_end(sec);
    tr->seek_hash = le64(sec->body + END_SEEK_HASH);
}

const struct ctr_process *ctr_trace_process(const struct ctr_trace *tr, uint32_t i)
{
    return idtab_get(&tr->procs, i);
}

const struct ctr_thread *ctr_trace_thread(const struct ctr_trace *tr, uint32_t i)
{
    const struct thread *t = trace_thread(tr, i);
    return t ? &t->pub : NULL;
}
