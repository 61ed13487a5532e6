/* SPDX-License-Identifier: MIT */
/*
 * Puts the parts together and runs the main loop: one round after the other while there
 * is something to do, asleep on the doorbell when there is not.
 *
 * A recording ends by itself when the command and all traced processes have ended.  It is
 * ended by a signal, by a failure to write or by events that make no sense: then the
 * guest is killed, what it did until then is still read out of the pipe, and the file is
 * finished.
 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "cannoli/inputs.h"
#include "common/inputs_file.h"
#include "common/options.h"
#include "drain.h"
#include "effort.h"
#include "elf_target.h"
#include "inputs.h"
#include "jitter_check.h"
#include "launch.h"
#include "launch_machine.h"
#include "output.h"
#include "outside.h"
#include "requests.h"
#include "status.h"
#include "watchdog.h"

#define PROG "cannoli-record"
#define BUFFER_BYTES (512u << 10)
#define SIDE_BYTES (128u << 10)
#define MAX_PIPES 16384u
#define MIN_PIPES 16u
/* What is under way for each worker, and for the guest and the dispatcher. */
#define WORKER_BYTES (4u << 20)
#define GUEST_BYTES (8u << 20)

enum ending {
    ENDING_NOT = 0,
    ENDING_SIGNAL, /* end_signal requested it */
    ENDING_OUTPUT, /* the trace cannot be written */
    ENDING_EVENTS, /* the guest's events make no sense, or there is no memory */
    ENDING_CHOICE, /* a library that chooses what is recorded failed in QEMU */
};

