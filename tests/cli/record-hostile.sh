# SPDX-License-Identifier: MIT
# Guests and recorders that are killed at any moment leave a readable trace, whatever is
# recorded; guests that overwrite the pipe cause an end with one line.
. "$SRC/tests/cli/librecord.sh"

for kind in type short head old future payload event-length event-type data-length insn \
    place regs-length reg-number state table flood; do
    guest bad 'blocks 15' 'calls 2 10' "scribble $kind" 'sleep 600000'
    rec 125 -q -e all --data-limit=all -o a.ctr -- qemu-arm bad
    one_line "$kind"
    grep -q 'the recording ends here' stderr || fail "$kind: $(cat stderr)"
    "$dump" --json --no-disas a.ctr >objects 2>err
    [ $? -le 4 ] || fail "$kind: the trace cannot be read: $(cat err)"
done

# A call that has begun, a block that has run half
guest call 'blocks 15' 'calls 2 10' 'killcall'
rec 137 -q -e all -o a.ctr -- qemu-arm call
counts a.ctr 43 15 5 1 1 1
calls=$("$dump" --json --no-disas a.ctr | grep -c '"kind":"syscall"')
[ "$calls" -eq 3 ] || fail "a call that did not return: $calls calls"
guest half 'blocks 1500000' 'helper 3' 'calls 2 10' 'kill'
for events in val reg all; do
    rec 137 -q -e $events -o a.ctr -- qemu-arm half
    info a.ctr >got
    grep -q '^incomplete 1$' got || fail "$events: a killed thread is not marked"
    grep -q '^instructions 400000[5-7]$' got || fail "$events: $(cat got)"
done

# Any moment
guest spin 'blocks 15' 'ready ready' 'spin'
guest family 'orphan 1500000000' 'orphan 1500000000' 'ready ready' 'spin'
for round in 1 2 3 4 5 6; do
    for what in spin family; do
        start -q -e all -- qemu-arm $what
        sleep "0.0$((RANDOM % 10))"
        kill -KILL $child
        if [ $what = spin ]; then
            ended 137
            info a.ctr >got
            grep -q '^incomplete 1$' got || fail "a killed thread is not marked"
        else
            sleep "0.$((RANDOM % 4))"
            kill -TERM "$pid"
            wait "$pid"
        fi
        "$dump" --json --no-disas a.ctr >/dev/null 2>err
        [ $? -eq 3 ] || fail "$what: guest killed: $(cat err)"

        start -q -e all -- qemu-arm $what
        sleep "0.0$((RANDOM % 10))"
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
        eventually gone "$child"
        "$dump" --json --no-disas a.ctr >/dev/null 2>err
        case $? in
        0|1|3) ;;
        *) fail "$what: recorder killed: $(cat err)" ;;
        esac
        [ "$(wc -l <err)" -le 2 ] || fail "$what: recorder killed: $(cat err)"
    done
done
finish
