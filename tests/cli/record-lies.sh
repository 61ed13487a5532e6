# SPDX-License-Identifier: MIT
# A guest that writes arbitrary data into the shared memory: the recorder signals and waits
# for no other process, neither crashes nor hangs, and reports what is inconsistent.
. "$SRC/tests/cli/librecord.sh"

sleep 600 &
bystander=$!
alive() {
    kill -0 $bystander 2>/dev/null || fail "$1: an unrelated process was killed"
}

# Sealed memory cannot be written.
guest seals 'lie seals' 'blocks 15' 'exit 3'
rec 3 -q -o a.ctr -- qemu-arm seals
printf '%s Operation not permitted\n' write map protect shrink shrink grow |
    sed 's/^protect.*/protect Permission denied/' >want
same want stdout "the memory is sealed"

for lie in "claim $bystander" "process $bystander" "pid $bystander" "process 1" "process -1"; do
    # The program ends, and so does the recording.
    guest ends "lie $lie" 'blocks 15' 'exit 3'
    run 3 timeout 600 "$record" --qemu-dir "$fake" -q -o a.ctr -- qemu-arm ends
    alive "$lie, end"

    # The recorder is terminated, or killed, while the program runs.
    guest runs "lie $lie" 'blocks 15' 'ready ready' 'sleep 600000'
    for sig in TERM KILL; do
        start -q -- qemu-arm runs
        kill -$sig "$pid"
        wait "$pid" 2>/dev/null
        eventually gone "$child"
        sleep 0.2 # the watchdog looks for late processes
        alive "$lie, SIG$sig"
    done
done

# A thread that claims to have ended is no longer served, and ends.
guest ended 'blocks 15' 'lie ended' 'blocks 90000000'
run 125 timeout 600 "$record" --qemu-dir "$fake" -q -o a.ctr -- qemu-arm ended
grep -q 'the pipe is gone' stderr || fail "ended: $(cat stderr)"

# Whole pages are overwritten: the recording ends, by itself or on request.
for lie in zero ones pipes buffers ids epochs; do
    guest pages 'blocks 15000' "lie $lie" 'blocks 90000000' 'ready ready' 'sleep 600000'
    timeout 600 "$record" --qemu-dir "$fake" -q -e all -o a.ctr -- qemu-arm pages \
        >stdout 2>stderr &
    pid=$!
    sleep 0.5
    kill -TERM "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    status=$?
    case $status in
    125|143) ;;
    *) fail "$lie: status $status: $(cat stderr)" ;;
    esac
    "$dump" --no-disas -q a.ctr >/dev/null 2>err
    [ $? -le 4 ] || fail "$lie: the trace cannot be read: $(cat err)"
    alive "$lie"
done

# The recorder is killed before it notices that: the process that continues with its ring
# checks the data, too, neither crashes nor hangs, and writes what the ring has.
for lie in none zero ones pipes buffers "process $bystander" "pid $bystander"; do
    guest goes_on 'blocks 15000' 'calls 20 5000' 'ready ready' 'ready stopped' 'blocks 15000' \
        "lie $lie" 'ready lied' 'sleep 600000'
    [ "$lie" != none ] || sed -i '/^lie/d' goes_on
    rm -f lied stopped
    mkfifo stopped # the guest's open waits for a reader
    start -q -e all --ring 1M -- qemu-arm goes_on
    kill -STOP "$pid"
    cat stopped
    eventually test -e lied
    { kill -KILL "$pid"; wait "$pid"; } 2>/dev/null
    eventually grep -q "^cannoli-record: what .* is in 'a.ctr'" stderr
    eventually gone "$child"
    "$dump" --json --no-disas -q a.ctr >objects 2>err
    status=$?
    alive "$lie, ring"
    [ $status -eq 0 ] || [ $status -eq 3 ] || fail "$lie, ring: status $status $(cat err)"
    calls=$(grep -c '"kind":"syscall"' objects)
    case $lie in
    zero|ones|pipes|buffers) continue ;; # they overwrite that data
    esac
    [ "$calls" -eq 20 ] || fail "$lie, ring: $calls calls: $(cat stderr)"
done
kill $bystander
finish
