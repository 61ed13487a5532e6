/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a gdb's input, to tracegdb on a small whole trace: the session ends, and
 * answers with packets of the protocol.  The seeds are what gdb sends.  The traces are in
 * CANNOLI_TRACE_CORPUS (trace_corpus.sh).
 * Input: the number of the trace; then the bytes of the connection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_symbols.h"
#include "talk.h"

#define MEMORY_MOST_KIB (1 << 20) /* with what a sanitizer adds */

enum { RANDOM, SYSTEM, MAPPED, NR_TRACES };

static struct example {
    struct ctr_trace *tr;
    struct modset *modset;
    struct places *places;
    uint64_t pc[3];    /* of a thread */
    uint64_t store[2]; /* where it stores */
} examples[NR_TRACES];

static int keep_pc(void *arg, size_t i, const struct ctr_state_point *p)
{
    ((struct example *)arg)->pc[i] = p->pc;
    return 0;
}

static void find_addresses(struct example *e)
{
    static const uint64_t ordinals[] = {0, 1, 20};
    const struct ctr_filter f = {.kinds = CTR_KIND_STORE};
    const struct ctr_thread *t;
    struct ctr_found found;
    struct ctr_diag diag;
    uint32_t i = 0;

    while (t = ctr_trace_thread(e->tr, i), !t->insns) {
        i++;
    }
    CHECK(!ctr_states(e->tr, i, ordinals, t->insns > 20 ? 3 : 2, keep_pc, e, &diag));
    for (unsigned k = 0; k < 2; k++) {
        if (ctr_search(e->tr, &f, i, t->insns > 20 ? 20 * k : 0, 0, 1, &found, &diag) ==
            1) {
            e->store[k] = found.addr;
        }
    }
}

static void open_example(struct example *e, unsigned number)
{
    const struct modset_options opt = {.prog = "fuzz_packets",
                                       .force = true,
                                       .quiet = true,
                                       .missing_ok = true,
                                       .unmapped_quiet = true,
                                       .no_generated = true,
                                       .flags = SYMFILE_HEADERS};
    char path[FUZZ_PATH];
    struct ctr_diag diag;
    size_t n;

    free(fuzz_corpus("p", number, &n)); /* it is there */
    fuzz_corpus_path(path, "p", number);
    CHECK(!ctr_open(&e->tr, path, 0, &diag));
    CHECK(!modset_open(&e->modset, &opt));
    CHECK(!places_load(&e->places, e->modset, e->tr, path));
    find_addresses(e);
}

/* Opened once, and read by all inputs. */
static struct example *example(unsigned number)
{
    struct example *e = &examples[number % NR_TRACES];

    if (!e->tr) {
        open_example(e, number % NR_TRACES);
    }
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct rusage usage;

    if (n) {
        const struct example *e = example(data[0]);

        talk_serve(e->tr, e->places, data + 1, n - 1);
        CHECK(!getrusage(RUSAGE_SELF, &usage) && usage.ru_maxrss < MEMORY_MOST_KIB);
    }
    return 0;
}

/* ------------------------------------------------------------------------ seeds */

static void read_state(struct talk *t, const struct example *e)
{
    static const char *const packets[] = {
        "qXfer:auxv:read::0,1000",
        "qTStatus",
        "qXfer:threads:read::0,1000",
        "qAttached:64",
        "Hc-1",
        "qC",
        "qXfer:exec-file:read:64:0,1000",
        "qXfer:exec-file:read::0,8",
        "qXfer:libraries-svr4:read::0,1000",
        "qOffsets",
        "g",
        "pf",
        "p0",
        "qSymbol::",
        "qfThreadInfo",
        "qsThreadInfo",
        "vFile:setfs:0",
        "vFile:open:6a7573742070726f62696e67,0,1c0",
        "vFile:open:2f70726f632f343234322f6d617073,0,0", /* /proc/4242/maps */
        "vFile:fstat:3",
        "vFile:pread:3,1000,0",
        "vFile:close:3",
        NULL,
    };
    char self[2048], hex[sizeof(self) * 2] = "";
    const ssize_t n = readlink("/proc/self/exe", self, 200);

    talk_packets(t, packets);
    for (ssize_t i = 0; i < n; i++) {
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)self[i]);
    }
    talk_packet(t, "vFile:open:%s,0,0", hex);
    talk_packet(t, "vFile:pread:3,40,4");
    talk_packet(t, "vFile:fstat:3");
    for (unsigned i = 0; i < 2; i++) {
        talk_packet(t, "m%jx,40", (uintmax_t)e->store[i]);
        talk_packet(t, "m%jx,4", (uintmax_t)e->pc[i]);
    }
    talk_packet(t, "mffffffffffffffff,10");
    talk_packet(t, "D;64");
}

static void steps(struct talk *t, const struct example *e)
{
    static const char *const packets[] = {"bs", "vCont;s:p1092.1092;c:p1092.-1",
                                          "s",  "vCont;S05:65",
                                          "bs", "bc",
                                          "c",  "vCont;C0b;c",
                                          "bc", "vCont;t",
                                          "?",  NULL};

    for (unsigned i = 0; i < 5; i++) {
        talk_packet(t, "vCont;s:p64.65;c:p64.-1");
    }
    talk_packet(t, "vCont;r%jx,%jx", (uintmax_t)e->pc[0], (uintmax_t)e->pc[0] + 64);
    talk_packets(t, packets);
}

