# SPDX-License-Identifier: MIT
# The arguments of every process are recorded and shown, and processes are found by them:
# compared with what the programs themselves print.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 gcc
need python3
gcc -O1 -static -pthread -o guest "$SRC/tests/cli/argsguest.c" || exit 1
export GUEST=$PWD/guest

# rec_guest OPTION... -- ARGUMENT...: records the guest into a.ctr; `printed' is what it says
rec_guest() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run 0 "$record" -q --qemu-dir "$qemu_dir" "${options[@]}" -o a.ctr -- qemu-x86_64 ./guest "$@"
    silent "$*"
    cp stdout printed
}

cat >check.py <<'EOF'
# check.py TRACE: arguments of processes, as --info and the events of threads have them
import json, os, subprocess, sys

LIMIT = 4096
path = sys.argv[1]
dump = os.environ["BIN"] + "/tracedump"

def tool(*args, stdin=None):
    p = subprocess.run([dump, "-q", *args], stdin=stdin, stdout=subprocess.PIPE, check=True)
    return p.stdout

def known(args):
    """What is recorded of arguments: (strings, number if these are not all)"""
    data = b"".join(a + b"\0" for a in args)
    cut = data[:LIMIT]
    strings = cut.split(b"\0")
    if cut.endswith(b"\0"):
        strings.pop()
    return ([s.decode("utf-8", "replace") for s in strings],
            len(args) if len(data) > LIMIT else None)

def of(row):
    return row.get("argv"), row.get("argc")

printed = {}
lines = [line.split() for line in open("printed")]
for pid, *words in lines:
    printed[int(pid)] = [bytes.fromhex("" if w == "-" else w) for w in words]
if len(printed) != len(lines):
    sys.exit("a pid is printed twice")
first = known(printed[int(lines[0][0])])

info = json.loads(tool("--info", "--json", path))
rows = {}
for p in info["processes"]:
    rows.setdefault(p["pid"], []).append(p)
if set(rows) != set(printed):
    sys.exit("processes %s, printed by %s" % (sorted(rows), sorted(printed)))
for pid, args in printed.items():
    # the child of fork, and the program that it became
    want = [known(args)] if len(rows[pid]) == 1 else [first, known(args)]
    got = [of(p) for p in rows[pid]]
    if got != want:
        sys.exit("%d: %.300s, not %.300s" % (pid, got, want))

# The events, in all ways to read them
for args, stdin in ((("-e", "thr", "--json", path), None),
                    (("-e", "thr", "--json", "--group", path), None),
                    (("-e", "thr", "--json", "-"), open(path, "rb"))):
    events = {}
    for line in tool(*args, stdin=stdin).splitlines():
        e = json.loads(line)
        if e["op"] in ("start", "exec") and e["pid"] == e["tid"]:
            events.setdefault(e["pid"], []).append(of(e))
        elif "argv" in e or "argc" in e:
            sys.exit("arguments in %s" % e)
    if events != {pid: [of(p) for p in v] for pid, v in rows.items()}:
        sys.exit("%s: %.300s" % (args, events))
stream = json.loads(tool("--info", "--json", "-", stdin=open(path, "rb")))
if [of(p) for p in stream["processes"]] != [of(p) for p in info["processes"]]:
    sys.exit("--info of a stream")

# The text is what a shell reads as these arguments.
text = [line.split(b"  argv ", 1)[1] for line in tool("--info", path).splitlines()
        if b"  argv " in line]
if len(text) != len(info["processes"]):
    sys.exit("%d lines with argv" % len(text))
for line, p in zip(text, info["processes"]):
    args = printed[p["pid"]] if p is rows[p["pid"]][-1] else printed[int(lines[0][0])]
    size = sum(len(a) + 1 for a in args) - 1
    if line.endswith(b"...") != (size > 120):
        sys.exit("%r of %d bytes" % (line, size))
    if size <= 120:
        got = subprocess.run([b"bash", b"-c", b"printf '%s\\0' " + line],
                             stdout=subprocess.PIPE, check=True).stdout
        if got != b"".join(a + b"\0" for a in args):
            sys.exit("%r is read as %r" % (line, got))
    elif len(line) > 250:
        sys.exit("long: %r" % line)
print(len(printed), len(info["processes"]))
EOF
# check WANT: the numbers of different pids and of processes in a.ctr
check() {
    python3 check.py a.ctr >numbers || fail "$2"
    [ "$(cat numbers)" = "$1" ] || fail "$2: $(cat numbers) processes, not $1"
}

rec_guest --follow-exec -- tree
check "14 26" "a tree of programs"
cp a.ctr tree.ctr
rec_guest -- late 'an argument'
check "2 2" "a fork after the first thread has ended"
rec_guest --start-at spin -- spin 100
check "1 1" "recording begins late"
# the file says that it has them
[ $(($(od -An -tu4 -j20 -N4 a.ctr) & 1)) = 1 ] || fail "features: $(od -An -tx4 -N40 a.ctr)"
# In a ring, after the chunk that had them
rec_guest --ring 1M -e mem,thr -- spin 600000
"$dump" --info a.ctr | grep -q '^dropped' || fail "the ring dropped nothing"
run 4 "$dump" -e exec -n 1 a.ctr
grep -q 'what was before ordinal [0-9]* was dropped (--ring)$' stderr || fail "dropped: $(cat stderr)"
check "1 1" "a ring"

