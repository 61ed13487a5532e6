# SPDX-License-Identifier: MIT
# tracedump --state --memory=phys: what RAM held when it was described, stores of two vCPUs
# through two virtual pages and at two physical addresses, writes of devices, RAM that is mapped
# elsewhere, and a snapshot that is loaded; why nothing is known.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"
places=0x1000+48,0x40000000+0x70,0x40001ff0+48,0x60000000+0x70

"$TOOLS/mktrace" ram all ram.ctr || exit 1
shown() {
    run 0 "$dump" -q --no-disas --cpu "${1%:*}" --state "${1#*:}" --memory="phys:$places" \
        "${@:2}" ram.ctr
    sed -n '/^physical memory/,$p' stdout
}
for moment in 0:0 0:1 0:5 1:0 1:1 1:2 0:6 0:7 0:8 0:9; do
    echo "before ${moment#*:} of cpu${moment%:*}"
    shown $moment
done >text
cp text stdout
golden tracedump-physical.txt

# With all workers, without the index, and byte by byte: the same.
shown 0:9 >want
for how in -j1 -j3 --no-index; do
    shown 0:9 $how | same want - "$how: different output"
done
cat >compare.py <<'END'
import json, subprocess, sys
def read(addr, n):
    out = subprocess.run([sys.argv[1], "-q", "--json", "--cpu", "0", "--state", "9",
                          "--memory=phys:%d+%d" % (addr, n), "ram.ctr"], capture_output=True, text=True)
    return [o for o in map(json.loads, out.stdout.splitlines()) if o["kind"] == "memory"]
whole = []
for o in read(0x40000000, 0x70):
    assert int(o["phys"], 16) == 0x40000000 + len(whole), o
    whole += list(bytes.fromhex(o["bytes"])) if o["bytes"] else [None] * o["size"]
for i, byte in enumerate(whole):
    o, = read(0x40000000 + i, 1)
    assert o["bytes"] == (None if byte is None else "%02x" % byte), (i, o)
assert whole.count(None) == 8, whole
END
python3 compare.py "$dump" || fail "JSON and single bytes"

# What is no RAM, and memory beside it.
run 4 "$dump" -q --cpu 0 --state=9 --memory=phys:0x9000000+16 ram.ctr
one_line "no RAM"
grep -q 'does not show what these bytes of physical memory held$' stderr || fail "$(cat stderr)"
run 0 "$dump" -q --cpu 0 --state=9 --memory=phys:0x3ffffff8+16 ram.ctr
grep -q '3ffffff8  ?? ?? ?? ?? ?? ?? ?? ??  61 62 63 ' stdout || fail "$(tail -1 stdout)"

# Of memory by virtual address, what was accessed before a snapshot was loaded says nothing of
# what is after it, nor the other way round.
virtual() {
    "$dump" -q --cpu 0 --state="$1" --memory="0xffff0000000080$2+8" ram.ctr 2>stderr | tail -1 |
        sed 's/^  0x[0-9a-f]* *//; s/ *|.*//'
}
while read -r moment addr seen; do
    [ "$(virtual "$moment" "$addr")" = "$seen" ] ||
        fail "$addr before $moment: '$(virtual "$moment" "$addr")' instead of '$seen'"
done <<'END'
6 10 10 10 10 10 10 10 10 10
7 10 ?? ?? ?? ?? ?? ?? ?? ??
10 10 ?? ?? ?? ?? ?? ?? ?? ??
7 40 ?? ?? ?? ?? ?? ?? ?? ??
8 40 17 17 17 17 17 17 17 17
6 48 ?? ?? ?? ?? ?? ?? ?? ??
7 48 33 33 33 33 33 33 33 33
END

# While recording is paused nothing is known; then what was stored since it was resumed.
"$TOOLS/mktrace" ram paused paused.ctr || exit 1
run 0 "$dump" -q --cpu 0 --state=11 --memory=phys:0x40000058+16 paused.ctr
grep -q '58  ?? ?? ?? ?? ?? ?? ?? ??  19 19 19 19 19 19 19 19 ' stdout || fail "resumed: $(tail -1 stdout)"
run 4 "$dump" -q --cpu 0 --state=10 --memory=phys:0x40000058+16 paused.ctr
one_line paused
"$dump" -q --cpu 1 --state=2 --memory=phys:0x40000010+8 paused.ctr >stdout 2>stderr ||
    fail "before the pause: $(cat stderr)"

# What is missing is said.
while read -r what said; do
    "$TOOLS/mktrace" ram "$what" "$what.ctr" || exit 1
    run 4 "$dump" -q --cpu 0 --state=1 --memory=phys:0x40000000+8 "$what.ctr"
    one_line "$what"
    grep -qF ": $said" stderr || fail "$what: $(cat stderr)"
    grep -q '?? ?? ?? ?? ?? ?? ?? ?? .*|????????|$' stdout || fail "$what: $(tail -1 stdout)"
done <<'END'
part only a part was recorded (--kernel)
multi vCPUs ran in parallel: the order of their stores was not recorded
no-val values were not recorded (-e val)
END
"$TOOLS/mktrace" physical physical.ctr || exit 1
run 4 "$dump" -q --state=1 --memory=phys:0x40000000+8 physical.ctr
grep -q ': RAM was not recorded (-e ram)$' stderr || fail "$(cat stderr)"
"$TOOLS/mktrace" chosen chosen.ctr || exit 1
run 4 "$dump" -q --state=1/1 --memory=phys:0x40000000+8 chosen.ctr
grep -q ': it is not the trace of a machine$' stderr || fail "$(cat stderr)"

is_usage tracedump --memory=phys:0+16 ram.ctr
is_usage tracedump --state=1 --memory=phys:main ram.ctr
is_usage tracedump --state=1 --memory=phys:0+16 --writers ram.ctr
is_usage tracedump -q --cpu 0 --state=1 --memory=phys:0+0x100001 ram.ctr
finish
