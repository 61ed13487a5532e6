/* SPDX-License-Identifier: MIT */
/*
 * What a user requests of a recording while it runs, by the control socket or by a
 * signal, and how that is done.  The main loop does everything but the waiting.
 */
#ifndef RECORDER_REQUESTS_H
#define RECORDER_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control.h"
#include "ctl_server.h"
#include "ctr.h"
#include "jitter_check.h"
#include "status.h"

struct requests_config {
    struct mempipe_host *host;
    const char *socket; /* NULL: none */
    const char *lines;  /* libraries that the pipe was made with; NULL: none */
    /* for status: */
    const char *output;
    const char *selection; /* NULL: none */
    bool quiet;            /* say nothing on stderr but errors */
    char *const *command;
    uint64_t start_ns;
    struct jitter_target target; /* for libraries to come */
    void (*numbers)(void *arg, struct status_numbers *n);
    /*
     * Writes what a recording that keeps the newest part has; file: where, or NULL.
     * Returns 0 and the file's name, or a negated enum ctr_error.  NULL: there is no
     * such recording.
     */
    int (*dump)(void *arg, const char *file, char *name, size_t size,
                struct ctr_diag *diag);
    void (*begin_message)(void *arg); /* called before anything goes to stderr */
    void *arg;
};

struct requests {
    struct requests_config config;
    struct control control;
    struct ctl_server *server;
};

/* Opens the socket, if there is to be one.  Returns 0 or a negated errno value. */
int requests_open(struct requests *r, const struct requests_config *config);
void requests_close(struct requests *r);

/* Does what has been requested by now. */
void requests_round(struct requests *r, uint64_t now_ns);

#endif
