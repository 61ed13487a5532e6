# SPDX-License-Identifier: MIT
# Names of code made at run time, from perf maps and jitdump files: all tools show them;
# where functions replaced others, the right one counts; files of others, of another time
# and damaged ones are reported on one line.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
cov=$BIN/tracecov
dump=$BIN/tracedump
need python3
"$TOOLS/mktrace" generated t.ctr || exit 1
mkdir -p maps root/tmp root/dumps empty
here="--sysroot=root" # nothing of /tmp is looked for
start=1700000000      # of the recording

# calls FILE NAME=COUNT...: the calls of functions in the JSON of --functions, and no others
# in generated code
calls() {
    python3 - "$@" <<'END' || fail "$*: $(cat "$1")"
import json, sys
got = {}
for line in open(sys.argv[1]):
    e = json.loads(line)
    module = (e["module"] or "").rsplit("/", 1)[-1]
    if e["kind"] == "function" and module[:5] in ("perf-", "jit-4"):
        got[module + "!" + e["function"]] = e["calls"]
want = {k: int(n) for k, n in (a.rsplit("=", 1) for a in sys.argv[2:])}
sys.exit(got != want and "%s, not %s" % (got, want))
END
}

# functions [OPTION...] -- NAME=COUNT...
functions() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run 0 "$sym" -q --functions --json "$here" "${options[@]}" t.ctr
    silent "${options[@]}"
    calls stdout "$@"
}

# ---- a perf map: the second f has the same place
functions --
cat >maps/perf-4242.map <<'END'
20000 8 f
20010 8 g(int)
END
map=perf-4242.map
functions --perf-map=maps -- "$map!f=10" "$map!g(int)=10"
functions --perf-map=maps/$map -- "$map!f=10" "$map!g(int)=10"
functions --perf-map=maps --pid=4242 -- "$map!f=8" "$map!g(int)=8"
functions --perf-map=maps --function=g -- "$map!g(int)=10"
functions --perf-map=maps --module="$map" -- "$map!f=10" "$map!g(int)=10"

# The child has its own map, too.
mkdir both
cp maps/$map both
echo "20000 8 JS:~child" >both/perf-5000.map
functions --perf-map=both -- "$map!f=8" "$map!g(int)=10" "perf-5000.map!JS:~child=2"
functions --perf-map=both --function='JS:*' -- "perf-5000.map!JS:~child=2"

m=--perf-map=maps
run 0 "$sym" -q "$here" $m t.ctr
[ "$(grep -c ' perf-4242.map f+0x0' stdout)" -eq 10 ] || fail "listing: $(head -20 stdout)"
[ "$(grep -c ' perf-4242.map g(int)+0x4' stdout)" -eq 10 ] || fail "listing: $(head -20 stdout)"
run 0 "$sym" -q --json "$here" $m t.ctr
grep -q '"module":"maps/perf-4242.map","vaddr":"0x20004","function":"f","offset":"0x4"' stdout ||
    fail "JSON: $(head -5 stdout)"
run 0 "$sym" -q --calls -f folded "$here" $m t.ctr
grep -Eq '^process-4242;[^;]*;f 16$' stdout || fail "folded: $(cat stdout)"
grep -Eq '^process-4242;[^;]*;g\(int\) 16$' stdout || fail "folded: $(cat stdout)"
run 0 "$sym" -q --list=functions "$here" $m t.ctr
[ "$(paste -sd, stdout)" = f,g ] || fail "--list: $(cat stdout)"
for name in g "$map!g"; do
    run 0 "$dump" -q --pc "$name" "$here" $m t.ctr
    [ "$(wc -l <stdout)" -eq 20 ] || fail "--pc $name: $(head -30 stdout)"
    grep -vq ' perf-4242.map+0x2001[04] ' stdout && fail "--pc $name: $(head -3 stdout)"
done
run 0 "$dump" -q --histogram=function "$here" $m t.ctr
grep -q '  *20 .*f.*perf-4242.map' stdout || fail "--histogram: $(cat stdout)"
run 0 "$dump" -q "$here" $m t.ctr
[ "$(grep -c ' perf-4242.map+0x20000 ' stdout)" -eq 10 ] || fail "tracedump: $(head stdout)"
run 0 "$cov" -f text "$here" $m t.ctr
grep -Eq '^ *10 +2/2 +g\(int\)' stdout || fail "tracecov: $(cat stdout)"
grep -q 'perf-4242.map: of code that no ELF file has only what ran is known' stderr ||
    fail "tracecov: $(cat stderr)"
run 0 "$cov" -q -f drcov -o t.drcov "$here" $m t.ctr
grep -aq perf-4242 t.drcov && fail "drcov has code of no file"

# ---- later lines win; a damaged line is reported
cat >maps/$map <<'END'
1f000 10000 everything
20010 8 g
20000 8 first
nonsense
20000 8 f
END
run 0 "$sym" --functions --json "$here" $m t.ctr
calls stdout "$map!f=10" "$map!g=10"
[ "$(grep -c 'maps/perf-4242.map: line 4 is wrong (not START SIZE NAME); the other lines are used' stderr)" -eq 1 ] ||
    fail "damage: $(cat stderr)"