struct session {
    const struct session_config *config;
    unsigned events; /* CTR_EVENTS_* */
    struct mempipe_host host;
    struct guests guests;
    struct watchdog watchdog;
    struct signals_saved signals;
    struct rlimit nofile;
    struct ctr_dict *dict;
    struct drain *drain;
    struct pipeline *pipeline;
    struct ring *ring;       /* NULL: the trace is written as it comes */
    struct journal *journal; /* with a ring */
    struct status status;
    struct requests requests;
    struct output out;
    pid_t root;        /* 0 once it has been waited for */
    pid_t command_pid; /* the same, for good */
    int root_status;   /* of wait(2) */
    uint64_t start_ns, start_realtime_ns;
    struct inputs *inputs;  /* of a program that is executed again, or NULL */
    struct outside outside; /* mappings that this cannot be done with, perhaps */
    uint64_t rounds;        /* of the loop */
    enum ending ending;
    int end_signal;
    int end_error; /* enum ctr_error, negated */
    struct ctr_diag end_diag;
    char failure[MEMPIPE_PATH_BYTES + 128]; /* with ENDING_CHOICE: what QEMU says */
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static const char *output_name(const struct session *s)
{
    return strcmp(s->config->output, "-") ? s->config->output : "standard output";
}

/* ------------------------------------------------------------------ set up */

/*
 * The file is not cut before a traced program runs: a mistyped command leaves
 * an older trace alone.
 */
static int open_output(struct session *s, bool *live)
{
    const char *path = s->config->output, *why;

    if (strcmp(path, "-") == 0 ? output_open_fd(&s->out, STDOUT_FILENO, &why)
                               : output_open(&s->out, path, false, &why)) {
        tool_error(PROG, "cannot write '%s': %s", path, why);
        return LAUNCH_FAILED;
    }
    if (isatty(s->out.fd)) {
        tool_error(PROG, "a trace is not written to a terminal: use -o FILE or a pipe");
        return TOOL_USAGE;
    }
    *live = S_ISFIFO(s->out.st.st_mode) || S_ISSOCK(s->out.st.st_mode);
    return 0;
}

/* What jitter libraries get to know about the guest, as far as it is known before it
 * runs. */
static struct jitter_target target_of(const struct session *s,
                                      const struct launch_plan *plan)
{
    struct elf_machine m = {0};
    bool known = elf_describe_target(plan->target, &m);

    return (struct jitter_target){
        .target = known ? plan->target : "",
        .program = plan->program,
        .elf_machine = m.machine,
        .big_endian = m.big_endian,
        .addr_bytes = m.addr_bytes,
        .events = s->events,
    };
}

/*
 * Tries the user's jitter libraries.  Our own needs no trial, which would take longer
 * than all else before the program runs.
 */
static int check_libraries(const struct session *s, const struct launch_plan *plan)
{
    const struct jitter_target target = target_of(s, plan);
    const struct selection *sel = s->config->selection;
    const char *p = sel->lines ? sel->lines : "", *end = p + sel->foreign_bytes;
    char why[512];

    while (p < end) {
        size_t n = strcspn(p, "\n");
        char *line = strndup(p, n), *path = line ? selection_path(line, NULL) : NULL;
        int err = path ? jitter_check(line, &target, why, sizeof(why)) : -1;

        if (err) {
            tool_error(PROG, "cannot use '%s': %s", path ? path : "a library",
                       path ? why : strerror(ENOMEM));
        }
        free(path);
        free(line);
        if (err) {
            return LAUNCH_FAILED;
        }
        p += n + (p[n] == '\n');
    }
    return 0;
}

/* The limit for our own many pidfds; the guest gets back what we had. */
static void raise_nofile(struct session *s)
{
    struct rlimit more;

    if (getrlimit(RLIMIT_NOFILE, &s->nofile) < 0) {
        return;
    }
    more = s->nofile;
    more.rlim_cur = more.rlim_max;
    setrlimit(RLIMIT_NOFILE, &more);
}

/*
 * The pool: memory that is touched costs the guest a page fault, so there is no more than
 * keeps the workers busy.  Many workers get larger buffers.
 */
static void share_out(const struct session *s, struct mempipe_config *c)
{
    const uint64_t bytes = GUEST_BYTES + (uint64_t)s->config->workers * WORKER_BYTES;

    if (bytes / c->buffer_bytes > MEMPIPE_MAX_POOL) {
        c->buffer_bytes *= 2;
    }
    c->nr_pool = (uint32_t)(bytes / c->buffer_bytes);
    if (c->nr_pool > MEMPIPE_MAX_POOL) {
        c->nr_pool = MEMPIPE_MAX_POOL;
    }
    if (s->config->ring) {
        c->buffer_bytes = ring_buffer_bytes(s->config->ring, c->buffer_bytes);
    }
}

/* For tests: epochs (mempipe.h) of so many definitions. */
static uint32_t epoch_blocks(void)
{
    const char *n = getenv("CANNOLI_EPOCH_BLOCKS");

    return n ? (uint32_t)strtoul(n, NULL, 10) : 0;
}

/* As many pipes as the user's limits on address space and file size admit. */
static int open_pipe(struct session *s, bool live)
{
    struct mempipe_config c = {
        .nr_pipes = MAX_PIPES,
        .buffer_bytes = BUFFER_BYTES,
        .side_bytes = SIDE_BYTES,
        .events = s->events,
        .data_limit = s->config->data_limit,
        .follow = s->config->follow,
        .epoch_blocks = epoch_blocks(),
        .quantum = s->config->quantum,
        .vary = s->config->vary,
        .seed = s->config->seed,
        .inputs = s->config->inputs,
        .discard = s->config->discard,
        .live = live && !s->config->ring,
        .paused = s->config->selection->paused,
        .window = s->config->selection->window,
        .coverage = s->config->selection->coverage,
        .watch = s->config->control != NULL,
        .after_insns = s->config->selection->after_insns,
        .for_insns = s->config->selection->for_insns,
        .filter = s->config->selection->lines,
        .tasks = s->config->selection->tasks,
        .contexts = s->config->selection->contexts,
        .nr_contexts = s->config->selection->nr_contexts,
    };
    struct rlimit as, fsize;
    uint64_t most = UINT64_MAX;
    int err;

    if (getrandom(&c.random_seed, sizeof(c.random_seed), 0) < 0) {
        c.random_seed = clock_ns(CLOCK_MONOTONIC);
    }
    share_out(s, &c);
    if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY) {
        most = as.rlim_cur / 4;
    }
    if (getrlimit(RLIMIT_FSIZE, &fsize) == 0 && fsize.rlim_cur < most) {
        most = fsize.rlim_cur;
    }
    while (mempipe_host_size(&c) > most && c.nr_pipes > MIN_PIPES) {
        c.nr_pipes /= 2;
    }
    err = mempipe_host_open(&s->host, &c);
    if (err) {
        tool_error(PROG, "cannot make the shared memory of %llu MiB: %s",
                   (unsigned long long)(mempipe_host_size(&c) >> 20), strerror(-err));
        return LAUNCH_FAILED;
    }
    if (s->config->verbose) {
        tool_error(PROG, "pipe: %u threads at most, %u + %u buffers of %u KiB",
                   c.nr_pipes, c.nr_pipes, c.nr_pool, c.buffer_bytes >> 10);
    }
    return 0;
}

