/* SPDX-License-Identifier: MIT */
/*
 * The memory: for each buffer of the pipe one word; for each piece of records one word,
 * its place; for each page of block ids one word, the place of its table, which has one
 * word for each id, the place of its definition; then the pieces, with tables and
 * definitions among them.  Each word is changed by one store, after the data that it
 * refers to, and a process that finds the memory relies on nothing else.
 *
 * Pieces have sizes that are powers of two and are reused for the same size.  Small
 * definitions share pieces, and their room is reused for others of the same size, too;
 * tables share pieces likewise, and stay.  So there is room for as many definitions as
 * ever exist at a time.
 */
#include "journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cannoli/mempipe.h"

/* Address space for pieces; a limit of the user's makes it smaller. */
#define MOST_BYTES (16ull << 30)
#define LEAST_BYTES (4ull << 20)
#define MIN_SHIFT 12 /* of the smallest piece */
#define SHIFTS 20
/* More memory of unused pieces than this goes back to the system. */
#define IDLE_BYTES (32u << 20)

/* Anything smaller than a piece has a size that is a multiple of UNIT, and is in a piece
 * of 1 << SLAB_SHIFT bytes. */
#define UNIT 64u
#define SMALL_UNITS 64u
#define SLAB_SHIFT 16

#define UNSURE (1u << 31)

/* The definition follows it. */
struct def_head {
    uint32_t id;
    uint32_t bytes;
};

struct journal {
    uint8_t *base;
    uint64_t bytes;
    uint64_t *holder;      /* thread + 1, its top bit: UNSURE; above: seq.  0: not held */
    uint64_t *place;       /* of each piece, from base; 0: none */
    uint64_t *table;       /* of each page of ids; 0: none */
    uint64_t *tables_high; /* pages from here on have none */
    uint32_t nr_buffers, nr_places;
    uint64_t pieces; /* where they begin */

    /* of the process that fills it */
    pthread_mutex_t lock;
    uint64_t used;           /* pieces up to here were used once */
    uint64_t idle;           /* bytes of those that are not, and keep their memory */
    uint64_t unused[SHIFTS]; /* pieces of a size, each naming the next in its head */
    uint64_t slab, slab_end; /* room for what is smaller */
    uint64_t small[SMALL_UNITS + 1]; /* like unused, by units */
    uint32_t *numbers;               /* places without a piece */
    uint32_t n_numbers;
};

static uint64_t page_up(uint64_t n)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return (n + page - 1) / page * page;
}

static uint64_t most_bytes(void)
{
    struct rlimit as, fsize;
    uint64_t most = MOST_BYTES;

    if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur / 8 < most) {
        most = as.rlim_cur / 8;
    }
    if (getrlimit(RLIMIT_FSIZE, &fsize) == 0 && fsize.rlim_cur / 2 < most) {
        most = fsize.rlim_cur / 2;
    }
    return most < LEAST_BYTES ? LEAST_BYTES : most;
}

static int map(struct journal *j)
{
    int fd = memfd_create("cannoli-journal", MFD_CLOEXEC), err = 0;

    if (fd < 0 || ftruncate(fd, (off_t)j->bytes) < 0) {
        err = -errno;
    } else {
        void *p = mmap(NULL, j->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                       fd, 0);
        err = p == MAP_FAILED ? -errno : 0;
        j->base = err ? NULL : p;
    }
    if (fd >= 0) {
        close(fd);
    }
    return err;
}

int journal_new(struct journal **out, uint32_t nr_pipes, uint32_t nr_buffers)
{
    struct journal *j = calloc(1, sizeof(*j));
    uint64_t places, tables;
    int err = -ENOMEM;

    *out = NULL;
    if (!j) {
        return -ENOMEM;
    }
    pthread_mutex_init(&j->lock, NULL);
    j->nr_buffers = nr_buffers;
    /* one for each buffer, one for what each thread is about to fill, and some more */
    j->nr_places = nr_buffers + 2 * nr_pipes;
    places = page_up((uint64_t)nr_buffers * sizeof(*j->holder));
    tables = places + page_up((uint64_t)j->nr_places * sizeof(*j->place));
    j->pieces = tables + page_up((MEMPIPE_ID_PAGES + 1ull) * sizeof(*j->table));
    j->used = j->pieces;
    j->bytes = j->pieces + page_up(most_bytes());
    j->numbers = malloc(j->nr_places * sizeof(*j->numbers));
    if (j->numbers) {
        err = map(j);
    }
    if (err) {
        journal_free(j);
        return err;
    }
    /* Keeps the events out of core files. */
    madvise(j->base, j->bytes, MADV_DONTDUMP);
    j->holder = (uint64_t *)j->base;
    j->place = (uint64_t *)(j->base + places);
    j->table = (uint64_t *)(j->base + tables);
    j->tables_high = j->table + MEMPIPE_ID_PAGES;
    while (j->n_numbers < j->nr_places) {
        j->numbers[j->n_numbers] = j->nr_places - 1 - j->n_numbers;
        j->n_numbers++;
    }
    *out = j;
    return 0;
}

