/* SPDX-License-Identifier: MIT */
/*
 * The recorder's end of the control socket (common/ctlsock.h): a thread that reads
 * requests and passes them to the main loop, one after the other.
 */
#ifndef RECORDER_CTL_SERVER_H
#define RECORDER_CTL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mempipe_host.h"

struct ctl_server;

/* An answer: texts, each followed by a NUL. */
struct ctl_answer {
    char *data;
    size_t len, cap;
};

/* Appends a text; without memory the text is missing. */
void ctl_answer_text(struct ctl_answer *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces the answer, whatever it was, with an error that has this reason. */
void ctl_answer_error(struct ctl_answer *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * What must be done before the main loop gets a request, and may take long: called in the
 * thread.  Returns false if that completed the answer.
 */
typedef bool ctl_prepare_fn(void *arg, const char *request, struct ctl_answer *answer);

/*
 * Listens at `path' and starts the thread, which rings the doorbell of `host' for each
 * request.  Returns 0 or a negated errno value.
 */
int ctl_server_open(struct ctl_server **out, const char *path, struct mempipe_host *host,
                    ctl_prepare_fn *prepare, void *arg);
/* Removes the socket; a pending request is refused.  NULL is allowed. */
void ctl_server_close(struct ctl_server *srv);

/* The pending request, a text that is valid until it is answered, or NULL. */
const char *ctl_server_request(struct ctl_server *srv);
/* Answers it; takes ownership of the answer's memory. */
void ctl_server_answer(struct ctl_server *srv, struct ctl_answer *answer);

#endif
