/* SPDX-License-Identifier: MIT */
/*
 * oracle-compare: one execution told twice, event by event.
 *
 *   oracle-compare [--accesses] --target T --witness FILE --trace FILE
 *
 * The witness is what an unrecorded QEMU says with
 *
 *   -one-insn-per-tb -d in_asm,exec,nochain,plugin
 *   -plugin libmem.so,print-accesses=true
 *
 * the trace is what `tracedump --json' says.  Both are read once, as streams
 * (pipes will do), folded into one record per instruction executed, and
 * compared until the first difference, which is printed with what went before.
 *
 * With --accesses the witness ran in ordinary blocks: accesses alone are
 * compared, in order and each with its pc.  (QEMU itself does not always do the
 * same in long blocks and in blocks of one instruction.)
 *
 * Rules by which the witness is read (each is counted in the summary):
 *  stopped   "Stopped execution of TB chain before": the block named by the
 *            Trace line just before did not run.
 *  atomic    an instruction that QEMU gives up in a parallel context and runs
 *            again alone (EXCP_ATOMIC) has two Trace lines, the second with
 *            neither CF_PARALLEL nor room for more than one instruction: the
 *            first line, and what it accessed, is dropped.
 *  execute   s390x EXECUTE has two Trace lines, the second with its target as
 *            cs_base.  It is one instruction: the second line is dropped, its
 *            accesses are kept.
 *  halves    a 16-byte access equals two of 8 bytes, one behind the other.
 *  blind     an instruction whose helper works on host pointers shows the
 *            plugin nothing or a part: what the plugin saw must be in the
 *            trace, which may hold more (programs that know their bytes are
 *            the witness for these; see bytecheck.py).  Where the instruction
 *            itself tells how many bytes it touches, the number must be right
 *            (or none, when it faults: the next instruction is not behind it).
 *  slide     (--slide) pages at the top of the host's space may stand elsewhere,
 *            each page of the witness for one page of the trace: the plugin's
 *            own mappings took their places.
 */
#include "compare.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY 12
#define HOST_TOP 0x7e0000000000ull
#define HOST_END 0x7fffffffffffull

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
    }
    printf("\n");
}

/* The page of the trace that stands for a page of the witness; 0: none yet. */
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

/* Where pages moved, bring the witness's addresses to the trace's places. */
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

static bool same_access(const struct access *a, const struct access *b)
{
    return a->addr == b->addr && a->size == b->size && a->store == b->store;
}

/* Is `whole' 16 bytes and are p[0], p[1] its two halves? */
static bool two_halves(const struct access *whole, const struct access *p)
{
    return whole->size == 16 && p[0].size == 8 && p[1].size == 8 &&
           p[0].store == whole->store && p[1].store == whole->store &&
           p[0].addr == whole->addr && p[1].addr == whole->addr + 8;
}

static bool same_accesses(const struct insn *w, const struct insn *t, struct counts *c)
{
    size_t i = 0, j = 0;

    while (i < w->n && j < t->n) {
        if (same_access(&w->acc[i], &t->acc[j])) {
            i++, j++;
        } else if (j + 1 < t->n && two_halves(&w->acc[i], &t->acc[j])) {
            i++, j += 2, c->halves++;
        } else if (i + 1 < w->n && two_halves(&t->acc[j], &w->acc[i])) {
            i += 2, j++, c->halves++;
        } else {
            return false;
        }
    }
    return i == w->n && j == t->n;
}

