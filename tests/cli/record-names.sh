# SPDX-License-Identifier: MIT
# Names of code (cannoli-names(7)) in the options of cannoli-record that choose instructions
# and times.  The witnesses are nm, addr2line and a recording of everything: what a choice
# records is what is left of that.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 x86_64-linux-gnu-gcc
need x86_64-linux-gnu-g++ python3 nm addr2line objcopy strip
ulimit -c 0
export CANNOLI_QEMU_DIR=$qemu_dir

# Without a C library, so that the traces are small
cat >start.c <<'END2'
#ifdef __arm__
__asm__(".globl _start\n.type _start, %function\n_start: bl main\n mov r7, #248\n swi 0\n"
        ".size _start, .-_start\n");
#else
__asm__(".globl _start\n.type _start, @function\n_start: and $-16, %rsp\n call main\n"
        "mov %eax, %edi\n mov $231, %eax\n syscall\n.size _start, .-_start\n");
#endif
END2
cat >parse.c <<'END2'
int total;
int leaf(int n)
{
    total += n; /* line 4 */
    return n + 1;
}
static int helper_one(int n)
{
    return leaf(n);
}
static int helper_two(int n)
{
    total = 2 * total; /* line 13 */
    return leaf(n + 1);
}
int main(void)
{
    for (int i = 0; i < 3; i++) {
        helper_one(i);
    }
    total *= 3; /* line 21 */

    helper_two(7);
    return total == 0;
}
END2
cat >box.cpp <<'END2'
namespace ns {
struct Box {
    int width;
    int area(int height) { return width * height; }
    int area(int height, char unit) { return width * height + unit; }
};
template <class T> T twice(T x) { return x + x; }
}
static ns::Box box = {3};
int area(int x) { return x; }
extern "C" int main()
{
    int sum = box.area(2) + box.area(3, 'c') + ns::twice(4) + area(5);
    return sum == 0;
}
END2
flags="-g -O0 -nostdlib -fno-stack-protector"
# build TARGET OUTPUT [FLAG...]
build() {
    # shellcheck disable=SC2086
    $cc $flags "${@:2}" || { fail "cannot build $*"; exit 1; }
}
x86="-fcf-protection=none -fno-pie -no-pie -static"
# shellcheck disable=SC2086
{
    build fixed $x86 -o fixed start.c parse.c
    build movable -fcf-protection=none -fPIE -static-pie -o movable start.c parse.c
    x86_64-linux-gnu-g++ $flags $x86 -fno-exceptions -o box -x c++ box.cpp -x c start.c ||
        { fail "cannot build the C++ program"; exit 1; }
}
# Symbols and lines in a file of their own
cp movable split
objcopy --only-keep-debug split split.debug && strip split &&
    objcopy --add-gnu-debuglink=split.debug split || fail "cannot split a program"
programs="fixed movable split"
if [ -x "$qemu_dir/qemu-arm" ]; then
    for compiler in arm-linux-gnueabi-gcc arm-linux-gnueabihf-gcc; do
        command -v $compiler >/dev/null && cc=$compiler && break
    done
    case $cc in
    arm*)
        build start.o -marm -c -o start.o start.c
        build arm -marm -static -o arm start.o parse.c
        build thumb -mthumb -static -o thumb start.o parse.c
        programs="$programs arm thumb"
        ;;
    esac
fi

cat >check.py <<'END2'
import json, os, re, subprocess, sys

BIN = os.environ["BIN"]

