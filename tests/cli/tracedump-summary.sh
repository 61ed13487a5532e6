# SPDX-License-Identifier: MIT
# --summary, compared with --info and with the lines of all events.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"

for seed in 41 42; do
    random_trace $seed
    SEED=$seed python3 - <<'PY' || fail "seed $seed"
import json, os, random, subprocess, sys
dump = os.environ["BIN"] + "/tracedump"
rnd = random.Random(int(os.environ["SEED"]))
def run(args, stream=False):
    p = subprocess.run([dump, "--json"] + args + ["-" if stream else "t.ctr"],
                       stdin=subprocess.Popen(["cat", "t.ctr"], stdout=subprocess.PIPE).stdout,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert (p.returncode == 4 and p.stderr.count("\n") == 1 or
            p.returncode == 0 and not p.stderr), (args, p.returncode, p.stderr)
    lines = [json.loads(line) for line in p.stdout.splitlines()]
    found = any(lines[-1].get(n, 1) for n in NUMBERS) if lines else False
    assert found == (p.returncode == 0), (args, p.returncode, lines)
    return lines
NUMBERS = ("instructions", "loads", "stores")
KIND = dict(zip(("exec", "load", "store"), NUMBERS))
info = run(["--info"])[0]
of_info = [(t["pid"], t["tid"]) + tuple(t[n] for n in NUMBERS) for t in info["threads"]]
total = tuple(info[n] for n in NUMBERS)
for how in (["-j1"], ["-j3"], ["--no-index"]):
    for stream in (False, True):
        got = run(["--summary"] + how, stream)
        threads = [(t["pid"], t["tid"]) + tuple(t[n] for n in NUMBERS) for t in got[:-1]]
        assert threads == [t for t in of_info if any(t[2:])], (how, threads, of_info)
        assert tuple(got[-1][n] for n in NUMBERS) == total and got[-1]["runs"] > 0, (how, got[-1])

events = [e for e in run(["-e", "exec,mem", "--no-disas", "--no-modules"])]
pcs = sorted({int(e["pc"], 16) for e in events})
addrs = sorted({int(e["addr"], 16) for e in events if "addr" in e})
last = max(e["ordinal"] for e in events)
for n in range(25):
    args = []
    if rnd.random() < 0.5:
        args += ["--from=%d" % rnd.randrange(last), "-n%d" % rnd.randrange(1, last)]
    if rnd.random() < 0.3:
        args += ["-t", "100,102"]
    if rnd.random() < 0.3:
        a = rnd.choice(pcs)
        args += ["--pc", "0x%x+%d" % (a, rnd.choice([1, 64, 4096]))]
    if rnd.random() < 0.3:
        args += ["-a", "0x%x+%d" % (rnd.choice(addrs), rnd.choice([1, 64, 100000]))]
    if rnd.random() < 0.3:
        args += [rnd.choice(["--reads", "--writes"])]
        if rnd.random() < 0.7:
            args += ["-e", rnd.choice(["exec", "exec,mem", "mem"])]
    want = dict.fromkeys(NUMBERS, 0)
    for e in run(["--no-disas", "--no-modules"] + ([] if set(args) & {"-e", "--reads", "--writes"} else ["-e", "exec,mem"]) + args):
        want[KIND[e["kind"]]] += 1
    got = run(["-c", "-j%d" % rnd.randrange(1, 4)] + args)[-1]
    assert all(got[n] == want[n] for n in NUMBERS), (args, got, want)
PY
done

"$TOOLS/mktrace" sample sample.ctr || exit 1
run 0 "$dump" -c sample.ctr
silent
golden tracedump-summary.txt
run 4 "$dump" -c --pc=0x1-0x2 sample.ctr
grep -q '^ *0  *0  *0  total$' stdout || fail "no totals: $(cat stdout)"
[ "$(cat stderr)" = 'tracedump: sample.ctr: there is no such event in what is selected' ] || fail "$(cat stderr)"
is_usage tracedump -c -e sys sample.ctr
is_usage tracedump -c --info sample.ctr
finish
