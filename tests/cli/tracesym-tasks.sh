# SPDX-License-Identifier: MIT
# tracesym --by-task: a machine's tasks by the ids of its address spaces.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
need python3
"$TOOLS/mktrace" machine aarch64 t.ctr && "$TOOLS/mktrace" chosen program.ctr || exit 1

# cpu0 runs task 126 after its first block, to the context 0 at its end; cpu1 none.
for options in "" -j1 -j3 --no-index; do
    # shellcheck disable=SC2086
    run 0 "$sym" -q --calls --by-task --json $options t.ctr
    silent "$options"
    python3 - stdout <<'END' || fail "$options: $(cat stdout)"
import json, sys
roots = {n["function"]: n["inclusive"]
         for n in map(json.loads, open(sys.argv[1])) if n["parent"] is None}
sys.exit(roots != {"idle cpu0": 1, "task 126": 4, "idle cpu1": 5} and repr(roots))
END
done
run 0 "$sym" --functions --by-task t.ctr
grep -q '^task 126:$' stdout || fail "text: $(cat stdout)"
run 0 "$sym" --functions --by-task --json t.ctr
grep -q '"thread": "task 126", "kind"' stdout || fail "json: $(cat stdout)"

# The parts are those of --info.
run 0 "$BIN/tracedump" --info --json t.ctr
grep -q '"contexts":\[{"id":0,"instructions":6},{"id":126,"instructions":4}\]' stdout ||
    fail "--info: $(cat stdout)"

for other in program.ctr slices.ctr; do
    "$TOOLS/mktrace" slices slices.ctr || exit 1
    run 4 "$sym" -q --functions --by-task $other
    one_line "$other"
    grep -q -- "$other: --by-task: the trace does not say which task ran\$" stderr ||
        fail "$(cat stderr)"
done
is_usage tracesym --by-task --by-thread --functions t.ctr
is_usage tracesym --by-task --calls --format chrome t.ctr
finish
