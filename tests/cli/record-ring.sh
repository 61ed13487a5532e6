# SPDX-License-Identifier: MIT
# --ring keeps the newest part of a trace: what is kept equals the end of a complete
# recording, and what was dropped is counted.
. "$SRC/tests/cli/librecord.sh"

# events FILE: the events of one thread, without what differs from run to run; mappings and
# threads are also reported for a dropped part
events() {
    "$dump" --json --no-disas -e exec,mem,val,reg,sys "$1" |
        sed 's/"pid":[0-9]*,"tid":[0-9]*,//; s/,"\(time\|duration\|sender_pid\)":[0-9.]*//g'
}

# tail_of FULL RING: the events in RING are the last ones in FULL, with their ordinals;
# the others are those that RING reports as dropped.  Prints the numbers of kept and of
# dropped instructions.
tail_of() {
    events "$1" >full.events
    events "$2" >ring.events
    tail -n "$(wc -l <ring.events)" full.events >want.events
    cmp -s want.events ring.events ||
        fail "$2 is not the end of $1: $(diff want.events ring.events | head -3)"
    sums "$1" "$2" "$(grep -c '"kind":"exec"' ring.events)"
}

# sums FULL RING [KEPT]: kept and dropped together equal the whole
sums() {
    "$dump" --info --json "$1" >full.info
    "$dump" --info --json "$2" >ring.info
    python3 - ${3:-} <<'END' || fail "$2: its sums"
import json, sys
full, ring = json.load(open("full.info")), json.load(open("ring.info"))
d = ring.get("dropped", {"instructions": 0, "loads": 0, "stores": 0, "chunks": 0})
for key in ("instructions", "loads", "stores"):
    if ring[key] + d[key] != full[key]:
        sys.exit("%s: %d kept, %d dropped of %d" % (key, ring[key], d[key], full[key]))
if len(sys.argv) > 1 and ring["instructions"] != int(sys.argv[1]):
    sys.exit("%d instructions, %s events" % (ring["instructions"], sys.argv[1]))
if bool(d["chunks"]) != bool(d["instructions"]):
    sys.exit("dropped %s" % d)
print(ring["instructions"], d["instructions"])
END
}

# Everything fits: nothing is dropped, and nothing is reported as dropped.
guest small 'maps 3' 'blocks 15000' 'calls 30 100' 'signals 3'
rec 0 -e all -o full.ctr -- qemu-arm small
rec 0 -e all --ring 1M -o ring.ctr -- qemu-arm small
grep -q '(the newest 40,033 kept, 0 dropped)' stderr || fail "summary: $(cat stderr)"
one_line
zstd -tq ring.ctr || fail "zstd refuses it"
tail_of full.ctr ring.ctr >numbers
"$dump" --info ring.ctr | grep -q '^dropped' && fail "something was dropped"

# The newest part, of one thread
for kinds in exec,mem,sys,map,thr all; do
    guest long 'maps 5' "noise 400000" 'maps 7' 'calls 100 2000' 'helper 300' 'noise 50000' 'signals 4'
    rec 0 -e $kinds -o full.ctr -- qemu-arm long
    rec 0 -e $kinds --ring 1M -o ring.ctr -- qemu-arm long
    one_line
    zstd -tq ring.ctr || fail "zstd refuses it"
    tail_of full.ctr ring.ctr >numbers
    read -r kept dropped <numbers
    [ "$kept" -gt 20000 ] && [ "$dropped" -gt 20000 ] || fail "-e $kinds: $kept kept, $dropped dropped"
    [ "$(stat -c %s ring.ctr)" -lt $((1200 << 10)) ] || fail "the ring's file is too large"
    "$dump" --info ring.ctr | grep -q "^dropped  *$dropped instructions" || fail "--info: dropped"
    # mappings and names of the dropped part are there, at the first kept ordinal
    "$dump" --info ring.ctr | sed -n '/^mappings/,$p' | sed 1,2d >got
    "$dump" --info full.ctr | sed -n '/^mappings/,$p' | sed 1,2d >want
    same want got "mappings of the dropped part"
    grep -q 'named "fake"' <<<"$("$dump" --info ring.ctr)" || fail "the name is lost"
    grep -q "  argv fake 'of it'$" <<<"$("$dump" --info ring.ctr)" || fail "the arguments are lost"
    "$dump" --json -e exec ring.ctr | grep -m1 '"pc":"0x1000"' | grep -q '"module":"/bin/fake"' ||
        fail "the first instructions kept are in no module"
