# SPDX-License-Identifier: MIT
# A question about a moment or a stretch of a long light trace: tracedump has a window of it
# expanded, which answers as the expansion of all does, and keeps that for questions about what
# is near.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm
need python3
fake=$qemu_dir # rec: the real one
export CANNOLI_QEMU_DIR=$qemu_dir

cat >guest.c <<'END2'
#include <unistd.h>

unsigned table[4096];

int main(void)
{
    unsigned x = 1;

    for (unsigned i = 0; i < 8000000; i++) {
        x = x * 1664525 + 1013904223;
        table[x >> 20] += i;
        if (i % 2000000 == 0) {
            write(2, "\n", 1);
        }
    }
    return (int)(x & 1);
}
END2
arm-linux-gnueabi-gcc -O1 -static -o guest guest.c || exit 1
run_light() {
    "$record" --qemu-dir "$qemu_dir" -q --light -o l.ctr -- qemu-arm ./guest 2>/dev/null
}
run_light
insns=$("$dump" --info --json l.ctr | python3 -c 'import json,sys; print(json.load(sys.stdin)["instructions"])')
[ "$insns" -gt 50000000 ] || fail "only $insns instructions"
python3 -c 'import os; os.getxattr("l.ctr", "user.cannoli.recorded")' 2>/dev/null || {
    echo "needs extended attributes"
    exit 77
}
run 0 "$BIN/cannoli-expand" -q -e all -o whole.ctr l.ctr
n=$((insns / 2))

# window WORDS OPTION...: made for this question; it is answered as by the whole
window() {
    local words=$1
    shift
    run 0 "$dump" "$@" l.ctr
    grep -qx "tracedump: l.ctr has no $words: executing the program again, for l.ctr.window (ordinals [0-9]* to [0-9]*)" stderr ||
        fail "no window for $*: $(cat stderr)"
    answer "$@"
}
# near OPTION...: the window that is there answers
near() {
    cp l.ctr.window before
    run 0 "$dump" "$@" l.ctr
    silent "near: $*"
    same before l.ctr.window "another window for $*"
    answer "$@"
}
# Times are those at which chunks begin.
answer() {
    grep -v -e '^time ' stdout >got
    "$dump" "$@" whole.ctr >want || fail "status of $*"
    sed -i '/^time /d' want
    same want got "the answer to $*"
    [ -s want ] || fail "no answer to $*"
    [ ! -e l.ctr.expanded ] || fail "all was expanded for $*"
}

window 'accesses, values, registers' --state=$n --memory=table+16384
near --state=$((n + 3000000)) --memory=table+0x4000
near --from $n --count 1000 -e all
near --from $((n - 500)) --to $((n + 500)) -e exec,mem,val --writes
near --from $((n - 5)) --to $((n + 50000)) --histogram=size
window 'accesses, values, registers' --state=$((n / 2)) --memory=table+16
window 'accesses' --from $((insns - 3000)) -e mem
near --state=end
window registers --to 3000 -e reg
near --to 2000 -e exec,mem
# What a moment is in all that was recorded
call=$("$dump" -e sys l.ctr | grep -c ' write(2')
run 0 "$dump" --from syscall:write/3 --count 2000000 -e mem,val --group l.ctr
cp stdout got
"$dump" --from syscall:write/3 --count 2000000 -e mem,val --group whole.ctr >want
same want got "the third of $call calls"
# Nothing is selected, times, all of the trace
no_window() {
    rm -f l.ctr.window
    run "$1" "$dump" --expand-limit 1K "${@:2}" l.ctr
    [ ! -e l.ctr.window ] && [ "$(wc -l <stdout)" -lt 100 ] || fail "a window for ${*:2}"
}
no_window 4 --to 0 -e mem
no_window 4 --from $n --count 0 -e mem
no_window 4 --from syscall:write/2 --count 50 -e mem --from-time 0.01
no_window 0 --state=0.01s
no_window 0 --info --from $n --count 10 -e mem
# Several tools at once, each with the window that it needs
rm -f l.ctr.window
for k in 1 2 3 4; do
    "$dump" -q --state=$((insns * k / 5)) --memory=table+64 l.ctr >at.$k &
done
wait
for k in 1 2 3 4; do
    "$dump" -q --state=$((insns * k / 5)) --memory=table+64 whole.ctr | grep -v '^time ' >want
    grep -v '^time ' at.$k | same want - "several tools: $k"
done
[ "$(ls l.ctr.*)" = l.ctr.window ] || fail "left: $(ls l.ctr.*)"
rm -f l.ctr.window
run 0 "$dump" -q --state=$n l.ctr
silent -q
[ -s l.ctr.window ] || fail "-q: no window"

# Of another recording with the same name
run_light
run 0 "$dump" --state=$n l.ctr
grep -q 'executing the program again, for l.ctr.window' stderr || fail "an old window: $(cat stderr)"

# All is needed: calls and writers are of what ran before, and half of it is no window
needs_all() {
    rm -f l.ctr.window
    run "$1" "$dump" --expand-limit 1K "${@:2}" l.ctr
    grep -q 'executing the program again, for l.ctr.expanded$' stderr || fail "${*:2}: $(cat stderr)"
    [ ! -e l.ctr.window ] || fail "a window for ${*:2}"
}
needs_all 0 --state=$n --stack
needs_all 4 --state=$n --memory=table+4 --writers
needs_all 4 --from $((insns / 2)) -e mem
needs_all 4 --addr table --last-write-before $n

# Something else has the name
echo mine >l.ctr.window
run 0 "$dump" --expand-limit 1K --state=$n l.ctr
[ "$(cat l.ctr.window)" = mine ] || fail "another file was lost"
# It cannot be made: one attempt
rm -f l.ctr.window
run 0 "$dump" --expand-limit 1K --state=$n l.ctr
[ "$(grep -c executing stderr)" = 1 ] && [ ! -e l.ctr.window ] || fail "--expand-limit: $(cat stderr)"
# The whole one is there
mv whole.ctr l.ctr.expanded
run_light # another recording
run 0 "$BIN/cannoli-expand" -q -e mem l.ctr
run 0 "$dump" -e mem --from $n --count 10 l.ctr
silent "an expansion that is there"
[ ! -e l.ctr.window ] || fail "a window beside the whole"
finish
