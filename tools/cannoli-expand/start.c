/* SPDX-License-Identifier: MIT */
/*
 * The loader writes the initial stack at once, after everything else, and QEMU records it as
 * memory that the system wrote: the last such write to the stack before the first instruction.
 * It has argc, argv, envp, auxv, and the strings.  Where stacks grow down it begins with argc;
 * where they grow up it ends with auxv, and argc is where all of it makes sense from there on.
 */
#include "start.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/options.h"
#include "guest/guest.h"

#define AT_PHDR 3u
#define AT_BASE 7u
#define AT_ENTRY 9u
#define AT_EXECFN 31u

/* -------------------------------------------------------------- the events */

/* Keeps the bytes of a write to the stack. */
static int keep(struct start *s, const struct light *l, const struct ctr_usermem *m)
{
    uint8_t *bytes = malloc(m->n ? m->n : 1);

    if (!bytes) {
        return light_refuse(l, "no memory");
    }
    memcpy(bytes, m->data, m->n);
    free(s->bytes);
    s->bytes = bytes;
    s->addr = m->addr;
    s->n = m->n;
    return TOOL_OK;
}

static bool is_stack(const struct ctr_map *m)
{
    static const char name[] = "[stack]";

    return m->path.n == sizeof(name) - 1 && !memcmp(m->path.p, name, m->path.n);
}

static int take_event(struct start *s, const struct light *l,
                      const struct ctr_os_event *e, struct ctr_map *stack)
{
    struct ctr_usermem mem;
    struct ctr_input input;
    struct ctr_map map;

    if (!ctr_parse_map(e, &map) && map.op == CTR_MAP_INITIAL && is_stack(&map)) {
        *stack = map;
    } else if (!ctr_parse_input(e, &input) && input.what == CTR_INPUT_SEED) {
        s->has_seed = true;
        s->seed = ctr_input_number(&input, 0);
    } else if (!ctr_parse_usermem(e, &mem) && mem.flags & CTR_USERMEM_WRITE &&
               mem.addr - stack->start < stack->size && mem.n == mem.size) {
        return keep(s, l, &mem);
    }
    return TOOL_OK;
}

/* Reads the events before the first instruction. */
static int read_events(struct start *s, const struct light *l, uint32_t thread)
{
    const struct ctr_filter filter = {.kinds =
                                          CTR_KIND_SYS | CTR_KIND_MAP | CTR_KIND_INPUT,
                                      .nthread = 1,
                                      .threads = &thread};
    struct ctr_map stack = {.size = 0};
    struct ctr_cursor *c;
    struct ctr_event ev;
    struct ctr_diag diag;
    int ret = ctr_cursor_open(&c, l->tr, &filter, &diag), status = TOOL_OK;

    if (ret) {
        return light_error(l, ret, &diag);
    }
    while (!status && (ret = ctr_cursor_next(c, &ev, &diag)) > 0 && !ev.os.ordinal) {
        status = take_event(s, l, &ev.os, &stack);
    }
    ctr_cursor_close(c);
    return ret < 0 ? light_error(l, ret, &diag) : status;
}

/* --------------------------------------------------------------- the stack */

/* Goes through the words of the stack. */
struct reader {
    const struct start *s;
    struct guest guest;
    size_t at;
    bool bad;
};

static uint64_t word(struct reader *r)
{
    const unsigned n = r->guest.word;
    uint64_t v;

    if (r->s->n - r->at < n) {
        r->bad = true;
        return 0;
    }
    v = guest_load(&r->guest, r->s->bytes + r->at, n);
    r->at += n;
    return v;
}

/* The string at an address; NULL: it is not on the stack. */
static char *string_at(const struct start *s, uint64_t addr)
{
    const uint64_t off = addr - s->addr;

    return off < s->n && memchr(s->bytes + off, 0, s->n - off) ? (char *)s->bytes + off
                                                               : NULL;
}

/* Pointers to strings up to NULL; false: they are none. */
static bool strings(struct reader *r, char **v, int *n)
{
    const size_t most = (r->s->n - r->at) / r->guest.word;
    uint64_t p;

    *n = 0;
    while ((p = word(r)) != 0) {
        if ((size_t)*n >= most || !(v[*n] = string_at(r->s, p))) {
            return false;
        }
        ++*n;
    }
    v[*n] = NULL;
    return !r->bad;
}

static void take_aux(struct start *s, uint64_t type, uint64_t value)
{
    switch (type) {
    case AT_PHDR:
        s->phdr = value;
        break;
    case AT_BASE:
        s->base = value;
        break;
    case AT_ENTRY:
        s->entry = value;
        break;
    case AT_EXECFN:
        s->execfn = string_at(s, value);
        break;
    default:
        break;
    }
}

/* Whether argc is at this offset: then s has all that comes after it. */
static bool parse_at(struct start *s, const struct light *l, size_t off)
{
    struct reader r = {.s = s, .at = off};
    uint64_t argc, type;

    guest_init(&r.guest, &l->info);
    s->execfn = NULL;
    argc = word(&r);
    if (r.bad || !argc || argc > s->n / r.guest.word || !strings(&r, s->argv, &s->argc) ||
        (uint64_t)s->argc != argc || !strings(&r, s->envp, &s->envc)) {
        return false;
    }
    while ((type = word(&r)) != 0) {
        take_aux(s, type, word(&r));
    }
    s->sp = s->addr + off;
    return !r.bad && s->execfn;
}

int start_read(struct start *s, const struct light *l, uint32_t thread)
{
    const size_t step = l->info.addr_bits / 8;
    int status;

    *s = (struct start){.bytes = NULL};
    status = read_events(s, l, thread);
    if (status) {
        return status;
    }
    s->argv = calloc(s->n / step + 2, sizeof(*s->argv));
    s->envp = calloc(s->n / step + 2, sizeof(*s->envp));
    if (!s->argv || !s->envp) {
        return light_refuse(l, "no memory");
    }
    for (size_t off = 0; off < s->n; off += step) {
        if (parse_at(s, l, off)) {
            return TOOL_OK;
        }
    }
    return light_refuse(l, "arguments and environment of the program are not in it");
}

void start_free(struct start *s)
{
    free(s->argv);
    free(s->envp);
    free(s->bytes);
}
