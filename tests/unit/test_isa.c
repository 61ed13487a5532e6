/* SPDX-License-Identifier: MIT */
/*
 * cannoli/isa.h: classifies instructions by their bytes.  The bytes are the assembler's
 * (binutils), each beside its text; the flags follow the machine's manual.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "cannoli/events.h"
#include "cannoli/isa.h"

#define B CANNOLI_INSN_BRANCH
#define J (B | CANNOLI_INSN_COND)
#define I (B | CANNOLI_INSN_INDIRECT)
#define C CANNOLI_INSN_CALL
#define R (I | CANNOLI_INSN_RETURN)
#define COND CANNOLI_INSN_COND
#define S CANNOLI_INSN_SYSCALL

struct insn {
    const char *bytes; /* hexadecimal, as in memory */
    uint32_t flags;
    const char *text;
};

static uint32_t classify(uint32_t machine, uint32_t mode, int big, const char *hex)
{
    uint8_t bytes[16];
    uint32_t len = 0, flags = ~0u;
    unsigned byte;

    for (; sscanf(hex + 2 * len, "%2x", &byte) == 1; len++) {
        bytes[len] = (uint8_t)byte;
    }
    assert_int_equal(cannoli_isa_flags(machine, mode, big, bytes, len, &flags), 1);
    return flags;
}

static void check(uint32_t machine, uint32_t mode, int big, const struct insn *v,
                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t flags = classify(machine, mode, big, v[i].bytes);

        if (flags != v[i].flags) {
            fail_msg("machine %u mode %u: %s (%s): %#x, not %#x", machine, mode,
                     v[i].text, v[i].bytes, flags, v[i].flags);
        }
    }
}

#define CHECK(machine, mode, big, v) check(machine, mode, big, v, sizeof(v) / sizeof(*v))

static void test_arm(void **unused)
{
    static const struct insn a32[] = {
        {"feffffea", B, "b ."},
        {"0100000a", J, "beq"},
        {"fdffffeb", B | C, "bl"},
        {"fcffff1b", J | C, "blne"},
        {"fbfffffa", B | C, "blx imm"},
        {"1eff2fe1", R, "bx lr"},
        {"1eff2f01", R | COND, "bxeq lr"},
        {"13ff2fe1", I, "bx r3"},
        {"33ff2fe1", I | C, "blx r3"},
        {"0ef0a0e1", R, "mov pc, lr"},
        {"03f0a0e1", I, "mov pc, r3"},
        {"02f18fe0", I, "add pc, pc, r2, lsl #2"},
        {"04f08fe2", B, "add pc, pc, #4"},
        {"0cf09de5", I, "ldr pc, [sp, #12]"},
        {"04f09de4", R, "pop {pc}"},
        {"f080bde8", R, "pop {r4-r7, pc}"},
        {"00a89de8", R, "ldm sp, {fp, sp, pc}"},
        {"00a81be9", R, "ldmdb fp, {fp, sp, pc}"},
        {"00800098", 0, "stmls r0, {pc}"},
        {"008090e8", I, "ldm r0, {pc}"},
        {"000000ef", S, "svc 0"},
        {"0f0051e1", 0, "cmp r1, pc"},
        {"00f051e1", 0, "cmp r1, r0 with Rd 15"},
        {"f0f0d0f5", 0, "pld [r0, #240]"},
        {"920003e0", 0, "mul r3, r2, r0"},
        {"00f020e3", 0, "nop"},
        {"700020e1", 0, "bkpt 0"},
        {"04f08de5", 0, "str pc, [sp, #4]"},
    };
    static const struct insn t32[] = {
        {"fee7", B, "b.n ."},
        {"01d0", J, "beq.n"},
        {"00de", 0, "udf #0"},
        {"00df", S, "svc 0"},
        {"7047", R, "bx lr"},
        {"1847", I, "bx r3"},
        {"9847", I | C, "blx r3"},
        {"f746", R, "mov pc, lr"},
        {"9f46", I, "mov pc, r3"},
        {"9f44", I, "add pc, r3"},
        {"10bd", R, "pop {r4, pc}"},
        {"10bc", 0, "pop {r4}"},
        {"08b1", J, "cbz r0"},
        {"08b9", J, "cbnz r0"},
        {"08bf", 0, "it eq"},
        {"fff7feff", B | C, "bl"},
        {"fff7feef", B | C, "blx"},
        {"fff7febf", B, "b.w"},
        {"3ff4feaf", J, "beq.w"},
        {"bde8f081", R, "ldmia.w sp!, {r4-r8, pc}"},
        {"90e80080", I, "ldmia.w r0, {pc}"},
        {"dfe800f0", I, "tbb [pc, r0]"},
        {"dfe810f0", I, "tbh [pc, r0, lsl #1]"},
        {"5df804fb", R, "ldr.w pc, [sp], #4"},
        {"5ff830f0", I, "ldr.w pc, [pc, #-48]"},
        {"53f820f0", I, "ldr.w pc, [r3, r0, lsl #2]"},
        {"d3f804f0", I, "ldr.w pc, [r3, #4]"},
        {"aff30080", 0, "nop.w"},
        {"bff35b8f", 0, "dmb ish"},
    };

    (void)unused;
    CHECK(CANNOLI_EM_ARM, CTR_MODE_DEFAULT, 0, a32);
    CHECK(CANNOLI_EM_ARM, CTR_MODE_THUMB, 0, t32);
}

