/* SPDX-License-Identifier: MIT */
/*
 * Writing a trace, section by section, in order, by one thread.
 */
#include "write/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/le.h"
#include "model/regtable.h"

#define DICT_SECTION_BYTES (1u << 20)

/* ------------------------------------------------------------- new, free */

static int append_string(struct buf *b, const char *s)
{
    return buf_append(b, s ? s : "", s ? strlen(s) + 1 : 1);
}

static int write_meta(struct ctr_writer *w, const struct ctr_meta *meta,
                      struct ctr_diag *diag)
{
    uint8_t p[META_STRINGS] = {0}, body[META_BODY];
    put64(body + META_DROPPED_INSNS, meta->dropped_insns);
    put64(body + META_DROPPED_LOADS, meta->dropped_loads);
    put64(body + META_DROPPED_STORES, meta->dropped_stores);
    put64(body + META_DROPPED_CHUNKS, meta->dropped_chunks);
    put32(p + META_EVENTS, meta->events | CTR_HAS_MARK);
    put32(p + META_MACHINE, meta->elf_machine);
    p[META_BIG_ENDIAN] = meta->big_endian != 0;
    p[META_ADDR_BITS] = meta->addr_bits;
    put32(p + META_ARGC, (uint32_t)meta->argc);
    put64(p + META_REALTIME, meta->start_realtime_ns);
    put64(p + META_START, meta->start_ns);
    w->raw.n = 0;
    if (buf_append(&w->raw, p, sizeof(p)) || append_string(&w->raw, meta->target) ||
        append_string(&w->raw, meta->qemu_version) ||
        append_string(&w->raw, meta->recorder)) {
        return ctr_fail_nomem(diag);
    }
    for (int i = 0; i < meta->argc; i++) {
        if (append_string(&w->raw, meta->argv[i])) {
            return ctr_fail_nomem(diag);
        }
    }
    if (append_string(&w->raw, meta->selection)) {
        return ctr_fail_nomem(diag);
    }
    if (w->raw.n > META_MAX) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "meta",
                        "the command line and what was chosen are too long: %llu bytes, "
                        "the limit is %u",
                        (unsigned long long)w->raw.n, META_MAX);
    }
    struct out_frame f;
    int err = writer_compress(w, &w->raw, 0, &f, diag);
    if (err) {
        return err;
    }
    w->meta_off = w->off;
    return writer_section(w, SECT_META, SECT_REQUIRED, body, META_BODY, &f, 1, diag);
}

int ctr_writer_new(struct ctr_writer **out, int fd, struct ctr_dict *dict,
                   const struct ctr_meta *meta, int level, struct ctr_diag *diag)
{
    *out = NULL;
    if (meta->argc < 0 || (meta->addr_bits != 32 && meta->addr_bits != 64)) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "meta", "bad description");
    }
    struct ctr_writer *w = calloc(1, sizeof(*w));
    if (!w) {
        return ctr_fail_nomem(diag);
    }
    int err = 0;
    struct stat st;
    w->fd = fd;
    w->dict = dict;
    w->cctx = ZSTD_createCCtx();
    if (!w->cctx) {
        err = ctr_fail_nomem(diag);
        goto out_free;
    }
    if (ZSTD_isError(ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(w->cctx, ZSTD_c_checksumFlag, 1))) {
        err = ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "level", "bad level %d", level);
        goto out_free;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        w->regular = 1;
        if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) < 0) {
            err =
                ctr_fail(diag, CTR_E_IO, 0, "write", "cannot write: %s", strerror(errno));
            goto out_free;
        }
    }
    reserve_init(w);
    err = writer_file_head(w, meta, diag);
    if (!err) {
        err = write_meta(w, meta, diag);
    }
    if (err) {
        goto out_free;
    }
    *out = w;
    return 0;

out_free:
    w->off = 0; /* half a head is of no use */
    w->tail = 1;
    ctr_writer_free(w);
    return err;
}

