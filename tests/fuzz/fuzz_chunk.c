/* SPDX-License-Identifier: MIT */
/*
 * The body of a chunk and its columns, before compression: placed after a good
 * beginning, with nothing after them, and with all sizes and hashes correct.
 * Input: body, u32 size of each column, columns.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>
#include "ctr.h"
#include "base/format.h"
#include "fuzz.h"
#include "base/le.h"
#include "write/writer.h"

#define INPUT_HEAD (CHUNK_BODY + 4 * CHUNK_PHYS_FRAMES)

/* Where the first section of a type is, and its contents. */
static const uint8_t *find_section(const uint8_t *p, size_t n, unsigned type)
{
    for (size_t at = FILE_HEAD; at < n;) {
        if (le32(p + at) == FRAME_OURS && le16(p + at + SECT_OFF_TYPE) == type) {
            return p + at;
        }
        at += ZSTD_findFrameCompressedSize(p + at, n - at);
    }
    return NULL;
}

uint8_t *fuzz_seed(unsigned i, size_t *n)
{
    size_t bytes;
    uint8_t *file = fuzz_trace(i * 2, &bytes);
    const uint8_t *sec = find_section(file, bytes, SECT_CHUNK);
    uint8_t *out = malloc(INPUT_HEAD + (1u << 20));
    if (!sec || !out) {
        abort();
    }
    const uint8_t *frames = sec + SECT_OFF_FRAMES;
    const unsigned nframes = le16(sec + SECT_OFF_NFRAMES);
    memset(out, 0, INPUT_HEAD);
    memcpy(out, frames + nframes * SECT_FRAME, CHUNK_BODY);
    const uint8_t *src = sec + 8 + le32(sec + 4);
    *n = INPUT_HEAD;
    for (unsigned k = 0; k < nframes; k++) {
        uint32_t csize = le32(frames + k * SECT_FRAME);
        uint32_t dsize = le32(frames + k * SECT_FRAME + 4);
        put32(out + CHUNK_BODY + 4 * k, dsize);
        if (csize && ZSTD_decompress(out + *n, dsize, src, csize) != dsize) {
            abort();
        }
        *n += dsize;
        src += csize;
    }
    free(file);
    return out;
}

static void run(const uint8_t *data, size_t n, unsigned seed)
{
    size_t bytes;
    uint8_t *file = fuzz_trace(seed, &bytes);
    const uint8_t *sec = find_section(file, bytes, SECT_CHUNK);
    size_t start = (size_t)(sec - file);
    uint8_t *out = malloc(start + SECT_MAX_HEAD + ZSTD_compressBound(n) + 256);
    uint8_t *z = malloc(ZSTD_compressBound(n) + 256);
    struct out_frame f[CHUNK_PHYS_FRAMES] = {{0}};
    if (!out || !z) {
        abort();
    }
    size_t at = INPUT_HEAD, zn = 0;
    const unsigned nframes = le16(sec + SECT_OFF_NFRAMES);
    for (unsigned k = 0; k < nframes; k++) {
        size_t size = le32(data + CHUNK_BODY + 4 * k);
        size = size < n - at ? size : n - at;
        if (size) {
            size_t c =
                ZSTD_compress(z + zn, ZSTD_compressBound(size), data + at, size, 1);
            f[k] = (struct out_frame){NULL, (uint32_t)c, (uint32_t)size,
                                      XXH64(z + zn, c, 0)};
            zn += c;
        }
        at += size;
    }
    memcpy(out, file, start);
    size_t total = start;
    total += writer_section_head(out + total, SECT_CHUNK, SECT_REQUIRED,
                                 le32(sec + SECT_OFF_SEQ), data, CHUNK_BODY, f, nframes);
    memcpy(out + total, z, zn);
    fuzz_read(out, total + zn, 0);
    free(z);
    free(out);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n >= INPUT_HEAD) {
        /* definitions of the seed that it came from, and of others */
        run(data, n, data[n - 1] % 16 * 2);
        run(data, n, 4);
    }
    return 0;
}
