# SPDX-License-Identifier: MIT
# The programs that the processes of a machine's Linux run: the same code at the same address
# is of the file that the process has there then, of none where it has none or that is not
# known; files are below --sysroot only, or those of --elf; another file is refused.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
need python3
"$TOOLS/mktrace" areas t.ctr || exit 1

# elf FILE FUNCTION CODE [ADDRESS]
elf() {
    mkdir -p "$(dirname "$1")"
    python3 - "$SRC/tests/cli" "$1" "$2" "$3" "${4:-0x401000}" <<'END' || exit 1
import sys
sys.path.insert(0, sys.argv[1])
import mkelf
mkelf.write(sys.argv[2], "exec", int(sys.argv[5], 0), bytes.fromhex(sys.argv[4]), [(sys.argv[3], 0, 4)])
END
}
nop=1f2003d5
elf root/bin/alpha alpha $nop
elf root/bin/gamma gamma $nop
elf root/bin/delta delta $nop 0x501000

# functions OPTION... -- NAME=SELF...
functions() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run 0 "$sym" --functions --by=task --json "${options[@]}" t.ctr
    python3 - stdout "$@" <<'END' || fail "${options[*]}: $(cat stdout)"
import collections, json, sys
got = collections.Counter()
for e in map(json.loads, open(sys.argv[1])):
    got[e["thread"] + ":" + (e["function"] if e["module"] else "-")] += e["self"]
want = {k: int(n) for k, n in (a.rsplit("=", 1) for a in sys.argv[2:])}
sys.exit(dict(got) != want and repr(got))
END
}
functions --sysroot root -- "idle cpu0:-=1" alpha-5:alpha=2 gamma-6:-=4 gamma-6:gamma=24 gamma-6:delta=1 \
    "thread of alpha-7:alpha=32" "thread of alpha-7:-=320" "thread of alpha-7:gamma=128"
silent "--sysroot"
# What has no file is shown by its place in it.
functions --elf root/bin/gamma -- "idle cpu0:-=1" alpha-5:alpha+0x1000=2 gamma-6:-=4 \
    gamma-6:gamma=24 gamma-6:delta+0x1000=1 "thread of alpha-7:alpha+0x1000=32" "thread of alpha-7:-=320" \
    "thread of alpha-7:gamma=128"

# A library that no process had is no reason to stop; only a kernel names no process's code.
pie() {
    python3 - "$SRC/tests/cli" "$1" "$2" <<'END' || exit 1
import sys
sys.path.insert(0, sys.argv[1])
import mkelf
mkelf.write(sys.argv[2], "dyn", int(sys.argv[3], 0), bytes(64), [("other", 0, 4)])
END
}
pie libother.so 0x1000
run 0 "$sym" --functions --elf root/bin/gamma --elf libother.so t.ctr
one_line "a library that no process had"
grep -q 'libother.so: no such program or library ran in any trace$' stderr || fail "$(cat stderr)"
mv stdout with
run 0 "$sym" --functions --elf root/bin/gamma t.ctr
same with stdout "a library that no process had changes the output"
run 1 "$sym" --functions --elf libother.so t.ctr
one_line "only a library that no process had"
pie kernel 0xffff800080000000
run 1 "$sym" --functions --elf root/bin/gamma --elf kernel t.ctr
grep -q 'kernel: can be loaded anywhere, and t.ctr does not say where' stderr || fail "$(cat stderr)"
run 0 "$sym" --functions --json --slide=0 --elf kernel t.ctr
grep -q '"module": *"/bin' stdout && fail "a kernel names processes' code: $(cat stdout)"

# counts FILE=INSTRUCTIONS...: of tracecov
counts() {
    python3 - stdout "$@" <<'END' || fail "tracecov: $(cat stdout)"
import json, sys
d = json.load(open(sys.argv[1]))
got = {m["path"]: m["instructions"] for m in d["modules"]}
sys.exit(got != {k: int(n) for k, n in (a.split("=") for a in sys.argv[2:])} and repr(got))
END
}
run 0 "$BIN/tracecov" -q -f json --sysroot root t.ctr
counts /bin/alpha=34 /bin/gamma=152 /bin/delta=1
grep -q '"name":"gamma","linkage":"gamma","count":152' stdout || fail "gamma: $(cat stdout)"
run 0 "$BIN/tracecov" -q -f json --sysroot root --task gamma t.ctr
counts /bin/gamma=24 /bin/delta=1

