/* SPDX-License-Identifier: MIT */
/*
 * Where instructions were chosen, ordinals are others: each instruction of the second execution
 * is looked for in the recorded one, from the one before on.  Either all are found so, or there is
 * no way to find them.  That the program did the same is also what QEMU compares, call by call.
 */
#include "common/options.h"
#include "compare.h"
#include "difference.h"
#include "sides.h"

/* Both sides' instructions, or events, of a thread. */
struct search {
    struct sides *s;
    struct ctr_cursor *cursor[2];
    struct ctr_event ev[2];
};

static int search_open(struct search *x, struct sides *s, uint32_t kinds)
{
    struct ctr_diag diag;

    *x = (struct search){.s = s};
    for (unsigned i = 0; i < 2; i++) {
        const struct ctr_filter filter = {
            .kinds = kinds, .nthread = 1, .threads = &s->thread[i]};
        const int ret = ctr_cursor_open(&x->cursor[i], s->side[i]->tr, &filter, &diag);

        if (ret) {
            x->cursor[i] = NULL;
            return light_error(s->side[i], ret, &diag);
        }
    }
    return TOOL_OK;
}

static void search_close(struct search *x)
{
    ctr_cursor_close(x->cursor[0]);
    ctr_cursor_close(x->cursor[1]);
}

/* The next one of a side; *more: there is one. */
static int next(struct search *x, unsigned i, bool *more)
{
    struct ctr_diag diag;
    int ret;

    do {
        ret = ctr_cursor_next(x->cursor[i], &x->ev[i], &diag);
    } while (ret > 0 && i && sides_is_own(&x->ev[i]));
    *more = ret > 0;
    return ret < 0 ? light_error(x->s->side[i], ret, &diag) : TOOL_OK;
}

static uint64_t ordinal_of(const struct ctr_event *ev)
{
    return ev->kind == CTR_CURSOR_EXEC ? ev->exec.ordinal : ev->os.ordinal;
}

/* Looks for all of these kinds that a thread made. */
static int look(struct sides *s, uint32_t kinds, bool *differs)
{
    struct search x;
    bool made = true, recorded = true;
    int status = search_open(&x, s, kinds);

    while (!status && recorded && !(status = next(&x, 1, &made)) && made) {
        do {
            status = next(&x, 0, &recorded);
        } while (!status && recorded && !sides_same(&x.ev[0], &x.ev[1]));
    }
    if (!status && !recorded) {
        *differs = true;
        status =
            difference_show(s->side, (const struct ctr_event *const[]){NULL, &x.ev[1]},
                            s->thread[0], ordinal_of(&x.ev[1]));
    }
    search_close(&x);
    return status;
}

int compare_chosen(const struct light *l, const char *path, bool *differs)
{
    const bool said = *differs;
    struct sides s;
    int status = sides_open(&s, l, path);

    *differs = false;
    for (uint32_t i = 0; !status && i < l->info.threads; i++) {
        if (sides_find(&s, i)) {
            const uint32_t kinds = sides_kinds(&s);

            status = look(&s, CTR_KIND_EXEC, differs);
            status = status || !kinds ? status : look(&s, kinds, differs);
        }
    }
    if (!status && said) {
        *differs = true;
        status = sides_said(&s);
    }
    sides_close(&s);
    return status;
}
