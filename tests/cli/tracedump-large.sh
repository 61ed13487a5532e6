# SPDX-License-Identifier: MIT
# How much of a large file an answer needs to read: counted in bytes and chunks.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"

"$TOOLS/mktrace" random 51 200 80 small.ctr small.json || exit 1
"$TOOLS/bigtrace" -c 20000 -s 30 small.ctr big.ctr || exit 1
run 4 "$dump" --statistics --state 0 -t 2000000000 big.ctr # no such thread
opening=$(sed -n 's/.*read \([0-9]*\) of.*/\1/p' stderr)
size=$(stat -c %s big.ctr)
[ "$opening" -lt $((size / 500)) ] || fail "opening reads $opening of $size bytes"
# which also checks whether the index is whole
run 0 "$dump" --info --statistics big.ctr
info=$(sed -n 's/.*read \([0-9]*\) of.*/\1/p' stderr)
[ "$info" -lt $((size / 6)) ] || fail "--info reads $info of $size bytes"

# work CHUNKS BYTES COMMAND...: reads at most so many, besides opening the file; `head'
# reads the output.
work() {
    local chunks=$1 bytes=$2 did
    shift 2
    "$@" --statistics big.ctr 2>stderr | head -3 >stdout
    did=$(sed -n 's/.*read \([0-9]*\) of [0-9]* bytes, \([0-9]*\) of.*/\1 \2/p' stderr)
    [ -s stdout ] || fail "$*: no output: $(cat stderr)"
    [ "${did% *}" -le $((opening + bytes)) ] || fail "$*: $did"
    [ "${did#* }" -le "$chunks" ] || fail "$*: $did chunks"
}
for how in -j1 -j2 "-j1 --no-disas" "-j2 --json" "-j1 -e exec" "-j2 -e mem --json"; do
    # shellcheck disable=SC2086
    work 60 400000 "$dump" $how
    # shellcheck disable=SC2086
    work 60 400000 "$dump" $how --from 1500000
    # shellcheck disable=SC2086
    work 60 400000 "$dump" $how --from-time 1
done
# The index covers many chunks together, whose threads run at different speeds.
rows=$((size / 50))
for ordinal in 0 1 77777 1500000 2000000; do
    work 1 $((40000 + rows)) "$dump" --from $ordinal -n 1 -t 100
    work 3 $((40000 + rows)) "$dump" --state $ordinal/2
    work 4 $((40000 + rows)) "$dump" --from $ordinal -n 1
done
work 60 400000 "$dump" -p 200 --from 3000000

# Rare places: the result is the same without the index, which needs to read everything.
python3 - small.json >places <<'PY'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
first = [e for e in events if e["ordinal"] < 2000]
later = [e for e in events if e["ordinal"] >= 8000]
pages = {int(e["addr"], 16) >> 12 for e in later if "addr" in e}
pcs = {int(e["pc"], 16) for e in later if "pc" in e}
addrs = sorted({e["addr"] for e in first if "addr" in e and int(e["addr"], 16) >> 12 not in pages})
rare = sorted({e["pc"] for e in first if "pc" in e and int(e["pc"], 16) not in pcs})
rare = rare or [first[0]["pc"]] # blocks may be everywhere
for a in addrs[:4]:
    print("-a", a)
for a in rare[:4]:
    print("--pc", a)
PY
grep -q -- -a places && grep -q -- --pc places || fail "no rare places: $(cat places)"

# answer OPTION...: the events and the numbers; without events the status says so
answer() {
    "$dump" --statistics --no-disas "$@" big.ctr >stdout 2>stderr
    local got=$? want=0
    [ -s stdout ] || want=4
    [ $got -eq $want ] || fail "$* ended with $got, not $want: $(head -3 stderr)"
    if [ $want = 4 ]; then
        grep -q '^tracedump: big.ctr: there is no such event' stderr || fail "$*: no reason: $(cat stderr)"
        sed -i '1d' stderr
    fi
    one_line "$*"
}
while read -r option value; do
    for what in "-j1" "-j2 --writes" "--reads" "-e exec"; do
        # shellcheck disable=SC2086
        answer $what "$option" "$value"
        chunks=$(sed -n 's/.* bytes, \([0-9]*\) of.*/\1/p' stderr)
        [ "$option" = --pc ] || [ "$chunks" -le 200 ] || fail "$what $option $value: $chunks chunks"
        mv stdout with
        [ "$what" = "-j2 --writes" ] || continue
        # shellcheck disable=SC2086
        answer $what --no-index "$option" "$value"
        same stdout with "$what $option $value: without the index"
        grep -q ' 20000 of 20000 chunks' stderr || fail "--no-index: $(cat stderr)"
    done
done <places
grep -- -a places >addrs
while read -r option value; do
    for place in last-write-before=1000000/1 last-read-before=1000000/3 first-write-after=5/2; do
        "$dump" -q --statistics -j1 "$option" "$value" --$place big.ctr >stdout 2>stderr
        chunks=$(sed -n 's/.* bytes, \([0-9]*\) of.*/\1/p' stderr)
        [ "$chunks" -le 202 ] || fail "$option $value --$place: $chunks chunks"
    done
done <addrs
finish
