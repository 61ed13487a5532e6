/* SPDX-License-Identifier: MIT */
/*
 * The first line of a script names the program that runs it; it is read as execve(2)
 * reads it.
 */
#ifndef RECORDER_SCRIPT_H
#define RECORDER_SCRIPT_H

/* Linux runs a script whose interpreter is a script, and so on, up to this depth. */
#define SCRIPT_DEPTH_MAX 5

/* What Linux reads of a program to find out what it is, in bytes. */
#define SCRIPT_LINE_MAX 256

struct script {
    char *interpreter; /* as written, relative to the working folder; in `line' */
    char *argument;    /* the rest of the line without blanks at its ends; NULL: none */
    char line[SCRIPT_LINE_MAX + 1];
};

/*
 * Reads the script at `path'.  Returns 1, 0 if it is none or its line names nothing that
 * execve could run, or -1 with errno.
 */
int script_read(const char *path, struct script *script);

#endif
