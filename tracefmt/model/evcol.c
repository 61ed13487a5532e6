/* SPDX-License-Identifier: MIT */
/*
 * Column 5. A program that mostly makes system calls has two or more events for each,
 * of some 100 bytes, nearly all of them the same as last time. So only those numbers of
 * a payload are stored that differ from the earlier event most likely to be alike, and
 * the rest (names, paths, data) is stored once if it repeats immediately.
 *
 *   slot    of
 *   0..63     system calls, by number modulo 64: entry and return
 *   64..127   memory of a call, by the call's number and how many came before
 *   128..     one for each other type
 */
#include "model/evcol.h"

#include <string.h>
#include "base/le.h"
#include "cannoli/events.h"

/* The first varint of an event. */
#define HEAD_SAME 1u  /* the rest is the same as in the slot */
#define HEAD_TIMED 2u /* a time follows */
#define HEAD_TYPE_SHIFT 2

/*
 * A longer rest is stored each time, so that reading time stays proportional to the
 * column's length.
 */
#define MAX_SAME 256u

#define SYS_NR 0u /* fields of a system call with their own rules: */
#define SYS_RESULT 2u

static int is_syscall(uint32_t type)
{
    return type == CTR_EVENT_SYSCALL || type == CTR_EVENT_SYSRET;
}

/* The slot of an event; nr: of a system call. */
static struct ev_slot *slot_of(struct ev_context *c, uint32_t type, uint32_t nr)
{
    if (is_syscall(type)) {
        c->nr = nr;
        c->since = 0;
        return &c->slot[nr & 63];
    }
    if (type == CTR_EVENT_USERMEM) {
        uint32_t k = c->since < 3 ? c->since++ : 3;
        return &c->slot[64 + ((c->nr * 4 + k) & 63)];
    }
    return &c->slot[128 + (type & 127)];
}

/* The value of field i unless the column has another one. */
static uint64_t predicted(const struct ev_slot *s, uint32_t type, unsigned i)
{
    return type == CTR_EVENT_SYSCALL && i == SYS_RESULT ? 0 : s->field[i];
}

static void keep_field(struct ev_slot *s, uint32_t type, unsigned i, uint64_t v)
{
    if (type != CTR_EVENT_SYSCALL || i != SYS_RESULT) {
        s->field[i] = v;
    }
}

static uint64_t get_field(const uint8_t *p, unsigned bytes)
{
    return bytes == 4 ? le32(p) : le64(p);
}

/* ----------------------------------------------------------------- writing */

void evenc_begin(struct evenc *e)
{
    if (e->count) {
        memset(&e->ctx, 0, sizeof(e->ctx));
    }
    e->head.n = e->rest.n = 0;
    e->count = 0;
    e->flags = 0;
}

void evenc_fini(struct evenc *e)
{
    buf_free(&e->head);
    buf_free(&e->rest);
}

static uint32_t chunk_flag(uint32_t type)
{
    switch (event_kind(type)) {
    case CTR_KIND_MAP:
        return CHUNK_F_MAPS;
    case CTR_KIND_THR:
        return CHUNK_F_THREADS;
    case CTR_KIND_MARK:
        return CHUNK_F_MARKS;
    case CTR_KIND_INT:
        return CHUNK_F_INTERRUPTS;
    case CTR_KIND_CTX:
        return CHUNK_F_CONTEXTS;
    case CTR_KIND_ORDER:
        return CHUNK_F_SLICES;
    case CTR_KIND_PWR:
        return CHUNK_F_POWER;
    case CTR_KIND_RAM:
        return CHUNK_F_RAM;
    case CTR_KIND_DMA:
        return CHUNK_F_DMA;
    case CTR_KIND_IO:
        return CHUNK_F_IO;
    case CTR_KIND_TASK:
        return type == CTR_EVENT_TASK ? CHUNK_F_TASKS : CHUNK_F_AREAS;
    case CTR_KIND_KEYFRAME:
        return CHUNK_F_KEYFRAMES;
    case CTR_KIND_INPUT:
        return CHUNK_F_INPUTS;
    default:
        return CHUNK_F_SYSTEM;
    }
}

