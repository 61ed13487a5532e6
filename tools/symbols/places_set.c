/* SPDX-License-Identifier: MIT */
/* What the parts of the set of modules share: comparing files with a trace, and reasons. */
#include "places_priv.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

bool modset_same_id(const uint8_t *a, uint32_t n, const uint8_t *b, uint32_t m)
{
    return n && n == m && !memcmp(a, b, n);
}

int modset_no_memory(const struct modset *s)
{
    tool_error(s->opt.prog, "no memory");
    return TOOL_FAILED;
}

const char *modset_machine_name(uint32_t machine, bool big_endian)
{
    switch (machine) {
    case 3:
        return "i386";
    case 8:
        return big_endian ? "mips" : "mipsel";
    case 20:
        return "ppc";
    case 21:
        return big_endian ? "ppc64" : "ppc64le";
    case 22:
        return "s390x";
    case 40:
        return big_endian ? "armeb" : "arm";
    case 62:
        return "x86_64";
    case 183:
        return big_endian ? "aarch64_be" : "aarch64";
    case 243:
        return "riscv";
    }
    return "another machine";
}

bool modset_right_machine(const struct symfile_info *i, const struct target *t)
{
    /* AArch64 and ARM: the header has the byte order of data, and so has the trace.  On a
     * PowerPC machine, firmware and kernel may differ. */
    const bool either = t->is_machine && (i->machine == 20 || i->machine == 21);

    return i->machine == t->machine && (either || i->big_endian == t->big_endian) &&
           (i->machine != 243 || i->addr_bits == t->addr_bits);
}

struct symfile_options modset_file_options(struct modset *s)
{
    return (struct symfile_options){.flags = s->opt.flags,
                                    .debug_dirs = s->debug_dirs,
                                    .nr_debug_dirs = s->opt.nr_debug_dirs,
                                    .servers = s->opt.debuginfod ? &s->servers : NULL};
}

bool modset_set_text(const char **field, const char *text)
{
    char *copy = strdup(text);

    if (copy) {
        free((char *)(uintptr_t)*field);
        *field = copy;
    }
    return copy != NULL;
}

bool modset_without_file(struct modset *s, struct mod *m, const char *why, bool remark)
{
    if (remark && !m->remarked && !s->opt.quiet) {
        tool_error(s->opt.prog, "%s; its code is shown by address", why);
        m->remarked = true;
    }
    return modset_set_text(&m->pub.why, why);
}

bool module_matches(const struct module *m, const char *const *globs, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!fnmatch(globs[i], m->path, 0) || !fnmatch(globs[i], m->name, 0)) {
            return true;
        }
    }
    return false;
}
