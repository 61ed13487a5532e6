/* SPDX-License-Identifier: MIT */
/* Hashes of damaged traces, without which no reader gets past the damage (see fuzz.h). */
#include "fuzz.h"

#include <xxhash.h>
#include "base/format.h"
#include "base/le.h"

void fuzz_fix_hashes(uint8_t *data, size_t n)
{
    if (n < FILE_HEAD) {
        return;
    }
    put64(data + FILE_OFF_HASH, XXH64(data, FILE_OFF_HASH, 0));
    for (size_t at = FILE_HEAD; n - at > SECT_OFF_FRAMES + SECT_HASH;) {
        uint8_t *p = data + at;
        size_t size = le32(p + 4);
        if (le32(p) != FRAME_OURS || size < SECT_OFF_FRAMES || size + 8 > n - at) {
            return;
        }
        size += 8;
        size_t payload = at + size;
        unsigned frames = le16(p + SECT_OFF_NFRAMES);
        for (unsigned i = 0; i < frames; i++) {
            size_t f = SECT_OFF_FRAMES + (size_t)i * SECT_FRAME;
            if (f + SECT_FRAME + SECT_HASH > size) {
                break;
            }
            size_t csize = le32(p + f);
            if (csize > n - payload) {
                break;
            }
            put64(p + f + 8, XXH64(data + payload, csize, 0));
            payload += csize;
        }
        put64(p + size - SECT_HASH, XXH64(p, size - SECT_HASH, 0));
        at = payload;
    }
}
