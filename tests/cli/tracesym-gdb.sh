# SPDX-License-Identifier: MIT
# tracesym --backtrace --locals against gdb, which stops in the same program in QEMU's
# gdbstub, at several levels of optimization.
. "$SRC/tests/cli/libtracecalls.sh"
need gdb

# against LEVEL PROGRAM
against() {
    local level=$1 program=$2 pid
    compile x86_64 "$program" -g "$level" || return 0
    record_all x86_64 gdb.ctr "./$program"
    run 0 "$sym" -q --backtrace=crash --locals gdb.ctr
    mv stdout ours
    rm -f stub
    "$qemu_dir/qemu-x86_64" -g "$PWD/stub" "./$program" >/dev/null 2>&1 </dev/null &
    pid=$!
    for ((i = 0; i < 600; i++)); do
        [ ! -S stub ] || break
        sleep 0.1
    done
    gdb -nx -batch -ex 'set print address off' -ex 'set print entry-values no' \
        -ex 'set print frame-arguments all' -ex 'set print null-stop on' -ex 'set sysroot /' \
        -ex "target remote $PWD/stub" -ex continue -ex 'bt full' -ex kill "./$program" \
        >theirs 2>gdb.err </dev/null
    wait $pid
    python3 "$sources/gdb.py" theirs ours >result ||
        fail "$program $level: $(head -12 result; tail -3 gdb.err)"
}
against -O0 frames
against -Og frames
against -O2 frames
against -O1 crash
against -O3 crash
against -O0 scopes
against -Og scopes
finish_any
