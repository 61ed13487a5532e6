/* SPDX-License-Identifier: MIT */
/*
 * What only s390x has: EXECUTE, the address of the last branch (bea), which LPSWE writes even
 * if it raises an exception then, instructions on bytes of memory, a lowcore that moves,
 * program events (PER). Its start, handlers and console are those of the machine's other
 * program.
 */
#include "s390x.h"

void machine_off(void);

/* ---- branches ---- */

#define BRANCHES_CLOBBER "r0", "r1", "r3", "r4", "r5", "cc", "memory"

/* Of all kinds, taken and not, also to what follows, and executed by EXECUTE. */
static uint64_t branches(void)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < 40; i++) {
        __asm__ volatile("lgr %%r3, %1\n"
                         "nill %%r3, 7\n"
                         "aghi %%r3, 1\n"
                         "1: agr %0, %%r3\n"
                         "brctg %%r3, 1b\n"
                         "j 2f\n" /* to what follows */
                         "2: agr %0, %1\n"
                         "tmll %1, 1\n"
                         "jne 3f\n"
                         "3: aghi %0, 1\n"
                         "brc 0, 2b\n"
                         "bcr 0, %%r3\n"
                         "jne 4f\n"
                         "aghi %0, 3\n"
                         "4: basr %%r4, 0\n"
                         "la %%r4, 6f-.(%%r4)\n"
                         "tmll %1, 2\n"
                         "bner %%r4\n"
                         "5: aghi %0, 5\n"
                         "6: bras %%r5, 7f\n"
                         "7: larl %%r4, 8f\n"
                         "basr %%r5, %%r4\n"
                         "8: cgij %1, 20, 2, 9f\n"
                         "9: clgrjl %1, %0, 10f\n"
                         "aghi %0, 1\n"
                         "10: larl %%r4, 11f\n"
                         "cgrb %1, %0, 12, 0(%%r4)\n"
                         "11: lghi %%r4, 1\n"
                         "lghi %%r5, 4\n"
                         "lghi %%r3, 0\n"
                         "12: brxlg %%r3, %%r4, 12b\n"
                         "larl %%r4, 13f\n"
                         "bc 15, 0(%%r4)\n"
                         "13: brasl %%r4, 14f\n"
                         "14: basr %%r4, %%r4\n"
                         : "+d"(sum)
                         : "d"(i)
                         : BRANCHES_CLOBBER);
    }
    return sum;
}

/*
 * A block that ends with its page, after an instruction whose condition code is the result of
 * QEMU's helper.
 */
uint64_t end_of_page(void *bytes, uint64_t n);
__asm__(".text\n .balign 4096\n .skip 4096 - 10\n"
        "end_of_page: aghi %r3, 1\n oc 0(4, %r2), 4(%r2)\n"
        "ipm %r2\n br %r14\n");

/* EXECUTE of branches, calls, moves and of what raises exceptions. */
static uint64_t executed(void)
{
    static uint8_t text[64], copy[64];
    uint64_t sum = 0;

    for (uint64_t i = 0; i < 20; i++) {
        __asm__ volatile("larl %%r3, 3f\n"
                         "larl %%r4, 2f\n"
                         "ex %2, 6(%%r3)\n" /* length 1 + i */
                         "exrl %2, 5f\n"
                         "tmll %2, 1\n"
                         "exrl 0, 7f\n"
                         "aghi %0, 1\n"
                         "ex 0, 0(%%r3)\n" /* to 2 */
                         "aghi %0, 100\n"
                         "2: exrl 0, 6f\n"
                         "exrl 0, 9f\n"
                         "larl %%r5, 1f\n"
                         "exrl 0, 8f\n"
                         "1: j 10f\n"
                         "3: br %%r4\n"
                         "nopr\n"
                         "nopr\n"
                         "mvc 0(1, %3), 0(%1)\n"
                         "5: xc 0(1, %1), 0(%1)\n"
                         "6: svc 9\n"
                         "7: bner %%r4\n"
                         "8: bcr 15, %%r5\n"
                         "9: .word 0, 0\n"
                         "10:"
                         : "+d"(sum)
                         : "a"(text), "a"(i), "a"(copy)
                         : BRANCHES_CLOBBER);
        text[i] = (uint8_t)i;
        sum += copy[i] + end_of_page(copy, i);
    }
    return sum;
}

