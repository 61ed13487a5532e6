/* SPDX-License-Identifier: MIT */
/*
 * The socket that controls a recording (cannoli-record --control), for both of its ends.
 *
 * A connection is one request: the client writes a command, a blank and its argument,
 * and a NUL or a line feed, and shuts down its half of the connection; the other end
 * answers with texts that each end in a NUL, and closes.  The first text is "ok" or
 * "error".  The text after "error" is the reason.  The texts after "ok" are the answer;
 * the first letter of each is its kind:
 *   '='  a line for people, shown unchanged
 *   '#', '"', '?', '['   "KEY VALUE": a number, a text, 0 or 1, a text of the list with
 *                        this key, or "KEY" alone if that is empty
 */
#ifndef COMMON_CTLSOCK_H
#define COMMON_CTLSOCK_H

#include <stddef.h>

/* Limit of a request, and of an answer. */
#define CTLSOCK_REQUEST_BYTES (96u << 10)

#define CTLSOCK_OK "ok"
#define CTLSOCK_ERROR "error"

/*
 * Connect to the socket at `path', or make one that listens there; with close-on-exec.
 * The path may have any length.  Return the descriptor or a negated errno value.
 * ctlsock_listen replaces a socket that no process listens on; -EADDRINUSE: the path is
 * in use otherwise.
 */
int ctlsock_connect(const char *path);
int ctlsock_listen(const char *path);

#endif
