/* SPDX-License-Identifier: MIT */
/*
 * oracle-physical: does a trace contain every change of a machine's memory?
 *
 *   oracle-physical [--forget N] [--forget-dma N] [--image ADDR:FILE]... TRACE
 *
 * Follows the physical memory of a machine: what RAM held at first, what devices, walks
 * over page tables and exceptions wrote to it, and each store.  A load of a byte must find
 * what was written there last, by whatever vCPU and virtual address, in the order of the
 * trace; without RAM at first, what is loaded before anything was stored becomes known.
 * At the end memory from ADDR on must hold what FILE does (the monitor's pmemsave).
 *
 * RAM is in blocks, whose bytes can be at several addresses: the first page that is seen
 * of a block stands for it.  Memory of devices is left out.  --forget leaves out the N-th
 * store that changes a byte, --forget-dma the N-th other write that does, to show that the
 * check notices it.
 */
#include "ctr.h"
#include "bad.h"
#include "cannoli/events.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BITS 12u
#define PAGE (1u << PAGE_BITS)
#define TABLE_BITS 24u /* pages of 64 GiB of physical memory */

/* A range of physical addresses at which bytes of a block are. */
struct range {
    uint64_t addr, size, offset;
    bool rom, gone;
    char block[64];
};

struct page {
    uint8_t byte[PAGE];
    uint8_t known[PAGE];
    uint64_t virt; /* of the last store: virtual page + 1 */
};

