/* SPDX-License-Identifier: MIT */
/*
 * oracle-compare: compares two records of one execution, event by event.
 *
 *   oracle-compare [--accesses] [--values] [--big-endian] --target T --witness FILE
 *                  --trace FILE
 *
 * The witness is the output of an unrecorded QEMU with
 *
 *   -one-insn-per-tb -d in_asm,exec,nochain,plugin
 *   -plugin libmem.so,print-accesses=true
 *
 * the trace is the output of `tracedump --json'.  Both are read once, as streams
 * (pipes are possible), folded into one record per executed instruction, and
 * compared until the first difference, which is printed with the events before it.
 *
 * With --accesses the witness ran in ordinary blocks: only accesses are
 * compared, in order and each with its pc.  (QEMU itself does not always do the
 * same in long blocks as in blocks of one instruction.)
 *
 * With --values each access must have a value, which must be that of the witness.
 * Without it values are compared if both have them.
 *
 * With --machine the witness is a system emulator: the plugin reports code that is mapped
 * twice at the address where it was translated first, so that only the place in the page
 * counts.
 *
 * With --cpu only the witness's blocks of this vCPU count, with the accesses that follow
 * them: one host thread runs all vCPUs.
 *
 * With --limit only so many instructions are compared, and both must have them.
 * With --until both must reach this pc, and nothing after it is compared: a machine that
 * has switched itself off runs on until QEMU notices.
 *
 * Rules for reading the witness (the summary counts the uses of each):
 *  stopped   "Stopped execution of TB chain before": the block named by the
 *            Trace line just before did not run.
 *  atomic    an instruction that QEMU gives up in a parallel context and runs
 *            again alone (EXCP_ATOMIC) has two Trace lines, the second with
 *            neither CF_PARALLEL nor room for more than one instruction: the
 *            first line and its accesses are dropped.
 *  execute   s390x EXECUTE has two Trace lines, the second with its target as
 *            cs_base.  It is one instruction: the second line is dropped, its
 *            accesses are kept.
 *  halves    a 16-byte access equals two adjacent ones of 8 bytes.
 *  blind     of an instruction whose helper works on host pointers the plugin
 *            sees nothing or a part: what the plugin saw must be in the trace,
 *            which may hold more (programs that know their bytes are the witness
 *            for these; see bytecheck.py).  If the instruction itself gives the
 *            number of bytes, the trace must have that number (or none after a
 *            fault, when the next instruction does not follow it).
 *  slide     (--slide) pages at the top of the host's space may be elsewhere,
 *            each page of the witness for one page of the trace: the plugin's
 *            own mappings used their places.  A value that is an address in such
 *            a page moves with it.
 *  rmw       for an atomic operation the plugin reports the operand as the value
 *            stored: the trace's value must follow from it and the value loaded.  As
 *            the value loaded the plugin reports the result of the operation, which
 *            may be the new value, and for a big-endian one is in the host's order.
 *  failed    for a failed compare-and-swap or store-conditional the plugin reports a
 *            store, too; the trace has none.  QEMU stores the old value; in a parallel
 *            context it stores nothing, and the plugin reports the new value.
 *  own       the number of the process, which differs in the witness's run.
 *  region    the instructions of a sh4 gUSA region that runs exclusively are one block,
 *            with one Trace line, even with -one-insn-per-tb: consecutive instructions
 *            of the trace in that region count as one.
 *  swapped   (--swapped-loads) on a host that cannot load the other byte order, the
 *            plugin reports a value before its bytes were put in order.
 */
#include "compare.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY 12
#define HOST_TOP 0x7e0000000000ull
#define HOST_END 0x7fffffffffffull

/* How the witness and the trace are compared, and which rules were used. */
struct rules {
    struct slide slide;
    struct own_number own;
    struct counts *c;
    bool values, swapped_loads, big_endian;
    uint64_t until; /* 0: the end */
    uint64_t limit; /* 0: none */
};

