/* SPDX-License-Identifier: MIT */
/*
 * Files whose bytes are in the trace.  Sections EMBED are a list from the last to the first,
 * so that they are found without reading the others.
 */
#include "file/trace.h"

#include <string.h>
#include <xxhash.h>
#include "base/le.h"

/* Of the table of files, which is at most half full. */
#define SLOTS (2 * EMBED_MAX_FILES)

/* Bytes of contents, a section. */
struct piece {
    uint64_t at; /* of the section */
    uint64_t off, n;
    uint64_t before; /* bytes of all pieces before it */
    uint32_t number;
};

struct ctr_files {
    struct ctr_trace *tr;
    struct ctr_file *file;
    size_t n_files, cap_files;
    uint32_t *slot;      /* SLOTS, a hash table: number among `file' + 1, or 0 */
    struct piece *piece; /* by number, then off */
    size_t n_pieces, cap_pieces;
    uint64_t stored; /* bytes of the trace */
    int damage;
    struct ctr_diag diag;
};

static int grow(void *v, size_t *cap, size_t n, size_t size)
{
    if (n < *cap) {
        return 0;
    }
    const size_t more = *cap + *cap / 2 + 16;
    void *p = realloc(*(void **)v, more * size);
    if (!p) {
        return -1;
    }
    *(void **)v = p;
    *cap = more;
    return 0;
}

/* Where the number of a file is, or is to be. */
static uint32_t *slot_of(const struct ctr_files *files, const char *path, uint64_t dev,
                         uint64_t inode)
{
    uint64_t i = XXH64(path, strlen(path), inode * UINT64_C(0x9e3779b97f4a7c15) ^ dev);
    for (;; i++) {
        uint32_t *slot = &files->slot[i % SLOTS];
        const struct ctr_file *f = *slot ? &files->file[*slot - 1] : NULL;
        if (!f || (f->inode == inode && f->dev == dev && strcmp(f->path, path) == 0)) {
            return slot;
        }
    }
}

/* Sections come from the last to the first, and a file's last one has the news of it. */
static int add_file(struct ctr_files *files, const uint8_t *body, const struct buf *path,
                    struct ctr_diag *diag)
{
    char name[EMBED_MAX_PATH];
    memcpy(name, path->p, path->n);
    name[path->n] = 0;
    const uint32_t number = le32(body + EMBED_NUMBER);
    const uint64_t dev = le64(body + EMBED_DEV), inode = le64(body + EMBED_INODE);
    uint32_t *slot = slot_of(files, name, dev, inode);
    if (*slot) {
        struct ctr_file *f = &files->file[*slot - 1];
        f->changed |= f->number != number;
        return 0;
    }
    if (files->n_files == EMBED_MAX_FILES) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "embed", "too many files");
    }
    char *copy = strdup(name);
    if (!copy ||
        grow(&files->file, &files->cap_files, files->n_files, sizeof(files->file[0]))) {
        free(copy);
        return ctr_fail_nomem(diag);
    }
    files->file[files->n_files++] = (struct ctr_file){
        .path = copy,
        .dev = dev,
        .inode = inode,
        .size = le64(body + EMBED_SIZE),
        .number = number,
        .changed = le32(body + EMBED_FLAGS) & EMBED_F_CHANGED,
        .checked = (uint32_t)files->tr->embeds_checked,
    };
    *slot = (uint32_t)files->n_files;
    return 0;
}

static int add_piece(struct ctr_files *files, const struct section *sec,
                     struct ctr_diag *diag)
{
    const uint64_t n = sec->frame[1].dsize, off = le64(sec->body + EMBED_OFFSET);
    const uint64_t size = le64(sec->body + EMBED_SIZE);
    if (n == 0) {
        return 0;
    }
    if (n > size || off > size - n) {
        return ctr_fail(diag, CTR_E_CORRUPT, sec->off, "embed",
                        "bytes that the file does not have");
    }
    if (grow(&files->piece, &files->cap_pieces, files->n_pieces,
             sizeof(files->piece[0]))) {
        return ctr_fail_nomem(diag);
    }
    files->piece[files->n_pieces++] = (struct piece){
        .at = sec->off, .off = off, .n = n, .number = le32(sec->body + EMBED_NUMBER)};
    return 0;
}

