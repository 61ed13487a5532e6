/* SPDX-License-Identifier: MIT */
/* See file_facts.h. */
#include "file_facts.h"

#include <inttypes.h>
#include <string.h>

static uint32_t count(const struct ctr_files *files)
{
    uint32_t n = 0;

    while (files && ctr_files_get(files, n)) {
        n++;
    }
    return n;
}

bool file_facts_text(struct textbuf *b, const struct ctr_files *files)
{
    const uint32_t n = count(files);
    bool ok =
        !n || textbuf_printf(b, "files         %u, %" PRIu64 " bytes of the trace\n", n,
                             ctr_files_stored(files));

    for (uint32_t i = 0; ok && i < n; i++) {
        const struct ctr_file *f = ctr_files_get(files, i);

        ok =
            textbuf_printf(b, "  ") && textbuf_printable(b, f->path, strlen(f->path)) &&
            (f->bytes == f->size ? textbuf_printf(b, "  %" PRIu64 " bytes", f->size)
                                 : textbuf_printf(b, "  %" PRIu64 " of %" PRIu64 " bytes",
                                                  f->bytes, f->size)) &&
            textbuf_printf(b, "%s\n",
                           f->changed    ? "  changed while it was mapped"
                           : !f->checked ? "  may have been changed while it was mapped"
                                         : "");
    }
    return ok;
}

bool file_facts_json(struct textbuf *b, const struct ctr_files *files)
{
    const uint32_t n = count(files);
    bool ok = !n || textbuf_printf(b, ",\"file_bytes_stored\":%" PRIu64 ",\"files\":[",
                                   ctr_files_stored(files));

    for (uint32_t i = 0; ok && i < n; i++) {
        const struct ctr_file *f = ctr_files_get(files, i);

        ok = textbuf_printf(b, "%s{\"path\":", i ? "," : "") &&
             textbuf_json_string(b, f->path, strlen(f->path)) &&
             textbuf_printf(b,
                            ",\"size\":%" PRIu64 ",\"bytes\":%" PRIu64
                            ",\"contents\":%u,\"changed\":%s,\"checked\":%s}",
                            f->size, f->bytes, f->number, f->changed ? "true" : "false",
                            f->checked ? "true" : "false");
    }
    return ok && (!n || textbuf_printf(b, "]"));
}
