# SPDX-License-Identifier: MIT
# A guest that generates code all the time: what ran is in the trace, in order, although
# definitions are dropped again and again; and memory does not grow.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm
fake=$qemu_dir

sanitized() {
    grep -q '^CANNOLI_SANITIZE:.*=.' "$BUILD/CMakeCache.txt"
}

# targets: those that have a QEMU and a compiler
$cc -O1 -static -no-pie -pthread -I"$SRC/tests/guests" "$SRC/tests/guests/snippets.c" \
    -o snippets-arm || fail "cannot compile for arm"
targets=arm
if [ -x "$qemu_dir/qemu-x86_64" ] && [ "$(uname -m)" = x86_64 ]; then
    cc -O1 -static -no-pie -pthread -I"$SRC/tests/guests" "$SRC/tests/guests/snippets.c" \
        -o snippets-x86_64 || fail "cannot compile for x86_64"
    targets="arm x86_64"
fi

# exact FILE TARGET: each thread ran its numbers, in order.  guest.out: the guest's output.
cat >exact.py <<'END'
import collections, re, sys
target = sys.argv[1]
want = {int(l.split()[1]): int(l.split()[2]) for l in open("guest.out") if l.startswith("snippets")}
got, parts = collections.defaultdict(list), {}

def done(thread, v):
    got[v >> 24, thread].append(v & 0xffffff)

for line in sys.stdin:
    f = line.split()
    thread, code = f[1], bytes.fromhex(f[3])
    part = parts.pop(thread, None)
    if target == "x86_64":
        if len(code) == 5 and code[0] == 0xb8:
            parts[thread] = code[1:]
        elif part and code == b"\xc3":
            done(thread, int.from_bytes(part, "little"))
    elif code[1:] == b"\x00\xa0\xe3":
        parts[thread] = code[:1]
    elif part and len(part) < 4 and code[1:] == bytes(((0, 12, 8, 4)[len(part)], 0x80, 0xe3)):
        parts[thread] = part + code[:1]
    elif part and len(part) == 4 and code == b"\x1e\xff\x2f\xe1":
        done(thread, int.from_bytes(part, "little"))
for who, n in want.items():
    ran = [v for (w, t), v in got.items() if w == who and len(v) > 1]
    if ran != [list(range(n))]:
        sys.exit("number %d: %r" % (who, [(len(v), v[:4]) for v in ran]))
sys.exit(len(want) != int(sys.argv[2]) and "%d threads" % len(want))
END
exact() {
    "$dump" --no-disas -e exec "$1" | python3 exact.py "$2" "$3" || fail "$1: not what ran"
}

# blocks FILE: the number of its definitions
blocks() {
    "$dump" --info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["blocks"])'
}

# Epochs of 64 definitions, in threads and in children that continue with the definitions
# of their parents.
export CANNOLI_EPOCH_BLOCKS=64
for target in $targets; do
    for events in exec mem,val,reg; do
        n=400
        [ $events = exec ] || n=150
        rec 0 -q -j2 -e $events -o run.ctr -- qemu-$target ./snippets-$target $n 3 2
        cp stdout guest.out
        exact run.ctr $target 11
    done
    # A ring, which keeps definitions in another way; everything fits into it.
    rec 0 -q -e exec --ring 1M -o ring.ctr -- qemu-$target ./snippets-$target 3000
    cp stdout guest.out
    exact ring.ctr $target 1
done

# The recorder is killed, and another process continues with its state: that process knows
# which definitions are in use, whatever was dropped.
cat >killed.py <<'END'
import array
for who, n in enumerate(array.array("I", open("reached", "rb").read())):
    ran = [v for (w, t), v in got.items() if w == who and v[:2] == [0, 1]]
    if n > 1 and (len(ran) != 1 or ran[0] != list(range(len(ran[0]))) or len(ran[0]) < n):
        sys.exit("number %d of %d: %r" % (who, n, [(len(v), v[-4:]) for v in ran]))
END
sed '/^for who/,$d; s/open("guest.out")/[]/' exact.py | cat - killed.py >killed_exact.py
far() { [ "$(od -An -tu4 -j4 -N4 reached)" -gt 1000 ]; }
for delay in 0.2 0.35 0.5 0.8; do
    for target in $targets; do
        head -c 1024 /dev/zero >reached
        SNIPPETS_REACHED=$PWD/reached "$record" --qemu-dir "$fake" -j2 -e exec --ring 256M -o killed.ctr -- \
            qemu-$target ./snippets-$target 16000000 3 2 >stdout 2>stderr &
        pid=$!
        eventually far
        sleep $delay
        { kill -9 "$pid"; wait "$pid"; } 2>/dev/null
        eventually grep -q 'cannoli-record: what' stderr
        grep -q 'what was kept is in' stderr || fail "$(cat stderr)"
        "$dump" --no-disas -e exec killed.ctr 2>/dev/null | python3 killed_exact.py $target ||
            fail "killed: not what ran"
    done
done

# The same code gets its old number as long as that is known: there is about one definition
# for each snippet, not one for each time that it was defined.
rec 0 -q -e exec -o run.ctr -- qemu-arm ./snippets-arm 3000
n=$(blocks run.ctr)
[ "$n" -lt 6000 ] || fail "$n definitions of 3000 snippets"

# A program runs and is recorded exactly as without epochs, event by event.
for n in 00 64; do
    CANNOLI_EPOCH_BLOCKS=$n rec 0 -q -e mem -o $n.ctr -- qemu-arm ./snippets-arm 300
    "$dump" --no-disas -e exec,mem $n.ctr | sed 's/^ *\([0-9]*\) [^ ]* */\1 /' >$n.txt
done
cmp -s 00.txt 64.txt || fail "an epoch changes what is recorded"

# Memory of QEMU and of the recorder, between a quarter of the run and its end.  Without
# epochs the recorder has 350 bytes more for each snippet, and QEMU as much and its code.
# (tests/unit/test_ring.c shows how a ring bounds it.)
sanitized && finish
flat() { # MIB that QEMU may grow for other reasons
    python3 - $1 <<'END' || fail "memory grows"
import sys
sizes = [list(map(int, l.split()[1:])) for l in open("stdout") if l.startswith("memory")]
(qemu, recorder), (qemu_end, recorder_end) = sizes
sys.exit((qemu_end - qemu > int(sys.argv[1]) << 10 or recorder_end - recorder > 6 << 10) and str(sizes))
END
}
export CANNOLI_EPOCH_BLOCKS=500
rec 0 -q -e exec -o run.ctr -- qemu-arm ./snippets-arm 40000 1 0 memory
flat 6

# Threads that each sleep since another epoch, with more definitions: those that they need
# are kept, and no others.
export CANNOLI_EPOCH_BLOCKS=3000
rec 0 -q -e exec -o run.ctr -- qemu-arm ./snippets-arm 45000 1 0 memory 12
cp stdout guest.out
exact run.ctr arm 13
flat 20
finish
