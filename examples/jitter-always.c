/* SPDX-License-Identifier: MIT */
/*
 * jitter-always: the smallest jitter library.  It has no functions, so everything is
 * recorded as without it; a start for libraries that leave something out.
 *
 *   cannoli-record --jitter ./libjitter-always.so -o run.ctr -- ./app
 *
 * Build: cc -shared -fPIC $(pkg-config --cflags libctr) \
 *            -o libjitter-always.so jitter-always.c
 */
#include <cannoli/jitter.h>

const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER,
    .name = "always",
};
