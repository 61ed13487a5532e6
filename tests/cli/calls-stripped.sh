# SPDX-License-Identifier: MIT
# Functions of a stripped program are those that it had symbols for, by .eh_frame: also those
# that others jump to.  callgrind's costs are the same.
. "$SRC/tests/cli/libtracecalls.sh"

# profile TARGET NAME FLAG...: functions of the program, into NAME.json, and costs, NAME.cg
profile() {
    local target=$1 name=$2
    shift 2
    compile "$target" tail -O2 -funwind-tables "$@" || return 1
    events=exec,map,thr record_all "$target" "$name.ctr" ./tail
    run 0 "$sym" -q --functions --json --module tail "$name.ctr"
    cp stdout "$name.json"
    run 0 "$sym" -q --calls -f callgrind "$name.ctr"
    cp stdout "$name.cg"
}

stripped() {
    profile "$1" whole || return 0
    profile "$1" stripped -s
    python3 - <<'END' || fail "$1"
import json, re
def functions(name):
    rows = map(json.loads, open(name + ".json"))
    return {r["address"]: (r["calls"], r["self"], r["inclusive"], r["function"]) for r in rows}
def costs(name):
    """callgrind's self cost of each function, by name"""
    names, total, skip = {}, {}, False
    for line in open(name + ".cg"):
        m = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?", line)
        if m:
            names.setdefault(m[2], m[3])
            if m[1] == "fn":
                now = names[m[2]]
        elif line.startswith("calls="):
            skip = True
        elif line.startswith("0x"):
            total[now] = total.get(now, 0) + (0 if skip else int(line.split()[2]))
            skip = False
    return total
whole, bare = functions("whole"), functions("stripped")
seen = {}
for address, (*numbers, name) in whole.items():
    if name in ("leaf", "middle", "outer", "main"):
        seen[name] = numbers
        assert address in bare, (name, address, bare)
        assert list(bare[address][:3]) == numbers, (name, numbers, bare[address])
assert len(seen) == 4 and seen["leaf"][0] == seen["middle"][0] == 2, seen
for name, rows in ("whole", whole), ("stripped", bare):
    total = costs(name)
    for address, (*numbers, function) in rows.items():
        if whole.get(address, [""])[-1] in seen:
            assert total.get(function, 0) == numbers[1], (name, function, numbers, total)
END
}
for target in x86_64 aarch64 riscv64 s390x i386 ppc64le; do
    stripped "$target"
done
finish_any
