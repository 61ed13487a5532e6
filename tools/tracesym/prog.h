/* SPDX-License-Identifier: MIT */
/* The program's name, for messages. */
#ifndef TRACESYM_PROG_H
#define TRACESYM_PROG_H

#define PROG "tracesym"

#endif
