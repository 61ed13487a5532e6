/* SPDX-License-Identifier: MIT */
/*
 * Makes a large trace from a small one, as fast as the disk writes: chunks are copied
 * unchanged, again and again, with new numbers, ordinals and times, and an
 * index.
 *
 *   bigtrace [-b BYTES[K|M|G]] [-c CHUNKS] [-t COPIES] [-s SKIP] IN.ctr OUT.ctr
 *
 * Rounds are added until the size or the number of chunks is reached.  With -t, in each
 * round so many threads run the same in parallel, chunk by chunk.  With -s, so many of
 * the first chunks appear only in the first round.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dictcopy.h"
#include "decode/part_reader.h"
#include "base/le.h"
#include "write/packed.h"

struct copier {
    struct ctr_trace *in;
    struct part_reader index;
    struct ctr_writer *out;
    struct ctr_dict *dict;
    struct ctr_packed *packed;
    struct buf payload;
    uint32_t *thread; /* of the output: copy * threads of the input + thread */
    uint64_t copies, chunks, bytes, skip, length_ns;
};

static _Noreturn void die(const char *what, const struct ctr_diag *diag)
{
    fprintf(stderr, "bigtrace: %s%s%s\n", what, diag ? ": " : "", diag ? diag->text : "");
    exit(1);
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t v = strtoull(text, &end, 0);
    static const char units[] = "KMG";
    const char *u = *end ? strchr(units, *end) : NULL;
    if (end == text || (*end && (!u || end[1]))) {
        die("bad number", NULL);
    }
    return u ? v << (10 * (u - units + 1)) : v;
}

static void copy_regs(struct copier *c)
{
    struct ctr_trace *in = c->in;
    struct ctr_diag diag = {0};
    struct section sec;
    struct buf raw = {0};
    if (!in->regs_off) {
        return;
    }
    if (section_read(&in->src, in->regs_off, &sec, &diag) ||
        section_payload(&in->src, &sec, 1, &c->payload, &diag) ||
        section_frame(&sec, &c->payload, 0, in->dctx, &raw, "regs", &diag) ||
        ctr_writer_regs(c->out, le32(sec.body + REGS_COUNT), raw.p, raw.n, &diag)) {
        die("regs", &diag);
    }
    buf_free(&raw);
}

static void copy_threads(struct copier *c)
{
    struct ctr_trace *in = c->in;
    struct ctr_diag diag = {0};
    const int32_t apart = 10000; /* ids of the copies */
    c->thread = calloc(c->copies * in->nthreads + 1, sizeof(c->thread[0]));
    for (uint64_t k = 0; c->thread && k < c->copies; k++) {
        uint32_t first = 0, n;
        for (uint32_t i = 0; i < in->nprocs; i++) {
            const struct ctr_process *p = ctr_trace_process(in, i);
            int32_t id = (int32_t)k * apart;
            if (ctr_writer_process(c->out, p->pid + id, p->ppid, p->start_ns, &n,
                                   &diag)) {
                die("process", &diag);
            }
            first = i ? first : n;
            ctr_writer_process_end(c->out, n, p->end_ns, p->end_reason, p->end_status);
        }
        for (uint32_t i = 0; i < in->nthreads; i++) {
            const struct ctr_thread *t = ctr_trace_thread(in, i);
            uint32_t *to = &c->thread[k * in->nthreads + i];
            if (ctr_writer_thread(c->out, first + t->process, t->tid + (int32_t)k * apart,
                                  t->ptid, t->start_ns, to, &diag)) {
                die("thread", &diag);
            }
            ctr_writer_thread_end(c->out, *to, t->end_ns, t->end_reason, t->end_status,
                                  t->incomplete);
        }
    }
}

/* Chunk i and its rows of the index, as the encoder hands them over. */
static void load_chunk(struct copier *c, uint64_t i)
{
    struct ctr_trace *in = c->in;
    struct part_reader *r = &c->index;
    struct ctr_packed *p = c->packed;
    struct ctr_diag diag = {0};
    struct section sec;
    struct chunk_row row;
    if (chunktab_get(in->chunks, i, &row, &diag) ||
        section_read(&in->src, row.pub.off, &sec, &diag) ||
        section_payload(&in->src, &sec, CHUNK_FRAMES, &c->payload, &diag)) {
        die("chunk", &diag);
    }
    const uint8_t *b = sec.body;
    p->info = (struct ctr_packed_info){
        .insns = le64(b + CHUNK_INSNS),
        .loads = le64(b + CHUNK_LOADS),
        .stores = le64(b + CHUNK_STORES),
        .runs = le32(b + CHUNK_RUNS),
        .events = le32(b + CHUNK_EVENTS),
        .bytes = sec.payload,
        .raw_bytes = row.pub.raw_bytes,
    };
    p->flags = le32(b + CHUNK_FLAGS) & ~CHUNK_F_GAP;
    p->max_id = le32(b + CHUNK_MAX_ID);
    p->last_first = le32(b + CHUNK_LAST_FIRST);
    p->last = le32(b + CHUNK_LAST);
    p->locals = le32(b + CHUNK_LOCALS);
    p->tokens = le32(b + CHUNK_TOKENS);
    p->token_miss = le32(b + CHUNK_TOKEN_MISS);
    p->addrs = le32(b + CHUNK_ADDRS);
    p->addr_miss = le32(b + CHUNK_ADDR_MISS);
    p->extras = le32(b + CHUNK_EXTRAS);
    p->regs = le32(b + CHUNK_REGS);
    p->reg_extras = le32(b + CHUNK_REG_EXTRAS);
    p->events = le32(b + CHUNK_EVENTS);
    p->next = le64(b + CHUNK_NEXT);
    const uint8_t *z = c->payload.p;
    for (unsigned k = 0; k < CHUNK_FRAMES; k++) {
        struct packed_frame *f = &p->frame[k];
        f->z.n = 0;
        f->dsize = sec.frame[k].dsize;
        f->hash = sec.frame[k].hash;
        if (buf_append(&f->z, z, sec.frame[k].csize)) {
            die("out of memory", NULL);
        }
        z += sec.frame[k].csize;
    }
    /* Rows can be read only from the begin of a part. */
    if (i && !(r->loaded && r->chunk == i) &&
        part_reader_chunk(r, i - 1, NULL, NULL, NULL, NULL, &diag)) {
        die("index", &diag);
    }
    int on = i && chunktab_find(in->chunks, i, r->part) == r->part;
    const uint8_t *counts = on ? r->c : NULL, *pages = on ? r->p : NULL;
    if (part_reader_chunk(r, i, NULL, NULL, NULL, NULL, &diag)) {
        die("index", &diag);
    }
    counts = counts ? counts : r->counts.p;
    pages = pages ? pages : r->pages.p;
    p->counts.n = p->pages.n = 0;
    if (buf_append(&p->counts, counts, (size_t)(r->c - counts)) ||
        buf_append(&p->pages, pages, (size_t)(r->p - pages))) {
        die("out of memory", NULL);
    }
}

