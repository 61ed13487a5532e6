/* SPDX-License-Identifier: MIT */
/*
 * cannoli-record: records what a program does under QEMU.  This file is its
 * command line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cannoli/mempipe.h"
#include "common/options.h"
#include "common/quantity.h"
#include "jitter_check.h"
#include "ring.h"
#include "session.h"

#define DEFAULT_OUTPUT "cannoli.ctr"
#define DEFAULT_LEVEL 1
#define DEFAULT_DATA_LIMIT 4096
#define MAX_LEVEL 19
#define MAX_DEFAULT_WORKERS 8

enum {
    OPT_LEVEL = TOOL_OPT_LONG,
    OPT_QEMU_DIR,
    OPT_DATA_LIMIT,
    OPT_NO_FOLLOW_FORKS,
    OPT_FOLLOW_EXEC,
    OPT_DISCARD,
    OPT_CONTROL,
    OPT_RING,
    OPT_PROGRESS,
    OPT_NO_ASLR,
    OPT_NO_KEY_FRAMES,
    OPT_EMBED,
    OPT_ORDER,
    OPT_QUANTUM,
    OPT_LIGHT,
    OPT_INPUTS,
};

/* Some tenths of a millisecond. */
#define DEFAULT_QUANTUM 200000u
#define MAX_QUANTUM 1000000000u

/*
 * An access has its place in the execution, and a value in an access. From the values of
 * a machine its memory can be rebuilt, with what else wrote there.
 */
static const struct {
    const char *name;
    unsigned events;
} kinds[] = {
    {"exec", CTR_EVENTS_EXEC},
    {"mem", CTR_EVENTS_MEM},
    {"val",
     CTR_EVENTS_MEM | CTR_EVENTS_VAL | CTR_EVENTS_RAM | CTR_EVENTS_DMA | CTR_EVENTS_KEY},
    {"reg", CTR_EVENTS_REG},
    {"sys", CTR_EVENTS_SYS},
    {"map", CTR_EVENTS_MAP},
    {"thr", CTR_EVENTS_THR},
    {"time", CTR_EVENTS_TIME},
    {"int", CTR_EVENTS_INT},
    {"ctx", CTR_EVENTS_CTX},
    {"phys", CTR_EVENTS_MEM | CTR_EVENTS_PHYS},
    {"pwr", CTR_EVENTS_PWR},
    {"ram", CTR_EVENTS_RAM},
    {"dma", CTR_EVENTS_DMA},
    {"io", CTR_EVENTS_IO},
    {"task", CTR_EVENTS_TASK},
    {"all", CTR_EVENTS_ALL & ~CTR_EVENTS_INPUT},
};

static const struct words event_words = WORDS_OF_NAMES("event", kinds);

static const struct {
    const char *name;
    enum embed_mode mode;
} embeds[] = {{"none", EMBED_NONE}, {"touched", EMBED_TOUCHED}, {"all", EMBED_ALL}};

static const struct words embed_words = WORDS_OF_NAMES("choice", embeds);

