/* SPDX-License-Identifier: MIT */
/* The registers of i386 and x86_64: gdb's features org.gnu.gdb.i386.core and .linux. */
#include "gdb/gdb_tables.h"

/* In the flags' names `p' is the prefix that QEMU gives them, n the bytes of a register. */
#define EFLAGS(p)                                                                        \
    "flags " p "eflags 4 ID 21 VIP 20 VIF 19 AC 18 VM 17 RF 16 NT 14 IOPL 12:13 OF 11 "  \
    "DF 10 IF 9 TF 8 SF 7 ZF 6 AF 4 PF 2 CF 0;"
#define CR0(p, n)                                                                        \
    "flags " p "cr0 " n " PG 31 CD 30 NW 29 AM 18 WP 16 NE 5 ET 4 TS 3 EM 2 MP 1 PE 0;"
#define CR3(p, n, last) "flags " p "cr3 " n " PDBR 12:" last " PCID 0:11;"
#define CR4(p, n, more)                                                                  \
    "flags " p "cr4 " n " " more                                                         \
    "LAM_SUP 28 LASS 27 UINTR 25 PKS 24 CET 23 PKE 22 SMAP 21 SMEP 20 KL 19 "            \
    "OSXSAVE 18 PCIDE 17 FSGSBASE 16 SMXE 14 VMXE 13 LA57 12 UMIP 11 OSXMMEXCPT 10 "     \
    "OSFXSR 9 PCE 8 PGE 7 MCE 6 PAE 5 PSE 4 DE 3 TSD 2 PVI 1 VME 0;"
#define EFER(p, n)                                                                       \
    "flags " p "efer " n " TCE 15 FFXSR 14 LMSLE 13 SVME 12 NXE 11 LMA 10 LME 8 SCE 0;"
#define MXCSR(p)                                                                         \
    "flags " p "mxcsr 4 IE 0 DE 1 ZE 2 OE 3 UE 4 PE 5 DAZ 6 IM 7 DM 8 ZM 9 OM 10 UM 11 " \
    "PM 12 FZ 15;"

#define SEGMENTS {"cs ss ds es fs gs", 32, "int32", NULL, NULL}
/* Of the x87's tags and last instruction QEMU has no state; its packets have 0 for them. */
#define X87                                                                              \
    {"st0..7", 80, "i387_ext", NULL, NULL}, {"fctrl fstat", 32, "int", "float", NULL},   \
    {                                                                                    \
        "ftag fiseg fioff foseg fooff fop", 32, "int", "float", GDB_FROM_NOTHING         \
    }

static const struct gdb_run core64[] = {
    {"rax rbx rcx rdx rsi rdi", 64, "int64", NULL, NULL},
    {"rbp rsp", 64, "data_ptr", NULL, NULL},
    {"r8..15", 64, "int64", NULL, NULL},
    {"rip", 64, "code_ptr", NULL, GDB_FROM_PC},
    {"eflags", 32, "x64_eflags", NULL, NULL},
    SEGMENTS,
    {"fs_base gs_base k_gs_base", 64, "int64", NULL, NULL},
    {"cr0", 64, "x64_cr0", NULL, NULL},
    {"cr2", 64, "int64", NULL, NULL},
    {"cr3", 64, "x64_cr3", NULL, NULL},
    {"cr4", 64, "x64_cr4", NULL, NULL},
    {"cr8", 64, "int64", NULL, NULL},
    {"efer", 64, "x64_efer", NULL, NULL},
    X87,
    {"xmm0..15", 128, "vec128", NULL, NULL},
    {"mxcsr", 32, "x64_mxcsr", "vector", NULL},
    {0},
};

static const struct gdb_run core32[] = {
    {"eax ecx edx ebx", 32, "int32", NULL, NULL},
    {"esp ebp", 32, "data_ptr", NULL, NULL},
    {"esi edi", 32, "int32", NULL, NULL},
    {"eip", 32, "code_ptr", NULL, GDB_FROM_PC},
    {"eflags", 32, "i386_eflags", NULL, NULL},
    SEGMENTS,
    {"fs_base gs_base k_gs_base", 32, "int32", NULL, NULL},
    {"cr0", 32, "i386_cr0", NULL, NULL},
    {"cr2", 32, "int32", NULL, NULL},
    {"cr3", 32, "i386_cr3", NULL, NULL},
    {"cr4", 32, "i386_cr4", NULL, NULL},
    {"cr8", 32, "int32", NULL, NULL},
    {"efer", 32, "i386_efer", NULL, NULL},
    X87,
    {"xmm0..7", 128, "vec128", NULL, NULL},
    {"mxcsr", 32, "i386_mxcsr", "vector", NULL},
    {0},
};

static const struct gdb_run linux64[] = {
    {"orig_rax", 64, "int", NULL, GDB_FROM_NOTHING},
    {0},
};

static const struct gdb_run linux32[] = {
    {"orig_eax", 32, "int", NULL, GDB_FROM_NOTHING},
    {0},
};

static const struct gdb_feature x86_64[] = {
    {"org.gnu.gdb.i386.core",
     EFLAGS("x64_") CR0("x64_", "8") CR3("x64_", "8", "63") CR4("x64_", "8", "FRED 32 ")
         EFER("x64_", "8") GDB_VEC128 MXCSR("x64_"),
     core64},
    {"org.gnu.gdb.i386.linux", "", linux64, .when = GDB_PROGRAM},
    {0},
};

static const struct gdb_feature i386[] = {
    {"org.gnu.gdb.i386.core",
     EFLAGS("i386_") CR0("i386_", "4") CR3("i386_", "4", "31") CR4("i386_", "4", "")
         EFER("i386_", "4") GDB_VEC128 MXCSR("i386_"),
     core32},
    {"org.gnu.gdb.i386.linux", "", linux32, .when = GDB_PROGRAM},
    {0},
};

const struct gdb_target gdb_targets_x86[] = {
    {"x86_64", "i386:x86-64", "rsp", x86_64},
    {"i386", "i386", "esp", i386},
    {0},
};