/* A PSW in a page that is not there. */
static uint64_t faulting_psws(void)
{
    uint64_t *psw = (uint64_t *)(void *)frames[3];
    uint32_t *short_psw = (uint32_t *)(void *)(frames[3] + 64);
    uint64_t sum = 0;

    for (unsigned i = 0; i < 10; i++) {
        unsigned page = 203 + 8 * i;

        __asm__ volatile("larl %%r3, 1f\n"
                         "stg %%r3, 8(%1)\n"
                         "stg %3, 0(%1)\n"
                         "j 3f\n"
                         "3: lghi %%r3, 1\n"
                         "lpswe 0(%2)\n"
                         "lghi %%r3, 100\n"
                         "1: agr %0, %%r3\n"
                         : "+d"(sum)
                         : "a"(psw), "a"(WINDOW + page * PAGE), "d"(PSW_DAT | PSW_64)
                         : "r3", "cc", "memory");
        unmap(page);
        __asm__ volatile("larl %%r3, 1f\n"
                         "st %%r3, 4(%1)\n"
                         "oi 4(%1), 0x80\n"
                         "mvhi 0(%1), 0\n"
                         "mvi 0(%1), 4\n"
                         "mvi 1(%1), 8\n"
                         "mvi 3(%1), 1\n"
                         "lghi %%r3, 1\n"
                         "lpsw 64(%2)\n"
                         "lghi %%r3, 100\n"
                         "1: agr %0, %%r3\n"
                         : "+d"(sum)
                         : "a"(short_psw), "a"(WINDOW + page * PAGE)
                         : "r3", "cc", "memory");
    }
    return sum;
}

/* ---- loads and stores ---- */

/* Floating-point registers other than 0, 2, 4, 6, and vector registers. */
static void use_vectors(void)
{
    uint64_t control = 0x60000;

    __asm__ volatile("lctlg 0, 0, %0" ::"Q"(control) : "memory");
}

static uint64_t sizes(uintptr_t at)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < 24; i++) { /* over the end of a page, too */
        __asm__ volatile("stc %0, 0(%1)\n"
                         "sth %0, 1(%1)\n"
                         "st %0, 3(%1)\n"
                         "stg %0, 7(%1)\n"
                         "stmg %%r0, %%r5, 16(%1)\n"
                         "stm %%r0, %%r5, 70(%1)\n"
                         "strvg %0, 100(%1)\n"
                         "stcm %0, 5, 110(%1)\n"
                         "std %%f0, 120(%1)\n"
                         "ste %%f0, 128(%1)\n"
                         "stam %%a0, %%a3, 136(%1)\n"
                         "mvhhi 150(%1), 77\n"
                         "mvghi 152(%1), -1\n"
                         "asi 160(%1), 5\n"
                         "ni 161(%1), 0x55\n"
                         "mvc 170(20, %1), 1(%1)\n"
                         "xc 190(8, %1), 0(%1)\n"
                         "oc 198(4, %1), 3(%1)\n"
                         "clc 0(16, %1), 170(%1)\n"
                         "mvn 200(3, %1), 3(%1)\n"
                         "llgc %%r3, 0(%1)\n agr %0, %%r3\n"
                         "llgh %%r3, 2(%1)\n agr %0, %%r3\n"
                         "llgf %%r3, 3(%1)\n agr %0, %%r3\n"
                         "lrvg %%r3, 5(%1)\n agr %0, %%r3\n"
                         "icm %%r3, 5, 9(%1)\n agr %0, %%r3\n"
                         "lmg %%r3, %%r5, 40(%1)\n agr %0, %%r4\n"
                         "ld %%f1, 7(%1)\n le %%f2, 8(%1)\n"
                         ".machine push\n .machine z13\n"
                         "vl %%v17, 9(%1)\n vlm %%v3, %%v5, 20(%1)\n"
                         "vag %%v18, %%v17, %%v17\n vst %%v18, 210(%1)\n"
                         ".machine pop\n"
                         "ag %0, 170(%1)\n"
                         : "+d"(sum)
                         : "a"(at + i)
                         : "r3", "r4", "r5", "f1", "f2", "f3", "f4", "f5", "cc",
                           "memory");
    }
    return sum;
}

/* ---- control registers, prefix ---- */

static uint64_t control_registers(void)
{
    uint64_t kept[16], sum = 0;
    uint32_t halves[2];
    uint8_t old;

    for (uint64_t i = 0; i < 4; i++) {
        __asm__ volatile("stctg 0, 15, 0(%0)\n lctlg 2, 12, 16(%0)" ::"a"(kept)
                         : "memory");
        __asm__ volatile("stctl 3, 4, 0(%0)\n lctl 3, 4, 0(%0)" ::"a"(halves) : "memory");
        sum += kept[0] + halves[1];
        kept[3] = i << 20;
        kept[12] = i << 12;
        __asm__ volatile("lctlg 3, 3, 24(%0)\n lctlg 12, 12, 96(%0)" ::"a"(kept)
                         : "memory");
        __asm__ volatile("lpp %0" ::"Q"(kept[3]) : "memory");
        __asm__ volatile(
            "stnsm %0, 0xff\n stosm %0, 0\n epsw %%r4, %%r5\n sar %%a2, %%r5\n"
            "ear %%r4, %%a2\n sfpc %%r3\n stfpc %1"
            : "=Q"(old), "=Q"(halves[0])::"r4", "r5", "memory");
    }
    return sum;
}