done
# seeks into it
first=$("$dump" --json -e exec ring.ctr | head -1 | sed 's/.*"ordinal":\([0-9]*\).*/\1/')
[ "$first" -gt 20000 ] || fail "the first ordinal is $first"
run 0 "$dump" --state "$first" ring.ctr
grep -q "before ordinal $first of" stdout || fail "--state at the first instruction: $(cat stdout)"
grep -v '^thread\|^time' stdout >got
"$dump" --state "$first" full.ctr | grep -v '^thread\|^time' >want
same want got "registers at the first instruction kept"
run 4 "$dump" --state $((first - 1)) ring.ctr
one_line
grep -q dropped stderr || fail "--state before the first: $(cat stderr)"
# as a stream, and with several workers
"$dump" --json --no-disas - <ring.ctr >stream.json || fail "the stream is refused"
"$dump" --json --no-disas ring.ctr >file.json
same file.json stream.json "the stream differs"

# Threads and processes without any kept data are left out.
guest crowd 'threads 20 30' 'forks 20 30' 'noise 1200000' 'threads 2 15'
rec 0 -o full.ctr -- qemu-arm crowd
rec 0 --ring 1M -o ring.ctr -- qemu-arm crowd
threads=$("$dump" --info ring.ctr | sed -n 's/^threads  *//p')
[ "$threads" -ge 3 ] && [ "$threads" -lt 12 ] || fail "$threads threads are in the ring, of 43"
sums full.ctr ring.ctr >numbers

# A guest that is killed
guest killed 'noise 400000' 'kill'
rec 137 --ring 1M -o ring.ctr -- qemu-arm killed
run 3 "$dump" --info ring.ctr
grep -q '^dropped' stdout || fail "nothing of the killed guest was dropped"

# complete FILE: whether it is a complete trace
complete() {
    "$dump" --info "$1" >info 2>/dev/null
    [ $? -ne 1 ] && grep -q '^state  *complete' info
}

# During the recording: on a signal, to files beside the output
guest waits 'noise 400000' 'maps 4' 'calls 5 10' 'ready ready' 'sleep 600000'
start --ring 1M -- qemu-arm waits
kill -USR2 "$pid"
eventually complete a.ctr.1
[ -s a.ctr ] && fail "the output was written early"
kill -USR2 "$pid"
eventually complete a.ctr.2
eventually grep -q "is in 'a.ctr.2'" stderr
# the end of the recording writes the output
kill -TERM "$pid"
ended 143
complete a.ctr || fail "nothing was written at the end of the recording"
for file in a.ctr a.ctr.1 a.ctr.2; do
    zstd -tq $file || fail "zstd refuses $file"
    "$dump" --info --json $file >$file.info
    "$dump" -e sys --json $file 2>/dev/null | grep -c '"kind":"syscall"' >calls
    [ "$(cat calls)" -eq 5 ] || fail "$file: $(cat calls) of 5 calls before the sleep"
done
python3 - <<'END' || fail "dumps disagree"
import json
a, b, c = (json.load(open(n + ".info")) for n in ("a.ctr", "a.ctr.1", "a.ctr.2"))
assert a["instructions"] + a["dropped"]["instructions"] == 1600005, a
for x in (b, c):
    assert x["instructions"] + x["dropped"]["instructions"] == 1600005, x
    assert x["threads"][0]["incomplete"], x
END

# The recorder is killed: what was kept is written.
rm -f a.ctr*
start --ring 1M -- qemu-arm waits
sleep 4 # longer than chunks may wait before they are compressed
{ kill -9 "$pid"; wait "$pid"; } 2>/dev/null
eventually gone "$child"
eventually complete a.ctr
zstd -tq a.ctr || fail "zstd refuses what was kept"
run 3 "$dump" --info a.ctr
grep -q '^dropped' stdout || fail "nothing was dropped before the kill"
grep -q ' incomplete ' stdout || fail "the killed thread is not marked as incomplete"

run 2 "$record" --ring 1000 -- ./x
one_line
run 2 "$record" --ring 1M --discard -- ./x
finish
