/* SPDX-License-Identifier: MIT */
/* The events of a call, kept until it is over. */
#include "dump.h"

#include <string.h>

bool call_store(struct textbuf *raw, const struct ctr_os_event *e)
{
    struct stored_event s = {
        .type = e->type, .size = e->size, .ordinal = e->ordinal, .time_ns = e->time_ns};
    char *p = textbuf_reserve(raw, sizeof(s) + e->size);

    if (!p) {
        return false;
    }
    p = fmt_mem(p, (const char *)&s, sizeof(s));
    textbuf_commit(raw, fmt_mem(p, (const char *)e->payload, e->size));
    return true;
}

bool call_load(const char *raw, size_t len, size_t *pos, struct ctr_os_event *e)
{
    struct stored_event s;

    if (len - *pos < sizeof(s)) {
        return false;
    }
    memcpy(&s, raw + *pos, sizeof(s));
    e->type = s.type;
    e->size = s.size;
    e->ordinal = s.ordinal;
    e->time_ns = s.time_ns;
    e->payload = (const uint8_t *)raw + *pos + sizeof(s);
    *pos += sizeof(s) + s.size;
    return true;
}
