/* SPDX-License-Identifier: MIT */
/* What a system emulator's name and arguments say of its machine; see launch_machine.h. */
#include "launch_machine.h"

#include <stddef.h>
#include <string.h>

/* The name of an option, with one dash or two; NULL: it is none. */
static const char *option(const char *arg)
{
    return arg[0] == '-' && arg[1] ? arg + 1 + (arg[1] == '-') : NULL;
}

/* Options of QEMU without an argument: what follows another one may be its argument. */
static bool is_alone(const char *name)
{
    static const char *const alone[] = {
        "S",
        "daemonize",
        "enable-kvm",
        "enable-sync-profile",
        "full-screen",
        "mem-prealloc",
        "no-fd-bootchk",
        "no-reboot",
        "no-shutdown",
        "no-user-config",
        "nodefaults",
        "nographic",
        "old-param",
        "only-migratable",
        "perfmap",
        "preconfig",
        "s",
        "semihosting",
        "snapshot",
        "usb",
        "win2k-hack",
        "xen-attach",
        "xen-domid-restrict",
    };

    for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
        if (!strcmp(name, alone[i])) {
            return true;
        }
    }
    return false;
}

/* The rest of the last item of a list with commas that begins so; NULL: there is none. */
static const char *find_item(const char *list, const char *begin)
{
    const size_t n = strlen(begin);
    const char *found = NULL;

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        found = strncmp(at, begin, n) ? found : at + n;
    }
    return found;
}

bool launch_machine_parallel(char **command)
{
    bool parallel = false;

    for (int i = 1; command[i] && command[i + 1]; i++) {
        const char *name = option(command[i]);

        if (name && !strcmp(name, "accel")) {
            const char *rest = find_item(command[++i], "thread=multi");
            parallel |= rest && (!*rest || *rest == ',');
        }
    }
    return parallel;
}

/* Whether this is the begin of "kvm", and of nothing else; `accel' of -M is a list. */
static bool is_kvm(const char *text)
{
    return !strncmp(text, "kvm", 3) && (!text[3] || text[3] == ',');
}

bool launch_machine_kvm(char **command)
{
    const char *of_machine = NULL; /* the last one counts */
    bool named = false, others = false;

    for (int i = 1; command[i]; i++) {
        const char *name = option(command[i]), *value;

        if (!name) {
            continue;
        }
        if (is_alone(name)) {
            of_machine = strcmp(name, "enable-kvm") ? of_machine : "kvm";
            continue;
        }
        value = command[++i];
        if (!value) {
            break;
        }
        if (!strcmp(name, "accel")) {
            named = true;
            others |= !is_kvm(strncmp(value, "accel=", 6) ? value : value + 6);
        } else if (!strcmp(name, "machine") || !strcmp(name, "M")) {
            const char *accel = find_item(value, "accel=");
            of_machine = accel ? accel : of_machine;
        }
    }
    others |= of_machine && !is_kvm(of_machine);
    return !others && (named || of_machine);
}

bool launch_machine_has_contexts(const char *target)
{
    static const char *const targets[] = {"aarch64", "arm",     "i386",
                                          "riscv32", "riscv64", "x86_64"};

    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        if (!strcmp(target, targets[i])) {
            return true;
        }
    }
    return false;
}