static int open_ring(struct session *s)
{
    int err;

    if (!s->config->ring) {
        return 0;
    }
    err = ring_new(&s->ring, s->config->ring);
    if (err) {
        tool_error(PROG, "cannot make a ring of %llu MiB: %s",
                   (unsigned long long)(s->config->ring >> 20), strerror(-err));
        return LAUNCH_FAILED;
    }
    err = journal_new(&s->journal, s->host.layout.nr_pipes,
                      s->host.layout.nr_pipes + s->host.layout.nr_pool);
    if (err) {
        tool_error(PROG, "cannot make the memory for a ring: %s", strerror(-err));
        ring_free(s->ring);
        return LAUNCH_FAILED;
    }
    s->host.stepwise = true;
    return 0;
}

/* The times of events count from here: now, or when the program ran that runs again. */
static int set_start(struct session *s)
{
    s->start_ns = clock_ns(CLOCK_MONOTONIC);
    s->start_realtime_ns = clock_ns(CLOCK_REALTIME);
    if (s->config->inputs) {
        s->inputs = inputs_read(PROG, s->config->inputs);
        if (!s->inputs) {
            return LAUNCH_FAILED;
        }
        s->start_ns = s->inputs->start_ns;
        s->start_realtime_ns = s->inputs->start_realtime_ns;
    }
    return 0;
}

/* The tools may execute the program again; without the mark only cannoli-expand does. */
static void mark_light(const struct session *s)
{
    char value[32];

    if (s->config->light) {
        snprintf(value, sizeof(value), "%" PRIu64, s->start_realtime_ns);
        fsetxattr(s->out.fd, LIGHT_MARK, value, strlen(value), 0);
    }
}

/* What is known of the trace before the guest runs. */
static struct ctr_meta meta_of(const struct session *s)
{
    int argc = 0;

    while (s->config->command[argc]) {
        argc++;
    }
    return (struct ctr_meta){
        .recorder = PROG " " CANNOLI_VERSION,
        .argc = argc,
        .argv = (const char *const *)s->config->command,
        .selection = s->config->selection->text,
        /* The chunks that it was in are not known. */
        .dropped_insns = s->inputs ? s->inputs->dropped : 0,
        .dropped_chunks = s->inputs && s->inputs->dropped,
        .start_realtime_ns = s->start_realtime_ns,
        .start_ns = s->start_ns,
    };
}

/* ---------------------------------------------------------------- the loop */

static void end_recording(struct session *s, enum ending why)
{
    if (!s->ending) {
        s->ending = why;
    }
}

/* The first traced thread is there: start the trace. */
static struct pipeline *begin_trace(void *arg, const struct mempipe_target *target)
{
    struct session *s = arg;
    struct pipeline_config config = {
        .host = &s->host,
        .dict = s->dict,
        .ring = s->ring,
        .journal = s->journal,
        .fd = s->out.fd,
        .output = strcmp(s->config->output, "-") ? s->config->output : "cannoli.ctr",
        .workers = s->config->workers,
        .processors = tool_default_jobs(),
        .level = s->config->level,
        .meta = meta_of(s),
        .inputs = s->inputs,
    };

