/* SPDX-License-Identifier: MIT */
/* The names of functions in a call tree. */
#include "calltree_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/isa.h"
#include "guest/guest.h"
#include "input/machine.h"

static const char *kuser_name(const struct fold *f, uint64_t vaddr)
{
    static const struct {
        uint64_t vaddr;
        const char *name;
    } names[] = {{0xffff0f60, "__kuser_cmpxchg64"},
                 {0xffff0fa0, "__kuser_memory_barrier"},
                 {0xffff0fc0, "__kuser_cmpxchg"},
                 {0xffff0fe0, "__kuser_get_tls"}};

    for (size_t i = 0; f->code->machine == CANNOLI_EM_ARM && i < 4; i++) {
        if (names[i].vaddr == vaddr) {
            return names[i].name;
        }
    }
    return NULL;
}

static char *interrupt_name(const struct guest *g, uint32_t code)
{
    const uint32_t mask = (1u << INTERRUPT_BITS) - 1, number = code & mask;
    const struct ctr_interrupt i = {.flags = code >> INTERRUPT_BITS & INTERRUPT_FLAGS,
                                    .number = number == mask ? CTR_INT_UNKNOWN : number};
    char buf[GUEST_INTERRUPT_MAX];

    return strdup(guest_interrupt_name(g, &i, buf));
}

static char *name_of(const struct fold *f, const struct fn *fn)
{
    char text[160], buf[GUEST_SIGNAL_MAX];
    struct ctr_info info;
    struct guest guest;
    const struct ctr_process *p;
    const struct ctr_thread *t;

    switch (fn->kind) {
    case FN_SIGNAL:
        ctr_trace_info(f->tree->trace, &info);
        guest_init(&guest, &info);
        if (fn->number & INTERRUPT) {
            return interrupt_name(&guest, fn->number);
        }
        snprintf(text, sizeof(text), "signal %s",
                 guest_signal_name(&guest, fn->number, buf));
        break;
    case FN_THREAD:
        ctr_trace_info(f->tree->trace, &info);
        if (f->opt->separate_threads) {
            t = ctr_trace_thread(f->tree->trace, fn->number);
            if (info.machine) {
                tool_thread_text(&info, t ? t->pid : 0, t ? t->tid : 0, text);
            } else {
                snprintf(text, sizeof(text), "%s-%d/%d",
                         fn->name && *fn->name ? fn->name : "thread", t ? t->pid : 0,
                         t ? t->tid : 0);
            }
        } else if (info.machine && f->opt->by_task && f->task_kind) {
            call_task_text(f->tree->trace, &f->tasks[fn->number].is, text);
        } else if (info.machine) {
            return strdup("machine");
        } else {
            p = ctr_trace_process(f->tree->trace, fn->number);
            snprintf(text, sizeof(text), "%s-%d",
                     fn->name && *fn->name ? fn->name : "process", p ? p->pid : 0);
        }
        break;
    default:
        if (fn->symbol) {
            return strdup(fn->symbol->name);
        }
        if (fn->module) {
            snprintf(text, sizeof(text), "%.100s+0x%" PRIx64, fn->module->name,
                     fn->vaddr);
        } else if (kuser_name(f, fn->vaddr)) {
            return strdup(kuser_name(f, fn->vaddr));
        } else {
            snprintf(text, sizeof(text), "0x%" PRIx64, fn->vaddr);
        }
    }
    return strdup(text);
}

int fold_name(struct fold *f, uint32_t function)
{
    struct call_function *to = &f->tree->functions[function];

    free((char *)to->name);
    to->name = name_of(f, f->fns[function]);
    return to->name ? 0 : -CTR_E_NOMEM;
}