def record(program, *options):
    """The pcs that are recorded, and the lines on standard error."""
    p = subprocess.run([BIN + "/cannoli-record", "-q", "-e", "exec,map", "--no-aslr",
                        "-o", "part.ctr", *options, "--", "./" + program],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode:
        sys.exit(f"{program} {options}: status {p.returncode}: {p.stderr}")
    d = subprocess.run([BIN + "/tracedump", "-e", "exec", "--no-disas", "--json", "part.ctr"],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    pcs = [int(json.loads(line)["pc"], 16) for line in d.stdout.splitlines()]
    return pcs, p.stderr.splitlines()

def symbols(path, *options):
    """name -> (address, end) by nm"""
    out = subprocess.run(["nm", "-S", *options, path], stdout=subprocess.PIPE, text=True).stdout
    table = {}
    for row in out.splitlines():
        m = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*)", row)
        if m:
            a = int(m[1], 16) & (~1 if path == "thumb" else ~0)
            table[m[3]] = (a, a + int(m[2], 16))
    return table

class Program:
    def __init__(self, name, debug=None, *options):
        self.name = name
        self.table = symbols(debug or name, *options)
        self.full, said = record(name)
        self.bias = self.full[0] - self.table["_start"][0]
        if said or not self.full:
            sys.exit(f"{name}: {said}")
        addresses = sorted({pc - self.bias for pc in self.full})
        out = subprocess.run(["addr2line", "-e", debug or name], stdout=subprocess.PIPE,
                             input="\n".join(map(hex, addresses)), text=True).stdout
        where = [re.sub(r"^.*/| .*", "", line) for line in out.splitlines()]
        self.lines = dict(zip(addresses, where))

    def line(self, n, file="parse.c"):
        """The bytes at which instructions of a line begin."""
        spans = [(a, a + 1) for a, where in self.lines.items() if where == f"{file}:{n}"]
        if not spans:
            sys.exit(f"{self.name}: nothing at {file}:{n}")
        return spans

    def inside(self, pc, spans):
        return any(a <= pc - self.bias < b for a, b in spans)

    def same(self, want, *options):
        got, said = record(self.name, *options)
        if not want:
            sys.exit(f"{self.name} {options}: the witness has nothing")
        if got != want or said:
            sys.exit(f"{self.name} {options}: {len(got)} instructions, not {len(want)}: "
                     f"{list(map(hex, got[:4]))}, not {list(map(hex, want[:4]))}: {said}")

    def keep(self, spans, *options):
        self.same([pc for pc in self.full if self.inside(pc, spans)], *options)

    def drop(self, spans, *options):
        self.same([pc for pc in self.full if not self.inside(pc, spans)], *options)

    def between(self, start, stop, *options):
        kept, on = [], start is None
        for pc in self.full:
            if start and self.inside(pc, start):
                on = True
            elif stop and self.inside(pc, stop):
                on = False
            kept += [pc] if on else []
        self.same(kept, *options)

    def missing(self, said, *options):
        """Lines at the end: those that begin with --, after what is said of nothing."""
        got = [line.removeprefix("cannoli-record: ") for line in record(self.name, *options)[1]]
        got = [line for line in got if not line.startswith("no instruction was recorded")]
        if got != said:
            sys.exit(f"{self.name} {options}: {got}, not {said}")
END2

cat >places.py <<'END2'
# C programs
import sys
from check import *

name, debug = sys.argv[1], sys.argv[2]
p = Program(name, debug)
t = p.table
leaf, one, two, main = (t[n] for n in ("leaf", "helper_one", "helper_two", "main"))

second = sorted({pc - p.bias for pc in p.full if p.inside(pc, [leaf])})[1]

p.keep([leaf], "--function", "leaf")
p.keep([one], "--range", "helper_one")
p.keep(p.line(4), "--range", f"{name}!parse.c:4")
p.keep([(leaf[0], leaf[1])], "--range", f"{name}+{leaf[0]:#x}-{name}+{leaf[1]:#x}")
p.between([(second, second + 1)], p.line(13), "--start-at", f"leaf+{second - leaf[0]}",
          "--stop-at", "parse.c:13")
p.between([(second, second + 1)], None, "--start-at", f"{name}+{second:#x}")
p.missing(["--start-at: no function 'leav' (did you mean 'leaf'?)"], "--start-at", "leav")
if len(sys.argv) > 3:
    sys.exit(0)

p.keep([one, two], "--function", "helper_*")
p.keep([one, leaf], "--function", f"helper_one,{name}!leaf")
p.drop([leaf], "--not", "--function", f"{name}!leaf")
p.keep([leaf, main], "--range", f"{name}!leaf,main")
p.keep([(main[0], main[0] + 8)], "--range", "main+0+8")
p.keep([(leaf[0], two[0])], "--range", "leaf-helper_two")
p.keep([(leaf[0] + 4, main[0] + 4)], "--range", "leaf+4-main+4")
p.keep([(leaf[0], leaf[0] + 12)], "--range", f"{name}+{leaf[0]:#x}+12")
p.keep([(main[0], main[0] + 1)], "--range", f"{name}!{main[0]:#x}")
a, b = (x + p.bias for x in leaf)
p.keep([leaf], "--range", f"{a:#x}-{b:#x}")
p.keep([leaf, one], "--range", f"{a:#x}+{b - a},helper_one")
p.keep(p.line(21), "--range", f"{name}!parse.c:21")
p.keep(p.line(13) + p.line(4), "--range", "parse.c:13", "--range", "parse.c:4")
p.drop(p.line(18), "--not", "--range", "parse.c:18")
p.keep([(two[0], main[0])], "--range", "parse.c:11-parse.c:16")
p.keep(p.line(4), "--range", "parse.c:4", "--function", "leaf")

# Windows
p.between([(main[0], main[0] + 1)], None, "--start-at", "main")
p.between([(leaf[0], leaf[0] + 1)], [(two[0], two[0] + 1)],
          "--start-at", f"{name}!leaf", "--stop-at", "helper_two")
p.between(None, [(two[0], two[0] + 1)], "--stop-at", "helper_two")
p.between([(second, second + 1)], None, "--start-at", f"{name}!{second:#x}")
p.between([(second, second + 1)], None, "--start-at", f"{second + p.bias:#x}")
for line in (13, 18):
    p.between(p.line(line), None, "--start-at", f"parse.c:{line}")
p.between(p.line(21), p.line(13), "--start-at", f"{name}!parse.c:21", "--stop-at", "parse.c:13")
p.between(p.line(23), p.line(4), "--start-at", "parse.c:22", "--stop-at", "parse.c:4")
p.between([(leaf[0], leaf[0] + 1), (main[0], main[0] + 1)], p.line(4),
          "--start-at", "leaf,main", "--stop-at", "parse.c:4")

# What is not there is reported, also if something else was recorded.
p.missing(["--function: no function 'leav' (did you mean 'leaf'?)"], "--function", "leaf,leav")
p.missing(["--function: no function 'nosuch'"], "--not", "--function", "nosuch")
p.missing(["--range: no source file 'nosuch.c' in the line information of what ran"],
          "--range", "nosuch.c:4,leaf")
p.missing(["--stop-at: no code of parse.c at line 999 or after it"], "--stop-at", "parse.c:999")
p.missing(["--range: no program or library 'other' ran",
           "--start-at: no program or library 'other*' ran",
           "--stop-at: no program or library 'other' ran"],
          "--range", "other!leaf", "--range", "leaf", "--start-at", "other*!0x10",
          "--stop-at", "other!parse.c:4")
p.missing([f"--range: there is no code at '{name}+0x1' in {name}"], "--range", f"{name}+0x1,leaf")
END2

cat >names.py <<'END2'
# Names of C++
from check import *

p = Program("box", None, "-C")
t = p.table
boxes = [t["ns::Box::area(int)"], t["ns::Box::area(int, char)"]]
twice = [t["int ns::twice<int>(int)"]]
p.keep(boxes + [t["area(int)"]], "--function", "area")
p.keep([t["area(int)"]], "--function", "::area")
p.keep(boxes, "--range", "Box::area")
p.keep(boxes, "--function", "ns::Box::area")
for option in "--function", "--range":
    p.keep(boxes[:1], option, "'ns::Box::area(int)'")
    p.keep(boxes[1:] + twice, option, "Box::area(int,char),twice")
    p.keep(boxes[1:], option, "box!'ns::Box::area(int, char)'")
p.keep(boxes[:1], "--function", "_ZN2ns3Box4areaEi")
p.keep(twice, "--range", "ns::twice<int>")
a = boxes[1][0]
p.between([(a, a + 1)], None, "--start-at", "Box::area(int,char)")
p.between([(a + 1, a + 2)], None, "--start-at", "'ns::Box::area(int, char)'+1")
a = t["area(int)"][0]
p.between([(a, a + 1)], None, "--start-at", "::area")
p.missing(["--function: no function 'Box::nosuch'"], "--function", "Box::nosuch")
END2

for program in $programs; do
    case $program in
    split) args=(split.debug few) ;;
    fixed) args=(fixed) ;;
    *) args=("$program" few) ;;
    esac
    python3 places.py "$program" "${args[@]}" || fail "$program"
