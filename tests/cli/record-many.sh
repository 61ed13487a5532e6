# SPDX-License-Identifier: MIT
# A program of very many blocks: all of it is in the trace, in order, and readers need
# only the memory of a few chunks.
. "$SRC/tests/cli/librecord.sh"

if grep -q '^CANNOLI_SANITIZE:.*=.' "$BUILD/CMakeCache.txt"; then
    blocks=80000 times=2 mib=2000
else
    blocks=300000 times=3 mib=64
fi
guest many "many $blocks $times"

# peak MIB COMMAND...: its output goes to stdout, and its memory stays below MIB
peak() {
    local most=$1
    shift
    python3 - "$most" "$@" >stdout <<'END'
import os, sys
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
status, usage = os.wait4(pid, 0)[1:]
kib = usage.ru_maxrss
sys.exit(1 if status else 0 if kib <= int(sys.argv[1]) << 10 else
         f"{' '.join(sys.argv[2:])}: {kib} KiB")
END
    [ $? -eq 0 ] || fail "peak $most $*"
}

for events in exec mem mem,val mem,val,reg; do
    for opts in '-j1' '-j4'; do
        rec 0 $opts -e $events -o many.ctr -- qemu-arm many
        loads=$((blocks * times))
        [ $events != exec ] || loads=0
        counts many.ctr $((blocks * times)) $loads 0 1 1 0
        "$dump" --info --json many.ctr | python3 -c '
import json, sys
i = json.load(sys.stdin)
sys.exit(i["blocks"] < int(sys.argv[1]))' $blocks || fail "$events: blocks are missing"
    done
    # One line for each instruction, with its access.
    peak $mib "$dump" -j1 --no-disas -e exec,mem many.ctr
    python3 - $blocks $times $loads <<'END' || fail "$events: the trace differs from what ran"
import re, sys
blocks, times, loads = map(int, sys.argv[1:])
i = k = 0
for line in open("stdout"):
    m = re.search(r" 0x([0-9a-f]+) 00f020e3(?:  r 0x([0-9a-f]+)/4)?$", line)
    if not m:
        continue
    if int(m[1], 16) != 0x100000 + 4 * (i % blocks):
        sys.exit(f"instruction {i}: {line}")
    if m[2] and int(m[2], 16) != 0x60000000 + 4 * k:
        sys.exit(f"load {k}: {line}")
    i += 1
    k += m[2] is not None
sys.exit(0 if (i, k) == (blocks * times, loads) else f"{i} instructions, {k} loads")
END
    peak $((2 * mib)) "$dump" -j2 --json many.ctr
    peak $mib "$dump" -j1 --no-disas many.ctr
    peak $mib "$dump" -j1 --count=10 many.ctr
    peak $mib "$dump" -j1 --summary many.ctr
    peak $mib "$dump" -j1 --pc=0x100000+4 many.ctr
    [ "$(wc -l <stdout)" -ge $times ] || fail "--pc: $(wc -l <stdout) lines"
done
finish
