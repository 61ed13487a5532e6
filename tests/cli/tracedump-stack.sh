# SPDX-License-Identifier: MIT
# tracedump --state --stack: against gdb at random places; a stack that is destroyed, traces
# without registers and values; text and JSON; wrong use.
. "$SRC/tests/cli/libtracecalls.sh"
dump=$BIN/tracedump
need python3 gdb-multiarch
export BIN

# stacks TARGET LEVEL SHARE: see stack.py
stacks() {
    compile "$1" stack -g "$2" || return 0
    record_all "$1" stack.ctr ./stack
    python3 "$sources/stack.py" stack.ctr stack 12 "$3" >result 2>&1 ||
        fail "$1 $2: $(tail -n 1 result)"
}
for level in -O0 -O2; do
    stacks x86_64 $level 1
    stacks aarch64 $level 0.9
    stacks riscv64 $level 0.7
    stacks arm $level 0 # its C library has no call frame information
    stacks mips $level 0.4 # its C library has little of it
    stacks mipsel $level 0.4
done

# shown [OPTION...]: the lines of the stack
shown() {
    run 0 "$dump" -q --stack "$@"
    sed -n '/^stack$/,/^  end: /p' stdout >shown
}
if compile x86_64 stack -g -O1 -fno-stack-protector; then
    # Memory says that a function returns to 0x1233; the calls know better.
    record_all x86_64 crash.ctr ./stack -
    shown --state=call:overwritten crash.ctr
    grep -q '^  #0 .* stack overwritten+0x0 .*  (state)$' shown &&
        grep -q '^  #1 .* stack main+0x.* .*stack.c:[0-9]*  (cfi, calls)$' shown || fail "before: $(cat shown)"
    "$dump" --json -e exec --pc=fill crash.ctr | tail -n 1 >last
    at=$(grep -o '"ordinal":[0-9]*' last | cut -d: -f2)
    shown --state="$at" crash.ctr
    grep -q '^  #1 .* stack overwritten+0x.*  (cfi, calls)$' shown &&
        grep -q '^  #2 .* stack main+0x.*  (calls; cfi: 0x1233)$' shown &&
        tail -n 1 shown | grep -q '^  end: the thread began in it$' || fail "destroyed: $(cat shown)"
    run 0 "$dump" -q --json --state="$at" --stack crash.ctr
    grep -q '"number":2,.*"function":"main",.*"by":\["calls"\],"cfi_pc":"0x1233"}$' stdout ||
        fail "JSON: $(cat stdout)"

    # The calls do not know which stack another one was switched to from; memory does.
    record_all x86_64 switch.ctr ./stack - -
    for n in 1 4 7; do
        shown --state=call:leaf/$n switch.ctr
        sed -n 's/^  #[0-9]* .* stack \([a-z]*\)+0x.*/\1/p' shown | tr '\n' ' '
        echo
    done >got
    printf '%s \n' 'leaf recurse recurse switched main' 'leaf nest nest nest nest coroutine' \
        'leaf nest coroutine' >want
    same want got "switched stacks"
    tail -n 1 shown | grep -q '^  end: its file has no call frame information of it$' || fail "$(cat shown)"

    # Of a function alone, what called it is found by memory, as far as that is known.
    "$record" -q -e all --function=leaf --qemu-dir "$qemu_dir" -o part.ctr -- qemu-x86_64 ./stack >/dev/null
    shown --state=0 part.ctr
    grep -q '^  end: memory is not known' shown || fail "a part: $(cat shown)"

    # Without registers the calls alone are there, without values registers alone.
    "$record" -q --qemu-dir "$qemu_dir" -o plain.ctr -- qemu-x86_64 ./stack >/dev/null
    shown --state=call:leaf plain.ctr
    [ "$(grep -c ' recurse+0x.*  (calls)$' shown)" = 6 ] && ! grep -q cfi shown ||
        fail "without registers: $(cat shown)"
    "$record" -q -e mem,reg,map,sys --qemu-dir "$qemu_dir" -o regs.ctr -- qemu-x86_64 ./stack >/dev/null
    shown --state=call:leaf regs.ctr
    [ "$(grep -c '  (calls; no cfi: memory is not known)$' shown)" = 1 ] &&
        [ "$(grep -c ' recurse+0x' shown)" = 6 ] || fail "without values: $(cat shown)"
    "$record" -q --coverage --qemu-dir "$qemu_dir" -o once.ctr -- qemu-x86_64 ./stack >/dev/null
    shown --state=0 once.ctr
    tail -n 1 shown | grep -q '^  end: .*; single instructions were recorded' || fail "once: $(cat shown)"
fi
is_usage tracedump --stack crash.ctr
is_usage tracedump --stack --info crash.ctr
finish_any