static const struct tool_option table[] = {
    {'o', "output", "FILE",
     "write the trace to FILE; '-' is standard output\n"
     "(default " DEFAULT_OUTPUT ")"},
    {'e', "events", "LIST",
     "what to record, beside exec: mem, val, reg, thr; of\n"
     "programs sys, map, time; of machines int, ctx, phys,\n"
     "pwr, ram, dma, io, task; all (default: all but val,\n"
     "reg and ram)",
     &event_words},
    {OPT_DATA_LIMIT, "data-limit", "SIZE",
     "keep SIZE bytes of each buffer that a system call\n"
     "reads or writes, or 'all' (default 4KiB)"},
    {OPT_NO_FOLLOW_FORKS, "no-follow-forks", NULL, "do not record child processes"},
    {OPT_FOLLOW_EXEC, "follow-exec", NULL,
     "run programs that the program executes under QEMU,\n"
     "and record them, too"},
    {OPT_ORDER, "order", "[=SEED]",
     "one thread of all runs at a time, so that what threads\n"
     "do has one order; with SEED, a number, turns are of\n"
     "varying length: other seeds, other orders"},
    {OPT_QUANTUM, "quantum", "N",
     "with --order: instructions of a turn, or the most of\n"
     "one (default 200000)"},
    {OPT_LIGHT, "light", NULL,
     "record exec, and all that comes from outside, so that\n"
     "cannoli-expand can make the rest by executing the\n"
     "program again; -e adds to it"},
    {OPT_INPUTS, "inputs", "DIR",
     "execute a program again with the inputs in DIR\n"
     "(for cannoli-expand)"},
    {OPT_NO_ASLR, "no-aslr", NULL,
     "run the program without address space layout\n"
     "randomisation: the same addresses each time"},
    {OPT_NO_KEY_FRAMES, "no-key-frames", NULL,
     "with val: do not record pages of memory now and then;\n"
     "what memory held is found more slowly"},
    {OPT_EMBED, "embed", "WHICH",
     "put the files that the program maps into the trace:\n"
     "none, touched (those with code, and what it accesses\n"
     "of others), all (default: touched with val or reg, else\n"
     "none)",
     &embed_words},
    {OPT_LEVEL, "level", "N", "compression, 1 (default) to 19"},
    {'j', "jobs", "N", "compress with N threads (default: one per processor)"},
    {OPT_QEMU_DIR, "qemu-dir", "DIR", "take qemu-ARCH from DIR"},
    {OPT_PROGRESS, "progress", NULL,
     "show how the recording goes, also while the program\n"
     "uses the terminal (default: only if its input and\n"
     "output are elsewhere), or in lines if there is none"},
    {'q', "quiet", NULL, "no progress, no summary"},
    {'v', "verbose", NULL, "say what is done"},
    {OPT_RING, "ring", "SIZE",
     "keep the newest SIZE of the trace in memory, and write\n"
     "it at the end, or on request"},
    {OPT_DISCARD, "discard", NULL,
     "make all events and throw them away: no trace\n"
     "(to measure what recording costs the program)"},
    TOOL_OPTIONS_COMMON,
    {0, NULL, NULL, "Record only (any of those of one kind; of several kinds, all)"},
    SELECTION_OPTIONS,
    {OPT_CONTROL, "control", "[=SOCKET]",
     "let cannoli-ctl change these while the program runs\n"
     "(default FILE.ctl)"},
    {0},
};

static bool parse_events(const char *text, struct session_config *config)
{
    config->events = CTR_EVENTS_EXEC | CTR_EVENTS_MARK;
    config->program_event = config->machine_event = NULL;
    while (text) {
        size_t i = words_next(&event_words, &text);

        if (i == event_words.n) {
            return false;
        }
        config->events |= kinds[i].events;
        if (!(kinds[i].events & ~CTR_EVENTS_PROGRAM)) {
            config->program_event = kinds[i].name;
        } else if (kinds[i].events & CTR_EVENTS_MACHINE &&
                   !(kinds[i].events & ~(CTR_EVENTS_MACHINE | CTR_EVENTS_MEM))) {
            config->machine_event = kinds[i].name;
        }
    }
    return true;
}

/* A size, or "all". */
static bool parse_limit(const char *text, uint32_t *bytes)
{
    uint64_t v;

    if (!strcmp(text, "all")) {
        *bytes = UINT32_MAX;
        return true;
    }
    if (!quantity_parse_size(text, &v) || v >= UINT32_MAX) {
        return false;
    }
    *bytes = (uint32_t)v;
    return true;
}

/* All that a program gets from outside is recorded, whole. */
static int settle_light(const char *prog, struct session_config *config,
                        const struct selection *sel, bool events_given)
{
    const char *other = sel->text || sel->coverage     ? "a selection of what is recorded"
                        : config->control              ? "--control"
                        : config->ring                 ? "--ring"
                        : !strcmp(config->output, "-") ? "'-o -'"
                                                       : NULL;

    if (other) {
        return tool_usage_error(prog,
                                "--light needs all that the program does, in a file: not "
                                "with %s",
                                other);
    }
    if (!events_given) {
        config->events &= ~CTR_EVENTS_MEM;
    }
    config->events |= CTR_EVENTS_EXEC | CTR_EVENTS_SYS | CTR_EVENTS_MAP | CTR_EVENTS_THR |
                      CTR_EVENTS_INPUT;
    config->data_limit = UINT32_MAX;
    config->embed = EMBED_ALL;
    config->order = true;
    return 0;
}

/* What is recorded, and where the socket is, once all options are known. */
static int settle(struct tool_options *o, struct session_config *config,
                  struct selection *sel, bool events_given, char **path)
{
    const unsigned data = CTR_EVENTS_MEM | CTR_EVENTS_VAL | CTR_EVENTS_REG;
    bool control = config->control || sel->paused;
    int status = selection_finish(sel, o->prog);

