/* SPDX-License-Identifier: MIT */
/* What the numbers of MAP events (events.h, ctr.h) say of a mapping: Linux has the same of these
 * on all machines. */
#ifndef RECORDER_MAPPING_H
#define RECORDER_MAPPING_H

#include <stdbool.h>

#include "ctr.h"

#define MAPPING_WRITES 2u /* of prot */
#define MAPPING_CODE 4u
#define MAPPING_SHARED 1u /* of flags */

/* Whether what the process writes there changes the file. */
static inline bool mapping_writes_file(const struct ctr_map *m)
{
    return m->flags & MAPPING_SHARED && m->prot & MAPPING_WRITES;
}

#endif
