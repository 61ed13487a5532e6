/* SPDX-License-Identifier: MIT */
/* Calling conventions; see abi.h. */
#include "guest/abi.h"

#include <elf.h>
#include <stddef.h>

#define MAX_REGS 14u

/* Which of the ABIs' rules apply. */
enum {
    PAIRS_EVEN = 1,     /* a value of two registers begins at an even one */
    SHADOW = 2,         /* a float also takes an integer register's place */
    HOME = 4,           /* memory has slots for register arguments, too */
    FLOATS_IN_INTS = 8, /* floats go to integer registers when theirs are used up */
    VARIADIC_INTS = 16, /* floats in "..." go where integers go */
    STACK_DOWN = 32,    /* later slots of memory are at lower addresses */
    RESULT_APART = 64,  /* the address for a struct result has a register of its own */
    SPLIT = 128,        /* a struct may be half in registers, half in memory */
    O32 = 256,          /* MIPS: floats have registers only before the first integer */
    NARROW_HIGH = 512,  /* big-endian: a narrow struct is at the register's high end */
    X87 = 1024,         /* float results are in st0 */
    SYSV64 = 2048,      /* structs in registers by halves, else in memory */
    BACKFILL = 4096,    /* arm: single floats are halves of d registers */
};

struct abi {
    uint16_t machine;
    uint8_t bits;
    int8_t big; /* -1: any */
    const char *sp;
    const char *ints[MAX_REGS];
    const char *floats[MAX_REGS];
    const char *result[2];
    const char *pointer; /* result if not result[0] */
    const char *float_result;
    uint16_t flags;
    uint8_t float_skip;  /* bytes below a float in its register */
    uint8_t float_bytes; /* of a register for floats as the trace shows them */
    uint16_t by_value;   /* larger structs are passed by reference; 0: none are */
    int16_t first;       /* offset of slot 0 of memory from the stack pointer */
};

