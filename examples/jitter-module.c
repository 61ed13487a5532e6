/* SPDX-License-Identifier: MIT */
/*
 * jitter-module: records what is executed in one file, and tags each of its blocks with
 * the block's distance from where the file begins in memory, which is the same in every
 * run wherever it is loaded.
 *
 *   cannoli-record --jitter ./libjitter-module.so,name=libm.so.6 -o run.ctr -- ./app
 *
 * Build: cc -shared -fPIC -o libjitter-module.so jitter-module.c
 */
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

static int hook_inst(void *state, const struct cannoli_insn *insn)
{
    const struct state *s = state;
    struct cannoli_module m;
    const char *base;

    if (!s->host->module(insn->context, insn->pc, &m)) {
        return CANNOLI_NEVER;
    }
    base = strrchr(m.path, '/');
    if (strcmp(base ? base + 1 : m.path, s->name)) {
        return CANNOLI_NEVER;
    }
    if (insn->index == 0) {
        s->host->tag_block(insn->context, insn->pc - m.base);
    }
    return CANNOLI_ALWAYS;
}

const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER, .name = "module",       .load = load,
    .unload = unload,      .hook_inst = hook_inst,
};
