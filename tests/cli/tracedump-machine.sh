# SPDX-License-Identifier: MIT
# Machines: vCPUs, privileges, the names of exceptions and interrupts, returns, address
# spaces.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"

for name in aarch64 m riscv64 x86_64 mips ppc64 s390x sparc; do
    "$TOOLS/mktrace" machine $name $name.ctr || exit 1
    run 0 "$dump" --no-disas $name.ctr
    silent
    cat stdout
    run 0 "$dump" --info $name.ctr
    sed -n '/^threads/,$p' stdout
done >text
cp text stdout
golden tracedump-machine-text.txt

run 0 "$dump" --json --no-disas aarch64.ctr
golden tracedump-machine-json.txt
run 0 "$dump" --info --json aarch64.ctr
python3 - stdout <<'PY' || fail "--info --json: $(cat stdout)"
import json, sys
i = json.load(open(sys.argv[1]))
assert i["returns"] == 10 and sum(e["count"] for e in i["exceptions"]) == 10, i
assert {"name": "Data Abort", "count": 2} in i["exceptions"], i
assert i["page_tables"] == [{"table": "0x43186000", "instructions": 8},
                            {"table": "0x0", "instructions": 2}], i
assert i["contexts"] == [{"id": 0, "instructions": 6}, {"id": 126, "instructions": 4}], i
PY

# The same of a stream, with all workers, and without the index.
"$dump" aarch64.ctr >want
run 0 "$dump" - < <(cat aarch64.ctr)
same want stdout "a stream"
for how in -j1 -j3 --no-index "-e all"; do
    # shellcheck disable=SC2086
    run 0 "$dump" $how aarch64.ctr
    same want stdout "$how: different output"
done

# Kinds alone; of one vCPU.
run 0 "$dump" -e int,time aarch64.ctr
grep -E -- '--- ' want | same - stdout "-e int,time"
run 0 "$dump" -e ctx,time aarch64.ctr
grep -E -- '\+\+\+ (no )?page table' want | same - stdout "-e ctx,time"
run 0 "$dump" -e ctx --thread cpu1 aarch64.ctr
[ "$(grep -c cpu1 stdout)" -eq 2 ] && [ "$(wc -l <stdout)" -eq 2 ] || fail "cpu1: $(cat stdout)"
run 4 "$dump" -e int --thread cpu1 aarch64.ctr
one_line -e int of cpu1
"$TOOLS/mktrace" chosen chosen.ctr || exit 1
run 4 "$dump" -e int,ctx chosen.ctr
grep -q 'exceptions, address spaces were not recorded' stderr || fail "$(cat stderr)"

# vCPUs that take turns are shown in that order, and so are parts and searches.
"$TOOLS/mktrace" slices slices.ctr || exit 1
run 0 "$dump" --no-disas slices.ctr
golden tracedump-machine-slices.txt
cp stdout want
for how in -j1 -j3 --no-index "-e exec,mem,val,order,time"; do
    # shellcheck disable=SC2086
    run 0 "$dump" --no-disas $how slices.ctr
    same want stdout "$how: different output"
done
run 0 "$dump" --no-disas --group slices.ctr
sort -s -k2,2 want | same - stdout "--group: chunk by chunk"
run 0 "$dump" --no-disas - < <(cat slices.ctr)
sort -s -k2,2 want | same - stdout "a stream: chunk by chunk"
run 0 "$dump" --no-disas -e order,time slices.ctr
grep slice want | same - stdout "-e order,time"
run 0 "$dump" --no-disas --from 3/1 --to 3/2 slices.ctr
sed -n '/slice 2/,/slice 5/p' want | sed '$d' | same - stdout "from and to a moment"
value() {
    run 0 "$dump" -q -a 0x21000 "$@" slices.ctr
    sed 's/.*=//' stdout
}
[ "$(value --last-write-before=3/1)" = 0x1 ] || fail "before cpu0's 3: $(cat stdout)"
[ "$(value --last-write-before=2/2)" = 0x2 ] || fail "before cpu1's 2: $(cat stdout)"
[ "$(value --first-write-after=4/1)" = 0x4 ] || fail "after cpu0's 4: $(cat stdout)"
[ "$(value --last-write-before=end/1)" = 0x4 ] || fail "before cpu0's end: $(cat stdout)"
run 4 "$dump" -e order chosen.ctr
grep -q 'the order of threads were not recorded' stderr || fail "$(cat stderr)"

# Privileges: events between instructions stay.
for name in aarch64:EL0 m:user riscv64:'(U|VU)' x86_64:ring3 sparc:user; do
    "$dump" "${name%%:*}.ctr" >want
    run 0 "$dump" --user "${name%%:*}.ctr"
    grep -E " cpu. +(\[|${name#*:} )" want | same - stdout "--user of $name"
    run 0 "$dump" --kernel "${name%%:*}.ctr"
    grep -vE " cpu. +${name#*:} " want | same - stdout "--kernel of $name"
    run 0 "$dump" --kernel --user "${name%%:*}.ctr"
    same want stdout "--kernel --user of $name"
    run 0 "$dump" -c --user "${name%%:*}.ctr"
    n=$(grep -cE " cpu. +${name#*:} " want)
    grep -Eq "^ +$n +$n +0 +$n  total$" stdout || fail "-c --user of $name, not $n: $(cat stdout)"
done
run 4 "$dump" --user chosen.ctr
grep -q 'chosen.ctr: --user: it is not the trace of a machine$' stderr || fail "$(cat stderr)"
finish
