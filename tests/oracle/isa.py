# SPDX-License-Identifier: MIT
"""Instruction templates of the random programs, one table per instruction set.

A template is assembler text, instructions separated by ";".  Words in braces are
replaced at random:

  {r} {w} {v} ..   a register of that list        {cc} {cn}  a condition, or none
  {i8} {i12} ..    an immediate of so many bits   {sh}       a shift amount
  {o1} {o4} ..     an offset into the buffer, a multiple of so many bytes
  {u}              an offset of any alignment

The buffer's first 16 KiB are accessible, the page after it is closed at first.  Its
address is in a register that nothing else writes; so is a second pointer,
which a template sets before it uses it.

Left out, because QEMU itself runs them differently in blocks of one instruction
and in longer ones: ppc STQCX. (fails once in a long block), and s390x TR with a
condition tested after it (its condition code is a stale one).
Vector stores that fault half-way are left out too: with a plugin QEMU goes
element by element, without one it checks all pages first.
"""

import re


class Isa:
    def __init__(self, lists, prologue, epilogue, setreg, templates, branch, loop, leaf, call,
                 preamble="", function="", writable=False):
        self.lists = lists
        self.prologue = prologue
        self.epilogue = epilogue
        self.setreg = setreg            # (register, 32-bit value) -> text
        self.templates = templates      # [(weight, text)]
        self.branch = branch            # [text with {label}]
        self.loop = loop                # (text before, text after), {n} {label}
        self.leaf = leaf                # return of a leaf function
        self.call = call                # [text with {leaf}]
        self.preamble = preamble
        self.function = function        # directive before each function
        self.writable = writable        # functions may rewrite themselves


CC = ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"]

ARM_TEMPLATES = [
    (4, "add{cc} {r}, {r}, {r}"), (3, "subs {r}, {r}, {r}"), (3, "ands {r}, {r}, #{i8}"),
    (3, "eor{cc} {r}, {r}, {r}, lsl #{sh}"), (2, "mul {r}, {r}, {r}"),
    (1, "umull r0, r1, {r}, {r}"), (4, "cmp {r}, {r}"), (2, "tst {r}, #{i8}"),
    (2, "movw {r}, #{i16}"), (2, "mvn{cc} {r}, {r}"), (1, "bfi {r}, {r}, #3, #7"),
    (1, "clz {r}, {r}"), (1, "rev {r}, {r}"), (2, "adcs {r}, {r}, {r}"), (1, "ssat {r}, #5, {r}"),
    (1, "uxth {r}, {r}"), (1, "rsbs {r}, {r}, #{i8}"), (1, "lsrs {r}, {r}, #{sh}"),
    (6, "ldr{cc} {r}, [r8, #{u}]"), (3, "ldrb{cc} {r}, [r8, #{u}]"), (3, "ldrh{cc} {r}, [r8, #{s1}]"),
    (2, "ldrsb{cc} {r}, [r8, #{s1}]"), (2, "ldrsh{cc} {r}, [r8, #{s1}]"),
    (6, "str{cc} {r}, [r8, #{u}]"), (3, "strb{cc} {r}, [r8, #{u}]"), (3, "strh{cc} {r}, [r8, #{s1}]"),
    (2, "ldrd{cc} r0, r1, [r8, #{s4}]"), (2, "strd{cc} r2, r3, [r8, #{s4}]"),
    (2, "add r9, r8, #{s4}; ldr {r}, [r9], #4; str{cc} {r}, [r9, #8]!"),
    (2, "and r7, {r}, #0xfc; ldr{cc} {r}, [r8, r7]; strb {r}, [r8, r7]"),
    (2, "and r7, {r}, #0xff; ldr {r}, [r8, r7, lsl #2]; str{cc} {r}, [r8, r7, lsl #1]"),
    (2, "add r9, r8, #{s4}; ldm{cc} r9, {{r0-r5}}"), (2, "add r9, r8, #512; stmdb{cc} r9!, {{r0, r2, r4}}"),
    (2, "add r9, r8, #{s4}; ldmia{cc} r9!, {{r1, r3}}; stmia{cc} r9, {{r0-r6}}"),
    (1, "push {{r0-r4}}; pop {{r0-r4}}"), (1, "push {{r0, r5, r6, lr}}; pop {{r0, r5, r6, lr}}"),
    (2, "add r9, r8, #{s8}; ldrex {r}, [r9]; strex r7, {r}, [r9]"),
    (1, "add r9, r8, #{s8}; ldrexd r0, r1, [r9]; strexd r7, r2, r3, [r9]"),
    (1, "add r9, r8, #{s8}; ldrexb {r}, [r9]; clrex; strexb r7, {r}, [r9]"),
    (1, "add r9, r8, #{s1}; vld1.8 {{d0, d1}}, [r9]!; vst1.16 {{d1}}, [r9]"),
    (1, "add r9, r8, #{s1}; vld2.8 {{d0, d1}}, [r9]; vst2.8 {{d2, d3}}, [r9]"),
    (1, "add r9, r8, #{s4}; vld3.16 {{d0, d1, d2}}, [r9]; vst4.32 {{d0, d1, d2, d3}}, [r9]"),
    (1, "add r9, r8, #{s4}; vld1.32 {{d1[1]}}, [r9]; vst1.8 {{d3[5]}}, [r9]"),
    (1, "add r9, r8, #{s4}; vldm r9, {{d0-d5}}; vstmia r9!, {{d2-d3}}"),
    (1, "vldr d1, [r8, #{s4}]; vadd.i32 q0, q0, q1; vstr d0, [r8, #{s4}]"),
    (1, "vldr s1, [r8, #{s4}]; vcvt.s32.f32 s2, s1; vstr s2, [r8, #{s4}]"),
    (1, "pld [r8, #{s4}]; dmb; yield"),
    (1, "add r9, r8, #{s8}; vld1.64 {{d0, d1}}, [r9 :64]; vst1.32 {{d0[0]}}, [r9 :32]!; vst2.16 {{d1[2], d2[2]}}, [r9]"),
    (1, "add r9, r8, #256; vldmdb r9!, {{d0-d7}}; vstmdb r9!, {{s3-s10}}; vld4.16 {{d0[], d1[], d2[], d3[]}}, [r9]"),
    (1, "add r9, r8, #{s4}; vpush {{d0-d3}}; vpop {{d0-d3}}; vldr{cc} d5, [r9, #4]; vstr{cc} s4, [r9, #8]"),
    (1, "add r9, r8, #{s4}; ldr{cc} {r}, [r9, #-4]!; strb{cc} {r}, [r9], #1; ldrsh{cc} {r}, [r9, #2]!"),
    (1, "add r9, r8, #{s8}; ldrexh {r}, [r9]; strexh r7, {r}, [r9]; strexb r7, {r}, [r9]"),
    (1, "add r9, r8, #{s8}; 78: ldrex r0, [r9]; add r1, r0, #1; strex r7, r1, [r9]; cmp r7, #0; bne 78b"),
    (1, "mov r7, #0x3f00; add r7, r7, #{x8}; ldr{cc} {r}, [r8, r7]"),
    (1, "mov r7, #0x3f00; add r7, r7, #{x8}; add r7, r8, r7; stm{cc} r7, {{r0-r5}}"),
    (1, "mov r7, #0x3f00; add r7, r7, #{x8}; add r7, r8, r7; ldm r7, {{r0-r6}}; str r0, [r7, #4]"),
    (1, "mov r7, #0x4000; add r7, r8, r7; ldr {r}, [r8, #8]; strd{cc} r0, r1, [r7, #-4]; str {r}, [r8, #4]"),
]
ARM_PRO = "push {{r4-r11, lr}}; mov r8, #0x20000000"
ARM_EPI = "pop {{r4-r11, pc}}"


