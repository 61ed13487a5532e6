/* SPDX-License-Identifier: MIT */
/* The files that the program had mapped, for the second execution. */
#ifndef EXPAND_FILES_H
#define EXPAND_FILES_H

#include "light.h"

/* A file that the program maps to write to it, for others that map it, too. */
struct files_shared {
    uint64_t dev, inode;
    uint64_t size; /* that it has in the folder */
    uint32_t number;
};

struct files {
    const struct light *light;
    const char *folder;
    struct ctr_files *list;
    uint8_t *written; /* by number */
    uint32_t nr;
    struct files_shared *shared; /* after those, nr_shared of them */
    uint32_t nr_shared;
};

/* Each returns TOOL_OK, or TOOL_FAILED after one line on stderr. */
int files_open(struct files *f, const struct light *l, const char *folder);
void files_close(struct files *f);

/* The number of the file that an event maps, INPUTS_NO_FILE if it maps none whose contents
 * count.  Its contents are in the folder then, under that number, and under the name of
 * common/inputs_file.h. */
int files_number(struct files *f, const struct ctr_map *m, uint32_t *number);

#endif