# Lines: by name all of that address, since others may have the code elsewhere.
run 0 "$sym" -e exec --from 1 -n 7 --sysroot root t.ctr
[ "$(grep -c ' alpha alpha+0x0$' stdout)" = 2 ] && [ "$(wc -l <stdout)" = 7 ] ||
    fail "lines: $(cat stdout)"
run 0 "$BIN/tracedump" -e exec --from 1 -n 7 --sysroot root t.ctr
[ "$(grep -c ' alpha+0x401000 ' stdout)" = 2 ] || fail "tracedump: $(cat stdout)"
run 0 "$BIN/tracedump" -c --pc 'gamma!gamma' --sysroot root t.ctr
grep -Eq '^ +511 +0 +0  total$' stdout || fail "--pc: $(cat stdout)"
run 0 "$BIN/tracedump" -e task t.ctr
for line in 'process 5 has no code of before' 'process 5 has 0x401000-0x402000 /bin/alpha +0x1000' \
    'process 5 has no more 0x401000-0x402000'; do
    grep -q -- "+++ $line +++\$" stdout || fail "no '$line': $(cat stdout)"
done
run 0 "$BIN/tracedump" --json -e task t.ctr
grep -q '"kind":"area",.*"of":6,"op":"mapped","start":"0x401000","end":"0x402000","offset":"0x1000","path":"/bin/gamma"}$' stdout ||
    fail "JSON: $(cat stdout)"

# What is announced again goes on, however often: it is one area.
"$TOOLS/mktrace" areas-again again.ctr || exit 1
run 0 "$BIN/tracecov" -q -f json --sysroot root again.ctr
counts /bin/alpha=4999 /bin/gamma=1 /bin/delta=6000
run 0 "$BIN/tracecov" -q -f json --sysroot root -n 20 again.ctr
counts /bin/alpha=10 /bin/delta=10

# Damage of later events is reported, although the instructions that are shown are whole.
python3 - again.ctr bad.ctr <<'END' || exit 1
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[len(data) // 2] ^= 0x10
open(sys.argv[2], "wb").write(data)
END
run 0 "$BIN/tracedump" -e exec --from 1 -n 5 bad.ctr
run 3 "$BIN/tracedump" -e exec --from 1 -n 5 --sysroot root bad.ctr
one_line "damage"
grep -q 'bad.ctr: processes: .*; modules may be wrong from there on$' stderr || fail "damage: $(cat stderr)"
[ "$(wc -l <stdout)" = 5 ] || fail "damage: $(cat stdout)"

# At an address of a file some code may be of other processes.
elf root/bin/many many "$(printf "$nop%.0s" {1..20})"
"$TOOLS/mktrace" areas-shared 2 shared.ctr || exit 1
run 0 "$BIN/tracecov" -q -f json --sysroot root shared.ctr
silent "code of others"
counts /bin/many=18
"$TOOLS/mktrace" areas-shared 3 shared.ctr || exit 1
run 0 "$BIN/tracecov" -f json --sysroot root shared.ctr
grep -q '/bin/many is not the file that ran in shared.ctr: its code differs in 3 of 20 blocks' stderr ||
    fail "much code of others: $(cat stderr)"

# Files that are not those of the machine: another one, one of this machine.
cp -r root other
elf other/bin/delta delta 00000000 0x501000
run 0 "$sym" --functions --json --sysroot other t.ctr
one_line "another file"
grep -q '/bin/delta is not the file that ran in t.ctr: its code differs in 1 of 1 blocks' stderr ||
    fail "another file: $(cat stderr)"
grep -q '"function": "delta"' stdout && fail "another file is used: $(cat stdout)"
run 0 "$sym" --functions --json --sysroot nowhere t.ctr
grep -q "nowhere/bin/alpha: No such file" stderr || fail "no file: $(cat stderr)"
finish
