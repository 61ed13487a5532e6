# SPDX-License-Identifier: MIT
# The text and the JSON of differences of each kind, of made traces.
. "$SRC/tests/cli/libtracedump.sh"
all=
for what in value address inserted result memory end thread reg-register; do
    "$TOOLS/mktrace" diff 3 $what a.ctr b.ctr >/dev/null || exit 1
    run 1 "$BIN/tracediff" --lines=2 --width=120 a.ctr b.ctr
    silent $what
    all+="== $what"$'\n'$(cat stdout)$'\n'
    run 1 "$BIN/tracediff" --json a.ctr b.ctr
    all+=$(cat stdout)$'\n'
done
printf '%s' "$all" >stdout
golden tracediff.txt
# Two differences at once; what --ignore leaves
"$TOOLS/mktrace" diff 3 value a.ctr b.ctr >where
run 0 "$BIN/tracediff" --ignore=values a.ctr b.ctr
run 1 "$BIN/tracediff" --ignore=addresses,calls a.ctr b.ctr
"$TOOLS/mktrace" diff 3 address a.ctr b.ctr >where
run 0 "$BIN/tracediff" --ignore=data a.ctr b.ctr
run 0 "$BIN/tracediff" --ignore=addresses a.ctr b.ctr
for what in register kept; do
    "$TOOLS/mktrace" diff 3 reg-$what a.ctr b.ctr >where
    run 1 "$BIN/tracediff" --json a.ctr b.ctr
    name=$(grep -o '"register":{"name":"r[0-3]"' stdout | head -n 1 | cut -d'"' -f6)
    run 0 "$BIN/tracediff" --ignore="reg:$name" a.ctr b.ctr
    run 0 "$BIN/tracediff" --ignore="reg:[r]*" a.ctr b.ctr
    run 0 "$BIN/tracediff" --ignore=registers a.ctr b.ctr
    run 0 "$BIN/tracediff" --ignore=data a.ctr b.ctr
    run 0 "$BIN/tracediff" --by-function a.ctr b.ctr
    run 1 "$BIN/tracediff" --ignore=addresses,reg:r9 a.ctr b.ctr
done
"$TOOLS/mktrace" diff 3 memory a.ctr b.ctr >where
run 0 "$BIN/tracediff" --ignore=calls a.ctr b.ctr
run 0 "$BIN/tracediff" --ignore=call:re?d a.ctr b.ctr
run 1 "$BIN/tracediff" --ignore=call:write a.ctr b.ctr
"$TOOLS/mktrace" diff 3 inserted a.ctr b.ctr >where
read -r _ at _ only <where
run 0 "$BIN/tracediff" --ignore=module:app a.ctr b.ctr
grep -q '; 0 equal instructions' stdout || fail "module:app: $(cat stdout)"
# From the places on where both are alike again
tid() {
    "$BIN/tracedump" --json -e exec -n 1 "$1" | grep -o '"tid":[0-9]*' | head -n 1 | cut -d: -f2
}
run 0 "$BIN/tracediff" -t "$(tid a.ctr)" --with-thread="$(tid b.ctr)" --at="$at,$((at + only))" a.ctr b.ctr
run 1 "$BIN/tracediff" -t "$(tid a.ctr)" --with-thread="$(tid b.ctr)" --at="$at,$at" a.ctr b.ctr
# Only the inserted instructions are ignored, by their addresses.
"$BIN/tracediff" --json a.ctr b.ctr | head -n 1 >first
run 1 "$BIN/tracediff" --max=1 --json a.ctr b.ctr
same first <(head -n 1 stdout) "--max=1"
grep -q '"all":false' stdout || fail "--max=1: $(tail -n 1 stdout)"
# What ran more often
run 1 "$BIN/tracediff" --counts=blocks --json a.ctr b.ctr
[ "$(wc -l <stdout)" -eq 1 ] || fail "--counts: $(cat stdout)"
run 0 "$BIN/tracediff" --counts=blocks a.ctr a.ctr
# The index makes no difference.
run 1 "$BIN/tracediff" --no-index --json a.ctr b.ctr
cp stdout without
run 1 "$BIN/tracediff" --json a.ctr b.ctr
same without stdout "--no-index"
finish
