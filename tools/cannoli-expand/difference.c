/* SPDX-License-Identifier: MIT */
/* The two sides of a difference as lines, as tracedump shows them; see difference.h. */
#include "difference.h"

#include <inttypes.h>
#include <stdio.h>

#include "cannoli/events.h"
#include "common/options.h"
#include "dump/dump.h"
#include "guest/disas.h"
#include "input/machine.h"

static const char *const sides[] = {"recorded", "executed"};

static void show_insn(const struct light *l, const struct ctr_exec *e)
{
    struct disas *d = disas_new(l->info.elf_machine, l->info.big_endian, l->info.target);
    char text[DISAS_TEXT_MAX];
    size_t n = 0;

    if (d) {
        disas_block(d, e->mode);
        n = disas_insn(d, e->pc, e->bytes, e->len, text);
    }
    fprintf(stderr, "%10" PRIu64 " 0x%" PRIx64 ": ", e->ordinal, e->pc);
    for (unsigned i = 0; i < e->len; i++) {
        fprintf(stderr, "%02x", e->bytes[i]);
    }
    fprintf(stderr, " %.*s\n", (int)n, text);
    disas_free(d);
}

static void show_event(const struct light *l, const struct ctr_os_event *e)
{
    const struct dump_options opt = {.prog = l->prog, .string_max = 32};
    struct open_call call = {.depth = 0};
    struct os_printer p;
    bool ok;

    os_printer_init(&p, l->tr, &opt);
    if (e->type == CTR_EVENT_SYSCALL || e->type == CTR_EVENT_SYSRET) {
        ok = call_step(&p, &call, e) && call_flush(&p, &call);
    } else {
        ok = os_print_event(&p, e);
    }
    fprintf(stderr, "%.*s", ok ? (int)p.out.len : 0, p.out.data ? p.out.data : "");
    textbuf_fini(&call.raw);
    os_printer_fini(&p);
}

static void show_side(const struct light *l, const char *name, const struct ctr_event *ev)
{
    fprintf(stderr, "  %s ", name);
    if (!ev) {
        fprintf(stderr, "%10s\n", "nothing");
    } else if (ev->kind == CTR_CURSOR_EXEC) {
        show_insn(l, &ev->exec);
    } else {
        show_event(l, &ev->os);
    }
}

/* Lines can be equal where bytes are not: shows the first ones. */
static void show_bytes(const struct ctr_os_event *a, const struct ctr_os_event *b)
{
    struct ctr_usermem m;
    uint32_t i = 0;

    while (i < a->size && i < b->size && a->payload[i] == b->payload[i]) {
        i++;
    }
    if (a->type != b->type || i == a->size || i == b->size) {
        return;
    }
    if (!ctr_parse_usermem(a, &m) && a->payload + i >= m.data) {
        fprintf(stderr, "  the byte at 0x%" PRIx64 " is",
                m.addr + (uint64_t)(a->payload + i - m.data));
    } else {
        fprintf(stderr, "  byte %" PRIu32 " of the event is", i);
    }
    fprintf(stderr, " 0x%02x and 0x%02x\n", a->payload[i], b->payload[i]);
}

int difference_show(const struct light *const side[2],
                    const struct ctr_event *const ev[2], uint32_t thread,
                    uint64_t ordinal)
{
    const struct ctr_thread *t = ctr_trace_thread(side[0]->tr, thread);
    char name[THREAD_TEXT];

    light_refuse(side[0],
                 "the second execution differs at ordinal %" PRIu64 " of %s:", ordinal,
                 tool_thread_text(&side[0]->info, t->pid, t->tid, name));
    for (unsigned i = 0; i < 2; i++) {
        show_side(side[i], sides[i], ev[i]);
    }
    if (ev[0] && ev[1] && ev[0]->kind == CTR_CURSOR_OS) {
        show_bytes(&ev[0]->os, &ev[1]->os);
    }
    return TOOL_FAILED;
}