void ctr_writer_free(struct ctr_writer *w)
{
    if (!w) {
        return;
    }
    reserve_release(w);
    ZSTD_freeCCtx(w->cctx);
    for (unsigned i = 0; i < SECT_MAX_FRAMES; i++) {
        buf_free(&w->z[i].z);
    }
    buf_free(&w->seek);
    buf_free(&w->parts);
    buf_free(&w->dicts);
    buf_free(&w->regs);
    buf_free(&w->rows);
    buf_free(&w->counts);
    buf_free(&w->pages);
    buf_free(&w->raw);
    free(w->proc);
    free(w->thread);
    free(w);
}

void ctr_writer_stats(const struct ctr_writer *w, struct ctr_writer_stats *out)
{
    *out = w->stats;
}

/* --------------------------------------------------------------- registers */

int ctr_writer_regs(struct ctr_writer *w, uint32_t n, const void *table, size_t bytes,
                    struct ctr_diag *diag)
{
    if (w->nregs) {
        return n == w->nregs && bytes == w->regs.n && memcmp(table, w->regs.p, bytes) == 0
                   ? 0
                   : ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "regs",
                              "another register table");
    }
    if (w->stats.chunks) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "regs",
                        "the register table comes after chunks");
    }
    struct regtable t;
    int err = regtable_parse(&t, n, table, bytes, CTR_NO_OFF, diag);
    if (err) {
        return err;
    }
    uint8_t body[REGS_BODY];
    put32(body + REGS_COUNT, n);
    put32(body + REGS_STATE, t.state_bytes);
    regtable_fini(&t);
    w->regs.n = 0;
    if (buf_append(&w->regs, table, bytes)) {
        return ctr_fail_nomem(diag);
    }
    struct out_frame f;
    uint64_t off = w->off;
    err = writer_compress(w, &w->regs, 0, &f, diag);
    if (!err) {
        err =
            writer_section(w, SECT_REGS, SECT_REQUIRED, body, sizeof(body), &f, 1, diag);
    }
    if (err) {
        return err;
    }
    w->nregs = n;
    w->regs_off = off;
    return 0;
}

/* ---------------------------------------------------- processes and threads */

int ctr_writer_process(struct ctr_writer *w, int32_t pid, int32_t ppid, uint64_t start_ns,
                       uint32_t *index, struct ctr_diag *diag)
{
    return ctr_writer_nested_process(w, pid, ppid, 0, start_ns, index, diag);
}

