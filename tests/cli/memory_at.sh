# SPDX-License-Identifier: MIT
# The memory example prints the same bytes as tracedump --state --memory, which knows the same
# without the contents of files: what a trace shows is known by the library alone.
. "$SRC/tests/cli/libtracedump.sh"
need python3
at=$(ls "$BIN/memory_at" "$BIN"/examples/memory_at 2>/dev/null | head -1)
[ -n "$at" ] || { echo "memory_at was not built"; exit 77; }
mkdir none # has no files
cat >compare.py <<'END'
import json, random, subprocess, sys
dump, example, trace = sys.argv[1:4]


def lines(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 4), done
    return done.stdout.splitlines()


accesses = [json.loads(line) for line in lines(dump, "-q", "--json", "-e", "mem", trace)]
known = places = 0
for a in random.Random(5).sample(accesses, 12):
    start, size, tid = int(a["addr"], 16) - 5 & ~7, random.Random(a["ordinal"]).randrange(1, 6000), str(a["tid"])
    want = []
    for o in map(json.loads, lines(dump, "-q", "--sysroot=none", "--json", "-t", tid, "--state", str(a["ordinal"]),
                                   "--memory", "0x%x+%d" % (start, size), trace)):
        if o["kind"] == "memory":
            assert int(o["address"], 16) == start + len(want), o
            want += [o["bytes"][2 * i:2 * i + 2] for i in range(o["size"])] if o["bytes"] else ["??"] * o["size"]
    got = [line.split() for line in lines(example, trace, tid, str(a["ordinal"]), hex(start), str(size))]
    assert [int(row[0], 16) for row in got] == list(range(start, start + size, 16)), got
    got = [byte for row in got for byte in row[1:]]
    assert got == want and len(got) == size, (a, [(hex(start + i), x, y) for i, (x, y) in enumerate(zip(got, want)) if x != y][:3])
    known += sum(byte != "??" for byte in got)
    places += 1
print(places, "places,", known, "bytes known")
END
for maker in "random-all 4 12 80 t.ctr expect.json" "key t.ctr 3" "random-all 6 12 80 t.ctr expect.json"; do
    # shellcheck disable=SC2086
    "$TOOLS/mktrace" $maker || exit 1
    run 0 python3 compare.py "$BIN/tracedump" "$at" t.ctr
    grep -Eq '^12 places, [0-9]{3,} bytes known$' stdout || fail "$maker: $(tail -n 3 stdout; tail -n 3 stderr)"
done
# A time: after the last event it is the end
"$TOOLS/mktrace" key t.ctr 3 || exit 1
last=$("$BIN/tracedump" -q --json -e exec t.ctr | tail -n 1 | sed 's/.*"ordinal":\([0-9]*\).*/\1/')
run 0 "$at" t.ctr 9 $((last + 1)) 0x20000 4096
cp stdout want
run 0 "$at" t.ctr 9 1000s 0x20000 4096
same want stdout "the end by its time"
run 0 "$at" t.ctr 9 0s 0x20000 16
run 2 "$at" t.ctr 9 0 0x20000
for bad in "77 0 0x20000 16" "9 $((last + 2)) 0x20000 16" "9 x 0x20000 16" "9 0 0xfffffffffffffff8 16"; do
    # shellcheck disable=SC2086
    run 1 "$at" t.ctr $bad
    one_line "$bad"
done
run 1 "$at" - 9 0 0x20000 16 < <(cat t.ctr)
one_line "of a stream"
finish
