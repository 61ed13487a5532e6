/* SPDX-License-Identifier: MIT */
/* A plugin of QEMU's that writes the lines of windows.h: out=NAME. One vCPU. */
#include <qemu-plugin.h>
#include <stdbool.h>
#include <string.h>

#include "windows.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static struct windows run;
static bool arm, riscv;

static void on_insn(unsigned vcpu, void *pc)
{
    (void)vcpu;
    window_insn(&run, (uintptr_t)pc);
}

static void on_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t addr,
                      void *data)
{
    (void)vcpu;
    (void)data;
    window_access(&run, addr, UINT64_C(1) << qemu_plugin_mem_size_shift(info),
                  qemu_plugin_mem_is_store(info));
}

/* arm's DC ZVA, riscv's cbo.zero */
static bool zeroes_line(const struct qemu_plugin_insn *insn)
{
    uint32_t code = 0;

    qemu_plugin_insn_data(insn, &code, sizeof(code));
    return arm     ? (code & ~0x1fu) == 0xd50b7420
           : riscv ? (code & ~(0x1fu << 15)) == 0x0040200f
                   : false;
}

static void on_block(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        qemu_plugin_register_vcpu_insn_exec_cb(
            insn, on_insn, QEMU_PLUGIN_CB_NO_REGS,
            (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
        if (zeroes_line(insn)) {
            continue;
        }
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, NULL);
    }
}

static void on_end(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    window_end(&run);
    fclose(run.out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
                                           int argc, char **argv)
{
    arm = !strcmp(info->target_name, "aarch64");
    riscv = !strncmp(info->target_name, "riscv", 5);
    if (argc != 1 || strncmp(argv[0], "out=", 4) ||
        !(run.out = fopen(argv[0] + 4, "w"))) {
        fprintf(stderr, "windows: it takes out=NAME\n");
        return 1;
    }
    setvbuf(run.out, NULL, _IOLBF, 0); /* it is read while QEMU runs */
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
