/* SPDX-License-Identifier: MIT */
/* Where the programs are that cannoli-expand executes. */
#ifndef EXPAND_PROGRAMS_H
#define EXPAND_PROGRAMS_H

/*
 * Paths, which the caller frees, or NULL after one line on stderr.  cannoli-record is beside
 * this program, or in PATH; QEMU where cannoli-record looks for it.
 */
char *program_recorder(const char *prog);
char *program_qemu(const char *prog, const char *target, const char *qemu_dir);

#endif
