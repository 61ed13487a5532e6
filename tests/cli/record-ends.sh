# SPDX-License-Identifier: MIT
# Every way in which a recording can end: the status, and the contents of the file.
. "$SRC/tests/cli/librecord.sh"

guest status 'blocks 15' 'exit 42'
rec 42 -o a.ctr -- qemu-arm status
counts a.ctr 40 15 5 1 1 0
guest signal 'blocks 15' 'signal 15'
rec 143 -o a.ctr -- qemu-arm signal
counts a.ctr 40 15 5 1 1 0

# kill -9 inside a block: everything but what is unknown
guest kill 'blocks 1500000' 'kill'
rec 137 -o a.ctr -- qemu-arm kill
counts a.ctr 4000002 1500001 500000 1 1 1
rec 137 -e exec -o a.ctr -- qemu-arm kill
info a.ctr >got
grep -q '^incomplete 1$' got || fail "a killed thread is not marked"

# The same while a thread or a child is created
guest claim 'blocks 15' 'claim' 'claimfork' 'kill'
rec 137 -o a.ctr -- qemu-arm claim
counts a.ctr 42 16 5 1 1 1

guest sleep 'blocks 15' 'ready ready' 'sleep 600000'
guest spin 'blocks 15' 'ready ready' 'spin'
guest family 'blocks 15' 'orphan 1500000000' 'orphan 1500000000' 'ready ready' 'sleep 600000'

for what in sleep spin family; do
    start qemu-arm $what
    kill -TERM "$pid"
    ended 143
    zstd -tq a.ctr || fail "$what: SIGTERM: not a whole trace"
    [ "$(wc -l <stderr)" -eq 1 ] || fail "$what: SIGTERM: $(cat stderr)"
done

# The first SIGINT of a terminal is for the guest: a guest that survives is recorded on.
guest handles 'handle 2' 'blocks 15' 'ready ready' 'sleep 1500' 'blocks 15' 'exit 9'
start qemu-arm handles
kill -INT "$pid" "$child" 2>/dev/null
ended 9
counts a.ctr 80 30 10 1 1 0
guest dies 'blocks 15' 'ready ready' 'sleep 600000'
start qemu-arm dies
kill -INT "$pid" "$child" 2>/dev/null
ended 130
counts a.ctr 40 15 5 1 1 1
guest stubborn 'handle 2' 'blocks 15' 'ready ready' 'sleep 600000'
start qemu-arm stubborn
kill -INT "$pid" "$child" 2>/dev/null
# two that come close together are one
again() { sleep 0.3; kill -INT "$pid" "$child" 2>/dev/null; gone "$pid"; }
eventually again
ended 130
counts a.ctr 40 15 5 1 1 1

# The guest is killed from outside, in a sleep: nothing is lost.
start qemu-arm sleep
kill -KILL "$child"
ended 137
counts a.ctr 40 15 5 1 1 1

# The same if the recorder sees the end before it can get the status, or if the guest has
# ended before the recorder first looks at it
mkfifo unseen
for way in sleep unseen; do
    rm -f ready
    [ "$way" = unseen ] && how=(--unseen unseen) || how=()
    python3 "$SRC/tests/cli/late_parent.py" qemu-arm ready "${how[@]}" \
        "$record" --qemu-dir "$fake" -o a.ctr -- qemu-arm "$way" >stdout 2>stderr
    got=$?
    if [ "$got" -eq 77 ]; then
        echo "ptrace is not permitted: the late status was not tried"
        continue
    fi
    [ "$got" -eq 137 ] || fail "late status, $way: status $got: $(cat stderr)"
    counts a.ctr 40 15 5 1 1 1
    "$dump" --info --json a.ctr 2>/dev/null | grep -q '"end_reason":"killed","end_status":9' ||
        fail "late status, $way: $("$dump" --info --json a.ctr 2>/dev/null)"
done

# The recorder is killed: the guest ends at once and says why, wherever it is.
for what in sleep spin family; do
    set -m # in a process group of its own, to find its orphans
    start qemu-arm $what
    set +m
    family=$(pgrep -g "$pid" -x qemu-arm)
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    for p in $child $family; do
        eventually gone "$p"
    done
    eventually grep -q 'the recorder was killed' stderr
    [ "$(wc -l <stderr)" -eq 1 ] || fail "$what: recorder killed: $(cat stderr)"
    "$dump" --info a.ctr >/dev/null 2>&1
    case $? in
    0|1|3) ;;
    *) fail "$what: tracedump of an unfinished file: $?" ;;
    esac
done
[ -z "$(find /dev/shm -newer family -name '*cannoli*')" ] || fail "a file remains in /dev/shm"

# The reader of the trace goes away: the recorder ends silently.
"$record" --qemu-dir "$fake" -o - -- qemu-arm spin 2>stderr | head -c 100 >/dev/null
got=${PIPESTATUS[0]}
[ "$got" -eq 141 ] || fail "reader gone: status $got"
silent "reader gone"

# Inconsistent events give an error, not a crash.
guest nonsense 'blocks 15' 'nonsense' 'sleep 600000'
rec 125 -o a.ctr -- qemu-arm nonsense
one_line nonsense
finish