static void test_aarch64(void **unused)
{
    static const struct insn v[] = {
        {"00000014", B, "b ."},       {"ffffff97", B | C, "bl"},
        {"40000054", J, "b.eq"},      {"4e000054", B, "b.al"},
        {"400000b4", J, "cbz x0"},    {"40000037", J, "tbnz w0, #0"},
        {"00001fd6", I, "br x0"},     {"20003fd6", I | C, "blr x1"},
        {"c0035fd6", R, "ret"},       {"ff0b5fd6", R, "retaa"},
        {"1f0b1fd6", I, "braaz x24"}, {"010000d4", S, "svc #0"},
        {"1f2003d5", 0, "nop"},       {"200020d4", 0, "brk #1"},
    };

    (void)unused;
    CHECK(CANNOLI_EM_AARCH64, 0, 0, v);
    /* AArch64 instructions are little-endian whatever its data are. */
    CHECK(CANNOLI_EM_AARCH64, 0, 1, v);
}

static void test_mips(void **unused)
{
    static const struct insn v[] = {
        {"08000010", B, "b"},
        {"08008010", J, "beqz a0"},
        {"08004514", J, "bne v0, a1"},
        {"08008050", J, "beqzl a0"},
        {"08001104", B | C, "bal"},
        {"08009104", J | C, "bgezal a0"},
        {"08008104", J, "bgez a0"},
        {"00001008", B, "j"},
        {"0000100c", B | C, "jal"},
        {"0800e003", R, "jr ra"},
        {"08002003", I, "jr t9"},
        {"09f82003", I | C, "jalr t9"},
        {"09002003", I, "jalr zero, t9"},
        {"0c000000", S, "syscall"},
        {"0d000000", 0, "break"},
        {"08000145", J, "bc1t"},
        {"20208046", 0, "cvt.s.w f0, f4"},
        {"34000400", 0, "teq zero, a0"},
    };
    static const struct insn big[] = {
        {"10000008", B, "b"}, {"03e00008", R, "jr ra"}, {"0000000c", S, "syscall"}};
    static const struct insn micro[] = {
        {"cfff", B, "b16"},           {"8c02", J, "beqz16 s0"},
        {"459f", R, "jr16 ra"},       {"45bf", R, "jrc ra"},
        {"45d9", I | C, "jalr16 t9"}, {"470a", R, "jraddiusp 40"},
        {"9400fffe", B, "b"},         {"94040008", J, "beqz a0"},
        {"f4000000", B | C, "jal"},   {"74000000", B | C, "jals"},
        {"4060fffe", B | C, "bal"},   {"03f90f3c", I | C, "jalr ra, t9"},
        {"00190f3c", I, "jr t9"},     {"00008b7c", S, "syscall"},
        {"00000000", 0, "nop"},       {"6d00", 0, "addiur2"},
    };
    static const struct insn mips16[] = {
        {"17ff", B, "b"},
        {"2202", J, "beqz v0"},
        {"6002", J, "bteqz"},
        {"18000000", B | C, "jal"},
        {"e820", R, "jr ra"},
        {"e8a0", R, "jrc ra"},
        {"ea00", I, "jr v0"},
        {"ea40", I | C, "jalr v0"},
        {"eac0", I | C, "jalrc v0"},
        {"6500", 0, "nop"},
        {"f0001000", B, "b extended"},
        {"f0006500", 0, "extended"},
    };

    (void)unused;
    CHECK(CANNOLI_EM_MIPS, CTR_MODE_DEFAULT, 0, v);
    CHECK(CANNOLI_EM_MIPS, CTR_MODE_DEFAULT, 1, big);
    CHECK(CANNOLI_EM_MIPS, CTR_MODE_MICROMIPS, 1, micro);
    CHECK(CANNOLI_EM_MIPS, CTR_MODE_MIPS16, 1, mips16);
}