int ctr_writer_nested_process(struct ctr_writer *w, int32_t pid, int32_t ppid,
                              int32_t host_pid, uint64_t start_ns, uint32_t *index,
                              struct ctr_diag *diag)
{
    if (w->nproc == MAX_THREADS) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "process", "too many processes");
    }
    if (w->nproc == w->proc_cap) {
        uint32_t cap = w->proc_cap * 2 + 16;
        void *p = realloc(w->proc, cap * sizeof(w->proc[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        w->proc = p;
        w->proc_cap = cap;
    }
    uint8_t body[PROC_BODY] = {0};
    put32(body + PROC_INDEX, w->nproc);
    put32(body + PROC_PID, (uint32_t)pid);
    put32(body + PROC_PPID, (uint32_t)ppid);
    put32(body + PROC_HOST, (uint32_t)host_pid);
    put64(body + PROC_START, start_ns);
    int err =
        writer_section(w, SECT_PROCESS, SECT_REQUIRED, body, sizeof(body), NULL, 0, diag);
    if (err) {
        return err;
    }
    w->proc[w->nproc] = (struct writer_process){
        .pid = pid, .ppid = ppid, .host_pid = host_pid, .start_ns = start_ns};
    *index = w->nproc++;
    return 0;
}

int ctr_writer_thread(struct ctr_writer *w, uint32_t process, int32_t tid, int32_t ptid,
                      uint64_t start_ns, uint32_t *index, struct ctr_diag *diag)
{
    if (process >= w->nproc) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "thread", "no such process");
    }
    if (w->nthread == MAX_THREADS) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "thread", "too many threads");
    }
    if (w->nthread == w->thread_cap) {
        uint32_t cap = w->thread_cap * 2 + 16;
        void *p = realloc(w->thread, cap * sizeof(w->thread[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        w->thread = p;
        w->thread_cap = cap;
    }
    uint8_t body[THR_BODY] = {0};
    put32(body + THR_INDEX, w->nthread);
    put32(body + THR_PROCESS, process);
    put32(body + THR_TID, (uint32_t)tid);
    put32(body + THR_PTID, (uint32_t)ptid);
    put64(body + THR_START, start_ns);
    int err =
        writer_section(w, SECT_THREAD, SECT_REQUIRED, body, sizeof(body), NULL, 0, diag);
    if (err) {
        return err;
    }
    w->thread[w->nthread] = (struct writer_thread){
        .process = process, .tid = tid, .ptid = ptid, .start_ns = start_ns};
    *index = w->nthread++;
    return 0;
}

int ctr_writer_thread_first(struct ctr_writer *w, uint32_t thread, uint64_t ordinal)
{
    if (thread >= w->nthread || w->thread[thread].next) {
        return -CTR_E_INVAL;
    }
    w->thread[thread].next = ordinal;
    w->thread[thread].gap = 1;
    return 0;
}

int ctr_writer_process_end(struct ctr_writer *w, uint32_t process, uint64_t end_ns,
                           uint32_t end_reason, int32_t end_status)
{
    if (process >= w->nproc) {
        return -CTR_E_INVAL;
    }
    struct writer_process *p = &w->proc[process];
    p->end_ns = end_ns;
    p->end_reason = end_reason;
    p->end_status = end_status;
    return 0;
}

int ctr_writer_thread_end(struct ctr_writer *w, uint32_t thread, uint64_t end_ns,
                          uint32_t end_reason, int32_t end_status, int incomplete)
{
    if (thread >= w->nthread) {
        return -CTR_E_INVAL;
    }
    struct writer_thread *t = &w->thread[thread];
    t->end_ns = end_ns;
    t->end_reason = end_reason;
    t->end_status = end_status;
    t->flags = incomplete ? THR_INCOMPLETE : 0;
    return 0;
}

/* ------------------------------------------------------------------ chunks */

/* With a ring, in place of a dropped definition: one byte of code. */
static const uint8_t no_definition[CTR_BLOCKDEF_FIXED + 2] = {
    [CTR_BLOCKDEF_NINSN] = 1, [CTR_BLOCKDEF_CODELEN] = 1, [CTR_BLOCKDEF_FIXED] = 1};

/*
 * Writes definitions until ids up to `id' are in the file, and all others known by now:
 * fewer, larger sections.
 */
static int write_dict(struct ctr_writer *w, uint32_t id, struct ctr_diag *diag)
{
    uint32_t known = ctr_dict_size(w->dict);
    while (w->dict_done < id) {
        uint32_t first = w->dict_done + 1;
        uint32_t next = first;
        w->raw.n = 0;
        while (next <= known && w->raw.n < DICT_SECTION_BYTES) {
            const struct dict_entry *e = dict_id(w->dict, next);
            const uint8_t *def = e ? e->def.body : no_definition;
            uint32_t bytes = e ? e->def.bytes : sizeof(no_definition);
            uint8_t head[8];
            if (!e && !w->dict->reuse) {
                break;
            }
            put32(head, next);
            put32(head + 4, bytes);
            if (buf_append(&w->raw, head, sizeof(head)) ||
                buf_append(&w->raw, def, bytes)) {
                return ctr_fail_nomem(diag);
            }
            next++;
        }
        if (next == first) {
            return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "block.id",
                            "the chunk is not of this dictionary");
        }
        uint8_t body[DICT_BODY], row[ROOT_DICT_ROW];
        put32(body + DICT_FIRST, first);
        put32(body + DICT_COUNT, next - first);
        put64(row, w->off);
        put32(row + 8, first);
        put32(row + 12, next - first);
        struct out_frame f;
        int err = writer_compress(w, &w->raw, 0, &f, diag);
        if (!err && buf_reserve(&w->dicts, sizeof(row))) {
            err = ctr_fail_nomem(diag);
        }
        if (!err) {
            err = writer_section(w, SECT_DICT, SECT_REQUIRED, body, sizeof(body), &f, 1,
                                 diag);
        }
        if (err) {
            return err;
        }
        buf_append(&w->dicts, row, sizeof(row));
        w->ndicts++;
        w->dict_done = next - 1;
        dict_written(w->dict, w->dict_done);
        w->stats.blocks = w->dict_done;
    }
    return 0;
}

int ctr_writer_chunk(struct ctr_writer *w, uint32_t thread, const struct ctr_packed *p,
                     struct ctr_diag *diag)
{
    if (thread >= w->nthread) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "chunk", "no such thread");
    }
    if (p->info.runs == 0 && p->info.events == 0 && p->reg_extras == 0) {
        return 0;
    }
    if (p->fills.n) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "chunk",
                        "its column of pages was not made");
    }
    int err = write_dict(w, p->max_id, diag);
    if (err) {
        return err;
    }
    struct writer_thread *t = &w->thread[thread];
    struct ctr_chunk c = {
        .index = w->stats.chunks,
        .off = w->off,
        .raw_bytes = p->info.raw_bytes,
        .thread = thread,
        .flags = p->flags | (t->gap ? CHUNK_F_GAP : 0),
        .first = t->next,
        .insns = p->info.insns,
        .loads = p->info.loads,
        .stores = p->info.stores,
        .runs = p->info.runs,
        .start_ns = p->start_ns > t->late_ns ? p->start_ns : t->late_ns,
    };
    c.end_ns = p->end_ns > c.start_ns ? p->end_ns : c.start_ns;
    uint8_t b[CHUNK_BODY] = {0};
    put64(b + CHUNK_NUMBER, c.index);
    put32(b + CHUNK_THREAD, c.thread);
    put32(b + CHUNK_FLAGS, c.flags);
    put64(b + CHUNK_FIRST, c.first);
    put64(b + CHUNK_INSNS, c.insns);
    put64(b + CHUNK_LOADS, c.loads);
    put64(b + CHUNK_STORES, c.stores);
    put64(b + CHUNK_START, c.start_ns);
    put64(b + CHUNK_END, c.end_ns);
    put32(b + CHUNK_RUNS, (uint32_t)c.runs);
    put32(b + CHUNK_MAX_ID, p->max_id);
    put32(b + CHUNK_LAST_FIRST, p->last_first);
    put32(b + CHUNK_LAST, p->last);
    put32(b + CHUNK_LOCALS, p->locals);
    put32(b + CHUNK_TOKENS, p->tokens);
    put32(b + CHUNK_TOKEN_MISS, p->token_miss);
    put32(b + CHUNK_ADDRS, p->addrs);
    put32(b + CHUNK_ADDR_MISS, p->addr_miss);
    put32(b + CHUNK_EXTRAS, p->extras);
    put32(b + CHUNK_REGS, p->regs);
    put32(b + CHUNK_REG_EXTRAS, p->reg_extras);
    put32(b + CHUNK_EVENTS, p->events);
    put64(b + CHUNK_NEXT, p->next);
    struct out_frame f[CHUNK_PHYS_FRAMES];
    const unsigned nframes =
        w->dict->events & CTR_EVENTS_PHYS ? CHUNK_PHYS_FRAMES : CHUNK_FRAMES;
    for (unsigned i = 0; i < nframes; i++) {
        f[i] = (struct out_frame){
            .data = p->frame[i].z.p,
            .csize = (uint32_t)p->frame[i].z.n,
            .dsize = p->frame[i].dsize,
            .hash = p->frame[i].hash,
        };
    }
    w->coming = ROW + p->counts.n + p->pages.n;
    err = writer_section(w, SECT_CHUNK, SECT_REQUIRED, b, sizeof(b), f, nframes, diag);
    w->coming = 0;
    if (err) {
        return err;
    }
    c.bytes = w->off - c.off;
    t->first = t->gap ? c.first : t->first;
    t->gap = 0;
    t->late_ns = c.start_ns;
    t->next += c.insns;
    t->insns += c.insns;
    t->loads += c.loads;
    t->stores += c.stores;
    t->chunks++;
    w->stats.chunks++;
    w->stats.insns += c.insns;
    w->stats.loads += c.loads;
    w->stats.stores += c.stores;
    w->raw_bytes += c.raw_bytes;
    return index_add_chunk(w, &c, b, p, diag);
}
