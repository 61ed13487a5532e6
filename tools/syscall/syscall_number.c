/* SPDX-License-Identifier: MIT */
/*
 * Names of the system calls that QEMU does not implement and so records without a name.
 * Since number 424, Linux gives a new call the same number on all machines.
 */
#include "syscall/syscall_text.h"

#include <string.h>

#define FIRST 424u
#define ALPHA_OFFSET 110u

/* What a machine's numbers of new calls have added. */
static uint32_t first_number(const struct guest *g)
{
    if (g->abi->numbers == GUEST_ALPHA) {
        return ALPHA_OFFSET;
    }
    if (g->abi->numbers != GUEST_MIPS) {
        return 0;
    }
    return !strcmp(g->abi->prefix, "mips64") ? 5000 : g->wide_pairs ? 6000 : 4000;
}

static const char *name_of(const struct guest *g, uint32_t nr)
{
    static const char *const names[] = {
        "pidfd_send_signal",
        "io_uring_setup",
        "io_uring_enter",
        "io_uring_register",
        "open_tree",
        "move_mount",
        "fsopen",
        "fsconfig",
        "fsmount",
        "fspick",
        "pidfd_open",
        "clone3",
        "close_range",
        "openat2",
        "pidfd_getfd",
        "faccessat2",
        "process_madvise",
        "epoll_pwait2",
        "mount_setattr",
        "quotactl_fd",
        "landlock_create_ruleset",
        "landlock_add_rule",
        "landlock_restrict_self",
        "memfd_secret",
        "process_mrelease",
        "futex_waitv",
        "set_mempolicy_home_node",
        "cachestat",
        "fchmodat2",
        "map_shadow_stack",
        "futex_wake",
        "futex_wait",
        "futex_requeue",
        "statmount",
        "listmount",
        "lsm_get_self_attr",
        "lsm_set_self_attr",
        "lsm_list_modules",
        "mseal",
    };
    uint32_t first = FIRST + first_number(g);

    return nr >= first && nr - first < sizeof(names) / sizeof(*names) ? names[nr - first]
                                                                      : NULL;
}

struct ctr_str syscall_name(const struct guest *g, const struct ctr_syscall *s)
{
    const char *newer = s->name.n ? NULL : name_of(g, s->nr);

    return newer ? (struct ctr_str){newer, (uint32_t)strlen(newer)} : s->name;
}
