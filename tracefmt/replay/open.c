/* SPDX-License-Identifier: MIT */
/* Opening and closing a trace, and describing its contents. */
#include "file/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/le.h"
#include "base/target.h"

/* The first frame: checks that this is a trace, that it is whole, and its version. */
static int read_file_head(struct ctr_trace *tr, struct ctr_diag *diag)
{
    uint8_t head[FILE_HEAD];
    size_t got;
    int err = source_read(&tr->src, 0, head, sizeof(head), &got, "file header", diag);
    if (err && err != -CTR_E_TRUNCATED) {
        return err;
    }
    if (got == 0) {
        return ctr_fail(diag, CTR_E_NOTTRACE, 0, "file header", "the file is empty");
    }
    size_t magic = got < FILE_OFF_MAGIC ? 0 : got - FILE_OFF_MAGIC;
    uint8_t ours[FILE_OFF_VERSION];
    put32(ours, FRAME_OURS);
    put32(ours + 4, FILE_HEAD - FRAME_HEAD);
    memcpy(ours + FILE_OFF_MAGIC, FILE_MAGIC, FILE_MAGIC_BYTES);
    size_t cmp = got < sizeof(ours) ? got : sizeof(ours);
    if (memcmp(head, ours, cmp) != 0 || magic == 0) {
        return ctr_fail(diag, CTR_E_NOTTRACE, 0, "file header", "not a .ctr trace");
    }
    if (err) {
        return err;
    }
    if (le64(head + FILE_OFF_HASH) != XXH64(head, FILE_OFF_HASH, 0)) {
        return ctr_fail(diag, CTR_E_CORRUPT, 0, "file header",
                        "checksum of the file header is wrong");
    }
    tr->version = le32(head + FILE_OFF_VERSION);
    tr->compat = le32(head + FILE_OFF_COMPAT);
    if (tr->version < FORMAT_VERSION) {
        return ctr_fail(diag, CTR_E_UNSUPPORTED, 0, "file header",
                        "format version %u is older than this program, which reads %u",
                        tr->version, FORMAT_VERSION);
    }
    if (tr->version > FORMAT_VERSION ||
        le32(head + FILE_OFF_INCOMPAT) & ~FILE_INCOMPAT_KNOWN) {
        return ctr_fail(diag, CTR_E_UNSUPPORTED, 0, "file header",
                        "format version %u (features 0x%x) is newer than this program",
                        tr->version, le32(head + FILE_OFF_INCOMPAT));
    }
    return 0;
}

/* The section after the file header must be META. */
static int read_meta(struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct section sec;
    int err = section_read(&tr->src, FILE_HEAD, &sec, diag);
    if (err > 0) {
        return ctr_fail(diag, CTR_E_TRUNCATED, FILE_HEAD, "meta",
                        "the file ends too early");
    }
    if (err == 0 && (sec.type != SECT_META || sec.seq != 0)) {
        err = ctr_fail(diag, CTR_E_CORRUPT, FILE_HEAD, "meta",
                       "the first section is no description");
    }
    if (!err) {
        err = trace_set_meta(tr, &sec, diag);
    }
    tr->data_off = section_end(&sec);
    tr->next_seq = 1;
    return err;
}

/* Clears what a failed attempt to use the index has put into the tables. */
static void reset_tables(struct ctr_trace *tr)
{
    for (uint32_t i = 0; i < tr->nprocs; i++) {
        free(idtab_get(&tr->procs, i));
        idtab_set(&tr->procs, i, NULL);
    }
    for (uint32_t i = 0; i < tr->nthreads; i++) {
        free(idtab_get(&tr->threads, i));
        idtab_set(&tr->threads, i, NULL);
    }
    trace_free_regs(tr);
    chunktab_reset(tr->chunks);
    tr->nprocs = tr->nthreads = 0;
    tr->has_root = tr->embeds_checked = 0;
    blocktab_reset(tr->blocks);
    tr->nchunks = tr->embed_off = 0;
    tr->insns = tr->loads = tr->stores = tr->raw_bytes = 0;
    tr->end_ns = tr->start_ns;
}

