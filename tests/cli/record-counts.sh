# SPDX-License-Identifier: MIT
# Everything that was executed is in the trace: the numbers are known in advance.
. "$SRC/tests/cli/librecord.sh"

guest one 'blocks 150000'
rec 0 -o one.ctr -- qemu-arm one
one_line
grep -q '400,000 instructions' stderr || fail "summary: $(cat stderr)"
counts one.ctr 400000 150000 50000 1 1 0

# Thread count, compression level and a live reader change nothing.
"$dump" --no-disas one.ctr | sed 's/[0-9]*\.[0-9]*s//' >one.txt
for opts in '-j1' '-j7 --level 9' '-j16' '-q'; do
    rec 0 $opts -o other.ctr -- qemu-arm one
    counts other.ctr 400000 150000 50000 1 1 0
done
silent -q

rec 0 -e exec -o exec.ctr -- qemu-arm one
counts exec.ctr 400000 0 0 1 1 0
rec 0 --events=mem -o mem.ctr -- qemu-arm one
counts mem.ctr 400000 150000 50000 1 1 0

# Long enough to fill the pipe many times
guest long 'blocks 6000000' 'helper 20000' 'blocks 1500'
rec 0 -o long.ctr -- qemu-arm long
counts long.ctr 16024000 6021500 2000500 1 1 0

# Memory does not grow with length; and --verbose reports the effort of each part.
if grep -q '^CANNOLI_SANITIZE:.*=.' "$BUILD/CMakeCache.txt"; then
    longer=6000000 most=10000000
else
    longer=60000000 most=65536
fi
guest longer "blocks $longer"
rec 0 -v -j1 -o long.ctr -- qemu-arm longer
counts long.ctr $((longer / 3 * 8)) $longer $((longer / 3)) 1 1 0
effort='[0-9.]+ s user, [0-9.]+ s system; slept [0-9]+ times, [0-9]+ pages;'
for line in "program: $effort waited [0-9]+ times, [0-9.]+ s" \
    "dispatcher: $effort [0-9]+ rounds" \
    "worker 1: $effort [0-9]+ jobs; lock taken [0-9]+ times, busy [0-9]+ times" \
    "writer: $effort [0-9]+ jobs; lock taken [0-9]+ times, busy [0-9]+ times" \
    'at most [0-9]+ KiB of memory'; do
    [ "$(grep -Ec "^cannoli-record: $line\$" stderr)" -eq 1 ] || fail "no line '$line': $(cat stderr)"
done
peak=$(sed -n 's/.*at most \([0-9]*\) KiB of memory$/\1/p' stderr)
[ "$peak" -lt $most ] || fail "the recorder had $peak KiB of memory"

guest empty
rec 0 -o empty.ctr -- qemu-arm empty
zstd -tq empty.ctr || fail "a program without events: zstd refuses the trace"

guest threads 'blocks 15' 'threads 40 1500' 'threads 40 150' 'blocks 15'
rec 0 -o threads.ctr -- qemu-arm threads
counts threads.ctr $((80 + 160000 + 16000)) $((30 + 60000 + 6000)) $((10 + 20000 + 2000)) 81 1 0

# more threads than have a reserved buffer whose memory is kept, all with much data
guest many 'threads 150 60000'
rec 0 -o many.ctr -- qemu-arm many
counts many.ctr 24000000 9000000 3000000 151 1 0

guest forks 'forks 100 150' 'blocks 15' 'forks 100 1500'
rec 0 -o forks.ctr -- qemu-arm forks
counts forks.ctr $((40 + 40000 + 400000)) $((15 + 15000 + 150000)) $((5 + 5000 + 50000)) 201 201 0

# A child runs on after the command has ended: so does the recording.
guest orphan 'blocks 15' 'orphan 150'
rec 0 -o orphan.ctr -- qemu-arm orphan
counts orphan.ctr 440 165 55 2 2 0

# execve: what came before it is recorded, what comes after is not, the status is.
guest exec 'blocks 15' 'badexec' 'blocks 15' 'exec /bin/sh -c exit&&exit 5'
printf 'blocks 15\nbadexec\nblocks 15\nexec /bin/false\n' >exec
rec 1 -o exec.ctr -- qemu-arm exec
counts exec.ctr 80 30 10 1 1 0
"$dump" --info --json exec.ctr | grep -q '"exec"' || fail "the end by execve is not recorded"
grep -q '1 process, 1 executed program not recorded (--follow-exec);' stderr ||
    fail "what was executed: $(cat stderr)"
# The recording does not wait for a child that became another program.
guest execfork 'execfork /bin/sleep 120' 'blocks 15' 'sleep 300'
start=$SECONDS
rec 0 -o execfork.ctr -- qemu-arm execfork
counts execfork.ctr 40 15 5 2 2 0
[ $((SECONDS - start)) -lt 100 ] || fail "the recording waited for an untraced program"

# Several concurrent recordings do not affect each other.
for i in 1 2 3 4 5 6; do
    guest "at-once-$i" "forks $i 150" 'helper 15' 'threads 3 1500'
    "$record" --qemu-dir "$fake" -q -o "at-once-$i.ctr" -- qemu-arm "at-once-$i" &
done
wait
for i in 1 2 3 4 5 6; do
    counts "at-once-$i.ctr" $((400 * i + 15 + 12000)) $((150 * i + 15 + 4500)) \
        $((50 * i + 1500)) $((4 + i)) $((1 + i)) 0
done

# With --discard no file is written.
rec 0 --discard -o discard.ctr -- qemu-arm threads
[ ! -e discard.ctr ] || fail "--discard wrote a file"
finish
