/* SPDX-License-Identifier: MIT */
/* See requests.h; the form of requests and answers is in common/ctlsock.h. */
#include "requests.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ctlsock.h"
#include "common/options.h"
#include "pipeline.h"
#include "selection.h"
#include "signals.h"

#define PROG "cannoli-record"

/* Whether the request is this command; *rest is what comes after it. */
static bool is_command(const char *request, const char *command, const char **rest)
{
    const size_t n = strlen(command);

    if (strncmp(request, command, n) || (request[n] && request[n] != ' ')) {
        return false;
    }
    *rest = request[n] ? request + n + 1 : "";
    return true;
}

static void refuse_library(struct ctl_answer *answer, const char *line, const char *why)
{
    char *path = selection_path(line, NULL);

    ctl_answer_error(answer, "cannot use '%s': %s", path ? path : line, why);
    free(path);
}

/* In the server's thread: libraries are tried, which may take a while. */
static bool prepare(void *arg, const char *request, struct ctl_answer *answer)
{
    struct requests *r = arg;
    const char *library;
    char why[512];
    char *line;

    if (!is_command(request, "load", &library)) {
        return true;
    }
    line = selection_line(library);
    if (!line) {
        refuse_library(answer, library, strerror(errno));
    } else if (jitter_check(line, &r->config.target, why, sizeof(why))) {
        refuse_library(answer, line, why);
    }
    free(line);
    return !answer->len;
}

static void load(struct requests *r, const char *library, struct ctl_answer *answer)
{
    char *line = selection_line(library);
    int err = line ? control_load(&r->control, line) : -errno;

    if (err == -EEXIST) {
        refuse_library(answer, library, "it is loaded already, with these arguments");
    } else if (err == -E2BIG) {
        char why[128];

        snprintf(why, sizeof(why),
                 "the list of libraries would be too long: %zu bytes, the limit is %u",
                 strlen(r->control.lines) + (*r->control.lines != '\0') + strlen(line),
                 MEMPIPE_FILTER_BYTES - 1);
        refuse_library(answer, library, why);
    } else if (err) {
        refuse_library(answer, library, strerror(-err));
    } else {
        ctl_answer_text(answer, CTLSOCK_OK);
    }
    free(line);
}

static void unload(struct requests *r, const char *library, struct ctl_answer *answer)
{
    char *path = selection_path(library, NULL), *real = NULL;
    int err = path ? control_unload(&r->control, path) : -ENOMEM;

    if (err == -ENOENT && strchr(path, '/') && (real = realpath(path, NULL)) != NULL) {
        err = control_unload(&r->control, real);
    }
    if (err == -ENOENT) {
        ctl_answer_error(answer, "no library '%s' is loaded", path);
    } else if (err) {
        ctl_answer_error(answer, "%s", strerror(-err));
    } else {
        ctl_answer_text(answer, CTLSOCK_OK);
    }
    free(real);
    free(path);
}

static void mark(struct requests *r, const char *text, uint64_t now_ns,
                 struct ctl_answer *answer)
{
    const size_t n = strlen(text);

    if (!n) {
        ctl_answer_error(answer, "a mark needs a text");
    } else if (n > MEMPIPE_MARK_BYTES) {
        ctl_answer_error(answer,
                         "the text of the mark is too long: %zu bytes, the limit is %u",
                         n, MEMPIPE_MARK_BYTES);
    } else {
        uint32_t number = control_mark(&r->control, text, n, now_ns);

        ctl_answer_text(answer, CTLSOCK_OK);
        ctl_answer_text(answer, "=mark %u", number);
    }
}

static void dump(struct requests *r, const char *file, struct ctl_answer *answer)
{
    struct ctr_diag diag = {0};
    char name[4096];
    int err;

    if (!r->config.dump) {
        ctl_answer_error(answer,
                         "this recording keeps everything: it was started without "
                         "--ring");
        return;
    }
    err = r->config.dump(r->config.arg, *file ? file : NULL, name, sizeof(name), &diag);
    if (!err) {
        ctl_answer_text(answer, CTLSOCK_OK);
        ctl_answer_text(answer, "=%s", name);
    } else if (err == -CTR_E_INVAL) {
        ctl_answer_error(answer, "there is nothing to write yet");
    } else if (err == -CTR_E_IO) {
        ctl_answer_error(answer, "cannot write the trace: %s",
                         strcmp(diag.field, PIPELINE_DUMP_FILE) ? strerror(diag.sys_errno)
                                                                : diag.text);
    } else {
        ctl_answer_error(answer, "cannot write the trace: %s", ctr_strerror(err));
    }
}