static void test_riscv(void **unused)
{
    static const struct insn v[] = {
        {"6f000000", B, "j ."},
        {"ef00c000", B | C, "jal ra"},
        {"63040500", J, "beqz a0"},
        {"67800000", R, "ret"},
        {"e7800000", I | C, "jalr ra"},
        {"67800700", I, "jr a5"},
        {"73000000", S, "ecall"},
        {"73001000", 0, "ebreak"},
        {"01a0", B, "c.j"},
        {"01c1", J, "c.beqz a0"},
        {"8280", R, "c.jr ra"},
        {"8287", I, "c.jr a5"},
        {"8297", I | C, "c.jalr a5"},
        {"0290", 0, "c.ebreak"},
        {"3e85", 0, "c.mv a0, a5"},
        {"2125", 0, "c.addiw a0, 8"},
    };
    static const struct insn v32[] = {{"2125", B | C, "c.jal"}};

    (void)unused;
    CHECK(CANNOLI_EM_RISCV, 0, 0, v);
    CHECK(CANNOLI_EM_RISCV, CANNOLI_ISA_32, 0, v32);
}

static void test_x86(void **unused)
{
    static const struct insn v[] = {
        {"ebfe", B, "jmp short"},
        {"e900000000", B, "jmp"},
        {"7400", J, "je short"},
        {"0f8400000000", J, "je"},
        {"2e7400", J, "je,pn"},
        {"e2fe", J, "loop"},
        {"e3fe", J, "jrcxz"},
        {"e800000000", B | C, "call"},
        {"ffd0", I | C, "call *%rax"},
        {"41ffd3", I | C, "call *%r11"},
        {"3effe0", I, "notrack jmp *%rax"},
        {"ff2500000000", I, "jmp *(%rip)"},
        {"c3", R, "ret"},
        {"f3c3", R, "repz ret"},
        {"c20800", R, "ret $8"},
        {"cf", R, "iret"},
        {"0f05", S, "syscall"},
        {"cd80", S, "int $0x80"},
        {"0f0b", 0, "ud2"},
        {"cc", 0, "int3"},
        {"ff00", 0, "incl (%rax)"},
        {"ff30", 0, "push (%rax)"},
        {"f3a4", 0, "rep movsb"},
        {"f30f1efa", 0, "endbr64"},
        {"c7f800000000", J, "xbegin"},
        {"c70000000000", 0, "movl $0, (%rax)"},
        {"66", 0, "a prefix alone"},
    };
    static const struct insn v32[] = {
        {"40", 0, "inc %eax"},
        {"ffd0", I | C, "call *%eax"},
        {"9a000000000000", B | C, "lcall"},
        {"ea000000000000", B, "ljmp"},
        {"0f34", S, "sysenter"},
    };

    (void)unused;
    CHECK(CANNOLI_EM_X86_64, CTR_MODE_X86_64, 0, v);
    CHECK(CANNOLI_EM_X86_64, CTR_MODE_DEFAULT, 0, v);
    CHECK(CANNOLI_EM_386, CTR_MODE_X86_32, 0, v32);
    /* With 64 bits, 0x40 to 0x4f are prefixes. */
    assert_int_equal(classify(CANNOLI_EM_X86_64, CTR_MODE_X86_64, 0, "40c3"), R);
    assert_int_equal(classify(CANNOLI_EM_386, CTR_MODE_X86_32, 0, "40c3"), 0);
}

