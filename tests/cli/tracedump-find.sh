# SPDX-License-Identifier: MIT
# tracedump --find, compared with a slow search in the output of all events: for any number
# of workers and any way of reading; then what it takes as an argument.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"

cases=(
    "6162 1"
    "61626261616263 40"
    "6161626262 65536"
    "6161616162616161626162616161616262 18446744073709551615"
    "63 9"
    "6200000061 70"
    "0061 5"
    "62646362 9"
)
parts=(
    "6162 20; --reads; load"
    "6162 20; --writes; store"
    "6162 20; -e mem; load store"
    "6162 20; -e sys; read write"
    "6162 20; -e sys --writes; store write"
    "6162 20; -e sys,mem --reads; read load"
    "6162 20; --from=100 --to=400"
    "616261 20; -t100,200 --from=7"
)
# many chunks, small chunks, large chunks
"$TOOLS/mktrace" random-few 1 30 6 t.ctr expect.json || exit 1
python3 "$SRC/tests/cli/find_check.py" t.ctr 30 1 "${cases[@]}" || fail "seed 1"
"$TOOLS/mktrace" random-few 2 60 2 t.ctr expect.json || exit 1
python3 "$SRC/tests/cli/find_check.py" t.ctr 30 1 "${cases[@]}" || fail "seed 2"
"$TOOLS/mktrace" random-few 3 4 40 t.ctr expect.json || exit 1
python3 "$SRC/tests/cli/find_check.py" t.ctr 30 1 "${cases[@]}" "${parts[@]}" || fail "seed 3"

# Bytes of which one is at an address: the same with and without the index.
run 0 "$dump" --json --find 6162 t.ctr
cp stdout all
run 0 "$dump" --json --find 6162 - < <(cat t.ctr)
same <(sort all) <(sort stdout) "a stream"
for addr in 0x5003 0x5010+3 0x5000-0x5002; do
    run 0 "$dump" --json --find 6162 -a $addr t.ctr
    cp stdout with
    run 0 "$dump" --json --find 6162 -a $addr --no-index -j3 t.ctr
    same with stdout "--addr $addr --no-index"
    python3 - $addr all >want <<'PY'
import json, re, sys
first, how, last = re.fullmatch(r"(\w+)([-+]?)(\w*)", sys.argv[1]).groups()
first = int(first, 16)
end = first + 1 if not how else int(last, 0) + (first if how == "+" else 0)
for line in open(sys.argv[2]):
    at = int(json.loads(line)["found"], 16)
    if at < end and at + 2 > first:
        print(line, end="")
PY
    same want with "--addr $addr"
done

# All are the same four bytes, but for the last ones.
"$TOOLS/mktrace" random-few 5 6 60 t.ctr expect.json || exit 1
finds() { # STATUS WHAT: what these bytes are, by what is found
    run "$1" "$dump" --find "$2" t.ctr
}
finds 0 61626162
mv stdout want
for what in '61 62 61 62' 0x61626162 '"abab"' '"\x61b\141b"' u32le:0x62616261 \
    u32:1650549345 i32:1650549345 u32be:1633837410 f32le:1.0394015909682767e21; do
    finds 0 "$what"
    same want stdout "$what"
done
grep -q ' at 0x50' want || fail "$(cat want)"
finds 4 i64:-1
one_line "nothing found"
grep -Eq "^tracedump: t.ctr: not found in [0-9]+ loads, [0-9]+ stores, [0-9]+ buffers of the system; [0-9]+ buffers .*data-limit" stderr ||
    fail "$(cat stderr)"
run 4 "$dump" --find u8:255 --writes t.ctr
grep -Eq "^tracedump: t.ctr: not found in [0-9]+ stores$" stderr || fail "$(cat stderr)"
finds 4 "$(printf '%0130d' 0 | tr 0 1)"
grep -q "single accesses only" stderr || fail "$(cat stderr)"

# What no access has: neither values nor buffers.
"$TOOLS/mktrace" sample sample.ctr || exit 1
run 4 "$dump" --find 00 sample.ctr
one_line "no values"
grep -q "values of accesses were not recorded" stderr || fail "$(cat stderr)"
run 4 "$dump" --find 00 -e sys sample.ctr
one_line "no buffers"
"$TOOLS/mktrace" system system.ctr || exit 1
"$dump" --json -e sys system.ctr >events
hex=$(python3 -c '
import json
for line in open("events"):
    for m in json.loads(line).get("memory", []):
        if len(m["data"]) > 6:
            print(m["data"])
            raise SystemExit')
run 0 "$dump" --find "$hex" system.ctr
grep -Eq '^ +[0-9]+ [0-9/]+ +(\[[0-9.]+\] )?\+\+\+ system \([a-z0-9_]+\) [rw] 0x[0-9a-f]+/[0-9]+  at 0x' stdout ||
    fail "$(cat stdout)"

for what in '' 0 123 0xabc xy '"' '"abc' '"a"b' '""' '"\q"' '"\400"' u32: u32:x u32:4294967296 \
    u8:-1 i8:128 i8:-129 u7:1 f16:1 f32:1e99 u32xe:1 u32bee:1 u:1 "f64:1 " \
    "$(printf '%0514d' 0)"; do
    is_usage tracedump --find="$what" t.ctr
done
is_usage tracedump --find=00 --info t.ctr
is_usage tracedump --find=00 -e exec t.ctr
is_usage tracedump --within=3 t.ctr
finish
