# SPDX-License-Identifier: MIT
# A recorded part: left-out instructions, tags, accesses without a value, marks,
# gates, labels, selections.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"
"$TOOLS/mktrace" chosen chosen.ctr || exit 1

run 0 "$dump" chosen.ctr
silent
golden tracedump-chosen-text.txt
cp stdout whole.txt
for how in -j1 -j3 --no-index "-e all"; do
    # shellcheck disable=SC2086
    run 0 "$dump" $how chosen.ctr
    same whole.txt stdout "$how: different output"
done
run 0 "$dump" - < <(cat chosen.ctr)
same whole.txt stdout "a stream"
run 0 "$dump" --json chosen.ctr
golden tracedump-chosen-json.txt
cp stdout whole.json
run 0 "$dump" --info chosen.ctr
sed -i -E 's/Capstone [0-9.]+/Capstone X/; s/^(size +)[0-9]+ (.*), [0-9.]+ bits.*/\1SIZE \2/' stdout
golden tracedump-chosen-info.txt
run 0 "$dump" --info --json chosen.ctr
python3 - stdout <<'PY' || fail "--info --json: $(cat stdout)"
import json, sys
i = json.load(open(sys.argv[1]))
assert i["selection"] == "--module libfoo.so.1 --not --range 0x10000-0x10400", i
assert i["dropped"] == {"instructions": 3000, "loads": 600, "stores": 300, "chunks": 3}, i
PY

# -e mark shows only these, with times only on request.
run 0 "$dump" -e mark,time chosen.ctr
grep -E '\+\+\+ (mark|recorded|not recorded|label|selection) ' whole.txt >want
same want stdout "-e mark,time"
run 0 "$dump" --json -e mark chosen.ctr
grep -Ev '"kind":"(mark|gate|label|select)"' stdout && fail "-e mark shows more"
grep -E '"(time|asked)":' stdout && fail "-e mark shows times"
[ "$(wc -l <stdout)" -eq "$(wc -l <want)" ] || fail "-e mark --json: $(wc -l <stdout) events"
run 0 "$dump" -e exec,mem,val,sys,thr,time chosen.ctr
grep -Ev '\+\+\+ (mark|recorded|not recorded|label|selection) ' whole.txt >want
same want stdout "without -e mark"

# Events of the recording itself have no pc; they have an ordinal and a thread.
run 4 "$dump" -e mark --pc 0x10400 chosen.ctr
[ ! -s stdout ] || fail "--pc shows marks"
run 0 "$dump" -e mark --from 3 --to 6 chosen.ctr
[ "$(wc -l <stdout)" -eq 2 ] || fail "--from 3 --to 6: $(wc -l <stdout) marks, not 2"
run 4 "$dump" -e mark -t 4243 chosen.ctr
[ ! -s stdout ] || fail "another thread's marks"

# Tags are also there without disassembly and in colour.
run 0 "$dump" --no-disas chosen.ctr
[ "$(grep -c 'tag 0x1234  tag 0xffffffffffffffff' stdout)" -eq 3 ] || fail "--no-disas: tags"
run 0 "$dump" --color=always chosen.ctr
[ "$(grep -c 'tag 0x1234  tag 0xffffffffffffffff' stdout)" -eq 3 ] || fail "colour: tags"
finish
