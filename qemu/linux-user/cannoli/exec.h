/*
 * Execution tracing into shared memory: what binfmt_misc would do
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef LINUX_USER_CANNOLI_EXEC_H
#define LINUX_USER_CANNOLI_EXEC_H

/* Read the registered formats, before other threads exist. */
void cannoli_binfmt_load(void);
bool cannoli_binfmt_any(void);

/* How the kernel would start a QEMU for a file that begins so. */
typedef enum CannoliBinfmt {
    CANNOLI_BINFMT_RUNS = 1,  /* it would; otherwise no bit is set */
    CANNOLI_BINFMT_ARGV0 = 2, /* with the guest's own argv[0] */
    CANNOLI_BINFMT_IDS = 4,   /* a setuid program with its owner's rights */
} CannoliBinfmt;
CannoliBinfmt cannoli_binfmt_match(const uint8_t *head, size_t n);

#endif
