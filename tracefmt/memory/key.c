/* SPDX-License-Identifier: MIT */
/* The last key frames of pages; see key.h. */
#include "memory/key.h"

#include <stdbool.h>

#define PAGE_BYTES 4096u
/* Later places find the same key frame: searching from it costs little more. */
#define NEAR 65536u

int memory_key_find(struct memory_key *k, struct ctr_trace *tr, uint32_t thread,
                    uint64_t ordinal, uint64_t addr, const struct ctr_key_page **out,
                    struct ctr_diag *diag)
{
    const uint64_t page = addr / PAGE_BYTES;
    struct key_entry *e = &k->entry[page % MEMORY_KEY_PAGES];
    const bool same = e->upto && e->page == page && e->thread == thread;
    const bool after = same && e->found && ordinal >= e->key.ordinal;
    int ret = 0;

    if (!(after && ordinal <= e->upto + NEAR) &&
        !(same && !e->found && ordinal <= e->upto)) {
        e->upto = 0;
        ret = ctr_key_page_find(tr, thread, ordinal, addr, &e->key, diag);
        if (ret < 0) {
            return ret;
        }
        e->page = page;
        e->thread = thread;
        e->found = ret;
        e->upto = ordinal + !ordinal;
    }
    *out = &e->key;
    return e->found;
}
