/* SPDX-License-Identifier: MIT */
/*
 * A second drain and a second pipeline go on with the pipe, the journal and the ring of
 * the killed recorder (drain_resume.c), until nothing is left; then the ring is written.
 * If they find something invalid, the ring still is what it was, and is written all the
 * same.
 */
#include "rescue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "drain.h"

/* What cannot be finished within this time, while nothing happens, is left alone. */
#define PATIENCE_NS 10000000000ull

struct rescue {
    const struct rescue_will *will;
    struct mempipe_host *host;
    struct guests guests;
    struct ctr_dict *dict;
    struct drain *drain;
    struct pipeline *pipeline;
    struct ctr_diag diag;
    int error; /* why not all could be saved */
};

static const char *copy(const char *s)
{
    return s ? strdup(s) : NULL;
}

int rescue_copy(struct rescue_will *to, const struct rescue_will *from)
{
    const char **argv = calloc((size_t)from->meta.argc + 1, sizeof(*argv));

    *to = *from;
    to->name = copy(from->name);
    to->out.name = from->out.name ? strdup(from->out.name) : NULL;
    to->meta.recorder = copy(from->meta.recorder);
    to->meta.selection = copy(from->meta.selection);
    to->meta.argv = argv;
    for (int i = 0; argv && i < from->meta.argc; i++) {
        argv[i] = copy(from->meta.argv[i]);
        if (!argv[i]) {
            return -CTR_E_NOMEM;
        }
    }
    return argv && to->name && to->meta.recorder ? 0 : -CTR_E_NOMEM;
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct pipeline *begin(void *arg, const struct mempipe_target *target)
{
    struct rescue *x = arg;
    struct pipeline_config config = {
        .host = x->host,
        .dict = x->dict,
        .ring = x->will->ring,
        .journal = x->will->journal,
        .fd = -1,
        .output = x->will->name,
        .workers = x->will->workers,
        .processors = x->will->workers,
        .level = x->will->level,
        .meta = x->will->meta,
    };

    pipeline_target(&config.meta, x->host, target);
    x->error = pipeline_new(&x->pipeline, &config, &x->diag);
    if (x->error) {
        x->pipeline = NULL;
    }
    return x->pipeline;
}

/* The definitions that the chunks in the ring need, and those to come. */
static int make_dict(struct rescue *x)
{
    struct journal_def def;
    int err;

    if (!ring_has_begun(x->will->ring)) {
        return ctr_dict_new(&x->dict, x->host->layout.events);
    }
    err = ring_make_dict(x->will->ring, &x->dict, &x->diag);
    for (uint32_t raw = 0; !err && journal_next_def(x->will->journal, &raw, &def);) {
        err = ctr_dict_restore_raw(x->dict, raw, def.id, def.def, def.bytes, &x->diag);
    }
    return err;
}

static int open_drain(struct rescue *x)
{
    const struct drain_ops ops = {.begin = begin, .arg = x};
    int err = make_dict(x);

    guests_open_ended(&x->guests, x->host);
    if (!err) {
        x->drain = drain_new(x->host, &x->guests, x->dict, x->will->workers, &ops);
        err = x->drain ? 0 : -CTR_E_NOMEM;
    }
    return err;
}

/* Drains until nothing is left. */
static int drain_all(struct rescue *x)
{
    const struct timespec tick = {0, 1000 * 1000};
    uint64_t since = now_ns();
    int got = drain_resume(x->drain, x->will->ring, since, &x->diag);

    while (got >= 0) {
        uint64_t now = now_ns();

        got = drain_round(x->drain, now, &x->diag);
        if (got > 0) {
            since = now;
        } else if (got == 0) {
            if (!x->guests.processes || now - since > PATIENCE_NS) {
                break;
            }
            nanosleep(&tick, NULL);
        }
    }
    return got < 0 ? got : 0;
}

/* Whether writing can start over. */
static bool is_regular(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static const char *why(int err, const struct ctr_diag *diag)
{
    return diag->text[0] ? diag->text : ctr_strerror(err);
}

/* Writes the ring; a line says what became of it. */
static void write_trace(struct rescue *x, struct output *out)
{
    const struct rescue_will *will = x->will;
    struct ctr_writer_stats stats;
    struct ctr_diag diag = {0};
    int unsynced, err;

    err = ring_write(will->ring, out->fd, NULL, will->level, NULL, 0, &stats, &diag);
    unsynced = output_close(out, true);
    if (!err && unsynced) {
        err = -CTR_E_IO;
        snprintf(diag.text, sizeof(diag.text), "%s", strerror(-unsynced));
    }
    if (err) {
        dprintf(STDERR_FILENO, "cannoli-record: cannot write '%s': %s\n", will->name,
                why(err, &diag));
    } else if (x->error) {
        dprintf(STDERR_FILENO, "cannoli-record: what could be saved is in '%s': %s\n",
                will->name, why(x->error, &x->diag));
    } else {
        dprintf(STDERR_FILENO, "cannoli-record: what was kept is in '%s'\n", will->name);
    }
}

void rescue_execute(struct rescue_will *will, struct mempipe_host *host)
{
    struct rescue x = {.will = will, .host = host};
    int err;

    if (ring_get_output(will->ring) == RING_WRITTEN) {
        output_close(&will->out, true);
        return;
    }
    ring_recover(will->ring);
    journal_recover(will->journal);
    err = open_drain(&x);
    if (!err) {
        err = drain_all(&x);
    }
    if (x.pipeline) {
        pipeline_stop(x.pipeline);
        err = err ? err : pipeline_error(x.pipeline, &x.diag);
    }
    x.error = x.error ? x.error : err;
    if (!ring_has_begun(will->ring)) {
        output_close(&will->out, false);
        dprintf(STDERR_FILENO, "cannoli-record: nothing had been recorded%s%s\n",
                x.error ? ": " : "", x.error ? why(x.error, &x.diag) : "");
    } else if (ring_get_output(will->ring) == RING_WRITING && !is_regular(will->out.fd)) {
        dprintf(STDERR_FILENO, "cannoli-record: the trace in '%s' has no end\n",
                will->name);
    } else {
        write_trace(&x, &will->out);
    }
}
