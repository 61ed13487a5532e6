# SPDX-License-Identifier: MIT
# A machine's kernel as an ELF file (vmlinux): where KASLR has moved it to is found by its code,
# although the kernel has changed some of it; --slide says it; another build is refused; a copy
# of /proc/kallsyms beside it names what it does not have.  Modules, as Linux loads them.
. "$SRC/tests/cli/libtracedump.sh"
sym=$BIN/tracesym
need python3
base=0xffff800080000000

# elf FILE [TYPE [PATCHED [SHIFTED [COUNT]]]]: vmlinux of `image', of the type exec or dyn; every
# PATCHED-th function has another instruction; functions from SHIFTED on are 64 bytes later; it
# has the first COUNT of them.
elf() {
    python3 - "$SRC/tests/cli" "$base" "$1" "${2:-exec}" "${3:-0}" "${4:-300}" "${5:-300}" <<'END' || exit 1
import sys
sys.path.insert(0, sys.argv[1])
import mkelf
name, kind = sys.argv[3:5]
base, patched, shifted, count = (int(word, 0) for word in [sys.argv[2], *sys.argv[5:]])
image = open("image", "rb").read()
functions = [("fn_%03u" % i, 64 * i + 64 * (i >= shifted), 32) for i in range(count)]
text = bytearray(functions[-1][1] + 64)
for i, (_, at, _) in enumerate(functions):
    text[at:at + 64] = image[0x1000 + 64 * i:0x1040 + 64 * i]
    if patched and i % patched == 0:
        text[at + 8:at + 12] = b"\x1f\x20\x03\xd5"
mkelf.write(name, kind, base + 0x1000, bytes(text), functions)
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
elf small exec 0 300 33
run 0 "$sym" --functions --json --elf small --kallsyms names k.ctr
python3 - stdout <<'END' || fail "a list of names beside the file: $(cat stdout)"
import json, sys
got = {e["function"]: e["self"] for e in map(json.loads, open(sys.argv[1])) if e["module"]}
want = {"fn_%03u" % i: 16 if i == 1 else 8 for i in range(33)}
sys.exit(got != {**want, "of_module": 8 * 267} and repr(got))
END

# A module: its code that Linux keeps is together, the code of the start is not there.  Where it
# is is found by its code, although calls are filled in, or said by a copy of the kernel's files.
python3 - "$SRC/tests/cli" <<'END' || exit 1
import sys
sys.path.insert(0, sys.argv[1])
import mkelf
image = open("image", "rb").read()


def functions(first, n, patched=True):
    text = bytearray(image[0x1000 + 64 * first:0x1000 + 64 * (first + n)])
    for i in range(n if patched else 0):
        text[64 * i + 4:64 * i + 8] = bytes(4)
    return bytes(text), [("fn_%03u" % (first + i), 64 * i, 32) for i in range(n)]


start = bytes(range(128)), [("fn_start", 0, 64)]
mkelf.write_object("mod-ule.ko", [
    (".note", 2, 4, b"note", []), (".text", 6, 16, *functions(0, 200)),
    (".init.text", 6, 4, *start), (".data", 3, 64, b"data" * 10, []),
    (".text.unlikely", 6, 64, *functions(200, 100))])
foreign = bytes(range(1, 65)) * 170, [("wrong_%03u" % i, 64 * i, 32) for i in range(170)]
calls = [bytes(64 * 20), [("fn_%03u" % (280 + i), 64 * i, 32) for i in range(20)],
         range(0, 64 * 20, 4)]
mkelf.write_object("mixed.ko", [
    (".text", 6, 16, *functions(0, 50)), (".text.b", 6, 16, *foreign),
    (".text.c", 6, 16, *functions(220, 60)), (".text.d", 6, 16, *calls)])
mkelf.write_object("few.ko", [(".text", 6, 16, *functions(0, 5))])
mkelf.write_object("other.ko", [(".text", 6, 16, image[0x1020:0x4020], [("not_this", 0, 9)])])
END
printf 'other 9 0 - Live 0x1000\nmod_ule 20480 0 - Live 0xffff80009fe01000\n' >modules
printf 'few 320 1 mod_ule, Live 0xffff80009fe01000 (OE)\nother 1 0 - Live 0xffff80009fe01000\n' >few
printf '%s\n' 'ffff80009fe01000 t fn_000	[few]' 'ffff80009fe01040 t fn_001	[few]' \
    'ffff80009fe01007 t fn_002	[few]' 'ffff800000001000 d data	[few]' >copy
for option in "" --kallsyms=modules; do
    # shellcheck disable=SC2086
    all_named "a module $option" --elf mod-ule.ko $option
done
run 1 "$sym" --functions --elf few.ko k.ctr
one_line "too little of a module"
grep -q 'few.ko: hardly any of its code ran, or a copy of /proc/modules or /proc/kallsyms has to' stderr ||
    fail "$(cat stderr)"
sed 's/$/\r/' few >few-console
sed 's/$/\r/' copy >copy-console
for file in few copy few-console copy-console; do
    run 0 "$sym" -q --functions --json --elf few.ko --kallsyms=$file k.ctr
    [ "$(grep -c '"module": "few.ko"' stdout)" = 5 ] || fail "$file: $(cat stdout)"
done
grep -q '"fn_000", "module": "few.ko".*"self": 8,' stdout || fail "$(cat stdout)"
run 1 "$sym" --functions --elf other.ko --kallsyms=few k.ctr
one_line "another module"
grep -q 'other.ko: not the file that ran in any trace: its code differs in .* blocks' stderr ||
    fail "$(cat stderr)"
run 0 "$sym" --functions --json --elf other.ko --elf mod-ule.ko --kallsyms=few k.ctr
one_line "another module beside the right one"
grep -q '"fn_299", "module": "mod-ule.ko"' stdout || fail "$(cat stdout)"
# Code of before the module was loaded is no function of it, code that is all filled in is.
run 0 "$sym" --functions --json --elf mixed.ko k.ctr
silent "foreign code"
python3 - stdout <<'END' || fail "foreign code: $(cat stdout)"
import json, sys
got = {e["function"]: e["self"] for e in map(json.loads, open(sys.argv[1])) if e["module"]}
want = {"fn_%03u" % i: 16 if i == 1 else 8 for i in range(300) if not 50 <= i < 220}
sys.exit(got != want and repr(got))
END
# Without files, its functions are one.
run 0 "$sym" --functions --json --kallsyms=modules k.ctr
grep -q '"function": "\[mod_ule\]", "module": "modules".*"self": 2408,' stdout || fail "$(cat stdout)"
printf 'mod_ule 20480 0 - Live 0x0\n' >hidden
run 0 "$sym" --functions --kallsyms=hidden k.ctr
one_line hidden
grep -q 'hidden: line 1 is wrong (all addresses are 0: it was not read as root)' stderr ||
    fail "$(cat stderr)"
run 0 "$BIN/tracedump" --elf mod-ule.ko -c --pc fn_200 k.ctr
grep -Eq '^ +8 +0 +0  total$' stdout || fail "--pc fn_200: $(cat stdout)"
run 0 "$BIN/tracecov" --elf mod-ule.ko -f json k.ctr
[ "$(grep -o '"name":"fn_[0-9]*"' stdout | wc -l)" = 300 ] || fail "tracecov: $(cat stdout)"

# Its debug information alone has no code; sections beyond measure are not looked at.
python3 - "$SRC/tests/cli" <<'END' || exit 1
import struct, sys
sys.path.insert(0, sys.argv[1])
import mkelf
file = bytearray(open("few.ko", "rb").read())
text = struct.unpack_from("<Q", file, 40)[0] + 64
file[text + 4:text + 8] = struct.pack("<I", 8)
open("few.ko.debug", "wb").write(file)
mkelf.write_object("many.ko", [("", 6, 4, bytes(4), [])] * 10001)
END
run 1 "$sym" --functions --elf few.ko.debug k.ctr
one_line "a debug file"
grep -q 'few.ko.debug: it has no code; debug information of another file belongs below --debug-dir$' \
    stderr || fail "$(cat stderr)"
run 1 "$sym" --functions --elf many.ko k.ctr
one_line "many sections"
grep -q 'many.ko: it has more than 10000 sections$' stderr || fail "$(cat stderr)"

# Code of the kernel that runs at a second address, as arm64's entry trampoline: pages are named
# that some blocks show, and none where another one differs; nothing in another kernel's file.
"$TOOLS/mktrace" kernel-twice $base 0x1fe00000 new image k.ctr || exit 1
for name in tramp_vectors other_vectors; do
    python3 - "$SRC/tests/cli" $base $name <<'END' || exit 1
import sys
sys.path.insert(0, sys.argv[1])
import mkelf
text = open("image", "rb").read()[0x1000:0x1000 + 64 * 300]
mkelf.write("twice", "exec", int(sys.argv[2], 0) + 0x1000, text, [
    (sys.argv[3] if i == 192 else "fn_%03u" % i, 64 * i, 32) for i in range(300)])
END
    run 0 "$sym" --functions --json --elf twice k.ctr
    python3 - stdout $name <<'END' || fail "a second address: $name: $(cat stdout)"
import json, sys
got, unnamed = {}, 0
for e in map(json.loads, open(sys.argv[1])):
    if e["module"]:
        got[e["function"]] = e["self"]
    else:
        unnamed += e["self"]
shown = range(192, 202) if sys.argv[2] == "tramp_vectors" else []
want = {sys.argv[2] if i == 192 else "fn_%03u" % i: 16 if i == 1 or i in shown else 8
        for i in range(300)}
assert got == want, {k: v for k, v in got.items() if want[k] != v}
assert unnamed == 104 - 8 * len(shown), unnamed
END
done
run 0 "$BIN/tracedump" --elf twice -c --pc other_vectors k.ctr
grep -Eq '^ +8 +0 +0  total$' stdout || fail "--pc other_vectors: $(cat stdout)"
elf vmlinux
"$TOOLS/mktrace" kernel $base 0x1fe00000 new image k.ctr || exit 1

# What is no kernel of the trace.
"$TOOLS/mktrace" machine aarch64 t.ctr || exit 1
run 1 "$sym" --functions --elf movable t.ctr
one_line "hardly any code"
grep -q 'movable: can be loaded anywhere, and t.ctr does not say where (hardly any of its code ran' \
    stderr || fail "$(cat stderr)"
"$TOOLS/mktrace" chosen program.ctr || exit 1
run 0 "$sym" --functions t.ctr
one_line "no file"
grep -q 't.ctr: which .* of a machine ran is not known (--elf, --kallsyms, --sysroot)$' stderr ||
    fail "$(cat stderr)"
"$TOOLS/mktrace" target aarch64 unmapped.ctr || exit 1
"$TOOLS/mktrace" mapped arm.ko mapped.ctr || exit 1
cp few.ko arm.ko && printf '\050' | dd of=arm.ko bs=1 seek=18 conv=notrunc status=none # e_machine
for pair in few.ko:unmapped.ctr arm.ko:mapped.ctr; do
    run 1 "$sym" --functions --elf "${pair%:*}" "${pair#*:}"
    one_line "an object for a program: $pair"
    grep -q ": an object; only modules of a machine's kernel are taken, and .* trace of a program" \
        stderr || fail "$pair: $(cat stderr)"
done
run 0 "$sym" --functions --slide=0 program.ctr
grep -q -- '--slide: program.ctr is not the trace of a machine$' stderr || fail "$(cat stderr)"
finish
