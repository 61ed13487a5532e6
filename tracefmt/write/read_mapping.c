/* SPDX-License-Identifier: MIT */
/* A mapping as the guest reported it: nobody has checked that payload before. */
#include "cannoli/events.h"
#include "ctr_write.h"
#include "model/payload.h"

int ctr_mapping_read(const uint8_t *payload, size_t bytes, struct ctr_map *out)
{
    const struct ctr_os_event e = {
        .type = CTR_EVENT_MAP, .size = (uint32_t)bytes, .payload = payload};
    if (payload_check(CTR_EVENT_MAP, payload, bytes)) {
        return -CTR_E_CORRUPT;
    }
    return ctr_parse_map(&e, out);
}
