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

# Physical addresses: of two pages, of a device, not known; of the chunk before.
"$TOOLS/mktrace" physical physical.ctr || exit 1
run 0 "$dump" --phys --no-disas physical.ctr
grep -o 'r 0x.*' stdout >seen
same - seen "--phys" <<'END'
r 0x21008/8@0x40005008
r 0x21ffc/8@0x40005ffc+0x40009000
r 0x30018/8@dev:0x9000018
r 0x50000/8@?
r 0x21010/8@0x40005010
r 0x21010/8@0x40007010
END
run 0 "$dump" --phys --json -e mem physical.ctr
grep -o '"size".*' stdout >seen
same - seen "--phys --json" <<'END'
"size":8,"phys":"0x40005008"}
"size":8,"phys":"0x40005ffc","phys_next":"0x40009000"}
"size":8,"phys":"0x9000018","device":true}
"size":8}
"size":8,"phys":"0x40005010"}
"size":8,"phys":"0x40007010"}
END
cp stdout want
run 0 "$dump" -e phys --json physical.ctr
same want stdout "-e phys"
run 0 "$dump" physical.ctr
grep -q @ stdout && fail "physical addresses without --phys"
while read -r ranges ordinals; do
    run 0 "$dump" --addr="phys:$ranges" -e exec physical.ctr
    [ "$(awk '{print $1}' stdout | paste -sd,)" = "$ordinals" ] || fail "$ranges: $(cat stdout)"
    run 0 "$dump" --addr="phys:$ranges" -e mem - < <(cat physical.ctr)
    [ "$(awk '{print $1}' stdout | paste -sd,)" = "$ordinals" ] || fail "$ranges: $(cat stdout)"
done <<'END'
0x40005008 0
0x40009003 1
0x40005fff-0x40006000,0x9000000+0x1000 1,2
0x40005010 4
0x40007000+0x1000 5
END
run 0 "$dump" --addr=phys:0x40007010 --addr=0x50000 -e mem physical.ctr
[ "$(awk '{print $1}' stdout | paste -sd,)" = 3,5 ] || fail "physical or virtual: $(cat stdout)"
run 0 "$dump" --statistics --addr=phys:0x9000018 physical.ctr
grep -q ' 1 of 2 chunks' stderr || fail "$(cat stderr)"
run 4 "$dump" --addr=phys:0x40009004 physical.ctr
one_line --addr=phys: nothing
for how in --phys --addr=phys:0x1000; do
    run 4 "$dump" "$how" aarch64.ctr
    one_line "$how" without
    grep -q 'physical addresses were not recorded' stderr || fail "$how: $(cat stderr)"
done
for how in "--phys --info" "--addr phys:0x1000 --state 1" "--addr phys:main" "--addr phys:" \
    "--addr phys:0x1000 --last-write-before 3" "--addr phys:0x1000 --find 00"; do
    # shellcheck disable=SC2086
    run 2 "$dump" $how physical.ctr
    one_line "$how"
done

# RAM, DMA and devices: each form, shortened in text; the totals.
"$TOOLS/mktrace" memory memory.ctr || exit 1
run 0 "$dump" -e ram,dma,io memory.ctr
cp stdout want
"$dump" --info memory.ctr | sed -n '/^RAM/,$p' >>stdout
golden tracedump-memory-text.txt
run 0 "$dump" -e ram,dma,io --json memory.ctr
golden tracedump-memory-json.txt
run 0 "$dump" --info --json memory.ctr
python3 - stdout <<'PY' || fail "--info --json: $(cat stdout)"
import json, sys
i = json.load(open(sys.argv[1]))
assert i["events"] == ["exec", "ram", "dma", "io"], i
assert i["ram"] == [{"block": "mach-virt.ram", "bytes": 0x8000000},
                    {"block": "pc\x1b[1m.bios", "bytes": 0x21000}], i
assert i["dma"] == [{"source": "device", "device": "virtio-blk-device", "writes": 2,
                     "bytes": 1024},
                    {"source": "processor", "writes": 1, "bytes": 64},
                    {"source": "walk", "writes": 1, "bytes": 8},
                    {"source": "host", "writes": 1, "bytes": 4},
                    {"source": "device", "writes": 1, "bytes": 2}], i
assert {"device": "pl011", "region": "pl011", "reads": 1, "writes": 1, "failed": 0} in i["io"], i
assert {"device": "", "region": "", "reads": 1, "writes": 0, "failed": 1} in i["io"], i
PY
run 0 "$dump" -e io memory.ctr
[ "$(wc -l <stdout)" -eq 5 ] || fail "-e io: $(cat stdout)"
run 0 "$dump" -e ram,dma,io - < <(cat memory.ctr)
same want stdout "memory of a stream"
run 0 "$dump" --strings 4 -e dma memory.ctr
grep -q ': 00 01 02 03 \.\.\. +++$' stdout || fail "--strings: $(cat stdout)"
run 4 "$dump" -e ram,dma,io physical.ctr
grep -q 'contents of RAM, writes of devices, accesses to devices were not recorded' stderr ||
    fail "$(cat stderr)"
run 4 "$dump" -e io,dma --pc 0x40100000 memory.ctr
grep -q 'none of these events$' stderr || fail "-e io,dma --pc: $(cat stderr)"

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
grep -q 'slices of threads were not recorded' stderr || fail "$(cat stderr)"

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
