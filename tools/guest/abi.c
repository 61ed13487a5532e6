/* SPDX-License-Identifier: MIT */
/* Calling conventions; see abi.h. */
#include "guest/abi.h"

#include <elf.h>
#include <stddef.h>

#define MAX_REGS 14u

/* Which of the ABIs' rules apply. */
enum {
    PAIRS_EVEN = 1,      /* a value of two registers begins at an even one */
    SHADOW = 2,          /* a float also takes an integer register's place */
    HOME = 4,            /* memory has slots for register arguments, too */
    FLOATS_IN_INTS = 8,  /* floats go to integer registers when theirs are used up */
    VARIADIC_INTS = 16,  /* floats in "..." go where integers go */
    STACK_DOWN = 32,     /* later slots of memory are at lower addresses */
    RESULT_APART = 64,   /* the address for a struct result has a register of its own */
    SPLIT = 128,         /* a struct may be half in registers, half in memory */
    O32 = 256,           /* MIPS: floats have registers only before the first integer */
    NARROW_HIGH = 512,   /* big-endian: a narrow struct is at the register's high end */
    X87 = 1024,          /* float results are in st0 */
    SYSV64 = 2048,       /* structs in registers by halves, else in memory */
    BACKFILL = 4096,     /* arm: single floats are halves of d registers */
    ALIGN_MEMORY = 8192, /* a value of two slots begins at an even one, in memory only */
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
    {.machine = EM_X86_64,
     .bits = 64,
     .sp = "rsp",
     .ints = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"},
     .floats = {"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"},
     .result = {"rax", "rdx"},
     .float_result = "xmm0",
     .flags = SYSV64 | ALIGN_MEMORY,
     .float_bytes = 16,
     .by_value = UINT16_MAX,
     .first = 8},
    {.machine = EM_386,
     .bits = 32,
     .sp = "esp",
     .result = {"eax", "edx"},
     .float_result = "st0",
     .flags = X87,
     .float_bytes = 10,
     .by_value = UINT16_MAX,
     .first = 4},
    {.machine = EM_ARM,
     .bits = 32,
     .big = -1,
     .sp = "sp",
     .ints = {"r0", "r1", "r2", "r3"},
     .floats = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7"},
     .result = {"r0", "r1"},
     .float_result = "d0",
     .flags = PAIRS_EVEN | SPLIT | NARROW_HIGH | BACKFILL,
     .float_bytes = 8,
     .by_value = UINT16_MAX},
    {.machine = EM_AARCH64,
     .bits = 64,
     .big = -1,
     .sp = "sp",
     .ints = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"},
     .floats = {"z0", "z1", "z2", "z3", "z4", "z5", "z6", "z7"},
     .result = {"x0", "x1"},
     .float_result = "z0",
     .flags = RESULT_APART | PAIRS_EVEN | NARROW_HIGH,
     .float_bytes = 16,
     .by_value = 16},
    {.machine = EM_RISCV,
     .bits = 64,
     .sp = "sp",
     .ints = {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"},
     .floats = {"fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7"},
     .result = {"a0", "a1"},
     .float_result = "fa0",
     .flags = FLOATS_IN_INTS | VARIADIC_INTS | SPLIT | ALIGN_MEMORY,
     .float_bytes = 8,
     .by_value = 16},
    {.machine = EM_RISCV,
     .bits = 32,
     .sp = "sp",
     .ints = {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"},
     .floats = {"fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6", "fa7"},
     .result = {"a0", "a1"},
     .float_result = "fa0",
     .flags = FLOATS_IN_INTS | VARIADIC_INTS | SPLIT | ALIGN_MEMORY,
     .float_bytes = 8,
     .by_value = 8},
    {.machine = EM_MIPS,
     .bits = 32,
     .big = -1,
     .sp = "sp",
     .ints = {"a0", "a1", "a2", "a3"},
     .floats = {"f12", "f14"},
     .result = {"v0", "v1"},
     .float_result = "f0",
     .flags = PAIRS_EVEN | HOME | SPLIT | O32 | NARROW_HIGH,
     .float_bytes = 8,
     .by_value = UINT16_MAX},
    {.machine = EM_MIPS,
     .bits = 64,
     .big = -1,
     .sp = "sp",
     .ints = {"a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3"},
     .floats = {"f12", "f13", "f14", "f15", "f16", "f17", "f18", "f19"},
     .result = {"v0", "v1"},
     .float_result = "f0",
     .flags = SHADOW | VARIADIC_INTS | SPLIT | NARROW_HIGH | PAIRS_EVEN,
     .float_bytes = 8,
     .by_value = UINT16_MAX},
    {.machine = EM_PPC64,
     .bits = 64,
     .sp = "r1",
     .ints = {"r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"},
     .floats = {"vs1", "vs2", "vs3", "vs4", "vs5", "vs6", "vs7", "vs8", "vs9", "vs10",
                "vs11", "vs12", "vs13"},
     .result = {"r3", "r4"},
     .float_result = "vs1",
     .flags = SHADOW | HOME | SPLIT,
     .float_skip = 8,
     .float_bytes = 8,
     .by_value = UINT16_MAX,
     .first = 32},
    {.machine = EM_PPC64,
     .bits = 64,
     .big = 1,
     .sp = "r1",
     .ints = {"r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"},
     .floats = {"vs1", "vs2", "vs3", "vs4", "vs5", "vs6", "vs7", "vs8", "vs9", "vs10",
                "vs11", "vs12", "vs13"},
     .result = {"r3", "r4"},
     .float_result = "vs1",
     .flags = SHADOW | HOME | SPLIT,
     .float_skip = 8,
     .float_bytes = 8,
     .by_value = UINT16_MAX,
     .first = 48},
    {.machine = EM_PPC,
     .bits = 32,
     .big = -1,
     .sp = "r1",
     .ints = {"r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10"},
     .floats = {"vs1", "vs2", "vs3", "vs4", "vs5", "vs6", "vs7", "vs8"},
     .result = {"r3", "r4"},
     .float_result = "vs1",
     .flags = PAIRS_EVEN,
     .float_skip = 8,
     .float_bytes = 8,
     .first = 8},
    {.machine = EM_S390,
     .bits = 64,
     .big = 1,
     .sp = "r15",
     .ints = {"r2", "r3", "r4", "r5", "r6"},
     .floats = {"v0", "v2", "v4", "v6"},
     .result = {"r2", "r3"},
     .float_result = "v0",
     .float_skip = 8,
     .float_bytes = 8,
     .by_value = 8,
     .first = 160},
    {.machine = EM_68K,
     .bits = 32,
     .big = 1,
     .sp = "A7",
     .result = {"D0", "D1"},
     .pointer = "A0",
     .flags = RESULT_APART,
     .float_bytes = 8,
     .by_value = UINT16_MAX,
     .first = 4},
    {.machine = EM_SPARCV9,
     .bits = 64,
     .big = 1,
     .sp = "o6",
     .ints = {"o0", "o1", "o2", "o3", "o4", "o5"},
     .result = {"o0", "o1"},
     .flags = SHADOW | HOME | NARROW_HIGH | PAIRS_EVEN,
     .float_bytes = 8,
     .by_value = 16,
     .first = 2047 + 128},
    {.machine = EM_PARISC,
     .bits = 32,
     .big = 1,
     .sp = "r30",
     .ints = {"r26", "r25", "r24", "r23"},
     .result = {"r28", "r29"},
     .flags = PAIRS_EVEN | HOME | STACK_DOWN | RESULT_APART,
     .float_bytes = 8,
     .by_value = 8,
     .first = -36},
    {.machine = EM_ALPHA,
     .bits = 64,
     .sp = "sp",
     .ints = {"a0", "a1", "a2", "a3", "a4", "a5"},
     .floats = {"f16", "f17", "f18", "f19", "f20", "f21"},
     .result = {"v0"},
     .float_result = "f0",
     .flags = SHADOW | SPLIT,
     .float_bytes = 8,
     .by_value = UINT16_MAX},
    {.machine = EM_SH,
     .bits = 32,
     .big = -1,
     .sp = "R15",
     .ints = {"R4_BANK0", "R5_BANK0", "R6_BANK0", "R7_BANK0"},
     .result = {"R0_BANK0", "R1_BANK0"},
     .flags = SPLIT | RESULT_APART,
     .float_bytes = 4,
     .by_value = UINT16_MAX},
};

/* arm without floating-point registers for arguments */
static const struct abi arm_soft = {.machine = EM_ARM,
                                    .bits = 32,
                                    .big = -1,
                                    .sp = "sp",
                                    .ints = {"r0", "r1", "r2", "r3"},
                                    .result = {"r0", "r1"},
                                    .flags = PAIRS_EVEN | SPLIT | NARROW_HIGH,
                                    .float_bytes = 8,
                                    .by_value = UINT16_MAX};

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

unsigned abi_alignment(const struct abi *a)
{
    return a->machine == EM_386 ? 4 : a->machine == EM_68K ? 2 : 16;
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

/* Appends a piece after those before it. */
static struct abi_piece *add_piece(struct abi_place *p, const char *reg, uint32_t skip,
                                   int64_t offset, uint32_t size)
{
    const struct abi_piece *last = p->n ? &p->piece[p->n - 1] : NULL;
    struct abi_piece *new = &p->piece[p->n < ABI_PIECES ? p->n++ : p->n - 1];

    *new =
        (struct abi_piece){reg, skip, offset, size, last ? last->at + last->size : 0, 0};
    return new;
}

static bool is_wide(const struct abi *a, const struct abi_type *t, unsigned flag)
{
    return a->flags & flag && t->align >= 2 * abi_word(a);
}

/* The rest of a value in memory; narrow values of big-endian machines are at the end of
 * a slot. */
static void in_memory_rest(struct abi_walk *w, const struct abi_type *t, uint32_t size,
                           struct abi_place *out)
{
    const struct abi *a = w->abi;
    unsigned n = slots_of(a, size);
    bool end = w->big_endian && size < abi_word(a) &&
               (t->what != ABI_STRUCT ||
                (a->machine == EM_PPC64 && a->big && t->size < abi_word(a)));

    if (a->flags & STACK_DOWN) {
        add_piece(out, NULL, 0, slot_offset(a, w->slots + n - 1) + (end ? 4 - size : 0),
                  size);
    } else {
        add_piece(out, NULL, 0, slot_offset(a, w->slots) + (end ? abi_word(a) - size : 0),
                  size);
    }
    w->slots += n;
}

static void in_memory(struct abi_walk *w, const struct abi_type *t, uint32_t size,
                      struct abi_place *out)
{
    w->slots += is_wide(w->abi, t, PAIRS_EVEN | ALIGN_MEMORY) && w->slots % 2;
    in_memory_rest(w, t, size, out);
}

/* `size' bytes in integer registers, and in memory where there are not enough. */
static void in_ints(struct abi_walk *w, const struct abi_type *t, uint32_t size,
                    struct abi_place *out)
{
    const struct abi *a = w->abi;
    unsigned n = slots_of(a, size), have = nr_ints(a), word = abi_word(a);

    if (is_wide(a, t, PAIRS_EVEN) && w->ints % 2 && w->ints < have) {
        w->ints++; /* skipped */
    }
    if (a->flags & HOME) {
        w->slots = w->ints > w->slots ? w->ints : w->slots;
    }
    if (w->ints + n > have &&
        !(a->flags & SPLIT && w->ints < have && !(a->machine == EM_ARM && w->slots))) {
        w->ints = a->flags & SYSV64 ? w->ints : have;
        in_memory(w, t, size, out);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        uint32_t piece = size < word ? size : word;
        bool high =
            w->big_endian && t->what == ABI_STRUCT &&
            (a->flags & NARROW_HIGH || (a->machine == EM_PPC64 && t->size > word));
        if (w->ints == have) {
            in_memory_rest(w, t, size, out);
            return;
        }
        add_piece(out, a->ints[w->ints++], high ? word - piece : 0, 0, piece);
        w->slots += a->flags & HOME ? 1 : 0;
        size -= piece;
    }
}

/* A float in a register, by the register's name. */
static void add_float(const struct abi *a, const char *reg, uint32_t size,
                      struct abi_place *out)
{
    bool high = a->machine == EM_S390 && size == 4; /* half of the 64 bits */
    struct abi_piece *p = add_piece(out, reg, a->float_skip + (high ? 4 : 0), 0, size);

    if (size == 4 &&
        (a->machine == EM_PPC64 || a->machine == EM_PPC || a->machine == EM_ALPHA)) {
        p->from = 8;
    } else if (a->flags & X87) {
        p->from = 10;
    }
}

/* arm: `floats' counts halves of registers.  `n' values in a row; a double takes a whole
 * register; a single one takes the half that a double left free, if there is one.  False:
 * there are not enough. */
static bool in_halves(struct abi_walk *w, uint32_t size, unsigned n,
                      struct abi_place *out)
{
    const struct abi *a = w->abi;
    unsigned halves = 2 * count(a->floats), each = size / 4, at = w->floats;

    if (n == 1 && each == 1 && w->hole) {
        at = w->hole - 1;
        w->hole = 0;
    } else {
        at += each == 2 && at % 2;
        if (at + n * each > halves) {
            w->floats = halves;
            w->hole = 0;
            return false;
        }
        w->hole = at > w->floats ? at : w->hole;
        w->floats = at + n * each;
    }
    for (unsigned i = 0; i < n; i++, at += each) {
        add_piece(out, a->floats[at / 2], at % 2 ? 4 : 0, 0, size);
    }
    return true;
}

static void in_float(struct abi_walk *w, const struct abi_type *t, struct abi_place *out)
{
    const struct abi *a = w->abi;

    if (a->flags & BACKFILL) {
        if (!in_halves(w, t->size, 1, out)) {
            in_memory(w, t, t->size, out);
        }
        return;
    }
    if (w->floats < count(a->floats)) {
        bool memory = a->flags & SHADOW && a->machine == EM_ALPHA;
        unsigned at =
            memory || (a->machine == EM_MIPS && a->flags & SHADOW) ? w->ints : w->floats;
        if (at < count(a->floats)) {
            add_float(a, a->floats[at], t->size, out);
            w->floats++;
            if (a->flags & SHADOW) {
                w->ints += w->ints < nr_ints(a);
                w->slots += a->flags & HOME ? 1 : 0;
            }
            return;
        }
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
    return !w->variadic && w->args == w->floats && w->floats < 2 &&
           (w->ints == 0 || w->floats);
}

static void next_float(struct abi_walk *w, const struct abi_type *t,
                       struct abi_place *out)
{
    const struct abi *a = w->abi;

    if (a->flags & O32 && has_o32_register(w)) {
        /* of a pair of registers the first one has the low half, also if big-endian */
        add_piece(out, a->floats[w->floats++], 0, 0, t->size);
        w->ints += t->size == 8 && w->ints % 2;
        w->ints += t->size / 4;
        w->slots = w->ints;
    } else if (a->flags & O32) {
        in_ints(w, t, t->size, out);
    } else if (!count(a->floats) || (w->variadic && a->flags & VARIADIC_INTS)) {
        in_ints(w, t, t->size, out);
    } else {
        in_float(w, t, out);
    }
}

/* sparc64, hppa: floats are in registers that are not recorded, and in memory when there
 * are no more of them. */
static bool next_unrecorded(struct abi_walk *w, const struct abi_type *t)
{
    const struct abi *a = w->abi;
    unsigned n = slots_of(a, t->size);

    if (a->machine == EM_SPARCV9 && w->slots < 16) {
        w->slots += n;
        w->ints = w->slots < nr_ints(a) ? w->slots : nr_ints(a);
        return true;
    }
    if (a->machine == EM_PARISC && w->ints < nr_ints(a)) {
        w->ints += n == 2 && w->ints % 2;
        w->ints += n;
        w->slots = w->ints;
        return true;
    }
    return false;
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

/* riscv: a structure of one or two members with a float.  False: it goes where integers
 * go. */
static bool next_flat_struct(struct abi_walk *w, const struct abi_type *t,
                             struct abi_place *out)
{
    unsigned floats = 0, ints = 0;

    for (unsigned i = 0; i < t->nr_basic && t->nr_basic <= 2; i++) {
        floats += t->basic[i].is_float;
        ints += !t->basic[i].is_float;
    }
    if (!floats || w->variadic || w->floats + floats > count(w->abi->floats) ||
        w->ints + ints > nr_ints(w->abi)) {
        return false;
    }
    for (unsigned i = 0; i < t->nr_basic; i++) {
        const char *reg =
            t->basic[i].is_float ? w->abi->floats[w->floats++] : w->abi->ints[w->ints++];
        add_piece(out, reg, 0, 0, t->basic[i].size)->at = t->basic[i].offset;
    }
    return true;
}

/* Structures of which all members are equal floats.  False: not in float registers. */
static bool next_equal_floats(struct abi_walk *w, const struct abi_type *t,
                              struct abi_place *out)
{
    const struct abi *a = w->abi;
    unsigned n = t->same_floats, size = n ? t->size / n : 0;

    if (a->machine == EM_PPC64 && n <= (a->big ? 1u : 8u)) {
        if (w->floats + n > count(a->floats)) {
            w->lost = true; /* the rest is elsewhere */
            return true;
        }
        for (unsigned i = 0; i < n; i++) {
            add_float(a, a->floats[w->floats++], size, out);
        }
        w->slots += slots_of(a, t->size);
        w->ints = w->slots < nr_ints(a) ? w->slots : nr_ints(a);
        return true;
    }
    if (a->machine == EM_AARCH64 && n <= 4 && w->floats + n <= count(a->floats)) {
        for (unsigned i = 0; i < n; i++) {
            add_float(a, a->floats[w->floats++], size, out);
        }
        return true;
    }
    if (a->machine == EM_AARCH64 && n <= 4) {
        w->floats = count(a->floats);
        in_memory(w, t, t->size, out);
        return true;
    }
    if (a->flags & BACKFILL && n <= 4) {
        if (!in_halves(w, size, n, out)) {
            in_memory(w, t, t->size, out);
        }
        return true;
    }
    if (a->machine == EM_S390 && n == 1) {
        in_float(w, t, out);
        return true;
    }
    return false;
}

/* MIPS n64: each double of a structure is in the float register of its place. */
static void next_n64_struct(struct abi_walk *w, const struct abi_type *t,
                            struct abi_place *out)
{
    unsigned first = 0;

    in_ints(w, t, t->size, out);
    while (first < MAX_REGS && out->n && out->piece[0].reg &&
           w->abi->ints[first] != out->piece[0].reg) {
        first++;
    }
    for (unsigned i = 0; i < out->n && i < 8; i++) {
        if (out->piece[i].reg && t->doubles & 1u << i) {
            out->piece[i].reg = w->abi->floats[first + i];
        }
    }
}

static void next_struct(struct abi_walk *w, const struct abi_type *t,
                        struct abi_place *out)
{
    static const struct abi_type pointer = {.what = ABI_INTEGER, .size = 8};
    const struct abi *a = w->abi;
    bool power = !(t->size & (t->size - 1));

    if (a->flags & SYSV64) {
        next_sysv_struct(w, t, out);
    } else if (t->same_floats && !w->variadic && next_equal_floats(w, t, out)) {
        return;
    } else if (a->machine == EM_RISCV && next_flat_struct(w, t, out)) {
        return;
    } else if (t->size > a->by_value || (a->machine == EM_S390 && !power)) {
        out->reference = true;
        in_ints(w, &pointer, abi_word(a), out);
    } else if (a->machine == EM_MIPS && a->flags & SHADOW && !w->variadic) {
        next_n64_struct(w, t, out);
    } else if (t->floats && a->machine == EM_SPARCV9) {
        w->lost = !next_unrecorded(w, t);
    } else {
        in_ints(w, t, t->size, out);
    }
}

/* The largest structure that a function returns in registers. */
static uint32_t largest_result(const struct abi *a)
{
    switch (a->machine) {
    case EM_ARM:
        return 4;
    case EM_SPARCV9:
        return 32;
    case EM_PARISC:
    case EM_68K:
    case EM_SH:
        return 8;
    case EM_RISCV:
        return 2 * abi_word(a);
    case EM_X86_64:
    case EM_AARCH64:
        return 16;
    case EM_MIPS:
        return a->bits == 64 ? 16 : 0;
    case EM_PPC64:
        return a->big ? 0 : 16;
    default:
        return 0;
    }
}

/* Whether a result is in memory that the caller gives. */
static bool result_in_memory(const struct abi *a, const struct abi_type *t)
{
    if (t->what != ABI_STRUCT) {
        return (a->machine == EM_S390 || a->machine == EM_ALPHA) && t->size > 8;
    }
    if (t->same_floats &&
        (((a->machine == EM_AARCH64 || a->flags & BACKFILL) && t->same_floats <= 4) ||
         (a->machine == EM_PPC64 && !a->big && t->same_floats <= 8))) {
        return false;
    }
    return t->size > largest_result(a);
}

void abi_begin(struct abi_walk *w, const struct abi *a, bool big_endian, bool variadic,
               const struct abi_type *result)
{
    static const struct abi_type pointer = {.what = ABI_INTEGER, .size = 8};
    struct abi_place ignored = {0};

    *w = (struct abi_walk){.abi = a, .big_endian = big_endian};
    if (result && !(a->flags & RESULT_APART) && result_in_memory(a, result)) {
        in_ints(w, &pointer, abi_word(a), &ignored);
    }
    if (variadic && a->flags & BACKFILL) {
        w->abi = &arm_soft;
    }
}

void abi_next(struct abi_walk *w, const struct abi_type *t, struct abi_place *out)
{
    static const struct abi_type pointer = {.what = ABI_INTEGER, .size = 8};

    *out = (struct abi_place){0};
    if (w->lost) {
        return;
    }
    switch (t->what) {
    case ABI_INTEGER:
        if (w->abi->machine == EM_S390 && t->size > 8) {
            out->reference = true;
            in_ints(w, &pointer, 8, out);
        } else {
            in_ints(w, t, t->size, out);
        }
        break;
    case ABI_FLOAT:
        if ((w->abi->machine != EM_SPARCV9 && w->abi->machine != EM_PARISC) ||
            !next_unrecorded(w, t)) {
            next_float(w, t, out);
        }
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
    w->lost |= out->n == ABI_PIECES;
}

/* -------------------------------------------------------------------- results */

/* Where the caller says that a result goes: at the function's entry. */
static void memory_result(const struct abi *a, struct abi_place *out)
{
    static const struct abi_type pointer = {.what = ABI_INTEGER, .size = 8};
    struct abi_walk w = {.abi = a};

    out->reference = out->at_entry = true;
    switch (a->machine) {
    case EM_AARCH64:
        add_piece(out, "x8", 0, 0, 8);
        break;
    case EM_68K:
        add_piece(out, "A1", 0, 0, 4);
        break;
    case EM_PARISC:
        add_piece(out, "r28", 0, 0, 4);
        break;
    case EM_386: /* returned, too; the slot may have been changed */
        out->at_entry = false;
        add_piece(out, "eax", 0, 0, 4);
        break;
    case EM_SH:
        out->reference = out->at_entry = false;
        break;
    default:
        in_ints(&w, &pointer, abi_word(a), out);
        break;
    }
}

/* A structure in registers, as if it were an argument, in the registers of results. */
static void struct_result(const struct abi *a, const struct abi_type *t, bool big_endian,
                          struct abi_place *out)
{
    struct abi results = *a;
    struct abi_walk w = {.abi = &results, .big_endian = big_endian};

    if (a->machine == EM_SPARCV9 || a->machine == EM_68K || a->machine == EM_SH ||
        a->machine == EM_PARISC || (a->machine == EM_MIPS && t->floats)) {
        return; /* by rules that are not known here */
    }
    results.flags &= (uint16_t)~(SPLIT | HOME | PAIRS_EVEN);
    results.ints[0] = a->result[0];
    results.ints[1] = a->result[1];
    results.ints[2] = NULL;
    if (a->machine == EM_RISCV) {
        results.ints[0] = "a0";
    }
    next_struct(&w, t, out);
    for (uint32_t i = 0; i < out->n; i++) {
        out->n = out->piece[i].reg ? out->n : 0;
    }
}

void abi_result(const struct abi *a, const struct abi_type *t, bool pointer,
                bool big_endian, struct abi_place *out)
{
    unsigned word = abi_word(a);

    *out = (struct abi_place){0};
    if (result_in_memory(a, t)) {
        memory_result(a, out);
    } else if (t->what == ABI_STRUCT) {
        struct_result(a, t, big_endian, out);
    } else if (t->what == ABI_FLOAT && a->float_result) {
        add_float(a, a->float_result, t->size, out);
    } else if (t->what == ABI_INTEGER && t->size <= word) {
        add_piece(out, pointer && a->pointer ? a->pointer : a->result[0], 0, 0, t->size);
    } else if (t->what == ABI_INTEGER && t->size <= 2 * word && a->result[1]) {
        add_piece(out, a->result[0], 0, 0, word);
        add_piece(out, a->result[1], 0, 0, t->size - word);
    } else if (t->what == ABI_FLOAT && t->size <= 2 * word && a == &arm_soft) {
        add_piece(out, a->result[0], 0, 0, t->size < word ? t->size : word);
        if (t->size > word) {
            add_piece(out, a->result[1], 0, 0, t->size - word);
        }
    }
}
