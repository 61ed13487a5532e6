/* SPDX-License-Identifier: MIT */
/* The light trace: opens it and says why one cannot be expanded. */
#ifndef EXPAND_LIGHT_H
#define EXPAND_LIGHT_H

#include <stdint.h>

#include "ctr.h"

struct light {
    const char *prog, *path; /* for messages */
    struct ctr_trace *tr;
    struct ctr_info info;
};

/* Each returns TOOL_OK, or TOOL_FAILED after one line on stderr. */
int light_open(struct light *l, const char *prog, const char *path);
/* Whether what is in it is enough to execute the program again. */
int light_check(const struct light *l);
void light_close(struct light *l);

/* One line on stderr about the light trace.  Returns TOOL_FAILED. */
int light_refuse(const struct light *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of a failed call of libctr. */
int light_error(const struct light *l, int error, const struct ctr_diag *diag);

#endif
