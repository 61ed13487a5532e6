/* SPDX-License-Identifier: MIT */
/*
 * Threads and processes as a user names them:
 *
 *   4242          a process or thread id; all that had it
 *   4242/2        the second process, or thread, with this id
 *   cat, c*       those that had this name at some time, or a program whose argv[0] ends in
 *                 it; a glob
 *   comm:4242     those that had this name, also of digits
 *   args:*x.c     those with a program whose arguments, with a blank between each, match
 */
#ifndef TOOLS_THREADS_H
#define TOOLS_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

/* A list that grows with each option given; zeroed: empty.  The texts are the arguments
 * themselves, not copies. */
struct thread_names {
    struct thread_name {
        const char *text; /* begins here ... */
        uint32_t len;     /* ... without comm: or args: */
        int32_t id;       /* 0: a name */
        enum thread_name_of {
            THREAD_NAME_ANY,
            THREAD_NAME_COMM,
            THREAD_NAME_ARGS,
            THREAD_NAME_CPU, /* of a machine: cpu and the number */
        } of;
        uint32_t which; /* 4242/2: 2; 0: all */
    } *v;
    uint32_t n;
};

/* Adds the items of a list with commas; false: not such a list, or no memory. */
bool thread_names_add(struct thread_names *list, const char *text);
/* The same for numbers of vCPUs. */
bool thread_names_add_vcpus(struct thread_names *list, const char *text);
void thread_names_free(struct thread_names *list);

/* The lists of a filter that select what was named; zeroed: all. */
struct thread_choice {
    uint32_t *v;
    uint32_t n;
};

/*
 * Finds processes, or threads, as indexes of the trace's tables, with a line on stderr for
 * each item that names none.  Returns TOOL_OK; TOOL_NOTHING if no item names any; or
 * TOOL_FAILED.  A stream's
 * tables are known at its end only: see thread_names_ids.
 */
int threads_find(const struct thread_names *list, bool processes, struct ctr_trace *tr,
                 const char *prog, const char *path, struct thread_choice *out);

/* Copies the ids to *ids (free(3)) if all items are ids and no number was given with
 * them; false: not so, or no memory.  A filter selects by them in streams, too. */
bool thread_names_ids(const struct thread_names *list, int32_t **ids);

/* Whether a filter's lists of pids, tids, processes and threads select a thread. */
bool threads_selected(const struct ctr_filter *filter, const struct ctr_thread *t);

/* A time since the start of the recording as a time of the trace. */
uint64_t threads_time(const struct ctr_info *info, uint64_t since_start_ns);

#endif
