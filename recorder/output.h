/* SPDX-License-Identifier: MIT */
/*
 * The file that a trace is written to: opened so that nobody else can say which file
 * that is, and closed so that no failure to write it goes unnoticed.
 *
 * A new file is for its owner alone (0600, less the umask): a trace holds what the
 * program had in memory.  One that exists keeps its mode, and its contents until the
 * trace is begun.
 */
#ifndef RECORDER_OUTPUT_H
#define RECORDER_OUTPUT_H

#include <stdbool.h>
#include <sys/stat.h>

struct output {
    int fd;     /* -1: not open */
    int folder; /* -1, or of a file that was made here, to remove it again */
    char *name; /* in folder */
    struct stat st;
};

#define OUTPUT_NONE {.fd = -1, .folder = -1}

/*
 * Opens `path', for writing and close-on-exec.  only_new: -EEXIST if there is a file.
 * Symbolic links and files that belong to others are refused where others may have put
 * them there to have the trace written to a place of their choice, as the kernel does
 * with fs.protected_symlinks, _regular and _fifos: a link is followed if it belongs to us
 * or to root, and on the way to the file also if it is in a folder where not everybody
 * may make files; a file or FIFO in a folder with the sticky bit in which others may make
 * files must belong to us or to the folder's owner; a file in a folder of another user,
 * or where others may make files, must have one name only.  Returns 0, or a negated errno
 * and in *why a text that says what is wrong.
 */
int output_open(struct output *o, const char *path, bool only_new, const char **why);

/* The same with a descriptor, which is duplicated. */
int output_open_fd(struct output *o, int fd, const char **why);

/* Writes to the disk what is not there yet.  Returns 0 or a negated errno. */
int output_sync(int fd);

/*
 * Syncs if `written', and closes; a file made here in which there is nothing is removed.
 * Does nothing if it is not open.  Returns 0 or a negated errno: the trace is not whole.
 */
int output_close(struct output *o, bool written);

#endif
