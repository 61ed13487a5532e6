# SPDX-License-Identifier: MIT
# A recorder with a ring is killed at any moment: the trace is complete, and extends to
# the point where the program was killed.
. "$SRC/tests/cli/librecord.sh"

# Killed before a program ran: an older file is unchanged, no new one appears.
mkdir late
printf '#!/bin/sh\ntouch ready\nexec sleep 600\n' >late/qemu-arm
chmod +x late/qemu-arm
guest never 'sleep 600000'
for old in '' old; do
    rm -f a.ctr ready
    [ -z "$old" ] || echo "$old" >a.ctr
    "$record" --qemu-dir "$PWD/late" --ring 1M -o a.ctr -- "$PWD/late/qemu-arm" never 2>stderr &
    pid=$!
    eventually test -e ready
    { kill -9 "$pid"; wait "$pid"; } 2>/dev/null
    eventually grep -q 'nothing had been recorded' stderr
    [ -e a.ctr ] && [ -z "$old" ] && fail "an empty file remains"
    [ "$(cat a.ctr 2>/dev/null)" = "$old" ] || fail "the older file was changed"
done

# While the trace is being written, which is then begun again, or just after
guest long 'noise 400000' 'ready ready' 'sleep 600000'
for delay in 0 0.01 0.03 0.1; do
    start --ring 1M -- qemu-arm long
    kill -TERM "$pid"
    sleep "$delay"
    { kill -9 "$pid"; wait "$pid"; } 2>/dev/null
    eventually gone "$child"
    written() {
        find /proc/[0-9]*/fd -lname "$PWD/a.ctr" 2>/dev/null | grep -q . && return 1
        "$dump" --info a.ctr >info 2>/dev/null
        grep -q '^state  *complete' info
    }
    eventually written
    zstd -tq a.ctr || fail "zstd refuses it"
    sed -n 's/^dropped *\([0-9]*\) .*/\1/p; s/^instructions *//p' info | paste -sd+ | bc >sum
    [ "$(cat sum)" -eq 1600000 ] || fail "$(cat sum) instructions: $(cat info)"
done

# During a script, repeatedly: everything before the sleep is there.
guest script 'maps 3' 'calls 20 5000' 'blocks 3000' 'threads 3 200' 'ready ready' 'sleep 600000'
for i in 1 2 3; do
    start --ring 1M -e all -- qemu-arm script
    { kill -9 "$pid"; wait "$pid"; } 2>/dev/null
    eventually grep -q 'what was kept is in' stderr
    "$dump" --info --json a.ctr >info.json 2>/dev/null
    [ $? -eq 3 ] || fail "tracedump --info: $(cat info.json)"
    python3 - <<'END' || fail "something is missing"
import json
i = json.load(open("info.json"))
assert i["state"] == "complete", i["state"]
assert len(i["threads"]) == 4, len(i["threads"])
assert [p["argv"] for p in i["processes"]] == [["fake", "of it"]], i["processes"]
END
    calls=$("$dump" -q -e sys --json a.ctr 2>/dev/null | grep -c '"kind":"syscall"')
    [ "$calls" -eq 20 ] || fail "$calls of 20 calls"
done

# Programs under QEMU, at random moments.  CANNOLI_KILLS: number of kills
need_qemu_arm
$cc -O1 -static -pthread -o numbers "$SRC/tests/guests/numbers.c" || fail "no guest"
python3 "$SRC/tests/cli/ringkill.py" "$record" "$dump" "$qemu_dir/qemu-arm" ./numbers \
    "${CANNOLI_KILLS:-12}" "${CANNOLI_SEED:-$RANDOM}" v || fail "see above"
finish
