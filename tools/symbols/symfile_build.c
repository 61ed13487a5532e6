/* SPDX-License-Identifier: MIT */
/* Builds the tables in the child: arrays, strings, and intervals made disjoint. */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "symfile_reader_priv.h"

void *vec_push(struct reader *r, struct symvec *v, size_t elem_bytes)
{
    if (v->n == v->cap) {
        size_t cap = v->cap ? 2 * v->cap : 64;
        void *p = v->n < UINT32_MAX / 4 ? realloc(v->p, cap * elem_bytes) : NULL;
        if (!p) {
            reader_fail(r, SYMFILE_BAD, "its symbols need too much memory");
        }
        v->p = p;
        v->cap = cap;
    }
    void *e = (char *)v->p + v->n++ * elem_bytes;
    memset(e, 0, elem_bytes);
    return e;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

static void hash_grow(struct reader *r, struct symhash *h)
{
    struct symhash old = *h;
    h->cap = old.cap ? 2 * old.cap : 1024;
    h->keys = calloc(h->cap, sizeof(*h->keys));
    h->values = calloc(h->cap, sizeof(*h->values));
    if (!h->keys || !h->values) {
        reader_fail(r, SYMFILE_BAD, "its symbols need too much memory");
    }
    for (size_t i = 0; i < old.cap; i++) {
        if (old.keys[i]) {
            size_t at = mix(old.keys[i]) & (h->cap - 1);
            while (h->keys[at]) {
                at = (at + 1) & (h->cap - 1);
            }
            h->keys[at] = old.keys[i];
            h->values[at] = old.values[i];
        }
    }
    free(old.keys);
    free(old.values);
}

uint32_t *hash_at(struct reader *r, struct symhash *h, uint64_t key, bool *found)
{
    key = key ? key : UINT64_MAX;
    if (2 * h->n >= h->cap) {
        hash_grow(r, h);
    }
    size_t at = mix(key) & (h->cap - 1);
    while (h->keys[at] && h->keys[at] != key) {
        at = (at + 1) & (h->cap - 1);
    }
    *found = h->keys[at] != 0;
    if (!*found) {
        h->keys[at] = key;
        h->n++;
    }
    return &h->values[at];
}

const char *string_get(const struct reader *r, uint32_t off)
{
    return (const char *)r->strings.p + off;
}

/* Appends to a blob; returns the offset. */
static uint32_t append(struct reader *r, struct symvec *v, const void *p, size_t n)
{
    if (v->n + n > v->cap) {
        size_t cap = 2 * (v->n + n) + 4096;
        void *grown = cap < UINT32_MAX ? realloc(v->p, cap) : NULL;
        if (!grown) {
            reader_fail(r, SYMFILE_BAD, "its names need too much memory");
        }
        v->p = grown;
        v->cap = cap;
    }
    memcpy((char *)v->p + v->n, p, n);
    v->n += n;
    return (uint32_t)(v->n - n);
}

uint32_t bytes_add(struct reader *r, const void *p, size_t n)
{
    struct symvec *v = &r->bytes;
    if (n == 0) {
        return 0;
    }
    for (uint64_t hash = hash_bytes(HASH_START, p, n);; hash++) {
        bool found;
        uint32_t *at = hash_at(r, &r->byte_index, hash, &found);
        if (!found) {
            return *at = append(r, v, p, n);
        }
        if (n <= v->n - *at && memcmp((char *)v->p + *at, p, n) == 0) {
            return *at;
        }
    }
}

uint32_t string_add(struct reader *r, const char *s)
{
    size_t n = strlen(s);
    uint64_t hash = hash_bytes(HASH_START, s, n);
    /* Strings with equal hashes use the next number. */
    for (;; hash++) {
        bool found;
        uint32_t *at = hash_at(r, &r->string_index, hash, &found);
        if (found && strcmp(string_get(r, *at), s) == 0) {
            return *at;
        }
        if (!found) {
            *at = append(r, &r->strings, s, n + 1);
            return *at;
        }
    }
}

uint32_t string_demangle(struct reader *r, uint32_t linkage)
{
    bool found;
    if (string_get(r, linkage)[0] != '_') {
        return linkage;
    }
    uint32_t *at = hash_at(r, &r->demangled, (uint64_t)linkage + 1, &found);
    if (!found) {
        char *text, *plt = strdup(string_get(r, linkage));
        size_t n = plt ? strcspn(plt, "@") : 0;
        bool stub = plt && strcmp(plt + n, "@plt") == 0;
        uint32_t name = linkage;
        if (stub) {
            plt[n] = '\0';
        }
        if (plt && sym_demangle(plt, &text)) {
            char *whole = NULL;
            if (asprintf(&whole, "%s%s", text, stub ? "@plt" : "") >= 0) {
                name = string_add(r, whole);
                free(whole);
            }
            free(text);
        }
        free(plt);
        at = hash_at(r, &r->demangled, (uint64_t)linkage + 1, &found);
        *at = name;
    }
    return *at;
}

/* ---------------------------------------------------------------- intervals */

static int by_start(const void *pa, const void *pb)
{
    const struct span *a = pa, *b = pb;
    if (a->addr != b->addr) {
        return a->addr < b->addr ? -1 : 1;
    }
    if (a->depth != b->depth) {
        return a->depth < b->depth ? -1 : 1;
    }
    return (a->value > b->value) - (a->value < b->value);
}

static void emit(struct reader *r, struct symvec *out, uint64_t addr, uint64_t end,
                 const struct span *s)
{
    struct span *last = out->n ? (struct span *)out->p + out->n - 1 : NULL;
    if (last && last->end == addr && last->value == s->value) {
        last->end = end;
        return;
    }
    *(struct span *)vec_push(r, out, sizeof(*s)) =
        (struct span){addr, end, s->depth, s->value};
}

/* Sweeps over the starts, with a stack of open spans, the deepest on top.  Spans that
 * have ended are removed only when they reach the top. */
void flatten(struct reader *r, struct symvec *spans)
{
    struct symvec out = {0}, open = {0};
    struct span *in = spans->p;
    size_t n = spans->n, i = 0;
    uint64_t pos = 0;
    if (n > 1) {
        qsort(in, n, sizeof(*in), by_start);
    }
    for (;;) {
        struct span *stack = open.p;
        while (open.n && stack[open.n - 1].end <= pos) {
            open.n--;
        }
        if (!open.n && i == n) {
            break;
        }
        if (open.n) {
            struct span *top = &stack[open.n - 1];
            uint64_t end = i < n && in[i].addr < top->end ? in[i].addr : top->end;
            if (end > pos) {
                emit(r, &out, pos, end, top);
                pos = end;
            }
        } else if (in[i].addr > pos) {
            pos = in[i].addr;
        }
        while (i < n && in[i].addr <= pos) {
            if (in[i].end > pos) {
                vec_push(r, &open, sizeof(*in));
                stack = open.p;
                size_t at = open.n - 1;
                for (; at && stack[at - 1].depth > in[i].depth; at--) {
                    stack[at] = stack[at - 1];
                }
                stack[at] = in[i];
            }
            i++;
        }
    }
    free(open.p);
    free(spans->p);
    *spans = out;
}

void flatten_at(struct reader *r, struct symvec *spans, struct symvec *out)
{
    flatten(r, spans);
    const struct span *v = spans->p;
    for (size_t i = 0; i < spans->n; i++) {
        struct sym_at *at = vec_push(r, out, sizeof(*at));
        at->addr = v[i].addr;
        at->end = v[i].end;
        at->item = v[i].value;
    }
    free(spans->p);
    *spans = (struct symvec){0};
}

/* ------------------------------------------------------------------ the file */

static void write_at(struct reader *r, const void *p, size_t n, uint64_t off)
{
    while (n) {
        ssize_t done = pwrite(r->out_fd, p, n, (off_t)off);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            _exit(1); /* the reason cannot be reported any more */
        }
        p = (const char *)p + done;
        n -= (size_t)done;
        off += (uint64_t)done;
    }
}

