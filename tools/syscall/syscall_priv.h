/* SPDX-License-Identifier: MIT */
/*
 * What the files that format memory of system calls share.  Each function shows the
 * address if the memory is not in the trace, and returns false when there is no memory.
 */
#ifndef TOOLS_SYSCALL_PRIV_H
#define TOOLS_SYSCALL_PRIV_H

#include "syscall/syscall_text.h"

/* Limit of shown bytes of a path or another string that is not cut by string_max. */
#define SYSCALL_STRING_MAX 4096u

/* {tv_sec=1, tv_nsec=5}: `bytes' is the size of tv_sec, `fraction' the second name. */
bool syscall_put_time(struct textbuf *b, const struct syscall_call *c, const uint8_t *p,
                      unsigned bytes, const char *fraction);
/* Up to string_max of `size' bytes in quotes. */
bool syscall_put_buffer(struct textbuf *b, const struct syscall_call *c, bool write,
                        uint64_t addr, uint64_t size);
/* "[1]", or of n == 2 "[1, 2]" */
bool syscall_put_ints(struct textbuf *b, const struct syscall_call *c, bool write,
                      uint64_t addr, unsigned n);

/* Of setsockopt and getsockopt, whose level and name are arguments 1 and 2. */
bool syscall_put_sock_value(struct textbuf *b, const struct syscall_call *c, bool write,
                            uint64_t addr, uint64_t size);

/* The control messages of sendmsg and recvmsg: `size' bytes. */
bool syscall_put_control(struct textbuf *b, const struct syscall_call *c, bool write,
                         uint64_t addr, uint64_t size);

/* The structures of syscall_record.c; other types are shown as an address. */
bool syscall_put_record(struct textbuf *b, const struct syscall_call *c,
                        enum syscall_arg type, uint64_t addr);

#endif