void journal_free(struct journal *j)
{
    if (!j) {
        return;
    }
    if (j->base) {
        munmap(j->base, j->bytes);
    }
    pthread_mutex_destroy(&j->lock);
    free(j->numbers);
    free(j);
}

/* ---------------------------------------------------------------- buffers */

void journal_accept(struct journal *j, uint32_t buffer, const struct journal_buffer *what)
{
    if (j) {
        uint64_t word =
            (uint64_t)what->seq << 32 | (what->unsure ? UNSURE : 0) | (what->thread + 1);

        __atomic_store_n(&j->holder[buffer], word, __ATOMIC_RELEASE);
        /* The pipe forgets it after this. */
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
}

void journal_give_back(struct journal *j, uint32_t buffer)
{
    if (j) {
        __atomic_store_n(&j->holder[buffer], 0, __ATOMIC_RELEASE);
        /* It is zeroed after this. */
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
}

bool journal_holds(const struct journal *j, uint32_t buffer, struct journal_buffer *what)
{
    uint64_t word = j->holder[buffer];

    *what = (struct journal_buffer){.thread = ((uint32_t)word & ~UNSURE) - 1,
                                    .seq = (uint32_t)(word >> 32),
                                    .unsure = ((uint32_t)word & UNSURE) != 0};
    return word != 0;
}

/* ------------------------------------------------------------------ pieces */

static unsigned shift_for(uint64_t bytes)
{
    unsigned shift = MIN_SHIFT;

    while (shift < MIN_SHIFT + SHIFTS && (1ull << shift) < bytes) {
        shift++;
    }
    return shift;
}

/* A piece of memory, or 0. */
static uint64_t get_piece(struct journal *j, unsigned shift)
{
    uint64_t *list = &j->unused[shift - MIN_SHIFT], at = *list;

    if (at) {
        *list = *(uint64_t *)(void *)(j->base + at);
        j->idle -= j->idle < (1ull << shift) ? j->idle : 1ull << shift;
    } else if ((1ull << shift) <= j->bytes - j->used) {
        at = j->used;
        j->used += 1ull << shift;
    }
    return at;
}

static void put_piece(struct journal *j, uint64_t at, unsigned shift)
{
    const uint64_t bytes = 1ull << shift;

    if (j->idle + bytes > IDLE_BYTES && bytes > 1u << MIN_SHIFT) {
        /* Replaces it by zeros, if the system can. */
        madvise(j->base + at, bytes, MADV_REMOVE);
    } else {
        j->idle += bytes;
    }
    *(uint64_t *)(void *)(j->base + at) = j->unused[shift - MIN_SHIFT];
    j->unused[shift - MIN_SHIFT] = at;
}

/* ------------------------------------------------------------- definitions */

static uint32_t units_for(uint64_t bytes)
{
    return (uint32_t)((bytes + UNIT - 1) / UNIT);
}

/* Room for a definition or a table, or 0. */
static uint64_t get_small(struct journal *j, uint64_t bytes)
{
    const uint32_t units = units_for(bytes);
    uint64_t at;

    if (bytes > UINT32_MAX / 2) {
        return 0;
    }
    if (units > SMALL_UNITS) {
        return get_piece(j, shift_for(bytes));
    }
    at = j->small[units];
    if (at) {
        j->small[units] = *(uint64_t *)(void *)(j->base + at);
        return at;
    }
    if (j->slab_end - j->slab < (uint64_t)units * UNIT) {
        /* What is left of the previous one is too little for most. */
        j->slab = get_piece(j, SLAB_SHIFT);
        j->slab_end = j->slab ? j->slab + (1u << SLAB_SHIFT) : 0;
        if (!j->slab) {
            return 0;
        }
    }
    at = j->slab;
    j->slab += (uint64_t)units * UNIT;
    return at;
}

static void put_small(struct journal *j, uint64_t at, uint64_t bytes)
{
    const uint32_t units = units_for(bytes);

    if (units > SMALL_UNITS) {
        put_piece(j, at, shift_for(bytes));
    } else {
        *(uint64_t *)(void *)(j->base + at) = j->small[units];
        j->small[units] = at;
    }
}

/* The words of the ids of a page, or NULL. */
static uint64_t *table_of(const struct journal *j, uint32_t page)
{
    const uint64_t at = j->table[page];

    return at ? (uint64_t *)(void *)(j->base + at) : NULL;
}

static int make_table(struct journal *j, uint32_t page)
{
    const uint64_t bytes = MEMPIPE_ID_PAGE * sizeof(uint64_t);
    const uint64_t at = get_small(j, bytes);

    if (!at) {
        return -1;
    }
    memset(j->base + at, 0, bytes);
    if (*j->tables_high <= page) {
        __atomic_store_n(j->tables_high, page + 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&j->table[page], at, __ATOMIC_RELEASE);
    return 0;
}

int journal_define(struct journal *j, uint32_t raw_id, uint32_t id, const void *def,
                   uint32_t bytes)
{
    const uint32_t page = raw_id / MEMPIPE_ID_PAGE;
    struct def_head *head;
    uint64_t *word, at;
    int err;

    if (!j) {
        return 0;
    }
    if (page >= MEMPIPE_ID_PAGES) {
        return -1;
    }
    pthread_mutex_lock(&j->lock);
    err = j->table[page] ? 0 : make_table(j, page);
    word = err ? NULL : table_of(j, page) + raw_id % MEMPIPE_ID_PAGE;
    if (word && !*word) {
        at = get_small(j, sizeof(*head) + (uint64_t)bytes);
        err = at ? 0 : -1;
        if (at) {
            head = (struct def_head *)(void *)(j->base + at);
            *head = (struct def_head){.id = id, .bytes = bytes};
            memcpy(head + 1, def, bytes);
            __atomic_store_n(word, at, __ATOMIC_RELEASE);
            /* The pipe forgets it after this. */
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
        }
    }
    pthread_mutex_unlock(&j->lock);
    return err;
}

void journal_forget(struct journal *j, uint32_t raw_id)
{
    uint64_t *word = j ? table_of(j, raw_id / MEMPIPE_ID_PAGE) : NULL;
    uint64_t at;

    word = word ? word + raw_id % MEMPIPE_ID_PAGE : NULL;
    at = word ? *word : 0;
    if (at) {
        __atomic_store_n(word, 0, __ATOMIC_RELEASE);
        /* Others may have its room and its number after this. */
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        pthread_mutex_lock(&j->lock);
        put_small(j, at,
                  sizeof(struct def_head) +
                      (uint64_t)((struct def_head *)(void *)(j->base + at))->bytes);
        pthread_mutex_unlock(&j->lock);
    }
}

bool journal_next_def(const struct journal *j, uint32_t *raw_id, struct journal_def *def)
{
    uint32_t raw = *raw_id + 1;

    while (raw / MEMPIPE_ID_PAGE < *j->tables_high) {
        const uint64_t *table = table_of(j, raw / MEMPIPE_ID_PAGE);
        const uint64_t at = table ? table[raw % MEMPIPE_ID_PAGE] : 0;

        if (at) {
            const struct def_head *head = (const void *)(j->base + at);

            *def = (struct journal_def){
                .id = head->id, .bytes = head->bytes, .def = head + 1};
            *raw_id = raw;
            return true;
        }
        raw = table ? raw + 1 : (raw / MEMPIPE_ID_PAGE + 1) * MEMPIPE_ID_PAGE;
    }
    return false;
}

/* ----------------------------------------------------------------- records */

static void drop_piece(struct journal *j, struct side_records *r)
{
    put_piece(j, (uint64_t)((uint8_t *)r - j->base), shift_for(sizeof(*r) + r->cap));
}

static struct side_records *in_heap(struct side_records *old, uint32_t seq, uint32_t cap)
{
    struct side_records *r = realloc(old, sizeof(*r) + cap);

    if (r && !old) {
        *r = (struct side_records){.seq = seq};
    }
    if (r) {
        r->cap = cap;
    }
    return r;
}

struct side_records *journal_room(struct journal *j, struct side_records *old,
                                  uint32_t thread, uint32_t seq, uint32_t cap)
{
    const unsigned shift = shift_for(sizeof(*old) + (uint64_t)cap);
    struct side_records *r = NULL;
    uint64_t at;

    if (!j) {
        return in_heap(old, seq, cap);
    }
    if (shift >= MIN_SHIFT + SHIFTS) {
        return NULL;
    }
    pthread_mutex_lock(&j->lock);
    at = old || j->n_numbers ? get_piece(j, shift) : 0;
    if (at) {
        r = (struct side_records *)(void *)(j->base + at);
        *r = (struct side_records){.seq = seq, .thread = thread};
        if (old) {
            memcpy(r, old, sizeof(*old) + old->bytes);
        } else {
            r->number = j->numbers[--j->n_numbers];
        }
        r->cap = (uint32_t)((1ull << shift) - sizeof(*r));
        __atomic_store_n(&j->place[r->number], at, __ATOMIC_RELEASE);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (old) {
            drop_piece(j, old);
        }
    }
    pthread_mutex_unlock(&j->lock);
    return r;
}

void journal_add(struct side_records *r, uint32_t bytes, uint64_t end)
{
    /* In this order, for journal_cut: if the process is killed after any of these, the
     * record is there, or it is known that it is not. */
    __atomic_store_n(&r->bytes_before, r->bytes, __ATOMIC_RELEASE);
    __atomic_store_n(&r->end, end, __ATOMIC_RELEASE);
    __atomic_store_n(&r->bytes, r->bytes + bytes, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void journal_cut(struct side_records *r, uint64_t tail)
{
    if (r->end > tail) {
        r->bytes = r->bytes_before;
    }
}

void journal_drop(struct journal *j, struct side_records *r)
{
    if (!j || !r) {
        free(r);
        return;
    }
    pthread_mutex_lock(&j->lock);
    __atomic_store_n(&j->place[r->number], 0, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    j->numbers[j->n_numbers++] = r->number;
    drop_piece(j, r);
    pthread_mutex_unlock(&j->lock);
}

/* This much memory from here on is not used for anything else. */
static void was_used(struct journal *j, uint64_t at, uint64_t bytes)
{
    const uint64_t piece =
        units_for(bytes) > SMALL_UNITS ? 1ull << shift_for(bytes) : 1ull << SLAB_SHIFT;

    j->used = at + piece > j->used ? at + piece : j->used;
    j->used = j->used > j->bytes ? j->bytes : j->used;
}

static void recover_defs(struct journal *j)
{
    struct journal_def def;

    for (uint32_t i = 0; i < *j->tables_high; i++) {
        if (j->table[i]) {
            was_used(j, j->table[i], MEMPIPE_ID_PAGE * sizeof(uint64_t));
        }
    }
    for (uint32_t raw = 0; journal_next_def(j, &raw, &def);) {
        was_used(j,
                 (uint64_t)((const uint8_t *)def.def - j->base) - sizeof(struct def_head),
                 sizeof(struct def_head) + (uint64_t)def.bytes);
    }
}

/* Room that was used and is free now is not reused: little more will come. */
void journal_recover(struct journal *j)
{
    recover_defs(j);
    j->n_numbers = 0;
    for (uint32_t i = 0; i < j->nr_places; i++) {
        uint64_t at = j->place[i];

        if (at) {
            const struct side_records *r = (const void *)(j->base + at);
            uint64_t end = at + (1ull << shift_for(sizeof(*r) + (uint64_t)r->cap));

            j->used = end > j->used ? end : j->used;
        } else {
            j->numbers[j->n_numbers++] = i;
        }
    }
}

struct side_records *journal_next(struct journal *j, uint32_t *at)
{
    while (*at < j->nr_places) {
        uint64_t place = j->place[(*at)++];

        if (place) {
            return (struct side_records *)(void *)(j->base + place);
        }
    }
    return NULL;
}
