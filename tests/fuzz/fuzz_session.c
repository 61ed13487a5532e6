/* SPDX-License-Identifier: MIT */
/*
 * A damaged trace under tracegdb: a session with all that gdb can request.  The hashes are
 * corrected, because otherwise nothing would get past them.
 * Seeds are the files of CANNOLI_TRACE_CORPUS (trace_corpus.sh).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_symbols.h"
#include "talk.h"

/* Places that the seeds have, and what is known only there. */
static const struct talk *script(void)
{
    static const char *const packets[] = {
        "qXfer:threads:read::0,1000",
        "qXfer:exec-file:read::0,1000",
        "qXfer:auxv:read::0,1000",
        "qXfer:libraries-svr4:read::0,1000",
        "vFile:open:2f70726f632f3130302f6d617073,0,0", /* /proc/100/maps */
        "g",
        "m40000000,100",
        "m0,4000",
        "QCatchSyscalls:1",
        "vCont;c",
        "qXfer:siginfo:read::0,80",
        "g",
        "vCont;s",
        "bs",
        "bc",
        "QCatchSyscalls:0",
        "Z2,40000000,1000",
        "Z4,0,ffffffff",
        "vCont;c",
        "vCont;c",
        "vCont;s",
        "m40000000,100",
        "bc",
        "bs",
        "z4,0,ffffffff",
        "z2,40000000,1000",
        "Z0,10404,4;X7,26000022001327",
        "Z0,10000,4",
        "vCont;c",
        "vCont;r10000,20000",
        "bc",
        "Hg1092",
        "g",
        "m7fffff00,100",
        "c",
        NULL,
    };
    static struct talk t;

    if (!t.n) {
        talk_connect(&t);
        talk_packets(&t, packets);
        talk_monitor(&t, "goto 30");
        talk_monitor(&t, "last-write 0x40000000+4096");
        talk_monitor(&t, "next-read 0x5000+64");
        talk_monitor(&t, "goto end");
        talk_packet(&t, "bs");
        talk_packet(&t, "bc");
    }
    return &t;
}

/* Without remarks on what the damage took. */
static void serve_trace(const uint8_t *data, size_t n)
{
    const struct modset_options opt = {.prog = "fuzz_session",
                                       .quiet = true,
                                       .missing_ok = true,
                                       .unmapped_quiet = true,
                                       .no_generated = true,
                                       .flags = SYMFILE_HEADERS};
    const int fd = memfd_create("trace", MFD_CLOEXEC);
    struct modset *modset = NULL;
    struct places *places = NULL;
    struct ctr_trace *tr;
    struct ctr_diag diag;

    CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    if (!ctr_open_fd(&tr, fd, 0, &diag)) {
        CHECK(!modset_open(&modset, &opt));
        if (!places_load(&places, modset, tr, "t.ctr")) {
            talk_serve(tr, places, script()->p, script()->n);
        }
        places_free(places);
        modset_close(modset);
        ctr_close(tr);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint8_t *p = malloc(n + 1);

    CHECK(p);
    memcpy(p, data, n);
    fuzz_fix_hashes(p, n);
    serve_trace(p, n);
    free(p);
    return 0;
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    return fuzz_corpus("s", i, n);
}