done
python3 names.py || fail "names of C++"

# A program that maps code of a file when a file appears, and jumps to an address in it
cat >late.c <<'END2'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc > 4 && (chroot(argv[4]) || chdir("/"))) {
        return 3;
    }
    while (argc > 3 && access(argv[3], F_OK)) {
        usleep(10000);
    }
    char *p = mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(argv[1], O_RDONLY), 0);
    if (p == MAP_FAILED) {
        return 4;
    }
    return ((int (*)(void))(p + strtoul(argv[2], NULL, 16)))();
}
END2
mkdir root
echo 'int plug(void) { return 7; }' >plug.c
x86_64-linux-gnu-gcc -O1 -g -shared -nostdlib -fPIC -Wl,-z,noseparate-code -o root/plug.so.1 plug.c &&
    x86_64-linux-gnu-gcc -g -static -o late late.c || { fail "cannot build a late library"; exit 1; }
at=$(nm root/plug.so.1 | sed -n 's/ T plug$//p')

# late STATUS [OPTION...] -- ARGUMENT...: a recording of late
late() {
    local want=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    run "$want" "$record" -q -e exec,map -o late.ctr "${options[@]}" -- ./late "${@:2}"
}
# executed N: so many instructions are in the trace
executed() {
    local n
    n=$("$dump" --info --json late.ctr |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["instructions"])')
    [ "$n" = "$1" ] || fail "$n instructions, not $1: $(cat stderr)"
}
late 7 --function plug -- root/plug.so.1 "$at"
silent
executed 2
for name in plug 'plug!plug' 'plug.so!plug' 'plug.so.1!plug' "$(pwd -P)/root/plug.so.1!plug" '*.so.1!plug'; do
    late 7 --start-at "$name" --function "$name" -- root/plug.so.1 "$at"
    silent
    executed 2
