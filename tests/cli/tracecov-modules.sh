# SPDX-License-Identifier: MIT
# Which file code belongs to: libraries and programs at the same addresses in succession,
# build ids, names, --elf, --sysroot, --force.  Needs the patched qemu-arm.
. "$SRC/tests/cli/libtracecov.sh"
need_qemu_arm
src=$SRC/tests/cli/covguest.c
build() { # OUTPUT OPTION...
    $cc -g -O1 "${@:2}" "$src" -o "$1" || fail "compiling $1"
}
build first -static
build second -static -DSECOND
build loader -DLOAD -ldl
build liba.so -shared -fPIC -DLIBRARY=5
build libb.so -shared -fPIC -DLIBRARY=7
root=$(sysroot)

# ---- at the same addresses: counts are exact, and equal those of tracedump
rec_arm exec.ctr --follow-exec -- ./first exec ./second
run 0 "$cov" -f json exec.ctr
silent
cp stdout exec.json
is exec.json 'len(j["modules"])' 2
is exec.json 'count("same")' 8
is exec.json 'sorted(m["instructions"] > 1000 for m in j["modules"])' '[True, True]'
run 0 "$cov" -f json --module second exec.ctr
is stdout 'count("same")' 3
run 0 "$cov" -f json --module 'fir*' exec.ctr
is stdout 'count("same")' 5

rec_arm load.ctr -- qemu-arm -L "$root" ./loader load "$PWD/liba.so" "$PWD/libb.so"
[ "$(sort -u guest.out | wc -l)" -eq 1 ] ||
    echo "note: the libraries were not loaded at one address: $(cat guest.out)"
for lib in liba.so:107 libb.so:30; do
    run 0 "$cov" -q -f json --module "${lib%:*}" load.ctr
    is stdout 'count("common")' "${lib#*:}"
    is stdout 'count("own")' "${lib#*:}"
done
/usr/bin/python3 "$SRC/tests/cli/covsums.py" "$BIN" exec.ctr load.ctr || fail "sums"

# ---- build ids: a file is found by its build id, whatever its name
rec_arm a.ctr -- ./first exec /nowhere
run 0 "$cov" -f json a.ctr
cp stdout whole.json
is whole.json 'count("same")' 5
mv first first.away
run 0 "$cov" -f json a.ctr
one_line "no file"
grep -q "first: No such file" stderr || fail "no file: $(cat stderr)"
is stdout 'j["modules"][0]["file"]' None
is stdout 'sum(m["instructions"] for m in j["modules"]) + j["elsewhere"] == j["instructions"]' True
run 0 "$cov" -q -f json a.ctr
silent -q
run 0 "$cov" -f json --elf first.away a.ctr
silent --elf
is stdout 'count("same")' 5
run 0 "$cov" -f json --only-elf --elf first.away a.ctr
is stdout 'count("same")' 5
mkdir -p "root$PWD"
cp first.away "root$PWD/first"
run 0 "$cov" -f json --sysroot root a.ctr
silent --sysroot
is stdout 'count("same")' 5
run 0 "$cov" -f json --elf second --elf first.away a.ctr
one_line "one --elf that did not run"
grep -q "second: no such program or library ran" stderr || fail "$(cat stderr)"
run 1 "$cov" -f json --elf second a.ctr
grep -q "second: no such program or library ran" stderr || fail "$(cat stderr)"
[ ! -s stdout ] || fail "output though no --elf file ran"

# Another build at the same path
build first -static -O0
run 0 "$cov" -f json a.ctr
one_line "another build"
grep -q "first has another build id than the file recorded" stderr || fail "$(cat stderr)"
is stdout 'j["modules"][0]["file"]' None
run 1 "$cov" -f json --elf first a.ctr
one_line "--elf of another build"
grep -q "first: its build id is [0-9a-f]*\.\.\., that of .*--force" stderr || fail "$(cat stderr)"
[ ! -s stdout ] || fail "output for another build"
run 0 "$cov" -q -f json --force --elf first a.ctr
is stdout 'j["modules"][0]["file"] is None' False
# both were recorded: each is counted separately
rec_arm b.ctr -- ./first exec /nowhere
run 0 "$cov" -q -f json --only-elf --elf first.away --elf first b.ctr
run 1 "$cov" -q -f json --only-elf --elf first a.ctr b.ctr
mkdir other && cp first other/other
run 0 "$cov" -q -f json --elf first.away --elf other/other a.ctr b.ctr
is stdout 'len(j["modules"])' 2
is stdout 'count("same")' 10

# ---- no build ids: the code decides
none=-Wl,--build-id=none
build plain -static $none
rec_arm plain.ctr -- ./plain exec /nowhere
run 0 "$cov" -f json plain.ctr
silent "no build id"
is stdout 'count("same")' 5
mkdir elsewhere
build elsewhere/plain -static $none
run 0 "$cov" -f json --elf elsewhere/plain plain.ctr
silent "no build id, --elf"
is stdout 'count("same")' 5
build elsewhere/plain -static $none -O2
run 1 "$cov" -f json --elf elsewhere/plain plain.ctr
one_line "no build id, another build"
grep -q "not the file that ran in plain.ctr: its code differs in .* --force" stderr || fail "$(cat stderr)"
run 0 "$cov" -q -f json --force --elf elsewhere/plain plain.ctr
cp elsewhere/plain plain || fail "cp"
run 0 "$cov" -f json plain.ctr
one_line "no build id, another build at the path"
is stdout 'j["modules"][0]["file"]' None

# ---- no mappings: programs that cannot be relocated are at their own addresses
rec_arm nomap.ctr -e exec -- ./second
run 4 "$cov" -f json nomap.ctr
one_line "no mappings"
is stdout 'j["elsewhere"] == j["instructions"] > 0' True
run 0 "$cov" -f json --elf second nomap.ctr
silent "no mappings, --elf"
is stdout 'count("same")' 3
run 1 "$cov" -f json --elf liba.so nomap.ctr
one_line "no mappings, a library"
grep -q "liba.so: can be loaded anywhere" stderr || fail "$(cat stderr)"
run 1 "$cov" -f json --elf first.away nomap.ctr
one_line "no mappings, another program"

# ---- a path from a trace is never written to
printf '%s\n' '.globl _start' '.type _start, %function' '_start: mov r0, #1' 'bx lr' \
    '.size _start, 8' >id.s
$cc -nostdlib -static -Wl,-Ttext=0x10000,-z,max-page-size=4096,--build-id=0x1234ab01 \
    id.s -o id || fail "compiling id"
mkdir -p lists/in
while read -r path name; do
    rm -rf lists/in/*
    "$TOOLS/mktrace" mapped "$path" mapped.ctr
    run 0 "$cov" -q -f lcov --elf id --listing lists/in mapped.ctr
    [ "$(find . -name '*.lst')" = "./lists/in/$name-1234ab01/10000-_start.lst" ] ||
        fail "$path: $(find . -name '*.lst')"
done <<'END'
/usr/bin/id id
/../escaped/ escaped
/usr//bin/id/// id
/ _
END
finish