def arm(thumb):
    return Isa(
        lists={"r": ["r%d" % i for i in range(7)], "cc": [""] * 5 + CC, "cn": CC},
        prologue=ARM_PRO, epilogue=ARM_EPI,
        setreg=lambda r, v: "movw %s, #%d; movt %s, #%d" % (r, v & 0xffff, r, v >> 16),
        templates=ARM_TEMPLATES + ([(1, "udf.w #{i8}")] if thumb else [
            (1, "udf #{i8}"), (1, "teq {r}, {r}"),
            (1, "add r9, r8, #{s4}; ldmib{cc} r9!, {{r0-r3}}; stmda r9, {{r1, r4}}")]),
        branch=["b{cn} {label}", "cmp {r}, #{i8}; b{cn} {label}", "b {label}"],
        loop=("mov r10, #{n}", "subs r10, r10, #1; bne {label}"),
        leaf="bx lr", call=["bl {leaf}", "movw r7, #:lower16:{leaf}; movt r7, #:upper16:{leaf}; blx r7",
                            "bl{cn} {leaf}"],
        preamble=".syntax unified\n.fpu neon\n" + (".thumb\n" if thumb else ".arm\n"),
        function=".thumb_func" if thumb else "")


A64_TEMPLATES = [
    (4, "add {x}, {x}, {x}"), (3, "subs {w}, {w}, {w}"), (2, "ands {x}, {x}, #0xff"),
    (3, "eor {x}, {x}, {x}, lsl #{sh}"), (2, "madd {x}, {x}, {x}, {x}"), (1, "udiv {w}, {w}, {w}"),
    (4, "cmp {x}, {x}"), (2, "csel {x}, {x}, {x}, {cn}"), (1, "ccmp {w}, #{i5}, #3, {cn}"),
    (1, "bfi {x}, {x}, #5, #9"), (1, "clz {w}, {w}"), (1, "rev {x}, {x}"), (1, "adcs {x}, {x}, {x}"),
    (5, "ldr {x}, [x19, #{o8}]"), (3, "ldur {w}, [x19, #{s1}]"), (2, "ldrb {w}, [x19, #{u}]"),
    (2, "ldursh {x}, [x19, #{s1}]"), (2, "ldrsw {x}, [x19, #{o4}]"), (5, "str {x}, [x19, #{o8}]"),
    (3, "stur {w}, [x19, #{s1}]"), (2, "strb {w}, [x19, #{u}]"), (2, "sturh {w}, [x19, #{s1}]"),
    (3, "ldp x0, x1, [x19, #{s8}]"), (3, "stp x2, x3, [x19, #{s8}]"), (2, "ldp w4, w5, [x19, #{s4}]"),
    (1, "ldpsw x4, x5, [x19, #{s4}]"), (2, "add x20, x19, #{u}; ldp q0, q1, [x20]; stp q1, q2, [x20, #16]!"),
    (2, "add x20, x19, #{u}; ldr {x}, [x20], #8; str {x}, [x20, #-16]!"),
    (2, "and x21, {x}, #0xff; ldr {x}, [x19, x21, lsl #3]; strb {w}, [x19, x21]"),
    (2, "and x21, {x}, #0xff; ldr {w}, [x19, w21, uxtw #2]; str {w}, [x19, w21, sxtw]"),
    (2, "add x20, x19, #{o8}; ldxr {x}, [x20]; stlxr w21, {x}, [x20]"),
    (2, "add x20, x19, #{o16}; ldaxp x0, x1, [x20]; stxp w21, x2, x3, [x20]"),
    (1, "add x20, x19, #{o8}; ldxrb w1, [x20]; clrex; stxrb w21, w1, [x20]"),
    (1, "add x20, x19, #{o8}; ldadd {x}, {x}, [x20]; swpal {w}, {w}, [x20]; stclr {x}, [x20]"),
    (1, "add x20, x19, #{o8}; cas {x}, {x}, [x20]; ldumaxb {w}, {w}, [x20]; casah {w}, {w}, [x20]"),
    (1, "add x20, x19, #{o16}; casp x0, x1, x2, x3, [x20]; caspal w4, w5, w2, w3, [x20]"),
    (1, "add x20, x19, #{o8}; ldar {x}, [x20]; stlr {w}, [x20]; ldapr {x}, [x20]"),
    (2, "ldur q0, [x19, #{s1}]; add v0.4s, v0.4s, v1.4s; stur q0, [x19, #{s1}]"),
    (1, "add x20, x19, #{u}; ld1 {{v0.16b-v3.16b}}, [x20], #64; st1 {{v1.8h}}, [x20]"),
    (1, "add x20, x19, #{u}; ld2 {{v0.4s, v1.4s}}, [x20]; st3 {{v0.8b-v2.8b}}, [x20]"),
    (1, "add x20, x19, #{u}; ld4 {{v0.2d-v3.2d}}, [x20]; st4 {{v0.h-v3.h}}[5], [x20]; ld1r {{v3.4s}}, [x20]"),
    (1, "ldr d1, [x19, #{o8}]; scvtf d2, x3; fadd d1, d1, d2; str s1, [x19, #{o4}]"),
    (1, "mov x20, #0x3ff8; add x20, x19, x20; ldr {x}, [x20, #{f8}]"),
    (1, "mov x20, #0x3ff0; add x20, x19, x20; add x20, x20, #{i4}; stp x0, x1, [x20]; str x2, [x19]"),
    (1, "mov x20, #0x3ff0; add x20, x19, x20; add x20, x20, #{i4}; ldp q0, q1, [x20]; ldr x2, [x19]"),
    (1, "mov x20, #0x3ff0; add x20, x19, x20; add x20, x20, #{i4}; str x1, [x19, #8]; stur x0, [x20, #3]; str x2, [x19]"),
    (1, "mov x20, #0x3ff0; add x20, x19, x20; st4 {{v0.16b-v3.16b}}, [x20]; str x2, [x19]"),
    (1, "add x20, x19, #{u}; ldtr {x}, [x20, #8]; sttrb {w}, [x20]; ldnp x0, x1, [x19, #{s8}]; stnp w2, w3, [x19, #{s4}]"),
    (1, "add x20, x19, #{o8}; ldp x0, x1, [x20], #16; stp x2, x3, [x20, #-16]!; ldp d0, d1, [x20, #8]; stp s0, s1, [x20]"),
    (1, "add x20, x19, #{o8}; ldapur {x}, [x20, #8]; stlur {w}, [x20, #4]; ldlar {x}, [x20]; stllrb {w}, [x20]"),
    (1, "add x20, x19, #{o8}; 78: ldaxr x0, [x20]; add x1, x0, #1; stlxr w21, x1, [x20]; cbnz w21, 78b"),
    (1, "prfm pldl1keep, [x19, #{o8}]; ldr {x}, =0x123456789; ldr {w}, [x19, #{o4}]"),
    (1, "add x20, x19, #{u}; ld3 {{v0.8h-v2.8h}}, [x20], #48; st1 {{v2.b}}[7], [x20]; ld2r {{v1.8b, v2.8b}}, [x20]; ld1 {{v1.d}}[1], [x20]"),
    (1, "add x20, x19, #{u}; ptrue p0.s; ld1w {{z0.s}}, p0/z, [x20]; add z0.s, z0.s, z1.s; st1w {{z0.s}}, p0, [x20]"),
    (1, "add x20, x19, #{u}; mov x21, #{i4}; whilelo p0.b, xzr, x21; ld2b {{z0.b, z1.b}}, p0/z, [x20]; st1b {{z0.b}}, p0, [x20]; ldr z3, [x20]"),
    (1, "add x20, x19, #{o16}; dc zva, x20; str {x}, [x19, #8]"),
    (1, "brk #{i8}"), (1, "udf #{i8}"), (1, "mrs {x}, nzcv; msr nzcv, {x}"), (1, "dmb ish"),
]

