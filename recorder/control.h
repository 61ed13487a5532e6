/* SPDX-License-Identifier: MIT */
/*
 * What the recorder changes while the program runs: the control area of the pipe
 * (struct mempipe_control).  One thread.
 */
#ifndef RECORDER_CONTROL_H
#define RECORDER_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mempipe_host.h"

struct control {
    struct mempipe_host *host;
    char *lines; /* libraries, one a line, as the guest has them; owned */
};

/* lines: what the pipe was made with (NULL: none), copied.  Returns 0 or -ENOMEM. */
int control_init(struct control *c, struct mempipe_host *host, const char *lines);
void control_fini(struct control *c);

bool control_is_paused(const struct control *c);
void control_pause(struct control *c, bool paused);

/* Makes a mark; returns its number.  bytes: not more than MEMPIPE_MARK_BYTES. */
uint32_t control_mark(struct control *c, const char *text, size_t bytes,
                      uint64_t asked_ns);

/*
 * Adds a library (a line as selection_line makes it).  Returns 0, -EEXIST if it is
 * there with the same arguments, -E2BIG, or -ENOMEM.
 */
int control_load(struct control *c, const char *line);
/*
 * Removes every library with this path or, if that has no slash, this file name.  Returns
 * 0, -ENOENT, or -ENOMEM.
 */
int control_unload(struct control *c, const char *path);

/*
 * Copies what a process that runs the guest reports as wrong with its libraries; returns
 * true once there is something.
 */
bool control_failure(const struct control *c, char *text, size_t size);
/*
 * The path of an entry of the list of libraries that processes have loaded, for a
 * message: one line of at most size bytes with its NUL, whatever the guest has written
 * there.
 */
void control_library(const struct control *c, uint32_t entry, char *text, size_t size);
/* The library that a process is loading, or was loading when it died; malloc'ed, NULL if
 * there is none. */
char *control_loading(const struct control *c);

#endif
