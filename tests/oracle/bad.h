/* SPDX-License-Identifier: MIT */
/* A trace that cannot be read fails the comparison. */
#ifndef ORACLE_BAD_H
#define ORACLE_BAD_H

#include <stdio.h>
#include <stdlib.h>

#include "ctr.h"

/* what: that failed; r: what libctr returned. */
static inline void bad(const char *what, int r, const struct ctr_diag *diag)
{
    printf("%s: %s: %s\n", what, ctr_strerror(r), diag->text);
    exit(1);
}

#endif
