/* SPDX-License-Identifier: MIT */
/* Differences: the names of their kinds, and which are reported. */
#include "pair.h"

const char *difference_name(const struct difference *d)
{
    switch (d->kind) {
    case DIFFERENCE_CODE:
        return d->side[0].ends || d->side[1].ends ? "end" : "code";
    case DIFFERENCE_ADDRESS:
        return "address";
    case DIFFERENCE_VALUE:
        return "value";
    case DIFFERENCE_REGISTER:
        return "register";
    case DIFFERENCE_EVENT:
        return "call";
    default:
        return "access";
    }
}

void difference_report(struct pair *p, const struct difference *d, uint64_t values)
{
    bool fresh = true, other = true;

    if (!map64_put(&p->seen, d->hash, 0, &fresh) ||
        (values && !map64_put(&p->seen, values, 0, &other))) {
        p->error = -CTR_E_NOMEM;
    } else if (fresh && other) {
        p->full = !p->difference(p->arg, p, d);
    } else {
        p->repeated(p->arg);
    }
}
