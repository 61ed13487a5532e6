# SPDX-License-Identifier: MIT
# Parameters, local variables and frame rows: places are those of gdb in a running program,
# rows those of readelf.
. "$SRC/tests/cli/libsymfile.sh"
need python3 readelf gcc

# Rows of call frame information, for several machines
frames() {
    local file=$1
    shift
    command -v "$1" >/dev/null || return 0
    "$@" -o "$file" "$sources/data.c" 2>cc.err || return
    readelf -wF "$file" >readelf.out 2>/dev/null
    "$symdump" --full frames "$file" >rows 2>stderr || fail "$file: $(cat stderr)"
    silent "$file"
    python3 - "$file" <<'END' || fail "$file: frames"
import bisect, re, sys
starts, rows = [], []
for line in open("rows"):
    left, right = line.split(" :")
    word = left.split()
    cfa = re.search(r"cfa r0=(\S+)(?: (r\d+))?([+-]\d+)", left)
    saved = sorted(int(x) for x in re.findall(r"=at([+-]\d+)", right))
    starts.append(int(word[0], 16))
    rows.append((int(word[1], 16), cfa[1], int(cfa[3]), saved))
bad = count = 0
entry = False
for line in open("readelf.out"):
    if " CIE" in line or " FDE " in line:
        entry = " FDE " in line  # a CIE has rows at no address
    m = re.match(r"^([0-9a-f]{8,16}) (\S+) +(.*)$", line)
    if not m or not entry:
        continue
    at, cfa, rest = int(m[1], 16), m[2], m[3].split()
    if cfa == "exp" or not re.match(r"^[a-z$]\S*[+-]\d+$", cfa):
        continue
    k = bisect.bisect_right(starts, at) - 1
    want = (int(re.search(r"[+-]\d+$", cfa)[0]),
            sorted(int(x[1:]) for x in rest if re.match(r"^c[+-]\d+$", x)))
    got = (rows[k][2], rows[k][3]) if k >= 0 and at < rows[k][0] else None
    count += 1
    if got != want:
        bad += 1
        if bad < 5:
            print(sys.argv[1], line.strip(), got)
print(sys.argv[1], count, "rows")
sys.exit(1 if bad or count < 2 else 0)
END
}
frames x86_64-O0 gcc -g -O0
frames x86_64-O2 gcc -g -O2
frames i386-O0 i686-linux-gnu-gcc -g -O0
frames aarch64-O2 aarch64-linux-gnu-gcc -g -O2
frames s390x-O0 s390x-linux-gnu-gcc -g -O0
frames omit gcc -g -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables # .debug_frame

# Places in a running program, by gdb
[ "$(uname -m)" = x86_64 ] && command -v gdb >/dev/null || finish

cat >stop.c <<'END'
#include <stdio.h>
struct pair { int a, b; };
volatile int sink;
__attribute__((noinline)) void stop(const void *p) { sink = p != NULL; }
__attribute__((noinline)) int work(struct pair *in, long factor, char letter)
{
    struct pair local = {in->a, in->b};
    int total = 0;
    for (int i = 0; i < 3; i++) {
        struct pair inner = {i, (int)factor};
        total += inner.b + local.a + letter;
        stop(&inner);
    }
    stop(&local);
    return total + local.b;
}
int main(int argc, char **argv)
{
    struct pair p = {argc, 7};
    (void)argv;
    return work(&p, 9, 'x') & 1;
}
END
# stopped COMPILER FLAG...: compares in the frame that called stop()
stopped() {
    command -v "$1" >/dev/null || return 0
    "$@" -no-pie -o run stop.c 2>cc.err || { fail "$*: $(head -3 cc.err)"; return; }
    gdb -nx -batch -ex 'set confirm off' -ex 'break stop' -ex run -ex 'frame 1' \
        -ex 'info registers' -ex 'info frame' -ex 'print &local' -ex 'print &total' \
        -ex 'print &inner' -ex 'print &in' run >gdb.out 2>&1
    grep -q '^rip ' gdb.out || { echo "$*: gdb cannot run a program here"; return; }
    local pc names=(rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15)
    local i regs=() value
    pc=$(awk '$1 == "rip" {print $2; exit}' gdb.out)
    for i in "${!names[@]}"; do
        value=$(awk -v r="${names[$i]}" '$1 == r {print $2; exit}' gdb.out)
        case $value in 0x*) regs+=("$i=$value") ;; esac # or <not saved>
    done
    "$symdump" --full variables run "$(printf '%x' $((pc - 1)))" "${regs[@]}" >vars 2>stderr
    python3 - <<'END' || fail "$*: $(cat vars)"
import re, sys
ours = {}
text = open("gdb.out").read()
for line in open("vars"):
    where, kind, place = line.rstrip("\n").split(" | ")
    ours.setdefault(where.split()[-1], place)
names = ["local", "total", "inner", "in"]
results = re.findall(r"^(?:\$\d+ = \(.*\) (0x[0-9a-f]+)|(Address requested|Can't take address).*|(No symbol).*)$",
                     text, re.M)
bad = 0
for name, (address, none, absent) in zip(names, results):
    got = ours.get(name, "absent")
    if address and got != "address %x" % int(address, 16):
        bad = 1
        print(name, "is", got, "not at", address)
    elif not address and got.startswith("address"):
        bad = 1
        print(name, "is", got, "but gdb has no address")
sys.exit(bad or len(results) != 4 or not any(r[0] for r in results))
END
}
stopped gcc -gdwarf-5 -O0
stopped gcc -gdwarf-4 -Og
stopped gcc -gdwarf-5 -O2
stopped clang -gdwarf-4 -O0
stopped clang -gdwarf-5 -O2

# What there is at all: parameters of every function, in order, with -O2 too
gcc -g -O2 -o run stop.c
"$symdump" --full prototypes run | grep -q ' int work(struct pair \* in, long\( int\)\? factor, char letter)$' ||
    fail "prototypes: $("$symdump" --full prototypes run)"
finish
