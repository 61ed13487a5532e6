/* SPDX-License-Identifier: MIT */
/* Unpacks what kernels are packed with: zstd, gzip, xz, lz4.  The size of what is packed
 * follows it, in the last four bytes. */
#include "symbols/kernel_unpack.h"

#include <lz4.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "symbols/jit.h"
#include "symbols/le.h"

#define SETUP_MAGIC 0x202u
#define SETUP_SECTORS 0x1f1u
#define PAYLOAD_OFFSET 0x248u
#define PAYLOAD_BYTES 0x24cu

bool kernel_is_packed(const uint8_t *p, size_t n)
{
    return n > PAYLOAD_BYTES + 4 && !memcmp(p + SETUP_MAGIC, "HdrS", 4);
}

/* Each unpacks n bytes at p to at most `most' at out; returns how many, 0: damaged. */

static size_t unpack_zstd(const uint8_t *p, size_t n, uint8_t *out, size_t most)
{
    size_t got = ZSTD_findFrameCompressedSize(p, n);

    got = ZSTD_isError(got) ? got : ZSTD_decompress(out, most, p, got);
    return ZSTD_isError(got) ? 0 : got;
}

static size_t unpack_gzip(const uint8_t *p, size_t n, uint8_t *out, size_t most)
{
    z_stream s = {.next_in = (Bytef *)(uintptr_t)p,
                  .avail_in = (uInt)n,
                  .next_out = out,
                  .avail_out = (uInt)most};
    int ret;

    if (inflateInit2(&s, 16 + MAX_WBITS) != Z_OK) {
        return 0;
    }
    ret = inflate(&s, Z_FINISH);
    inflateEnd(&s);
    return ret == Z_STREAM_END ? s.total_out : 0;
}

static size_t unpack_xz(const uint8_t *p, size_t n, uint8_t *out, size_t most)
{
    uint64_t memory = UINT64_C(256) << 20;
    size_t in = 0, got = 0;

    return lzma_stream_buffer_decode(&memory, 0, NULL, p, &in, n, out, &got, most) ==
                   LZMA_OK
               ? got
               : 0;
}

/* The format of `lz4 -l': a magic number, and blocks with their size before each. */
static size_t unpack_lz4(const uint8_t *p, size_t n, uint8_t *out, size_t most)
{
    size_t got = 0;

    for (size_t at = 4; n - at >= 4 && got < most;) {
        uint32_t bytes = le32(p + at);
        int ret;

        at += 4;
        if (bytes > n - at) {
            return 0;
        }
        ret = LZ4_decompress_safe((const char *)p + at, (char *)out + got, (int)bytes,
                                  (int)(most - got));
        if (ret <= 0) {
            return 0;
        }
        got += (size_t)ret;
        at += bytes;
    }
    return got;
}

static const struct {
    const char *magic;
    size_t n;
    size_t (*unpack)(const uint8_t *p, size_t n, uint8_t *out, size_t most);
    size_t after; /* bytes of the size, if that is not the format's own */
} formats[] = {
    {"\x28\xb5\x2f\xfd", 4, unpack_zstd, 4},
    {"\x1f\x8b", 2, unpack_gzip, 0},
    {"\xfd"
     "7zXZ",
     6, unpack_xz, 4},
    {"\x02\x21\x4c\x18", 4, unpack_lz4, 4},
};

uint8_t *kernel_unpack(const uint8_t *p, size_t n, size_t *bytes, const char **why)
{
    size_t at = (size_t)(p[SETUP_SECTORS] ? p[SETUP_SECTORS] : 4) * 512 + 512, most;
    uint8_t *out;

    at += le32(p + PAYLOAD_OFFSET);
    if (at > n || n - at < le32(p + PAYLOAD_BYTES) || le32(p + PAYLOAD_BYTES) < 8) {
        *why = "its kernel is not whole";
        return NULL;
    }
    n = le32(p + PAYLOAD_BYTES);
    p += at;
    most = le32(p + n - 4);
    if (most > JIT_MAX_BYTES) {
        *why = "its kernel is too large";
        return NULL;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (memcmp(p, formats[i].magic, formats[i].n) != 0) {
            continue;
        }
        out = malloc(most + 1);
        *why = out ? "its kernel cannot be unpacked" : NULL;
        *bytes = !out ? 0 : formats[i].unpack(p, n - formats[i].after, out, most);
        if (!*bytes) {
            free(out);
            return NULL;
        }
        return out;
    }
    *why = "its kernel is packed in an unknown way: unpack it (extract-vmlinux)";
    return NULL;
}
