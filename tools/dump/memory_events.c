/* SPDX-License-Identifier: MIT */
/*
 * Events of a machine's memory, as text and as JSON: where it has RAM and what that holds,
 * what wrote there other than by accesses, accesses to devices. Physical addresses that
 * something accessed are written as those of instructions, with @.
 */
#include "dump.h"

#include <inttypes.h>
#include <string.h>

#include "cannoli/events.h"

static bool put_name(struct textbuf *b, const struct ctr_str *s)
{
    return textbuf_printable(b, s->p, s->n);
}

static bool put_name_json(struct textbuf *b, const char *member, const struct ctr_str *s)
{
    return !s->n ||
           (textbuf_printf(b, ",\"%s\":", member) && textbuf_json_string(b, s->p, s->n));
}

/* ": 00 11 ..." */
static bool put_data(struct os_printer *p, const uint8_t *data, uint32_t n)
{
    const uint32_t shown = n < p->opt->string_max ? n : p->opt->string_max;
    bool ok = !n || textbuf_printf(&p->out, ":");

    for (uint32_t i = 0; ok && i < shown; i++) {
        ok = textbuf_printf(&p->out, " %02x", data[i]);
    }
    return ok && (shown == n || textbuf_printf(&p->out, " ..."));
}

/* --------------------------------------------------------------------- RAM */

static const char *const ram_ops[] = {
    [CTR_RAM_MAP] = "map",   [CTR_RAM_UNMAP] = "unmap", [CTR_RAM_BYTES] = "bytes",
    [CTR_RAM_SAME] = "same", [CTR_RAM_ANEW] = "anew",
};

static bool print_ram_json(struct os_printer *p, const struct ctr_ram *r)
{
    struct textbuf *b = &p->out;
    bool ok = textbuf_printf(b, ",\"op\":\"%s\"", ram_ops[r->op]);

    if (ok && r->op != CTR_RAM_ANEW) {
        ok = textbuf_printf(b, ",\"addr\":\"0x%" PRIx64 "\",\"size\":%" PRIu64, r->addr,
                            r->size);
    }
    if (ok && r->op == CTR_RAM_MAP) {
        ok = put_name_json(b, "block", &r->block) &&
             textbuf_printf(b, ",\"offset\":\"0x%" PRIx64 "\"%s", r->offset,
                            r->fill == CTR_RAM_ROM ? ",\"rom\":true" : "");
    } else if (ok && r->op == CTR_RAM_BYTES) {
        ok = textbuf_printf(b, ",\"fill\":%u", r->fill) && os_put_data(p, r->data, r->n);
    } else if (ok && r->op == CTR_RAM_SAME) {
        ok = textbuf_printf(b, ",\"from\":\"0x%" PRIx64 "\"", r->from);
    }
    return ok && textbuf_printf(b, "}\n");
}

static bool put_contents(struct os_printer *p, const struct ctr_ram *r)
{
    struct textbuf *b = &p->out;

    if (!r->n) {
        return textbuf_printf(b, " holds %" PRIu64 " bytes of 0x%02x", r->size, r->fill);
    }
    return textbuf_printf(b, " holds %" PRIu64 " bytes", r->size) &&
           put_data(p, r->data, r->n) &&
           (r->n == r->size ||
            textbuf_printf(b, ", from 0x%" PRIx64 " on 0x%02x", r->addr + r->n, r->fill));
}

static bool print_ram(struct os_printer *p, const struct ctr_os_event *e,
                      const struct ctr_ram *r)
{
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "ram", e);

    if (!ok || p->opt->json) {
        return ok && print_ram_json(p, r);
    }
    if (r->op == CTR_RAM_ANEW) {
        return textbuf_printf(b, "+++ all of memory is another one +++\n");
    }
    ok = textbuf_printf(b, "+++ %s 0x%" PRIx64 "-0x%" PRIx64,
                        r->op == CTR_RAM_MAP && r->fill == CTR_RAM_ROM ? "ROM" : "RAM",
                        r->addr, r->addr + (r->size ? r->size - 1 : 0));
    if (ok && r->op == CTR_RAM_MAP) {
        ok = textbuf_printf(b, " is ") && put_name(b, &r->block) &&
             textbuf_printf(b, "+0x%" PRIx64, r->offset);
    } else if (ok && r->op == CTR_RAM_UNMAP) {
        ok = textbuf_printf(b, " is no more");
    } else if (ok && r->op == CTR_RAM_BYTES) {
        ok = put_contents(p, r);
    } else if (ok) {
        ok = textbuf_printf(b, " holds what is at 0x%" PRIx64, r->from);
    }
    return ok && textbuf_printf(b, " +++\n");
}

