/* SPDX-License-Identifier: MIT */
/*
 * tracediff of a whole trace and a damaged one, or of a damaged one with itself: it ends with
 * one of its statuses.  The hashes are corrected, because otherwise nothing would get past
 * them.  Seeds are the pairs of CANNOLI_TRACE_CORPUS (trace_corpus.sh).
 * Input: the number of the pair, with the choice of the output; the second trace.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_symbols.h"
#include "tracediff/compare.h"

#define NR_PAIRS 16u

/* All that is printed goes nowhere; messages, too, of which each damage has one. */
static int compare(struct compare_options *opt)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int out = dup(STDOUT_FILENO);
    int status;

    CHECK(nowhere >= 0 && out >= 0);
    fflush(stdout);
    dup2(nowhere, STDOUT_FILENO);
    status = compare_traces(opt);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    close(nowhere);
    return status;
}

static void compare_with(const char *a, const char *b, unsigned mode)
{
    struct compare_options opt = {
        .path = {a, b},
        .open_flags = mode & 1 ? CTR_OPEN_NO_INDEX : 0,
        .counts = mode & 2 ? COUNTS_BLOCKS : COUNTS_NONE,
        .pair.lookahead = 1u << 12,
        .report = {.prog = "fuzz_diff",
                   .data = 3,
                   .lines = 8,
                   .max = 100,
                   .width = 160,
                   .json = mode & 4,
                   .quiet = true},
        .modset = {.prog = "fuzz_diff", .quiet = true, .missing_ok = true},
        .site.basenames = true,
    };
    const int status = compare(&opt);

    CHECK(status == COMPARE_EQUAL || status == COMPARE_DIFFER ||
          status == COMPARE_TROUBLE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char whole[FUZZ_PATH], damaged[64];
    uint8_t *p;
    int fd;

    if (!n) {
        return 0;
    }
    p = malloc(n);
    fd = memfd_create("trace", MFD_CLOEXEC);
    CHECK(p && fd >= 0);
    memcpy(p, data + 1, n - 1);
    fuzz_fix_hashes(p, n - 1);
    CHECK(write(fd, p, n - 1) == (ssize_t)n - 1);
    snprintf(damaged, sizeof(damaged), "/proc/self/fd/%d", fd);
    fuzz_corpus_path(whole, "a", data[0] % NR_PAIRS);
    compare_with(whole, damaged, data[0] / NR_PAIRS);
    compare_with(damaged, damaged, data[0] / NR_PAIRS);
    close(fd);
    free(p);
    return 0;
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    uint8_t *trace = fuzz_corpus("b", i % NR_PAIRS, n), *p = malloc(*n + 1);

    CHECK(p);
    p[0] = (uint8_t)(i % NR_PAIRS + NR_PAIRS * (i % 8));
    memcpy(p + 1, trace, *n);
    free(trace);
    ++*n;
    return p;
}
