# SPDX-License-Identifier: MIT
# tracesym --by=task: a machine's tasks, by their events or by the ids of its address spaces;
# tracesym --timeline: the same over time; tracedump shows and selects them.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
need python3
"$TOOLS/mktrace" machine aarch64 t.ctr && "$TOOLS/mktrace" chosen program.ctr || exit 1

# cpu0 runs task 126 after its first block, to the context 0 at its end; cpu1 none.
for options in "" -j1 -j3 --no-index; do
    # shellcheck disable=SC2086
    run 0 "$sym" -q --calls --by=task --json $options t.ctr
    silent "$options"
    python3 - stdout <<'END' || fail "$options: $(cat stdout)"
import json, sys
roots = {n["function"]: n["inclusive"]
         for n in map(json.loads, open(sys.argv[1])) if n["parent"] is None}
sys.exit(roots != {"idle cpu0": 1, "task 126": 4, "idle cpu1": 5} and repr(roots))
END
done
run 0 "$sym" --functions --by=task t.ctr
grep -q '^task 126:$' stdout || fail "text: $(cat stdout)"
run 0 "$sym" --functions --by=task --json t.ctr
grep -q '"thread": "task 126", "kind"' stdout || fail "json: $(cat stdout)"

# The parts are those of --info.
run 0 "$BIN/tracedump" --info --json t.ctr
grep -q '"contexts":\[{"id":0,"instructions":6},{"id":126,"instructions":4}\]' stdout ||
    fail "--info: $(cat stdout)"

for other in program.ctr slices.ctr; do
    "$TOOLS/mktrace" slices slices.ctr || exit 1
    run 4 "$sym" -q --functions --by=task $other
    one_line "$other"
    grep -q -- "$other: --by=task: the trace does not say which task ran\$" stderr ||
        fail "$(cat stderr)"
done
is_usage tracesym --by=foo --functions t.ctr
is_usage tracesym --by=irq --calls --format chrome t.ctr
run 0 "$sym" -q --calls --by=cpu --format chrome t.ctr
python3 - stdout <<'END' || fail "chrome: $(cat stdout)"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = [(e["name"], e["args"]["name"]) for e in events if e["ph"] == "M"]
assert names == [("process_name", "machine"), ("thread_name", "cpu0"),
                 ("thread_name", "cpu1")], names