MIPS_TEMPLATES = [
    (4, "addu {r}, {r}, {r}"), (3, "subu {r}, {r}, {r}"), (2, "andi {r}, {r}, {i16}"), (3, "xor {r}, {r}, {r}"),
    (2, "sll {r}, {r}, {sh}"), (2, "slt {r}, {r}, {r}"), (2, "mul {r}, {r}, {r}"), (1, "mult {r}, {r}; mflo {r}; mfhi {r}"),
    (1, "movz {r}, {r}, {r}"), (1, "movn {r}, {r}, {r}"), (1, "ins {r}, {r}, 3, 8"), (1, "clz {r}, {r}"),
    (1, "addi {r}, {r}, {i8}"), (1, "add {r}, {r}, {r}"), (1, "div $0, {r}, {r}; mflo {r}"),
    (6, "lw {r}, {o4}($16)"), (3, "lh {r}, {o2}($16)"), (3, "lbu {r}, {u}($16)"), (2, "lhu {r}, {o2}($16)"),
    (6, "sw {r}, {o4}($16)"), (3, "sh {r}, {o2}($16)"), (3, "sb {r}, {u}($16)"),
    (3, "lwl {r}, {u}($16); lwr {r}, {u}($16)"), (3, "swl {r}, {u}($16); swr {r}, {u}($16)"),
    (1, "lw {r}, {u}($16)"), (1, "ldc1 $f2, {o8}($16); add.d $f2, $f2, $f4; sdc1 $f2, {o8}($16)"),
    (1, "lwc1 $f4, {o4}($16); cvt.s.w $f6, $f4; swc1 $f6, {o4}($16)"),
    (2, "addiu $17, $16, {o4}; ll $18, 0($17); addu $18, {r}, {r}; sc $18, 0($17)"),
    (1, "addiu $17, $16, {o4}; sc $18, 4($17)"),
    (2, "andi $18, {r}, 0xfc; addu $18, $18, $16; lw {r}, 0($18); sw {r}, 4($18)"),
    (2, "beq {r}, {r}, 77f; lw {r}, {o4}($16); sw {r}, {o4}($16); 77:"),
    (2, "bnel {r}, {r}, 77f; lw {r}, {o4}($16); sw {r}, {o4}($16); 77:"),
    (2, "bltzl {r}, 77f; sh {r}, {o2}($16); lb {r}, {u}($16); 77:"),
    (2, "bgez {r}, 77f; sb {r}, {u}($16); lb {r}, {u}($16); 77:"),
    (1, "blezl {r}, 77f; addiu {r}, {r}, 1; xor {r}, {r}, {r}; 77:"),
    (1, "addiu $17, $16, {o4}; 78: ll $2, 0($17); addiu $18, $2, 1; sc $18, 0($17); beqz $18, 78b; nop"),
    (1, "addiu $17, $16, {o8}; lwxc1 $f4, $0($17); swxc1 $f4, $0($17); pref 1, 0($17)"),
    (1, "bltzal {r}, 77f; lw {r}, {o4}($16); 77: bgezall {r}, 76f; sw {r}, {o4}($16); 76:"),
    (1, "teq {r}, {r}"), (1, "tltiu {r}, {i8}"), (1, "tge {r}, {r}"), (1, "sync"),
    (1, "addiu $18, $16, 0x3ff8; lw {r}, {f4}($18); sw {r}, 4($16)"),
    (1, "addiu $18, $16, 0x3ff8; sw {r}, 0($16); sw {r}, {f4}($18); sw {r}, 8($16)"),
    (1, "addiu $18, $16, 0x3ff8; b 77f; sw {r}, {f4}($18); sw {r}, 8($16); 77: lw {r}, 4($16)"),
    (1, "addiu $18, $16, 0x3ff8; bnel {r}, $0, 77f; lw {r}, {f4}($18); sw {r}, 8($16); 77: lw {r}, 4($16)"),
    (1, "addiu $18, $16, 0x3ff8; swl {r}, 6($18); swr {r}, 9($18)"),
]