int evenc_add(struct evenc *e, uint64_t run, uint64_t insns, uint32_t type,
              uint64_t time_ns, const uint8_t *payload, size_t n, struct ctr_diag *diag)
{
    const char *wrong = payload_check(type, payload, n);
    struct ev_context *c = &e->ctx;
    if (wrong || run < c->run || insns < c->insns) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "events", "%s",
                        wrong ? wrong : "events are out of order");
    }
    if (e->count == MAX_CHUNK_EVENTS || e->head.n + e->rest.n + n + 256 > MAX_COLUMN) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "events",
                        "more events than a chunk can hold");
    }
    const struct payload_kind *k = payload_kind(type);
    struct ev_slot *s = slot_of(c, type, le32(payload));
    const uint8_t *rest = payload + payload_before_rest(k);
    size_t rest_n = n - (size_t)(rest - payload);
    int same = rest_n == s->rest_bytes && rest_n <= MAX_SAME &&
               (rest_n == 0 || memcmp(rest, e->rest.p + s->rest, rest_n) == 0);
    if (buf_reserve(&e->head, (7 + PAYLOAD_MAX_FIELDS) * VARINT_MAX)) {
        return ctr_fail_nomem(diag);
    }
    uint8_t *p = e->head.p + e->head.n;
    p += put_varint(p, type << HEAD_TYPE_SHIFT | (time_ns ? HEAD_TIMED : 0) |
                           (same ? HEAD_SAME : 0));
    p += put_varint(p, run - c->run);
    p += put_varint(p, insns - c->insns);
    if (time_ns) {
        p += put_varint(p, zigzag64(time_ns - c->time));
        c->time = time_ns;
    }
    if (is_syscall(type)) {
        p += put_varint(p, le32(payload));
        s->field[SYS_NR] = le32(payload);
    }
    uint64_t value[PAYLOAD_MAX_FIELDS];
    uint64_t mask = 0;
    const uint8_t *f = payload;
    for (unsigned i = 0; i < k->nfields; f += k->field[i], i++) {
        value[i] = get_field(f, k->field[i]);
        mask |= (uint64_t)(value[i] != predicted(s, type, i)) << i;
    }
    p += put_varint(p, mask);
    for (unsigned i = 0; i < k->nfields; i++) {
        if (mask >> i & 1) {
            p += put_varint(p, zigzag64(value[i] - predicted(s, type, i)));
            keep_field(s, type, i, value[i]);
        }
    }
    if (!same) {
        p += put_varint(p, rest_n);
        s->rest = e->rest.n;
        s->rest_bytes = (uint32_t)rest_n;
        if (buf_append(&e->rest, rest, rest_n)) {
            return ctr_fail_nomem(diag);
        }
    }
    e->head.n = (size_t)(p - e->head.p);
    c->run = run;
    c->insns = insns;
    e->count++;
    e->flags |= chunk_flag(type);
    return 0;
}

int evenc_pack(const struct evenc *e, struct buf *out)
{
    out->n = 0;
    if (e->count == 0) {
        return 0;
    }
    if (buf_room(out, VARINT_MAX + e->head.n + e->rest.n)) {
        return -1;
    }
    out->n = put_varint(out->p, e->head.n);
    return buf_append(out, e->head.p, e->head.n) ||
                   (e->rest.n && buf_append(out, e->rest.p, e->rest.n))
               ? -1
               : 0;
}

/* ----------------------------------------------------------------- reading */

void evdec_init(struct evdec *d)
{
    memset(d, 0, sizeof(*d));
}

void evdec_fini(struct evdec *d)
{
    buf_free(&d->column);
    buf_free(&d->payload);
    memset(d, 0, sizeof(*d));
}

static int bad(const struct evdec *d, const char *what)
{
    return ctr_fail(d->diag, CTR_E_CORRUPT, d->off, "chunk.events", "chunk %llu: %s",
                    (unsigned long long)d->index, what);
}

int evdec_begin(struct evdec *d, const struct section *sec, const struct buf *payload,
                const struct ctr_chunk *pub, ZSTD_DCtx *dctx, struct ctr_diag *diag)
{
    d->diag = diag;
    d->off = pub->off;
    d->index = pub->index;
    d->first = pub->first;
    d->runs = pub->runs;
    d->insns = pub->insns;
    d->expected = pub->flags & CHUNK_F_EVENTS;
    d->met = 0;
    d->now = pub->start_ns;
    d->left = le32(sec->body + CHUNK_EVENTS);
    d->have = 0;
    if (d->left > MAX_CHUNK_EVENTS) {
        return bad(d, "impossible counts");
    }
    int err =
        section_frame(sec, payload, FRAME_EVENTS, dctx, &d->column, "chunk.events", diag);
    if (err) {
        return err;
    }
    d->head = d->head_end = d->rest = d->rest_at = d->rest_end = NULL;
    if (d->column.n) {
        const uint8_t *p = d->column.p, *end = p + d->column.n;
        uint64_t n;
        if (get_varint(&p, end, &n) || n > (uint64_t)(end - p)) {
            return bad(d, "length of the column");
        }
        d->head = p;
        d->head_end = d->rest = d->rest_at = p + n;
        d->rest_end = end;
    }
    if (d->left) {
        memset(&d->ctx, 0, sizeof(d->ctx));
    }
    return evdec_next(d);
}