    if (s->config->discard) {
        return NULL;
    }
    pipeline_target(&config.meta, &s->host, target);
    s->end_error = pipeline_new(&s->pipeline, &config, &s->end_diag);
    if (s->end_error) {
        s->pipeline = NULL;
        end_recording(s, ENDING_OUTPUT);
    }
    return s->pipeline;
}

/* Waits for children that have ended or stopped; only the command is of interest. */
static void reap(struct session *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != s->root) {
            continue;
        }
        if (!WIFSTOPPED(status)) {
            s->root = 0;
            s->root_status = status;
            drain_set_root(s->drain, pid, status);
        } else if (WSTOPSIG(status) == SIGTSTP || WSTOPSIG(status) == SIGTTIN ||
                   WSTOPSIG(status) == SIGTTOU) {
            /* Job control: whoever waits for us is to see that it has stopped. */
            status_clear(&s->status);
            signals_stop_self(WSTOPSIG(status));
            kill(s->root, SIGCONT);
        }
    }
}

static void numbers(void *arg, struct status_numbers *n)
{
    struct session *s = arg;
    struct pipeline_stats out = {0};
    struct drain_totals totals;

    if (s->pipeline) {
        pipeline_stats(s->pipeline, &out);
    }
    drain_get_totals(s->drain, &totals);
    *n = (struct status_numbers){
        .insns = out.out.insns,
        .loads = out.out.loads,
        .stores = out.out.stores,
        .bytes = out.out.bytes,
        .files = out.out.embed_bytes,
        .processes = totals.processes,
        .threads = totals.threads,
        .left = s->config->follow & MEMPIPE_FOLLOW_EXEC ? 0 : totals.left,
        .incomplete = out.incomplete,
        .ring = s->ring != NULL,
        .dropped = out.ring.dropped_insns,
        .kept = out.ring.insns,
        .waits = totals.waits,
        .wait_ns = totals.wait_ns,
    };
}

static bool is_guest(void *arg, pid_t pid)
{
    const struct session *s = arg;

    return guests_is_ours(&s->guests, pid);
}

/* Ends what is recorded; returns how many processes there were. */
static unsigned kill_guests(struct session *s)
{
    /* Before it attaches itself, only its parent knows it. */
    unsigned n = s->root && kill(s->root, SIGKILL) == 0;

    return n + attached_kill_all(&s->watchdog.shared->attached);
}

/* A process died in the code of a library: describes that; false: none did. */
static bool died_in_library(struct session *s)
{
    char path[MEMPIPE_PATH_BYTES], process[32] = "", how[48] = "exited";
    struct drain_library_end end;

    if (!drain_get_library_end(s->drain, &end)) {
        return false;
    }
    control_library(&s->requests.control, end.library, path, sizeof(path));
    if (end.pid != s->command_pid) {
        snprintf(process, sizeof(process), " (process %d)", (int)end.pid);
    }
    if (end.how < (uint32_t)SIGRTMIN && sigabbrev_np((int)end.how)) {
        snprintf(how, sizeof(how), "was ended by SIG%s", sigabbrev_np((int)end.how));
    } else if (end.how != MEMPIPE_INSIDE_EXIT) {
        snprintf(how, sizeof(how), "was ended by signal %u", end.how);
    }
    snprintf(s->failure, sizeof(s->failure), "QEMU%s %s inside %s%s%s", process, how,
             *path ? "'" : "a library that chooses", path, *path ? "'" : "");
    return true;
}

static void look_for_reasons_to_end(struct session *s)
{
    struct ctr_diag diag;
    int err;

    signals_sort(is_guest, s);
    s->end_signal = signals_end_wanted();
    if (s->end_signal) {
        end_recording(s, ENDING_SIGNAL);
    }
    if (s->pipeline && !s->ending && (err = pipeline_error(s->pipeline, &diag)) != 0) {
        s->end_error = err;
        s->end_diag = diag;
        end_recording(s, err == -CTR_E_IO ? ENDING_OUTPUT : ENDING_EVENTS);
    }
    if (!s->ending &&
        (control_failure(&s->requests.control, s->failure, sizeof(s->failure)) ||
         died_in_library(s))) {
        end_recording(s, ENDING_CHOICE);
    }
}

