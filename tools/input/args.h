/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a program as a THREAD event has them (struct ctr_thread_event): one
 * after the other, as words for a shell, as JSON.
 */
#ifndef TOOLS_ARGS_H
#define TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/textbuf.h"
#include "ctr.h"

/* A program's arguments; args.n 0: not known. */
struct program {
    struct ctr_str args;
    uint32_t argc;
};

/* A walk through them.  Its fields are its own, but for `left'. */
struct args_walk {
    const char *at, *end;
    size_t room;
    uint32_t left; /* arguments that args_next has not returned */
    bool begun;
};

/* Begins a walk that returns at most `room' bytes of text, blanks between the arguments
 * included; SIZE_MAX: all.  The program must outlive it. */
struct args_walk args_begin(const struct program *p, size_t room);

/*
 * The next argument; false: there is none, or no room.  *cut: only its beginning is
 * returned, because of `room' or because the recording has no more of it; then it is the
 * last one.  What is cut for want of room ends with a whole character of UTF-8.
 */
bool args_next(struct args_walk *w, struct ctr_str *arg, bool *cut);

/* The part of argv[0] after its last slash. */
struct ctr_str args_base(const struct program *p);

/* As one would type them for a shell, at most `room' bytes of them; "..." replaces what is
 * missing.  Control characters are escaped.  False: no memory. */
bool args_put_shell(struct textbuf *b, const struct program *p, size_t room);

/* ,"argv":["cat","file"] and, if the recording does not have all, ,"argc":3; nothing if they
 * are not known.  False: no memory. */
bool args_put_json(struct textbuf *b, const struct program *p);

#endif
