# SPDX-License-Identifier: MIT
# The replay example: a file and a stream give the same result, and its
# sums are those of tracedump.
. "$SRC/tests/cli/libtracedump.sh"
profile=$(ls "$BIN/replay_profile" "$BIN"/examples/replay_profile 2>/dev/null | head -1)
[ -n "$profile" ] || { echo "replay_profile was not built"; exit 77; }

"$TOOLS/mktrace" random 31 20 500 t.ctr expect.json || exit 1
run 0 "$profile" t.ctr
silent
cp stdout file.txt
run 0 "$profile" - < <(cat t.ctr)
same file.txt stdout "a stream gives another result"
python3 - <<'PY' || fail "sums"
import json, re
n = {"exec": 0, "load": 0, "store": 0}
size = {"exec": 0, "load": 0, "store": 0}
for line in open("expect.json"):
    e = json.loads(line)
    n[e["kind"]] += 1
    size[e["kind"]] += e.get("size", 0)
text = open("file.txt").read()
last = re.search(r"^(\d+) instructions, (\d+) loads, (\d+) stores", text, re.M).groups()
assert list(map(int, last)) == [n["exec"], n["load"], n["store"]], (last, n)
rows = re.findall(r" s  \d+/\d+ +(\d+) instructions +(\d+) bytes loaded +(\d+) stored", text)
sums = [sum(int(r[i]) for r in rows) for i in range(3)]
assert len(rows) == 20 and sums == [n["exec"], size["load"], size["store"]], (sums, n, size)
PY
run 2 "$profile"
run 1 "$profile" missing.ctr
one_line
finish