/* --------------------------------------------------------------------- DMA */

const char *dump_dma_source(uint32_t source)
{
    static const char *const names[] = {[CTR_DMA_DEVICE] = "device",
                                        [CTR_DMA_WALK] = "walk",
                                        [CTR_DMA_CPU] = "processor",
                                        [CTR_DMA_HOST] = "host"};

    return names[source];
}

static bool print_dma(struct os_printer *p, const struct ctr_os_event *e,
                      const struct ctr_dma *d)
{
    static const char *const names[] = {[CTR_DMA_DEVICE] = "a device",
                                        [CTR_DMA_WALK] = "walk",
                                        [CTR_DMA_CPU] = "processor",
                                        [CTR_DMA_HOST] = "QEMU"};
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "dma", e);

    if (!ok || p->opt->json) {
        return ok &&
               textbuf_printf(b, ",\"source\":\"%s\"", dump_dma_source(d->source)) &&
               put_name_json(b, "device", &d->device) &&
               textbuf_printf(b, ",\"addr\":\"0x%" PRIx64 "\",\"size\":%" PRIu64, d->addr,
                              d->size) &&
               (!d->n || os_put_data(p, d->data, d->n)) && textbuf_printf(b, "}\n");
    }
    return textbuf_printf(b, "+++ ") &&
           (d->source == CTR_DMA_DEVICE && d->device.n
                ? put_name(b, &d->device)
                : textbuf_printf(b, "%s", names[d->source])) &&
           textbuf_printf(b, " writes %" PRIu64 " bytes to @0x%" PRIx64, d->size,
                          d->addr) &&
           put_data(p, d->data, d->n) && textbuf_printf(b, " +++\n");
}

/* ----------------------------------------------------------------- devices */

static bool print_io_json(struct os_printer *p, const struct ctr_io *i)
{
    struct textbuf *b = &p->out;

    return textbuf_printf(b, ",\"op\":\"%s\"",
                          i->flags & CTR_IO_WRITE ? "write" : "read") &&
           put_name_json(b, "device", &i->device) &&
           put_name_json(b, "region", &i->region) &&
           textbuf_printf(b,
                          ",\"offset\":\"0x%" PRIx64 "\",\"%s\":\"0x%" PRIx64
                          "\",\"size\":%u,\"value\":\"0x%" PRIx64 "\"%s}\n",
                          i->offset, i->flags & CTR_IO_PORT ? "port" : "addr", i->addr,
                          i->size, i->value,
                          i->flags & CTR_IO_FAILED ? ",\"failed\":true" : "");
}

/* "device region+0x18 ", the device unless it has the region's name. */
static bool put_register(struct textbuf *b, const struct ctr_io *i)
{
    const struct ctr_str *d = &i->device, *r = &i->region;
    const bool same = d->n == r->n && !memcmp(d->p, r->p, d->n);

    return (!d->n || same || (put_name(b, d) && textbuf_printf(b, " "))) &&
           (!r->n || (put_name(b, r) && textbuf_printf(b, "+0x%" PRIx64 " ", i->offset)));
}

static bool print_io(struct os_printer *p, const struct ctr_os_event *e,
                     const struct ctr_io *i)
{
    struct textbuf *b = &p->out;
    bool ok = os_put_start(p, "io", e);

    if (!ok || p->opt->json) {
        return ok && print_io_json(p, i);
    }
    return textbuf_printf(b, "+++ ") && put_register(b, i) &&
           textbuf_printf(b, "(%s0x%" PRIx64 ") %s %u: 0x%" PRIx64 "%s +++\n",
                          i->flags & CTR_IO_PORT ? "port " : "@", i->addr,
                          i->flags & CTR_IO_WRITE ? "write" : "read", i->size, i->value,
                          i->flags & CTR_IO_FAILED ? ", failed" : "");
}

bool os_print_memory(struct os_printer *p, const struct ctr_os_event *e)
{
    struct ctr_ram ram;
    struct ctr_dma dma;
    struct ctr_io io;

    switch (e->type) {
    case CTR_EVENT_RAM:
        return ctr_parse_ram(e, &ram) != 0 || print_ram(p, e, &ram);
    case CTR_EVENT_DMA:
        return ctr_parse_dma(e, &dma) != 0 || print_dma(p, e, &dma);
    case CTR_EVENT_IO:
        return ctr_parse_io(e, &io) != 0 || print_io(p, e, &io);
    default:
        return true; /* of a later version */
    }
}
