# SPDX-License-Identifier: MIT
# Damages each section of a trace in turn: no tool gives another answer and calls it whole,
# and --info names what is damaged even if no event is missing.
. "$SRC/tests/cli/libtracedump.sh"
"$TOOLS/mktrace" system whole.ctr || exit 1
python3 "$SRC/tests/cli/damage_sections.py" whole.ctr || fail "damaged sections"

# The last entry of the seek table; a column of the index; data after the end.
python3 - <<'PY'
data = open("whole.ctr", "rb").read()
part = data.index(b"SECT\x06") - 8
for name, at in ("table", len(data) - 12), ("part", part + 8 + 88 + 12):
    damaged = bytearray(data)
    damaged[at] ^= 1
    open(name + ".ctr", "wb").write(damaged)
open("more.ctr", "wb").write(data + b"more")
PY
for damage in "table seek table" "part index" "more end of file"; do
    file=${damage%% *}.ctr
    what=${damage#* }
    run 3 "$BIN/tracedump" --info "$file"
    one_line "$damage"
    grep -q "^tracedump: $file: $what: .*no event is missing" stderr ||
        fail "$damage: $(cat stderr)"
    grep -q "^damaged       $what, at offset" stdout || fail "$damage: not in the text"
    run 3 "$BIN/tracedump" --info -q --json "$file"
    silent "$damage"
    python3 -c 'import json, sys
d = json.load(open("stdout"))["damaged"]
assert [x["what"] for x in d] == [sys.argv[1]] and d[0]["offset"] > 0 and d[0]["text"]
' "$what" || fail "$damage: JSON"
    run 0 "$BIN/tracedump" "$file"
    silent "$damage"
done
run 3 "$BIN/tracedump" --info - < <(cat table.ctr)
one_line "a stream"
grep -q "^tracedump: standard input: seek table: " stderr || fail "a stream: $(cat stderr)"
grep -q "^damaged       seek table, at offset" stdout || fail "a stream: not in the text"
run 0 "$BIN/tracedump" --info whole.ctr
silent "the whole trace"
grep -q "^damaged" stdout && fail "the whole trace is reported as damaged"
finish