static void test_ppc(void **unused)
{
    static const struct insn v[] = {
        {"48000000", B, "b ."},
        {"4bfffffd", B | C, "bl"},
        {"41820008", J, "beq"},
        {"42000008", J, "bdnz"},
        {"429f0005", B | C, "bcl 20,31"},
        {"4e800020", R, "blr"},
        {"4d820020", R | COND, "beqlr"},
        {"4e800420", I, "bctr"},
        {"4e800421", I | C, "bctrl"},
        {"4e800021", I | C, "blrl"},
        {"44000002", S, "sc"},
        {"60000000", 0, "nop"},
        {"7fe00008", 0, "trap"},
        {"4c00012c", 0, "isync"},
    };

    (void)unused;
    CHECK(CANNOLI_EM_PPC, 0, 1, v);
    CHECK(CANNOLI_EM_PPC64, 0, 1, v);
    assert_int_equal(classify(CANNOLI_EM_PPC64, 0, 0, "2000804e"), R);
    assert_int_equal(classify(CANNOLI_EM_PPC64, CTR_MODE_PPC_LE, 1, "2000804e"), R);
    /* A prefixed instruction: the prefix decides what it is. */
    assert_int_equal(classify(CANNOLI_EM_PPC64, 0, 0, "000000062000804e"), 0);
}

static void test_s390x(void **unused)
{
    static const struct insn v[] = {
        {"07fe", R, "br %r14"},
        {"078e", R | COND, "ber %r14"},
        {"07f1", I, "br %r1"},
        {"0700", 0, "nopr"},
        {"07e0", 0, "bcr 14, 0: serialization"},
        {"0de1", I | C, "basr %r14, %r1"},
        {"0d10", 0, "basr %r1, %r0"},
        {"0610", 0, "bctr %r1, 0"},
        {"0612", I | COND, "bctr %r1, %r2"},
        {"47f01000", I, "b 0(%r1)"},
        {"47801000", I | COND, "be 0(%r1)"},
        {"a7f40000", B, "j"},
        {"a7840000", J, "je"},
        {"a7040000", 0, "jnop"},
        {"a7170000", J, "brctg %r1"},
        {"a7e50000", B | C, "bras %r14"},
        {"c0e500000000", B | C, "brasl %r14"},
        {"c0f400000000", B, "jg"},
        {"c01000000000", 0, "larl %r1"},
        {"c6e000000000", 0, "exrl %r14"},
        {"44101000", 0, "ex %r1, 0(%r1)"},
        {"ec1200008064", J, "cgrje %r1, %r2"},
        {"ec180000007e", J, "cije"},
        {"ec1200008054", 0, "rnsbg"},
        {"ec12100080e4", I | COND, "cgrbe"},
        {"eb1200000044", I | COND, "bxhg"},
        {"e3f010000047", I, "bi 0(%r1)"},
        {"0a01", S, "svc 1"},
        {"b9040012", 0, "lgr %r1, %r2"},
        {"b9460012", I | COND, "bctgr %r1, %r2"},
    };

    (void)unused;
    CHECK(CANNOLI_EM_S390, 0, 1, v);
}

static void test_unknown(void **unused)
{
    const uint8_t bytes[4] = {0};
    uint32_t flags = ~0u;

    (void)unused;
    assert_int_equal(cannoli_isa_flags(42 /* SuperH */, 0, 0, bytes, 2, &flags), 0);
    assert_int_equal(flags, 0);
}

/* Any bytes of any length: no read past them (the sanitizers check), no unknown flag,
 * and only valid combinations of flags. */
static void test_any(void **unused)
{
    static const uint32_t machines[] = {
        CANNOLI_EM_386,    CANNOLI_EM_MIPS,    CANNOLI_EM_PPC,
        CANNOLI_EM_PPC64,  CANNOLI_EM_S390,    CANNOLI_EM_ARM,
        CANNOLI_EM_X86_64, CANNOLI_EM_AARCH64, CANNOLI_EM_RISCV};
    uint64_t state = 0x9e3779b97f4a7c15ull;

    (void)unused;
    for (unsigned i = 0; i < 1000000; i++) {
        uint32_t flags, len = i % 16, mode = i / 16 % 7;
        uint8_t *bytes = test_malloc(len ? len : 1);

        for (uint32_t k = 0; k < len; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes[k] = (uint8_t)state;
        }
        for (size_t k = 0; k < sizeof(machines) / sizeof(*machines); k++) {
            assert_int_equal(
                cannoli_isa_flags(machines[k], mode, i & 1, bytes, len, &flags), 1);
            assert_int_equal(flags & ~(B | COND | I | C | R | S), 0);
            assert_true(flags == 0 || flags == S || (flags & B));
            assert_false((flags & C) && (flags & CANNOLI_INSN_RETURN));
        }
        test_free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arm),   cmocka_unit_test(test_aarch64),
        cmocka_unit_test(test_mips),  cmocka_unit_test(test_riscv),
        cmocka_unit_test(test_x86),   cmocka_unit_test(test_ppc),
        cmocka_unit_test(test_s390x), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