/* The header of a section of files at `at'. */
static int read_head(struct source *src, uint64_t at, struct section *sec,
                     struct ctr_diag *diag)
{
    const int err = section_read(src, at, sec, diag);
    return err > 0 || (!err && sec->type != SECT_EMBED)
               ? ctr_fail(diag, CTR_E_CORRUPT, at, "embed", "no file here")
               : err;
}

/* One section; *at becomes the one before. */
static int load_section(struct ctr_files *files, uint64_t *at, struct buf *payload,
                        struct buf *path, ZSTD_DCtx *dctx, struct ctr_diag *diag)
{
    struct source *src = &files->tr->src;
    struct section sec;
    int err = read_head(src, *at, &sec, diag);
    if (err) {
        return err;
    }
    if (sec.frame[0].dsize == 0 || sec.frame[0].dsize >= EMBED_MAX_PATH ||
        sec.frame[1].dsize > EMBED_MAX_BYTES) {
        return ctr_fail(diag, CTR_E_CORRUPT, *at, "embed", "no file here");
    }
    err = section_columns(src, &sec, 1, payload, diag);
    err = err ? err : section_frame(&sec, payload, 0, dctx, path, "embed", diag);
    if (!err && memchr(path->p, 0, path->n)) {
        err = ctr_fail(diag, CTR_E_CORRUPT, *at, "embed", "bad path");
    }
    files->stored += err ? 0 : section_end(&sec) - sec.off;
    const uint64_t before = le64(sec.body + EMBED_BEFORE);
    if (!err && before >= *at) {
        err = ctr_fail(diag, CTR_E_CORRUPT, *at, "embed", "the list goes forward");
    }
    err = err ? err : add_file(files, sec.body, path, diag);
    err = err ? err : add_piece(files, &sec, diag);
    *at = before;
    return err;
}

static int by_place(const void *a, const void *b)
{
    const struct piece *p = a, *q = b;
    return p->number != q->number ? (p->number > q->number) - (p->number < q->number)
                                  : (p->off > q->off) - (p->off < q->off);
}

/* How many pieces are of earlier contents, or end at off or before it. */
static size_t pieces_before(const struct ctr_files *files, uint64_t number, uint64_t off)
{
    size_t low = 0, high = files->n_pieces;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const struct piece *p = &files->piece[mid];
        if (p->number < number || (p->number == number && p->off + p->n <= off)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* The first piece of contents that has bytes at off or after it. */
static const struct piece *piece_at(const struct ctr_files *files, uint32_t number,
                                    uint64_t off)
{
    const size_t i = pieces_before(files, number, off);
    return i < files->n_pieces && files->piece[i].number == number ? &files->piece[i]
                                                                   : NULL;
}

/* Bytes of all pieces that are of earlier contents. */
static uint64_t bytes_before(const struct ctr_files *files, uint64_t number)
{
    const size_t i = pieces_before(files, number, 0);
    const struct piece *last = i ? &files->piece[i - 1] : NULL;
    return last ? last->before + last->n : 0;
}

/* In the order of the trace; pieces by place, without what another one has, too. */
static void settle(struct ctr_files *files)
{
    size_t n = 0;
    for (size_t i = 0, k = files->n_files; i + 1 < k; i++) {
        const struct ctr_file f = files->file[i];
        files->file[i] = files->file[--k];
        files->file[k] = f;
    }
    if (files->n_pieces) {
        qsort(files->piece, files->n_pieces, sizeof(files->piece[0]), by_place);
    }
    for (size_t i = 0; i < files->n_pieces; i++) {
        const struct piece *p = &files->piece[i], *last = &files->piece[n - 1];
        if (n == 0 || last->number != p->number || last->off + last->n <= p->off) {
            files->piece[n] = *p;
            files->piece[n].before = n ? last->before + last->n : 0;
            n++;
        }
    }
    files->n_pieces = n;
    memset(files->slot, 0, SLOTS * sizeof(files->slot[0]));
    for (size_t i = 0; i < files->n_files; i++) {
        struct ctr_file *f = &files->file[i];
        f->bytes =
            bytes_before(files, f->number + UINT64_C(1)) - bytes_before(files, f->number);
        *slot_of(files, f->path, f->dev, f->inode) = (uint32_t)i + 1;
    }
}

int ctr_files_load(struct ctr_files **out, struct ctr_trace *tr, struct ctr_diag *diag)
{
    *out = NULL;
    if (!tr->src.seekable) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "embed", "the trace is a stream");
    }
    struct ctr_files *files = calloc(1, sizeof(*files));
    ZSTD_DCtx *dctx = ZSTD_createDCtx();
    struct buf payload = {0}, path = {0};
    uint64_t at = tr->embed_off;
    if (files) {
        files->tr = tr;
        files->slot = calloc(SLOTS, sizeof(files->slot[0]));
    }
    int err = files && files->slot && dctx ? 0 : ctr_fail_nomem(diag);
    while (!err && at) {
        err = load_section(files, &at, &payload, &path, dctx, &files->diag);
    }
    if (files && files->diag.code && ctr_is_damage(err)) {
        files->damage = err;
        err = 0;
    } else if (err && files && files->diag.code && diag) {
        *diag = files->diag;
    }
    buf_free(&payload);
    buf_free(&path);
    ZSTD_freeDCtx(dctx);
    if (err) {
        ctr_files_free(files);
        return err;
    }
    settle(files);
    *out = files;
    return 0;
}

