# SPDX-License-Identifier: MIT
# The functions of a machine's kernel, named by a copy of its /proc/kallsyms or by its image:
# all tools know them; data symbols end functions, of several names at an address one counts,
# wrong lines are reported once; where a kernel that moved itself runs is found by its code.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
need python3
"$TOOLS/mktrace" machine aarch64 t.ctr || exit 1

# Its code: blocks of one instruction at 0x40100000, 100, 200 and 300; 2 vCPUs run the first
# one twice, the others once.
cat >kallsyms <<'E2'
0000000040100200 t second_private
0000000040100000 t _text_alias
0000000040100000 T _text
0000000040100100 W weak_one
0000000040100140 D some_data
0000000040100202 T in_the_middle
0000000040100300 t of_module	[mod]
ffff800080000000 D far_away
E2

# functions FILE NAME=SELF...
functions() {
    run 0 "$sym" --functions --json --kallsyms="$1" t.ctr
    silent "$1"
    python3 - stdout "${@:2}" <<'END' || fail "$*: $(cat stdout)"
import json, sys
got = {}
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["module"] and e["self"]:
        got[e["function"]] = e["self"]
want = {k: int(n) for k, n in (a.rsplit("=", 1) for a in sys.argv[2:])}
sys.exit(got != want and "%s, not %s" % (got, want))
END
}
functions kallsyms _text=4 weak_one=2 second_private=2 of_module=2

# What is past a function is in none: a symbol of data ends one, and so does 1 MiB.
printf '0000000040000000 T long_ago\n0000000040100100 T here\n0000000040100101 D data\n' >few
functions few here=2

run 0 "$sym" --kallsyms=kallsyms --from 1 -n 2 --thread cpu0 -e exec t.ctr
grep -q 'kallsyms weak_one+0x0$' stdout && grep -q 'kallsyms second_private+0x0$' stdout ||
    fail "lines: $(cat stdout)"
run 0 "$BIN/tracedump" --kallsyms=kallsyms -c --pc weak_one t.ctr
grep -Eq '^ +2 +2 +0  total$' stdout || fail "--pc: $(cat stdout)"
run 0 "$BIN/tracecov" --kallsyms=kallsyms -f json t.ctr
grep -q '"name":"weak_one"' stdout || fail "tracecov: $(cat stdout)"

# Several files: a module's beside the kernel's.
grep mod kallsyms >modules
grep -v mod kallsyms >rest
echo '0000000040100300 D end' >>rest
run 0 "$sym" --functions --json --kallsyms=modules --kallsyms=rest t.ctr
grep -q '"function": "of_module"' stdout && grep -q '"function": "_text"' stdout ||
    fail "two files: $(cat stdout)"

# Wrong files.
printf 'what is this\n0000000040100000 T good\n4010 T\n' >damaged
run 0 "$sym" --functions --kallsyms=damaged t.ctr
one_line damaged
grep -q 'damaged: line 1 is wrong (not ADDRESS TYPE NAME), and so are others' stderr ||
    fail "$(cat stderr)"
grep -q good stdout || fail "a good line of a damaged file"
sed 's/^[0-9a-f]*/0000000000000000/' kallsyms >hidden
run 0 "$sym" --functions --kallsyms=hidden t.ctr
one_line hidden
grep -q 'all addresses are 0: it was not read as root' stderr || fail "$(cat stderr)"
run 1 "$sym" --functions --kallsyms=none t.ctr
one_line none
is_usage tracesym --kallsyms= t.ctr
"$TOOLS/mktrace" chosen program.ctr || exit 1
run 0 "$sym" --functions --kallsyms=kallsyms program.ctr
grep -q -- '--kallsyms: program.ctr is not the trace of a machine$' stderr || fail "$(cat stderr)"

# A kernel's image, in each layout, where it is linked for and elsewhere.
base=0xffff800080000000
all_named() {
    run 0 "$sym" --functions --json --kallsyms="$1" k.ctr
    silent "$2"
    python3 - stdout <<'END' || fail "$2: $(cat stdout)"
import json, sys
got = {e["function"]: e["self"] for e in map(json.loads, open(sys.argv[1])) if e["module"]}
sys.exit(got != {"fn_%03u" % i: 16 if i == 1 else 8 for i in range(300)} and repr(got))
END
}
for layout in relocated seqs old percpu new; do
    for slide in 0 0x1fe00000; do
        "$TOOLS/mktrace" kernel $base $slide $layout image k.ctr || exit 1
        all_named image "$layout $slide"
    done
done

# Packed into a bzImage.
python3 - image <<'END' || exit 1
import gzip, lzma, struct, subprocess, sys
image = open(sys.argv[1], "rb").read()
def lz4(data):
    """Blocks of literals."""
    n = len(data) - 15
    block = bytes([0xf0]) + b"\xff" * (n // 255) + bytes([n % 255]) + data
    return struct.pack("<I", len(block)) + block
half = len(image) // 2
packed = {"gzip": gzip.compress(image), "xz": lzma.compress(image, check=lzma.CHECK_CRC32),
          "lz4": b"\x02\x21\x4c\x18" + lz4(image[:half]) + lz4(image[half:]),
          "zstd": subprocess.run(["zstd", "-qc"], input=image, capture_output=True).stdout,
          "lzo": b"\x89LZO" + image}
for name, data in packed.items():
    if name != "gzip":
        data += struct.pack("<I", len(image))
    head = bytearray(0x800)
    head[0x1f1] = 3
    head[0x202:0x206] = b"HdrS"
    head[0x248:0x250] = struct.pack("<II", 0, len(data))
    open("bz-" + name, "wb").write(head + data)
    open("short-" + name, "wb").write(head + data[:len(data) // 2])
    data = data[:len(data) // 2] + b"\xff\xff\xff\xff" + data[len(data) // 2 + 4:]
    open("bad-" + name, "wb").write(head + data)
END
for how in gzip xz lz4 zstd; do
    all_named bz-$how "packed with $how"
    run 0 "$sym" --functions --kallsyms=short-$how k.ctr
    grep -q "short-$how: its kernel is not whole\$" stderr || fail "short $how: $(cat stderr)"
done
for how in gzip xz zstd; do
    run 0 "$sym" --functions --kallsyms=bad-$how k.ctr
    grep -q "bad-$how: its kernel cannot be unpacked\$" stderr || fail "bad $how: $(cat stderr)"
done
run 0 "$sym" --functions --kallsyms=bz-lzo k.ctr
grep -q 'bz-lzo: its kernel is packed in an unknown way: unpack it' stderr || fail "$(cat stderr)"

run 0 "$BIN/tracedump" --kallsyms=image -c --pc fn_001 k.ctr
grep -Eq '^ +16 +0 +0  total$' stdout || fail "--pc fn_001: $(cat stdout)"
# One that is not the trace's, a part of one.
run 0 "$sym" --functions --kallsyms=image t.ctr
one_line "another kernel"
grep -q 'image: it is not the kernel of the trace$' stderr || fail "$(cat stderr)"
head -c 24000 image >part
run 0 "$sym" --functions --kallsyms=part k.ctr
one_line "a part"
grep -q 'part: it has no kallsyms that can be read$' stderr || fail "$(cat stderr)"
finish
