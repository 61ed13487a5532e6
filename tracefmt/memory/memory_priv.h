/* SPDX-License-Identifier: MIT */
/*
 * Inside ctr_memory: memory.c keeps lines of memory, decide.c decides what the bytes of one
 * are, search.c searches the trace for it.
 */
#ifndef CTR_MEMORY_PRIV_H
#define CTR_MEMORY_PRIV_H

#include "memory/epoch.h"
#include "memory/initial.h"
#include "memory/key.h"
#include "memory/near.h"
#include "memory/origin.h"
#include "memory/since.h"

#define LINE_BYTES 4096u

enum byte_state {
    BYTE_OPEN,  /* not decided yet */
    BYTE_LATER, /* the same; stored without a value, only a later load shows it */
    BYTE_FIRST, /* the first access to it is a later write: only its initial value counts */
    BYTE_HELD, /* open, but not searched for now */
    BYTE_KNOWN,
    BYTE_LOST, /* it was accessed, but its value is not in the trace */
};

struct line {
    uint64_t addr; /* of its first byte */
    bool used;     /* in the table */
    uint8_t value[LINE_BYTES];
    uint8_t state[LINE_BYTES]; /* enum byte_state */
};

struct ctr_memory {
    struct ctr_trace *tr;
    bool machine;
    uint64_t shared; /* of a machine: from here on addresses are the kernel's */
    bool placed;     /* of a machine: `space' is that of the moment, its table, ... */
    bool known;      /* ... if that is known */
    uint64_t space;
    struct ctr_moment at;
    uint32_t process;
    unsigned jobs;
    uint32_t most; /* chunks of a search; 0: any number */
    struct memory_origins *origins;
    struct memory_epochs epochs; /* of a machine */
    struct memory_initial initial;
    struct line *lines; /* hash table by addr */
    uint32_t cap, n;    /* a power of two */
    bool has_keys;      /* key frames that are found by the index */
    bool alone;         /* no other thread of the process can have changed its memory */
    struct memory_near near;
    struct memory_key keys;
};

/* A position of a search, in a process. */
struct position {
    uint32_t thread, process;
    uint64_t ordinal;
    uint64_t time_ns;
    unsigned point;         /* CTR_SEARCH_POINT, _SYSTEM, _FOUND, or 0 */
    struct ctr_found found; /* with _FOUND */
};

/*
 * First, memory that only its process changes (memory_origin.own) is searched for stores: what
 * nothing was stored to is as it was initially, whatever was loaded.  Then a load, or of other
 * memory a store, shows what is still open; and last of other memory what it was initially.
 */
enum lookup_pass { PASS_STORES, PASS_ALL, PASS_INITIAL };

/* A search of bytes of a line. */
struct lookup {
    struct ctr_memory *m;
    struct line *line;
    unsigned begin, end; /* those bytes */
    bool text;           /* no more than up to the first NUL */
    struct position pos;
    uint64_t base; /* the address of the line's first byte at the position */
    struct memory_origin origin; /* of all of the bytes there */
    enum lookup_pass pass;
    uint64_t floor;  /* ordinal of that thread: no further back */
    unsigned flags;  /* CTR_SEARCH_BACK or 0 */
    uint32_t access; /* CTR_KIND_LOAD, _STORE: what is searched */
    struct ctr_diag *diag;
};

/* Whether an access in this direction can decide the byte i. */
bool lookup_is_open(const struct lookup *l, unsigned i);
/* Whether any byte is open, and a text has not ended. */
bool lookup_any_open(const struct lookup *l);
/* Whether a text is known to its end: a NUL, or a byte that cannot be known. */
bool lookup_text_ends(const struct lookup *l);
/* The bytes that are still to be found, as ranges of a filter, LINE_BYTES at most; their
 * number. */
uint32_t lookup_open_ranges(const struct lookup *l, struct ctr_range *v);

/*
 * The following return 0 or a negated enum ctr_error.
 *
 * Searches in one direction, in the time in which the contents exist, until all bytes are
 * decided, or nothing more is found; at most so many places (UINT64_MAX: any number), which
 * are near ones.
 */
int lookup_search(struct lookup *l, uint64_t most);

/* The position at the moment. */
struct position lookup_place(const struct ctr_memory *m);
/* Finds the origin at the position, and makes the end that of the bytes that have it. */
int lookup_find_origin(struct lookup *l);
/* Decides the bytes, from the position at the moment on. */
int lookup_decide(struct lookup *l);
/* Decides those that cannot be changed. */
int lookup_read_constant(struct lookup *l);

/* The key frame of the page of the first byte, before the position, of the same contents: 1
 * and *key, 0, or an error. */
int lookup_find_key(struct lookup *l, const struct ctr_key_page **key);
/* Open bytes become what was written since then. */
void lookup_apply(struct lookup *l, const struct memory_since *s);

#endif
