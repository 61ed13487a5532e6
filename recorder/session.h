/* SPDX-License-Identifier: MIT */
/* One recording, from the user's command to the finished file. */
#ifndef RECORDER_SESSION_H
#define RECORDER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "embed.h"
#include "selection.h"

struct session_config {
    const char *output; /* "-": standard output */
    const char *qemu_dir;
    unsigned events;           /* CTR_EVENTS_* */
    const char *program_event; /* one of these that was named and is of programs only, */
    const char *machine_event; /* of machines only; NULL: none */
    uint32_t data_limit;       /* bytes kept of each buffer of a system call */
    uint32_t follow;           /* MEMPIPE_FOLLOW_* */
    int level;
    unsigned workers;
    bool quiet, verbose;
    bool progress; /* also where the program uses the terminal, or there is none */
    bool no_aslr;  /* the program's addresses are not random */
    bool no_key_frames;
    bool order; /* threads of programs run one at a time, ... */
    bool vary;  /* ... for as long as is drawn from the seed ... */
    uint64_t seed;
    uint32_t quantum; /* ... but so many instructions at most */
    bool light;       /* all that comes from outside is recorded, to be executed again */
    const char *inputs; /* execute a program again, with the inputs in this folder */
    enum embed_mode embed;
    const struct selection *selection;
    const char *control; /* path of the socket, NULL: there is none */
    uint64_t ring;       /* keep so many bytes of chunks only, 0: all */
    bool discard;        /* make events, throw them away, write nothing */
    char **command;      /* NULL-terminated, not empty */
    int argc;            /* of main, to rename the watchdog */
    char **argv;
};

/* Returns the exit status of the program. */
int session_run(const struct session_config *config);

#endif
