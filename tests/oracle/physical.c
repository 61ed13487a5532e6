/* SPDX-License-Identifier: MIT */
/*
 * oracle-physical: are the physical addresses of accesses the true ones?
 *
 *   oracle-physical [--forget N] TRACE
 *
 * Follows the physical memory of a machine: each load of a byte must find what was stored
 * there last, by whatever vCPU and virtual address, in the order of the trace, or loaded
 * before anything was stored.  So a machine without devices that write to memory, and
 * whose walks over page tables do not either, has no difference.  Memory of devices is
 * left out.  --forget leaves out the N-th store that changes a byte, to show that the
 * check notices it.
 */
#include "ctr.h"
#include "bad.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BITS 12u
#define PAGE (1u << PAGE_BITS)
#define TABLE_BITS 24u /* pages of 64 GiB of physical memory */

struct page {
    uint8_t byte[PAGE];
    uint8_t known[PAGE];
    uint64_t virt; /* of the last store: virtual page + 1 */
};

struct check {
    struct page **table;
    uint64_t loads, stores, devices, aliased, crossing, pages;
    uint64_t forget;
};

static struct page *page_of(struct check *c, uint64_t phys)
{
    const uint64_t number = phys >> PAGE_BITS;

    if (number >> TABLE_BITS) {
        printf("0x%" PRIx64 " is no address of this machine's memory\n", phys);
        exit(1);
    }
    if (!c->table[number]) {
        c->table[number] = calloc(1, sizeof(struct page));
        c->pages++;
    }
    if (!c->table[number]) {
        bad("no memory", -CTR_E_NOMEM, NULL);
    }
    return c->table[number];
}

static void one_byte(struct check *c, const struct ctr_run *r, const struct ctr_access *a,
                     uint32_t i, uint64_t phys)
{
    struct page *p = page_of(c, phys);
    uint8_t *byte = &p->byte[phys % PAGE], *known = &p->known[phys % PAGE];
    const uint64_t virt = ((a->addr + i) >> PAGE_BITS) + 1;

    if (a->store) {
        if (*byte != a->data[i] && c->forget && !--c->forget) {
            return;
        }
        p->virt = virt;
    } else if (*known && *byte != a->data[i]) {
        printf("%s ordinal %" PRIu64 " pc 0x%" PRIx64 ": loads 0x%02x at 0x%" PRIx64
               ", physical 0x%" PRIx64 ", which has 0x%02x\n",
               "vCPU", r->ordinal + a->insn - r->first, ctr_block_pc(r->block, a->insn),
               a->data[i], a->addr + i, phys, *byte);
        exit(1);
    } else {
        c->aliased += *known && p->virt && p->virt != virt;
    }
    *byte = a->data[i];
    *known = 1;
}

/* One run as it is passed on, in the order of the trace. */
static void one_access(struct check *c, const struct ctr_run *r,
                       const struct ctr_access *a, const struct ctr_phys *phys)
{
    if (!phys->flags) {
        printf("ordinal %" PRIu64 ": the physical address of 0x%" PRIx64
               " is not known\n",
               r->ordinal + a->insn - r->first, a->addr);
        exit(1);
    }
    if (phys->flags & CTR_PHYS_DEVICE) {
        c->devices++;
        return;
    }
    *(a->store ? &c->stores : &c->loads) += 1;
    c->crossing += phys->size < a->size;
    for (uint32_t i = 0; a->data && i < a->size; i++) {
        one_byte(c, r, a, i,
                 i < phys->size ? phys->addr + i : phys->next + (i - phys->size));
    }
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    (void)job;
    for (uint32_t i = 0; i < r->naccess; i++) {
        one_access(arg, r, &r->access[i], &r->phys[i]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    /* one worker calls back in the order of the trace */
    const struct ctr_replay_opts opts = {
        .workers = 1, .run_accesses = CTR_RUN_VALUES, .slices = 1, .phys = 1};
    const struct ctr_replay_ops ops = {.run = on_run};
    struct ctr_trace *trace = NULL;
    struct ctr_diag diag = {0};
    struct check c = {0};
    int r;

    if (argc == 4 && strcmp(argv[1], "--forget") == 0) {
        c.forget = strtoull(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: oracle-physical [--forget N] TRACE\n");
        return 2;
    }
    c.table = calloc(1u << TABLE_BITS, sizeof(c.table[0]));
    r = c.table ? ctr_open(&trace, argv[1], 0, &diag) : -CTR_E_NOMEM;
    if (r) {
        bad("the trace cannot be read", r, &diag);
    }
    r = ctr_replay(trace, &ops, &c, &opts, &diag);
    if (r) {
        bad("the trace cannot be read", r, &diag);
    }
    ctr_close(trace);
    if (!c.loads || !c.stores || !c.aliased) {
        printf("nothing to compare: %" PRIu64 " loads, %" PRIu64 " stores\n", c.loads,
               c.stores);
        return 1;
    }
    printf("%" PRIu64 " loads and %" PRIu64 " stores of %" PRIu64 " pages agree, %" PRIu64
           " bytes by another virtual page, %" PRIu64 " across pages, %" PRIu64
           " of devices\n",
           c.loads, c.stores, c.pages, c.aliased, c.crossing, c.devices);
    return 0;
}