RISCV_TEMPLATES = [
    (4, "add {r}, {r}, {r}"), (3, "subw {r}, {r}, {r}"), (2, "andi {r}, {r}, {i10}"), (3, "xor {r}, {r}, {r}"),
    (2, "slli {r}, {r}, {sh}"), (2, "sltu {r}, {r}, {r}"), (2, "mulhu {r}, {r}, {r}"), (1, "divw {r}, {r}, {r}"),
    (1, "remu {r}, {r}, {r}"), (1, "lui {r}, {i16}"), (1, "c.addi a0, 5"), (1, "c.mv a1, a2"),
    (5, "ld {r}, {o8}(s2)"), (3, "lw {r}, {u}(s2)"), (2, "lhu {r}, {u}(s2)"), (2, "lb {r}, {u}(s2)"), (2, "ld {r}, {u}(s2)"),
    (5, "sd {r}, {o8}(s2)"), (3, "sw {r}, {u}(s2)"), (2, "sh {r}, {u}(s2)"), (2, "sb {r}, {u}(s2)"), (2, "sd {r}, {u}(s2)"),
    (1, "mv a5, s2; c.ld a4, 8(a5); c.sw a4, 4(a5)"), (1, "addi sp, sp, -16; sd {r}, 0(sp); sd {r}, 8(sp); ld {r}, 8(sp); addi sp, sp, 16"),
    (1, "fld ft0, {o8}(s2); fadd.d ft1, ft0, ft1; fsd ft1, {u}(s2)"), (1, "flw ft2, {u}(s2); fcvt.w.s {r}, ft2, rtz; fsw ft2, {o4}(s2)"),
    (2, "andi s4, {r}, 0x7f8; add s4, s4, s2; ld {r}, 0(s4); sw {r}, 4(s4)"),
    (2, "addi s4, s2, {o8}; lr.d {r}, (s4); sc.d {r}, {r}, (s4)"), (1, "addi s4, s2, {o8}; lr.w {r}, (s4); sc.w.rl {r}, {r}, (s4); sc.w {r}, {r}, (s4)"),
    (1, "addi s4, s2, {o8}; amoadd.d {r}, {r}, (s4); amoswap.w {r}, {r}, (s4); amomaxu.d {r}, {r}, (s4)"),
    (1, "addi s4, s2, {o8}; amoand.w {r}, {r}, (s4); amomin.d {r}, {r}, (s4); amoxor.w {r}, {r}, (s4)"),
    (1, "addi s4, s2, {u}; amoor.w {r}, {r}, (s4)"), (1, "fence rw, rw"), (1, "csrr {r}, fcsr"), (1, "ebreak"), (1, "c.ebreak"),
    (1, "li s4, 0x3ff8; add s4, s4, s2; ld {r}, {f1}(s4); sd {r}, 8(s2)"), (1, "li s4, 0x3ff8; add s4, s4, s2; sd {r}, 0(s2); sd {r}, {f1}(s4); sd {r}, 8(s2)"),
    (1, "li s4, 0x4000; add s4, s4, s2; amoadd.w {r}, {r}, (s4); sw {r}, 4(s2)"), (1, ".word 0xffffffff"), (1, ".half 0; c.nop"),
    (1, "addi s4, s2, {o8}; 78: lr.d a0, (s4); addi a1, a0, 1; sc.d a2, a1, (s4); bnez a2, 78b"),
    (1, "sh1add {r}, {r}, {r}; andn {r}, {r}, {r}; rol {r}, {r}, {r}; bset {r}, {r}, {r}; zext.h {r}, {r}; rev8 {r}, {r}"),
    (1, "vsetvli s4, zero, e8, m1, ta, ma; addi s5, s2, {u}; vl2re8.v v2, (s5); vs1r.v v2, (s5); vlm.v v0, (s5); vsm.v v0, (s5); vle8.v v3, (s5), v0.t"),
    (1, "li s4, {i4}; vsetvli s4, s4, e32, m1, ta, ma; addi s5, s2, {o4}; vid.v v4; vsll.vi v4, v4, 3; vluxei32.v v5, (s5), v4; vsuxei32.v v5, (s5), v4; vlseg3e32.v v6, (s5)"),
    (1, "fence.i"), (1, "addi s4, s2, {o16}; cbo.zero (s4); sd {r}, 8(s2)"),
    (1, "addi s4, s2, {o16}; .word 0x28ba252f; .word 0x28da362f; .word 0x28ea452f"),  # amocas.w .d .q
    (1, "vsetvli s4, zero, e32, m1, ta, ma; addi s5, s2, {o4}; vle32.v v1, (s5); vadd.vv v2, v1, v1; vse32.v v2, (s5)"),
    (1, "li s4, {i4}; vsetvli s4, s4, e8, m2, ta, ma; addi s5, s2, {u}; vle8.v v2, (s5); vse8.v v2, (s5)"),
    (1, "li s4, 3; vsetvli s4, s4, e16, m1, ta, ma; addi s5, s2, {o2}; li s4, 6; vlse16.v v2, (s5), s4; vsse16.v v2, (s5), s4; vlseg2e16.v v4, (s5)"),
]

