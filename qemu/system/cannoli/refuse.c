/*
 * Execution tracing into shared memory: machines that cannot be recorded
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A machine that does not run under TCG (KVM) leaves no trace, and devices that
 * the host's kernel or other processes run write to memory unseen.  Both end
 * with a sentence before the machine runs.
 */
#include "qemu/osdep.h"
#include "qemu/accel.h"
#include "qemu/error-report.h"
#include "qemu/notify.h"
#include "cpu.h"
#include "hw/qdev-core.h"
#include "net/net.h"
#include "net/vhost_net.h"
#include "qom/object.h"
#include "system/system.h"
#include "system/tcg.h"
#include "hooks.h"
#include "memory.h"

#define MAX_NETWORKS 256

static void refuse_device(const char *id, const char *type)
{
    error_report("%s%s%s is not run by QEMU (vhost, vfio): what it writes to "
                 "memory cannot be recorded; leave val and dma out of "
                 "the --events of cannoli-record, or use another device",
                 type, id ? " " : "", id ?: "");
    exit(EXIT_FAILURE);
}

static int check_object(Object *obj, void *unused)
{
    const char *type = object_get_typename(obj);
    DeviceState *dev = (DeviceState *)object_dynamic_cast(obj, TYPE_DEVICE);

    if (dev &&
        (g_str_has_prefix(type, "vhost-") || g_str_has_prefix(type, "vfio-") ||
         g_str_has_prefix(type, "x-pci-proxy-"))) {
        refuse_device(dev->id, type);
    }
    return 0;
}

static void check_networks(void)
{
    NetClientState *found[MAX_NETWORKS];
    int n = qemu_find_net_clients_except(NULL, found, NET_CLIENT_DRIVER_NIC,
                                         MAX_NETWORKS);

    for (int i = 0; i < MIN(n, MAX_NETWORKS); i++) {
        int type = found[i]->info->type;

        if (type == NET_CLIENT_DRIVER_VHOST_USER ||
            type == NET_CLIENT_DRIVER_VHOST_VDPA ||
            (type == NET_CLIENT_DRIVER_TAP && get_vhost_net(found[i]))) {
            refuse_device(found[i]->name, "network");
        }
    }
}

static void check_machine(Notifier *notifier, void *unused)
{
    if (!tcg_enabled()) {
        error_report("cannoli-record records machines that run under TCG "
                     "(-accel tcg), not under %s",
                     current_accel_name());
        exit(EXIT_FAILURE);
    }
    if (cannoli_on && cannoli_ctl->events & CTR_EVENTS_DMA) {
        check_networks();
        object_child_foreach_recursive(object_get_root(), check_object, NULL);
    }
}

/* Without TCG nothing else of this folder is called. */
static void __attribute__((constructor)) begin(void)
{
    static Notifier notifier = { .notify = check_machine };

    if (getenv("QEMU_CANNOLI")) {
        qemu_add_machine_init_done_notifier(&notifier);
    }
}
