# SPDX-License-Identifier: MIT
# Memory at many moments, read by libctr alone (memory_readers.c), from several threads that
# share a trace: what the trace's maker says, and what one thread alone reads.
. "$SRC/tests/cli/libtracedump.sh"
for seed in 1 2; do
    "$TOOLS/mktrace" key k.ctr $seed || fail "mktrace"
    run 0 "$TOOLS/memory_readers" k.ctr 4 6
    grep -Eq '^[0-9]+ places, 4 threads, [0-9]{5,} bytes known$' stdout ||
        fail "$(cat stdout stderr)"
done
run 2 "$TOOLS/memory_readers" k.ctr 0
# Without an index
cp k.ctr cut.ctr
truncate -s -200 cut.ctr
cp k.ctr.expect cut.ctr.expect
run 0 "$TOOLS/memory_readers" cut.ctr 3 3
finish