# Without thr there are none, and nothing is found by name.
rec_guest -e exec -- x
[ $(($(od -An -tu4 -j20 -N4 a.ctr) & 1)) = 0 ] || fail "features: $(od -An -tx4 -N40 a.ctr)"
run 0 "$dump" --info --json a.ctr
grep -q '"argv"' stdout && fail "arguments without thr"
for name in guest args:*x*; do
    run 4 "$dump" -p "$name" a.ctr
    grep -q 'names were not recorded' stderr || fail "$name without thr: $(cat stderr)"
done

# pids OPTION NAME: which processes of a trace are selected
pids() {
    "$dump" --json -q -e thr "$1" "$2" tree.ctr 2>/dev/null |
        sed 's/.*"pid":\([0-9]*\),.*/\1/' | sort -u | tr '\n' ' '
}
# pid ARGUMENT...: that of the program that printed these
pid() {
    python3 - "$@" <<'EOF'
import sys
want = [w.encode("utf-8", "surrogateescape").hex() or "-" for w in sys.argv[1:]]
print(*sorted(line.split()[0] for line in open("tree.printed") if line.split()[1:] == want), end=" ")
EOF
}
run 0 "$record" -q --qemu-dir "$qemu_dir" --follow-exec -o tree.ctr -- qemu-x86_64 ./guest tree
cp stdout tree.printed
for option in -p -t; do
    [ "$(pids $option base)" = "$(pid dir/base '*' '~' -x a,b)" ] || fail "$option base"
    [ "$(pids $option 'b[a]se')" = "$(pid dir/base '*' '~' -x a,b)" ] || fail "$option b[a]se"
    [ "$(pids $option 'args:dir/base ?*a?b')" = "$(pid dir/base '*' '~' -x a,b)" ] || fail "$option args:"
    [ "$(pids $option 'args:name  ')" = "$(pid name '' '')" ] || fail "$option empty arguments"
    [ "$(pids $option 'name,many' | wc -w)" -eq 3 ] || fail "$option name,many"
    # names of the kernel are those of the file, in all of them
    [ "$(pids $option comm:guest)" = "$(pids $option guest)" ] || fail "$option guest"
    [ "$(pids $option guest | wc -w)" -eq 14 ] || fail "$option guest: $(pids $option guest)"
    for name in comm:base base2 args:base 'args:dir/bas?' args:; do
        run 4 "$dump" $option "$name" tree.ctr
        one_line "$name"
        grep -q 'no \(process\|thread\)' stderr || fail "$option $name: $(cat stderr)"
    done
done
run 4 "$dump" -p nosuch tree.ctr
grep -q '[0-9]* (guest tree), ' stderr || fail "known processes: $(cat stderr)"

# Several programs of one file
qemu=$qemu_dir/qemu-arm
root=$BUILD/sysroot/armhf
if [ -x "$qemu" ] && [ -x "$root/bin/busybox" ]; then
    printf '%s\n' 1 2 3 >f
    ln -s "$root/bin/busybox" busybox
    ln -s busybox cat
    run 0 "$record" -q --qemu-dir "$qemu_dir" --follow-exec -o box.ctr -- \
        qemu-arm -L "$root" ./busybox sh -c './busybox cat f | ./busybox wc -l; ./cat f; exit 0'
    printf '%s\n' 3 1 2 3 >want
    same want stdout "busybox's output"
    run 0 "$dump" --info --json box.ctr
    python3 - stdout <<'EOF' || fail "argv of busybox: $(cat stdout)"
import json, sys
rows = [p["argv"] for p in json.load(open(sys.argv[1]))["processes"] if p["end_reason"] != "exec"]
shell = ["./busybox", "sh", "-c", "./busybox cat f | ./busybox wc -l; ./cat f; exit 0"]
want = [shell, ["./busybox", "cat", "f"], ["./busybox", "wc", "-l"], ["./cat", "f"]]
sys.exit(sorted(rows) != sorted(want) and str(rows))
EOF
    # selected NAME: the arguments of those programs
    selected() {
        "$dump" -q --json -e thr -p "$1" box.ctr | sed -n 's/.*"argv":\(.*\)}$/\1/p' | paste -sd' '
    }
    for name in cat 'args:./busybox cat *' 'args:*wc -l' 'args:./cat f'; do
        echo "$name: $(selected "$name")"
    done >got
    cat >want <<'EOF'
cat: ["./cat","f"]
args:./busybox cat *: ["./busybox","cat","f"]
args:*wc -l: ["./busybox","wc","-l"]
args:./cat f: ["./cat","f"]
EOF
    same want got "processes by their arguments"
    [ "$(selected busybox | grep -o '"\./busybox",' | wc -l)" -gt 3 ] || fail "busybox: $(selected busybox)"
    run 4 "$dump" -p wc box.ctr
    grep -q '(busybox wc -l)' stderr || fail "known processes: $(cat stderr)"
fi
finish