static void answer_limit(struct ctl_answer *answer, const char *key,
                         const uint64_t *limit)
{
    uint64_t v = __atomic_load_n(limit, __ATOMIC_RELAXED);

    if (v != UINT64_MAX) {
        ctl_answer_text(answer, "#%s %llu", key, (unsigned long long)v);
    }
}

static void status(struct requests *r, uint64_t now_ns, struct ctl_answer *answer)
{
    const struct requests_config *c = &r->config;
    const struct mempipe_control *m = c->host->control;
    struct status_numbers n;

    c->numbers(c->arg, &n);
    ctl_answer_text(answer, CTLSOCK_OK);
    ctl_answer_text(answer, "#recorder %d", (int)getpid());
    ctl_answer_text(answer, "\"output %s", c->output);
    for (char *const *word = c->command; *word; word++) {
        ctl_answer_text(answer, "[command %s", *word);
    }
    ctl_answer_text(answer, "#seconds %.3f", (double)(now_ns - c->start_ns) / 1e9);
    ctl_answer_text(answer, "?paused %d", control_is_paused(&r->control));
    ctl_answer_text(answer, "\"selection %s", c->selection ? c->selection : "");
    if (!*r->control.lines) {
        ctl_answer_text(answer, "[libraries");
    }
    for (const char *p = r->control.lines; *p;) {
        size_t len = strcspn(p, "\n");

        ctl_answer_text(answer, "[libraries %.*s", (int)len, p);
        p += len + (p[len] == '\n');
    }
    answer_limit(answer, "after_instructions", &c->host->shared->after_insns);
    answer_limit(answer, "for_instructions", &c->host->shared->for_insns);
    ctl_answer_text(answer, "#marks %u", __atomic_load_n(&m->nr_marks, __ATOMIC_RELAXED));
    ctl_answer_text(answer, "#instructions %llu", (unsigned long long)n.insns);
    ctl_answer_text(answer, "#loads %llu", (unsigned long long)n.loads);
    ctl_answer_text(answer, "#stores %llu", (unsigned long long)n.stores);
    ctl_answer_text(answer, "#bytes %llu", (unsigned long long)n.bytes);
    ctl_answer_text(answer, "#threads %u", n.threads);
    ctl_answer_text(answer, "#processes %u", n.processes);
    ctl_answer_text(answer, "#waited_seconds %.3f", (double)n.wait_ns / 1e9);
}

static void serve(struct requests *r, const char *request, uint64_t now_ns,
                  struct ctl_answer *answer)
{
    const char *rest;

    if (is_command(request, "pause", &rest) || is_command(request, "resume", &rest)) {
        control_pause(&r->control, request[0] == 'p');
        ctl_answer_text(answer, CTLSOCK_OK);
    } else if (is_command(request, "mark", &rest)) {
        mark(r, rest, now_ns, answer);
    } else if (is_command(request, "status", &rest)) {
        status(r, now_ns, answer);
    } else if (is_command(request, "load", &rest)) {
        load(r, rest, answer);
    } else if (is_command(request, "unload", &rest)) {
        unload(r, rest, answer);
    } else if (is_command(request, "dump", &rest)) {
        dump(r, rest, answer);
    } else {
        ctl_answer_error(answer, "no such command");
    }
}

int requests_open(struct requests *r, const struct requests_config *config)
{
    int err;

    *r = (struct requests){.config = *config};
    err = control_init(&r->control, config->host, config->lines);
    if (!err && config->socket) {
        err = ctl_server_open(&r->server, config->socket, config->host, prepare, r);
        if (err) {
            control_fini(&r->control);
        }
    }
    return err;
}

void requests_close(struct requests *r)
{
    ctl_server_close(r->server);
    control_fini(&r->control);
}

void requests_round(struct requests *r, uint64_t now_ns)
{
    struct ctl_answer answer = {0};
    const char *request;

    if (signals_user(SIGUSR1) % 2 && r->config.socket) {
        control_pause(&r->control, !control_is_paused(&r->control));
    }
    if (signals_user(SIGUSR2)) {
        dump(r, "", &answer);
        if (answer.len && strcmp(answer.data, CTLSOCK_OK)) {
            r->config.begin_message(r->config.arg);
            tool_error(PROG, "%s", answer.data + strlen(answer.data) + 1);
        } else if (answer.len && !r->config.quiet) {
            r->config.begin_message(r->config.arg);
            tool_error(PROG, "what was kept is in '%s'",
                       answer.data + strlen(answer.data) + 2);
        }
        free(answer.data);
        answer = (struct ctl_answer){0};
    }
    if (r->server && (request = ctl_server_request(r->server)) != NULL) {
        serve(r, request, now_ns, &answer);
        ctl_server_answer(r->server, &answer);
    }
}
