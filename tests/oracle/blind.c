/* SPDX-License-Identifier: MIT */
/*
 * Which instructions make accesses that QEMU's mem plugin does not see, or
 * sees in part: their helpers find the host address once (probe_access and
 * similar) and then access host memory.  `code' is as QEMU's log prints it: for
 * targets with fixed units the most significant byte comes first.
 */
#include "compare.h"

#include <string.h>

static bool s390x_is_blind(const uint8_t *c, unsigned len, struct known_bytes *k)
{
    int64_t l1 = len >= 2 ? c[1] + 1 : 0;
    unsigned op2 = len >= 2 ? (unsigned)c[0] << 8 | c[1] : 0;

    switch (c[0]) {
    case 0x44: /* EX: its target may be any of these */
        return true;
    case 0xc6: /* EXRL */
        return len >= 2 && (c[1] & 15) == 0;
    case 0xd2: /* MVC */
    case 0xe8: /* MVCIN */
        *k = (struct known_bytes){l1, l1};
        return true;
    case 0xd1: /* MVN */
    case 0xd3: /* MVZ */
    case 0xd4: /* NC */
    case 0xd6: /* OC */
        k->store = l1;
        return true;
    case 0xd7: /* XC: of a field with itself, it only stores */
        k->store = l1;
        return true;
    case 0xd0:
    case 0xd5:
    case 0xdc:
    case 0xdd: /* TRTR CLC TR TRT */
    case 0x0e:
    case 0x0f:
    case 0xa8:
    case 0xa9: /* MVCL CLCL MVCLE CLCLE */
    case 0xe1:
    case 0xe2:
    case 0xe9:
    case 0xea: /* PKU UNPKU PKA UNPKA */
    case 0xf1:
    case 0xf2:
    case 0xf3: /* MVO PACK UNPK */
        return true;
    case 0xb2:
        return op2 == 0xb241 || op2 == 0xb254 || op2 == 0xb255 || op2 == 0xb257 ||
               op2 == 0xb25d || op2 == 0xb25e || op2 == 0xb263 || op2 == 0xb2a5 ||
               op2 == 0xb2a6 || op2 == 0xb2a7 || op2 == 0xb2b0;
    case 0xb9: /* TROO.., CU.., SRSTU, KIMD.. */
        return (c[1] >= 0x90 && c[1] <= 0x93) || (c[1] >= 0xb0 && c[1] <= 0xb3) ||
               c[1] == 0xbe || (c[1] >= 0x2c && c[1] <= 0x3f);
    case 0xe5: /* MVCRL, MVCSK, MVCDK */
        return c[1] == 0x0a || c[1] == 0x0e || c[1] == 0x0f;
    case 0xc8: /* MVCOS and similar */
        return true;
    case 0xeb: /* CLCLU MVCLU */
        return len >= 6 && (c[5] == 0x8e || c[5] == 0x8f);
    case 0xe7: /* VLL VSTL VLBB */
        return len >= 6 && (c[5] == 0x37 || c[5] == 0x3f || c[5] == 0x07);
    case 0xe6: /* VLRL VSTRL and similar */
        return len >= 6 && (c[5] == 0x35 || c[5] == 0x3d || c[5] == 0x37 || c[5] == 0x3f);
    default:
        return false;
    }
}

static bool aarch64_is_blind(uint32_t w)
{
    return (w & 0xffffffe0) == 0xd50b7420 || /* DC ZVA */
           (w & 0xffffff80) == 0xd50b7400 || /* DC GVA, GZVA */
           (w & 0x3b200c00) == 0x19000400 || /* CPY*, SET* */
           ((w >> 25) & 0x4f) == 0x42 ||     /* SVE loads and stores */
           (w >> 25) == 0x70;                /* SME loads and stores */
}

static bool riscv_is_blind(uint32_t w)
{
    unsigned width = (w >> 12) & 7;
    unsigned op = w & 0x7f;

    return ((op == 0x07 || op == 0x27) && (width == 0 || width >= 5)) ||
           (op == 0x0f && width == 2); /* cbo.* */
}

static bool ppc_is_blind(uint32_t w)
{
    unsigned xo = (w >> 1) & 0x3ff;

    return w >> 26 == 46 || w >> 26 == 47 || /* lmw, stmw */
           (w >> 26 == 31 &&
            (xo == 1014 || xo == 597 || xo == 533 || xo == 725 || xo == 661));
}

static bool x86_is_blind(const uint8_t *c, unsigned len, bool long_mode,
                         struct known_bytes *k)
{
    unsigned i = 0, reg;

