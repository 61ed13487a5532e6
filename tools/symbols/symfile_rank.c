/* SPDX-License-Identifier: MIT */
/* Which of several names for one address is shown. */
#include <string.h>
#include "symfile_reader_priv.h"

/*
 * The rank of a name: functions by type before labels, global before local, few leading
 * underscores ("write" before "__write"), strong before weak, sized before unsized.
 */
uint8_t rank_name(const char *name, const GElf_Sym *sym)
{
    unsigned bind = GELF_ST_BIND(sym->st_info), underscores = 0;
    if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0) {
        while (underscores < 3 && name[underscores] == '_') {
            underscores++;
        }
    }
    return (uint8_t)((bind != STB_LOCAL ? 64 : 0) + (3 - underscores) * 8 +
                     (bind != STB_WEAK ? 4 : 0) + (sym->st_size ? 2 : 0));
}
