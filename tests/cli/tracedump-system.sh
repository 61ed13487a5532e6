# SPDX-License-Identifier: MIT
# Values, registers, system calls, signals, mappings, threads: tracedump's
# output for small traces that never change.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"
"$TOOLS/mktrace" system system.ctr || exit 1

run 0 "$dump" system.ctr
silent
golden tracedump-system-text.txt
cp stdout whole.txt
for how in -j1 -j2 -j5 "-j3 --no-index" "-j2 -e all"; do
    # shellcheck disable=SC2086
    run 0 "$dump" $how system.ctr
    same whole.txt stdout "$how: different output"
done
run 0 "$dump" --json system.ctr
golden tracedump-system-json.txt
cp stdout whole.json
run 0 "$dump" --json -j4 - <system.ctr
same whole.json stdout "a file on standard input"
run 0 "$dump" --color=always system.ctr
golden tracedump-system-color.txt

# A stream has no history of mappings: modules are missing, nothing else differs.
run 0 "$dump" --no-modules system.ctr
grep -q 'libc.so.6+0x1234' stdout && fail "--no-modules shows modules"
cp stdout bare.txt
run 0 "$dump" - < <(cat system.ctr)
same bare.txt stdout "a stream"

# Kinds of events
run 0 "$dump" -e sys,time system.ctr
golden tracedump-system-sys.txt
grep -e ' --- ' stdout >signals
for kinds in sig,time "time,sig -e sig"; do
    # shellcheck disable=SC2086
    run 0 "$dump" -e $kinds system.ctr
    same signals stdout "-e $kinds"
done
run 0 "$dump" -e sys,time,sig system.ctr
golden tracedump-system-sys.txt
run 0 "$dump" --json -e sig system.ctr
[ "$(sed 's/.*"kind":"\([a-z]*\)".*/\1/' stdout | sort | uniq -c)" = '      3 signal' ] ||
    fail "-e sig in JSON: $(cat stdout)"
run 0 "$dump" -e sys --strings=0 system.ctr
grep -q 'write(1, ""\.\.\., 200)' stdout || fail "--strings=0: $(grep write stdout)"
run 0 "$dump" -e sys -s 1000 system.ctr
grep -q 'write(1, "tab\\t.*xxxxx"\.\.\., 200)' stdout || fail "-s 1000: $(grep write stdout)"
run 0 "$dump" -e map,thr system.ctr
golden tracedump-system-map.txt
run 0 "$dump" -e reg system.ctr
golden tracedump-system-reg.txt
run 0 "$dump" -e val,reg --no-modules system.ctr
golden tracedump-system-val.txt
run 0 "$dump" -e exec,mem --no-modules system.ctr
grep -Eq '=|\+\+\+|---' stdout && fail "-e exec,mem shows more: $(grep -E '=|\+\+\+|---' stdout | head -1)"
[ "$(wc -l <stdout)" -eq 27 ] || fail "-e exec,mem: $(wc -l <stdout) lines, not 27"
run 0 "$dump" --json -e val system.ctr
grep -q '"kind":"exec"' stdout && fail "-e val shows instructions"
grep -q '"kind":"load".*"value":"0xdeadbeef"' stdout || fail "-e val shows no values"

# All kinds, selected by process, thread and range of ordinals
for select in "-p 5000" "-t 4243" "-p 4242 -t 4242" "--from=3 --to=7" "--from 18 -n 1"; do
    # shellcheck disable=SC2086
    "$dump" --json $select system.ctr >got.json || fail "$select"
    SELECT=$select python3 - <<'PY' || fail "$select"
import json, os, sys
s = os.environ["SELECT"]
want = []
for line in open("whole.json"):
    e = json.loads(line)
    if "-p 5000" in s and e["pid"] != 5000 or "-t 4243" in s and e["tid"] != 4243:
        continue
    if "-t 4242" in s and e["tid"] != 4242:
        continue
    lo, hi = (3, 7) if "--to" in s else (18, 19) if "--from" in s else (0, 1 << 64)
    if lo <= e["ordinal"] < hi:
        want.append(e)
