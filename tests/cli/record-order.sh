# SPDX-License-Identifier: MIT
# What threads and processes did, in order of time: recordings of real programs against
# their own clock and against what must come first.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 gcc

gcc -O1 -static -pthread -o guest "$SRC/tests/cli/orderguest.c" || exit 1
run 0 "$record" -q --qemu-dir "$qemu_dir" -e sys,map,thr,time -o a.ctr -- qemu-x86_64 ./guest
cp stdout clock
[ "$(wc -l <clock)" -eq 1050 ] || fail "the guest printed $(wc -l <clock) lines"
"$dump" --info --json a.ctr >info.json
for how in -j1 -j3; do
    run 0 "$dump" --json $how -e sys,thr,time a.ctr
    silent $how
    cp stdout ordered
    python3 "$SRC/tests/cli/order_real.py" ordered clock >made || fail "$how: not the order of the clock"
    [ "$(cat made)" -ge 5 ] || fail "$how: $(cat made) threads were created"
done
"$dump" --json --group -e sys,thr,time a.ctr >grouped
python3 "$SRC/tests/cli/order_real.py" grouped clock >/dev/null 2>&1 &&
    fail "chunk by chunk the order is right: this test shows nothing"
python3 "$SRC/tests/cli/order_check.py" grouped ordered info.json >/dev/null || fail "no sort by time"
run 0 "$dump" --json -e sys a.ctr
grep -c '"kind":"syscall"' stdout >got
grep -c '"kind":"syscall"' ordered >want
same want got "-e sys: calls"

# A pipeline: children, and other programs in them
printf '%s\n' 1 2 3 >f
run 0 "$record" -q --qemu-dir "$qemu_dir" -e sys,thr,time --follow-exec -o a.ctr -- \
    /bin/sh -c 'cat f | wc -l; cat f; echo done'
printf '%s\n' 3 1 2 3 'done' >want
same want stdout "the pipeline's output"
run 0 "$dump" --json -e sys,thr,time a.ctr
cp stdout ordered
python3 "$SRC/tests/cli/order_real.py" ordered >made || fail "a pipeline: not in order"
[ "$(cat made)" -ge 6 ] || fail "a pipeline: $(cat made) processes and programs"
# the same without the events of threads, which end the calls that do not return
grep -v '"kind":"thread"' ordered >want
run 0 "$dump" --json -e sys,time a.ctr
cmp want stdout || fail "a pipeline: -e sys"
# and while it is recorded: the same lines
run 0 sh -c "'$record' -q --qemu-dir '$qemu_dir' -e sys,thr,time --follow-exec -o - -- \
    /bin/sh -c 'cat f >/dev/null; cat f >/dev/null' | tee b.ctr | '$dump' --json -q -e sys,thr,time -"
sort stdout >got
"$dump" --json -e sys,thr,time b.ctr | sort >want
cmp want got || fail "lines of a stream"
finish