static void print_insn(const char *label, const struct insn *in)
{
    printf("  %-8s #%" PRIu64 " pc 0x%" PRIx64, label, in->number, in->pc);
    for (size_t i = 0; i < in->n; i++) {
        if (i == 24) {
            printf(" ... (%zu in all)", in->n);
            break;
        }
        printf(" %s 0x%" PRIx64 "/%u", in->acc[i].store ? "store" : "load",
               in->acc[i].addr, in->acc[i].size);
        if (in->acc[i].has_value) {
            if (in->acc[i].value[1]) {
                printf("=0x%" PRIx64 "%016" PRIx64, in->acc[i].value[1],
                       in->acc[i].value[0]);
            } else {
                printf("=0x%" PRIx64, in->acc[i].value[0]);
            }
        }
    }
    printf("\n");
}

/* The page of the trace that corresponds to a page of the witness; 0: none yet. */
static uint64_t page_of(struct slide *s, uint64_t witness)
{
    if (s->last < s->n && s->pages[s->last].witness == witness) {
        return s->pages[s->last].trace;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->pages[i].witness == witness) {
            s->last = i;
            return s->pages[i].trace;
        }
    }
    return 0;
}

static bool same_place(struct slide *s, uint64_t w, uint64_t t)
{
    uint64_t page;

    if (!s->allowed || w < HOST_TOP || t < HOST_TOP || w > HOST_END || t > HOST_END) {
        return w == t;
    }
    page = page_of(s, w >> 12);
    if (page) {
        return page == t >> 12 && (w & 4095) == (t & 4095);
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->pages[i].trace == t >> 12) {
            return false;
        }
    }
    if (s->n == s->room) {
        s->room = s->room ? s->room * 2 : 64;
        s->pages = realloc(s->pages, s->room * sizeof(s->pages[0]));
        if (!s->pages) {
            exit(2);
        }
    }
    s->pages[s->n].witness = w >> 12;
    s->pages[s->n++].trace = t >> 12;
    return (w & 4095) == (t & 4095);
}

/* Moves the witness's addresses to the trace's places if pages moved. */
static void move_accesses(struct slide *s, struct insn *w, struct insn *t)
{
    for (size_t i = 0; s->allowed && i < w->n; i++) {
        uint64_t addr = w->acc[i].addr, page = page_of(s, addr >> 12);

        if (page) {
            w->acc[i].addr = page << 12 | (addr & 4095);
        } else if (i < t->n && same_place(s, addr, t->acc[i].addr)) {
            w->acc[i].addr = t->acc[i].addr;
        }
    }
}

/* Byte b, counted from the lowest address, of an access with a value. */
static uint8_t byte_of(const struct access *a, uint32_t b, bool big_endian)
{
    uint32_t at = big_endian ? a->size - 1 - b : b;

    return (uint8_t)(a->value[at / 8] >> (at % 8 * 8));
}

static bool swapped_bytes(const struct access *a, const struct access *b)
{
    for (uint32_t i = 0; i < a->size; i++) {
        if (byte_of(a, i, false) != byte_of(b, i, true)) {
            return false;
        }
    }
    return true;
}

/* w is the witness's, t the trace's. */
static bool same_value(struct rules *r, const struct access *w, const struct access *t)
{
    if (!w->has_value || !t->has_value) {
        return !r->values || !w->has_value;
    }
    r->c->values++;
    if (w->value[0] == t->value[0] && w->value[1] == t->value[1]) {
        return true;
    }
    if (same_but_own_number(&r->own, (const uint8_t *)w->value, (const uint8_t *)t->value,
                            sizeof(w->value))) {
        return true;
    }
    if (r->swapped_loads && !w->store && swapped_bytes(w, t)) {
        r->c->swapped++;
        return true;
    }
    return w->size == 8 && r->slide.allowed && w->value[0] >= HOST_TOP &&
           t->value[0] >= HOST_TOP && same_place(&r->slide, w->value[0], t->value[0]);
}

static bool same_access(struct rules *r, const struct access *w, const struct access *t)
{
    return w->addr == t->addr && w->size == t->size && w->store == t->store &&
           same_value(r, w, t);
}

