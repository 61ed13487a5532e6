/* SPDX-License-Identifier: MIT */
/*
 * Reduces many map events of a process to the fewest that make the same address space.
 * For recordings that keep only the newest part.
 *
 * The final mappings are emitted as if the process had begun with them. The heap is
 * emitted as one range, first, since a later brk counts from its start and its end;
 * events for deviations within that range follow.
 */
#include "maps/space.h"

#include <string.h>
#include "ctr_write.h"
#include "base/le.h"
#include "cannoli/events.h"

#define MAP_FIELDS 72u /* bytes of a payload before its strings */

struct fold {
    struct map_space space;
    ctr_maps_fold_fn *emit;
    void *arg;
    struct buf payload;
    const struct map_piece *heap; /* a typical piece of it; NULL: none is mapped */
};

static int emit_map(struct fold *f, uint32_t op, const struct map_piece *like,
                    uint64_t start, uint64_t end)
{
    const struct map_file *file =
        op == CTR_MAP_MUNMAP ? NULL : &f->space.m->file[like->file];
    size_t path = file ? strlen(file->path) : 0;
    size_t id = file ? file->build_id_bytes : 0;
    if (buf_room(&f->payload, MAP_FIELDS + 4 + path + id)) {
        return ctr_fail_nomem(f->space.diag);
    }
    uint8_t *p = f->payload.p;
    memset(p, 0, MAP_FIELDS);
    put32(p, op);
    put64(p + 16, start);
    put64(p + 24, end - start);
    if (file) {
        put32(p + 4, like->prot);
        put32(p + 8, like->shared ? MAP_SHARED_BIT : 0);
        put64(p + 32, file->is_file ? like->offset + (start - like->start) : 0);
        put64(p + 56, file->dev);
        put64(p + 64, file->inode);
    }
    p += MAP_FIELDS;
    put16(p, (uint16_t)path);
    if (path) {
        memcpy(p + 2, file->path, path);
    }
    p += 2 + path;
    put16(p, (uint16_t)id);
    if (id) {
        memcpy(p + 2, file->build_id, id);
    }
    return f->emit(f->arg, f->payload.p, MAP_FIELDS + 4 + path + id);
}

static int is_heap(const struct fold *f, const struct map_piece *p)
{
    return strcmp(f->space.m->file[p->file].path, "[heap]") == 0;
}

/* Whether the event of the whole heap covers the piece. */
static int in_heap(const struct fold *f, const struct map_piece *p)
{
    return f->heap && p->start >= f->space.heap_start && p->end <= f->space.heap_end &&
           p->file == f->heap->file && p->prot == f->heap->prot &&
           p->shared == f->heap->shared;
}

static void find_heap(struct fold *f)
{
    const struct map_space *s = &f->space;
    const struct map_piece *p;
    for (struct map_pos at = mapset_find(&s->set, s->heap_start);
         !f->heap && (p = mapset_at(&s->set, at)) && p->start < s->heap_end;
         at = mapset_next(&s->set, at)) {
        if (is_heap(f, p) && p->start >= s->heap_start && p->end <= s->heap_end) {
            f->heap = p;
        }
    }
}

static int emit_heap(struct fold *f)
{
    static const char path[] = "[heap]";
    struct map_space *s = &f->space;
    struct ctr_map e = {.path = {path, sizeof(path) - 1}};
    struct map_piece heap = {.prot = 3};
    int err;
    if (s->heap_start >= s->heap_end) {
        return 0;
    }
    find_heap(f);
    if (f->heap) {
        heap = *f->heap;
    } else {
        err = map_file_get(s->m, &e, &heap.file, s->diag);
        if (err) {
            return err;
        }
    }
    heap.start = s->heap_start;
    return emit_map(f, CTR_MAP_INITIAL, &heap, s->heap_start, s->heap_end);
}

/* Unmaps what is not mapped in the range of the heap. */
static int emit_holes(struct fold *f)
{
    const struct map_piece none = {0}, *p;
    uint64_t at = f->space.heap_start, end = f->space.heap_end;
    struct map_pos pos = mapset_find(&f->space.set, at);
    while (at < end) {
        p = mapset_at(&f->space.set, pos);
        uint64_t to = p && p->start < end ? p->start : end;
        if (at < to) {
            int err = emit_map(f, CTR_MAP_MUNMAP, &none, at, to);
            if (err) {
                return err;
            }
        }
        if (!p) {
            break;
        }
        at = p->end;
        pos = mapset_next(&f->space.set, pos);
    }
    return 0;
}

static int emit_all(struct fold *f)
{
    const struct mapset *set = &f->space.set;
    const struct map_piece *p;
    const struct map_pos first = {0, 0};
    int err = emit_heap(f);
    for (struct map_pos at = first; !err && (p = mapset_at(set, at));
         at = mapset_next(set, at)) {
        if (!is_heap(f, p)) {
            err = emit_map(f, CTR_MAP_INITIAL, p, p->start, p->end);
        }
    }
    if (!err) {
        err = emit_holes(f);
    }
    for (struct map_pos at = first; !err && (p = mapset_at(set, at));
         at = mapset_next(set, at)) {
        if (is_heap(f, p) && !in_heap(f, p)) {
            err = emit_map(f, CTR_MAP_MMAP, p, p->start, p->end);
        }
    }
    return err;
}

int ctr_maps_fold(const struct ctr_os_event *const *events, size_t n,
                  ctr_maps_fold_fn *emit, void *arg, struct ctr_diag *diag)
{
    struct map_history history = {0};
    struct fold f = {.emit = emit, .arg = arg};
    struct ctr_maps *m = calloc(1, sizeof(*m));
    int err = m ? 0 : ctr_fail_nomem(diag);
    f.space =
        (struct map_space){.m = m, .h = &history, .diag = diag, .keep = MAP_KEEP_NONE};
    for (size_t i = 0; !err && i < n; i++) {
        struct map_event e = {.time = events[i]->time_ns};
        int got = map_event_read(m, events[i], &e, diag);
        err = got == 1 ? map_space_event(&f.space, &e) : got;
    }
    if (!err) {
        err = emit_all(&f);
    }
    map_space_fini(&f.space);
    free(history.time);
    buf_free(&f.payload);
    ctr_maps_free(m);
    return err;
}