S390_TEMPLATES = [
    (4, "agr {r}, {r}"), (3, "sr {r}, {r}"), (2, "nilf {r}, {i16}"), (3, "xgr {r}, {r}"), (2, "sllg {r}, {r}, {sh}"),
    (2, "msgr {r}, {r}"), (3, "cgr {r}, {r}"), (1, "clfi {r}, {i16}"), (1, "ltgr {r}, {r}"), (1, "alcgr {r}, {r}"), (1, "ipm {r}"),
    (1, "lhi {r}, {i12}"), (1, "locgr{cn} {r}, {r}"), (1, "flogr %r2, {r}"), (1, "risbg {r}, {r}, 10, 50, 7"),
    (5, "lg {r}, {u}(%r9)"), (3, "l {r}, {u}(%r9)"), (2, "lgh {r}, {u}(%r9)"), (2, "llgc {r}, {u}(%r9)"), (2, "ag {r}, {u}(%r9)"),
    (5, "stg {r}, {u}(%r9)"), (3, "st {r}, {u}(%r9)"), (2, "sth {r}, {u}(%r9)"), (2, "stc {r}, {u}(%r9)"), (1, "strvg {r}, {u}(%r9)"),
    (1, "lrv {r}, {u}(%r9)"), (2, "lmg %r0, %r5, {u}(%r9)"), (2, "stmg %r1, %r4, {u}(%r9)"), (1, "lm %r2, %r3, {u}(%r9)"), (1, "stm %r0, %r5, {u}(%r9)"),
    (1, "icm {r}, {i4}, {u}(%r9)"), (1, "stcm {r}, {i4}, {u}(%r9)"), (1, "tm {u}(%r9), {i8}"), (1, "mvi {u}(%r9), {i8}"), (1, "oi {u}(%r9), {i8}"),
    (1, "xi {u}(%r9), {i8}"), (1, "asi {o4}(%r9), 3"), (1, "agsi {o8}(%r9), -3"), (1, "mvhhi {u}(%r9), 7"), (1, "chsi {u}(%r9), 7"),
    (2, "locg{cn} {r}, {u}(%r9)"), (2, "stocg{cn} {r}, {u}(%r9)"), (1, "loc{cn} {r}, {u}(%r9)"), (1, "stoc{cn} {r}, {u}(%r9)"),
    (2, "mvc {u}({len},%r9), {u}(%r9)"), (1, "oc {u}({len},%r9), {u}(%r9)"), (1, "xc {u}({len},%r9), {u}(%r9)"), (1, "nc {u}({len},%r9), {u}(%r9)"),
    (1, "clc {u}({len},%r9), {u}(%r9)"), (1, "mvcin {u}({len},%r9), 300(%r9)"), (1, "tr {u}({len},%r9), 1024(%r9); cr %r0, %r1"), (1, "pack {u}(5,%r9), {u}(9,%r9)"),
    (1, "lghi %r6, {i6}; exrl %r6, 78f; j 77f; 78: mvc 0(1,%r9), 200(%r9); 77:"), (1, "lghi %r6, {i6}; exrl %r6, 78f; j 77f; 78: clc 0(1,%r9), 200(%r9); 77:"),
    (1, "lghi %r6, 0; exrl %r6, 78f; j 77f; 78: lg {r}, 200(%r9); 77:"), (1, "lghi %r6, 0; exrl %r6, 78f; j 77f; 78: stg {r}, 208(%r9); 77:"),
    (1, "la %r6, {o16}(%r9); lpq %r2, 0(%r6); stpq %r4, 0(%r6); cdsg %r2, %r4, 0(%r6)"), (1, "la %r6, {o8}(%r9); csg {r}, {r}, 0(%r6); laag {r}, {r}, 0(%r6); lan {r}, {r}, 0(%r6)"),
    (1, "cs {r}, {r}, {o4}(%r9)"), (1, "csy {r}, {r}, {o4}(%r9)"), (1, "ts {u}(%r9)"), (1, "ld %f0, {u}(%r9); adbr %f0, %f2; ste %f0, {u}(%r9)"),
    (1, "vl %v1, {u}(%r9); vag %v2, %v1, %v2; vst %v2, {u}(%r9)"), (1, "vlm %v1, %v3, {u}(%r9); vstm %v2, %v4, {u}(%r9)"),
    (1, "lghi %r6, {i4}; vll %v1, %r6, {u}(%r9); vstl %v1, %r6, {u}(%r9)"), (1, "vlrepb %v3, {u}(%r9); vsteh %v3, {u}(%r9), 3"),
    (1, "lay %r6, 0x3ff8(%r9); lg {r}, {f1}(%r6); stg {r}, 8(%r9)"), (1, "lay %r6, 0x3ff8(%r9); stmg %r0, %r3, {f1}(%r6); stg {r}, 8(%r9)"),
    (1, "lay %r6, 0x3ff0(%r9); lmg %r0, %r4, {f1}(%r6); stg {r}, 8(%r9)"), (1, "lay %r6, 0x3ff0(%r9); mvc {f1}(30,%r6), 0(%r9)"), (1, "lay %r6, 0x3ff0(%r9); vst %v1, {f1}(%r6); stg {r}, 8(%r9)"),
    (1, "lghi %r0, {i8}; lghi %r1, {i8}; la %r2, {u}(%r9); lghi %r3, {i8}; la %r4, {u}(%r9); lgr %r5, %r3; mvcl %r2, %r4"),
    (1, "la %r2, {u}(%r9); lghi %r3, {i8}; la %r4, {u}(%r9); lghi %r5, {i8}; mvcle %r2, %r4, 64; clcle %r2, %r4, 0"),
    (1, "la %r2, {u}(%r9); lghi %r3, {i8}; la %r4, {u}(%r9); lghi %r5, {i8}; clcl %r2, %r4"),
    (1, "lghi %r0, 7; la %r2, 1000(%r9); la %r4, {u}(%r9); srst %r2, %r4"), (1, "trt {u}({len},%r9), 1024(%r9)"),
    (1, "cvd {r}, {o8}(%r9); mvo {u}(5,%r9), {u}(3,%r9); unpk {u}(9,%r9), {u}(4,%r9); mvn {u}({len},%r9), {u}(%r9); mvz {u}(7,%r9), {u}(%r9)"),
    (1, "vgbm %v1, 0; vgef %v2, {u}(%v1,%r9), 1; vscef %v2, {u}(%v1,%r9), 2; vlbb %v3, {u}(%r9), 0; vllezh %v4, {u}(%r9); vlrepg %v5, {u}(%r9)"),
    (1, "la %r6, {o8}(%r9); laa {r}, {r}, 0(%r6); lax {r}, {r}, 4(%r6); laog {r}, {r}, 0(%r6); cds %r2, %r4, 0(%r6); mvghi 0(%r6), 3"),
    (1, "lmh %r0, %r3, {u}(%r9); stmh %r1, %r2, {u}(%r9); lam %a4, %a6, {o4}(%r9); stam %a4, %a5, {o4}(%r9); stcmh {r}, 5, {u}(%r9)"),
    (1, "lay %r6, 0x3ff0(%r9); la %r2, 0(%r6); lghi %r3, 40; la %r4, {u}(%r9); lghi %r5, 30; mvcl %r2, %r4; stg {r}, 8(%r9)"),
    (1, "lay %r6, 0x3ff8(%r9); oc {f1}(20,%r6), 0(%r9); stg {r}, 8(%r9)"), (1, "lay %r6, 0x3ff8(%r9); cs {r}, {r}, 8(%r6); asi 8(%r6), 1; stg {r}, 8(%r9)"),
    (1, ".long 0x00000003"), (1, "basr %r6, 0; stg {r}, 16(%r9)"),
]

