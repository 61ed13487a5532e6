/* SPDX-License-Identifier: MIT */
/* The options that choose which events are printed and how; see dump_options.h. */
#include "dump/dump_options.h"

#include <string.h>
#include <unistd.h>

#include "common/quantity.h"

/* Bytes shown of a system call's buffer; strace's default. */
#define DEFAULT_STRING_MAX 32u

/* What a word of --events adds. */
static const struct kind_name {
    const char *name;
    uint32_t kinds;
    bool values, times, signals_only, phys;
} kind_names[] = {
    {"exec", CTR_KIND_EXEC},
    {"load", CTR_KIND_LOAD},
    {"store", CTR_KIND_STORE},
    {"mem", CTR_KIND_LOAD | CTR_KIND_STORE},
    {"val", 0, .values = true},
    {"phys", CTR_KIND_LOAD | CTR_KIND_STORE, .phys = true},
    {"reg", CTR_KIND_REG},
    {"sys", CTR_KIND_SYS},
    {"sig", CTR_KIND_SYS, .signals_only = true},
    {"map", CTR_KIND_MAP},
    {"thr", CTR_KIND_THR},
    {"mark", CTR_KIND_MARK},
    {"int", CTR_KIND_INT},
    {"ctx", CTR_KIND_CTX},
    {"order", CTR_KIND_ORDER},
    {"pwr", CTR_KIND_PWR},
    {"ram", CTR_KIND_RAM},
    {"dma", CTR_KIND_DMA},
    {"io", CTR_KIND_IO},
    {"task", CTR_KIND_TASK},
    {"key", CTR_KIND_KEYFRAME},
    {"input", CTR_KIND_INPUT},
    {"time", 0, .times = true},
    {"all", CTR_KIND_ALL, .values = true, .times = true},
};

const struct words dump_event_words = WORDS_OF_NAMES("event", kind_names);

static bool parse_kinds(const char *text, struct dump_options *opt)
{
    bool calls = opt->kinds & CTR_KIND_SYS && !opt->signals_only;

    while (text) {
        size_t i = words_next(&dump_event_words, &text);

        if (i == dump_event_words.n) {
            return false;
        }
        opt->kinds |= kind_names[i].kinds;
        opt->signals_only |= kind_names[i].signals_only;
        calls |= kind_names[i].kinds & CTR_KIND_SYS && !kind_names[i].signals_only;
        opt->values |= kind_names[i].values;
        opt->times |= kind_names[i].times;
        opt->phys |= kind_names[i].phys;
    }
    opt->signals_only &= !calls;
    return true;
}

/* Values are shown with accesses, times with events that have one. */
static void finish_kinds(struct dump_options *opt, uint32_t kinds)
{
    const uint32_t accesses = CTR_KIND_LOAD | CTR_KIND_STORE;

    if (!opt->kinds && !opt->values && !opt->times) {
        opt->kinds = kinds;
        opt->values = kinds & accesses;
        opt->times = kinds & CTR_KIND_BETWEEN;
    }
    if (opt->values && !(opt->kinds & accesses)) {
        opt->kinds |= accesses;
    }
    if (opt->times && !(opt->kinds & CTR_KIND_BETWEEN)) {
        opt->kinds |= CTR_KIND_BETWEEN;
    }
}

/* --reads and --writes narrow the accesses that --events chose, or add some. */
static int finish_accesses(struct dump_choice *c)
{
    const uint32_t both = CTR_KIND_LOAD | CTR_KIND_STORE;
    struct dump_options *opt = &c->opt;
    uint32_t chosen = opt->kinds & both;
    bool sys = opt->kinds & CTR_KIND_SYS && !(opt->kinds & CTR_KIND_EXEC);

    if (sys) { /* --events sys,store: what the system stored, too */
        opt->buffers = c->accesses ? c->accesses : chosen ? chosen : both;
    } else if (!opt->kinds && !opt->values && !opt->times) {
        opt->buffers = c->accesses;
    }
    if (!c->accesses) {
        return TOOL_OK;
    }
    if (chosen && !(chosen & c->accesses)) {
        return tool_usage_error(opt->prog, "%s contradicts --events",
                                c->accesses & CTR_KIND_LOAD ? "--reads" : "--writes");
    }
    if (!opt->kinds && !opt->values && !opt->times) {
        opt->values = true;
    }
    opt->kinds = (opt->kinds & ~both) | (chosen ? chosen & c->accesses : c->accesses);
    return TOOL_OK;
}

