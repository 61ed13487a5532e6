# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# bench.py on tiny inputs: a table, JSON, a picture, a line of history, comparisons; its
# messages and statuses; and what an interrupt leaves.  Runs in an empty folder; CMakeLists.txt
# sets BUILD, QEMU_DIR, BENCH and PYTHON.
set -u
mkdir tmp
export TMPDIR=$PWD/tmp

fail() {
    echo "run.sh: $*" >&2
    exit 1
}

# STATUS ARGUMENT...: output goes to stdout and stderr
run() {
    local want=$1 got
    shift
    "$PYTHON" "$BENCH" --build "$BUILD" --qemu-dir "$QEMU_DIR" --history h "$@" >stdout 2>stderr
    got=$?
    [ $got = "$want" ] || fail "$*: status $got, not $want: $(cat stdout stderr)"
}

usage() {
    run 2 "$@"
    grep -qx "bench.py: .* Try 'bench.py --help'\." stderr || fail "$*: $(cat stderr)"
    [ "$(wc -l <stderr)" = 1 ] || fail "$*: more than a line: $(cat stderr)"
    [ ! -s stdout ] || fail "$*: something on stdout"
}

usage --nonsense
usage --sets exec,call
usage --sets ''
usage --part writing
usage --runs 0
usage --runs many
usage --scale -1
usage --json
run 0 --help
grep -q -- '--compare' stdout || fail "no --compare in --help"

run 1 --build "$PWD/none"
grep -q 'bench.py: no .*/none/bin/cannoli-record: scripts/setup.sh' stderr || fail "$(cat stderr)"
run 1 --qemu-dir "$PWD/none" --only 'mixed arm'
grep -q 'scripts/setup.sh --targets arm' stderr || fail "no QEMU: $(cat stderr)"
run 1 --from none
grep -qx 'bench.py: none: No such file or directory' stderr || fail "$(cat stderr)"
echo '{}' >bad
run 1 --table bad
grep -q 'bad: not written by --json' stderr || fail "$(cat stderr)"
[ ! -e h ] || fail "a history without results"

if [ ! -x "$QEMU_DIR/qemu-arm" ] || ! type -P arm-linux-gnueabihf-gcc >/dev/null; then
    echo "no qemu-arm or no compiler for arm: scripts/setup.sh"
    exit 77
fi

# A program that fails is reported; the other results are shown
mkdir broken && ln -s "$(type -P false)" broken/qemu-arm
run 1 --quick --only 'mixed arm' --qemu-dir "$PWD/broken" --no-peers --no-history
grep -q '^bench.py: mixed arm, recording: .*: status 1$' stderr || fail "$(cat stderr)"
grep -q '^median of 1 interleaved run' stdout || fail "$(cat stdout)"
run 1 --part choices --svg s
[ ! -e s ] || fail "a picture without results"
run 1 --json no/such/folder
grep -qx 'bench.py: no/such/folder: No such file or directory' stderr || fail "$(cat stderr)"

tiny=(--quick --only 'mixed arm' --scale 0.002)
run 0 "${tiny[@]}" --json j --svg s --part recording,encoding,reading,queries,debugging,choices
for row in 'mixed arm' exec mem val 'dump, text' 'tracedump | head' paused "recording, exec,mem,val"; do
    grep -qF -- "$row" stdout || fail "no '$row' in the table: $(cat stdout)"
done
[ "$(wc -l <h)" = 1 ] || fail "not one line of history"
"$PYTHON" - <<'EOF' || fail "JSON, picture or history"
import json
import xml.etree.ElementTree as ElementTree

results = json.load(open("j"))
program = results["recording"][0]
assert program["instructions"] > 100000, program["instructions"]
assert [r["set"] for r in program["sets"]] == ["exec", "mem", "val"]
for row in program["sets"]:
    for key in "jit", "file", "file_cpu", "bits_per_instruction":
        s = row[key]
        assert s["runs"] == 1 and 0 <= s["min"] <= s["median"] <= s["max"], (key, s)
assert results["about"]["machine"]["cpus"] > 0
svg = "{http://www.w3.org/2000/svg}"
said = [e.text for e in ElementTree.parse("s").getroot().iter(svg + "text")]
assert "mixed arm" in said and "val" in said, said
entry = json.loads(open("h").read())
assert "mixed arm/mem/file" in entry["figures"], entry
EOF

cp stdout first
run 0 --from j --no-history
grep -v '^bench' first | cmp - stdout || fail "--from shows something else"
run 0 --table j
grep -q '^mixed arm ' stdout || fail "no README's table: $(cat stdout)"
[ "$(wc -l <h)" = 1 ] || fail "--from or --table appended to the history"

# an unchanged tree can be compared only with its own commit
if commit=$(git -C "$(dirname "$BENCH")" rev-parse HEAD 2>/dev/null); then
    sed -i 's/"changed": true/"changed": false/' h
    run 0 "${tiny[@]}" --no-peers --no-worst --compare "$commit"
    grep -q 'mixed arm/mem/file .*%' stdout || fail "no comparison: $(cat stdout)"
    grep -q 'within the noise' stdout || fail "no verdict: $(cat stdout)"
    [ "$(wc -l <h)" = 2 ] || fail "not two lines of history"
    run 0 "${tiny[@]}" --no-peers --sets mem --base "$BUILD" --no-history
    grep -q "compared with $BUILD, in the same rounds" stdout || fail "$(cat stdout)"
    run 1 --from j --compare no-such-commit
    grep -q "no commit 'no-such-commit'" stderr || fail "$(cat stderr)"
fi

# An interrupt during a long run: nothing remains
"$PYTHON" "$BENCH" --build "$BUILD" --qemu-dir "$QEMU_DIR" --only 'mixed arm' --no-peers \
    --scale 100 --no-history >stdout 2>stderr &
pid=$!
for _ in $(seq 6000); do
    child=$(pgrep -P $pid) && [ "$(cat /proc/"$child"/comm)" = qemu-arm ] && break
    sleep 0.05
done
[ -n "$child" ] || fail "nothing was started: $(cat stdout stderr)"
kill -TERM $pid
wait $pid
[ $? = 143 ] || fail "interrupted: not status 143: $(cat stderr)"
[ ! -e /proc/"$child" ] || fail "the program still runs"
[ ! -s stderr ] || fail "interrupted: $(cat stderr)"
[ -z "$(ls tmp)" ] || fail "files remain: $(ls tmp)"