static void loop(struct session *s)
{
    bool broken = false;

    for (;;) {
        uint32_t seen = mempipe_host_doorbell(&s->host);
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        unsigned killed = 0;
        int got = 0, nap;

        s->rounds++;
        if (signals_child_changed()) {
            reap(s);
        }
        look_for_reasons_to_end(s);
        requests_round(&s->requests, now);
        if (s->ending) {
            killed = kill_guests(s);
        }
        if (!broken) {
            struct ctr_diag diag = {0};
            got = drain_round(s->drain, now, &diag);
            if (got < 0) {
                broken = true;
                s->end_error = got;
                s->end_diag = diag;
                end_recording(s, ENDING_EVENTS);
                continue;
            }
        }
        if (!s->root && !got && (broken ? !killed : drain_is_over(s->drain))) {
            return;
        }
        if (status_is_due(&s->status, now)) {
            struct status_numbers n;
            numbers(s, &n);
            status_draw(&s->status, now, &n);
        }
        if (!got) {
            int patience = s->ending ? 10 : drain_patience(s->drain);
            if (s->status.on && patience > 500) {
                patience = 500;
            }
            mempipe_host_wait(&s->host, seen, patience);
        } else if (!s->ending && (nap = drain_nap_us(s->drain)) > 0) {
            mempipe_host_nap(&s->host, nap);
        }
    }
}

/* -------------------------------------------------------------- at the end */

static void report_failure(struct session *s, int err, const struct ctr_diag *diag)
{
    status_begin_message(&s->status);
    if (err == -CTR_E_IO) {
        if (diag->sys_errno != EPIPE) {
            tool_error(PROG, "cannot write '%s': %s; the recording ends here",
                       output_name(s), strerror(diag->sys_errno));
        }
    } else if (diag->text[0]) {
        char at[32] = "";

        if (diag->off != CTR_NO_OFF) {
            snprintf(at, sizeof(at), " at %#llx", (unsigned long long)diag->off);
        }
        tool_error(PROG, "the recording ends here: %s: %s (%s%s)", ctr_strerror(err),
                   diag->text, diag->field, at);
    } else {
        tool_error(PROG, "the recording ends here: %s", ctr_strerror(err));
    }
}

static int exit_status(const struct session *s)
{
    switch (s->ending) {
    case ENDING_SIGNAL:
        return 128 + s->end_signal;
    case ENDING_OUTPUT:
        return s->end_error == -CTR_E_IO && s->end_diag.sys_errno == EPIPE
                   ? 128 + SIGPIPE
                   : LAUNCH_FAILED;
    case ENDING_EVENTS:
    case ENDING_CHOICE:
        return LAUNCH_FAILED;
    case ENDING_NOT:
        break;
    }
    return WIFSIGNALED(s->root_status) ? 128 + WTERMSIG(s->root_status)
                                       : WEXITSTATUS(s->root_status);
}

/* QEMU failed to load a library, or in one, and reported that or died of it. */
static void look_for_failed_library(struct session *s)
{
    char *line, *path;

    if (s->ending) {
        return;
    }
    if (control_failure(&s->requests.control, s->failure, sizeof(s->failure)) ||
        died_in_library(s)) {
        s->ending = ENDING_CHOICE;
        return;
    }
    line = control_loading(&s->requests.control);
    path = line ? selection_path(line, NULL) : NULL;
    if (path) {
        snprintf(s->failure, sizeof(s->failure), "QEMU ended while it loaded '%s'", path);
        s->ending = ENDING_CHOICE;
    }
    free(path);
    free(line);
}