# ---- which file is whose
printf '20000 8 f\n' >any.map
run 0 "$sym" --functions --json "$here" --perf-map=any.map t.ctr
calls stdout
grep -q 'any.map: several processes of t.ctr made code: name the file' stderr || fail "$(cat stderr)"
run 0 "$sym" --functions --json "$here" --perf-map=empty t.ctr
grep -q -- '--perf-map=empty: no perf-PID.map or jit-PID.dump there' stderr || fail "$(cat stderr)"
"$TOOLS/mktrace" mapped /nowhere/app mapped.ctr
run 0 "$sym" --functions --json "$here" $m mapped.ctr
grep -q -- '--perf-map: no process of mapped.ctr ran code outside of files' stderr || fail "$(cat stderr)"
"$TOOLS/mktrace" sample sample.ctr
run 0 "$sym" -q --count=1 $m sample.ctr
run 0 "$sym" --count=1 $m sample.ctr
grep -q 'sample.ctr: recorded without mappings, which --perf-map needs' stderr || fail "$(cat stderr)"
run 1 "$sym" --perf-map=none t.ctr
one_line "no such file"
is_usage tracesym --perf-map= t.ctr

# ---- files that are found by themselves: whose and when
found=root/tmp/$map
echo "20000 8 f" >"$found"
# found_is TEXT [NAME=COUNT...]: what is reported about the file
found_is() {
    run 0 "$sym" --functions --json "$here" t.ctr
    grep "$found" stderr >about
    grep -q "$found: $1" about || fail "$1: $(cat stderr)"
    [ "$(wc -l <about)" -eq 1 ] || fail "$1: $(cat about)"
    calls stdout "${@:2}"
}
touch -d @$start "$found"
functions -- "$map!f=10"
touch -d @$((start - 100)) "$found"
found_is "is older than the recording; .*(--perf-map uses it)"
touch -d @$((start + 100)) "$found"
found_is "was written after the recording; "
functions --perf-map="$found" -- "$map!f=10"
if [ "$(id -u)" -eq 0 ]; then
    touch -d @$start "$found"
    chown 12345 "$found"
    found_is "belongs to another user; "
fi
rm "$found"
mkfifo "$found"
found_is "is no regular file; "
rm "$found"

# ---- jitdump files
cat >mkdump.py <<'END'
"""mkdump.py FILE [flags=N] [bare] [cut]: old and new function at 0x20000, g at 0x20010"""
import struct, sys
options = sys.argv[2:]
flags = 1 if "arch" in options else 0
out = struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 40, 0, 4242, 1000000000, flags)
def record(kind, time, body):
    global out
    out += struct.pack("<IIQ", kind, 16 + len(body), time) + body
def load(time, addr, size, index, name, code):
    record(0, time, struct.pack("<IIQQQQ", 4242, 4242, addr, addr, size, index) +
           name + b"\0" + (b"" if "bare" in options else bytes.fromhex(code)))
record(2, 0, struct.pack("<QQ", 0x20000, 2) + struct.pack("<QII", 0x20000, 7, 0) +
       b"/src/one.js\0" + struct.pack("<QII", 0x20004, 8, 0) + b"\xff\0")
load(1000000500, 0x20000, 8, 1, b"old", "0100a0e31eff2fe1")
load(1000000600, 0x20010, 8, 2, b"g", "0200a0e31eff2fe1")
load(1001500000, 0x20000, 8, 3, b"new", "0300a0e31eff2fe1")
open(sys.argv[1], "wb").write(out[:-3] if "cut" in options else out)
END
d=jit-4242.dump
python3 mkdump.py root/dumps/$d
touch -d @$start root/dumps/$d
functions -- "$d~1!old=5" "$d!new=5" "$d!g=10"
run 0 "$sym" -q "$here" t.ctr
[ "$(grep -c ' jit-4242.dump~1 old+0x0 /src/one.js:7' stdout)" -eq 5 ] || fail "lines: $(head stdout)"
[ "$(grep -c ' jit-4242.dump~1 old+0x4 /src/one.js:8' stdout)" -eq 5 ] || fail "lines: $(head stdout)"
run 0 "$sym" -q --calls -f folded "$here" t.ctr
grep -Eq '^process-4242;[^;]*;old 10$' stdout || fail "folded: $(cat stdout)"
grep -Eq '^process-4242;[^;]*;new 6$' stdout || fail "folded: $(cat stdout)"
run 0 "$dump" -q --pc old "$here" t.ctr
run 0 "$cov" -q -f text "$here" t.ctr
grep -q 'one.js' stdout || fail "tracecov: $(cat stdout)"

# Without code by time, and then without times
python3 mkdump.py root/dumps/$d bare
touch -d @$start root/dumps/$d
functions -- "$d~1!old=5" "$d!new=5" "$d!g=10"
python3 mkdump.py root/dumps/$d bare arch
touch -d @$start root/dumps/$d
functions -- "$d!new=10" "$d!g=10"
# A perf map names what the jitdump does not.
printf '20000 8 f\n20010 8 from_map\n' >$found
touch -d @$start $found
functions -- "$d!new=10" "$d!g=10"
rm $found
python3 mkdump.py maps/$d cut
run 0 "$sym" --functions --json "$here" --perf-map=maps/$d t.ctr
grep -q "maps/$d: damaged at byte [0-9]* (a record without its end); what is before it is used" stderr ||
    fail "damaged dump: $(cat stderr)"
calls stdout "$d!old=10" "$d!g=10"
finish
