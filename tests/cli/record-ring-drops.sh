# SPDX-License-Identifier: MIT
# A ring under QEMU that drops nearly everything: what it keeps equals the same part of a
# complete recording, registers and mappings at its begin are those of that moment, and
# dropped items are counted.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm
qemu=$qemu_dir/qemu-arm
oracle=$BUILD/tests/oracle
$cc -O1 -static -pthread -o numbers "$SRC/tests/guests/numbers.c" || fail "no guest"
truncate -s 64K file

# events FILE [OPTION...]: without what differs from run to run
events() {
    local file=$1
    shift
    "$dump" -q --json --no-disas -e exec,mem,val,reg,sys "$@" "$file" |
        sed 's/"pid":[0-9]*,"tid":[0-9]*,//; s/,"\(time\|duration\)":[0-9.]*//g'
}

# One thread that makes system calls, maps and unmaps; everything that can be recorded.
one=("$qemu" -seed 1 ./numbers file 1 cm 25000)
run 0 setarch -R "$record" -q -e all --data-limit=all -o full.ctr -- "${one[@]}"
run 0 setarch -R "$record" -q -e all --data-limit=all --ring 1M -o ring.ctr -- "${one[@]}"
"$dump" --info --json full.ctr >full.info
"$dump" --info --json ring.ctr >ring.info
first=$(python3 - <<'END'
import json, sys
full, ring = json.load(open("full.info")), json.load(open("ring.info"))
d = ring["dropped"]
for key in ("instructions", "loads", "stores"):
    if ring[key] + d[key] != full[key]:
        sys.exit("%s: %d kept, %d dropped of %d" % (key, ring[key], d[key], full[key]))
if d["instructions"] < full["instructions"] / 4:
    sys.exit("not much was dropped: %s" % d)
print(d["instructions"])
END
) || fail "its sums"
events full.ctr --from "$first" >want
events ring.ctr >got
same want got "what was kept"
n=$(wc -l <got)
[ "$n" -gt 100000 ] || fail "only $n events were kept"
# without addresses and times of the thread's line; mappings also in the middle
for at in "$first" $((first + 1)) $((first + 50000)) $((first + 100001)); do
    for file in full ring; do
        "$dump" --state "$at" $file.ctr | grep -v '^thread\|^time' >$file.state
    done
    same full.state ring.state "the state at $at"
done
if [ -x "$oracle/oracle-replay" ]; then
    "$oracle/oracle-replay" ring.ctr >said || fail "oracle-replay: $(cat said)"
    "$oracle/oracle-memory" ring.ctr >said || fail "oracle-memory: $(cat said)"
fi

# Concurrent threads and processes; meanwhile one dump after the other is requested.
for what in cm tcm f; do
    case $what in cm) steps=12000 ;; tcm) steps=100 ;; f) steps=30 ;; esac
    rm -f a.ctr*
    "$record" -q -e all --ring 1M -o a.ctr -- "$qemu" ./numbers file 3 $what $steps \
        >address 2>stderr &
    pid=$!
    eventually test -s address
    for i in $(seq 10); do
        gone "$pid" && break
        kill -USR2 "$pid" 2>/dev/null
        sleep 0.1
    done
    wait "$pid" || fail "$what: status $?: $(cat stderr)"
    mapfile -t taken < <(ls -v a.ctr.*)
    python3 "$SRC/tests/cli/ringdrops.py" "$dump" "$oracle/oracle-replay" "$(cat address)" \
        "${taken[@]}" a.ctr >said || fail "$what: $(cat said)"
    cat said
done
finish
