# SPDX-License-Identifier: MIT
# cannoli-expand without a QEMU: what a script in place of cannoli-record gets (arguments,
# environment, inputs, files), on machines of both word sizes and byte orders; and what it says
# of the trace that the script makes, which is that of the program or one with a planted
# difference.
. "$SRC/tests/cli/libtracedump.sh"
need python3
mkdir tool
cp "$BIN/cannoli-expand" tool/
cat >tool/cannoli-record <<'END'
#!/bin/sh
here=${0%/*}/..
env -0 >"$here/got.env"
for arg; do
    printf '%s\0' "$arg"
    case $arg in
    --inputs=*)
        rm -rf "$here/got"
        cp -r "${arg#*=}" "$here/got"
        echo "${arg#*=}" >"$here/folder"
        ;;
    esac
done >"$here/got.args"
while [ "$1" != -o ]; do
    shift
done
[ ! -e "$here/made.ctr" ] || cp "$here/made.ctr" "$2"
exit "$(cat "$here/status")"
END
chmod +x tool/cannoli-record
expand=tool/cannoli-expand
for target in arm x86_64 ppc64 hppa; do
    cp tool/cannoli-record "qemu-$target"
done

cat >check.py <<'END'
import os, struct, sys
word = int(sys.argv[1])
args = open("got.args", "rb").read().split(b"\0")[:-1]
target = args[args.index(b"--") + 1]
assert args[0] == b"-q" and args[1].startswith(b"--inputs=/"), args
assert args[2:7] == [b"--data-limit=all", b"--embed=all", b"-e", b"mem,sys", b"-o"], args
assert target == b"./qemu-" + sys.argv[2].encode(), target
assert args[args.index(b"--") + 2:] == [b"-0", b"zero", b"./app", b"one", b"two words"], args
env = [e for e in open("got.env", "rb").read().split(b"\0") if e]
# What a shell adds of its own
assert [e for e in env if e.split(b"=")[0] not in (b"PWD", b"_", b"OLDPWD", b"SHLVL")] == \
    [b"NAME=a=b", b"EMPTY="], env

data = open("got/inputs", "rb").read()
magic, version, threads, seed, start, real = struct.unpack_from("<QIIQQQ", data)
assert (magic, version, threads) == (0x7374757063726374, 2, 1), (magic, version, threads)
assert seed == 0x5eed and start and real
offset, size, pid, tid, ppid, ptid, begin, first, program, loader, at, n, argc = \
    struct.unpack_from("<QQiiiiQQIIQII", data, 40)
assert (pid, tid, ppid, ptid) == (9, 9, 1, 0) and offset == 112 and offset + size == at and first == int(sys.argv[4])
assert (program, loader, at + n, argc) == (0, 1, len(data), 3), (program, loader, at, n, argc)
assert data[at:].rstrip(b"\0").split(b"\0")[:4] == [b"./app", b"zero", b"one", b"two words"]
inputs = []
while offset < at:
    insns, time, kind, n, file, zero = struct.unpack_from("<QQIIII", data, offset)
    payload = data[offset + 32:offset + 32 + n]
    offset += 32 + (n + 7) // 8 * 8
    assert zero == 0 and not any(data[offset - (n + 7) // 8 * 8 + n:offset])
    inputs.append((insns, kind, file, payload, time))
NONE = 0xffffffff
want = [(0, 7, NONE), (0, 6, 0), (0, 6, 1), (0, 6, NONE), (0, 23, NONE), (0, 23, NONE), (0, 3, NONE),
        (32020, 1, NONE), (0, 3, NONE), (0, 2, NONE), (31980, 6, 0), (0, 6, NONE), (28, 23, NONE),
        (95972, 7, NONE)]
CUT, OPEN = 0x100, 0x101
if sys.argv[3] == "killed":
    want[-1] = (95972, CUT, NONE)
elif sys.argv[3] == "window": # from 40000 to 64010; the clocks of that are recorded later
    want[10:] = [(7980, OPEN, NONE), (24000, 6, 0), (0, 6, NONE), (10, CUT, NONE), (0, 23, NONE)]
assert [i[:3] for i in inputs] == want, inputs
assert sum(i[0] for i in inputs) == (64010 if sys.argv[3] == "window" else 160000)
assert inputs[4][3] == struct.pack("<IIQ", 1, 8, 0x5eed)
assert inputs[8][3][24:] == bytes.fromhex("1122334455667788"), inputs[8]
assert inputs[9][3].endswith(b"\x09\0getrandom")
assert [i[3] for i in inputs if i[1] == 23][2] == struct.pack("<IIQQQ", 3, 24, 0x1000, 0x1001, 0x1002)
assert all(i[4] for i in inputs if i[1] not in (3, CUT, OPEN)), "times"
assert len(inputs[6][3]) > 24 + 19 * word
for number in (0, 1):
    assert open("got/%d" % number, "rb").read() == bytes((i * 7 + number) & 0xff for i in range(5000))

def fnv(text):
    h = 0xcbf29ce484222325
    for c in text:
        h = (h ^ c) * 0x100000001b3 & (1 << 64) - 1
    return h
# Files with equal contents are one
links = {n: os.readlink("got/" + n) for n in os.listdir("got") if os.path.islink("got/" + n)}
assert (links.pop("0"), links.pop("1")) == ("0.d/app", "1.d/ld.so")
assert links == {"7-%x-%016x" % (inode, fnv(path)): to for inode, path, to in
                 [(1, b"/bin/app", "0"), (2, b"/lib/ld.so", "1"), (3, b"/lib/same.so", "0")]}, links
END

light() { # TARGET WHAT: of a program that does the same again
    "$TOOLS/mktrace" light light.ctr "$1" "$2" || fail "mktrace"
    cp light.ctr made.ctr
    rm -f out.ctr
}
for machine in arm:4 x86_64:8 ppc64:8 hppa:4; do
    target=${machine%:*}
    light "$target" ''
    # QEMU says that an address is not free: there are more attempts
    echo 122 >status
    run 1 $expand -q -e mem,sys --qemu-dir . -o out.ctr light.ctr
    one_line "$target"
    grep -q 'could not map the program.s memory at its addresses$' stderr || fail "$target: $(cat stderr)"
    # The program's own status does not matter.
    echo 7 >status
    run 0 $expand -q -e mem,sys --qemu-dir . -o out.ctr light.ctr
    silent "$target"
    same made.ctr out.ctr "$target: the trace is another one"
    python3 check.py "${machine#*:}" "$target" '' 0 || fail "$target: inputs"
    [ ! -e "$(cat folder)" ] || fail "$target: the folder of inputs is still there"
done
# A program that was killed
light arm killed
run 3 $expand -e mem,sys -q --qemu-dir . -o out.ctr light.ctr
python3 check.py 4 arm killed 0 || fail "killed: inputs"
same made.ctr out.ctr "killed: the trace is another one"

# One that was killed, and with it values of clocks: the new trace ends before they are needed
"$TOOLS/mktrace" light made.ctr arm early || fail "mktrace early"
run 3 $expand -e mem,sys --qemu-dir . -o out.ctr light.ctr
grep -q '^cannoli-expand: light.ctr: the last 32000 instructions are not executed again: what clocks' stderr ||
    fail "early: $(cat stderr)"
# QEMU says that it did something else: no shortfall is one of clocks then, whatever is selected
echo 121 >status
run 1 $expand -e mem,sys -q --qemu-dir . -o out.ctr light.ctr
grep -q 'the second execution differs at ordinal 128000 of' stderr || fail "121: $(cat stderr)"
cp light.ctr made.ctr
for select in '' --select=--stores; do
    # shellcheck disable=SC2086
    run 1 $expand -q --qemu-dir . $select -o out.ctr light.ctr
    grep -q 'light.ctr: the second execution does something else, as QEMU says$' stderr ||
        fail "121, '$select': $(cat stderr)"
done
[ ! -e out.ctr.differs ] || fail "121: a trace is left"
echo 7 >status
# A part of the execution
light arm ''
run 0 $expand -e mem,sys -q --qemu-dir . --from 40000 --to 64010 -o out.ctr light.ctr
python3 check.py 4 arm window 40000 || fail "window: inputs"
for window in '--from end' '--from 160K' '--to 0'; do
    # shellcheck disable=SC2086
    run 1 $expand -q --qemu-dir . $window -o out.ctr light.ctr
    one_line "$window"
    grep -q "^cannoli-expand: light.ctr: no instruction is in ${window/ /=}$" stderr || fail "$window: $(cat stderr)"
done
"$TOOLS/mktrace" light made.ctr arm insn || fail "mktrace insn"
# The difference is at ordinal 96310.
for window in '--to 96310' '--from 96311' '--to 96310 --from 70000' '--from 96311 --to 96312'; do
    # shellcheck disable=SC2086
    run 0 $expand -q --qemu-dir . $window -o out.ctr light.ctr
done
for window in '--to 96311' '--from 96310' '--from 96310 --to 96311' '--from 70000 --to 150K' '--from 10'; do
    # shellcheck disable=SC2086
    run 1 $expand -q --qemu-dir . $window -o out.ctr light.ctr
    grep -q "the second execution differs at ordinal 96310 of" stderr || fail "$window: $(cat stderr)"
done
rm -f out.ctr

# Instructions that are chosen: the recorder has these options, and what it makes is in the light
# trace, or not
light arm ''
run 0 $expand -q --qemu-dir . --select "--function 'a b' --not --module=-o" -o out.ctr light.ctr
tr '\0' '\n' <got.args | grep -A3 -x -e --function >words
printf '%s\n' --function 'a b' --not --module=-o | cmp - words || fail "--select: $(cat words)"
"$TOOLS/mktrace" light made.ctr arm mem || fail "mktrace mem" # its events have other ordinals
run 0 $expand -q --qemu-dir . --select=--stores -o out.ctr light.ctr
for what in insn byte threads; do
    "$TOOLS/mktrace" light made.ctr arm $what || fail "mktrace $what"
    status=1
    [ $what != threads ] || status=0 # one more thread is not looked for
    run $status $expand -q --qemu-dir . --select=--stores -o out.ctr light.ctr
    case $what in
    insn) grep -q '^  executed  *96310 0x10088: 01020305 ' stderr || fail "--select, $what: $(cat stderr)" ;;
    byte) grep -q '^  executed .* system w 0x50000000/8$' stderr || fail "--select, $what: $(cat stderr)" ;;
    esac
done
rm -f out.ctr

# planted WHAT WORDS...: the difference is found and shown, and the trace is removed
planted() {
    local word
    light arm ''
    "$TOOLS/mktrace" light made.ctr arm "$1" || fail "mktrace $1"
    run 1 $expand -q --qemu-dir . -o out.ctr light.ctr
    for word in "${@:2}"; do
        grep -Eq -- "$word" stderr || fail "$1: no '$word' in: $(cat stderr)"
    done
    [ ! -e out.ctr ] && [ -z "$(find . -name '*.part')" ] || fail "$1: a trace is left"
}
planted insn '^cannoli-expand: light.ctr: the second execution differs at ordinal 96310 of 9/9:$' \
    '^  recorded +96310 0x10088: 01020304 ' '^  executed +96310 0x10088: 01020305 '
planted byte 'at ordinal 32020 of' '^  recorded +32020 9/9 +\+\+\+ system w 0x50000000/8$' \
    '^  the byte at 0x50000007 is 0x88 and 0x89$'
planted result '^  recorded +32020 9/9 .*getrandom\(.*\) = 8$' '^  executed +32020 9/9 .*getrandom\(.*\) = 7$'
planted killed '^  recorded +160000 9/9 +\+\+\+ exited with 0 \+\+\+$' '^  executed +nothing$'
planted no-file 'at ordinal 64000' 'recorded +160000 ' 'executed .*/tmp/unknown'
planted threads 'light.ctr: the second execution has 2 threads, of which 1 are among the 1 recorded ones$'
light arm ''
"$TOOLS/mktrace" light made.ctr arm insn
run 1 $expand -q --keep --qemu-dir . -o out.ctr light.ctr
same made.ctr out.ctr.differs "--keep"
# Another file of that name stays as it was
echo mine >out.ctr
run 1 $expand -q --qemu-dir . -o out.ctr light.ctr
[ "$(cat out.ctr)" = mine ] || fail "the file of -o is gone"
# Another machine
"$TOOLS/mktrace" light made.ctr x86_64 ''
run 1 $expand -q --qemu-dir . -o out.ctr light.ctr
one_line "another machine"
grep -q 'for arm, and this is .* for x86_64' stderr || fail "another machine: $(cat stderr)"
# The recorder makes no trace
rm made.ctr
run 1 $expand -q --qemu-dir . -o out.ctr light.ctr
one_line "no trace"
grep -q "cannoli-record made no trace: status 7$" stderr || fail "no trace: $(cat stderr)"
# An address that is not free, before the program has begun
echo 122 >status
run 1 $expand -q --qemu-dir . -o out.ctr light.ctr
one_line "no place"
grep -q 'could not map the program.s memory at its addresses$' stderr || fail "no place: $(cat stderr)"
echo 2 >status
run 2 $expand -q --qemu-dir . -o out.ctr light.ctr
printf '#!/bin/sh\nkill -9 $$\n' >tool/cannoli-record
run 1 $expand -q --qemu-dir . -o out.ctr light.ctr
grep -q '^cannoli-expand: cannoli-record was ended by signal 9$' stderr || fail "killed: $(cat stderr)"
# A signal that ends it ends the recorder, too, and nothing is left
cat >tool/cannoli-record <<'END'
#!/bin/sh
trap 'echo ended >ended; exit 143' TERM
for arg; do
    case $arg in
    --inputs=*) echo "${arg#*=}" >folder ;;
    esac
done
: >begun
while :; do
    /bin/sleep 0.1
done
END
eventually() {
    local i
    for ((i = 0; i < 300; i++)); do
        "$@" && return
        sleep 0.1
    done
    fail "not within 30 s: $*"
}
light arm ''
rm -f folder
$expand -q --qemu-dir . -o out.ctr light.ctr 2>stderr &
pid=$!
eventually [ -e begun ]
kill $pid
wait $pid
[ $? -eq 1 ] || fail "the status after a signal"
grep -q '^cannoli-expand: interrupted by signal 15$' stderr || fail "signal: $(cat stderr)"
[ -e ended ] && [ ! -e "$(cat folder)" ] || fail "a signal: something is left"
finish
