/* SPDX-License-Identifier: MIT */
/* How a line about the system begins, the bytes of one, words that several kinds have. */
#include "dump.h"
#include "input/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define FAINT "\033[2m"
#define PLAIN "\033[0m"

void os_printer_init(struct os_printer *p, const struct ctr_trace *tr,
                     const struct dump_options *opt)
{
    *p = (struct os_printer){.opt = opt, .touching = os_by_memory(opt)};
    ctr_trace_info(tr, &p->info);
    guest_init(&p->guest, &p->info);
}

void os_printer_fini(struct os_printer *p)
{
    textbuf_fini(&p->out);
    textbuf_fini(&p->args);
    free(p->mem);
}

double seconds_of(const struct ctr_info *info, uint64_t ns)
{
    return ns > info->start_ns ? (double)(ns - info->start_ns) / 1e9 : 0;
}

const char *end_name(uint32_t reason)
{
    static const char *const names[] = {"unknown", "exit", "exit_group",
                                        "signal",  "exec", "killed"};

    return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "unknown";
}

size_t thread_label(char *to, size_t size, const struct ctr_info *info, bool json,
                    const struct ctr_thread *t)
{
    char id[THREAD_TEXT];
    int n;

    if (json) {
        n = snprintf(to, size, ",\"pid\":%d,\"tid\":%d", t->pid, t->tid);
    } else {
        n = snprintf(to, size, info->machine ? " %-7s " : " %-13s ",
                     tool_thread_text(info, t->pid, t->tid, id));
    }
    return (size_t)n;
}

bool os_put_start(struct os_printer *p, const char *kind, const struct ctr_os_event *e)
{
    const struct dump_options *opt = p->opt;
    char label[64];
    bool ok;

    thread_label(label, sizeof(label), &p->info, opt->json, e->thread);
    if (opt->json) {
        ok = textbuf_printf(&p->out, "{\"kind\":\"%s\",\"ordinal\":%" PRIu64 "%s", kind,
                            e->ordinal, label);
        if (ok && opt->times && e->time_ns) {
            ok = textbuf_printf(&p->out, ",\"time\":%.9f",
                                seconds_of(&p->info, e->time_ns));
        }
        return ok;
    }
    ok = textbuf_printf(&p->out, "%s%10" PRIu64 "%s%*s%s", opt->color ? FAINT : "",
                        e->ordinal, label, p->info.machine ? PRIVILEGE_WIDTH : 0, "",
                        opt->color ? PLAIN : "");
    if (ok && opt->times && e->time_ns) {
        ok = textbuf_printf(&p->out, "[%.6f] ", seconds_of(&p->info, e->time_ns));
    }
    return ok;
}

bool os_put_data(struct os_printer *p, const uint8_t *data, uint32_t n)
{
    char *at;

    if (!textbuf_printf(&p->out, ",\"data\":\"") ||
        !(at = textbuf_reserve(&p->out, 2 * (size_t)n + 1))) {
        return false;
    }
    textbuf_commit(&p->out, fmt_bytes(at, data, n));
    return textbuf_printf(&p->out, "\"");
}