void table_write(struct reader *r)
{
    struct table_header h = {.magic = TABLE_MAGIC, .finished = 1};
    const struct symvec *v[PARTS] = {
        [PART_CODE] = &r->code,
        [PART_FUNCTIONS] = &r->functions,
        [PART_MARKS] = &r->marks,
        [PART_RANGES] = &r->ranges,
        [PART_SCOPES] = &r->scopes,
        [PART_FILES] = &r->files,
        [PART_ALIASES] = &r->aliases,
        [PART_OBJECTS] = &r->objects,
        [PART_OBJECT_AT] = &r->object_at,
        [PART_TYPES] = &r->types,
        [PART_MEMBERS] = &r->members,
        [PART_ENUMERATORS] = &r->enumerators,
        [PART_VARIABLES] = &r->variables,
        [PART_LOCATIONS] = &r->locations,
        [PART_PROTOTYPES] = &r->prototypes,
        [PART_BLOCKS] = &r->blocks,
        [PART_BLOCK_AT] = &r->block_at,
        [PART_ROWS] = &r->rows,
        [PART_RULES] = &r->rules,
        [PART_BYTES] = &r->bytes,
        [PART_STRINGS] = &r->strings,
    };
    memcpy(h.text, r->remark, sizeof(h.text));
    h.has_symtab = r->has_symtab;
    h.wants_debug = r->searched && !r->debug_path;
    h.nr_origins = r->nr_origins;
    h.debug_path = r->debug_path ? string_add(r, r->debug_path) : 0;
    const void *id;
    ssize_t id_bytes = dwelf_elf_gnu_build_id(r->elf, &id);
    if (id_bytes > 0 && (size_t)id_bytes <= sizeof(h.build_id)) {
        h.build_id_bytes = (uint8_t)id_bytes;
        memcpy(h.build_id, id, (size_t)id_bytes);
    }
    uint64_t off = (sizeof(h) + 15) & ~UINT64_C(15);
    for (unsigned i = 0; i < PARTS; i++) {
        h.part[i].off = off;
        h.part[i].n = v[i]->n;
        size_t bytes = v[i]->n * table_elem_bytes[i];
        write_at(r, v[i]->p, bytes, off);
        off = (off + bytes + 15) & ~UINT64_C(15);
    }
    h.total = off;
    write_at(r, "", 1, off - 1); /* may overwrite only a NUL */
    write_at(r, &h, sizeof(h), 0);
}
