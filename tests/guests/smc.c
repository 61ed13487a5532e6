/* SPDX-License-Identifier: MIT */
/*
 * Self-modifying code: functions made at run time, patched between
 * calls, patched by code on the same page, and (where the machine guarantees
 * an immediate effect: x86, s390x) in the running block, including the
 * next instruction and the storing one.
 */
#include "emit.h"

#define CODE_AT 0x30000000
static uint8_t *code;

#if defined(__x86_64__) || defined(__i386__)
/*
 * Each piece of code below is copied into the writable page and called with
 * its own address in %edi; it patches itself while it runs.
 */
#define PIECE(name, text)                                                                \
    extern const uint8_t name[], name##_end[];                                           \
    __asm__(".pushsection .rodata\n" #name ":\n\t" text "\n" #name "_end:\n.popsection")

/* the immediate of the next instruction */
PIECE(next_insn, "movb $7, 1f+1-next_insn(%edi)\n1:\t.byte 0xb8,1,0,0,0\n\tret");
/* of a later one in the block, twice */
PIECE(later_insn,
      "movl $0, %eax\n\tincb 1f+2-later_insn(%edi)\n\tincb 1f+2-later_insn(%edi)\n\tnop\n"
      "1:\t.byte 0x83,0xc0,1\n\tret");
/* the storing instruction itself (its first byte stays the same) */
PIECE(
    itself,
    "1:\t.byte 0x3e\n\tmovb $0x3e, 1b-itself(%edi)\n\tmovb $0x90, 2f-itself(%edi)\n\tnop\n2:\tnop\n\t"
    "mov $5, %eax\n\tret");
/* data of the same page, with a load before the store in one instruction */
PIECE(
    own_page,
    "mov $3, %eax\n\taddl %eax, 512(%edi)\n\txchgl %eax, 516(%edi)\n\tpush $6\n\tpop 520(%edi)\n\t"
    "addl 512(%edi), %eax\n\tret");
/* a later instruction is patched, then the loop runs it again */
PIECE(
    loop,
    "xor %eax, %eax\n\tmov $4, %ecx\n1:\t.byte 0x83,0xc0,1\n\tincb 1b+2-loop(%edi)\n\tdec %ecx\n\tjnz 1b\n\tret");

static NOINLINE uint32_t run_piece(const uint8_t *p, const uint8_t *end)
{
    uint32_t r, c = 0;

    memcpy(code, p, (size_t)(end - p));
    __asm__ volatile("call *%2" : "=a"(r), "+c"(c) : "D"(code) : "memory", "cc", "esi");
    return r;
}

static NOINLINE void in_block(void)
{
    for (int i = 0; i < 3; i++) {
        mix(run_piece(next_insn, next_insn_end));
        mix(run_piece(later_insn, later_insn_end));
        mix(run_piece(itself, itself_end));
        mix(run_piece(own_page, own_page_end));
        mix(run_piece(loop, loop_end));
    }
}
#elif defined(__s390x__)
#define PIECE(name, text)                                                                \
    extern const uint8_t name[], name##_end[];                                           \
    __asm__(".pushsection .rodata\n.balign 8\n" #name ":\n\t" text "\n" #name            \
            "_end:\n.popsection")

PIECE(next_insn, "mvi 7(%r3), 7\n\tlghi %r2, 1\n\tbr %r14");
PIECE(
    later_insn,
    "lghi %r2, 0\n\tni 19(%r3), 0\n\toi 19(%r3), 5\n\tlgr %r1, %r1\n\taghi %r2, 1\n\tbr %r14");
PIECE(
    own_page,
    "lghi %r2, 3\n\tasi 512(%r3), 3\n\tmvc 520(4,%r3), 512(%r3)\n\tl %r2, 520(%r3)\n\tbr %r14");

static NOINLINE uint32_t run_piece(const uint8_t *p, const uint8_t *end)
{
    register uint8_t *r3 __asm__("r3");
    register uint64_t r2 __asm__("r2");

    memcpy(code, p, (size_t)(end - p));
    r3 = code;
    __asm__ volatile("basr %%r14, %%r3"
                     : "=d"(r2), "+a"(r3)
                     :
                     : "r1", "r14", "memory", "cc");
    return (uint32_t)r2;
}

static NOINLINE void in_block(void)
{
    for (int i = 0; i < 3; i++) {
        mix(run_piece(next_insn, next_insn_end));
        mix(run_piece(later_insn, later_insn_end));
        mix(run_piece(own_page, own_page_end));
    }
}
#else
static void in_block(void)
{
}
#endif

int main(void)
{
    code = mmap((void *)CODE_AT, 65536 * 2, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (unsigned i = 0; i < 30; i++) {
        emit(code, i);
        mix(call(code));
        mix(call(code));
        emit(code, i ^ 0x55);
        emit(code + 64, i + 1);
        mix(call(code) + call(code + 64));
    }
    /* many blocks of one page, patched in turn; calls across a page's end */
    for (unsigned i = 0; i < 20; i++) {
        emit(code + i * 32, i * 3);
        emit(code + 65536 - 4, i);
        mix(call(code + 65536 - 4));
    }
    for (unsigned i = 0; i < 100; i++) {
        unsigned j = rnd() % 20;

        mix(call(code + j * 32));
        if (i % 3 == 0) {
            emit(code + j * 32, rnd() & 0x7f);
        }
    }
    in_block();
    /* the same bytes at another place, and unmapped and mapped again */
    munmap(code, 65536);
    mmap((void *)CODE_AT, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    emit(code, 77);
    mix(call(code));
    mprotect(code, 65536, PROT_READ | PROT_EXEC);
    mix(call(code));
    mprotect(code, 65536, PROT_READ | PROT_WRITE | PROT_EXEC);
    emit(code, 78);
    mix(call(code));
    return finish("smc");
}
