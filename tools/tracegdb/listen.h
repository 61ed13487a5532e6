/* SPDX-License-Identifier: MIT */
/* Sockets on which gdb connects. */
#ifndef TRACEGDB_LISTEN_H
#define TRACEGDB_LISTEN_H

#include <stdbool.h>

/* Whether it is one of these; its port is a number. */
bool listen_valid(const char *where);

/*
 * Opens a listening socket: "PORT" and ":PORT" on the loopback interface only,
 * "HOST:PORT" there, a text with a slash as a UNIX socket at that path.  Says on stderr
 * where it listens.  The path stays valid; a signal that ends the program removes the
 * socket.  Returns the descriptor, or -1 after a line on stderr.
 */
int listen_open(const char *where);

/* Waits for the next connection: its descriptor, or -1 after a line on stderr. */
int listen_accept(int fd);

/* Closes it, and removes a UNIX socket. */
void listen_close(int fd, const char *where);

#endif