static int open_file(struct ctr_trace *tr, unsigned flags, struct ctr_diag *diag)
{
    if (!(flags & CTR_OPEN_NO_INDEX)) {
        struct ctr_diag why;
        int err = trace_open_index(tr, &why);
        if (err == 0) {
            err = chunktab_opened(tr->chunks, &why);
        }
        if (err == 0) {
            tr->has_index = 1;
            tr->state = CTR_COMPLETE;
            trace_publish_totals(tr);
            return 0;
        }
        if (err == -CTR_E_NOMEM || err == -CTR_E_IO) {
            if (diag) {
                *diag = why;
            }
            return err;
        }
        reset_tables(tr);
        tr->index_damage = why;
    }
    int err = trace_open_scan(tr, diag);
    if (!err) {
        err = chunktab_opened(tr->chunks, diag);
    }
    if (!err && !tr->has_root) {
        err = trace_ends(tr, diag);
    }
    if (err) {
        return err;
    }
    trace_publish_totals(tr);
    if (tr->nchunks == 0 && tr->state != CTR_COMPLETE) {
        if (tr->damage.code != CTR_E_OK) {
            if (diag) {
                *diag = tr->damage;
            }
            return -tr->damage.code;
        }
        /* Whole sections up to its end: nothing shows whether more will come. */
        return ctr_fail(diag, CTR_E_TRUNCATED, CTR_NO_OFF, "chunk",
                        "there is no chunk in the file yet: its recording has just "
                        "begun, or was cut short");
    }
    return 0;
}

int ctr_open_fd(struct ctr_trace **out, int fd, unsigned flags, struct ctr_diag *diag)
{
    *out = NULL;
    struct ctr_trace *tr = calloc(1, sizeof(*tr));
    if (!tr) {
        close(fd);
        return ctr_fail_nomem(diag);
    }
    int err = 0;
    struct stat st;
    tr->src.fd = fd;
    if (fstat(fd, &st)) {
        err = ctr_fail(diag, CTR_E_IO, CTR_NO_OFF, "open", "%s", strerror(errno));
        goto out_close;
    }
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        err = ctr_fail(diag, CTR_E_IO, CTR_NO_OFF, "open", "%s", strerror(errno));
        goto out_close;
    }
    if (S_ISREG(st.st_mode) && !(flags & CTR_OPEN_STREAM)) {
        tr->src.seekable = 1;
        tr->src.size = (uint64_t)st.st_size;
    }
    tr->dctx = ZSTD_createDCtx();
    tr->blocks = blocktab_new(&tr->src);
    tr->chunks = chunktab_new(tr);
    if (!tr->dctx || !tr->blocks || !tr->chunks || idtab_init(&tr->procs, MAX_THREADS) ||
        idtab_init(&tr->threads, MAX_THREADS)) {
        err = ctr_fail_nomem(diag);
        goto out_close;
    }
    tr->state = CTR_STREAMING;
    err = read_file_head(tr, diag);
    if (!err) {
        err = read_meta(tr, diag);
    }
    if (!err && tr->src.seekable) {
        err = open_file(tr, flags, diag);
    }
    if (err) {
        goto out_close;
    }
    *out = tr;
    return 0;

out_close:
    ctr_close(tr);
    return err;
}

int ctr_open(struct ctr_trace **out, const char *path, unsigned flags,
             struct ctr_diag *diag)
{
    int std = strcmp(path, "-") == 0;
    int fd = std ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    *out = NULL;
    if (fd < 0) {
        return ctr_fail(diag, CTR_E_IO, CTR_NO_OFF, "open", "%s", strerror(errno));
    }
    return ctr_open_fd(out, fd, flags, diag);
}

