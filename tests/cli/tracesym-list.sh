# SPDX-License-Identifier: MIT
# tracesym --list: one name a line, sorted, each once; ids as tracedump --info has them, names
# as the program was made with; status 4 if there is none.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
"$TOOLS/mktrace" sample sample.ctr || exit 1
"$TOOLS/mktrace" system system.ctr || exit 1
"$TOOLS/mktrace" chosen chosen.ctr || exit 1

# lists NAME... -- ARGUMENT...: this is what --list prints
lists() {
    : >want
    while [ "$1" != -- ]; do
        printf '%s\n' "$1" >>want
        shift
    done
    run 0 "$sym" -q "${@:2}"
    same want stdout "${*:2}"
    silent "${@:2}"
}

# ids FILE EXPRESSION: of the JSON of tracedump --info
ids() {
    "$BIN/tracedump" --info --json "$1" | python3 -c 'import json, sys
i = json.load(sys.stdin)
for v in sorted(eval(sys.argv[1])): print(v)' "$2"
}
# shellcheck disable=SC2046
lists $(ids sample.ctr '{t["tid"] for t in i["threads"]}') -- --list=threads sample.ctr
# shellcheck disable=SC2046
lists $(ids sample.ctr '{p["pid"] for p in i["processes"]}') -- --list=processes sample.ctr
# names after the numbers: those that --pid and --thread know
lists 4242 4243 5000 app echo second 'worker 1' -- --list=threads system.ctr
for name in app echo second 'worker 1'; do
    run 0 "$sym" -q -t "$name" system.ctr
done
# control characters as ?, which in a glob stands for any
calls=(brk execve exit_group futex mmap2 'no_such?' openat prctl read rt_sigreturn write)
lists "${calls[@]}" -- --list=syscalls system.ctr
"$BIN/tracedump" --from='syscall:no_such?' system.ctr >/dev/null || fail "a listed name is not found"
lists 'not yet "recorded"?[31m' round -- --list=marks chosen.ctr
moments=(crash end mark: syscall: call: "${calls[@]/#/syscall:}")
lists "${moments[@]}" -- --list=moments --module=nosuch system.ctr
"$TOOLS/mktrace" tasks tasks.ctr || exit 1
lists bash init sh swapper/0 swapper/1 'work?er' -- --list=tasks tasks.ctr
for name in bash 'work?er'; do
    run 0 "$BIN/tracedump" --task "$name" tasks.ctr
done
run 4 "$sym" -q --list=tasks system.ctr
grep -q 'no tasks: they were not recorded (-e task)$' stderr || fail "tasks: $(cat stderr)"
run 4 "$sym" -q --list=marks system.ctr
one_line "marks of a trace without any"
run 4 "$sym" -q --list=syscalls sample.ctr
one_line "system calls of a trace without any"

lists app libc.so.6 -- --list=modules system.ctr
lists libc.so.6 -- --list=modules --module='lib*' system.ctr
cc=arm-linux-gnueabi-gcc
if command -v $cc >/dev/null; then
    # functions of C and C++; two names with other parameters are one; parentheses that are
    # not those of parameters
    invoke='void std::__invoke_impl<void, void (*)(int), int>'
    lambda='main::{lambda()#1}::operator()'
    all=('(anonymous namespace)::g' a 'int make<int>' main "$lambda" ns::f "$invoke")
    printf '%s\n' .text '.macro f name' '.type \name, %function' '\name: bx lr' .endm \
        'f main' 'f _ZN2ns1fEi' 'f _ZN2ns1fEd' 'f _Z4makeIiET_S0_' 'f a' \
        'f _ZSt13__invoke_implIvPFviEJiEEvSt14__invoke_otherOT0_DpOT1_' \
        'f _ZN12_GLOBAL__N_11gEv' 'f _ZZ4mainENKUlvE_clEv' >app.s
    printf '%s\n' .data '.macro o name' '.type \name, %object' '.size \name, 4' '\name: .word 1' .endm \
        '.globl total, _ZN2ns5limitE, _ZTI1A' 'o total' 'o _ZN2ns5limitE' 'o _ZTI1A' 'o hidden' >>app.s
    $cc -nostdlib -static -Wl,-Ttext=0x10400,--build-id=0x1234ab01,-e,main -o app app.s ||
        fail "app.s cannot be built"
    lists "${all[@]}" -- --list=functions --elf=app system.ctr
    lists "${all[@]}" -- --list=functions --module=app --elf=app system.ctr
    lists ns::limit total -- --list=objects --elf=app system.ctr
    lists "${moments[@]}" "${all[@]/#/call:}" -- --list=moments --elf=app system.ctr
    lists "${all[@]}" -- --list=functions -o - --elf=app system.ctr
    run 0 "$sym" -q --list=functions --elf=app -o file system.ctr
    same want file "--list --output"
    run 4 "$sym" -q --list=functions --module=libc.so.6 --elf=app system.ctr
    one_line "functions of a module without symbols"
fi
run 4 "$sym" -q --list=objects system.ctr
one_line "objects without symbols"
run 4 "$sym" -q --list=functions system.ctr
one_line "functions without symbols"
run 4 "$sym" -q --list=modules --module=nosuch system.ctr
one_line "modules of another name"
run 4 "$sym" -q --list=modules sample.ctr
run 1 sh -c "cat sample.ctr | '$sym' --list=threads -"
one_line "names of a stream"

is_usage tracesym --list=names sample.ctr
is_usage tracesym --list=functions --pid=1 sample.ctr
is_usage tracesym --list=functions --from=1 sample.ctr
is_usage tracesym --list=functions --pc=0 sample.ctr
is_usage tracesym --list=functions --json sample.ctr
is_usage tracesym --list=functions --calls sample.ctr
is_usage tracesym --list=functions --depth=2 sample.ctr
is_usage tracesym --list=threads --module=app sample.ctr
is_usage tracesym --list=marks --module=app sample.ctr
finish
