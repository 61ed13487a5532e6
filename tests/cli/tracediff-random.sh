# SPDX-License-Identifier: MIT
# Planted differences are found exactly: of random programs, each recorded twice with other
# addresses, ids, and cuts of blocks and chunks, or copied but for the difference; and nothing is
# found where there is none.
. "$SRC/tests/cli/libtracedump.sh"
python3 - "$TOOLS/mktrace" "$BIN/tracediff" <<'END' || fail "planted differences"
import json, subprocess, sys
mktrace, tracediff = sys.argv[1:]
WHAT = ["none", "value", "address", "inserted", "result", "memory", "end", "thread"]
REG = ["none", "register", "kept", "value", "result"]
SHOWN = {"inserted": "code", "result": "call", "memory": "call", "kept": "register"}
bad = 0


def check(seed, what):
    plan = subprocess.run([mktrace, "diff", str(seed), what, "a.ctr", "b.ctr"], check=True,
                          capture_output=True, text=True).stdout.split()
    run = subprocess.run([tracediff, "--json", "a.ctr", "b.ctr"], capture_output=True, text=True)
    copy = what.startswith("copy-")
    what = what.removeprefix("copy-").removeprefix("reg-")
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    at, only_a, only_b = map(int, plan[1:])
    if run.stderr:
        return run.stderr
    if run.returncode != (what != "none"):
        return "status %d" % run.returncode
    if len(lines) != (2 if what != "none" else 1) or lines[-1]["kind"] != "end":
        return "%d lines" % len(lines)
    if copy and what != "end" and lines[-1]["skipped"] < 10000:
        return "only %d skipped" % lines[-1]["skipped"]
    if what == "none":
        return None
    d = lines[0]
    if d["what"] != SHOWN.get(what, what):
        return "it is " + d["what"]
    if what == "thread":
        return None if "a" not in d and d["b"]["instructions"] else "thread"
    if (d["a"]["ordinal"], d["b"]["ordinal"], d["equal"]) != (at, at, at):
        return "at %d and %d" % (d["a"]["ordinal"], d["b"]["ordinal"])
    if what in ("inserted", "end") and (d["a"]["only"], d["b"]["only"]) != (only_a, only_b):
        return "only %d and %d" % (d["a"]["only"], d["b"]["only"])
    return None


for seed in range(320):
    what = (WHAT[seed % len(WHAT)] if seed < 200 else "copy-" + WHAT[seed % 7] if seed < 240 else
            "reg-" + REG[seed % len(REG)])
    wrong = check(seed, what)
    if wrong:
        print("seed %d, %s: %s" % (seed, what, wrong))
        bad += 1
sys.exit(bad > 0)
END
finish
