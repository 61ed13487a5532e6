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

/* Looks for all of these kinds that a thread made. */
static int look(const struct sides *s, uint32_t kinds, bool *differs)
{
    struct sides_pair p;
    int status = sides_pair_open(&p, s, kinds, 0, 0);

    status = status ? status : sides_pair_next(&p, 1);
    while (!status && p.have[1]) {
        do {
            status = sides_pair_next(&p, 0);
        } while (!status && p.have[0] && !sides_same(&p.ev[0], &p.ev[1]));
        if (status || !p.have[0]) {
            break;
        }
        status = sides_pair_next(&p, 1);
    }
    if (!status && p.have[1]) {
        *differs = true;
        status =
            difference_show(s->side, (const struct ctr_event *const[]){NULL, &p.ev[1]},
                            s->thread[0], sides_ordinal(&p.ev[1]));
    }
    sides_pair_close(&p);
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
