# SPDX-License-Identifier: MIT
# The last write before a place, the next read after it: compared with a search in the
# whole output by a few lines of Python.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"

for seed in 31 32 33 34; do
    random_trace $seed
    SEED=$seed python3 - <<'PY' || fail "seed $seed"
import json, os, random, subprocess, sys
dump = os.environ["BIN"] + "/tracedump"
rnd = random.Random(int(os.environ["SEED"]))
def run(args, status=0):
    p = subprocess.run([dump, "--json", "--no-modules", "--no-disas"] + args + ["t.ctr"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode != status or bool(p.stderr) != (status == 4):
        sys.exit("%s: %d, not %d: %s" % (" ".join(args), p.returncode, status, p.stderr))
    return [json.loads(line) for line in p.stdout.splitlines()]

info = run(["--info"])[0]
threads = [(t["pid"], t["tid"], t["instructions"]) for t in info["threads"]]
events = run(["-e", "exec,mem"])
place = {(e["pid"], e["tid"], e["ordinal"]): i for i, e in enumerate(events) if e["kind"] == "exec"}
accesses = [(i, e, int(e["addr"], 16)) for i, e in enumerate(events) if e["kind"] != "exec"]
found = nothing = 0
for n in range(100):
    which = rnd.randrange(len(threads))
    pid, tid, insns = threads[which]
    back = rnd.random() < 0.6
    kind = rnd.choice(["load", "store"])
    ordinal = rnd.choice([0, insns - 1, rnd.randrange(insns), rnd.randrange(insns)])
    at = place[(pid, tid, ordinal)]
    lo = rnd.choice(accesses)[2] - rnd.randrange(16)
    lo = max(lo, 0)
    size = rnd.choice([1, 4, 64, 400])
    alone = rnd.random() < 0.4
    option = {(True, "store"): "--last-write-before", (True, "load"): "--last-read-before",
              (False, "store"): "--first-write-after", (False, "load"): "--first-read-after"}[back, kind]
    args = ["-e", "mem,val", "-a", "0x%x+%d" % (lo, size)]
    if alone:
        args += ["-p", str(pid), "-t", str(tid), "%s=%d" % (option, ordinal)]
    else:
        args += ["%s=%d/%d" % (option, ordinal, which + 1)]
    def matches(e, addr):
        if e["kind"] != kind or addr >= lo + size or addr + e["size"] <= lo:
            return False
        return e["pid"] == pid and (e["tid"] == tid or not alone) # the process's own memory
    def side(i, e):
        if (e["pid"], e["tid"]) == (pid, tid):
            return e["ordinal"] < ordinal if back else e["ordinal"] >= ordinal
        return i < at if back else i > at
    # The nearest access of each byte, the nearest first
    want, left, last = [], set(range(lo, lo + size)), None
    for i, it, addr in reversed(accesses) if back else accesses:
        mine = set(range(addr, addr + it["size"])) & left
        if not mine or not matches(it, addr) or not side(i, it):
            continue
        left -= mine
        if (it["tid"], it["ordinal"]) != last:
            want += [(e["tid"], e["ordinal"], e["addr"], e["size"]) for i, e, addr in accesses
                     if matches(e, addr) and e["ordinal"] == it["ordinal"] and e["tid"] == it["tid"]]
        last = (it["tid"], it["ordinal"])
    found += bool(want)
    nothing += not want
    for how in (["-j1"], ["-j3"], ["-j2", "--no-index"]):
        got = run(args + how, 0 if want else 4)
        got = [(e["tid"], e["ordinal"], e["addr"], e["size"]) for e in got]
        if got != want:
            sys.exit("%s: %s, not %s" % (" ".join(args + how), got, want))
assert found > 8 and nothing > 5, (found, nothing)
PY
done

# Writes of the system count, too: they are reported with their call.
"$TOOLS/mktrace" system t.ctr || exit 1
run 0 "$dump" --json -e sys t.ctr
python3 - stdout >cases <<'PY'
import json, sys
for line in open(sys.argv[1]):
    e = json.loads(line)
    for m in e.get("memory", [e] if e["kind"] == "memory" else []):
        if m["op"] == "write" and m["size"]:
            print(e["pid"], e["tid"], e["ordinal"], m["addr"], e.get("name", "-"))
PY
[ -s cases ] || fail "the system wrote nothing"
while read -r pid tid ordinal addr name; do
    # only the call itself is in between
    run 0 "$dump" --json -p "$pid" -t "$tid" -a "$addr" --last-write-before="$ordinal" t.ctr
    if [ "$name" != - ]; then
        grep -q "\"ordinal\":$ordinal,.*\"name\":\"$name\"" stdout || fail "$name wrote $addr: $(cat stdout)"
    fi
    # --to leaves it out, as it does in the list of events
    "$dump" --json -q -p "$pid" -t "$tid" -a "$addr" --to "$ordinal" --last-write-before="$ordinal" t.ctr >stdout
    ! grep -q "\"ordinal\":$ordinal," stdout || fail "--to $ordinal: $(cat stdout)"
    run 4 "$dump" -e store -p "$pid" -t "$tid" -a "$addr" --last-write-before="$ordinal" --pc 0 t.ctr
    [ ! -s stdout ] || fail "something on stdout"
done <cases

"$TOOLS/mktrace" sample sample.ctr || exit 1
is_usage tracedump --last-write-before=3 sample.ctr
is_usage tracedump -a 0 --last-write-before=x sample.ctr
is_usage tracedump -a 0 --last-write-before=1/0 sample.ctr
is_usage tracedump -a 0 --last-write-before=1 --info sample.ctr
is_usage tracedump -a 0 --first-read-after=1 --state=1 sample.ctr
run 1 "$dump" -a 0 --last-write-before=1 - < <(cat sample.ctr)
one_line "a stream"
run 4 "$dump" -a 0 --last-write-before=99999999/1 sample.ctr
one_line "no such instruction"
grep -q 'instructions only' stderr || fail "$(cat stderr)"
run 4 "$dump" -a 0 -t 99 --last-write-before=1 sample.ctr
one_line "no such thread"
finish