static void copy_chunks(struct copier *c)
{
    struct ctr_trace *in = c->in;
    struct ctr_diag diag = {0};
    struct ctr_writer_stats at = {0};
    for (uint64_t round = 0;; round++) {
        for (uint64_t i = round ? c->skip : 0; i < in->nchunks; i++) {
            struct ctr_chunk from;
            if (ctr_trace_chunk(in, i, &from, &diag)) {
                die("chunk", &diag);
            }
            load_chunk(c, i);
            for (uint64_t k = 0; k < c->copies; k++) {
                uint64_t ns = round * c->length_ns + k;
                c->packed->start_ns = from.start_ns + ns;
                c->packed->end_ns = from.end_ns + ns;
                uint32_t to = c->thread[k * in->nthreads + from.thread];
                if (ctr_writer_chunk(c->out, to, c->packed, &diag)) {
                    die("write", &diag);
                }
                ctr_writer_stats(c->out, &at);
                if (at.chunks >= c->chunks || at.bytes >= c->bytes) {
                    return;
                }
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct copier c = {.copies = 1, .chunks = UINT64_MAX, .bytes = UINT64_MAX};
    struct ctr_diag diag = {0};
    int opt, fd;
    while ((opt = getopt(argc, argv, "b:c:t:s:")) != -1) {
        uint64_t *to = opt == 'b'   ? &c.bytes
                       : opt == 'c' ? &c.chunks
                       : opt == 't' ? &c.copies
                                    : &c.skip;
        if (opt == '?') {
            return 2;
        }
        *to = number(optarg);
    }
    if (optind + 2 != argc || (c.bytes == UINT64_MAX && c.chunks == UINT64_MAX)) {
        fprintf(stderr,
                "usage: bigtrace [-b BYTES] [-c CHUNKS] [-t COPIES] [-s SKIP] IN OUT\n");
        return 2;
    }
    if (ctr_open(&c.in, argv[optind], 0, &diag)) {
        die(argv[optind], &diag);
    }
    if (!c.in->has_index || c.in->version != FORMAT_VERSION || c.in->nchunks <= c.skip) {
        die("the trace has no index, too few chunks, or is of another version", NULL);
    }
    fd = open(argv[optind + 1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct ctr_meta meta = {
        .target = c.in->target,
        .qemu_version = c.in->qemu_version,
        .recorder = "bigtrace",
        .argc = (int)c.in->argc,
        .argv = c.in->argv,
        .selection = c.in->selection,
        .elf_machine = c.in->elf_machine,
        .events = c.in->events,
        .big_endian = c.in->big_endian,
        .addr_bits = c.in->addr_bits,
        .start_realtime_ns = c.in->start_realtime_ns,
        .start_ns = c.in->start_ns,
    };
    c.length_ns = c.in->end_ns - c.in->start_ns + 1000000;
    part_reader_init(&c.index, c.in);
    if (fd < 0) {
        die(strerror(errno), NULL);
    }
    if (ctr_dict_new(&c.dict, c.in->events) || ctr_packed_new(&c.packed)) {
        die("out of memory", NULL);
    }
    if (dict_copy(c.in, c.dict, &diag)) {
        die("dict", &diag);
    }
    if (ctr_writer_new(&c.out, fd, c.dict, &meta, 3, &diag)) {
        die("write", &diag);
    }
    copy_regs(&c);
    copy_threads(&c);
    copy_chunks(&c);
    if (ctr_writer_finish(c.out, &diag) || close(fd)) {
        die("write", &diag);
    }
    ctr_writer_free(c.out);
    ctr_packed_free(c.packed);
    ctr_dict_free(c.dict);
    part_reader_fini(&c.index);
    buf_free(&c.payload);
    free(c.thread);
    ctr_close(c.in);
    return 0;
}
