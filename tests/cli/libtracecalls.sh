# SPDX-License-Identifier: MIT
# Functions that the tests of tracesym --trace-calls share; sourced, not run.  The programs
# of calls/ print what each function was given and what it returned.
. "$SRC/tests/cli/libcalls.sh"
sym=$BIN/tracesym
sources=$SRC/tests/cli/calls
events=mem,val,reg,sys,map,thr,time

# compiler TARGET: the words of its command; fails if this machine cannot build for it or run it
compiler() {
    [ -x "$qemu_dir/$(qemu_of "$1")" ] && python3 - "$1" <<'END'
import os, sys
sys.path.insert(0, os.environ["SRC"] + "/tests/guests")
import table
t = table.TARGETS[sys.argv[1]]
print(t.cc + " " + t.flags)
sys.exit(1 if t.missing() else 0)
END
}

# compile TARGET PROGRAM FLAG...: out of the source of that name
compile() {
    local target=$1 program=$2 cc
    shift 2
    cc=$(compiler "$target") || return 1
    # shellcheck disable=SC2086 # several words
    $cc "$@" -static -w -o "$program" "$sources/$program.c" 2>cc.err ||
        { fail "$target: $(head -3 cc.err)"; return 1; }
    done_any=1
}

# record_all TARGET FILE COMMAND...: stdout goes to `witness'
record_all() {
    local target=$1 file=$2
    shift 2
    rm -f "$file"
    "$record" -q -e "$events" --qemu-dir "$qemu_dir" -o "$file" -- "$(qemu_of "$target")" \
        "$@" >witness 2>stderr </dev/null
    [ -s "$file" ] || fail "$target: no trace of $*: $(head -3 stderr)"
}

# Values of arguments and results.  The targets after the first ones: a value that is not
# known there may be only of these functions (long double; what mips64 returns in floats).
# values TARGET FLAGS [FUNCTION]
values() {
    # shellcheck disable=SC2086 # several words
    compile "$1" values -g $2 || return 0
    record_all "$1" values.ctr ./values
    run 0 "$sym" -q --json --trace-calls 't_*' values.ctr
    silent "$1 $2"
    python3 "$sources/compare.py" witness stdout "${3-}" >result ||
        fail "$1 $2: $(head -6 result)"
}

# Frames and variables when a signal ends the program
# crash TARGET
crash() {
    local target=$1
    compile "$target" crash -g -O0 || return 0
    record_all "$target" crash.ctr ./crash
    run 0 "$sym" -q --backtrace=crash --locals crash.ctr
    python3 - "$sources/crash.c" <<'END' || fail "$target: $(cat stdout)"
import re, sys
lines = {s: i for i, s in enumerate(map(str.strip, open(sys.argv[1])), 1)}
inner = open("witness").read().splitlines()
name, line = inner[0].split("\t")[0].split()
fault = lines["*nowhere = depth + state + copy[0];"]
call = lines['return last(depth, "the end") + (int)sum + p.x;']
again = lines["return down(depth + 1, part / 2) + (int)sum + p.x + (int)p.y;"]
want = [["last", fault, inner[0].split("\t")[1], set(inner[1:])]]
for depth, part, at in ((2, 1.625, call), (1, 3.25, again), (0, 6.5, again)):
    want.append(["down", at, "depth=%d, part=%g" % (depth, part),
                 {"p = {x = %d, y = %g}" % (depth, part), "sum = %d" % (depth * 1000)}])
want.append(["main", lines["return down(0, 6.5) + first;"], "", {"first = 11"}])
got = []
for text in open("stdout"):
    m = re.match(r"#(\d+) +(?:0x[0-9a-f]+ in )?(\w+) \((.*)\)(?: at \S*:(\d+))?", text)
    if m:
        got.append([m[2], int(m[4] or 0), m[3], set()])
    elif text.startswith(" ") and got:
        got[-1][3].add(text.strip())
bad = 0
for w, g in zip(want, got):
    ok = w[:3] == g[:3] and w[3] <= g[3]
    if not ok:
        bad = 1
        print(w, "is not", g)
sys.exit(bad or len(got) < len(want))
END
}