PPC_TEMPLATES = [
    (4, "add {r}, {r}, {r}"), (3, "subf. {r}, {r}, {r}"), (2, "andi. {r}, {r}, {i16}"), (3, "xor {r}, {r}, {r}"), (2, "sldi {r}, {r}, {sh}"),
    (2, "mulld {r}, {r}, {r}"), (3, "cmpd {r}, {r}"), (1, "cmplwi {r}, {i12}"), (1, "rlwinm {r}, {r}, 3, 5, 25"), (1, "adde {r}, {r}, {r}"), (1, "isel {r}, {r}, {r}, 2"),
    (1, "divwu {r}, {r}, {r}"), (1, "cntlzd {r}, {r}"), (1, "mfcr {r}"), (1, "crand 0, 1, 2"),
    (5, "ld {r}, {o4}(20)"), (3, "lwz {r}, {u}(20)"), (2, "lha {r}, {u}(20)"), (2, "lbz {r}, {u}(20)"), (1, "lwa {r}, {o4}(20)"),
    (5, "std {r}, {o4}(20)"), (3, "stw {r}, {u}(20)"), (2, "sth {r}, {u}(20)"), (2, "stb {r}, {u}(20)"),
    (2, "addi 21, 20, {u}; ldu {r}, 8(21); stwu {r}, 12(21)"), (2, "andi. 22, {r}, 0x3fc; ldx {r}, 20, 22; stwx {r}, 20, 22"), (1, "andi. 22, {r}, 0x3ff; lhbrx {r}, 20, 22; stdbrx {r}, 20, 22"),
    (1, "andi. 22, {r}, 0x3ff; mr 21, 20; lwzux {r}, 21, 22; sthux {r}, 21, 22"),
    (2, "addi 21, 20, {o8}; ldarx {r}, 0, 21; stdcx. {r}, 0, 21"), (1, "addi 21, 20, {o8}; lwarx {r}, 0, 21; stwcx. {r}, 0, 21; stwcx. {r}, 0, 21"), (1, "addi 21, 20, {o2}; lharx {r}, 0, 21; sthcx. {r}, 0, 21; lbarx {r}, 0, 21"),
    (1, "addi 21, 20, {o16}; lqarx 6, 0, 21; lq 6, 0(21); stq 8, 0(21)"), (1, "lfd 1, {u}(20); fadd 1, 1, 2; stfs 1, {u}(20); lfiwzx 3, 0, 20"),
    (1, "addi 21, 20, {u}; lvx 1, 0, 21; vaddubm 1, 1, 2; stvx 1, 0, 21; stvebx 1, 0, 21; lvewx 2, 0, 21"), (1, "addi 21, 20, {u}; lxvd2x 33, 0, 21; stxvw4x 33, 0, 21; lxvx 34, 0, 21; stxvx 34, 0, 21"),
    (1, "addi 21, 20, {u}; lxsiwax 33, 0, 21; stxsdx 33, 0, 21; lxvdsx 34, 0, 21; stxsiwx 34, 0, 21"), (1, "addi 21, 20, {u}; li 22, {i4}; sldi 22, 22, 56; lxvl 33, 21, 22; stxvl 34, 21, 22"),
    (1, "addi 21, 20, {u}; dcbz 0, 21"), (1, "addi 21, 20, {u}; icbi 0, 21; isync; dcbt 0, 21; dcbst 0, 21"), (1, "tdeqi {r}, {i8}"), (1, "twlgt {r}, {r}"), (1, "sync"), (1, ".long 0"),
    (1, "addi 21, 20, {o8}; 78: ldarx 4, 0, 21; addi 4, 4, 1; stdcx. 4, 0, 21; bne- 78b"),
    (1, ".machine power10; pld {r}, {u}(20); pstd {r}, {u}(20); plwa {r}, {u}(20); plxv 33, {u}(20); pstxv 33, {u}(20); .machine power9"),
    (1, ".machine power10; addi 21, 20, {o16}; lxvp 34, 0(21); stxvp 34, 32(21); lxvrbx 33, 0, 21; stxvrdx 33, 0, 21; .machine power9"),
    (1, "addi 21, 20, {u}; li 22, {i4}; sldi 22, 22, 56; lxvll 33, 21, 22; stxvll 33, 21, 22; lxvb16x 33, 0, 21; stxvh8x 33, 0, 21; stxsibx 33, 0, 21; lxsihzx 33, 0, 21"),
    (1, "addi 21, 20, {o8}; lwat 4, 21, 0; ldat 4, 21, 1; stwat 4, 21, 0; stdat 4, 21, 7"), (1, "addi 21, 20, {u}; lfdu 1, 8(21); stfsu 1, 4(21)"),
    (1, "lis 22, 1; add 22, 22, 20; .machine power10; pld {r}, -4(22); pstd {r}, -3(22); .machine power9; std {r}, 8(20)"), (1, "lis 22, 1; add 22, 22, 20; addi 22, 22, -16; .machine power10; stxvp 34, 0(22); .machine power9; std {r}, 8(20)"),
    (1, "li 22, 0x7ff8; add 22, 22, 22; add 22, 22, 20; ld {r}, 12(22); std {r}, 8(20)"), (1, "lis 22, 1; add 22, 22, 20; std {r}, 0(20); stw {r}, -2(22); std {r}, 8(20)"), (1, "lis 22, 1; add 22, 22, 20; addi 22, 22, -4; stxvx 33, 0, 22; std {r}, 8(20)"),
    (1, "lis 22, 1; add 22, 22, 20; lq 6, -16(22); lq 6, 0(22); std {r}, 8(20)"), (1, "lis 22, 1; add 22, 22, 20; stbu {r}, 4(22); std {r}, 8(20)"),
]