    if (status) {
        return status;
    }
    if (sel->coverage && events_given && (config->events & data)) {
        return tool_usage_error(
            o->prog, "--coverage records which blocks run: no mem, val or reg");
    }
    if (sel->coverage && !events_given) {
        config->events =
            CTR_EVENTS_EXEC | CTR_EVENTS_MAP | CTR_EVENTS_THR | CTR_EVENTS_MARK;
    }
    if (config->light) {
        status = settle_light(o->prog, config, sel, events_given);
        if (status) {
            return status;
        }
    }
    if (config->embed == EMBED_BY_EVENTS) {
        config->embed = config->events & (CTR_EVENTS_VAL | CTR_EVENTS_REG) ? EMBED_TOUCHED
                                                                           : EMBED_NONE;
    }
    if (config->ring && config->discard) {
        return tool_usage_error(o->prog,
                                "--discard keeps nothing, so there is no --ring");
    }
    if (config->progress && config->discard) {
        return tool_usage_error(o->prog,
                                "--discard counts nothing, so there is no --progress");
    }
    if (control && (!config->control || !*config->control)) {
        if (!strcmp(config->output, "-")) {
            return tool_usage_error(
                o->prog, "with '-o -' say where the socket is: --control=SOCKET");
        }
        if (asprintf(path, "%s.ctl", config->output) < 0) {
            tool_error(o->prog, "out of memory");
            return 125;
        }
        config->control = *path;
    }
    return -1;
}

/* Returns -1 to go on, or the status to exit with. */
static int parse(struct tool_options *o, struct session_config *config,
                 struct selection *sel, char **path)
{
    bool events_given = false;
    uint64_t v;

    for (;;) {
        int key = tool_options_next(o), status;

        if (key >= SELECTION_OPT && key < SELECTION_OPT_END) {
            status = selection_option(sel, o, key);
            if (status) {
                return status;
            }
            continue;
        }
        switch (key) {
        case TOOL_OPTIONS_END:
            return settle(o, config, sel, events_given, path);
        case 'o':
            if (!strcmp(o->arg, "--")) {
                return tool_usage_error(o->prog, "-o has no file name before '--'");
            }
            config->output = o->arg;
            break;
        case 'e':
            if (!parse_events(o->arg, config)) {
                return tool_bad_argument(o, key);
            }
            events_given = true;
            break;
        case OPT_CONTROL:
            config->control = o->arg ? o->arg : "";
            break;
        case OPT_DATA_LIMIT:
            if (!parse_limit(o->arg, &config->data_limit)) {
                return tool_usage_error(o->prog, "'%s' is no size below 4 GiB", o->arg);
            }
            break;
        case OPT_RING:
            if (!quantity_parse_size(o->arg, &config->ring) ||
                config->ring < RING_MIN_BYTES || config->ring > RING_MAX_BYTES) {
                return tool_usage_error(o->prog, "'%s' is no size from 1 MiB to 1024 GiB",
                                        o->arg);
            }
            break;
        case OPT_NO_FOLLOW_FORKS:
            config->follow &= ~MEMPIPE_FOLLOW_FORK;
            break;
        case OPT_FOLLOW_EXEC:
            config->follow |= MEMPIPE_FOLLOW_EXEC;
            break;
        case OPT_LEVEL:
            if (!tool_parse_u64(o->arg, &v) || v < 1 || v > MAX_LEVEL) {
                return tool_usage_error(o->prog, "'%s' is no level from 1 to %d", o->arg,
                                        MAX_LEVEL);
            }
            config->level = (int)v;
            break;
        case 'j':
            if (!tool_parse_jobs(o->arg, &config->workers) || config->workers > 64) {
                return tool_usage_error(
                    o->prog, "'%s' is no number of threads from 1 to 64", o->arg);
            }
            break;
        case OPT_QEMU_DIR:
            config->qemu_dir = o->arg;
            break;
        case OPT_NO_ASLR:
            config->no_aslr = true;
            break;
        case OPT_ORDER:
            if (o->arg && !tool_parse_u64(o->arg, &config->seed)) {
                return tool_bad_argument(o, key);
            }
            config->order = true;
            config->vary = o->arg != NULL;
            break;
        case OPT_QUANTUM:
            if (!tool_parse_u64(o->arg, &v) || v < 1 || v > MAX_QUANTUM) {
                return tool_usage_error(o->prog,
                                        "'%s' is no number of instructions from 1 to %u",
                                        o->arg, MAX_QUANTUM);
            }
            config->quantum = (uint32_t)v;
            break;
        case OPT_LIGHT:
            config->light = true;
            break;
        case OPT_INPUTS:
            config->inputs = o->arg;
            break;
        case OPT_NO_KEY_FRAMES:
            config->no_key_frames = true;
            break;
        case OPT_EMBED:
            v = words_find(&embed_words, o->arg, strlen(o->arg));
            if (v == embed_words.n) {
                return tool_bad_argument(o, key);
            }
            config->embed = embeds[v].mode;
            break;
        case OPT_PROGRESS:
            config->progress = true;
            break;
        case 'q':
            config->quiet = true;
            break;
        case 'v':
            config->verbose = true;
            break;
        case OPT_DISCARD:
            config->discard = true;
            break;
        case TOOL_OPT_HELP:
            tool_options_help(o, stdout);
            return TOOL_OK;
        case TOOL_OPT_VERSION:
            tool_print_version(o->prog);
            return TOOL_OK;
        case TOOL_OPT_COMPLETION:
            return tool_print_completion(o);
        default:
            return TOOL_USAGE;
        }
    }
}

