/* SPDX-License-Identifier: MIT */
/* ctr_open on a file, with and without its index, and all readers.  The hashes are
 * corrected, because otherwise nothing would get past them. */
#include <stdlib.h>
#include <string.h>
#include "ctr.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint8_t *p = malloc(n + 1);
    if (!p) {
        return 0;
    }
    memcpy(p, data, n);
    fuzz_read(p, n, 0);
    fuzz_fix_hashes(p, n);
    fuzz_read(p, n, 0);
    fuzz_read(p, n, CTR_OPEN_NO_INDEX);
    free(p);
    return 0;
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    return fuzz_trace(i, n);
}