/* Which threads did the work, and whether any had to wait for a lock: with --verbose. */
static void report_efforts(struct session *s, const struct status_numbers *n)
{
    struct pipeline_thread t;
    struct effort e;

    status_begin_message(&s->status);
    effort_of_children(&e);
    effort_print(PROG, "program", &e, "waited %llu times, %.3f s",
                 (unsigned long long)n->waits, (double)n->wait_ns / 1e9);
    effort_of_thread(&e);
    effort_print(PROG, "dispatcher", &e, "%llu rounds", (unsigned long long)s->rounds);
    for (unsigned i = 0; s->pipeline && pipeline_thread(s->pipeline, i, &t); i++) {
        char who[24];

        snprintf(who, sizeof(who), "worker %u", i + 1);
        effort_print(PROG, i < s->config->workers ? who : "writer", &t.effort,
                     "%llu jobs; lock taken %llu times, busy %llu times",
                     (unsigned long long)t.jobs, (unsigned long long)t.locked,
                     (unsigned long long)t.contended);
    }
    tool_error(PROG, "at most %llu KiB of memory", (unsigned long long)effort_peak_kib());
}

static void print_line(void *arg, const char *text)
{
    struct session *s = arg;

    status_begin_message(&s->status);
    tool_error(PROG, "%s", text);
}

static int finish(struct session *s)
{
    struct ctr_diag diag = {0};
    struct status_numbers n;
    int status, err = 0, unwritten = 0;

    status_clear(&s->status);
    if (s->pipeline) {
        err = pipeline_finish(s->pipeline, &diag);
        if (!s->ending && pipeline_error(s->pipeline, &s->end_diag)) {
            /* It came with the last chunks, when the guest had ended. */
            s->end_error = pipeline_error(s->pipeline, &s->end_diag);
            end_recording(s, s->end_error == -CTR_E_IO ? ENDING_OUTPUT : ENDING_EVENTS);
        }
        unwritten = output_close(&s->out, true);
        if (unwritten && !err) {
            err = -CTR_E_IO;
            diag = (struct ctr_diag){.code = CTR_E_IO, .sys_errno = -unwritten};
        }
    }
    look_for_failed_library(s);
    numbers(s, &n);
    if (s->config->verbose) {
        report_efforts(s, &n);
    }
    status = exit_status(s);
    if (s->ending == ENDING_CHOICE) {
        status_begin_message(&s->status);
        tool_error(PROG, "%s", s->failure);
    } else if (s->ending == ENDING_OUTPUT || s->ending == ENDING_EVENTS) {
        report_failure(s, s->end_error, &s->end_diag);
    } else if (err) {
        s->end_error = err;
        s->end_diag = diag;
        s->ending = ENDING_OUTPUT;
        status = exit_status(s);
        report_failure(s, err, &diag);
    } else if (!n.threads && !s->ending) {
        if (!s->config->quiet) {
            status_begin_message(&s->status);
            tool_error(PROG, "'%s' ended before a program ran: nothing was recorded",
                       s->config->command[0]);
        }
    } else if (s->pipeline && s->config->selection->text && !n.insns && !s->ending) {
        status_begin_message(&s->status);
        tool_error(PROG, "no instruction was recorded: none was chosen by %s",
                   s->config->selection->text);
    } else if (s->pipeline && !s->config->quiet) {
        status_summary(&s->status, clock_ns(CLOCK_MONOTONIC), &n, output_name(s),
                       s->config->selection->text);
    }
    if (n.threads && !s->ending) {
        names_report(&s->config->selection->names, print_line, s);
    }
    return status;
}

/* Whether the user sees how the recording goes. */
static bool shows_progress(const struct session_config *c)
{
    return !c->quiet && !c->discard &&
           (c->progress || status_terminal_is_free(!strcmp(c->output, "-")));
}

static void begin_message(void *arg)
{
    struct session *s = arg;

    status_begin_message(&s->status);
}

/* Of a light trace, what may not repeat itself is named when it is there. */
static void on_mapped(void *arg, int32_t pid, uint64_t time_ns, const struct ctr_map *m)
{
    struct session *s = arg;
    char name[256];

    if (outside_found(&s->outside, m, name, sizeof(name))) {
        status_begin_message(&s->status);
        tool_error(
            PROG,
            "process %d has mapped %s: what programs that are not recorded write there "
            "is not in a light trace; what ran before (cannoli-expand --to=%.6fs) does "
            "not depend on it",
            pid, name, (double)(time_ns - s->start_ns) / 1e9);
    }
}

static int dump_ring(void *arg, const char *file, char *name, size_t size,
                     struct ctr_diag *diag)
{
    struct session *s = arg;

