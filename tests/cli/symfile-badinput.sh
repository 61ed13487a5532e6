# SPDX-License-Identifier: MIT
# Files that are missing, not ELF, cut anywhere, of a kind that is not loaded, or with
# false sizes: one sentence that names the file, a status for each kind, no crash.
. "$SRC/tests/cli/libsymfile.sh"
need gcc python3 objcopy strip xz prlimit

# bad STATUS FILE PATTERN: the statuses of symfile.h and 10
bad() {
    run "$1" "$symdump" --seconds 5 all "$2"
    one_line "$2"
    grep -Eq "^symdump: $2: .*($3)" stderr || fail "$2: $(cat stderr)"
    grep -q '\.$' stderr && fail "$2: a final period: $(cat stderr)"
    [ ! -s stdout ] || fail "$2: something on stdout"
}
IO=11 NOTELF=12 BAD=13

bad $IO missing 'No such file'
mkdir folder
bad $IO folder 'Is a directory'
mkfifo pipe
bad $IO pipe 'not a regular file'
ln -s loop loop
bad $IO loop 'symbolic links'
: >empty
bad $NOTELF empty 'empty'
echo 'int main;' >text
bad $NOTELF text 'not an ELF file'
printf '\177ELF' >magic
bad $NOTELF magic 'not an ELF file'
cp "$sources/calc.c" calc.c
gcc -g -O2 -o good calc.c && gcc -g -c -o object.o calc.c || exit 1
cp good core && printf '\004' | dd of=core bs=1 seek=16 conv=notrunc 2>/dev/null
bad $NOTELF core 'neither a program nor a library'
ar rc archive.a object.o
bad $NOTELF archive.a 'not an ELF file'

# Cut at lengths up to the end: the reader reports the cut, or reads what is there
size=$(stat -c %s good)
for n in 20 63 64 100 500 900 2000 4000 8000 $((size / 2)) $((size - 2000)) $((size - 1)); do
    head -c $n good >cut
    "$symdump" --seconds 5 all cut >stdout 2>stderr
    status=$?
    case $status in
    0) [ "$(wc -l <stderr)" -le 1 ] || fail "cut at $n: $(cat stderr)" ;;
    12|13) one_line "cut at $n" ;;
    *) fail "cut at $n: status $status $(cat stderr)" ;;
    esac
done
head -c 9000 good >cut
bad $BAD cut 'truncated'

# patch FILE OFFSET HEX
patch() {
    python3 -c '
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2], 0)); f.write(bytes.fromhex(sys.argv[3]))' "$@"
}
cp good class && patch class 4 09
bad $BAD class 'header is damaged'
cp good order && patch order 5 07
bad $BAD order 'header is damaged'
cp good core && patch core 16 0400
bad $NOTELF core 'neither a program nor a library'
cp good phoff && patch phoff 32 ffffffffffffff7f
bad $BAD phoff 'program headers are damaged'
cp good phnum && patch phnum 56 ffff
bad $NOTELF phnum 'nothing in it'
cp good phnum0 && patch phnum0 56 0000
bad $NOTELF phnum0 'nothing in it to load'

# An unknown machine number: read as far as possible
cp good machine && patch machine 18 ffee
"$symdump" info machine >info 2>stderr || fail "unknown machine: $(cat stderr)"
grep -q '^machine 61183$' info || fail "unknown machine: $(grep machine info)"

# Damaged debug information is reported once, symbols remain.
objcopy --dump-section .debug_abbrev=abbrev --dump-section .debug_info=di good
head -c "$(stat -c %s abbrev)" /dev/zero | tr '\0' '\377' >abbrev.bad
objcopy --update-section .debug_abbrev=abbrev.bad good abbrevs
run 0 "$symdump" functions abbrevs
one_line "damaged abbreviations"
grep -q 'debug information is damaged' stderr || fail "abbreviations: $(cat stderr)"
grep -q ' main$' stdout || fail "abbreviations: no main"
objcopy --dump-section .debug_line=line good
python3 -c '
d = bytearray(open("line", "rb").read())
d[4:6] = b"\x63\x00"
open("line.bad", "wb").write(d)'
objcopy --update-section .debug_line=line.bad good lines
run 0 "$symdump" functions lines
one_line "damaged lines"
grep -q ' main$' stdout || fail "lines: no main"

# False sizes: a section that claims 2^60 bytes after decompression, and one of 2 GiB of
# zeros, more than the reader may use.
gcc -g -O2 -gz=zlib -o zlib calc.c
objcopy --dump-section .debug_info=zi zlib 2>/dev/null
offset=$(readelf -SW zlib | sed -nE 's/.* \.debug_info +PROGBITS +[0-9a-f]+ ([0-9a-f]+) .*/\1/p')
cp zlib huge && patch huge $((0x$offset + 8)) 0000000000000010
run 0 "$symdump" functions huge
[ "$(wc -l <stderr)" -le 1 ] || fail "huge: $(cat stderr)"
grep -q ' main$' stdout || fail "huge: no main"

# .gnu_debugdata that needs more memory than there is is left out (address sanitizers
# limit memory in their own way).
head -c 300000000 /dev/zero | xz -0 >zeros.xz
strip -o bare good
objcopy --add-section .gnu_debugdata=zeros.xz bare xzbomb
if prlimit --as=60000000 "$symdump" info good >/dev/null 2>&1; then
    run 0 prlimit --as=60000000 "$symdump" functions xzbomb
    grep -q ' dynsym ' stdout || grep -q ' plt ' stdout || fail "xz bomb: no functions"
    [ "$(wc -l <stderr)" -le 1 ] || fail "xz bomb: $(cat stderr)"
fi

# A large function that the linker leaves out, with lines from address 0 on, does not name
# the code that is at low addresses.
{
    echo 'volatile int x; void left_out(void) {'
    for i in $(seq 2000); do echo "x = x + $i;"; done
    echo '} int main(void) { return x; }'
} >big.c
gcc -g -O0 -ffunction-sections -Wl,--gc-sections -fPIE -pie -o low big.c
run 0 "$symdump" ranges low
awk '{split($3, at, ":"); if (at[2] > 1 && at[2] < 2002) print}' stdout >wrong
[ ! -s wrong ] || fail "lines of a function left out: $(head -2 wrong)"
grep -q 'big.c:2002' stdout || fail "no lines of main: $(head -3 stdout)"

# A file name that is no valid text stays unchanged in the message; a long one is cut.
long=$(printf 'x%.0s' $(seq 250))/$(printf 'y%.0s' $(seq 250))/$(printf 'z%.0s' $(seq 250))
run $IO "$symdump" info "$long"
one_line "long name"
grep -q 'zzz: No such file or directory$' stderr || fail "long name: $(cat stderr)"

# Where SIGCHLD is ignored
(trap '' CHLD; exec "$symdump" functions good) >stdout 2>stderr || fail "no SIGCHLD: $(cat stderr)"
grep -q ' main$' stdout || fail "no SIGCHLD: no main"

# No process and no file remains
[ -z "$(pgrep -P $$ symdump)" ] || fail "a child remains"
finish
