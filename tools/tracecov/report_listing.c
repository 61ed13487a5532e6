/* SPDX-License-Identifier: MIT */
#include "tracecov/report_private.h"

int report_listing(struct report_maker *mk, const struct report_code *k, uint32_t source)
{
    (void)mk;
    (void)k;
    (void)source;
    return 0;
}
