/* SPDX-License-Identifier: MIT */
/*
 * System calls as strace(1) shows them: arguments decoded by the call's name, with
 * the recorded memory that the system read and wrote.
 */
#ifndef TOOLS_SYSCALL_TEXT_H
#define TOOLS_SYSCALL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/guest.h"
#include "syscall/syscall_table.h"
#include "common/textbuf.h"

/* A piece of the guest's memory as it was when the call read or wrote it. */
struct syscall_mem {
    uint64_t addr;
    uint64_t size;
    const uint8_t *data;
    uint32_t n; /* bytes at data */
    bool write;
    bool string;
};

struct syscall_call {
    const struct guest *guest;
    const struct syscall_desc *desc; /* NULL: not known */
    const char *name;
    size_t name_len;
    uint64_t args[SYSCALL_MAX_ARGS];
    bool returned;
    bool no_result; /* returned, but there is no result: sigreturn, restarted */
    int64_t result; /* if it returned */
    const struct syscall_mem *mem; /* in the order of events */
    size_t n_mem;
    unsigned string_max; /* limit of shown bytes of a buffer */
};

/* An argument as a number, and the end of its text. */
struct syscall_shown_arg {
    uint64_t value; /* as in its register; the 64-bit number of a pair of registers */
    size_t end;
};

/*
 * Appends the texts of the arguments to b, one after the other.  Returns their number:
 * from the table, or 6 for an unknown call; -1 when there is no memory.
 */
int syscall_put_args(struct textbuf *b, const struct syscall_call *c,
                     struct syscall_shown_arg arg[SYSCALL_MAX_ARGS]);

/* "3", "0x40800000", "-1 ENOENT (No such file or directory)" or "?"; false: no memory. */
bool syscall_put_result(struct textbuf *b, const struct syscall_call *c);

/* The error number of a failed call, 0 if it did not fail. */
unsigned syscall_error(const struct syscall_call *c);

/* The recorded name of a call; of a newer one (number 424 and above) that was recorded
 * without a name, that of its number; else an empty one. */
struct ctr_str syscall_name(const struct guest *g, const struct ctr_syscall *s);

/* The result as a number: addresses are not negative. */
bool syscall_result_is_address(const struct syscall_call *c);

/*
 * A string in quotes, with escapes as strace has them; `cut' appends "...".
 * The output contains no control characters.
 */
bool syscall_put_quoted(struct textbuf *b, const uint8_t *s, size_t n, bool cut);

/* -------------- what syscall_text.c needs of syscall_struct.c and _call.c */

/* "NULL" or "0x1000" */
bool syscall_put_address(struct textbuf *b, const struct syscall_call *c, uint64_t v);

/*
 * The memory that an argument of type `type' points to; `next' is the argument after it.
 * Only for types that are memory.
 */
bool syscall_put_memory(struct textbuf *b, const struct syscall_call *c,
                        enum syscall_arg type, uint64_t addr, uint64_t next);

/* "SOL_SOCKET", and "SO_REUSEADDR" of such a level; numbers that have no name. */
bool syscall_put_sock_level(struct textbuf *b, const struct guest *g, uint32_t level);
bool syscall_put_sock_option(struct textbuf *b, const struct guest *g, uint32_t level,
                             uint32_t option);

/* Gets n bytes that the call read (or wrote) at addr; returns how many are known. */
size_t syscall_memory(const struct syscall_call *c, bool write, uint64_t addr, void *buf,
                      size_t n);

#endif
