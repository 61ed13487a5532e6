# SPDX-License-Identifier: MIT
# Every selection, compared with the same selection made from the whole by a few
# lines of Python.
. "$SRC/tests/cli/libtracedump.sh"

for seed in 21 22 23 24; do
    random_trace $seed
    SEED=$seed python3 - <<'PY' || fail "seed $seed"
import json, os, random, subprocess, sys
dump = os.environ["BIN"] + "/tracedump"
rnd = random.Random(int(os.environ["SEED"]))
# A call that did not return is shown before the next event that is shown, so that
# its place depends on the selection: calls without a result are not compared.
def comparable(e):
    return e["kind"] != "syscall" or "result" in e

events = [e for e in (json.loads(line) for line in open("expect.json")) if comparable(e)]
everything = any(e["kind"] == "reg" for e in events)
# With --addr, an instruction that is cut between two chunks is shown only for what its
# first chunk holds: no exec event of these is compared then.
cuts = {tuple(map(int, line.split())) for line in open("expect.json.cut")}
ACCESS = {"load", "store"}
OF_INSNS = {"exec", "reg"} | ACCESS
KINDS = {"sys": {"syscall", "memory", "signal"}, "map": {"map"}, "thr": {"thread"}}
pcs = sorted({int(e["pc"], 16) for e in events if e["kind"] in OF_INSNS})
addrs = sorted({int(e["addr"], 16) for e in events if e["kind"] in ACCESS})

def ranges(values, spread):
    out, texts = [], []
    for _ in range(rnd.choice([1, 1, 3])):
        a = max(0, rnd.choice(values) - rnd.randrange(spread))
        n = rnd.choice([1, rnd.randrange(1, 2 * spread)])
        out.append((a, a + n))
        texts.append(rnd.choice(["0x%x-0x%x" % (a, a + n), "%d+%d" % (a, n)])
                     if n > 1 else hex(a))
    return out, ",".join(texts)

def hit(rs, first, last):
    return any(first < b and last >= a for a, b in rs)

def select(o):
    chosen = []
    for e in events:
        if e["ordinal"] < o.get("from", 0) or e["ordinal"] >= o.get("to", 1 << 64):
            continue
        if "pid" in o and e["pid"] not in o["pid"] or "tid" in o and e["tid"] not in o["tid"]:
            continue
        if ("pc" in o or "addr" in o) and e["kind"] not in OF_INSNS:
            continue
        if "pc" in o:
            pc = int(e["pc"], 16)
            if not hit(o["pc"], pc, pc):
                continue
        chosen.append(e)
    kinds = o.get("kinds", OF_INSNS.union(*KINDS.values()))
    if "addr" in o:
        mem = kinds & ACCESS or ACCESS
        match = [e["kind"] in mem and
                 hit(o["addr"], int(e["addr"], 16), int(e["addr"], 16) + e["size"] - 1)
                 for e in chosen]
        who = {(e["tid"], e["ordinal"]) for e, m in zip(chosen, match) if m}
        chosen = [e for e, m in zip(chosen, match)
                  if m or e["kind"] in ("exec", "reg") and "outside" not in e and
                  (e["tid"], e["ordinal"]) in who]
    chosen = [dict(e) for e in chosen if e["kind"] in kinds]
    for e in chosen:
        if not o.get("val", True):
            e.pop("value" if e["kind"] in ACCESS else "", None)
            e.pop("data" if e["kind"] in ACCESS else "", None)
        if not o.get("time", True):
            e.pop("time", None)
            e.pop("duration", None)
    return chosen

def drop_cut(o, chosen):
    return [e for e in chosen if "addr" not in o or e["kind"] not in ("exec", "reg") or
            (e["tid"], e["ordinal"]) not in cuts]

def check(o, args):
    want = drop_cut(o, select(o))
    for how in (["-j1"], ["-j3", "--no-index"]):
        cmd = [dump, "--json", "--no-disas", "--no-modules", "--group"] + args + how + ["t.ctr"]
        p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        got = [json.loads(line) for line in p.stdout.splitlines()]
        got = drop_cut(o, [e for e in got if comparable(e)])
        nothing = not p.stdout
        if p.returncode != 4 * nothing or nothing and not p.stderr or got != want:
            for g, w in zip(got + [None], want + [None]):
                if g != w:
                    break
            print("%s\n%d, %d events, not %d; got %s, want %s %s" %
                  (" ".join(cmd), p.returncode, len(got), len(want), g, w, p.stderr),
                  file=sys.stderr)
            sys.exit(1)
    return len(want)

total = 0
names = [({"exec"}, "exec"), ({"load"}, "load"), ({"store"}, "store"),
         (ACCESS, "mem"), ({"exec"} | ACCESS, "exec,mem"),
         ({"exec", "load"}, "exec,load"), ({"exec", "store"}, "store,exec")]
if everything:
    names += [({"reg"}, "reg"), ({"exec", "reg"}, "reg,exec"), (KINDS["sys"], "sys"),
              ({"reg"} | ACCESS, "mem,reg"), ({"exec"} | KINDS["sys"] | KINDS["thr"], "exec,sys,thr"),
              (KINDS["map"] | KINDS["thr"], "map,thr"), (KINDS["map"] | {"load", "reg"}, "load,map,reg")]
last = max(e["ordinal"] for e in events)
for n in range(60):
    o, args = {}, []
    if rnd.random() < 0.4:
        o["from"] = rnd.randrange(last + 5)
        args += ["--from", str(o["from"])]
    pick = rnd.random()
    if pick < 0.2:
        o["to"] = o.get("from", 0) + rnd.choice([0, 1, rnd.randrange(last)])
        args += ["--to=%d" % o["to"]]
    elif pick < 0.4:
        count = rnd.choice([0, 1, rnd.randrange(last)])
        o["to"] = o.get("from", 0) + count
        args += ["-n", str(count)]
    if rnd.random() < 0.3:
        o["pid"] = rnd.choice([{100}, {200}, {100, 200}, {300}])
        args += ["--pid", ",".join(map(str, o["pid"]))]
    if rnd.random() < 0.3:
        o["tid"] = set(rnd.sample([100, 101, 102, 200, 999], rnd.randrange(1, 4)))
        for t in o["tid"]:
            args += ["-t", str(t)]
    if rnd.random() < 0.3:
        o["pc"], text = ranges(pcs, 4000)
        args += ["--pc", text]
    if rnd.random() < 0.5:
        o["addr"], text = ranges(addrs, rnd.choice([8, 100000, 100000000]))
        args += ["--addr", text]
    if rnd.random() < 0.6:
        o["kinds"], text = rnd.choice(names)
        o["val"] = everything and bool(o["kinds"] & ACCESS) and rnd.random() < 0.5
        timed = o["kinds"] & KINDS["sys"].union(KINDS["map"], KINDS["thr"])
        o["time"] = bool(timed) and rnd.random() < 0.5
        args += ["--events", text + ",val" * o["val"] + ",time" * o["time"]]
    total += check(o, args)
check({"from": 3, "to": (1 << 64) - 1}, ["--from=3", "--count=18446744073709551615"])
assert total > 1000, "the selections hardly selected anything: %d" % total
PY
done
finish