done
late 7 --range "plug.so+0x$at-plug.so.1!plug+100" -- root/plug.so.1 "$at"
silent
executed 2
late 7 --range "plug.so+0x$at" -- root/plug.so.1 "$at"
silent
executed 1

# A file that was damaged, and one that is no ELF file
cp root/plug.so.1 root/bad
python3 - root/bad <<'END2'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(32)
    f.write(b"\xf0\xff\xff\xff\xff\xff\xff\x0f") # where the program headers are
END2
late 7 --function main -- root/bad "$at"
one_line
grep -q '^cannoli-record: .*/root/bad: its program headers are damaged$' stderr || fail "damaged: $(cat stderr)"
tail -c +5 root/plug.so.1 >root/raw
late 7 --range "raw+0x$(printf '%x' $((0x$at - 4)))" --function nosuch -- root/raw "$(printf '%x' $((0x$at - 4)))"
grep -q "^cannoli-record: --function: no function 'nosuch'" stderr || fail "raw: $(cat stderr)"
[ "$(grep -vc 'no instruction was recorded' stderr)" = 1 ] || fail "raw: $(cat stderr)"
late 7 --range "raw+0x$(printf '%x' $((0x$at - 4)))" -- root/raw "$(printf '%x' $((0x$at - 4)))"
silent
executed 1