/* Every byte of w's accesses is in one of t's of the same kind. */
static bool covers(const struct insn *w, const struct insn *t)
{
    for (size_t i = 0; i < w->n; i++) {
        for (uint32_t b = 0; b < w->acc[i].size; b++) {
            uint64_t at = w->acc[i].addr + b;
            bool found = false;

            for (size_t j = 0; j < t->n && !found; j++) {
                found = t->acc[j].store == w->acc[i].store &&
                        at - t->acc[j].addr < t->acc[j].size;
            }
            if (!found) {
                return false;
            }
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

static bool compare(struct witness *w, struct trace *t, struct slide *slide,
                    struct counts *c)
{
    struct insn history[HISTORY] = {0};
    uint64_t n = 0;

    for (;; n++) {
        struct insn *a = witness_next(w);
        struct insn *b = trace_next(t);
        struct known_bytes known = {-1, -1};

        if (a && b) {
            move_accesses(slide, a, b);
        }
        if (!a && !b) {
            break;
        }
        if (!a || !b) {
            printf("difference at instruction %" PRIu64 ": the %s ends here\n", n,
                   a ? "trace" : "witness");
        } else if (!same_place(slide, a->pc, b->pc)) {
            printf("difference at instruction %" PRIu64 ": pc\n", n);
        } else if (a->redone ||
                   (a->code_len && is_blind(w->target, a->code, a->code_len, &known))) {
            c->blind++;
            c->accesses += b->n;
            if (covers(a, b) && (a->redone || right_totals(b, &known) ||
                                 (b->n == 0 && !witness_goes_on(w, a)))) {
                goto matched;
            }
            printf("difference at instruction %" PRIu64 ": %s\n", n,
                   covers(a, b) ? "number of bytes" : "accesses (some are missing)");
        } else {
            c->accesses += b->n;
            if (same_accesses(a, b, c)) {
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
    return true;
}

/*
 * The second opinion: the plugin's accesses of a run in ordinary blocks, in
 * order and each with its pc, against those of the trace.
 */
static bool compare_accesses(struct witness *w, struct trace *t, struct slide *slide,
                             struct counts *c)
{
    struct insn seen = {0};
    struct access acc = {0};
    uint64_t pc = 0;
    bool have = witness_access(w, &pc, &acc);
    struct insn *b;

    while ((b = trace_next(t))) {
        bool blind = witness_is_blind(w, b->pc);
        size_t bytes = 0, told = 0;

        for (size_t i = 0; i < b->n; i++) {
            bytes += b->acc[i].size;
        }
        seen.pc = b->pc;
        seen.number = c->insns++;
        seen.n = 0;
        while (have && same_place(slide, pc, b->pc) && told < bytes) {
            struct insn one = {.acc = &acc, .n = 1};

            /* of a blind instruction the plugin may not see all: the rest of what
               it tells may be the next execution's */
            if (blind && !covers(&one, b)) {
                break;
            }
            insn_add(&seen, acc.addr, acc.size, acc.store);
            told += acc.size;
            have = witness_access(w, &pc, &acc);
        }
        move_accesses(slide, &seen, b);
        c->blind += blind;
        c->accesses += b->n;
        if (blind ? !covers(&seen, b) : !same_accesses(&seen, b, c)) {
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
        {NULL, 0, NULL, 0},
    };
    const char *target = NULL, *wfile = NULL, *tfile = NULL;
    struct slide slide = {0};
    struct counts c = {0};
    struct witness w;
    struct trace t;
    bool twice = false, accesses = false;
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
            slide.allowed = true;
            break;
        case '2':
            twice = true;
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
    if (!(accesses ? compare_accesses : compare)(&w, &t, &slide, &c)) {
        return 1;
    }
    if (w.bad || t.bad) {
        printf("%s\n", w.bad ? w.bad : t.bad);
        return 1;
    }
    if (c.insns == 0) {
        printf("nothing to compare\n");
        return 1;
    }
    printf("equal: %" PRIu64 " instructions, %" PRIu64 " accesses", c.insns, c.accesses);
    printf(" (stopped %" PRIu64 ", atomic %" PRIu64 ", execute %" PRIu64
           ", halves %" PRIu64 ", blind %" PRIu64 ", other lines %" PRIu64
           ", moved %zu)\n",
           c.stopped, c.atomic, c.execute, c.halves, c.blind, c.other, moved(&slide));
    return 0;
}