void ctr_close(struct ctr_trace *tr)
{
    if (!tr) {
        return;
    }
    close(tr->src.fd);
    if (tr->procs.top && tr->threads.top) {
        reset_tables(tr);
    }
    blocktab_free(tr->blocks);
    idtab_fini(&tr->procs);
    idtab_fini(&tr->threads);
    chunktab_free(tr->chunks);
    free(tr->meta);
    free(tr->argv);
    ZSTD_freeDCtx(tr->dctx);
    buf_free(&tr->payload);
    buf_free(&tr->raw);
    free(tr);
}

void ctr_trace_info(const struct ctr_trace *tr, struct ctr_info *out)
{
    *out = (struct ctr_info){
        .version = tr->version,
        .events = tr->events,
        .elf_machine = tr->elf_machine,
        .big_endian = tr->big_endian,
        .machine = (uint8_t)target_is_machine(tr->target),
        .addr_bits = tr->addr_bits,
        .has_index = (uint8_t)tr->has_index,
        .seekable = (uint8_t)tr->src.seekable,
        .state = tr->state,
        .target = tr->target,
        .qemu_version = tr->qemu_version,
        .selection = tr->selection,
        .dropped_insns = tr->dropped_insns,
        .dropped_loads = tr->dropped_loads,
        .dropped_stores = tr->dropped_stores,
        .dropped_chunks = tr->dropped_chunks,
        .recorder = tr->recorder,
        .argc = (int)tr->argc,
        .argv = tr->argv,
        .start_realtime_ns = tr->start_realtime_ns,
        .start_ns = tr->start_ns,
        .end_ns = tr->end_ns,
        .raw_bytes = tr->raw_bytes,
        .file_bytes = tr->src.seekable ? tr->src.size : tr->src.pos,
        .insns = tr->insns,
        .loads = tr->loads,
        .stores = tr->stores,
        .processes = tr->nprocs,
        .threads = tr->nthreads,
        .blocks = blocktab_known(tr->blocks),
        .chunks = tr->nchunks,
    };
}

void ctr_trace_work(const struct ctr_trace *tr, struct ctr_work *out)
{
    *out = (struct ctr_work){
        .bytes = tr->src.work,
        .chunks = tr->chunks_read,
        .parts = tr->parts_read,
    };
}

void ctr_trace_damage(const struct ctr_trace *tr, struct ctr_diag *out)
{
    *out = tr->damage;
}

int ctr_trace_chunk(const struct ctr_trace *tr, uint64_t i, struct ctr_chunk *out,
                    struct ctr_diag *diag)
{
    struct chunk_row row;
    if (!tr->src.seekable || i >= tr->nchunks) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "chunk", "no such chunk");
    }
    int err = chunktab_get(tr->chunks, i, &row, diag);
    if (!err) {
        *out = row.pub;
    }
    return err;
}

int ctr_trace_chunk_with(const struct ctr_trace *tr, uint64_t *i, uint32_t flags,
                         struct ctr_chunk *out, struct ctr_diag *diag)
{
    struct chunk_scan s = CHUNK_SCAN_ALL;
    struct chunk_row row;
    int got;
    s.at = *i;
    s.stored = 1;
    s.flags = flags;
    while ((got = chunktab_next(tr->chunks, &s, &row, diag)) == 1) {
        if (row.pub.flags & flags) {
            *out = row.pub;
            break;
        }
    }
    *i = s.at;
    return got;
}

const struct ctr_block *ctr_trace_block(const struct ctr_trace *tr, uint32_t id)
{
    const struct block *b = blocktab_keep(tr->blocks, id);
    return b ? &b->pub : NULL;
}

int ctr_trace_blocks(struct ctr_trace *tr, struct ctr_diag *diag)
{
    return blocktab_keep_all(tr->blocks, diag);
}

int ctr_trace_each_block(struct ctr_trace *tr,
                         int (*fn)(void *arg, const struct ctr_block *b), void *arg,
                         struct ctr_diag *diag)
{
    return blocktab_each(tr->blocks, fn, arg, diag);
}
