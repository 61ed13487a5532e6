/* SPDX-License-Identifier: MIT */
/* Both executions; see sides.h. */
#include "sides.h"

#include <string.h>

#include "cannoli/events.h"
#include "common/options.h"

/* Whether the traces are comparable at all. */
static int check(const struct sides *s)
{
    const struct ctr_info *a = &s->light->info, *b = &s->made.info;

    if (strcmp(a->target, b->target) || strcmp(a->qemu_version, b->qemu_version)) {
        return light_refuse(s->light,
                            "it was recorded with QEMU %s for %s, and this is %s "
                            "for %s: another version may do other things",
                            a->qemu_version, a->target, b->qemu_version, b->target);
    }
    return TOOL_OK;
}

int sides_open(struct sides *s, const struct light *l, const char *path)
{
    int status;

    *s = (struct sides){.light = l};
    status = light_open(&s->made, l->prog, path);
    s->side[0] = l;
    s->side[1] = &s->made;
    return status ? status : check(s);
}

void sides_close(struct sides *s)
{
    light_close(&s->made);
}

int sides_said(const struct sides *s)
{
    return light_refuse(s->light,
                        "the second execution does something else, as QEMU says");
}

bool sides_find(struct sides *s, uint32_t i)
{
    const struct ctr_thread *a = ctr_trace_thread(s->light->tr, i), *b;

    s->thread[0] = i;
    for (uint32_t k = 0; (b = ctr_trace_thread(s->made.tr, k)) != NULL; k++) {
        if (a->pid == b->pid && a->tid == b->tid && a->start_ns == b->start_ns) {
            s->thread[1] = k;
            return true;
        }
    }
    return false;
}

uint32_t sides_kinds(const struct sides *s)
{
    static const struct {
        uint32_t has, kind;
    } kinds[] = {{CTR_HAS_SYS, CTR_KIND_SYS},
                 {CTR_HAS_MAP, CTR_KIND_MAP},
                 {CTR_HAS_THR, CTR_KIND_THR},
                 {CTR_HAS_ORDER, CTR_KIND_ORDER},
                 {CTR_HAS_MARK, CTR_KIND_MARK}};
    const uint32_t both = s->side[0]->info.events & s->side[1]->info.events;
    uint32_t out = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        out |= both & kinds[i].has ? kinds[i].kind : 0;
    }
    return out;
}

bool sides_same(const struct ctr_event *a, const struct ctr_event *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    return a->kind == CTR_CURSOR_EXEC
               ? a->exec.pc == b->exec.pc && a->exec.len == b->exec.len &&
                     !memcmp(a->exec.bytes, b->exec.bytes, a->exec.len)
               : a->os.type == b->os.type && a->os.size == b->os.size &&
                     !memcmp(a->os.payload, b->os.payload, a->os.size);
}

uint64_t sides_ordinal(const struct ctr_event *ev)
{
    return ev->kind == CTR_CURSOR_EXEC ? ev->exec.ordinal : ev->os.ordinal;
}

/* ----------------------------------------------------------------- in step */

int sides_pair_open(struct sides_pair *p, const struct sides *s, uint32_t kinds,
                    uint64_t from, uint64_t to)
{
    struct ctr_diag diag;

    *p = (struct sides_pair){.sides = s};
    for (unsigned i = 0; i < 2; i++) {
        const struct ctr_filter filter = {.kinds = kinds,
                                          .from = from,
                                          .to = to,
                                          .nthread = 1,
                                          .threads = &s->thread[i]};
        const int ret = ctr_cursor_open(&p->cursor[i], s->side[i]->tr, &filter, &diag);

        if (ret) {
            p->cursor[i] = NULL;
            return light_error(s->side[i], ret, &diag);
        }
    }
    return TOOL_OK;
}

void sides_pair_close(struct sides_pair *p)
{
    ctr_cursor_close(p->cursor[0]);
    ctr_cursor_close(p->cursor[1]);
}

/* Whether an event is one that the second execution has of its own. */
static bool is_own(const struct ctr_event *ev)
{
    return ev->kind == CTR_CURSOR_OS &&
           (ev->os.type == CTR_EVENT_GATE || ev->os.type == CTR_EVENT_SELECT);
}

int sides_pair_next(struct sides_pair *p, unsigned side)
{
    struct ctr_diag diag;
    int ret;

    do {
        ret = ctr_cursor_next(p->cursor[side], &p->ev[side], &diag);
    } while (ret > 0 && is_own(&p->ev[side]));
    p->have[side] = ret > 0;
    return ret < 0 ? light_error(p->sides->side[side], ret, &diag) : TOOL_OK;
}