/* Combines the two 8-byte accesses p[0], p[1] into one of 16 bytes. */
static bool as_whole(const struct access *p, struct access *whole, bool big_endian)
{
    *whole = p[0];
    whole->size = 16;
    whole->value[0] = p[big_endian].value[0];
    whole->value[1] = p[!big_endian].value[0];
    return p[0].size == 8 && p[1].size == 8 && p[0].store == p[1].store &&
           p[1].addr == p[0].addr + 8 && p[0].has_value == p[1].has_value;
}

/* A number of n bytes with its sign. */
static int64_t with_sign(uint64_t v, uint32_t n)
{
    return (int64_t)(v << (64 - 8 * n)) >> (64 - 8 * n);
}

/* Can an atomic operation with operand `by' change `old' to `now', n bytes each? */
static bool follows(const uint64_t *old, const uint64_t *by, const uint64_t *now,
                    uint32_t n)
{
    uint64_t o = old[0], x = by[0], v = now[0];
    bool below, above;

    /* a compare-and-exchange that does not exchange stores the old value */
    if (now[0] == old[0] && now[1] == old[1]) {
        return true;
    }
    if (n > 8) {
        return false;
    }
    below = with_sign(o, n) < with_sign(x, n);
    above = with_sign(o, n) > with_sign(x, n);
    return with_sign(v, n) == with_sign(o + x, n) || v == (o & x) || v == (o | x) ||
           v == (o ^ x) || v == (below ? o : x) || v == (above ? o : x) ||
           v == (o < x ? o : x) || v == (o > x ? o : x);
}

/* Are p[0], p[1] a load and a store of the same bytes? */
static bool is_rmw(const struct access *p)
{
    return !p[0].store && p[1].store && p[0].addr == p[1].addr &&
           p[0].size == p[1].size && p[0].has_value && p[1].has_value;
}

/* The values of an atomic operation as the plugin reports them; see rmw above. */
static bool same_rmw(struct rules *r, const struct access *w, const struct access *t)
{
    bool operand, loaded;

    if (!is_rmw(w) || !is_rmw(t) || w[0].addr != t[0].addr || w[0].size != t[0].size) {
        return false;
    }
    operand = (w[1].value[0] == t[1].value[0] && w[1].value[1] == t[1].value[1]) ||
              follows(t[0].value, w[1].value, t[1].value, w[0].size);
    loaded = (w[0].value[0] == t[0].value[0] && w[0].value[1] == t[0].value[1]) ||
             (w[0].value[0] == t[1].value[0] && w[0].value[1] == t[1].value[1]) ||
             (r->big_endian && swapped_bytes(&w[0], &t[0]));
    r->c->rmw += operand && loaded;
    return operand && loaded;
}

static bool same_accesses(struct rules *r, const struct insn *w, const struct insn *t)
{
    struct access whole;
    size_t i = 0, j = 0;

    while (i < w->n && j < t->n) {
        bool two = i + 1 < w->n && j + 1 < t->n;

        if (same_access(r, &w->acc[i], &t->acc[j]) &&
            !(two && is_rmw(&t->acc[j]) &&
              !same_access(r, &w->acc[i + 1], &t->acc[j + 1]))) {
            i++, j++;
        } else if (two && same_rmw(r, &w->acc[i], &t->acc[j])) {
            i += 2, j += 2;
        } else if (j + 1 < t->n && as_whole(&t->acc[j], &whole, r->big_endian) &&
                   same_access(r, &w->acc[i], &whole)) {
            i++, j += 2, r->c->halves++;
        } else if (i + 1 < w->n && as_whole(&w->acc[i], &whole, r->big_endian) &&
                   same_access(r, &whole, &t->acc[j])) {
            i += 2, j++, r->c->halves++;
        } else {
            return false;
        }
    }
    return i == w->n && j == t->n;
}

/* A store to where p[0] was loaded from; without `any', of the value loaded. */
static bool is_put_back(const struct access *p, bool any)
{
    return !p[0].store && p[1].store && p[0].addr == p[1].addr &&
           p[0].size == p[1].size &&
           (any || (p[0].value[0] == p[1].value[0] && p[0].value[1] == p[1].value[1]));
}

