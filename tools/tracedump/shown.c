/* SPDX-License-Identifier: MIT */
/* What --info and --state show alike: registers in groups, mappings. */
#include "tracedump.h"

#include <inttypes.h>
#include <string.h>

#include "cannoli/events.h"

unsigned reg_group(const struct ctr_reg *r)
{
    return r->flags & CTR_REG_VECTOR ? 2 : r->flags & CTR_REG_SPECIAL ? 1 : 0;
}

static const char *prot_text(uint32_t prot, char text[4])
{
    text[0] = prot & 1 ? 'r' : '-';
    text[1] = prot & 2 ? 'w' : '-';
    text[2] = prot & 4 ? 'x' : '-';
    text[3] = 0;
    return text;
}

bool put_mapping_text(struct textbuf *b, const struct ctr_mapping *m)
{
    char prot[4];
    bool ok = textbuf_printf(b, "  0x%" PRIx64 "-0x%" PRIx64 " %s", m->start, m->end,
                             prot_text(m->prot, prot));

    if (ok && m->path[0]) {
        ok = textbuf_printf(b, " ") && textbuf_printable(b, m->path, strlen(m->path)) &&
             (m->path[0] != '/' || textbuf_printf(b, "+0x%" PRIx64, m->offset));
    }
    return ok && textbuf_printf(b, "\n");
}

bool put_mapping_json(struct textbuf *b, const struct ctr_mapping *m)
{
    char prot[4];
    bool ok = textbuf_printf(
        b, "\"start\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64 "\",\"prot\":\"%s\"",
        m->start, m->end, prot_text(m->prot, prot));

    if (ok && m->path[0]) {
        ok = textbuf_printf(b, ",\"offset\":\"0x%" PRIx64 "\",\"path\":", m->offset) &&
             textbuf_json_string(b, m->path, strlen(m->path));
    }
    if (ok && (m->dev || m->inode)) {
        ok = textbuf_printf(b, ",\"dev\":%" PRIu64 ",\"inode\":%" PRIu64, m->dev,
                            m->inode);
    }
    if (ok && m->build_id_bytes) {
        ok = textbuf_printf(b, ",\"build_id\":\"");
        for (uint32_t i = 0; ok && i < m->build_id_bytes; i++) {
            ok = textbuf_printf(b, "%02x", m->build_id[i]);
        }
        ok = ok && textbuf_printf(b, "\"");
    }
    return ok;
}