def x86(wide):
    """AT&T text; %B the buffer's register, %P the second pointer."""
    t = [
        (4, "addl {r}, {r}"), (3, "subl {r}, {r}"), (2, "andl ${i12}, {r}"), (3, "xorl {r}, {r}"), (2, "shll ${sh}, {r}"), (2, "imull {r}, {r}"), (4, "cmpl {r}, {r}"),
        (2, "set{cn} %al"), (2, "cmov{cn} {r}, {r}"), (1, "adcl {r}, {r}"), (1, "bswap {r}"), (1, "leal 5({Q},{Q},2), {r}"), (1, "rorl ${sh}, {r}"), (1, "btsl ${sh}, {r}"),
        (1, "negl {r}"), (1, "cltd; idivl {r}"), (1, "mull {r}"), (1, "shldl $3, {r}, {r}"), (1, "bsrl {r}, {r}"), (1, "rcrl $3, {r}"),
        (5, "movl {u}(%B), {r}"), (5, "movl {r}, {u}(%B)"), (3, "movzbl {u}(%B), {r}"), (2, "movswl {u}(%B), {r}"), (3, "movb %al, {u}(%B)"), (2, "movw %dx, {u}(%B)"),
        (3, "addl {r}, {u}(%B)"), (2, "sbbl {u}(%B), {r}"), (2, "incl {u}(%B)"), (1, "notw {u}(%B)"), (1, "cmpb $7, {u}(%B)"), (1, "testl {r}, {u}(%B)"), (1, "sarl $3, {u}(%B)"), (1, "rclb $1, {u}(%B)"),
        (2, "cmov{cn}l {u}(%B), {r}"), (2, "set{cn} {u}(%B)"), (1, "btcl $5, {u}(%B)"), (1, "xchgl {r}, {u}(%B)"),
        (1, "lock xaddl {r}, {u}(%B)"), (1, "lock cmpxchgl {r}, {u}(%B)"), (1, "cmpxchgb %dl, {u}(%B)"), (1, "lock cmpxchg8b {u}(%B)"), (1, "lock andl {r}, {u}(%B)"), (1, "lock decw {u}(%B)"), (1, "lock btsl $5, {o4}(%B)"),
        (2, "movzbl %al, %P32; movl {r}, 64(%B,%P,4); movw 3(%B,%P,2), %dx"), (1, "push {R}; push {u}(%B); pop {R}; pop {u}(%B)"), (1, "pushf; popf"), (1, "enter $16, $0; leave"),
        (2, "lea {u}(%B), %D; lea {u}(%B), %S; mov ${i6}, %C; rep movsb"), (1, "lea {u}(%B), %D; lea {u}(%B), %S; mov ${i4}, %C; rep movsl"), (1, "lea {u}(%B), %D; mov ${i6}, %C; rep stosw"),
        (2, "lea {u}(%B), %D; lea {u}(%B), %S; mov ${i6}, %C; repe cmpsb"), (1, "lea {u}(%B), %D; mov ${i8}, %C; repne scasb"), (1, "lea {u}(%B), %S; mov ${i6}, %C; rep lodsb"),
        (1, "lea 900(%B), %D; lea 700(%B), %S; mov ${i6}, %C; std; rep movsw; cld"), (1, "lea {u}(%B), %D; lea {u}(%B), %S; movsl; cmpsb; stosb; lodsw; scasl"), (1, "lea {u}(%B), %D; lea {u}(%B), %S; mov ${i5}, %C; repne cmpsw"),
        (1, "movdqu {u}(%B), %xmm0; paddd %xmm1, %xmm0; movdqu %xmm0, {u}(%B)"), (1, "movq {u}(%B), %xmm1; movhps {u}(%B), %xmm1; movlps %xmm1, {u}(%B); movd %xmm1, {u}(%B)"),
        (1, "movaps {o16}(%B), %xmm2; pcmpeqb {o16}(%B), %xmm2; movaps %xmm2, {o16}(%B)"), (1, "movss {u}(%B), %xmm3; cvttss2si %xmm3, {r}; movsd %xmm3, {u}(%B)"), (1, "movaps {u}(%B), %xmm2"), (1, "pinsrw $3, {u}(%B), %xmm2; pextrw $2, %xmm2, {u}(%B)"),
        (1, "vmovdqu {u}(%B), %ymm0; vpaddd {u}(%B), %ymm0, %ymm1; vmovdqu %ymm1, {u}(%B)"), (1, "vpmaskmovd {u}(%B), %ymm0, %ymm1; vmaskmovps %ymm1, %ymm0, {u}(%B)"),
        (1, "fldl {u}(%B); fadds {u}(%B); fistl {u}(%B); fstpl {u}(%B)"), (1, "fldt {u}(%B); fstpt {u}(%B)"), (1, "fildll {u}(%B); fistpll {u}(%B); fnstcw {u}(%B)"),
        (1, "andl $0xff, {r}; btsl {r}, {o4}(%B)"), (1, "movnti {r}, {u}(%B); prefetcht0 {u}(%B); clflush {u}(%B)"), (1, "pcmpistri $3, {u}(%B), %xmm1; pmovzxbd {u}(%B), %xmm2; pmaxub {o16}(%B), %xmm2"),
        (1, "vpmaskmovq %ymm1, %ymm0, {u}(%B); vmaskmovpd {u}(%B), %xmm0, %xmm1; vbroadcastf128 {u}(%B), %ymm3; vextracti128 $1, %ymm3, {u}(%B); vpinsrb $3, {u}(%B), %xmm3, %xmm3"),
        (1, "fnstenv {u}(%B); fldenv {u}(%B)"), (1, "fninit; fldl {o8}(%B); fistps {u}(%B); fbstp {u}(%B)"), (1, "fxsave {o16}(%B)"), (1, "shlw $3, {u}(%B); rorl %cl, {u}(%B); shrdl %cl, {r}, {u}(%B); bswap {r}"),
        (1, "lea {u}(%B), %D; lea {u}(%B), %S; mov ${i6}, %C; rep movsw; mov ${i4}, %C; repe scasw; mov ${i4}, %C; repne cmpsl"), (1, "lock xorb $5, {u}(%B); lock subl {r}, {u}(%B); lock notl {u}(%B); lock xaddw %dx, {u}(%B); lock btrl $3, {u}(%B)"),
        (1, "lea 0x3ffc(%B), %D; mov $5, %C; rep stosl; movl {r}, 8(%B)"), (1, "fstpt 0x3ffa(%B); movl {r}, 8(%B)"), (1, "vmovdqu %ymm0, 0x3ff0(%B); movl {r}, 8(%B)"), (1, "lock addl {r}, 0x3ffe(%B); movl {r}, 8(%B)"), (1, "movl $1, 4(%B); fxsave 0x3f00(%B); movl $1, 4(%B)"),
        (1, "jmp 77f; .byte 0x0f; 77: nop"), (1, "ud2"), (1, "int3"), (1, "mov $5, %C; 78: decl %eax; loop 78b"), (1, "xor %C32, %C32; jrcxz_ 77f; incl 4(%B); 77:"),
        (1, "movl {r}, (%B); movl {r}, 0x3ffe(%B); movl {r}, 4(%B)"), (1, "lea 0x3fe0(%B), %D; mov ${i6}, %C; rep stosb; movl {r}, 4(%B)"), (1, "lea 0x3fe0(%B), %S; lea (%B), %D; mov ${i6}, %C; rep movsl; movl {r}, 4(%B)"),
        (1, "lea 0x3ff0(%B), %S; lea 0x3fe0(%B), %D; mov ${i6}, %C; repe cmpsb; movl {r}, 4(%B)"), (1, "addl {r}, 8(%B); movdqu %xmm0, 0x3ff4(%B); incl (%B)"), (1, "push 0x3ffe(%B); pop {R}"), (1, "xchgl {r}, 0x3ffd(%B)"), (1, "lock cmpxchg8b 0x3ffc(%B); incl (%B)"),
        (1, "call 78f; 78: pop %P; addb $1, 79f+2-78b(%P); nop; 79: addl $3, %ebx; movl {r}, 79b+12-78b(%P); jmp 77f; .skip 16, 0x90; 77:"),
    ]
    regs = ["%eax", "%ebx", "%ecx", "%edx"]
    if wide:
        t += [(3, "movq {u}(%B), {R}"), (3, "movq {R}, {u}(%B)"), (1, "lock cmpxchg16b {o16}(%B)"), (1, "cmpxchg16b {o16}(%B)"), (1, "lock xaddq {R}, {u}(%B)"), (1, "lea {u}(%B), %D; lea {u}(%B), %S; mov ${i4}, %C; rep movsq"),
              (1, "movslq {u}(%B), {R}"), (1, "movbe {u}(%B), {r}"), (1, "mulxq {u}(%B), {R}, {R}"), (1, "adcxl {u}(%B), {r}"), (1, "lea {u}(%B), %D; mov ${i5}, %C; rep stosq"), (1, "vpgatherdd %ymm5, (%B,%ymm4,1), %ymm6; vpcmpeqd %ymm5, %ymm5, %ymm5; vmovdqu %ymm6, {u}(%B)")]
    else:
        t += [(1, "pusha; popa"), (1, "daa; aam"), (1, "pushw $3; popw {u}(%B)"), (1, "movl %ds:{u}(%B), {r}")]
    sub = ([("%B", "%r12"), ("%P32", "%r13d"), ("%P", "%r13"), ("%D", "%rdi"), ("%S", "%rsi"), ("%C32", "%ecx"), ("%C", "%rcx"), ("jrcxz_", "jrcxz")] if wide else
           [("%B", "%ebp"), ("%P32", "%edi"), ("%P", "%edi"), ("%D", "%edi"), ("%S", "%esi"), ("%C32", "%ecx"), ("%C", "%ecx"), ("jrcxz_", "jecxz")])

    def put(text):
        for a, b in sub:
            text = text.replace(a, b)
        return text
    # An instruction that leaves flags undefined is followed by one that defines them:
    # QEMU's lazy flags are not the same in blocks of different lengths.
    undefined = re.compile(r"\b(?:bt[src]?|bs[fr]|i?mul|i?div|sh[lr]d|sh[lr]|sar|r[oc][lr]|aam)[bwlq]?\b")
    t = [(w, put(s) + ("; testl %ebx, %ebx" if undefined.search(s) else ""))
         for w, s in t if wide or not s.startswith("enter")]
    full = ["%rax", "%rbx", "%rcx", "%rdx"] if wide else regs
    return Isa(
        lists={"r": regs, "R": full, "Q": full,
               "cn": ["e", "ne", "c", "nc", "s", "ns", "o", "no", "a", "be", "ge", "l", "g", "le", "p"]},
        prologue=("push %rbx; push %rbp; push %r12; push %r13; push %r14; mov $0x20000000, %r12" if wide
                  else "push %ebx; push %ebp; push %esi; push %edi; push $0; mov $0x20000000, %ebp"),
        epilogue=("cld; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret" if wide
                  else "cld; pop %edi; pop %edi; pop %esi; pop %ebp; pop %ebx; ret"),
        setreg=lambda r, v: "mov $%d, %s" % (v, r),
        templates=t,
        branch=["j{cn} {label}", "cmpl ${i8}, {r}; j{cn} {label}", "jmp {label}"],
        loop=(("mov ${n}, %r14d", "dec %r14d; jnz {label}") if wide else
              ("movl ${n}, (%esp)", "decl (%esp); jnz {label}")),
        leaf="ret", call=["call {leaf}", put("lea {leaf}, %P; call *%P") if not wide else "lea {leaf}(%rip), %r13; call *%r13"],
        writable=True)


