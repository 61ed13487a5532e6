/* SPDX-License-Identifier: MIT */
/*
 * jitter-calls: records calls and returns only, without their accesses and without
 * system calls: enough for a call graph, at a small part of a full trace's size.  Calls
 * are tagged 1, returns 2, so that a reader of the trace needs no disassembler.
 *
 *   cannoli-record --jitter ./libjitter-calls.so -o run.ctr -- ./app
 *
 * Build: cc -shared -fPIC $(pkg-config --cflags libctr) \
 *            -o libjitter-calls.so jitter-calls.c
 */
#include <cannoli/jitter.h>

static int load(const struct cannoli_host *host, const char *args, void **state)
{
    if (*args) {
        host->error("there are no arguments, but '%s' was given", args);
        return 1;
    }
    *state = (void *)host;
    return 0;
}

static int hook_inst(void *state, const struct cannoli_insn *insn)
{
    const struct cannoli_host *host = state;

    if (insn->flags & CANNOLI_INSN_CALL) {
        host->tag_insn(insn->context, 1);
    } else if (insn->flags & CANNOLI_INSN_RETURN) {
        host->tag_insn(insn->context, 2);
    } else {
        return CANNOLI_NEVER;
    }
    return CANNOLI_ALWAYS;
}

static int hook_mem(void *state, const struct cannoli_insn *insn, int is_write,
                    uint32_t size)
{
    (void)state;
    (void)insn;
    (void)is_write;
    (void)size;
    return 0;
}

static int hook_syscall(void *state, uint32_t nr, const char *name)
{
    (void)state;
    (void)nr;
    (void)name;
    return 0;
}

const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER,  .name = "calls",      .load = load,
    .hook_inst = hook_inst, .hook_mem = hook_mem, .hook_syscall = hook_syscall,
};
