/* SPDX-License-Identifier: MIT */
/* The names of the kinds of differences. */
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