assert {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"} <= {
    (e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}, events
END

# With TASK events: names, a system call that was left and goes on, interrupts.
"$TOOLS/mktrace" tasks tasks.ctr || exit 1
for options in "" -j1 -j3 --no-index; do
    # shellcheck disable=SC2086
    run 0 "$sym" -q --calls --by=task --json $options tasks.ctr
    python3 - stdout <<'END' || fail "$options: $(cat stdout)"
import json, sys
nodes = {n["node"]: n for n in map(json.loads, open(sys.argv[1]))}
roots = {n["function"]: n["inclusive"] for n in nodes.values() if n["parent"] is None}
assert roots == {"idle cpu0": 4, "init-1": 9, "work?er-7": 3, "idle cpu1": 2, "sh-5": 5}, roots
calls = {n["function"]: n["inclusive"] for n in nodes.values() if n["function"] in ("SVC",)}
assert calls == {"SVC": 4}, calls
END
done
# Tasks that are not chosen are no empty trees
run 0 "$sym" -q --calls --by=task --task=sh tasks.ctr
[ "$(awk '$5 == "-" {print $NF}' stdout)" = sh-5 ] || fail "--task=sh: $(cat stdout)"
# The same as tracks: frames of a task are nested, and last as long as the task ran in them.
for options in "" -j1 -j3; do
    # shellcheck disable=SC2086
    run 0 "$sym" -q --calls --format chrome $options tasks.ctr
    python3 - stdout <<'END' || fail "chrome $options: $(cat stdout)"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
frames = {}
for e in (e for e in events if e["ph"] == "X"):
    at = round(e["ts"] * 1000)
    frames.setdefault(names[e["tid"]], []).append(
        (at, at + round(e["dur"] * 1000), e["name"], e["args"]["from"], e["args"]["to"]))
code = "0x40100000"
want = {"idle cpu0": [(0, 4, code, 0, 16)], "idle cpu1": [(0, 2, code, 0, 7)],
        "sh-5": [(0, 5, code, 2, 7)],
        "init-1": [(0, 9, code, 3, 16), (3, 7, "SVC", 6, 13), (3, 7, code, 6, 13)],
        "work?er-7": [(0, 3, code, 9, 16), (2, 3, "IRQ 27 (virtual timer)", 11, 12),
                      (2, 3, code, 11, 12)]}
assert {k: sorted(v, key=lambda x: (x[0], -x[1], x[2] == code)) for k, v in frames.items()} == want, frames
END
done
run 0 "$sym" -q --trace-calls '0x*' --json tasks.ctr
python3 - stdout <<'END' || fail "--trace-calls: $(cat stdout)"
import json, sys
calls = [(c["ordinal"], c["task"]["comm"], c["depth"], c["instructions"])
         for c in map(json.loads, open(sys.argv[1]))]
assert calls == [(6, "init", 2, 4), (11, "work?er", 2, 1)], calls
END
run 0 "$sym" -q --functions --by=irq tasks.ctr
grep -q '^SVC:$' stdout && grep -q '^ *4  .* in this exception$' stdout || fail "$(cat stdout)"
# Two numbers with one name are one, as in --info.
run 0 "$sym" -q --calls --by=irq --json t.ctr
python3 - stdout <<'END' || fail "--by=irq: $(cat stdout)"
import json, sys
roots = [n for n in map(json.loads, open(sys.argv[1])) if n["parent"] is None]
assert [n["calls"] for n in roots if n["function"] == "Data Abort"] == [2], roots
assert len({n["function"] for n in roots}) == len(roots), roots
END
run 4 "$sym" -q --functions --by=irq program.ctr
one_line --by=irq of a program
run 0 "$sym" -q --functions --task init tasks.ctr
grep -q '^ *9 100.0% .*in all' stdout || fail "--task: $(cat stdout)"

# A machine that is loaded from a snapshot (5), or reset (4), is in no function of before, in no
# task and on no vCPU; what a vCPU did since stays when another one has the event.
for op in 5 4; do
    "$TOOLS/mktrace" loaded $op loaded.ctr || exit 1
    for options in "" -j1 -j3; do
        # shellcheck disable=SC2086
        run 0 "$sym" -q --calls --by=task --json $options loaded.ctr
        python3 - stdout <<'END' || fail "loaded ($op) $options: $(cat stdout)"
import json, sys
nodes = {n["node"]: n for n in map(json.loads, open(sys.argv[1]))}


def path(n):
    return path(nodes[n["parent"]]) + " " + n["function"] if n["parent"] is not None else n["function"]


got = {path(n): (n["calls"], n["inclusive"]) for n in nodes.values()}
fn, back = "0x40100000", "0x40100004"
assert got == {
    "idle cpu0": (0, 0), "idle cpu1": (0, 0),
    "task-1": (0, 11), "task-1 " + fn: (0, 11), "task-1 %s SVC" % fn: (2, 5),
    "task-1 %s SVC %s" % (fn, fn): (2, 5),
    "task-5": (0, 6), "task-5 " + back: (0, 3), "task-5 %s SVC" % back: (1, 3),
    "task-5 %s SVC %s" % (back, fn): (1, 3), "task-5 " + fn: (0, 3),
    "task-7": (0, 7), "task-7 " + back: (0, 2), "task-7 %s SVC" % back: (1, 2),
    "task-7 %s SVC %s" % (back, fn): (1, 2), "task-7 " + fn: (0, 5)}, got
END
    done
    run 0 "$sym" -q --calls --by=cpu --json loaded.ctr
    python3 - stdout <<'END' || fail "loaded ($op) --by=cpu: $(cat stdout)"
import json, sys
got = sorted(n["inclusive"] for n in map(json.loads, open(sys.argv[1])) if n["function"] == "SVC")
assert got == [2, 3, 7], got
END
done
# Time lines: slices that end as on a stack, in order of time; who ran when.
run 0 "$sym" -q --timeline tasks.ctr
silent --timeline
cp stdout whole.json
python3 - whole.json <<'END' || fail "--timeline: $(cat whole.json)"
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
named = [e for e in events if e["ph"] == "M"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in named
         if e["name"] == "thread_name"}
assert len(named) == len({(e["name"], e["pid"], e["tid"]) for e in named}), named
processes = {e["pid"]: e["args"]["name"] for e in named if e["name"] == "process_name"}
assert processes[1] == "init" and set(processes) == {e["pid"] for e in events}, processes
stacks, seen, last = collections.defaultdict(list), collections.defaultdict(list), {}
for e in events:
    if e["ph"] == "M":
        continue
    track = names[e["pid"], e["tid"]]
    assert e["ts"] >= last.get(track, 0), e
    last[track] = e["ts"]
    if e["ph"] == "B":
        stacks[track].append(e["name"])
        seen[track].append("/".join(stacks[track]))
    else:
        stacks[track].pop()
assert not any(stacks.values()), stacks
assert seen["cpu0"] == ["swapper/0-0", "init-1", "init-1/SVC", "work\x1ber-7",
                        "work\x1ber-7/IRQ 27 (virtual timer)", "init-1", "init-1/SVC"], seen
assert seen["cpu1"] == ["swapper/1-0", "swapper/1-0/halted", "bash-5", "sh-5"], seen
assert seen["init"] == ["cpu0", "cpu0/SVC"] * 2, seen
assert seen["cpu0 privilege"] == ["EL0", "EL1", "EL0"], seen
END
# vCPUs that ran in parallel: each has tasks of its own.
"$TOOLS/mktrace" parallel parallel.ctr || exit 1
run 0 "$sym" -q --calls --by=task --json parallel.ctr
python3 - stdout <<'END' || fail "parallel: $(cat stdout)"
import json, sys
roots = [(n["function"], n["inclusive"])
         for n in map(json.loads, open(sys.argv[1])) if n["parent"] is None]
assert sorted(roots) == [("idle cpu0", 4), ("idle cpu1", 2), ("init-1", 9), ("sh-5", 5),
                         ("work?er-7", 3)], roots
END
run 0 "$sym" -q --timeline parallel.ctr
python3 - whole.json stdout <<'END' || fail "parallel: $(cat stdout)"
import json, sys
ordered, parallel = (json.load(open(path))["traceEvents"] for path in sys.argv[1:])
init = [e.get("name") for e in parallel if (e["pid"], e["tid"], e["ph"]) == (1, 1, "B")]
assert init == ["cpu0", "SVC", "cpu0"], init  # it is not known that the call goes on
begun = [e for e in parallel if e["ph"] == "B"]
assert len(begun) == sum(e["ph"] == "E" for e in parallel), parallel
assert len(begun) == sum(e["ph"] == "B" for e in ordered) - 2, begun
END
run 0 "$sym" -q --timeline -o written.json tasks.ctr
same whole.json written.json "-o"
run 0 "$sym" -q --timeline - < <(cat tasks.ctr)
run 4 "$sym" -q --timeline program.ctr
grep -q -- '--timeline: it is not the trace of a machine$' stderr || fail "$(cat stderr)"
run 4 "$sym" -q --timeline slices.ctr
grep -q 'neither tasks nor exceptions nor halts were recorded' stderr || fail "$(cat stderr)"
rm -f none.json
run 4 "$sym" -q --timeline --task nobody -o none.json tasks.ctr
grep -q 'no such task (--task)' stderr && [ ! -e none.json ] || fail "$(cat stderr)"
is_usage tracesym --timeline --calls tasks.ctr
is_usage tracesym --timeline --function f tasks.ctr
is_usage tracesym --timeline --by=task tasks.ctr
finish