/* The value that a failed one loaded, which the plugin reports in the host's order. */
static void put_in_order(struct rules *r, struct access *w, const struct insn *t,
                         size_t i)
{
    if (r->big_endian && i < t->n && w->size == t->acc[i].size && w->has_value &&
        t->acc[i].has_value && swapped_bytes(w, &t->acc[i])) {
        memcpy(w->value, t->acc[i].value, sizeof(w->value));
    }
}

/* Removes the store from the witness's accesses if the trace has none; see failed. */
static void drop_failed_store(struct rules *r, struct insn *w, const struct insn *t,
                              bool any)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->acc[i].store) {
            return;
        }
    }
    for (size_t i = 1; i < w->n; i++) {
        if (is_put_back(&w->acc[i - 1], any)) {
            if (any) {
                put_in_order(r, &w->acc[i - 1], t, i - 1);
            }
            memmove(&w->acc[i], &w->acc[i + 1], (w->n - i - 1) * sizeof(w->acc[0]));
            w->n--;
            r->c->failed++;
            return;
        }
    }
}

static bool holds(const struct access *whole, uint64_t addr, uint32_t n, bool store)
{
    return whole->store == store && addr >= whole->addr &&
           addr + n <= whole->addr + whole->size;
}

/* Does w, which lies inside t, have the same value there? */
static bool same_part(struct rules *r, const struct access *w, const struct access *t)
{
    struct access part = *w;

    if (!w->has_value || !t->has_value || r->swapped_loads) {
        return true;
    }
    memset(part.value, 0, sizeof(part.value));
    for (uint32_t i = 0; i < w->size; i++) {
        uint64_t byte = byte_of(t, (uint32_t)(w->addr - t->addr) + i, r->big_endian);
        uint32_t at = r->big_endian ? w->size - 1 - i : i;

        part.value[at / 8] |= byte << (at % 8 * 8);
    }
    r->c->values++;
    return same_but_own_number(&r->own, (const uint8_t *)w->value,
                               (const uint8_t *)part.value, sizeof(part.value));
}

