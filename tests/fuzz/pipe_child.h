/* SPDX-License-Identifier: MIT */
/*
 * The processes of fuzz_pipe: two that map the recorder's memory, as traced ones do, and
 * a bystander, whose pid is sometimes in that memory although it is not traced.  A
 * nursery makes them, which is forked before there are threads: it is small, so that this
 * is quick, and it ends them when the target ends.
 *
 * The target replaces kill(2): a signal to any process but the two ends the target.
 */
#ifndef PIPE_CHILD_H
#define PIPE_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#define PIPE_CHILDREN 2

/* Starts nursery and bystander; before there are threads, once. */
void pipe_nursery(void);
pid_t pipe_bystander(void);
/* Aborts the target if the bystander has ended or was sent a signal. */
void pipe_bystander_is_well(void);

/* Two processes that map `bytes' of this process's descriptor `fd'. */
void pipe_children_start(int fd, size_t bytes, pid_t pid[PIPE_CHILDREN]);
/* Kills one of them, if it is still alive, and waits for its end. */
void pipe_child_end(pid_t pid);

#endif
