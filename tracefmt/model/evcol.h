/* SPDX-License-Identifier: MIT */
/*
 * The column of events of a chunk: what happened to its thread between runs.
 * It can be read without any other column.
 */
#ifndef CTR_EVCOL_H
#define CTR_EVCOL_H

#include "model/payload.h"
#include "base/section.h"
#include "cannoli/events.h"

/*
 * A payload's numbers are stored as differences to those of a similar event: the last
 * one in the same slot, see evcol.c.
 */
#define EV_SLOTS 256u
struct ev_slot {
    uint64_t field[PAYLOAD_MAX_FIELDS];
    size_t rest; /* the part after the numbers: offset in the second part */
    uint32_t rest_bytes;
};

/* What both directions know of the previous events. */
struct ev_context {
    uint64_t run;
    uint64_t insns;
    uint64_t time;
    uint32_t nr;    /* of the last system call */
    uint32_t since; /* memory events since then */
    struct ev_slot slot[EV_SLOTS];
};

/* ----------------------------------------------------------------- writing */

struct evenc {
    struct ev_context ctx;
    struct buf head;
    struct buf rest;
    uint32_t count;
    uint32_t flags; /* CHUNK_F_* of events */
};

void evenc_begin(struct evenc *e);
void evenc_fini(struct evenc *e);

/*
 * Adds an event that happened when `run' runs of the chunk had begun and `insns'
 * instructions of it were counted; neither falls.  Checks the payload.
 * Returns 0, -CTR_E_CORRUPT, -CTR_E_LIMIT, -CTR_E_NOMEM.
 */
int evenc_add(struct evenc *e, uint64_t run, uint64_t insns, uint32_t type,
              uint64_t time_ns, const uint8_t *payload, size_t n, struct ctr_diag *diag);

/* The column, empty if there is no event.  Returns 0 or -1 (no memory). */
int evenc_pack(const struct evenc *e, struct buf *out);

/* ----------------------------------------------------------------- reading */

/* The last event of a type; size 0: there was none. */
#define EV_LAST_BYTES 40u
struct ev_last {
    uint32_t size;
    uint8_t payload[EV_LAST_BYTES];
};

struct evdec {
    struct buf column;
    struct ev_context ctx;
    const uint8_t *head, *head_end;
    const uint8_t *rest, *rest_at, *rest_end;
    struct buf payload;
    uint32_t left;
    uint64_t first; /* ordinal of the chunk's first instruction */
    uint64_t runs, insns;
    uint32_t expected, met; /* CHUNK_F_* of events: of the header; found */
    uint64_t off;           /* for diagnostics */
    uint64_t index;
    struct ctr_diag *diag;
    /* the current event */
    int have;
    uint64_t run;
    uint64_t now;           /* its time, or the last one known before it */
    struct ctr_os_event ev; /* without its thread */
    /* before the current event; the caller sets them to what was before the chunk */
    struct ev_last task, context;
    uint32_t lasts; /* how often one of them changed */
};

void evdec_init(struct evdec *d);
void evdec_fini(struct evdec *d);

/*
 * Begins the events of a chunk whose FRAME_EVENTS is in payload, and moves to the first
 * one (evdec.have; 0 if there is none). Returns 0 or an error.
 */
int evdec_begin(struct evdec *d, const struct section *sec, const struct buf *payload,
                const struct ctr_chunk *pub, ZSTD_DCtx *dctx, struct ctr_diag *diag);
/* Moves to the next event. */
int evdec_next(struct evdec *d);
/* Where the last event of a type is kept; NULL: of this type none is. */
struct ev_last *evdec_last(struct evdec *d, uint32_t type);

/* CTR_KIND_* of an event. */
static inline uint32_t event_kind(uint32_t type)
{
    switch (type) {
    case CTR_EVENT_MAP:
        return CTR_KIND_MAP;
    case CTR_EVENT_THREAD:
        return CTR_KIND_THR;
    case CTR_EVENT_MARK:
    case CTR_EVENT_GATE:
    case CTR_EVENT_LABEL:
    case CTR_EVENT_SELECT:
        return CTR_KIND_MARK;
    case CTR_EVENT_INTERRUPT:
    case CTR_EVENT_INTRET:
        return CTR_KIND_INT;
    case CTR_EVENT_CONTEXT:
        return CTR_KIND_CTX;
    case CTR_EVENT_SLICE:
        return CTR_KIND_ORDER;
    case CTR_EVENT_POWER:
        return CTR_KIND_PWR;
    case CTR_EVENT_RAM:
        return CTR_KIND_RAM;
    case CTR_EVENT_DMA:
        return CTR_KIND_DMA;
    case CTR_EVENT_IO:
        return CTR_KIND_IO;
    case CTR_EVENT_TASK:
    case CTR_EVENT_AREA:
        return CTR_KIND_TASK;
    case CTR_EVENT_KEYFRAME:
        return CTR_KIND_KEYFRAME;
    case CTR_EVENT_INPUT:
        return CTR_KIND_INPUT;
    default:
        return CTR_KIND_SYS;
    }
}

#endif