got = [json.loads(line) for line in open("got.json")]
if got != want:
    for g, w in zip(got + [None], want + [None]):
        if g != w:
            print("%d events, not %d; got %s, want %s" % (len(got), len(want), g, w), file=sys.stderr)
            break
sys.exit(got != want or not want)
PY
done

# --pc and --addr: instructions, accesses and what these changed
run 0 "$dump" --json --pc 0x40811234 system.ctr
grep -Ev '"pc":"0x40811234"' stdout && fail "--pc shows other events"
[ "$(grep -c '"kind":"reg"' stdout)" -eq 1 ] || fail "--pc: registers"
run 0 "$dump" --json --addr 0x21020 system.ctr
[ "$(grep -c '"kind":"load"' stdout)" -eq 2 ] || fail "--addr: loads"
[ "$(grep -c '"kind":"reg"' stdout)" -eq 3 ] || fail "--addr: registers"
[ "$(wc -l <stdout)" -eq 7 ] || fail "--addr: $(wc -l <stdout) lines, not 7"
run 4 "$dump" -e sys --pc 0x10400 system.ctr
[ ! -s stdout ] || fail "--pc shows system calls"

# --info
run 0 "$dump" --info system.ctr
sed -i -E 's/Capstone [0-9.]+/Capstone X/; s/^(size +)[0-9]+ (.*), [0-9.]+ bits.*/\1SIZE \2/' stdout
golden tracedump-system-info.txt
run 0 "$dump" --info --json system.ctr
sed -i -E 's/Capstone [0-9.]+/Capstone X/; s/"(file_bytes|raw_bytes|bits_per_instruction|ratio)":[0-9.]+/"\1":N/g' stdout
golden tracedump-system-info-json.txt
cat system.ctr | "$dump" --info --json - >stream.json
"$dump" --info --json system.ctr >file.json
python3 - <<'PY' || fail "--info of a stream"
import json
f, s = json.load(open("file.json")), json.load(open("stream.json"))
f.pop("maps"); f.pop("indexed"); s.pop("indexed")
for p in f["processes"]:
    p.pop("map_changes")
assert f == s, (f, s)
PY

# The state at a place
run 0 "$dump" --state=8 -t 4242 system.ctr
golden tracedump-system-state.txt
run 0 "$dump" --state=8 -t 4242 --json system.ctr
golden tracedump-system-state-json.txt
run 0 "$dump" --state=21 -t 4242 system.ctr
grep -q '^next  *none' stdout || fail "--state at the end: $(grep next stdout)"
run 0 "$dump" --state=0 -p 5000 --no-disas system.ctr
grep -q '^next  *0x10400 app+0x400 10402de9$' stdout || fail "--state at the begin: $(grep next stdout)"
run 4 "$dump" --state=22 -t 4242 system.ctr
one_line "--state after the end"
grep -q '21 instructions' stderr || fail "--state after the end: $(cat stderr)"
run 1 "$dump" --state=0 system.ctr
one_line "--state with several threads"
grep -q -- '--thread' stderr || fail "--state with several threads: $(cat stderr)"
run 0 "$dump" --state=0/3 system.ctr
grep -q '^thread  *5000/5000$' stdout || fail "--state=0/3: $(head -1 stdout)"
run 4 "$dump" --state=0/4 system.ctr
one_line "--state of a fourth thread"
run 4 "$dump" --state=0 -t 17 system.ctr
one_line "--state of no thread"
run 1 "$dump" --state=0 -t 4242 - < <(cat system.ctr)
one_line "--state of a stream"
"$TOOLS/mktrace" sample sample.ctr || exit 1
run 0 "$dump" --state=10 -t 4242 sample.ctr
golden tracedump-system-state-none.txt

# Machines with other numbers and structures
for target in arm mips sparc64 alpha hppa ppc s390x x86_64; do
    "$TOOLS/mktrace" calls $target calls.ctr || exit 1
    echo "$target"
    "$dump" -e sys calls.ctr | sed 's/^.* 1\/1  *//' || fail "calls of $target"
done >stdout
golden tracedump-system-calls.txt
finish
