/* SPDX-License-Identifier: MIT */
/*
 * jitter-module: records the code of one file, and tags each of its blocks with the
 * block's offset from the file's start in memory, which is the same in every run,
 * wherever the file is loaded.
 *
 *   cannoli-record --jitter ./libjitter-module.so,name=libm.so.6 -o run.ctr -- ./app
 *
 * Build: cc -shared -fPIC $(pkg-config --cflags libctr) \
 *            -o libjitter-module.so jitter-module.c
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cannoli/jitter.h>

struct state {
    const struct cannoli_host *host;
    const char *name; /* without folders */
};

static int load(const struct cannoli_host *host, const char *args, void **state)
{
    struct state *s;

    if (strncmp(args, "name=", 5) || !args[5]) {
        host->error("name=FILE says which file is recorded");
        return 1;
    }
    s = malloc(sizeof(*s));
    if (!s) {
        host->error("out of memory");
        return 1;
    }
    s->host = host;
    s->name = strdup(args + 5);
    if (!s->name) {
        host->error("out of memory");
        free(s);
        return 1;
    }
    *state = s;
    return 0;
}

static void unload(void *state)
{
    struct state *s = state;

    free((char *)s->name);
    free(s);
}

static bool is_in_file(const struct state *s, void *context, uint64_t pc,
                       struct cannoli_module *m)
{
    const char *base;

    if (!s->host->module(context, pc, m)) {
        return false;
    }
    base = strrchr(m->path, '/');
    return !strcmp(base ? base + 1 : m->path, s->name);
}

/* Saves all calls for instructions in other files. */
static int hook_range(void *state, void *context, uint64_t addr,
                      struct cannoli_range *range)
{
    struct cannoli_module m = {0};

    if (is_in_file(state, context, addr, &m) || !m.end) {
        return CANNOLI_ANYTHING;
    }
    range->start = m.start;
    range->end = m.end;
    return CANNOLI_NEVER;
}

static int hook_inst(void *state, const struct cannoli_insn *insn)
{
    const struct state *s = state;
    struct cannoli_module m;

    if (!is_in_file(s, insn->context, insn->pc, &m)) {
        return CANNOLI_NEVER;
    }
    if (insn->index == 0) {
        s->host->tag_block(insn->context, insn->pc - m.base);
    }
    return CANNOLI_ALWAYS;
}

const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER, .name = "module",       .load = load,
    .unload = unload,      .hook_inst = hook_inst, .hook_range = hook_range,
};
