/* SPDX-License-Identifier: MIT */
/* Breakpoints and watchpoints: those that gdb has set, and their conditions. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define POINTS_MOST 4096u

static bool put_text(struct session *s, const char *text)
{
    return textbuf_printf(&s->out, "%s", text);
}

/* "Z0,ADDR,KIND;CONDITIONS": NULL or what is wrong; *conditions: where they begin. */
static const char *parse_point(const char *p, struct point *out, const char **conditions)
{
    *out = (struct point){.type = *p++};
    if (out->type < '0' || out->type > '4') {
        return "";
    }
    if (*p++ != ',' || !parse_hex(&p, &out->addr) || *p++ != ',' ||
        !parse_hex(&p, &out->size)) {
        return "E.not an address and a length";
    }
    *conditions = *p == ';' ? p + 1 : p;
    return out->type > '1' && !out->size ? "E.nothing to watch" : NULL;
}

static struct point *find_point(struct session *s, const struct point *p)
{
    for (size_t i = 0; i < s->nr_points; i++) {
        if (s->points[i].type == p->type && s->points[i].addr == p->addr &&
            s->points[i].size == p->size && s->points[i].process == s->here.process) {
            return &s->points[i];
        }
    }
    return NULL;
}

/* Adds it, or gives it its conditions anew; NULL or what is wrong. */
static const char *set_point(struct session *s, struct point *p, const char *conditions)
{
    struct point *there = find_point(s, p);
    const char *wrong;

    if (p->type > '1' && !(s->info.events & CTR_HAS_MEM)) {
        return "E.accesses were not recorded (-e mem)";
    }
    if (!there && s->nr_points == POINTS_MOST) {
        return "E.too many breakpoints";
    }
    p->process = s->here.process;
    wrong = conditions_parse(conditions, &p->conditions);
    if (wrong) {
        return wrong;
    }
    if (there) {
        conditions_free(&there->conditions);
        *there = *p;
        return NULL;
    }
    if (!array_reserve(&s->points, &s->cap_points, s->nr_points + 1,
                       sizeof(*s->points))) {
        conditions_free(&p->conditions);
        return "E.out of memory";
    }
    s->points[s->nr_points++] = *p;
    return NULL;
}

bool points_request(struct session *s, const char *packet)
{
    struct point p, *there;
    const char *conditions = "", *wrong = parse_point(packet + 1, &p, &conditions);

    s->ahead.known = s->stretch.known = false;
    if (!wrong && *packet == 'Z') {
        wrong = set_point(s, &p, conditions);
    } else if (!wrong && (there = find_point(s, &p)) != NULL) {
        conditions_free(&there->conditions);
        *there = s->points[--s->nr_points];
    }
    return put_text(s, wrong ? wrong : "OK");
}

void points_clear(struct session *s)
{
    while (s->nr_points) {
        conditions_free(&s->points[--s->nr_points].conditions);
    }
    s->ahead.known = s->stretch.known = false;
}

void points_drop(struct session *s, uint32_t process)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->nr_points; i++) {
        if (s->points[i].process == process) {
            conditions_free(&s->points[i].conditions);
        } else {
            s->points[kept++] = s->points[i];
        }
    }
    s->nr_points = kept;
    s->ahead.known = s->stretch.known = false;
}

/* Without conditions: gdb evaluates them, too. */
bool points_copy(struct session *s, uint32_t from, uint32_t to)
{
    const size_t n = s->nr_points;

    for (size_t i = 0; i < n && s->nr_points < POINTS_MOST; i++) {
        if (s->points[i].process != from) {
            continue;
        }
        if (!array_reserve(&s->points, &s->cap_points, s->nr_points + 1,
                           sizeof(*s->points))) {
            return false;
        }
        s->points[s->nr_points] = s->points[i];
        s->points[s->nr_points].process = to;
        s->points[s->nr_points++].conditions = (struct conditions){0};
    }
    return true;
}

/* Whether a point is of the process where the position is. */
static bool is_here(const struct session *s, const struct point *p)
{
    return p->process == s->here.process;
}

bool points_watch(const struct session *s)
{
    for (size_t i = 0; i < s->nr_points; i++) {
        if (is_here(s, &s->points[i]) && !point_is_break(&s->points[i])) {
            return true;
        }
    }
    return false;
}

bool points_has(const struct session *s, char type, uint64_t pc)
{
    for (size_t i = 0; i < s->nr_points; i++) {
        if (is_here(s, &s->points[i]) && s->points[i].type == type &&
            s->points[i].addr == pc) {
            return true;
        }
    }
    return false;
}

bool points_conditional(const struct session *s)
{
    for (size_t i = 0; i < s->nr_points; i++) {
        if (is_here(s, &s->points[i]) && point_is_break(&s->points[i]) &&
            s->points[i].conditions.n) {
            return true;
        }
    }
    return false;
}

bool points_hold(struct session *s, const struct instant *at)
{
    bool any = false;

    for (size_t i = 0; i < s->nr_points; i++) {
        if (is_here(s, &s->points[i]) && point_is_break(&s->points[i]) &&
            s->points[i].addr == at->pc) {
            any = any || conditions_hold(s, &s->points[i].conditions, at);
        }
    }
    return any;
}

bool points_hold_here(struct session *s)
{
    struct instant here = {.at = s->here.at};

    return !position_state(s, s->here.at.thread, &here.values, &here.pc) &&
           points_hold(s, &here);
}

int points_ranges(const struct session *s, const char *types, struct ctr_range **out)
{
    int n = 0;

    *out = calloc(s->nr_points + 1, sizeof(**out));
    for (size_t i = 0; *out && i < s->nr_points; i++) {
        const struct point *p = &s->points[i];
        const uint64_t size = point_is_break(p) ? 1 : p->size;
        const uint64_t end = p->addr + size < p->addr ? UINT64_MAX : p->addr + size;

        if (is_here(s, p) && strchr(types, p->type)) {
            (*out)[n++] = (struct ctr_range){p->addr, end, s->here.process + 1};
        }
    }
    return *out ? n : -1;
}
