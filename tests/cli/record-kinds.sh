# SPDX-License-Identifier: MIT
# Every kind of event alone and all together; the fake QEMU defines how often each
# happens (tests/mempipe/fakeguest.h).
. "$SRC/tests/cli/librecord.sh"

# kinds FILE: "KIND NUMBER" of each kind of object that tracedump prints
kinds() {
    "$dump" --json --no-disas "$1" >objects 2>err || [ $? -eq 3 ] || fail "$1: $(cat err)"
    python3 - objects <<'END'
import collections, json, sys
n = collections.Counter()
for line in open(sys.argv[1]):
    e = json.loads(line)
    n[e["kind"]] += 1
    if e["kind"] in ("load", "store") and ("value" in e or "data" in e):
        n["values"] += 1
    if e["kind"] == "reg" and e.get("outside"):
        n["outside"] += 1
    if e["kind"] == "syscall" and "time" in e:
        n["times"] += 1
for kind in sorted(n):
    print(kind, n[kind])
END
}

# has FILE "KIND NUMBER"...: exactly these
has() {
    local file=$1
    shift
    kinds "$file" >got
    printf '%s\n' "$@" | sort >want
    cmp -s want got || fail "$file: $(diff want got | grep '^[<>]' | tr '\n' ' ')"
}

# 150 blocks are 400 instructions, 150 loads, 50 stores and 107 changes of registers
guest all 'blocks 150' 'helper 10' 'calls 7 100' 'signals 5' 'maps 3'
rec 0 -e exec -o a.ctr -- qemu-arm all
has a.ctr 'exec 422'
rec 0 -e mem -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'load 160' 'store 50'
rec 0 -e val -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'load 160' 'store 50' 'values 210'
rec 0 -e reg -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'reg 129' 'outside 7'
rec 0 -e sys -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'signal 10' 'syscall 7'
rec 0 -e sys,time -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'signal 10' 'syscall 7' 'times 7'
rec 0 -e map -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'map 4'
rec 0 -e thr -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'thread 2'
rec 0 -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'load 160' 'store 50' 'signal 10' 'syscall 7' 'times 7' 'map 4' \
    'thread 2'
rec 0 -e all -o a.ctr -- qemu-arm all
has a.ctr 'exec 422' 'load 160' 'store 50' 'values 210' 'reg 129' 'outside 7' 'signal 10' \
    'syscall 7' 'times 7' 'map 4' 'thread 2'

# The recorded values are those of the guest.
python3 - objects <<'END' || fail "wrong values"
import json, sys
blocks = calls = 0
regs = {}
bad = []
for line in open(sys.argv[1]):
    e = json.loads(line)
    kind = e["kind"]
    if kind == "reg":
        regs[e["name"]] = int(e["value"], 16)
    elif kind == "load" and e["pc"] == "0x1004":
        addr = int(e["addr"], 16)
        i = (addr - 0x10000) // 4
        if int(e["value"], 16) != 3 * i or regs.get("r0", 0) != i:
            bad.append(line)
    elif kind == "store" and int(e["value"], 16) != (0x80000000 - int(e["addr"], 16)) // 4:
        bad.append(line)
    elif kind == "load" and e["pc"] == "0x3004":
        if int(e["value"], 16) >> 32 != (int(e["addr"], 16) - 0x20000) // 8:
            bad.append(line)
    elif kind == "load":
        i = (int(e["addr"], 16) - 0x50000) // 32
        if e["data"] != bytes(i + k for k in range(32)).hex():
            bad.append(line)
    elif kind == "syscall":
        if (e["name"], e["args"][:3], e["result"]) != ("read", [0, 0x60000, 100], 100):
            bad.append(line)
        calls += 1
if bad or calls != 7:
    print(*bad[:5], calls, sep="", file=sys.stderr)
    sys.exit(1)
END

# Large amounts of everything: many chunks, more records than one chunk may have
guest much 'calls 1500 4000' 'blocks 300000' 'helper 40000' 'calls 40 1000000' \
    'threads 8 30000' 'forks 8 30000' 'calls 1500 4000'
for limit in 0 100 4KiB all; do
    rec 0 -e all --data-limit=$limit -o much.ctr -- qemu-arm much
    counts much.ctr 2123040 820000 260000 17 9 0
    calls=$("$dump" -e sys --json --no-disas much.ctr | grep -c '"kind":"syscall"')
    [ "$calls" -eq 3040 ] || fail "limit $limit: $calls calls"
done
[ "$(stat -c %s much.ctr)" -lt 40000000 ] || fail "much.ctr is large: $(stat -c %s much.ctr)"

# A process that executes another recorded program appears twice in the file.
guest second 'blocks 30' 'calls 1 10' 'exit 4'
guest first 'blocks 15' 'threads 3 15' 'follow second'
rec 4 -e all --follow-exec -o a.ctr -- qemu-arm first
counts a.ctr 241 90 30 5 2 0
"$dump" --info --json a.ctr >info.json
python3 - info.json <<'END' || fail "follow: $(cat info.json)"
import json, sys
p = json.load(open(sys.argv[1]))["processes"]
sys.exit(not (p[0]["pid"] == p[1]["pid"] and "exec" in str(p[0]) and "exec" not in str(p[1])))
END
pid=$(python3 -c 'import json; print(json.load(open("info.json"))["processes"][0]["pid"])')
insns=$("$dump" --json --no-disas --pid "$pid" a.ctr | grep -c '"kind":"exec"')
[ "$insns" -eq 241 ] || fail "follow: --pid selects $insns instructions"
guest first 'followfork second' 'blocks 15' 'sleep 500' 'blocks 15'
rec 0 -e all --follow-exec -o a.ctr -- qemu-arm first
counts a.ctr 161 60 20 3 3 0
# The recording waits for that program after the command has ended.
guest second 'sleep 500' 'blocks 30' 'calls 1 10' 'exit 4'
guest first 'followfork second' 'blocks 15'
rec 0 -e all --follow-exec -o a.ctr -- qemu-arm first
counts a.ctr 121 45 15 3 3 0
finish
