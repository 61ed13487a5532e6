# SPDX-License-Identifier: MIT
# tracesym's output for a handmade trace, with a program made for it: text, JSON, inlined
# functions, filters.
. "$SRC/tests/cli/librecord.sh"
sym="$BIN/tracesym"
cc=arm-linux-gnueabi-gcc
command -v $cc >/dev/null || {
    echo "needs $cc"
    [ -z "${CANNOLI_EXPECT_QEMU:-}" ] && exit 77
    exit 1
}
"$TOOLS/mktrace" system system.ctr || exit 1
"$TOOLS/mktrace" sample sample.ctr || exit 1

# The code of the traces at 0x10400 (its second and third instruction differ) and
# 0x10410, in two functions, the second with lines of an inlined function.  Written in the
# compiler's output format, so that compiler versions do not matter.
mkdir -p src
cat >src/app.s <<'END'
    .file 1 "/build/app/src/app.c"
    .file 2 "/build/app/src/inline.h"
    .text
    .syntax unified
    .arm
    .global start
    .type start, %function
start:
.Lstart:
    .loc 1 10 1
    .inst 0xe92d4010 /* push {r4, lr} */
    .loc 1 11 5
    .inst SECOND
    .inst THIRD
    .loc 1 12 9
    .inst 0x0a00000a /* beq */
    .size start, . - start
    .global _Z4loopPKii
    .type _Z4loopPKii, %function
_Z4loopPKii:
.Lloop:
    .loc 1 20 1
    .inst 0x04903004 /* ldreq r3, [r0], #4 */
.Linline:
    .loc 2 7 3
    .inst 0xe5843000 /* str r3, [r4] */
.Linline_end:
    .loc 1 22 0
    .inst 0x1afffffc /* bne */
    .size _Z4loopPKii, . - _Z4loopPKii
.Lend:
    .section .debug_info, "", %progbits
    .4byte .Linfo_end - .Linfo
.Linfo:
    .2byte 4
    .4byte .Labbrev
    .byte 4
    .uleb128 1 /* compile unit */
    .4byte .Lline
    .asciz "/build/app/src/app.c"
    .asciz "/build/app"
    .4byte .Lstart
    .4byte .Lend - .Lstart
.Lorigin:
    .uleb128 2 /* the inlined function */
    .asciz "store"
    .byte 2
    .byte 5
    .uleb128 3 /* start */
    .asciz "start"
    .byte 1
    .byte 10
    .4byte .Lstart
    .4byte .Lloop - .Lstart
    .uleb128 4 /* loop, with children */
    .asciz "loop"
    .asciz "_Z4loopPKii"
    .byte 1
    .byte 20
    .4byte .Lloop
    .4byte .Lend - .Lloop
    .uleb128 5 /* inlined */
    .4byte .Lorigin - .Linfo + 4
    .4byte .Linline
    .4byte .Linline_end - .Linline
    .byte 1
    .byte 21
    .byte 0
    .byte 0
.Linfo_end:
    .section .debug_abbrev, "", %progbits
.Labbrev:
    .uleb128 1, 0x11 /* compile_unit: stmt_list, name, comp_dir, low_pc, high_pc */
    .byte 1
    .uleb128 0x10, 0x17, 0x3, 0x8, 0x1b, 0x8, 0x11, 0x1, 0x12, 0x6, 0, 0
    .uleb128 2, 0x2e /* subprogram: name, decl_file, decl_line, inline */
    .byte 0
    .uleb128 0x3, 0x8, 0x3a, 0xb, 0x3b, 0xb, 0, 0
    .uleb128 3, 0x2e /* subprogram: name, file, line, low_pc, high_pc */
    .byte 0
    .uleb128 0x3, 0x8, 0x3a, 0xb, 0x3b, 0xb, 0x11, 0x1, 0x12, 0x6, 0, 0
    .uleb128 4, 0x2e /* the same with a linkage name and children */
    .byte 1
    .uleb128 0x3, 0x8, 0x6e, 0x8, 0x3a, 0xb, 0x3b, 0xb, 0x11, 0x1, 0x12, 0x6, 0, 0
    .uleb128 5, 0x1d /* inlined_subroutine: origin, low_pc, high_pc, call file and line */
    .byte 0
    .uleb128 0x31, 0x13, 0x11, 0x1, 0x12, 0x6, 0x58, 0xb, 0x59, 0xb, 0, 0
    .byte 0
    .section .debug_line, "", %progbits