/* The lowcore somewhere else, and code that causes exceptions there. */
static uint64_t prefixes(void)
{
    static uint8_t lowcores[3 * 4096 * 2] __attribute__((aligned(8192)));
    uint64_t calls = nr_calls, sum = 0;
    uint32_t prefix, seen, none = 0;

    for (unsigned i = 0; i < 3; i++) {
        uint8_t *at = lowcores + 8192 * i;

        for (unsigned k = 0x180; k < 0x200; k += 8) {
            *(uint64_t *)(void *)(at + k) = lowcore_word(k);
        }
        prefix = (uint32_t)(uint64_t)at;
        __asm__ volatile("spx %1\n svc 5\n svc 6\n stpx %0\n spx %2"
                         : "=Q"(seen)
                         : "Q"(prefix), "Q"(none)
                         : "memory");
        sum += seen - prefix;
    }
    return sum + nr_calls - calls;
}

/* Program events: of branches, for a while. */
static uint64_t recording_events(void)
{
    uint64_t what[3] = {0x80000000ul, 0, ~0ul};
    uint8_t old;

    __asm__ volatile("lctlg 9, 11, 0(%0)" ::"a"(what) : "memory");
    __asm__ volatile("stosm %0, 0x40" : "=Q"(old)::"memory");
    sum_loop(30);
    __asm__ volatile("stnsm %0, 0xbf" : "=Q"(old)::"memory");
    return nr_events;
}

/* ---- exceptions ---- */

/* A store to a page that may only be read, and what the handler steps over. */
static uint64_t other_exceptions(void)
{
    uint64_t before = nr_others;

    window_table[200] = (uint64_t)frames[5] | 0x200;
    for (unsigned i = 0; i < 5; i++) {
        __asm__ volatile("stg %0, 8(%1)\n"
                         "lghi %%r4, 0\n"
                         "lghi %%r5, 1\n"
                         "lghi %%r3, 0\n"
                         "dlgr %%r4, %%r3\n" /* division by zero */
                         "larl %%r3, 1f\n"
                         "ex %%r0, 0(%%r3)\n" /* of another EXECUTE */
                         "ex %%r0, 1(%%r3)\n" /* of an odd address */
                         "lpswe 4(%1)\n"      /* of an address that is not aligned */
                         "j 2f\n"
                         "1: ex %%r0, 0(%%r3)\n"
                         "2:"
                         :
                         : "d"(7ul), "a"(WINDOW + 200 * PAGE)
                         : "r3", "r4", "r5", "cc", "memory");
    }
    return nr_others - before;
}

/* Branches of two kinds, and a PSW, to an odd address. */
static uint64_t odd_addresses(void)
{
    uint64_t psw[2] = {PSW_DAT | PSW_64, 0}, before = nr_others;

    for (unsigned i = 0; i < 5; i++) {
        __asm__ volatile("larl %%r3, 1f\n"
                         "stg %%r3, %0\n"
                         "larl %%r4, 1f\n"
                         "la %%r4, 1(%%r4)\n"
                         "br %%r4\n"
                         "1: larl %%r3, 2f\n"
                         "stg %%r3, %0\n"
                         "basr %%r3, %%r4\n"
                         "2: larl %%r3, 3f\n"
                         "stg %%r3, %0\n"
                         "stg %%r4, 8(%1)\n"
                         "lpswe 0(%1)\n"
                         "3:"
                         : "=Q"(after_odd)
                         : "a"(psw)
                         : "r3", "r4", "cc", "memory");
    }
    return nr_others - before;
}

/* Code in pages that are not there: entered by a branch, from before, and by EXECUTE. */
static uint64_t absent_code(void)
{
    char *end = (char *)WINDOW + 103 * PAGE;
    uint64_t sum = 0;

    map(102, frames[6]);
    map(103, frames[7]);
    for (unsigned i = 0; i < 8; i++) { /* aghi %r2, 1 */
        *(uint32_t *)(void *)(end - 16 + 4 * i) = 0xa72b0001;
    }
    *(uint32_t *)(void *)(end + 16) = 0x07fe07fe; /* br %r14 */
    for (unsigned i = 0; i < 8; i++) {
        if (i & 1) {
            unmap(102);
        }
        if (i & 2) {
            unmap(103);
        }
        __asm__ volatile("lgr %%r2, %0\n"
                         "basr %%r14, %1\n"
                         "ex 0, 16(%1)\n"
                         "lgr %0, %%r2\n"
                         : "+d"(sum)
                         : "a"(end - 16)
                         : "r2", "r14", "cc", "memory");
    }
    return sum;
}

void machine_main(void)
{
    use_vectors();
    put_number("sizes", sizes((uintptr_t)frames[2]));
    put_number("branches", branches());
    mmu_on();
    put_number("sizes", sizes(WINDOW + 140 * PAGE - 90));
    put_number("branches", branches());
    put_number("executed", executed());
    put_number("psws", faulting_psws());
    put_number("others", other_exceptions());
    put_number("odd", odd_addresses());
    put_number("absent", absent_code());
    put_number("control", control_registers());
    put_number("prefixes", prefixes());
    put_number("events", recording_events());
    put("calls 1010\n");
    machine_off();
}
