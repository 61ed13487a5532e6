# SPDX-License-Identifier: MIT
# --histogram, compared with counts over every event of tracedump and tracesym: of random
# traces, and of recorded programs of three targets.
. "$SRC/tests/cli/librecord.sh"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}

cat >check.py <<'END'
"""check.py TRACE SEED N: the histograms of a trace, and of N random selections of it."""
import collections, json, os, random, re, subprocess, sys
trace, seed, selections = sys.argv[1:]
rnd = random.Random(int(seed))
PREFIXES = re.compile(r"(?:(?:rep|repe|repz|repne|repnz|lock|bnd|notrack|data16|addr32|xacquire|xrelease) )*\S+")

def run(tool, *args):
    p = subprocess.run([os.environ["BIN"] + "/" + tool, "-q", "--json", *args, trace],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.returncode in (0, 4), (args, p.returncode, p.stderr)
    return p.returncode, p.stderr, [json.loads(line) for line in p.stdout.splitlines()]

def mnemonic(e):
    first = PREFIXES.match(e["disas"])[0]
    return None if first == ".byte" else first

def key(by, row):
    """What a row is about."""
    if by == "function":
        return row.get("module"), row.get("function")
    return row.get(by)

def by_event(args):
    """All histograms by the events themselves, {by: {key: [instructions] or [loads, stores]}},
    and the events."""
    want = {by: collections.defaultdict(lambda: [0, 0]) for by in
            ("mnemonic", "function", "module", "page", "size")}
    status, _, events = run("tracedump", *args)
    assert status == (0 if events else 4)
    for e in events:
        if e["kind"] == "exec":
            want["mnemonic"][mnemonic(e)][0] += 1
            want["module"][e.get("module")][0] += 1
        elif e["kind"] in ("load", "store"):
            which = e["kind"] == "store"
            want["page"][hex(int(e["addr"], 16) & ~0xfff)][which] += 1
            want["size"][e["size"]][which] += 1
    for e in run("tracesym", *args)[2]:
        if e["kind"] == "exec":
            want["function"][e.get("module"), e.get("function")][0] += 1
    return want, events

def check(by, args, want):
    status, err, rows = run("tracedump", "--histogram=" + ",".join(by), *args)
    assert status == (0 if any(want[k] for k in by) else 4), (by, args, status)
    assert len(err.splitlines()) == sum(not want[k] for k in by), err
    at = 0
    for k in by:
        if not want[k]:
            assert "histogram by %s: no " % k in err, err
            continue
        got, last = collections.defaultdict(lambda: [0, 0]), None
        totals = [0, 0]
        while "total" not in rows[at]:
            row = rows[at]
            n = [row["instructions"], 0] if "instructions" in row else [row["loads"], row["stores"]]
            assert row["by"] == k and (last is None or sum(n) <= last) and sum(n) > 0, (row, last)
            last = sum(n)
            for i in range(2):
                got[key(k, row)][i] += n[i]
                totals[i] += n[i]
            at += 1
        total = rows[at]
        assert totals == ([total["instructions"], 0] if "instructions" in total else
                          [total["loads"], total["stores"]]), total
        at += 1
        assert got == want[k], (k, args, [(x, got.get(x), want[k].get(x)) for x in
                                          {*got, *want[k]} if got.get(x) != want[k].get(x)][:5])
    assert at == len(rows)

ALL = ["mnemonic", "function", "module", "page", "size"]
whole, everything = by_event(["-e", "exec,mem"])
pcs = sorted({e["pc"] for e in everything})
addrs = sorted({e["addr"] for e in everything if "addr" in e})
tids = sorted({e["tid"] for e in everything})
last = max(e["ordinal"] for e in everything)
for how in (["-j1"], ["-j3"], ["--no-index"]):
    check(ALL, ["-e", "exec,mem", *how], whole)
for n in rnd.sample(range(8), int(selections)):
    args = []
    if n % 4 == 0:
        args += ["-t", str(rnd.choice(tids))]
    if n % 4 == 1:
        args += ["--from=%d" % rnd.randrange(last), "-n%d" % rnd.randrange(1, last)]
    if n % 4 == 2:
        args += ["--pc", "%s+%d" % (rnd.choice(pcs), rnd.choice([1, 64, 4096]))]
    if n % 4 == 3:
        args += ["-a", "%s+%d" % (rnd.choice(addrs), rnd.choice([1, 64, 100000]))]
    if n == 5:
        args += ["--from-time=0.01"]
    args += ["-e", rnd.choice(["exec,mem", "exec,mem", "mem", "exec,store"])]
    want, _ = by_event(args)
    check(rnd.sample(ALL, rnd.randrange(1, 6)), args, want)
END

for seed in 61 62; do
    random_trace $seed
    python3 check.py t.ctr $seed 8 || fail "seed $seed"
done

# The text: the rows of the highest counts, the rest, the total
"$TOOLS/mktrace" sample sample.ctr || exit 1
run 0 "$dump" --histogram=mnemonic,page,size sample.ctr
silent
golden tracedump-histogram.txt
run 0 "$dump" --histogram=mnemonic --top=1 sample.ctr
[ "$(wc -l <stdout)" -eq 4 ] && grep -q ' more$' stdout || fail "--top: $(cat stdout)"
"$dump" --histogram=size,mnemonic sample.ctr >file
"$dump" --histogram=size,mnemonic - < <(cat sample.ctr) >stream
same file stream "a stream differs"
run 4 "$dump" --histogram=page,mnemonic --from=1000000 sample.ctr
[ ! -s stdout ] && [ "$(wc -l <stderr)" -eq 2 ] || fail "nothing to count: $(cat stdout stderr)"

"$TOOLS/mktrace" target alpha alpha.ctr || exit 1
run 0 "$dump" --histogram=mnemonic alpha.ctr
if "$dump" --info alpha.ctr | grep -q 'none for this target'; then
    one_line "a machine that Capstone does not know"
    grep -q "Capstone does not know alpha" stderr || fail "$(cat stderr)"
else
    silent "a machine that Capstone knows"
fi

cat >app.c <<'END'
#include <stdio.h>
#include <string.h>
static int sum(const char *s)
{
    int n = 0;
    for (; *s; s++) {
        n += *s % 7 ? 1 : 3;
    }
    return n;
}
int main(int argc, char **argv)
{
    char text[200] = "";
    for (int i = 0; i < 20; i++) {
        strcat(text, argv[argc - 1]);
    }
    printf("%d\n", sum(text));
    return 0;
}
END
for target in arm:arm-linux-gnueabihf x86_64:x86_64-linux-gnu mips:mips-linux-gnu; do
    machine=${target#*:}
    qemu=$qemu_dir/qemu-${target%:*}
    if ! command -v "$machine-gcc" >/dev/null || ! command -v "$qemu" >/dev/null; then
        [ -z "${CANNOLI_EXPECT_QEMU:-}" ] || fail "$target: no compiler or no QEMU"
        continue
    fi
    "$machine-gcc" -O1 -static -o "app-$machine" app.c || exit 1
    run 0 "$record" -q --qemu-dir "$qemu_dir" -o app.ctr -- "$qemu" "./app-$machine" abcdef
    python3 check.py app.ctr 1 1 || fail "$target"
done
finish
