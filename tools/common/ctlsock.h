/* SPDX-License-Identifier: MIT */
/*
 * The socket by which a recording is controlled (cannoli-record --control), for both
 * of its ends.
 *
 * A connection is one request: the client writes a command, a blank and its argument,
 * and a NUL or a line feed, and shuts its half of the connection down; the other end
 * answers with texts that each end in a NUL, and closes.  The first text is "ok" or
 * "error"; behind "error" stands the reason.  Behind "ok" stands what the answer consists
 * of, each text with a letter that says what it is:
 *   '='  for people, as it stands
 *   '#', '"', '?', '['   "KEY VALUE": a number, a text, 0 or 1, a text of the list with
 *                        this key, or "KEY" alone if that is empty
 */
#ifndef TOOLS_CTLSOCK_H
#define TOOLS_CTLSOCK_H

#include <stddef.h>

/* A request is not longer, nor is an answer. */
#define CTLSOCK_REQUEST_BYTES (96u << 10)

#define CTLSOCK_OK "ok"
#define CTLSOCK_ERROR "error"

/*
 * Connect to the socket at `path', or make and bind one that listens there, with
 * close-on-exec; however long the path is.  Return the descriptor or a negated errno
 * value.  ctlsock_listen replaces a socket on which nobody listens; -EADDRINUSE: there
 * is something else.
 */
int ctlsock_connect(const char *path);
int ctlsock_listen(const char *path);

#endif
