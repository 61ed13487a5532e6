/* SPDX-License-Identifier: MIT */
/*
 * The user's pager: long output on a terminal goes through it.
 *
 * The pager is CANNOLI_PAGER, else PAGER, else less: a command for the shell, which gets
 * LESS=FRX unless LESS is set.  There is none if that is empty or cat, if its program is
 * not there, if the terminal is a dumb one, or with privileges that the caller does not
 * have.  It starts with the first byte of output.  Until it ends, what goes to stderr on
 * the same terminal is held back, and Ctrl-C is the pager's.  When it ends early, so does
 * the tool, with status 0.
 */
#ifndef COMMON_PAGER_H
#define COMMON_PAGER_H

/*
 * Sends standard output to the pager from now on, if that is a terminal.  Call at most
 * once, before there are threads, with nothing in the buffer of stdout and with SIGPIPE
 * ignored, and after tool_color_on; then end main with pager_close_stdout.  prog: for
 * messages.
 */
void pager_start(const char *prog);

/*
 * tool_close_stdout of options.h, then waits for the pager, if there is one, and shows what
 * was held back.  Returns status, or TOOL_FAILED after one line on stderr.
 */
int pager_close_stdout(const char *prog, const char *name, int status);

#endif