# Below another root folder the program that finds names is not there.
if [ "$(id -u)" = 0 ]; then
    # QEMU reads there which file a descriptor is.
    mkdir -p root/proc/self/fd
    for fd in 3 4 5 6 7 8 9; do
        ln -s /plug.so.1 root/proc/self/fd/$fd
    done
    late 7 --function main,plug -- plug.so.1 "$at" / root
    grep -q "^cannoli-record: cannot run '.*/lib/cannoli/cannoli-locate': No such file" stderr ||
        fail "chroot: $(cat stderr)"
    grep -q "^cannoli-record: --function: no function 'plug'" stderr || fail "chroot: $(cat stderr)"
    [ "$(wc -l <stderr)" = 2 ] || fail "chroot: $(cat stderr)"
fi

# Nor is it where somebody has installed only a part; one that fails is reported.
real=$(readlink -f "$BIN")
mkdir -p part/bin part/lib/cannoli
cp "$real/cannoli-record" part/bin
cp "$real/../lib/cannoli/libcannoli-filter.so" part/lib/cannoli
run 125 part/bin/cannoli-record -q -o part.ctr --start-at main -- ./fixed
one_line
grep -q "what finds names is not there: '.*/part/lib/cannoli/cannoli-locate': No such" stderr ||
    fail "missing: $(cat stderr)"
run 0 part/bin/cannoli-record -q -o part.ctr --range 0-0x7fffffffffff -- ./fixed
silent
for what in 'exit 1' 'echo 1 zz; echo end' 'echo 2 1 2; echo end' 'kill -SEGV $$' \
    'echo 1 0 ffffffffffffffff'; do
    printf '#!/bin/sh\n%s\n' "$what" >part/lib/cannoli/cannoli-locate
    chmod +x part/lib/cannoli/cannoli-locate
    run 0 part/bin/cannoli-record -q -o part.ctr --start-at main -- ./fixed
    grep -q "^cannoli-record: looking for names failed in '.*/fixed'$" stderr || fail "$what: $(cat stderr)"
done
printf '#!/nowhere\n' >part/lib/cannoli/cannoli-locate
run 0 part/bin/cannoli-record -q -o part.ctr --start-at main -- ./fixed
grep -q "^cannoli-record: cannot run '.*cannoli-locate': No such file" stderr || fail "no shell: $(cat stderr)"

# A guest that writes into the report has wrong lines printed, and nothing else.
rm -f go
"$record" -q -e exec,map -o late.ctr --function main,nosuch -- ./late root/plug.so.1 "$at" go 2>stderr &
pid=$!
python3 - $pid <<'END2' || fail "the report"
import os, sys, time
folder = f"/proc/{sys.argv[1]}/fd"
for _ in range(3000):
    fds = [f for f in os.listdir(folder) if "memfd:cannoli-names" in os.readlink(f"{folder}/{f}")]
    if fds:
        f = open(f"{folder}/{fds[0]}", "r+b", buffering=0)
        if f.read(1) == b"\1":
            break
    time.sleep(0.01)
else:
    sys.exit("there is no report")
for size in 0, 1 << 20:
    try:
        os.ftruncate(f.fileno(), size)
        sys.exit("the report can be truncated")
    except PermissionError:
        pass
f.seek(0)
for state in b"\xff", b"\xfe", b"\xfe":
    f.write(state + b"\xff\xff\xff" + b"\x1b[31m\n" * 170)
END2
touch go
wait $pid
[ $? = 7 ] || fail "the guest's status is not passed on"
grep -qP '[\x00-\x09\x0b-\x1f]' stderr && fail "control characters: $(cat -v stderr)"
[ "$(wc -l <stderr)" -le 3 ] || fail "many lines: $(cat -v stderr)"
finish
