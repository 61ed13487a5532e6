# SPDX-License-Identifier: MIT
# Damages each section of a trace in turn: no tool gives another answer and calls it whole,
# and --info names what is damaged even if no event is missing.
. "$SRC/tests/cli/libtracedump.sh"
# Its program is in the trace, and nowhere else.
python3 - <<'PY'
import struct
code = bytes.fromhex("10402de90000a0e3000000ef")
names = b"\0app\0"
symbols = bytes(16) + struct.pack("<IIIBBH", 1, 0x10400, len(code), 0x12, 0, 1)
texts = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
sections, at, parts = bytes(40), 0x400, b""
for name, kind, flags, data, link, entry in ((1, 1, 6, code, 0, 0), (7, 2, 0, symbols, 3, 16),
                                             (15, 3, 0, names, 0, 0), (23, 3, 0, texts, 0, 0)):
    sections += struct.pack("<10I", name, kind, flags, 0x10400 if flags else 0, at, len(data),
                            link, 1 if entry else 0, 4, entry)
    parts += data
    at += len(data)
head = b"\x7fELF\1\1\1" + bytes(9) + struct.pack(
    "<HHIIIIIHHHHHH", 2, 40, 1, 0x10400, 52, at, 0x5000000, 52, 32, 1, 40, 5, 4)
head += struct.pack("<8I", 1, 0, 0x10000, 0x10000, at, at, 5, 0x1000)
open("app", "wb").write(head.ljust(0x400, b"\0") + parts + sections)
PY
"$TOOLS/mktrace" system whole.ctr app || exit 1
"$BIN/tracesym" --functions whole.ctr | grep -qw app || fail "its program is not found"
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
