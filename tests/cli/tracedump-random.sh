# SPDX-License-Identifier: MIT
# Random traces, compared with what their maker wrote; and the same output for
# any number of workers and any way of reading the file.
. "$SRC/tests/cli/libtracedump.sh"

dump="$BIN/tracedump"
check_seed() { # random|random-all SEED CHUNKS RUNS
    "$TOOLS/mktrace" "$@" t.ctr expect.json || exit 1
    shift
    for how in -j1 -j2 -j7 "-j3 --no-index"; do
        # shellcheck disable=SC2086
        run 0 "$dump" --json --no-disas --no-modules $how t.ctr
        same expect.json stdout "seed $1 $how"
    done
    run 0 "$dump" --json --no-disas -j2 - < <(cat t.ctr)
    same expect.json stdout "seed $1 as a stream"
    run 0 "$dump" --json --no-disas --no-modules - <t.ctr
    same expect.json stdout "seed $1 on standard input"
    "$dump" -j1 t.ctr >text1 || fail "seed $1 -j1 as text"
    run 0 "$dump" -j4 t.ctr
    same text1 stdout "seed $1: text of -j1 and -j4"
    "$dump" -j1 --no-modules t.ctr >text1 || fail "seed $1 without modules"
    run 0 "$dump" -j4 - < <(cat t.ctr)
    same text1 stdout "seed $1: text of a stream"
}

for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
    check_seed random $seed 9 60
    check_seed random-all $seed 9 60
done
check_seed random-all 102 2 15000 # chunks so large that workers share them
check_seed random-all 103 400 3
check_seed random 101 2 45000
check_seed random 100 400 3

# Text and JSON show the same instructions and accesses.
python3 - <<'PY' || fail "text and JSON differ"
import json, re, subprocess, os
dump = os.environ["BIN"] + "/tracedump"
text = subprocess.run([dump, "--no-disas", "t.ctr"], stdout=subprocess.PIPE, check=True, text=True).stdout
shown = []
for line in text.splitlines():
    ordinal, thread, pc, code, rest = re.fullmatch(
        r" *(\d+) (\d+/\d+) +0x([0-9a-f]+) ([0-9a-f]+)(.*)", line).groups()
    key = (int(ordinal), thread, int(pc, 16))
    # an instruction that is cut between two chunks continues on a line of its own
    if not (shown and rest and ("exec",) + key in shown[-400:]):
        shown.append(("exec",) + key)
    rest = rest.replace("  faulted", "")
    for rw, addr, size in re.findall(r"  ([rw]) 0x([0-9a-f]+)/(\d+)", rest):
        shown.append(({"r": "load", "w": "store"}[rw],) + key + (int(addr, 16), int(size)))
want = []
for line in open("expect.json"):
    e = json.loads(line)
    key = (e["ordinal"], "%d/%d" % (e["pid"], e["tid"]), int(e["pc"], 16))
    if e["kind"] == "exec":
        want.append(("exec",) + key)
    else:
        want.append((e["kind"],) + key + (int(e["addr"], 16), e["size"]))
# Lines that continue an instruction appear as exec events twice at most.
drop = [x for x in shown if x[0] != "exec"]
assert drop == [x for x in want if x[0] != "exec"], "accesses differ"
assert {x for x in shown if x[0] == "exec"} == {x for x in want if x[0] == "exec"}, "instructions differ"
PY
rm -f expect.json stdout text1
finish