ISAS = {
    "arm": arm(False),
    "thumb": arm(True),
    "aarch64": Isa(
        lists={"x": ["x%d" % i for i in range(8)], "w": ["w%d" % i for i in range(8)], "cn": CC},
        prologue="stp x29, x30, [sp, #-64]!; stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; mov x19, #0x20000000",
        epilogue="ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x29, x30, [sp], #64; ret",
        setreg=lambda r, v: "movz %s, #%d; movk %s, #%d, lsl #16" % (r, v & 0xffff, r, v >> 16),
        templates=A64_TEMPLATES,
        branch=["b.{cn} {label}", "cbz {w}, {label}", "tbnz {x}, #{i5}, {label}", "cmp {x}, #{i8}; b.{cn} {label}", "b {label}"],
        loop=("mov x22, #{n}", "subs x22, x22, #1; b.ne {label}"),
        leaf="ret", call=["bl {leaf}", "adr x21, {leaf}; blr x21"],
        preamble=".arch armv8.4-a+sve\n"),
    "riscv64": Isa(
        lists={"r": ["a%d" % i for i in range(8)]},
        prologue="addi sp, sp, -48; sd ra, 0(sp); sd s2, 8(sp); sd s3, 16(sp); sd s4, 24(sp); sd s5, 32(sp); li s2, 0x20000000",
        epilogue="ld ra, 0(sp); ld s2, 8(sp); ld s3, 16(sp); ld s4, 24(sp); ld s5, 32(sp); addi sp, sp, 48; ret",
        setreg=lambda r, v: "li %s, %d" % (r, v),
        templates=RISCV_TEMPLATES,
        branch=["beq {r}, {r}, {label}", "bltu {r}, {r}, {label}", "bgez {r}, {label}", "bnez {r}, {label}", "j {label}"],
        loop=("li s3, {n}", "addi s3, s3, -1; bnez s3, {label}"),
        leaf="ret", call=["jal {leaf}", "la s4, {leaf}; jalr s4"], preamble=".option arch, +v\n.option arch, +zba\n.option arch, +zbb\n.option arch, +zbs\n.option arch, +zicboz\n.option norelax\n"),
    "s390x": Isa(
        lists={"r": ["%%r%d" % i for i in range(6)], "cn": ["e", "ne", "h", "l", "nh", "nl", "he", "le"],
               "len": ["1", "2", "7", "8", "16", "33", "100", "256"]},
        prologue="stmg %r6, %r15, 48(%r15); aghi %r15, -160; llilh %r9, 0x2000",
        epilogue="lmg %r6, %r15, 208(%r15); br %r14",
        setreg=lambda r, v: "iilf %s, %d" % (r, v),
        templates=S390_TEMPLATES,
        branch=["j{cn} {label}", "cghi {r}, {i8}; j{cn} {label}", "cgrj{cn} {r}, {r}, {label}", "j {label}"],
        loop=("lghi %r7, {n}", "brctg %r7, {label}"),
        leaf="br %r14", call=["brasl %r14, {leaf}", "larl %r6, {leaf}; basr %r14, %r6"], preamble=".machine z14\n"),
    "ppc64le": Isa(
        lists={"r": [str(i) for i in range(4, 11)]},
        prologue="mflr 0; std 0, 16(1); stdu 1, -128(1); std 20, 40(1); std 21, 48(1); std 22, 56(1); std 23, 64(1); lis 20, 0x2000",
        epilogue="ld 20, 40(1); ld 21, 48(1); ld 22, 56(1); ld 23, 64(1); addi 1, 1, 128; ld 0, 16(1); mtlr 0; blr",
        setreg=lambda r, v: "lis %s, %d; ori %s, %s, %d" % (r, (v >> 16) - (65536 if v >> 31 else 0), r, r, v & 0xffff),
        templates=PPC_TEMPLATES,
        branch=["beq {label}", "bgt {label}", "cmpldi {r}, {i8}; blt {label}", "bns {label}", "b {label}"],
        loop=("li 23, {n}", "addic. 23, 23, -1; bne {label}"),
        leaf="blr", call=["bl {leaf}", "bcl 20, 31, 78f; 78: mflr 22; addi 22, 22, {leaf}-78b; mtctr 22; bctrl"],
        preamble=".machine power9\n"),
    "x86_64": x86(True),
    "i386": x86(False),
}
for name in ("mips", "mipsel"):
    ISAS[name] = Isa(
        lists={"r": ["$%d" % i for i in (2, 3, 4, 5, 6, 7, 8, 9)]},
        prologue="addiu $sp, $sp, -48; sw $31, 20($sp); sw $16, 24($sp); sw $17, 28($sp); sw $18, 32($sp); sw $19, 36($sp); lui $16, 0x2000",
        epilogue="lw $31, 20($sp); lw $16, 24($sp); lw $17, 28($sp); lw $18, 32($sp); lw $19, 36($sp); jr $31; addiu $sp, $sp, 48",
        setreg=lambda r, v: "lui %s, %d; ori %s, %s, %d" % (r, v >> 16, r, r, v & 0xffff),
        templates=MIPS_TEMPLATES,
        branch=["beq {r}, {r}, {label}; lw {r}, {o4}($16)", "bnel {r}, {r}, {label}; sw {r}, {o4}($16)",
                "bgtz {r}, {label}; addu {r}, {r}, {r}", "b {label}; nop", "bltzl {r}, {label}; nop"],
        loop=("li $19, {n}", "addiu $19, $19, -1; bnez $19, {label}; sb {r}, {u}($16)"),
        leaf="jr $31; addu $2, $2, $3", call=["jal {leaf}; nop", "lui $18, %hi({leaf}); addiu $18, $18, %lo({leaf}); jalr $18; sw {r}, {o4}($16)"],
        preamble=".set noreorder\n.set noat\n.set mips32r2\n.set nomicromips\n")