static void breakpoints(struct talk *t, const struct example *e)
{
    /* r0 == 0; a loop, or 1; sp < 4; what ends within an argument; nothing */
    static const char *const conditions[] = {";X7,26000022001327", ";X3,210000X3,220127",
                                             ";X7,26000d22041527", ";X3,250102", ""};

    for (unsigned i = 0; i < 5; i++) {
        talk_packet(t, "Z%u,%jx,4%s", i & 1, (uintmax_t)e->pc[i % 3], conditions[i]);
        talk_packet(t, "vCont;c");
        talk_packet(t, "bc");
        talk_packet(t, "c");
        talk_packet(t, "bs");
    }
    /* *(int *)ADDR != r1 */
    talk_packet(t, "Z0,%jx,4;Xc,24%08x19260001130e27", (uintmax_t)e->pc[0],
                (unsigned)e->store[0]);
    talk_packet(t, "c");
    talk_packet(t, "z0,%jx,4", (uintmax_t)e->pc[0]);
    talk_packet(t, "z1,%jx,4", (uintmax_t)e->pc[1]);
    talk_packet(t, "c");
    talk_packet(t, "?");
}

static void watchpoints(struct talk *t, const struct example *e)
{
    for (unsigned i = 0; i < 6; i++) {
        talk_packet(t, "Z%u,%jx,%x", 2 + i % 3, (uintmax_t)e->store[i % 2], 1u << i);
        talk_packet(t, "vCont;c");
        talk_packet(t, "c");
        talk_packet(t, "bc");
        talk_packet(t, "bs");
        talk_packet(t, "s");
    }
    talk_packet(t, "z2,%jx,1", (uintmax_t)e->store[0]);
    talk_packet(t, "Z4,0,ffffffffffffffff");
    talk_packet(t, "c");
    talk_packet(t, "Z3,ffffffffffffffff,2");
    talk_packet(t, "bc");
    talk_packet(t, "?");
}

static void commands(struct talk *t, const struct example *e)
{
    static const char *const lines[] = {"help",
                                        "where",
                                        "goto 20",
                                        "goto end",
                                        "goto 1.5s",
                                        "mark here",
                                        "goto 0",
                                        "mark",
                                        "goto here",
                                        "goto crash",
                                        "mark 12",
                                        "goto mark:x",
                                        "goto f()",
                                        "goto call:f",
                                        "last-write",
                                        "nothing",
                                        "goto syscall:4/2",
                                        "goto",
                                        "mark x",
                                        ""};
    char line[64];

    for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        talk_monitor(t, lines[i]);
    }
    for (unsigned i = 0; i < 4; i++) {
        static const char *const names[] = {"last-write", "next-write", "last-read",
                                            "next-read"};
        snprintf(line, sizeof(line), "%s 0x%jx+%u", names[i], (uintmax_t)e->store[i % 2],
                 1 + i);
        talk_monitor(t, line);
    }
    talk_packet(t, "?");
}

static void calls(struct talk *t, const struct example *e)
{
    static const char *const packets[] = {"QPassSignals:e;10;14;17;1a",
                                          "QThreadEvents:1",
                                          "QCatchSyscalls:1",
                                          "c",
                                          "c",
                                          "c",
                                          "qXfer:siginfo:read::0,80",
                                          "bc",
                                          "C0b",
                                          "QCatchSyscalls:1;3;4;78",
                                          "vCont;c:p1092.-1",
                                          "c",
                                          "bc",
                                          "QPassSignals:",
                                          "QCatchSyscalls:0",
                                          "c",
                                          "c",
                                          "qXfer:siginfo:read::0,80",
                                          "qXfer:siginfo:read::4,8",
                                          "bs",
                                          "bs",
                                          "?",
                                          NULL};

    (void)e;
    talk_packets(t, packets);
}

static void refused(struct talk *t, const struct example *e)
{
    static const char *const packets[] = {
        "G00",      "P0=00",    "M10000,1:00", "X10000,0:", "Hg1092",  "Hg65",
        "Hc65",     "T65",      "Tp1092.108b", "Hgp-1.-1",  "vRun;61", "R00",
        "vKill;64", "qRcmd,zz", "qRcmd,616",   NULL};

    (void)e;
    talk_packets(t, packets);
    talk_byte(t, 3);
    talk_packet(t, "?");
    talk_packet(t, "k");
}

/* Each bytecode with values to work on, in one condition each. */
static void expressions(struct talk *t, const struct example *e)
{
    for (unsigned op = 0; op < 0x36; op++) {
        talk_packet(t, "Z0,%jx,4;X11,22032205250000000000000007%02x000000",
                    (uintmax_t)e->pc[op % 3], op);
        if (op % 8 == 7) {
            talk_packet(t, "vCont;c");
            talk_packet(t, "bc");
        }
    }
    talk_packet(t, "c");
    talk_packet(t, "?");
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    static void (*const talks[])(struct talk *t, const struct example *e) = {
        read_state, steps, breakpoints, watchpoints,
        commands,   calls, refused,     expressions};
    const uint8_t number = i == 8 ? MAPPED : i > 8 ? SYSTEM : RANDOM;
    struct talk t = {0};

    talk_byte(&t, number);
    if (i % 3) {
        talk_connect(&t);
    }
    talks[i % 8](&t, example(number));
    *n = t.n;
    return t.p;
}