    return drain_dump(s->drain, clock_ns(CLOCK_MONOTONIC), file, name, size, diag);
}

static int record(struct session *s, const struct launch_plan *plan)
{
    struct launch_env env = {
        .signals = &s->signals,
        .nofile = &s->nofile,
        .host = &s->host,
        .stdout_fd =
            s->config->discard || strcmp(s->config->output, "-") ? -1 : STDERR_FILENO,
        .no_aslr = s->config->no_aslr,
    };
    struct drain_ops ops = {.begin = begin_trace,
                            .mapped =
                                s->config->light && !s->config->quiet ? on_mapped : NULL,
                            .arg = s};
    struct requests_config requests = {
        .host = &s->host,
        .socket = s->config->control,
        .lines = s->config->selection->lines,
        .output = s->config->output,
        .selection = s->config->selection->text,
        .command = s->config->command,
        .target = target_of(s, plan),
        .numbers = numbers,
        .dump = s->ring ? dump_ring : NULL,
        .quiet = s->config->quiet,
        .begin_message = begin_message,
        .arg = s,
    };
    int status = LAUNCH_FAILED, err;

    status_init(&s->status, shows_progress(s->config), s->start_ns);
    if (ctr_dict_new(&s->dict, s->events) ||
        guests_open(&s->guests, &s->host, &s->watchdog.shared->attached)) {
        tool_error(PROG, "out of memory");
        goto out_dict;
    }
    s->drain = drain_new(&s->host, &s->guests, s->dict, s->config->workers, &ops);
    if (!s->drain) {
        tool_error(PROG, "out of memory");
        goto out_guests;
    }
    drain_set_embed(s->drain, s->config->embed);
    if (s->inputs) {
        drain_set_again(s->drain);
    }
    requests.start_ns = s->start_ns;
    err = requests_open(&s->requests, &requests);
    if (err) {
        tool_error(PROG, "cannot make the socket '%s': %s", s->config->control,
                   err == -EADDRINUSE ? "there is one already, or another file"
                                      : strerror(-err));
        goto out_drain;
    }
    status = launch_start(plan, &env, &s->root);
    s->command_pid = s->root;
    if (status == 0) {
        drain_set_root(s->drain, s->root, DRAIN_STATUS_UNKNOWN);
        loop(s);
        status = finish(s);
    } else if (s->root > 0) {
        waitpid(s->root, NULL, 0);
    }
    requests_close(&s->requests);
    pipeline_free(s->pipeline);
    outside_fini(&s->outside);
out_drain:
    drain_free(s->drain);
out_guests:
    guests_close(&s->guests);
out_dict:
    ctr_dict_free(s->dict);
    return status;
}

/* What was chosen may be for machines only, or for programs only. */
static int check_kind(const struct session_config *config, const struct launch_plan *plan)
{
    const struct selection *sel = config->selection;
    const bool exec = config->follow & MEMPIPE_FOLLOW_EXEC;

    if (plan->system && sel->program) {
        tool_error(PROG,
                   "names of files and functions (%s) are for programs: the code of a "
                   "machine is chosen by address, as in --range=0x1000-0x2000",
                   sel->program);
    } else if (plan->system && (exec || config->program_event)) {
        tool_error(
            PROG, "%s%s is for programs, not for machines",
            exec ? "" : "--events=", exec ? "--follow-exec" : config->program_event);
    } else if (plan->system && config->light) {
        tool_error(PROG, "--light is for programs");
    } else if (plan->system && sel->nr_contexts &&
               !launch_machine_has_contexts(plan->target)) {
        tool_error(PROG, "--context: address spaces of %s machines are not known",
                   plan->target);
    } else if (plan->system && config->order) {
        tool_error(PROG, "--order is for programs: vCPUs run one at a time unless QEMU "
                         "runs with thread=multi");
    } else if (!plan->system && (sel->machine || config->machine_event)) {
        tool_error(PROG, "%s%s is for machines (qemu-system-ARCH)",
                   sel->machine ? "" : "--events=",
                   sel->machine ? sel->machine : config->machine_event);
    } else {
        return 0;
    }
    return TOOL_USAGE;
}

