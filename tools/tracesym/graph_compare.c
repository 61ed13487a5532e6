/* SPDX-License-Identifier: MIT */
/*
 * One call tree of two: what is in both is one node, with both costs; see graph.h.
 */
#include "graph_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph_build.h"

/* Linux cuts the names of commands to this. */
#define COMM_MAX 15u

/* --------------------------------------------------------- names of commands */

/* Length of the command's name in that of a root, "comm-PID" or "comm-PID/TID". */
static size_t comm_length(const char *name)
{
    size_t n = strlen(name), i = n;

    while (i && (isdigit((unsigned char)name[i - 1]) || name[i - 1] == '/')) {
        i--;
    }
    return i > 1 && i < n && name[i - 1] == '-' ? i - 1 : n;
}

static char *comm_of(const struct call_function *f)
{
    return strndup(f->name, comm_length(f->name));
}

/* The command of the first root, "" if it is no thread.  NULL: no memory. */
static char *first_comm(const struct calltree *t)
{
    const struct call_function *f =
        t->nr_threads ? &t->functions[t->nodes[t->threads[0].root].function] : NULL;

    return f && f->kind == CALL_THREAD ? comm_of(f) : strdup("");
}

/* Whether a root of the tree has this command. */
static bool has_comm(const struct calltree *t, const char *comm)
{
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        const char *name = t->functions[t->nodes[t->threads[i].root].function].name;
        size_t n = comm_length(name);

        if (strlen(comm) == n && !memcmp(name, comm, n)) {
            return true;
        }
    }
    return false;
}

/* Whether a command of this name runs the file. */
static bool runs(const char *comm, const struct module *m)
{
    return m && *comm &&
           (strlen(comm) < COMM_MAX ? !strcmp(m->name, comm)
                                    : !strncmp(m->name, comm, COMM_MAX));
}

/* ----------------------------------------------------------------- functions */

struct comparison {
    struct graph_builder b;
    uint32_t *buckets, *chains; /* functions of the result by their names */
    uint32_t nr_buckets;
    /* The first commands, if the older one is to be replaced by the other. */
    char *now_comm, *older_comm;
    const struct module *now_program;
    bool replace;
};

static const char *module_name(const struct module *m)
{
    return m ? m->name : "";
}

static uint32_t hash(enum call_kind kind, const char *module, const char *name)
{
    uint32_t h = 2166136261u + kind; /* FNV-1a, 32 bits */

    for (; *module; module++) {
        h = (h ^ (unsigned char)*module) * 16777619u;
    }
    h = (h ^ 0xff) * 16777619u;
    for (; *name; name++) {
        h = (h ^ (unsigned char)*name) * 16777619u;
    }
    return h;
}

/* The result's function with this kind and these names; SYM_NONE: no memory. */
static uint32_t same_function(struct comparison *c, const struct call_function *like,
                              const char *name)
{
    const char *module = module_name(like->module);
    uint32_t *bucket = &c->buckets[hash(like->kind, module, name) & (c->nr_buckets - 1)];
    uint32_t i = *bucket;

    while (i != SYM_NONE) {
        const struct call_function *f = &c->b.tree->functions[i];

        if (f->kind == like->kind && !strcmp(f->name, name) &&
            !strcmp(module_name(f->module), module)) {
            return i;
        }
        i = c->chains[i];
    }
    i = graph_build_function(&c->b, like, name);
    if (i != SYM_NONE) {
        c->chains[i] = *bucket;
        *bucket = i;
    }
    return i;
}

/* The result's function for one of a tree. */
static uint32_t map_function(struct comparison *c, const struct call_function *f,
                             bool older)
{
    struct call_function like = *f;
    char *comm = f->kind == CALL_THREAD ? comm_of(f) : NULL;
    uint32_t i = SYM_NONE;

    if (older && c->replace && runs(c->older_comm, f->module) && c->now_program) {
        like.module = c->now_program;
    }
    if (f->kind != CALL_THREAD) {
        i = same_function(c, &like, f->name);
    } else if (comm) {
        bool other = older && c->replace && !strcmp(comm, c->older_comm);
        i = same_function(c, &like, other ? c->now_comm : comm);
    }
    free(comm);
    return i;
}

/* --------------------------------------------------------------------- nodes */

static bool add_node(struct comparison *c, const struct call_node *n, uint32_t parent,
                     uint32_t function, bool older, uint32_t *to)
{
    struct calltree *t = c->b.tree;

    *to = graph_build_node(&c->b, parent, function);
    if (*to == SYM_NONE) {
        return false;
    }
    if (older) {
        t->older[*to].calls += n->calls;
        cost_add(&t->older[*to].self, &n->self);
    } else {
        t->nodes[*to].calls += n->calls;
        cost_add(&t->nodes[*to].self, &n->self);
    }
    return true;
}

static bool add_tree(struct comparison *c, const struct calltree *t, bool older)
{
    uint32_t *functions = malloc((t->nr_functions + (size_t)1) * sizeof(*functions));
    uint32_t *to = malloc((t->nr_nodes + (size_t)1) * sizeof(*to));
    bool ok = functions && to;

    for (uint32_t i = 0; ok && i < t->nr_functions; i++) {
        functions[i] = map_function(c, &t->functions[i], older);
        ok = functions[i] != SYM_NONE;
    }
    for (uint32_t i = 0; ok && i < t->nr_nodes; i++) { /* parents first */
        const struct call_node *n = &t->nodes[i];

        ok = add_node(c, n, n->parent == SYM_NONE ? SYM_NONE : to[n->parent],
                      functions[n->function], older, &to[i]);
    }
    free(functions);
    free(to);
    return ok;
}

/* ---------------------------------------------------------------- comparison */

static bool init(struct comparison *c, const struct calltree *now,
                 const struct calltree *older)
{
    uint64_t most = (uint64_t)now->nr_functions + older->nr_functions;

    for (c->nr_buckets = 1024; c->nr_buckets < most && c->nr_buckets < 1u << 24;) {
        c->nr_buckets *= 2;
    }
    c->buckets = malloc(c->nr_buckets * sizeof(*c->buckets));
    c->chains = malloc((most + 1) * sizeof(*c->chains));
    c->now_comm = first_comm(now);
    c->older_comm = first_comm(older);
    if (!c->buckets || !c->chains || !c->now_comm || !c->older_comm) {
        return false;
    }
    memset(c->buckets, 0xff, c->nr_buckets * sizeof(*c->buckets));
    c->replace = *c->now_comm && *c->older_comm && !has_comm(now, c->older_comm) &&
                 !has_comm(older, c->now_comm);
    for (uint32_t i = 0; c->replace && i < now->nr_functions; i++) {
        if (runs(c->now_comm, now->functions[i].module)) {
            c->now_program = now->functions[i].module;
        }
    }
    return true;
}

int graph_compare(struct calltree **out, const struct calltree *now,
                  const struct calltree *older)
{
    struct comparison c = {0};
    int ret = graph_build_init(&c.b, now->trace, true);

    if (!ret && (!init(&c, now, older) || !add_tree(&c, now, false) ||
                 !add_tree(&c, older, true))) {
        ret = -ENOMEM;
    }
    if (!ret) {
        graph_build_finish(&c.b, now, out);
        ret = calltree_sum_functions(*out) ? -ENOMEM : 0;
    }
    graph_build_fini(&c.b);
    free(c.buckets);
    free(c.chains);
    free(c.now_comm);
    free(c.older_comm);
    return ret;
}