/* Reads the numbers of the payload. */
static int get_fields(struct evdec *d, const struct payload_kind *k, uint32_t type,
                      struct ev_slot *s)
{
    uint64_t mask, z;
    if (get_varint(&d->head, d->head_end, &mask) || mask >> k->nfields) {
        return -1;
    }
    uint8_t *out = d->payload.p;
    for (unsigned i = 0; i < k->nfields; out += k->field[i], i++) {
        uint64_t v = predicted(s, type, i);
        if (mask >> i & 1) {
            if (get_varint(&d->head, d->head_end, &z)) {
                return -1;
            }
            v += unzigzag64(z);
            keep_field(s, type, i, v);
        }
        if (k->field[i] == 8) {
            put64(out, v);
        } else if (v <= UINT32_MAX) {
            put32(out, (uint32_t)v);
        } else {
            return -1;
        }
    }
    return 0;
}

/* Reads place and time; what: its first varint. Returns the slot, or NULL. */
static struct ev_slot *get_place(struct evdec *d, uint64_t what, uint32_t type)
{
    struct ev_context *c = &d->ctx;
    uint64_t run, insns, z, nr = 0;
    if (get_varint(&d->head, d->head_end, &run) ||
        get_varint(&d->head, d->head_end, &insns) || run > d->runs - c->run ||
        insns > d->insns - c->insns) {
        return NULL;
    }
    c->run += run;
    c->insns += insns;
    d->ev.time_ns = 0;
    if (what & HEAD_TIMED) {
        if (get_varint(&d->head, d->head_end, &z)) {
            return NULL;
        }
        c->time += unzigzag64(z);
        d->ev.time_ns = c->time;
    }
    if (is_syscall(type) && (get_varint(&d->head, d->head_end, &nr) || nr > UINT32_MAX)) {
        return NULL;
    }
    struct ev_slot *s = slot_of(c, type, (uint32_t)nr);
    if (is_syscall(type)) {
        s->field[SYS_NR] = nr;
    }
    return s;
}

struct ev_last *evdec_last(struct evdec *d, uint32_t type)
{
    return type == CTR_EVENT_TASK      ? &d->task
           : type == CTR_EVENT_CONTEXT ? &d->context
                                       : NULL;
}

/* The current event is over: what follows is after it. */
static void keep_last(struct evdec *d)
{
    struct ev_last *last = d->have ? evdec_last(d, d->ev.type) : NULL;
    if (last && d->ev.size <= EV_LAST_BYTES) {
        last->size = d->ev.size;
        memcpy(last->payload, d->ev.payload, d->ev.size);
        d->lasts++;
    }
}

int evdec_next(struct evdec *d)
{
    keep_last(d);
    d->have = 0;
    if (d->left == 0) {
        return d->head != d->head_end || d->rest_at != d->rest_end ||
                       d->met != d->expected
                   ? bad(d, "data left over")
                   : 0;
    }
    uint64_t what, n;
    if (get_varint(&d->head, d->head_end, &what) || what >> HEAD_TYPE_SHIFT > 255) {
        return bad(d, "bad event");
    }
    uint32_t type = (uint32_t)(what >> HEAD_TYPE_SHIFT);
    const struct payload_kind *k = payload_kind(type);
    struct ev_slot *s = k ? get_place(d, what, type) : NULL;
    if (!s) {
        return bad(d, "bad event");
    }
    uint32_t fixed = payload_fixed(k);
    if (buf_room(&d->payload, fixed + 4)) {
        return ctr_fail_nomem(d->diag);
    }
    if (get_fields(d, k, type, s)) {
        return bad(d, "bad event");
    }
    d->payload.n = fixed;
    if (!(what & HEAD_SAME)) {
        if (get_varint(&d->head, d->head_end, &n) ||
            n > (uint64_t)(d->rest_end - d->rest_at)) {
            return bad(d, "data missing");
        }
        s->rest = (size_t)(d->rest_at - d->rest);
        s->rest_bytes = (uint32_t)n;
        d->rest_at += n;
    } else if (s->rest_bytes > MAX_SAME) {
        return bad(d, "bad event");
    }
    if (payload_before_rest(k) != fixed) {
        put32(d->payload.p + fixed, s->rest_bytes);
        d->payload.n += 4;
    }
    if (s->rest_bytes && buf_append(&d->payload, d->rest + s->rest, s->rest_bytes)) {
        return ctr_fail_nomem(d->diag);
    }
    const char *wrong = payload_check(type, d->payload.p, d->payload.n);
    if (wrong || !(d->expected & chunk_flag(type))) {
        return bad(d, wrong ? wrong : "an event that the chunk header does not announce");
    }
    d->met |= chunk_flag(type);
    d->left--;
    d->run = d->ctx.run;
    d->ev.ordinal = d->first + d->ctx.insns;
    d->ev.type = type;
    d->ev.size = (uint32_t)d->payload.n;
    d->ev.payload = d->payload.p;
    d->ev.thread = NULL;
    d->now = d->ev.time_ns ? d->ev.time_ns : d->now;
    d->have = 1;
    return 0;
}
