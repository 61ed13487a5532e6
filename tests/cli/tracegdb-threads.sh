# SPDX-License-Identifier: MIT
# tracegdb on a recorded program with 32 threads that run at the same time: watchpoints and
# breakpoints stop at the same places forward and backward, and at all of them; and the threads
# begin and end.
. "$SRC/tests/cli/librecord.sh"
need nm python3
need_qemu_arm
export CANNOLI_QEMU_DIR=$qemu_dir BIN

"$cc" -O1 -static -pthread -o crowd "$SRC/tests/guests/crowd.c" || fail "$cc"
"$record" -q -e all -o crowd.ctr -- ./crowd >out || fail "recording: $?"
shared=$(sed -n 's/^adds 0x\([0-9a-f]*\) .*/\1/p' out)
slot=$(sed -n '3s/^stores 0x\([0-9a-f]*\) .*/\1/p' out)
work=$(nm crowd | sed -n 's/^0*\([0-9a-f]*\) t work$/\1/p')
[ -n "$shared" ] && [ -n "$slot" ] && [ -n "$work" ] || fail "places: $shared, $slot, $work"

python3 "$SRC/tests/cli/tracegdb_threads.py" crowd.ctr \
    "2,$shared,4" "2,$slot,4" "0,$work,4" >stops || fail "forward and backward differ"
# Of each thread: 20 adds to the one, one call; only the third stores to its slot.
printf '%s\n' "2,$shared,4 640 32" "2,$slot,4 300 1" "0,$work,4 32 32" "32 32" >want
same want stops "other stops than the program makes"
finish