/* Is w in one of t's accesses, or each of its bytes in one of them? */
static bool covered(struct rules *r, const struct access *w, const struct insn *t)
{
    struct access byte = {.size = 1, .store = w->store, .has_value = w->has_value};

    for (size_t j = 0; j < t->n; j++) {
        if (holds(&t->acc[j], w->addr, w->size, w->store) &&
            same_part(r, w, &t->acc[j])) {
            return true;
        }
    }
    for (uint32_t b = 0; b < w->size; b++) {
        bool found = false;

        byte.addr = w->addr + b;
        byte.value[0] = byte_of(w, b, r->big_endian);
        for (size_t j = 0; j < t->n && !found; j++) {
            found = holds(&t->acc[j], byte.addr, 1, byte.store) &&
                    same_part(r, &byte, &t->acc[j]);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* Every byte of w's accesses is in one of t's of the same kind, with its value. */
static bool covers(struct rules *r, const struct insn *w, const struct insn *t)
{
    for (size_t i = 0; i < w->n; i++) {
        if (!covered(r, &w->acc[i], t)) {
            return false;
        }
    }
    return true;
}

static bool right_totals(const struct insn *t, const struct known_bytes *k)
{
    uint64_t sum[2] = {0, 0};

    for (size_t j = 0; j < t->n; j++) {
        sum[t->acc[j].store] += t->acc[j].size;
    }
    return (k->load < 0 || sum[0] == (uint64_t)k->load) &&
           (k->store < 0 || sum[1] == (uint64_t)k->store);
}

static size_t moved(const struct slide *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        n += s->pages[i].witness != s->pages[i].trace;
    }
    return n;
}

/* Combines the trace's instructions from b up to end into one. */
static struct insn *whole_region(struct trace *t, struct insn *b, uint64_t end,
                                 struct insn *region, struct counts *c)
{
    uint64_t last = b->pc;

    insn_copy(region, b, b->number);
    while (t->have_next && t->ring[t->at].pc > last && t->ring[t->at].pc < end) {
        b = trace_next(t);
        last = b->pc;
        for (size_t i = 0; i < b->n; i++) {
            insn_add(region, &b->acc[i]);
        }
        c->region++;
    }
    return region;
}

static bool compare(struct witness *w, struct trace *t, struct rules *r)
{
    struct counts *c = r->c;
    struct insn history[HISTORY] = {0}, region = {0};
    uint64_t n = 0;

    for (;; n++) {
        struct insn *a = witness_next(w);
        struct insn *b = trace_next(t);
        struct known_bytes known = {-1, -1};

        r->own.trace = (uint32_t)t->tid;
        if (a && b && a->pc == b->pc && region_end(w, a)) {
            b = whole_region(t, b, region_end(w, a), &region, c);
        }
        if (a && b) {
            move_accesses(&r->slide, a, b);
            if (witness_may_not_store(w, a->pc)) {
                drop_failed_store(r, a, b, a->cflags & CF_PARALLEL);
            }
        }
        if (r->limit && n == r->limit && a && b) {
            break;
        }
        if (r->until ? a && b && a->pc == r->until && b->pc == r->until : !a && !b) {
            break;
        }
        if (!a && !b) {
            printf("neither comes to 0x%" PRIx64 "\n", r->until);
        } else if (!a || !b) {
            printf("difference at instruction %" PRIu64 ": the %s ends here\n", n,
                   a ? "trace" : "witness");
        } else if (!same_place(&r->slide, a->pc, b->pc)) {
            printf("difference at instruction %" PRIu64 ": pc\n", n);
        } else if (a->redone ||
                   (a->code_len && is_blind(w->target, a->code, a->code_len, &known))) {
            c->blind++;
            c->accesses += b->n;
            if (covers(r, a, b) && (a->redone || right_totals(b, &known) ||
                                    (b->n == 0 && !witness_goes_on(w, a)))) {
                goto matched;
            }
            printf("difference at instruction %" PRIu64 ": %s\n", n,
                   covers(r, a, b) ? "number of bytes" : "accesses (some are missing)");
        } else {
            c->accesses += b->n;
            if (same_accesses(r, a, b)) {
                goto matched;
            }
            printf("difference at instruction %" PRIu64 ": accesses\n", n);
        }
        for (uint64_t i = n > HISTORY ? n - HISTORY : 0; i < n; i++) {
            print_insn("both", &history[i % HISTORY]);
        }
        if (a) {
            print_insn("witness", a);
            if (a->code_len) {
                printf("           code");
                for (unsigned i = 0; i < a->code_len; i++) {
                    printf(" %02x", a->code[i]);
                }
                printf("  %s\n", a->text);
            }
        }
        if (b) {
            print_insn("trace", b);
        }
        for (int i = 0; i < 3 && (a = witness_next(w)); i++) {
            print_insn("witness+", a);
        }
        for (int i = 0; i < 3 && (b = trace_next(t)); i++) {
            print_insn("trace+", b);
        }
        return false;
    matched:
        insn_copy(&history[n % HISTORY], a, n);
    }
    c->insns = n;
    for (int i = 0; i < HISTORY; i++) {
        free(history[i].acc);
    }
    free(region.acc);
    return true;
}

/*
 * The second comparison: the plugin's accesses of a run in ordinary blocks, in
 * order and each with its pc, with those of the trace.
 */
static bool compare_accesses(struct witness *w, struct trace *t, struct rules *r)
{
    struct counts *c = r->c;
    struct insn seen = {0};
    struct access acc = {0};
    uint64_t pc = 0;
    bool have = witness_access(w, &pc, &acc);
    struct insn *b;

    while ((b = trace_next(t))) {
        bool blind = witness_is_blind(w, b->pc);
        size_t bytes = 0, found = 0;

        for (size_t i = 0; i < b->n; i++) {
            bytes += b->acc[i].size;
        }
        r->own.trace = (uint32_t)t->tid;
        seen.pc = b->pc;
        seen.number = c->insns++;
        seen.n = 0;
        while (have && same_place(&r->slide, pc, b->pc) && found < bytes) {
            struct insn one = {.acc = &acc, .n = 1};

            /* of a blind instruction the plugin may not see everything: what it
               reports next may belong to the next execution */
            if (blind && !covers(r, &one, b)) {
                break;
            }
            insn_add(&seen, &acc);
            found += acc.size;
            have = witness_access(w, &pc, &acc);
        }
        if (have && seen.n && same_place(&r->slide, pc, b->pc) &&
            witness_may_not_store(w, b->pc)) {
            struct access last[2] = {seen.acc[seen.n - 1], acc};

            if (is_put_back(last, true)) {
                c->failed++;
                put_in_order(r, &seen.acc[seen.n - 1], b, seen.n - 1);
                have = witness_access(w, &pc, &acc);
            }
        }
        move_accesses(&r->slide, &seen, b);
        c->blind += blind;
        c->accesses += b->n;
        if (blind ? !covers(r, &seen, b) : !same_accesses(r, &seen, b)) {
            printf("difference at instruction %" PRIu64 ": accesses\n", seen.number);
            print_insn("witness", &seen);
            print_insn("trace", b);
            return false;
        }
    }
    if (have) {
        printf("difference: the trace ends here\n");
    }
    return !have;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"target", required_argument, NULL, 't'},
        {"witness", required_argument, NULL, 'w'},
        {"trace", required_argument, NULL, 'j'},
        {"accesses", no_argument, NULL, 'a'},
        {"execute-twice", no_argument, NULL, '2'},
        {"slide", no_argument, NULL, 's'},
        {"values", no_argument, NULL, 'v'},
        {"swapped-loads", no_argument, NULL, 'l'},
        {"big-endian", no_argument, NULL, 'b'},
        {"machine", no_argument, NULL, 'm'},
        {"until", required_argument, NULL, 'u'},
        {"limit", required_argument, NULL, 'n'},
        {"cpu", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0},
    };
    const char *target = NULL, *wfile = NULL, *tfile = NULL;
    struct counts c = {0};
    struct rules r = {.c = &c};
    struct witness w;
    struct trace t;
    bool twice = false, accesses = false, machine = false;
    const char *cpu = NULL;
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (opt) {
        case 't':
            target = optarg;
            break;
        case 'w':
            wfile = optarg;
            break;
        case 'j':
            tfile = optarg;
            break;
        case 'a':
            accesses = true;
            break;
        case 's':
            r.slide.allowed = true;
            break;
        case 'v':
            r.values = true;
            break;
        case 'l':
            r.swapped_loads = true;
            break;
        case 'b':
            r.big_endian = true;
            break;
        case '2':
            twice = true;
            break;
        case 'm':
            machine = true;
            break;
        case 'c':
            cpu = optarg;
            break;
        case 'u':
            r.until = strtoull(optarg, NULL, 0);
            break;
        case 'n':
            r.limit = strtoull(optarg, NULL, 0);
            break;
        default:
            return 2;
        }
    }
    if (!target || !wfile || !tfile) {
        fprintf(stderr, "usage: oracle-compare --target T --witness FILE --trace FILE\n");
        return 2;
    }
    if (!witness_open(&w, wfile, target, &c) || !trace_open(&t, tfile)) {
        perror("oracle-compare");
        return 2;
    }
    w.execute_twice = twice;
    w.machine = machine;
    w.one_cpu = cpu != NULL;
    w.cpu = cpu ? (unsigned)strtoul(cpu, NULL, 10) : 0;
    if (!(accesses ? compare_accesses : compare)(&w, &t, &r)) {
        return 1;
    }
    if (w.bad || t.bad) {
        printf("%s\n", w.bad ? w.bad : t.bad);
        return 1;
    }
    if (c.insns == 0 || (r.values && c.values == 0)) {
        printf("nothing to compare\n");
        return 1;
    }
    printf("equal: %" PRIu64 " instructions, %" PRIu64 " accesses", c.insns, c.accesses);
    printf(" (stopped %" PRIu64 ", atomic %" PRIu64 ", execute %" PRIu64
           ", halves %" PRIu64 ", blind %" PRIu64 ", other lines %" PRIu64
           ", moved %zu, values %" PRIu64 ", swapped %" PRIu64 ", own %" PRIu64
           ", rmw %" PRIu64 ", failed %" PRIu64 ", region %" PRIu64 ")\n",
           c.stopped, c.atomic, c.execute, c.halves, c.blind, c.other, moved(&r.slide),
           c.values, c.swapped, r.own.used, c.rmw, c.failed, c.region);
    return 0;
}
