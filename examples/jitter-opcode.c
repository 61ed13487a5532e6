/* SPDX-License-Identifier: MIT */
/*
 * jitter-opcode: how often does an instruction run?  Records only instructions with one
 * mnemonic, so that the number of instructions in the trace is the answer:
 *
 *   cannoli-record --jitter ./libjitter-opcode.so,mnemonic=imul -o run.ctr -- ./app
 *   tracedump --info run.ctr
 *
 * The mnemonic is as tracedump shows it.
 * (The built-in filter --opcode does the same, for several mnemonics.)
 *
 * Build: cc -shared -fPIC $(pkg-config --cflags libctr) \
 *            -o libjitter-opcode.so jitter-opcode.c
 */
#include <stdlib.h>
#include <string.h>

#include <cannoli/jitter.h>

struct state {
    const struct cannoli_host *host;
    char mnemonic[32];
};

static int load(const struct cannoli_host *host, const char *args, void **state)
{
    static const char key[] = "mnemonic=";
    size_t n = sizeof(key) - 1;
    struct state *s;

    if (strncmp(args, key, n) || !args[n] || strlen(args + n) >= sizeof(s->mnemonic)) {
        host->error("mnemonic=NAME says which instruction is counted");
        return 1;
    }
    s = malloc(sizeof(*s));
    if (!s) {
        host->error("out of memory");
        return 1;
    }
    s->host = host;
    strcpy(s->mnemonic, args + n);
    *state = s;
    return 0;
}

static void unload(void *state)
{
    free(state);
}

static int hook_inst(void *state, const struct cannoli_insn *insn)
{
    const struct state *s = state;
    size_t n = strlen(s->mnemonic);
    char text[128];

    if (!s->host->disas(insn->context, text, sizeof(text)) ||
        strncmp(text, s->mnemonic, n)) {
        return CANNOLI_NEVER;
    }
    /* The mnemonic ends where the operands begin, or with the text. */
    return strchr(" \t", text[n]) ? CANNOLI_ALWAYS : CANNOLI_NEVER;
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

const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER, .name = "opcode",       .load = load,
    .unload = unload,      .hook_inst = hook_inst, .hook_mem = hook_mem,
};