void ctr_files_free(struct ctr_files *files)
{
    if (files) {
        for (size_t i = 0; i < files->n_files; i++) {
            free((char *)(uintptr_t)files->file[i].path);
        }
        free(files->file);
        free(files->slot);
        free(files->piece);
        free(files);
    }
}

int ctr_files_damage(const struct ctr_files *files, struct ctr_diag *diag)
{
    if (files->damage && diag) {
        *diag = files->diag;
    }
    return files->damage;
}

uint64_t ctr_files_stored(const struct ctr_files *files)
{
    return files->stored;
}

const struct ctr_file *ctr_files_get(const struct ctr_files *files, uint32_t i)
{
    return i < files->n_files ? &files->file[i] : NULL;
}

const struct ctr_file *ctr_files_find(const struct ctr_files *files, const char *path,
                                      uint64_t dev, uint64_t inode)
{
    const uint32_t n = *slot_of(files, path, dev, inode);
    return n ? &files->file[n - 1] : NULL;
}

int ctr_files_read(const struct ctr_files *files, const struct ctr_file *file,
                   uint64_t *off, void *out, size_t *n, struct ctr_diag *diag)
{
    const struct piece *p = piece_at(files, file->number, *off);
    struct source *src = &files->tr->src;
    struct buf payload = {0}, raw = {0};
    const size_t room = *n;
    struct section sec;
    *n = 0;
    if (!p) {
        return 0;
    }
    ZSTD_DCtx *dctx = ZSTD_createDCtx();
    int err = dctx ? read_head(src, p->at, &sec, diag) : ctr_fail_nomem(diag);
    if (!err && sec.frame[1].dsize != p->n) {
        err = ctr_fail(diag, CTR_E_CORRUPT, p->at, "embed", "no file here");
    }
    err = err ? err : section_columns(src, &sec, 2, &payload, diag);
    err = err ? err : section_frame(&sec, &payload, 1, dctx, &raw, "embed", diag);
    if (!err) {
        *off = *off > p->off ? *off : p->off;
        const size_t from = (size_t)(*off - p->off), left = raw.n - from;
        *n = left < room ? left : room;
        memcpy(out, raw.p + from, *n);
    }
    ZSTD_freeDCtx(dctx);
    buf_free(&payload);
    buf_free(&raw);
    return err;
}

int trace_check_files(struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct ctr_files *files;
    struct buf payload = {0};
    int err = ctr_files_load(&files, tr, diag);
    if (err) {
        return err;
    }
    err = ctr_files_damage(files, diag);
    for (size_t i = 0; !err && i < files->n_pieces; i++) {
        struct section sec;
        err = read_head(&tr->src, files->piece[i].at, &sec, diag);
        err = err ? err : section_columns(&tr->src, &sec, 2, &payload, diag);
        err = err ? err : section_check(&sec, &payload, 1, "embed", diag);
    }
    buf_free(&payload);
    ctr_files_free(files);
    return err;
}