static bool parse_strings(const char *text, unsigned *max)
{
    uint64_t v;

    if (!quantity_parse(text, &v)) {
        return false;
    }
    *max = v > UINT32_MAX ? UINT32_MAX : (unsigned)v;
    return true;
}

void dump_choice_init(struct dump_choice *c, const char *prog)
{
    *c = (struct dump_choice){.opt = {.prog = prog, .string_max = DEFAULT_STRING_MAX},
                              .expansion = EXPANSION_INIT};
}

enum tool_parsed dump_choice_parse(struct dump_choice *c, int key, const char *arg)
{
    bool ok = true;

    switch (key) {
    case 'e':
        ok = parse_kinds(arg, &c->opt);
        break;
    case 's':
        ok = parse_strings(arg, &c->opt.string_max);
        break;
    case DUMP_OPT_JSON:
        c->opt.json = true;
        break;
    case DUMP_OPT_COLOR:
        ok = tool_parse_color(arg, &c->color);
        break;
    case 'q':
        c->opt.quiet = true;
        break;
    case 'j':
        ok = tool_parse_jobs(arg, &c->opt.jobs);
        break;
    case DUMP_OPT_NO_INDEX:
        c->opt.no_index = true;
        break;
    case DUMP_OPT_READS:
        c->accesses |= CTR_KIND_LOAD;
        break;
    case DUMP_OPT_WRITES:
        c->accesses |= CTR_KIND_STORE;
        break;
    case DUMP_OPT_NO_PAGER:
        c->opt.no_pager = true;
        break;
    case DUMP_OPT_GROUP:
        c->opt.group = true;
        break;
    case DUMP_OPT_PHYS:
        c->opt.phys = true;
        break;
    case DUMP_OPT_STATISTICS:
        c->opt.statistics = true;
        break;
    default:
        return expansion_parse(&c->expansion, key, arg);
    }
    return ok ? TOOL_PARSED : TOOL_BAD_ARG;
}

/* What a trace must have so that all that was chosen can be shown. */
static uint32_t needed_by(const struct dump_options *opt)
{
    uint32_t needed = opt->values ? CTR_HAS_MEM | CTR_HAS_VAL : 0;

    needed |= opt->kinds & (CTR_KIND_LOAD | CTR_KIND_STORE) ? CTR_HAS_MEM : 0;
    return needed | (opt->kinds & CTR_KIND_REG ? CTR_HAS_REG : 0);
}

int dump_choice_finish(struct dump_choice *c, uint32_t kinds)
{
    struct dump_options *opt = &c->opt;
    const bool chosen = opt->kinds || opt->values || opt->times || c->accesses;
    int status = finish_accesses(c);

    finish_kinds(opt, kinds);
    c->needed = chosen ? needed_by(opt) : 0;
    opt->jobs = opt->jobs ? opt->jobs : tool_default_jobs();
    opt->color = !opt->json && tool_color_on(c->color, STDOUT_FILENO);
    return status;
}

int dump_choice_file(struct dump_choice *c, uint32_t needed,
                     int (*show)(struct ctr_trace *tr, void *arg), void *arg)
{
    return dump_file(&c->opt, &c->expansion, c->needed | needed, show, arg);
}

void dump_choice_fini(struct dump_choice *c)
{
    expansion_fini(&c->expansion);
}
