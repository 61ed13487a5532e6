# SPDX-License-Identifier: MIT
# tracedump --state --memory of traces with key frames: what was written or is in a key frame
# is known and right, at random places; the frames themselves with -e key.
. "$SRC/tests/cli/libtracedump.sh"
need python3
cat >compare.py <<'END'
import json, random, re, subprocess, sys
dump, trace, places = sys.argv[1], sys.argv[2], int(sys.argv[3])
BASE, BYTES = 0x20000, 3 * 4096


def run(*options):
    done = subprocess.run([dump, "-q", *options, trace], capture_output=True, text=True)
    assert done.returncode in (0, 4), done
    return [json.loads(line) for line in done.stdout.splitlines()]


lines = open(trace + ".expect").read().splitlines()
for line in random.Random(7).sample(lines, places):
    ordinal, want = line.split()
    # all of it, a page, some bytes
    for start, size in ((0, BYTES), (4096, 4096), (random.randrange(BYTES - 50), 50)):
        got = {}
        for o in run("--json", "--state", ordinal, "--memory", "0x%x+%d" % (BASE + start, size)):
            if o["kind"] == "memory":
                at = int(o["address"], 16) - BASE
                for i in range(o["size"]):
                    got[at + i] = o["bytes"][2 * i:2 * i + 2] if o["bytes"] else "??"
        assert sorted(got) == list(range(start, start + size)), (ordinal, start)
        for i in range(start, start + size):
            w = want[2 * i:2 * i + 2]
            # What was not written before a later access may show; nothing may be wrong.
            if w not in ("..", "??"):
                assert got[i] == w, (ordinal, hex(BASE + i), got[i], w)
frames = run("--json", "-e", "key")
assert frames and all(o["kind"] == "keyframe" for o in frames), frames[:1]
assert not [o for o in run("--json") if o["kind"] == "keyframe"]
print(len(frames), "key frames")
END
for seed in 1 2 3; do
    "$TOOLS/mktrace" key k.ctr $seed || fail "mktrace"
    run 0 python3 compare.py "$BIN/tracedump" k.ctr 6
    grep -q "key frames" stdout || fail "seed $seed: $(tail -2 stderr)"
done
# A text, and what --info says
run 0 "$BIN/tracedump" -e key k.ctr
grep -Eq '^ +[0-9]+ 9/9 +\+\+\+ key frame 0x2[0-2]000/4096 \+\+\+$' stdout || fail "no key frames: $(head -1 stdout)"
run 0 "$BIN/tracedump" --info k.ctr
grep -q "^events .*,key" stdout || fail "--info has no key frames"
exit $failed