/*
 * Descriptors 0 to 2 may be closed.  They are then occupied until the end, so that no
 * file of ours gets them, and closed again in the guest.
 */
static void occupy_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0) {
            return;
        }
    }
}

/* In `cannoli-record PROGRAM -o FILE.ctr' the option goes to the program. */
static void warn_of_output(const char *prog, char **command)
{
    for (char **arg = command; arg[0] && arg[1]; arg++) {
        size_t n = strlen(arg[1]);

        if (!strcmp(arg[0], "-o") && n > 4 && !strcmp(arg[1] + n - 4, ".ctr")) {
            tool_error(prog,
                       "'-o %s' goes to the program, the trace to " DEFAULT_OUTPUT
                       ": options of %s come before the command",
                       arg[1], prog);
        }
    }
}

int main(int argc, char **argv)
{
    struct session_config config = {
        .output = DEFAULT_OUTPUT,
        .events = CTR_EVENTS_ALL & ~(CTR_EVENTS_VAL | CTR_EVENTS_REG | CTR_EVENTS_RAM |
                                     CTR_EVENTS_KEY | CTR_EVENTS_INPUT),
        .data_limit = DEFAULT_DATA_LIMIT,
        .follow = MEMPIPE_FOLLOW_FORK,
        .quantum = DEFAULT_QUANTUM,
        .embed = EMBED_BY_EVENTS,
        .level = DEFAULT_LEVEL,
        .argc = argc,
        .argv = argv,
    };
    struct selection sel = SELECTION_INIT;
    char *path = NULL;
    struct tool_options o = {
        .prog = "cannoli-record",
        .usage = "[OPTION]... -- COMMAND [ARGUMENT]...",
        .about =
            "Records everything that a program does under QEMU: instructions, memory\n"
            "accesses, system calls, and more.  COMMAND is a PROGRAM, whose file says\n"
            "which QEMU runs it, or 'qemu-ARCH [QEMU-OPTION]... PROGRAM'.\n",
        .table = table,
        .argc = argc,
        .argv = argv,
        .stop_at_operand = true,
    };
    int status;

    if (argc > 0 && !strcmp(argv[0], JITTER_CHECK_NAME)) {
        return jitter_check_main(argc, argv);
    }
    occupy_standard_descriptors();
    config.workers = tool_default_jobs();
    if (config.workers > MAX_DEFAULT_WORKERS) {
        config.workers = MAX_DEFAULT_WORKERS;
    }
    config.selection = &sel;
    status = parse(&o, &config, &sel, &path);
    tool_options_fini(&o);
    if (status == TOOL_OK && tool_close_stdout(o.prog, NULL, status)) {
        status = 125; /* of --help or --version */
    }
    config.command = argv + optind;
    if (status < 0 && (!config.command[0] || !config.command[0][0])) {
        status =
            strcmp(config.output, DEFAULT_OUTPUT)
                ? tool_usage_error(o.prog, "no command to record; '%s' is the file of -o",
                                   config.output)
                : tool_usage_error(o.prog, "no command to record");
    } else if (status < 0) {
        /* whoever ends the options by `--' means it */
        if (!strcmp(config.output, DEFAULT_OUTPUT) &&
            strcmp(argv[optind - 1], "--") != 0) {
            warn_of_output(o.prog, config.command);
        }
        status = session_run(&config);
    }
    free(path);
    selection_free(&sel);
    return status;
}
