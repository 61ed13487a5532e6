# SPDX-License-Identifier: MIT
# Searches are about the memory of one process, across its fork, and a moment syscall:NAME
# is before what the system does for the call.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 gcc
need gcc python3
[ "$(uname -m)" = x86_64 ] || { echo "needs programs for x86_64"; exit 77; }
export CANNOLI_QEMU_DIR=$qemu_dir
dump="$BIN/tracedump"

cp "$SRC/tests/cli/bare.h" . || exit 1
cat >app.c <<'END'
#include "bare.h"
volatile int value, later;
volatile char buffer[8];
__attribute__((noinline)) void child(int *ends)
{
    sys(0, ends[0], (long)buffer, 1, 0); /* the parent has stored 2 */
    later = buffer[0];
    *(volatile int *)8 = value;
}
int main(long argc, char **argv)
{
    int ends[2];
    value = 1;
    sys(22, (long)ends, 0, 0, 0);
    if (!sys(57, 0, 0, 0, 0)) {
        child(ends);
    }
    value = 2;
    sys(1, ends[1], (long)"x", 1, 0);
    sys(61, -1, 0, 0, 0);
    value = 3;
    later = 4;
    sys(231, 0, 0, 0, 0);
}
END
gcc -O1 -g -static -nostdlib -no-pie -fcf-protection=none -fno-stack-protector -o app app.c ||
    fail "gcc"
"$BIN/cannoli-record" -q -e mem,val,reg,sys,map,thr,time -o run.ctr -- ./app 2>record.err || fail "recording: $?"
run 0 "$dump" --json -e sys,store,thr --no-disas run.ctr
cp stdout all
python3 - <<'END' || fail "see above"
import json, os, subprocess, sys
dump = os.environ["BIN"] + "/tracedump"
def run(status, *args):
    p = subprocess.run([dump, "--json", "--no-disas", *args, "run.ctr"], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode != status:
        sys.exit(f"{args}: {p.returncode}, not {status}: {p.stderr}")
    return [json.loads(line) for line in p.stdout.splitlines()]
info = run(0, "--info")[0]
parent, child = [t["pid"] for t in info["threads"]]
stores = [e for e in run(0, "--writes", "-a", "value") if e["kind"] == "store"]
if [(e["pid"], e["value"]) for e in stores] != [(parent, f"0x{n}") for n in (1, 2, 3)]:
    sys.exit(stores)
read = [e for e in map(json.loads, open("all")) if e.get("name") == "read"][0]

def search(option, moment, where, *want, args=()):
    got = [(e["pid"], e["ordinal"], e["kind"])
           for e in run(0 if want else 4, f"--{option}={moment}", "-a", where, *args)]
    if got != list(want):
        sys.exit(f"{option} {moment} {where} {args}: {got}, not {want}")
place = lambda e: (e["pid"], e["ordinal"], e["kind"])
# The child has what was stored before the fork, never what the parent does afterwards.
for args in (), ("-p", str(child)):
    search("last-write-before", "crash", "value", place(stores[0]), args=args)
search("last-write-before", "crash", "value", args=("-t", str(child)))
search("last-write-before", "end", "value", place(stores[2]), args=("-p", str(parent)))
search("first-write-after", "syscall:read", "value")
search("first-write-after", "0", "value", place(stores[0]), args=("-p", str(parent)))
# The instruction after a moment counts, so the next one continues.
first, second = (e["ordinal"] for e in stores[:2])
search("first-write-after", first, "value", place(stores[0]), args=("-p", str(parent)))
search("first-write-after", first + 1, "value", place(stores[1]), args=("-p", str(parent)))
search("last-write-before", second, "value", place(stores[0]), args=("-p", str(parent)))
# What the system does for a call is after the moment of the call.
search("first-write-after", "syscall:read", "buffer", place(read))
search("last-write-before", "syscall:read", "buffer")
search("last-write-before", str(read["ordinal"]), "buffer", place(read), args=("-p", str(child)))
search("first-write-after", str(read["ordinal"]), "buffer", args=("-p", str(child)))
loads = [e for e in run(0, "--reads", "-a", "buffer") if e["kind"] == "load"]
if loads[0]["ordinal"] - read["ordinal"] > 1:
    sys.exit(f"the load is not next to the call: {loads}, {read}")
search("first-read-after", "syscall:read", "buffer", place(loads[0]))
# --writes and --reads have what the system did, too
writes = run(0, "--writes", "-a", "buffer")
if [place(e) for e in writes] != [place(read)]:
    sys.exit(f"--writes: {writes}")
if [place(e) for e in run(0, "-e", "sys,store", "-a", "buffer")] != [place(read)]:
    sys.exit("-e sys,store")
if [place(e) for e in run(0, "-e", "sys", "-a", "buffer")] != [place(read)]:
    sys.exit("-e sys")
run(4, "-e", "store", "--writes", "-a", "buffer")
if [place(e) for e in run(0, "--reads", "-a", "buffer")] != [place(loads[0])]:
    sys.exit("--reads")
got = [place(e) for e in run(0, "-e", "sys,mem", "-a", "buffer")]
if got != [place(read), place(loads[0])]:
    sys.exit(got)
# And its registers are those of the call.
for moment, rax in ("syscall:read", 0), (f"{read['ordinal']}/2", 1):
    state = run(0, f"--state={moment}")[0]
    if (state["ordinal"], int(state["registers"]["rax"], 16)) != (read["ordinal"], rax):
        sys.exit(f"--state={moment}: {state['ordinal']}, {state['registers']['rax']}")
END
run 0 "$BIN/tracesym" --writes -a buffer run.ctr
[ "$(grep -c ' read([0-9]*, "x", 1) = 1' stdout)/$(wc -l <stdout)" = 1/1 ] || fail "tracesym: $(cat stdout)"
run 0 "$dump" --writes -a buffer --elf app - < <(cat run.ctr)
grep -q ' read([0-9]*, "x", 1) = 1' stdout || fail "a stream: $(cat stdout)"
# Names need a file: a stream was not recorded without mappings
run 4 "$dump" -a value - < <(cat run.ctr)
grep -q 'need a file, not a stream' stderr || fail "$(cat stderr)"
run 0 "$BIN/tracesym" -n 5 - < <(cat run.ctr)
grep -q 'need a file, not a stream' stderr || fail "$(cat stderr)"
# Of a part, one remark
"$BIN/cannoli-record" -q --function=child -e mem,sys,map,thr -o part.ctr -- ./app 2>record.err
run 0 "$dump" -a later --last-write-before=crash part.ctr
one_line part
grep -q 'only a part was recorded (--function=child)' stderr || fail "$(cat stderr)"
run 0 "$dump" -q -a later --last-write-before=crash part.ctr
[ ! -s stderr ] || fail "$(cat stderr)"
finish
