/* SPDX-License-Identifier: MIT */
/*
 * Where a machine's kernel is that has moved itself (KASLR).  gdb requests that once, when it
 * connects (qOffsets), and moves the file that it has as its program then.
 */
#include "session.h"

#include <inttypes.h>

static bool find(const struct session *s, struct place_kernel *out)
{
    return s->info.machine && s->places && places_kernel(s->places, out);
}

/*
 * TextSeg is where the file's first segment is: gdb moves all other segments by the same
 * distance.  By Text, Data and Bss, which are distances, it would move only the sections of
 * these names in a file with more than two segments, as x86's kernel has.
 */
bool kernel_offsets(const struct session *s, struct textbuf *b)
{
    const uint64_t mask = UINT64_MAX >> (64 - s->info.addr_bits);
    struct place_kernel k;

    return !find(s, &k) || !k.slide ||
           textbuf_printf(b, "TextSeg=%" PRIx64, (k.start + k.slide) & mask);
}

bool kernel_slide(const struct session *s, struct textbuf *b)
{
    struct place_kernel k;

    if (!find(s, &k)) {
        return textbuf_printf(b, "slide: the kernel is not known (--elf, --kallsyms)\n");
    }
    return textbuf_printf(b, "the kernel is 0x%" PRIx64 " %s the addresses of its file\n",
                          k.slide >> 63 ? -k.slide : k.slide,
                          k.slide >> 63 ? "below" : "above");
}
