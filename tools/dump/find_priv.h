/* SPDX-License-Identifier: MIT */
/*
 * The parts of find.h: find_pattern.c finds the pattern, and pieces of it, in the
 * bytes of one access, find_text.c parses it, find.c does so for all accesses, find_pieces.c
 * joins pieces, find_answer.c prints what was found in order, find_ranges.c knows what --addr
 * selects.
 *
 * A buffer that the system read or wrote counts as an access, too.  Loads, stores, reads
 * and writes of the system of each thread are four separate flows.
 */
#ifndef TOOLS_FIND_PRIV_H
#define TOOLS_FIND_PRIV_H

#include "dump/find.h"

/* ----------------------------------------------------------------- pattern */

/*
 * A piece is what an access has of the pattern at one place if the access does not have all
 * of it, and agrees with it in all bytes there.  Zeros are everywhere: a piece of zeros only
 * is weak, and does not begin a place.  A pattern with more equal bytes than this makes too
 * many pieces: only single accesses are searched for it.
 */
#define PIECE_PLACES_MAX 64u

struct pattern {
    uint8_t bytes[FIND_PATTERN_MAX];
    uint32_t n;
    bool joins;                            /* it may be in pieces */
    uint16_t strong[FIND_PATTERN_MAX + 1]; /* bytes that are not 0 before each byte */
    /* For pattern_may_be, with weak pieces and without: what an access begins with, or has
     * anywhere. */
    bool begins[2][256];
    uint8_t has[2];
};

/* What an access has of the pattern: distances from its address to where the pattern
 * begins, ascending.  Zeroed it is empty; hits_fini frees it. */
struct hits {
    int64_t *at;
    size_t n, cap;
    size_t nwhole; /* of them, all of the pattern: the first ones */
    bool strong;   /* a piece is not weak */
};

void pattern_init(struct pattern *p, const struct find_request *request, bool big_endian);

/* The search for the whole pattern and, if it may be in pieces, for pieces; false: no
 * memory.  n is not 0. */
bool pattern_search(const struct pattern *p, const uint8_t *data, size_t n,
                    struct hits *hits);
void hits_fini(struct hits *h);

/* 0x80 in the lowest byte of v that is 0, and perhaps in others; 0 if none is. */
static inline uint64_t zero_bytes(uint64_t v)
{
    return (v - 0x0101010101010101u) & ~v & 0x8080808080808080u;
}

/*
 * A quick test: false if pattern_search would find nothing, or, if not `weak', weak pieces
 * only.
 */
static inline bool pattern_may_be(const struct pattern *p, const uint8_t *data, size_t n,
                                  bool weak)
{
    const uint64_t byte = p->has[weak] * 0x0101010101010101u;
    uint64_t v = ~byte; /* no byte of it is that one */

    if (p->begins[weak][data[0]]) {
        return true;
    }
    switch (n) {
    case 1:
        return false;
    case 2:
        return data[1] == p->has[weak];
    case 4:
        memcpy(&v, data, 4);
        break;
    case 8:
        memcpy(&v, data, 8);
        break;
    default:
        return memchr(data, p->has[weak], n) != NULL;
    }
    return zero_bytes(v ^ byte) != 0;
}

/* ------------------------------------------------------------------ pieces */

/* The open places of a flow: where pieces of the pattern are. */
struct start;
struct pieces {
    const struct pattern *pattern;
    uint64_t within;
    unsigned shift; /* addresses of one line of the table have the same upper bits */
    struct start *v;
    uint32_t n, cap;     /* places in use or free; the first is not used */
    uint32_t free, live; /* list of free ones; number in use */
    uint32_t *heads;     /* lists of places by line */
    uint32_t mask;
    uint64_t *done; /* places completed by the last access, ascending */
    size_t ndone, cap_done;
};

/* Bits of an address within a line: a pattern is in two lines at most. */
unsigned pieces_shift(const struct pattern *p);

/* `within': see struct find_request. */
void pieces_init(struct pieces *s, const struct pattern *p, uint64_t within);
void pieces_fini(struct pieces *s);