.Lline:
END
build() {
    $cc -nostdlib -static -Wl,-Ttext=0x10400,--build-id=$4,-e,start \
        -Wa,--defsym,SECOND=$2,--defsym,THIRD=$3 -o $1 src/app.s || exit 1
}
mkdir -p system
mkdir -p other
build app 0xe1a04000 0xe3500000 none
build system/app 0xe3a00000 0xef000000 0x1234ab01
build other/app 0xe3a00000 0xef000000 0x1234ab03

show() {
    run 0 "$sym" -q --elf app --only-elf "$@"
    silent "$@"
}
show_system() {
    run 0 "$sym" -q --elf system/app --only-elf "$@" system.ctr
    silent "$@"
}
# Without mappings the file is at its own addresses
show sample.ctr
golden tracesym-text.txt
show -d -e all sample.ctr
golden tracesym-disas.txt
show --json -e exec,mem sample.ctr
golden tracesym-json.txt
show --basenames --inlines --substitute-path /build/app=/home/me sample.ctr -n 7
golden tracesym-inlines.txt
show --color=always -d -e exec -n 7 -t 4242 sample.ctr
golden tracesym-color.txt
# With mappings, system calls, registers
show_system 
golden tracesym-system.txt
show_system --json -e exec,reg
golden tracesym-system-json.txt

# Filters
show --function 'loop' -e exec sample.ctr
grep -v ' loop(int const\*, int)+0x' stdout && fail "--function loop"
[ "$(wc -l <stdout)" -eq 14 ] || fail "--function loop: $(wc -l <stdout) lines"
mv stdout want
for glob in 'loop(int const*, int)' _Z4loopPKii 'l??p' 'lo*'; do
    show --function "$glob" -e exec sample.ctr
    same want stdout "--function '$glob'"
done
show --function store -e exec sample.ctr
grep -v '+0x4 .* (inlined store)' stdout && fail "--function store"
[ "$(wc -l <stdout)" -eq 5 ] || fail "--function store: $(wc -l <stdout) lines"
run 4 "$sym" --elf app --only-elf --function nobody sample.ctr
[ ! -s stdout ] && grep -q "there is no function 'nobody' in any file" stderr || fail "--function nobody: $(cat stderr)"
show_system --module app --function start --function store -e exec
[ "$(wc -l <stdout)" -ge 5 ] && grep -v '^.*0x000104.. app start+' stdout && fail "--module --function"
show_system --module 'libc*' -e exec,reg
grep -v ' libc.so.6' stdout && fail "--module 'libc*'"
show_system --module '/usr/bin/*' -e exec
grep -v ' app ' stdout && fail "--module '/usr/bin/*'"

# The wrong file: another build id, other code, another machine, no program
$cc -c -Wa,--defsym,SECOND=1,--defsym,THIRD=1 -o app.o src/app.s
mkdir -p foreign
gcc -x c -o foreign/app - <<<'int main(void) { return 0; }' || exit 1
head -c 100 app >cut
for file in other/app app.o foreign/app cut src/app.s; do
    run 1 "$sym" --elf $file system.ctr
    one_line --elf $file
done
run 1 "$sym" --elf system/app sample.ctr
one_line "other code"
run 0 "$sym" -q --elf other/app --only-elf --force system.ctr
mv stdout forced
show_system
same stdout forced --force
finish
