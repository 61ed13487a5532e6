# SPDX-License-Identifier: MIT
# A machine's kernel as an ELF file (vmlinux): where KASLR has moved it to is found by its code,
# although the kernel has changed some of it; --slide says it; another build is refused; a copy
# of /proc/kallsyms beside it names what it does not have.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
need python3
base=0xffff800080000000

# elf FILE [TYPE [PATCHED [SHIFTED]]]: vmlinux of `image', of the type exec or dyn; every
# PATCHED-th function has another instruction; functions from SHIFTED on are 64 bytes later.
elf() {
    python3 - "$base" "$@" <<'END' || exit 1
import struct, sys
base, name = int(sys.argv[1], 0), sys.argv[2]
kind, patched, shifted = (sys.argv[3:] + ["exec", "0", "300"][len(sys.argv) - 3:])[:3]
image = open("image", "rb").read()
functions = [bytearray(image[0x1000 + 64 * i:0x1040 + 64 * i]) for i in range(300)]
for i, code in enumerate(functions):
    if int(patched) and i % int(patched) == 0:
        code[8:12] = b"\x1f\x20\x03\xd5"
place = [64 * i + 64 * (i >= int(shifted)) for i in range(300)]
text = bytearray(64 * 302)
for at, code in zip(place, functions):
    text[at:at + 64] = code
names = b"\0" + b"".join(b"fn_%03u\0" % i for i in range(300))
symbols = bytes(24) + b"".join(
    struct.pack("<IBBHQQ", 1 + 7 * i, 0x12, 0, 1, base + 0x1000 + at, 32)
    for i, at in enumerate(place))
section_names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
offset, parts, sections = 0x1000, [], [bytes(64)]
for section, kind_of, flags, data, link, size in (
        (1, 1, 6, bytes(text), 0, 0), (7, 2, 0, symbols, 3, 24), (15, 3, 0, names, 0, 0),
        (23, 3, 0, section_names, 0, 0)):
    address = base + 0x1000 if flags else 0
    sections.append(struct.pack("<IIQQQQIIQQ", section, kind_of, flags, address, offset,
                                len(data), link, 1 if size else 0, 8, size))
    parts.append(data)
    offset += len(data)
header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
    "<HHIQQQIHHHHHH", {"exec": 2, "dyn": 3}[kind], 183, 1, base, 64, offset, 0, 64, 56, 1, 64,
    5, 4)
segment = struct.pack("<IIQQQQQQ", 1, 5, 0x1000, base + 0x1000, 0, len(text), len(text), 0x1000)
with open(name, "wb") as f:
    f.write((header + segment).ljust(0x1000, b"\0") + b"".join(parts + sections))
END
}

# all_named WHAT OPTION...: each function has the instructions that it executed.
all_named() {
    run 0 "$sym" --functions --json "${@:2}" k.ctr
    silent "$1"
    python3 - stdout <<'END' || fail "$1: $(cat stdout)"
import json, sys
got = {e["function"]: e["self"] for e in map(json.loads, open(sys.argv[1])) if e["module"]}
sys.exit(got != {"fn_%03u" % i: 16 if i == 1 else 8 for i in range(300)} and repr(got))
END
}

for slide in 0 0x1fe00000; do
    "$TOOLS/mktrace" kernel $base $slide new image k.ctr || exit 1
    elf vmlinux
    elf movable dyn
    elf patched exec 2
    for file in vmlinux movable patched; do
        all_named "$file at $slide" --elf $file
        all_named "$file with --slide=$slide" --elf $file --slide=$slide
    done
    # Of another build, a part is where this one has it.
    elf other exec 0 150
    run 1 "$sym" --functions --elf other k.ctr
    one_line "another build"
    grep -q 'other: not the file that ran in k.ctr: its code differs in 150 of 300 blocks; --force' \
        stderr || fail "another build: $(cat stderr)"
    run 0 "$sym" --functions --force --elf other k.ctr
done
run 0 "$BIN/tracedump" --elf vmlinux -c --pc fn_001 k.ctr
grep -Eq '^ +16 +0 +0  total$' stdout || fail "--pc fn_001: $(cat stdout)"
run 0 "$BIN/tracedump" --elf vmlinux --json -e exec --pc fn_002+0 k.ctr
grep -q '"pc":"0xffff80009fe01080"' stdout || fail "--pc fn_002: $(cat stdout)"
run 0 "$BIN/tracecov" --elf movable -f json k.ctr
[ "$(grep -o '"name":"fn_[0-9]*"' stdout | wc -l)" = 300 ] || fail "tracecov: $(cat stdout)"

# --slide is what is used, right or wrong, below zero, too; for images as well.
run 0 "$sym" --functions --json --elf vmlinux --slide=0x1fe00040 k.ctr
[ "$(python3 -c 'import json
print(*[e["self"] for e in map(json.loads, open("stdout")) if e["function"] == "fn_000"])')" = 16 ] ||
    fail "a wrong slide: $(cat stdout)"
base=0xffff8000a0000000
elf higher
base=0xffff800080000000
all_named "below the file's addresses" --elf higher
all_named "--slide below zero" --elf higher --slide=-0x200000
all_named "an image" --kallsyms image --slide=0x1fe00000
is_usage tracesym --slide=x --elf vmlinux k.ctr
is_usage tracesym --slide= --elf vmlinux k.ctr

# The file knows more than a list of names, which has modules, too.
printf '%s\n' 'ffff80009fe01000 T not_this' 'ffff80009fe01840 t of_module	[mod]' \
    'ffff80009fe05c00 D end' >names
elf small
python3 - <<'END' || exit 1
import struct
data = bytearray(open("small", "rb").read())
size = 64 * 33  # fn_000 to fn_032 are in the file
struct.pack_into("<QQ", data, 64 + 32, size, size)
sections = struct.unpack_from("<Q", data, 40)[0]
struct.pack_into("<Q", data, sections + 64 + 32, size)
open("small", "wb").write(data)
END
run 0 "$sym" --functions --json --elf small --kallsyms names k.ctr
python3 - stdout <<'END' || fail "a list of names beside the file: $(cat stdout)"
import json, sys
got = {e["function"]: e["self"] for e in map(json.loads, open(sys.argv[1])) if e["module"]}
want = {"fn_%03u" % i: 16 if i == 1 else 8 for i in range(33)}
sys.exit(got != {**want, "of_module": 8 * 267} and repr(got))
END

# What is no kernel of the trace.
"$TOOLS/mktrace" machine aarch64 t.ctr || exit 1
run 1 "$sym" --functions --elf movable t.ctr
one_line "hardly any code"
grep -q 'movable: can be loaded anywhere, and t.ctr does not say where (hardly any of its code ran' \
    stderr || fail "$(cat stderr)"
"$TOOLS/mktrace" chosen program.ctr || exit 1
run 0 "$sym" --functions --slide=0 program.ctr
grep -q -- '--slide: program.ctr is not the trace of a machine$' stderr || fail "$(cat stderr)"
finish
