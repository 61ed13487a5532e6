# SPDX-License-Identifier: MIT
# A trace to a pipe: it is the same trace, it shows a running program immediately,
# and the guest's own output does not get into it.
. "$SRC/tests/cli/librecord.sh"

# what differs from run to run
same_each_time() {
    sed -E 's/"(pid|tid|ppid|ptid|time|duration)":[0-9.]*//g'
}

guest one 'blocks 1500' 'print from the guest' 'calls 3 10' 'helper 12' 'blocks 150' 'exit 6'
"$record" --qemu-dir "$fake" -q -e all -o - -- qemu-arm one 2>err | cat >a.ctr
[ "${PIPESTATUS[0]}" -eq 6 ] || fail "status"
[ "$(cat err)" = 'from the guest' ] || fail "the guest's output went elsewhere: $(cat err)"
counts a.ctr 4415 1662 550 1 1 0
rec 6 -q -e all -o b.ctr -- qemu-arm one
"$dump" --no-disas --json a.ctr | same_each_time >a.txt
"$dump" --no-disas --json b.ctr | same_each_time >b.txt
same b.txt a.txt "streamed and written traces differ"

mkfifo fifo
"$record" --qemu-dir "$fake" -q -o fifo -- qemu-arm one >/dev/null &
cat fifo >c.ctr
wait
counts c.ctr 4415 1662 550 1 1 0

# A waiting program: its past is already shown.
guest waits 'blocks 15' 'sleep 600000'
"$record" --qemu-dir "$fake" -q -o - -- qemu-arm waits 2>/dev/null > >(
    exec "$dump" --no-disas --json - >live.txt) &
pid=$!
eventually eval '[ "$(grep -c exec live.txt)" -eq 40 ]'
kill -TERM "$pid"
wait "$pid"
[ $? -eq 143 ] || fail "status after SIGTERM"
finish