/*
 * The next access of the flow.  at[0..n-1]: places of which it is a piece, as distances from
 * addr.  Whatever other open places it touches begin anew.  Sets done and ndone.  False: no
 * memory.
 */
bool pieces_access(struct pieces *s, uint64_t ordinal, uint64_t addr, uint64_t size,
                   const int64_t *at, size_t n);

/* ------------------------------------------------------- from workers to the answer */

/* The flows of a thread. */
enum find_flow { FLOW_LOAD, FLOW_STORE, FLOW_SYS_READ, FLOW_SYS_WRITE, NR_FLOWS };

/*
 * What the workers hand to the ordered callback: records of a header and that many bytes,
 * filled up to a multiple of 8.
 *   RECORD_TEXT    the output for an access
 *   RECORD_ACCESS  struct find_access and what follows it
 *   RECORD_OTHERS  accesses that are no pieces: struct find_other; the ordinal is that of
 *                  the first one
 *   RECORD_CALL    a system call begins: its name; or ends: 0 bytes
 */
enum record_kind { RECORD_TEXT, RECORD_ACCESS, RECORD_OTHERS, RECORD_CALL };
struct find_record {
    uint64_t ordinal;
    uint64_t bytes;
    uint64_t kind;
};
/* Then int64_t[nhits] as in struct hits: of pieces, of the system also whole ones; and, if
 * has_data, the access's bytes. */
struct find_access {
    uint64_t addr;
    uint64_t size;
    uint64_t kept;    /* bytes known, the first ones */
    uint64_t time_ns; /* of the system */
    uint64_t nwhole, nhits;
    uint32_t flow;
    uint32_t block; /* id */
    uint16_t insn;
    uint8_t big_endian;
    uint8_t has_data;
    struct line_task task;
};
struct find_other {
    uint64_t addr;
    uint32_t size;
    uint32_t flow;
};

/* ------------------------------------------------------------------ answer */

/* What was found by an earlier replay, to be printed in its place. */
struct pending {
    uint64_t start_ns, chunk, ordinal; /* the place; compared in this order */
    size_t from, len;                  /* in pending_text */
};

/* The ordered callback's state of a thread. */
struct find_thread {
    struct pieces flow[NR_FLOWS];
    char call[48]; /* the system call that it is in */
    size_t call_len;
};

/* What a worker has, on cache lines of its own; see find.c. */
struct find_worker;

struct find {
    struct ctr_trace *tr;
    const struct dump_options *opt;
    const struct find_request *request;
    struct ctr_info info;
    struct pattern pattern;
    struct ctr_range *wide; /* of --addr, with what a pattern there can reach */
    bool flows[NR_FLOWS];   /* which ones are searched */
    bool narrow;            /* not all loads and stores */
    struct progress progress;
    struct find_worker *workers;
    /* Used by the ordered callback only. */
    struct find_thread **threads; /* by index in the thread table */
    size_t nr_threads;
    struct access_printer *printer; /* of what pieces complete */
    uint64_t printer_chunk;         /* the chunk that it is at, plus 1 */
    struct os_printer os;           /* its text is the answer not yet written */
    bool keep;                      /* make the answer pending */
    struct pending *pending;
    struct textbuf pending_text;
    size_t npending, cap_pending, at_pending;
    uint64_t found;
    int sys_errno;
};

/* ------------------------------------------------------------------ ranges */

/* Sets f->wide; false: no memory. */
bool find_widen(struct find *f);

/* Whether one of the n ranges has one of `size' bytes of a process. */
bool find_in_ranges(const struct ctr_range *v, uint32_t n, uint32_t process,
                    uint64_t first, uint64_t size);
/* Whether --addr selects a pattern at this address of a process. */
bool find_selected(const struct find *f, uint32_t process, uint64_t place);
/* Whether an access may have a part of such a pattern. */
bool find_wide(const struct find *f, const struct ctr_thread *t, uint64_t addr,
               uint64_t size);

/* ---------------------------------------------------------- ordered callback */

/* The callback of ctr_replay. */
int answer_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n);
/* At the end: writes what is left; 0 or an enum dump_stop. */
int answer_end(struct find *f);
void answer_fini(struct find *f);

#endif
