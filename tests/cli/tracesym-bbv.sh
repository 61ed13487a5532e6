# SPDX-License-Identifier: MIT
# Basic-block vectors, compared with those computed from tracedump's instructions by a few
# lines of Python; their sums are the number of instructions.
. "$SRC/tests/cli/libtracedump.sh"
sym="$BIN/tracesym"

cat >check.py <<'END'
import json, os, re, subprocess, sys
trace, interval, prefix = sys.argv[1], int(sys.argv[2]), sys.argv[3]
options = sys.argv[4:]
start = int(options[options.index("--from") + 1]) if "--from" in options else 0


def run(tool, *args):
    p = subprocess.run([os.environ["BIN"] + "/" + tool, *args, trace], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.returncode == 0 and not p.stderr, (tool, args, p)
    return p.stdout


pcs = {}
for line in open(prefix + ".pcs"):
    number, pc, function = re.fullmatch(r"F:(\d+):([0-9a-f]+):(.+)\n", line).groups()
    assert int(number) == len(pcs) + 1, "numbers are not dense"
    pcs[int(number)] = int(pc, 16)
threads = json.loads(run("tracedump", "--info", "--json"))["threads"]
execs = {}
for line in run("tracedump", "--json", "-e", "exec", "--no-disas", "--no-modules", *options).splitlines():
    e = json.loads(line)
    execs.setdefault(e["tid"], []).append(int(e["pc"], 16))
seen = set()
for tid, v in execs.items():
    lines = open("%s.%d" % (prefix, tid)).read().splitlines()
    assert len(lines) == -(-len(v) // interval), (tid, len(lines), len(v))
    total = 0
    for k, line in enumerate(lines):
        assert line.startswith("T:"), line
        pairs = [tuple(map(int, m)) for m in re.findall(r":(\d+):(\d+)   ", line)]
        assert "T" + "".join(":%d:%d   " % p for p in pairs) == line
        numbers = [p[0] for p in pairs]
        assert numbers == sorted(set(numbers)) and all(n > 0 for _, n in pairs)
        assert all(n in pcs for n in numbers)
        seen.update(numbers)
        part = v[k * interval:(k + 1) * interval]
        assert sum(n for _, n in pairs) == len(part)
        total += len(part)
        # Each instruction is in a block that begins at or before it: without knowing the
        # ends of blocks, no more is known of a block that is alone in its interval.
        # Blocks whose first instruction ran in the interval must be there.
        heads = {pcs[n] for n in numbers}
        assert heads & set(part) or len(pairs) == 1, (tid, k)
    assert total == len(v)
if not options:
    assert {t["tid"]: t["instructions"] for t in threads if t["instructions"]} == \
        {tid: len(v) for tid, v in execs.items()}
    assert seen == set(pcs), "a block without instructions"
END

# Handmade: loops of 3 instructions after a block of 4
"$TOOLS/mktrace" sample sample.ctr || exit 1
run 0 "$sym" --bbv 5 -t 4242 --bbv-pcs pcs sample.ctr
golden tracesym-bbv.txt
mv pcs stdout
golden tracesym-bbv-pcs.txt

for seed in 31 32; do
    "$TOOLS/mktrace" random $seed 12 200 t.ctr expect.json || exit 1
    n=0
    for interval in 1 7 1000 100000000; do
        n=$((n + 1))
        run 0 "$sym" -q --bbv $interval -o v$n --bbv-pcs v$n.pcs t.ctr
        python3 check.py t.ctr $interval v$n || fail "seed $seed, intervals of $interval"
    done
    run 0 "$sym" -q --bbv 100 --from 150 -n 777 -o part --bbv-pcs part.pcs t.ctr
    python3 check.py t.ctr 100 part --from 150 -n 777 || fail "seed $seed, a part"
    # The same with any number of workers, and from a stream
    for tid in 100 101; do
        run 0 "$sym" --bbv 1000 -t $tid -j1 t.ctr
        mv stdout want
        [ -s want ] || fail "no output for thread $tid"
        run 0 "$sym" --bbv 1000 -t $tid -j2 t.ctr
        same want stdout "-j1 and -j2"
        "$sym" --bbv 1000 -t $tid - <t.ctr >stdout || fail "a stream"
        same want stdout "a stream"
    done
    for jobs in 1 2; do
        run 0 "$sym" -q --bbv 7 -o again -j$jobs --bbv-pcs again.pcs t.ctr
        for file in v2.*; do
            same $file again${file#v2} "$file with -j$jobs"
        done
    done
    rm -f v? v?.* again*
done
finish