struct check {
    struct page *
        *table; /* by page of physical addresses, of all the same page of a block */
    struct range *range;
    size_t nr_ranges;
    bool has_ram; /* what is not known is an error */
    uint64_t loads, stores, devices, aliased, crossing, pages, compared, ignored;
    uint64_t dma, walks, saved, by_host; /* bytes */
    uint64_t forget, forget_dma;
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
    } else if (!*known && c->has_ram) {
        printf("ordinal %" PRIu64 ": loads 0x%02x at physical 0x%" PRIx64
               ", where nothing is known\n",
               r->ordinal + a->insn - r->first, a->data[i], phys);
        exit(1);
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

static bool is_rom(const struct check *c, uint64_t phys)
{
    for (size_t i = c->nr_ranges; i--;) {
        const struct range *r = &c->range[i];

        if (!r->gone && phys - r->addr < r->size) {
            return r->rom;
        }
    }
    return false;
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
    if (a->store && is_rom(c, phys->addr)) {
        c->ignored++;
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

/* ---- what is no access ---- */

static void put_byte(struct check *c, uint64_t phys, uint8_t value)
{
    struct page *p = page_of(c, phys);

    p->byte[phys % PAGE] = value;
    p->known[phys % PAGE] = 1;
}

/* The page of a block that is at an address that has become mapped, if it is elsewhere. */
static struct page *page_elsewhere(struct check *c, const struct ctr_ram *ram,
                                   uint64_t offset)
{
    for (size_t i = 0; i < c->nr_ranges; i++) {
        const struct range *r = &c->range[i];

        if (strncmp(r->block, ram->block.p, ram->block.n) == 0 &&
            !r->block[ram->block.n] && offset - r->offset < r->size) {
            return c->table[(r->addr + offset - r->offset) >> PAGE_BITS];
        }
    }
    return NULL;
}

static void map_ram(struct check *c, const struct ctr_ram *ram)
{
    struct range r = {ram->addr, ram->size, ram->offset, ram->fill == CTR_RAM_ROM,
                      false,     ""};

    if (ram->block.n >= sizeof(r.block)) {
        printf("a block with a long name\n");
        exit(1);
    }
    memcpy(r.block, ram->block.p, ram->block.n);
    for (uint64_t at = 0; at < ram->size; at += PAGE) {
        c->table[(ram->addr + at) >> PAGE_BITS] =
            page_elsewhere(c, ram, ram->offset + at);
    }
    c->range = realloc(c->range, (c->nr_ranges + 1) * sizeof(r));
    if (!c->range) {
        bad("no memory", -CTR_E_NOMEM, NULL);
    }
    c->range[c->nr_ranges++] = r;
}

/* Ranges are remembered: their block's pages stay what they are. */
static void unmap_ram(struct check *c, uint64_t addr, uint64_t size)
{
    for (size_t i = 0; i < c->nr_ranges; i++) {
        struct range *r = &c->range[i];

        r->gone |= r->addr >= addr && r->addr + r->size <= addr + size;
    }
}

static void on_ram(struct check *c, const struct ctr_ram *ram)
{
    c->has_ram = true;
    if (ram->op == CTR_RAM_MAP) {
        map_ram(c, ram);
    } else if (ram->op == CTR_RAM_UNMAP) {
        unmap_ram(c, ram->addr, ram->size);
    } else if (ram->op == CTR_RAM_ANEW) {
        memset(c->table, 0, sizeof(c->table[0]) << TABLE_BITS);
        c->nr_ranges = 0;
    }
    for (uint64_t i = 0; ram->op == CTR_RAM_BYTES && i < ram->size; i++) {
        put_byte(c, ram->addr + i, i < ram->n ? ram->data[i] : ram->fill);
    }
    for (uint64_t i = 0; ram->op == CTR_RAM_SAME && i < ram->size; i++) {
        put_byte(c, ram->addr + i,
                 page_of(c, ram->from + i)->byte[(ram->from + i) % PAGE]);
    }
}

static void on_dma(struct check *c, const struct ctr_dma *dma)
{
    uint64_t *const count[] = {[CTR_DMA_DEVICE] = &c->dma,
                               [CTR_DMA_WALK] = &c->walks,
                               [CTR_DMA_CPU] = &c->saved,
                               [CTR_DMA_HOST] = &c->by_host};

    *count[dma->source] += dma->size;
    for (uint32_t i = 0; i < dma->n; i++) {
        const struct page *p = page_of(c, dma->addr + i);

        if (p->byte[(dma->addr + i) % PAGE] != dma->data[i] && c->forget_dma &&
            !--c->forget_dma) {
            return;
        }
        put_byte(c, dma->addr + i, dma->data[i]);
    }
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct ctr_ram ram;
    struct ctr_dma dma;

    (void)job;
    if (ctr_parse_ram(e, &ram) == 0) {
        on_ram(arg, &ram);
    } else if (ctr_parse_dma(e, &dma) == 0) {
        on_dma(arg, &dma);
    }
    return 0;
}

static void compare_image(struct check *c, const char *image)
{
    char *path;
    uint64_t at = strtoull(image, &path, 0);
    FILE *f = *path == ':' ? fopen(path + 1, "rb") : NULL;

    if (!f) {
        perror(image);
        exit(2);
    }
    for (int byte; (byte = getc(f)) != EOF; at++, c->compared++) {
        const struct page *p = page_of(c, at);

        if (!p->known[at % PAGE] || p->byte[at % PAGE] != byte) {
            printf("at the end 0x%" PRIx64 " has 0x%02x, but in the trace %s 0x%02x\n",
                   at, byte, p->known[at % PAGE] ? "" : "nothing is known, not",
                   p->byte[at % PAGE]);
            exit(1);
        }
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"forget", required_argument, NULL, 'f'},
        {"forget-dma", required_argument, NULL, 'd'},
        {"image", required_argument, NULL, 'i'},
        {NULL, 0, NULL, 0},
    };
    /* one worker calls back in the order of the trace */
    const struct ctr_replay_opts opts = {
        .workers = 1, .run_accesses = CTR_RUN_VALUES, .slices = 1, .phys = 1};
    const struct ctr_replay_ops ops = {.run = on_run, .os = on_os};
    struct ctr_trace *trace = NULL;
    struct ctr_diag diag = {0};
    struct check c = {0};
    const char **images = NULL;
    size_t nr_images = 0;
    int opt, r;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (opt) {
        case 'f':
            c.forget = strtoull(optarg, NULL, 10);
            break;
        case 'd':
            c.forget_dma = strtoull(optarg, NULL, 10);
            break;
        case 'i':
            images = realloc(images, ++nr_images * sizeof(images[0]));
            if (!images) {
                bad("no memory", -CTR_E_NOMEM, NULL);
            }
            images[nr_images - 1] = optarg;
            break;
        default:
            return 2;
        }
    }
    if (optind + 1 != argc) {
        fprintf(stderr, "usage: oracle-physical [--forget N] [--forget-dma N] [--image "
                        "ADDR:FILE]... TRACE\n");
        return 2;
    }
    c.table = calloc(1u << TABLE_BITS, sizeof(c.table[0]));
    r = c.table ? ctr_open(&trace, argv[optind], 0, &diag) : -CTR_E_NOMEM;
    if (r) {
        bad("the trace cannot be read", r, &diag);
    }
    r = ctr_replay(trace, &ops, &c, &opts, &diag);
    if (r) {
        bad("the trace cannot be read", r, &diag);
    }
    ctr_close(trace);
    for (size_t i = 0; i < nr_images; i++) {
        compare_image(&c, images[i]);
    }
    free(images);
    if (!c.loads || !c.stores || !(c.aliased || c.compared)) {
        printf("nothing to compare: %" PRIu64 " loads, %" PRIu64 " stores\n", c.loads,
               c.stores);
        return 1;
    }
    printf("%" PRIu64 " loads and %" PRIu64 " stores of %" PRIu64 " pages agree, %" PRIu64
           " bytes by another virtual page, %" PRIu64 " across pages, %" PRIu64
           " of devices, %" PRIu64 " stores to ROM; other writes, in bytes: %" PRIu64
           " devices, %" PRIu64 " walks, %" PRIu64 " processor, %" PRIu64
           " host; %" PRIu64 " bytes at the end\n",
           c.loads, c.stores, c.pages, c.aliased, c.crossing, c.devices, c.ignored, c.dma,
           c.walks, c.saved, c.by_host, c.compared);
    return 0;
}