static const struct abi abis[] = {
    {EM_X86_64,
     64,
     0,
     "rsp",
     {"rdi", "rsi", "rdx", "rcx", "r8", "r9"},
     {"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"},
     {"rax", "rdx"},
     NULL,
     "xmm0",
     SYSV64,
     0,
     16,
     UINT16_MAX,
     8},
    {EM_386,
     32,
     0,
     "esp",
     {NULL},
     {NULL},
     {"eax", "edx"},
     NULL,
     "st0",
     X87,
     0,
     10,
     UINT16_MAX,
     4},
    {EM_ARM,
     32,
     -1,
     "sp",
     {"r0", "r1", "r2", "r3"},
     {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"},
     {"r0", "r1"},
     NULL,
     "d0",
     PAIRS_EVEN | SPLIT | VARIADIC_INTS | BACKFILL,
     0,
     8,
     UINT16_MAX,
     0},
    {EM_AARCH64,
     64,
     -1,
     "sp",
     {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"},
     {"z0", "z1", "z2", "z3", "z4", "z5", "z6", "z7"},
     {"x0", "x1"},
     NULL,
     "z0",
     RESULT_APART,
     0,
     16,
     16,
     0},
    {EM_RISCV,
     64,
     0,
     "sp",
     {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"},
     {"fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7"},
     {"a0", "a1"},
     NULL,
     "fa0",
     FLOATS_IN_INTS | VARIADIC_INTS | SPLIT,
     0,
     8,
     16,
     0},
    {EM_RISCV,
     32,
     0,
     "sp",
     {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"},
     {"fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7"},
     {"a0", "a1"},
     NULL,
     "fa0",
     FLOATS_IN_INTS | VARIADIC_INTS | SPLIT,
     0,
     8,
     8,
     0},
    {EM_MIPS,
     32,
     -1,
     "sp",
     {"a0", "a1", "a2", "a3"},
     {"f12", "f14"},
     {"v0", "v1"},
     NULL,
     "f0",
     PAIRS_EVEN | HOME | SPLIT | O32,
     0,
     8,
     UINT16_MAX,
     0},
    {EM_MIPS,
     64,
     -1,
     "sp",
     {"a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3"},
     {"f12", "f13", "f14", "f15", "f16", "f17", "f18", "f19"},
     {"v0", "v1"},
     NULL,
     "f0",
     SHADOW | VARIADIC_INTS | SPLIT | NARROW_HIGH,
     0,
     8,
     UINT16_MAX,
     0},
    {EM_PPC64,
     64,
     0,
     "r1",
     {"r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"},
     {"vs1", "vs2", "vs3", "vs4", "vs5", "vs6", "vs7", "vs8", "vs9", "vs10", "vs11",
      "vs12", "vs13"},
     {"r3", "r4"},
     NULL,
     "vs1",
     SHADOW | HOME | SPLIT,
     8,
     8,
     UINT16_MAX,
     32},
    {EM_PPC64,
     64,
     1,
     "r1",
     {"r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"},
     {"vs1", "vs2", "vs3", "vs4", "vs5", "vs6", "vs7", "vs8", "vs9", "vs10", "vs11",
      "vs12", "vs13"},
     {"r3", "r4"},
     NULL,
     "vs1",
     SHADOW | HOME | SPLIT,
     8,
     8,
     UINT16_MAX,
     48},
    {EM_PPC,
     32,
     -1,
     "r1",
     {"r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"},
     {"vs1", "vs2", "vs3", "vs4", "vs5", "vs6", "vs7", "vs8"},
     {"r3", "r4"},
     NULL,
     "vs1",
     PAIRS_EVEN,
     8,
     8,
     0,
     8},
    {EM_S390,
     64,
     1,
     "r15",
     {"r2", "r3", "r4", "r5", "r6"},
     {"v0", "v2", "v4", "v6"},
     {"r2", "r3"},
     NULL,
     "v0",
     0,
     8,
     8,
     8,
     160},
    {EM_68K,
     32,
     1,
     "A7",
     {NULL},
     {NULL},
     {"D0", "D1"},
     "A0",
     NULL,
     0,
     0,
     8,
     UINT16_MAX,
     4},
    {EM_SPARCV9,
     64,
     1,
     "o6",
     {"o0", "o1", "o2", "o3", "o4", "o5"},
     {NULL},
     {"o0", "o1"},
     NULL,
     NULL,
     SHADOW | HOME,
     0,
     8,
     16,
     2047 + 128},
    {EM_PARISC,
     32,
     1,
     "r30",
     {"r26", "r25", "r24", "r23"},
     {NULL},
     {"r28", "r29"},
     NULL,
     NULL,
     PAIRS_EVEN | HOME | STACK_DOWN,
     0,
     8,
     8,
     -36},
    {EM_ALPHA,
     64,
     0,
     "sp",
     {"a0", "a1", "a2", "a3", "a4", "a5"},
     {"f16", "f17", "f18", "f19", "f20", "f21"},
     {"v0", NULL},
     NULL,
     "f0",
     SHADOW | SPLIT,
     0,
     8,
     UINT16_MAX,
     0},
    {EM_SH,
     32,
     -1,
     "R15",
     {"R4_BANK0", "R5_BANK0", "R6_BANK0", "R7_BANK0"},
     {NULL},
     {"R0_BANK0", "R1_BANK0"},
     NULL,
     NULL,
     SPLIT,
     0,
     4,
     UINT16_MAX,
     0},
};

/* arm without floating-point registers for arguments */
static const struct abi arm_soft = {EM_ARM,
                                    32,
                                    -1,
                                    "sp",
                                    {"r0", "r1", "r2", "r3"},
                                    {NULL},
                                    {"r0", "r1"},
                                    NULL,
                                    NULL,
                                    PAIRS_EVEN | SPLIT,
                                    0,
                                    8,
                                    UINT16_MAX,
                                    0};

/* EM_ALPHA is a small number of the standard; binutils and Linux use this one. */
#define EM_ALPHA_LINUX 0x9026u

const struct abi *abi_find(uint32_t machine, unsigned addr_bits, bool big_endian,
                           bool soft_float)
{
    machine = machine == EM_ALPHA_LINUX ? EM_ALPHA : machine;
    if (machine == EM_ARM && soft_float) {
        return &arm_soft;
    }
    for (size_t i = 0; i < sizeof(abis) / sizeof(abis[0]); i++) {
        if (abis[i].machine == machine && abis[i].bits == addr_bits &&
            (abis[i].big < 0 || abis[i].big == (int)big_endian)) {
            return &abis[i];
        }
    }
    return NULL;
}

const char *abi_stack_pointer(const struct abi *a)
{
    return a->sp;
}

unsigned abi_word(const struct abi *a)
{
    return a->bits / 8u;
}

static unsigned count(const char *const regs[MAX_REGS])
{
    unsigned n = 0;

    while (n < MAX_REGS && regs[n]) {
        n++;
    }
    return n;
}

static unsigned nr_ints(const struct abi *a)
{
    return count(a->ints);
}

/* ------------------------------------------------------------------ arguments */

static bool is_big(const struct abi_walk *w)
{
    return w->abi->big == 1;
}

/* The number of slots that a value takes. */
static unsigned slots_of(const struct abi *a, uint32_t size)
{
    return (size + abi_word(a) - 1) / abi_word(a);
}

static int64_t slot_offset(const struct abi *a, unsigned slot)
{
    int64_t bytes = (int64_t)slot * abi_word(a);

    return a->flags & STACK_DOWN ? a->first - bytes : a->first + bytes;
}

static void add_piece(struct abi_place *p, const char *reg, uint32_t skip, int64_t offset,
                      uint32_t size)
{
    if (p->n < ABI_PIECES) {
        p->piece[p->n++] = (struct abi_piece){reg, skip, offset, size};
    }
}

/* One slot of memory; narrow values of big-endian machines are at its end. */
static void in_memory(struct abi_walk *w, const struct abi_type *t, uint32_t size,
                      struct abi_place *out)
{
    const struct abi *a = w->abi;
    unsigned n = slots_of(a, size);
    bool pair = a->flags & PAIRS_EVEN && t->what != ABI_STRUCT && n == 2;
    bool end = is_big(w) && t->what != ABI_STRUCT && size < abi_word(a);

    if (pair && w->slots % 2) {
        w->slots++;
    }
    if (a->flags & SYSV64 && t->what == ABI_LONG_DOUBLE && w->slots % 2) {
        w->slots++; /* aligned to 16 bytes */
    }
    if (a->flags & STACK_DOWN) {
        add_piece(out, NULL, 0, slot_offset(a, w->slots + n - 1) + (end ? 4 - size : 0),
                  size);
    } else {
        add_piece(out, NULL, 0, slot_offset(a, w->slots) + (end ? abi_word(a) - size : 0),
                  size);
    }
    w->slots += n;
}

/* `size' bytes in integer registers, and in memory where there are not enough. */
static void in_ints(struct abi_walk *w, const struct abi_type *t, uint32_t size,
                    struct abi_place *out)
{
    const struct abi *a = w->abi;
    unsigned n = slots_of(a, size), have = nr_ints(a), word = abi_word(a);
    bool pair = a->flags & PAIRS_EVEN && n == 2 && t->what != ABI_STRUCT;

    if (pair && w->ints % 2 && w->ints < have) {
        w->ints++; /* skipped */
    }
    if (a->flags & HOME) {
        w->slots = w->ints > w->slots ? w->ints : w->slots;
    }
    if (w->ints + n > have && !(a->flags & SPLIT && w->ints < have)) {
        w->ints = have;
        in_memory(w, t, size, out);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        uint32_t piece = size < word ? size : word;
        bool high = is_big(w) && a->flags & NARROW_HIGH && t->what == ABI_STRUCT;
        if (w->ints < have) {
            add_piece(out, a->ints[w->ints++], high ? word - piece : 0, 0, piece);
            w->slots += a->flags & HOME ? 1 : 0;
        } else {
            in_memory(w, t, size, out);
            return;
        }
        size -= piece;
    }
}

/* arm: `floats' counts halves of registers.  A double takes the next whole one; a float
 * takes the half that a double left free, if there is one. */
static bool single_or_double(struct abi_walk *w, const struct abi_type *t,
                             struct abi_place *out)
{
    const struct abi *a = w->abi;
    unsigned halves = 2 * count(a->floats), at = w->floats;

    if (t->size == 4 && w->hole) {
        at = w->hole - 1;
        w->hole = 0;
    } else if (t->size == 4 && at < halves) {
        w->floats++;
    } else if (at + at % 2 < halves) {
        w->hole = at % 2 ? at + 1 : w->hole;
        at += at % 2;
        w->floats = at + 2;
    } else {
        w->floats = halves;
        w->hole = 0;
        return false;
    }
    add_piece(out, a->floats[at / 2], 4 * (at % 2), 0, t->size);
    return true;
}

static void in_float(struct abi_walk *w, const struct abi_type *t, struct abi_place *out)
{
    const struct abi *a = w->abi;
    unsigned have = count(a->floats);

    if (a->flags & BACKFILL) {
        if (single_or_double(w, t, out)) {
            return;
        }
    } else if (w->floats < have) {
        /* A single float of PowerPC is a double in its register. */
        bool wide = (a->machine == EM_PPC64 || a->machine == EM_PPC) && t->size == 4;
        uint32_t skip = a->float_skip;
        if (a->machine == EM_S390 && t->size == 4) {
            skip += 4; /* the high half of the 64 bits */
        }
        add_piece(out, a->floats[w->floats++], skip, 0, wide ? 8 : t->size);
        if (a->flags & SHADOW) {
            w->ints += w->ints < nr_ints(a);
            w->slots += a->flags & HOME ? 1 : 0;
        }
        return;
    }
    if (a->flags & FLOATS_IN_INTS) {
        in_ints(w, t, t->size, out);
    } else {
        in_memory(w, t, t->size, out);
    }
}

/* MIPS: the first two arguments, if both are floats, or the first one. */
static bool has_o32_register(const struct abi_walk *w)
{
    return !w->variadic && w->args == w->floats && w->floats < 2;
}

static void next_float(struct abi_walk *w, const struct abi_type *t,
                       struct abi_place *out)
{
    const struct abi *a = w->abi;

    if (a->flags & O32) {
        if (has_o32_register(w)) {
            add_piece(out, a->floats[w->floats++], 0, 0, t->size);
            w->ints += t->size == 8 && w->ints % 2;
            w->ints += t->size / 4;
            w->slots = w->ints;
        } else {
            in_ints(w, t, t->size, out);
        }
    } else if (!count(a->floats) || (w->variadic && a->flags & VARIADIC_INTS)) {
        if (a->flags & SHADOW && !count(a->floats) && a->machine != EM_PARISC) {
            w->ints += w->ints < nr_ints(a); /* in a register that is not recorded */
            w->slots += a->flags & HOME ? 1 : 0;
            return;
        }
        in_ints(w, t, t->size, out);
    } else {
        in_float(w, t, out);
    }
}

/* x86_64: at most two halves in registers, all or none of them. */
static void next_sysv_struct(struct abi_walk *w, const struct abi_type *t,
                             struct abi_place *out)
{
    unsigned n = slots_of(w->abi, t->size), ints = 0, floats = 0;

    for (unsigned i = 0; i < n && n <= 2; i++) {
        ints += t->eight[i] == ABI_INTEGER;
        floats += t->eight[i] == ABI_FLOAT;
    }
    if (n > 2 || w->ints + ints > nr_ints(w->abi) ||
        w->floats + floats > count(w->abi->floats)) {
        in_memory(w, t, t->size, out);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        uint32_t size = t->size - 8 * i < 8 ? t->size - 8 * i : 8;
        const char *reg = t->eight[i] == ABI_FLOAT ? w->abi->floats[w->floats++]
                                                   : w->abi->ints[w->ints++];
        add_piece(out, reg, 0, 0, size);
    }
}

static void next_struct(struct abi_walk *w, const struct abi_type *t,
                        struct abi_place *out)
{
    static const struct abi_type pointer = {.what = ABI_INTEGER, .size = 8};
    const struct abi *a = w->abi;
    bool power = !(t->size & (t->size - 1));
    struct abi_type one = {ABI_FLOAT, 0, {0, 0}, 0};

    if (a->flags & SYSV64) {
        next_sysv_struct(w, t, out);
        return;
    }
    if (t->same_floats && (a->machine == EM_AARCH64 || a->flags & BACKFILL) &&
        !w->variadic && w->floats + t->same_floats <= count(a->floats)) {
        one.size = t->size / t->same_floats;
        for (unsigned i = 0; i < t->same_floats; i++) {
            in_float(w, &one, out);
        }
        return;
    }
    if (t->size > a->by_value || (a->machine == EM_S390 && !power)) {
        out->reference = true;
        in_ints(w, &pointer, abi_word(a), out);
        return;
    }
    if (slots_of(a, t->size) > ABI_PIECES && w->ints < nr_ints(a)) {
        w->lost = true; /* in more pieces than can be expressed */
        return;
    }
    in_ints(w, t, t->size, out);
}

void abi_begin(struct abi_walk *w, const struct abi *a, const struct abi_type *result)
{
    static const struct abi_type pointer = {.what = ABI_INTEGER, .size = 8};
    struct abi_place ignored = {0};

    *w = (struct abi_walk){.abi = a};
    if (result && result->what == ABI_STRUCT && !(a->flags & RESULT_APART) &&
        result->size > (a->bits == 64          ? 16u
                        : a->machine == EM_ARM ? 4u
                                               : 0u)) {
        in_ints(w, &pointer, abi_word(a), &ignored);
    }
}

void abi_next(struct abi_walk *w, const struct abi_type *t, struct abi_place *out)
{
    *out = (struct abi_place){0};
    if (w->lost) {
        return;
    }
    switch (t->what) {
    case ABI_INTEGER:
        in_ints(w, t, t->size, out);
        break;
    case ABI_FLOAT:
        next_float(w, t, out);
        break;
    case ABI_STRUCT:
        next_struct(w, t, out);
        break;
    case ABI_LONG_DOUBLE:
        if (w->abi->flags & (SYSV64 | X87)) {
            in_memory(w, t, t->size, out);
        } else {
            w->lost = true;
        }
        break;
    }
    w->args++;
}

void abi_result(const struct abi *a, const struct abi_type *t, bool pointer,
                struct abi_place *out)
{
    unsigned word = abi_word(a);

    *out = (struct abi_place){0};
    if (t->what == ABI_FLOAT && a->float_result && !(a->flags & X87)) {
        bool wide = (a->machine == EM_PPC64 || a->machine == EM_PPC) && t->size == 4;
        uint32_t skip = a->float_skip + (a->machine == EM_S390 && t->size == 4 ? 4 : 0);
        add_piece(out, a->float_result, skip, 0, wide ? 8 : t->size);
    } else if (t->what == ABI_INTEGER && t->size <= word) {
        add_piece(out, pointer && a->pointer ? a->pointer : a->result[0], 0, 0, t->size);
    } else if (t->what == ABI_INTEGER && t->size <= 2 * word && a->result[1]) {
        add_piece(out, a->result[0], 0, 0, word);
        add_piece(out, a->result[1], 0, 0, t->size - word);
    } else if (t->what == ABI_FLOAT && !a->float_result && t->size <= 2 * word &&
               a->machine != EM_SPARCV9) {
        add_piece(out, a->result[0], 0, 0, t->size < word ? t->size : word);
        if (t->size > word) {
            add_piece(out, a->result[1], 0, 0, t->size - word);
        }
    }
}