    while (i < len &&
           (c[i] == 0x66 || c[i] == 0x67 || c[i] == 0xf2 || c[i] == 0xf3 ||
            c[i] == 0x2e || c[i] == 0x36 || c[i] == 0x3e || c[i] == 0x26 ||
            c[i] == 0x64 || c[i] == 0x65 || (long_mode && (c[i] & 0xf0) == 0x40))) {
        i++;
    }
    if (i + 2 >= len + (c[i] != 0x0f)) {
        return false;
    }
    if (c[i] == 0x0f) {
        reg = (c[i + 2] >> 3) & 7;
        return c[i + 2] < 0xc0 &&
               ((c[i + 1] == 0xae && (reg == 0 || reg == 1 || (reg >= 4 && reg <= 6))) ||
                (c[i + 1] == 0xc7 && reg >= 3 && reg <= 5));
    }
    reg = (c[i + 1] >> 3) & 7;
    if (c[i + 1] >= 0xc0) {
        return false;
    }
    switch (c[i]) {
    case 0xdb:
        if (reg == 5) {
            *k = (struct known_bytes){10, 0}; /* fld m80 */
            return true;
        }
        if (reg == 7) {
            *k = (struct known_bytes){0, 10}; /* fstp m80 */
            return true;
        }
        return false;
    case 0xdf:
        return reg == 4 || reg == 6; /* fbld, fbstp */
    case 0xd9:
        return reg == 4 || reg == 6; /* fldenv, fnstenv */
    case 0xdd:
        return reg == 4 || reg == 6; /* frstor, fnsave */
    default:
        return false;
    }
}

/* Targets whose instructions are words. */
static const struct {
    const char *target;
    bool (*is_blind)(uint32_t word);
} of_words[] = {
    {"aarch64", aarch64_is_blind}, {"aarch64_be", aarch64_is_blind},
    {"riscv64", riscv_is_blind},   {"riscv32", riscv_is_blind},
    {"ppc64le", ppc_is_blind},     {"ppc64", ppc_is_blind},
    {"ppc", ppc_is_blind},
};

bool is_blind(const char *target, const uint8_t *code, unsigned len,
              struct known_bytes *known)
{
    uint32_t w = 0;

    if (strcmp(target, "s390x") == 0) {
        return s390x_is_blind(code, len, known);
    }
    if (strcmp(target, "x86_64") == 0 || strcmp(target, "i386") == 0) {
        return x86_is_blind(code, len, target[0] == 'x', known);
    }
    if (len == 4) {
        w = (uint32_t)code[0] << 24 | (uint32_t)code[1] << 16 | (uint32_t)code[2] << 8 |
            code[3];
    }
    for (size_t i = 0; i < sizeof(of_words) / sizeof(of_words[0]); i++) {
        if (strcmp(target, of_words[i].target) == 0) {
            return of_words[i].is_blind(w);
        }
    }
    return false;
}

/*
 * Is it a compare-and-swap or a store-conditional, which may not store?  x86's are
 * excluded: when they fail they store the old value.
 */
bool may_not_store(const char *target, const uint8_t *code, unsigned len)
{
    uint32_t w = 0, op, low, xo;

    if (strcmp(target, "s390x") == 0) {
        return len >= 4 && (code[0] == 0xba || code[0] == 0xbb ||       /* CS CDS */
                            (code[0] == 0xc8 && (code[1] & 15) == 2) || /* CSST */
                            (code[0] == 0xeb && len >= 6 &&
                             (code[5] == 0x14 || code[5] == 0x30 || code[5] == 0x31 ||
                              code[5] == 0x3e))); /* CSY CSG CDSY CDSG */
    }
    if (len != 4) {
        return false;
    }
    w = (uint32_t)code[0] << 24 | (uint32_t)code[1] << 16 | (uint32_t)code[2] << 8 |
        code[3];
    op = w >> 26;
    low = (w >> 4) & 15;
    xo = (w >> 1) & 0x3ff;
    if (strncmp(target, "arm", 3) == 0) {
        return (w & 0x0f9000f0) == 0x01800090 || /* STREX and similar */
               (w & 0xfff00000) == 0xe8400000 ||
               ((w & 0xfff00000) == 0xe8c00000 && low >= 4 && (low < 8 || low > 11));
    }
    if (strncmp(target, "aarch64", 7) == 0) {
        return (w & 0x3fc00000) == 0x08000000 || /* STXR, STXP and similar */
               (w & 0x3fa07c00) == 0x08a07c00 || /* CAS */
               (w & 0xbfa07c00) == 0x08207c00;   /* CASP */
    }
    if (strncmp(target, "mips", 4) == 0) {
        return op == 0x38 || op == 0x3c; /* SC SCD */
    }
    if (strncmp(target, "riscv", 5) == 0) {
        return (w & 0x7f) == 0x2f && (w >> 27 == 3 || w >> 27 == 5); /* SC AMOCAS */
    }
    if (strncmp(target, "ppc", 3) == 0) {
        return op == 31 &&
               (xo == 150 || xo == 214 || xo == 694 || xo == 726 || xo == 182);
    }
    if (strcmp(target, "alpha") == 0) {
        return op == 0x2e || op == 0x2f; /* STL_C STQ_C */
    }
    if (strcmp(target, "loongarch64") == 0) {
        return w >> 24 == 0x21 || w >> 24 == 0x23; /* SC.W SC.D */
    }
    if (strncmp(target, "sparc", 5) == 0) {
        return w >> 30 == 3 && (((w >> 19) & 0x3f) == 0x3c || ((w >> 19) & 0x3f) == 0x3e);
    }
    return false;
}

bool text_may_not_store(const char *text)
{
    static const char *const names[] = {"cas", "stl_c", "stq_c", "sc.w", "sc.d"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(text, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}