/* The status of a program that is executed again, any process of which may have done something
 * else. */
static int status_again(const struct session *s, int status)
{
    const uint32_t runs = __atomic_load_n(&s->host.shared->turns.runs, __ATOMIC_RELAXED);

    return s->inputs && runs == UINT32_MAX ? INPUTS_STATUS_DIFFERS : status;
}

int session_run(const struct session_config *config)
{
    struct session s = {.config = config, .out = OUTPUT_NONE};
    struct rescue_will will;
    struct launch_plan plan;
    bool live = false;
    int status, err;

    status = launch_plan_make(&plan, config->command, config->qemu_dir,
                              config->inputs != NULL);
    if (status) {
        goto out_plan;
    }
    if (config->verbose) {
        tool_error(PROG, "QEMU: %s", plan.qemu);
    }
    status = check_kind(config, &plan);
    if (status) {
        goto out_plan;
    }
    if (!attached_possible()) {
        tool_error(PROG, "/proc is not mounted: without it nobody knows which processes "
                         "are recorded");
        status = LAUNCH_FAILED;
        goto out_plan;
    }
    s.events = config->events & ~(plan.system ? CTR_EVENTS_PROGRAM : CTR_EVENTS_MACHINE);
    s.events = (plan.system ? !plan.parallel : config->order)
                   ? s.events | CTR_EVENTS_ORDER
                   : s.events & ~CTR_EVENTS_ORDER;
    s.events |= config->selection->tasks ? CTR_EVENTS_TASK : 0;
    s.events |= config->selection->nr_contexts ? CTR_EVENTS_CTX | CTR_EVENTS_TASK : 0;
    if (plan.system && !launch_machine_has_contexts(plan.target)) {
        s.events &= ~CTR_EVENTS_CTX;
    }
    if (!(s.events & CTR_EVENTS_MEM)) {
        s.events &= ~CTR_EVENTS_PHYS;
    }
    if (config->ring) {
        s.events &= ~CTR_EVENTS_RAM; /* it comes first: a ring would drop it */
    }
    if (config->ring || config->no_key_frames || !(s.events & CTR_EVENTS_VAL)) {
        s.events &= ~CTR_EVENTS_KEY; /* what a ring keeps is short */
    }
    status = check_libraries(&s, &plan);
    if (status) {
        goto out_plan;
    }
    if (!config->discard) {
        status = open_output(&s, &live);
        if (status) {
            goto out_output;
        }
    }
    raise_nofile(&s);
    signals_install(&s.signals, config->control ? SIGNALS_BOTH
                                : config->ring  ? SIGNALS_USR2
                                                : SIGNALS_NO_USER);
    status = open_pipe(&s, live);
    if (status) {
        goto out_signals;
    }
    status = open_ring(&s);
    if (status) {
        goto out_host;
    }
    status = set_start(&s);
    if (status) {
        goto out_ring;
    }
    mark_light(&s);
    will = (struct rescue_will){.ring = s.ring,
                                .journal = s.journal,
                                .name = output_name(&s),
                                .out = s.out,
                                .workers = config->workers,
                                .level = config->level,
                                .meta = meta_of(&s)};
    err = watchdog_start(&s.watchdog, &s.host, s.ring ? &will : NULL, config->argc,
                         config->argv);
    if (err) {
        tool_error(PROG, "cannot fork: %s", strerror(-err));
        status = LAUNCH_FAILED;
        goto out_ring;
    }
    signals_set_bell(&s.host, &s.watchdog.shared->attached.file);
    status = status_again(&s, record(&s, &plan));
    signals_set_bell(NULL, NULL);
    watchdog_stop(&s.watchdog);

out_ring:
    journal_free(s.journal);
    ring_free(s.ring);
out_host:
    mempipe_host_close(&s.host);
out_signals:
    signals_restore(&s.signals);
out_output:
    output_close(&s.out, false);
out_plan:
    inputs_free(s.inputs);
    launch_plan_free(&plan);
    return status;
}
