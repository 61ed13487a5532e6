# SPDX-License-Identifier: MIT
# tracedump --find in recordings of a program that reads a secret, copies it in several ways
# and writes it: every copy is found where the program says it is, in the function that made
# it by the symbols.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"
secret="correct horse battery"

cat >guest.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char input[64], by_bytes[64], by_backward[64], by_memcpy[64], by_sprintf[64], number[8];

__attribute__((noinline)) void copy_bytes(volatile char *to, const volatile char *from, int n)
{
    for (int i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

__attribute__((noinline)) void copy_backward(volatile char *to, const volatile char *from, int n)
{
    while (n--) {
        to[n] = from[n];
    }
}

__attribute__((noinline)) void store_number(volatile unsigned *to)
{
    *to = 0x12abcdef;
}

int main(void)
{
    int fd = open("secret", O_RDONLY);
    volatile int n = read(fd, input, 60);

    copy_bytes(by_bytes, input, n);
    copy_backward(by_backward, by_bytes, n);
    memcpy(by_memcpy, by_backward, n);
    sprintf(by_sprintf, "%s", by_memcpy);
    store_number((unsigned *)number);
    write(1, by_sprintf, n);
    return n != 21;
}
END
printf '%s' "$secret" >secret

# The lines of one kind, as "FUNCTION PLACE", where the symbols say what both are.
cat >names.py <<'END'
import json, subprocess, sys
symbols = []
for line in subprocess.check_output(["nm", "-n", "guest"], text=True).splitlines():
    addr, kind, name = line.split()[-3:] if len(line.split()) == 3 else ("0", "U", "")
    if kind in "tTwWiVbBdD":
        symbols.append((int(addr, 16), name))
def name(addr, exact):
    below = [s for s in symbols if (s[0] == addr if exact else s[0] <= addr)]
    return below[-1][1] if below else hex(addr)
places = "input by_bytes by_backward by_memcpy by_sprintf number".split()
for line in sys.stdin:
    e = json.loads(line)
    found = int(e["found"], 16)
    place = next((n for a, n in symbols if a == found and n in places), "other")
    if e["kind"] == "memory":
        print("sys", e["op"], e["call"], place)
    elif place != "other":
        print(e["kind"], name(int(e["pc"], 16), False), place)
END
# tracesym must find the same, with the function that the symbols name.
cat >symbols.py <<'END'
import json, subprocess, sys
symbols = {}
for line in subprocess.check_output(["nm", "-S", "guest"], text=True).splitlines():
    field = line.split()
    if len(field) == 4 and field[2] in "tTwWi":
        symbols.setdefault(field[3], []).append((int(field[0], 16) & ~1, int(field[1], 16)))
want, got = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
def keys(events):
    return [(e["kind"], e.get("ordinal"), e["tid"], e["found"]) for e in events]
if keys(want) != keys(got):
    sys.exit("tracesym finds other places")
named = 0
for e in got:
    if e.get("function") in symbols:
        named += 1
        if not any(at <= int(e["pc"], 16) < at + size for at, size in symbols[e["function"]]):
            sys.exit(f"{e} is not in this function")
if not named or not any(e.get("function") == "copy_bytes" for e in got):
    sys.exit(f"{named} places with functions")
END
has() { # REGEX
    grep -Eqx "$1" lines || fail "$target: no line $1 in: $(sort lines | uniq -c)"
}
has_not() { # REGEX
    ! grep -Eqx "$1" lines || fail "$target: a line $1"
}

done=0
while read -r target compiler; do
    if ! [ -x "$BUILD/libexec/cannoli/qemu-$target" ] || ! command -v "$compiler" >/dev/null; then
        continue
    fi
    "$compiler" -O1 -w -fno-builtin -static -no-pie guest.c -o guest || { fail "$compiler"; continue; }
    rm -f run.ctr
    "$BIN/cannoli-record" -q -o run.ctr -e exec,mem,val,sys,map -- ./guest >out 2>stderr ||
        fail "$target: $(cat stderr)"
    [ "$(cat out)" = "$secret" ] || fail "$target: $(cat out)"
    run 0 "$dump" --json --find "\"$secret\"" run.ctr
    silent "$target"
    python3 names.py <stdout >lines || fail "$target: names.py"
    has "sys write read input"
    has "sys read write by_sprintf"
    has "load copy_bytes input"
    has "store copy_bytes by_bytes"
    has "load copy_backward by_bytes"
    has "store copy_backward by_backward"
    has "load .*(memcpy|memmove|_wordcopy).* by_backward"
    has "store .*(memcpy|memmove|_wordcopy).* by_memcpy"
    has "store [^ ]* by_sprintf"
    [ "$(grep -c "^store copy_bytes" lines)" -eq 1 ] || fail "$target: $(cat lines)"
    has_not "store (copy_bytes|copy_backward|main) (by_sprintf|by_memcpy)"
    cp stdout all
    for how in -j1 -j3; do
        run 0 "$BIN/tracesym" --json --find "\"$secret\"" $how run.ctr
        silent "tracesym, $target"
        python3 symbols.py all stdout || fail "$target: tracesym"
    done
    # Only what is chosen; the same from a part as from all of it
    for how in -j1 -j3 --no-index; do
        run 0 "$dump" --json --find "\"$secret\"" $how run.ctr
        same all stdout "$target $how"
    done
    at=$(printf '0x%x' "0x$(nm guest | sed -n 's/^\([0-9a-f]*\) . by_sprintf$/\1/p')")
    run 0 "$dump" --json --find "\"$secret\"" --addr "$at" --statistics run.ctr
    grep -q "\"found\":\"$at\"" all || fail "$target: $at"
    python3 names.py <stdout | sort -u >lines
    has "store [^ ]* by_sprintf"
    has "sys read write by_sprintf"
    has_not ".* (input|by_bytes|by_memcpy)"
    # A number in the order of the machine
    run 0 "$dump" --json --find u32:0x12abcdef --writes run.ctr
    python3 names.py <stdout >lines
    has "store store_number number"
    done=$((done + 1))
done <<'END'
arm arm-linux-gnueabihf-gcc
x86_64 x86_64-linux-gnu-gcc
mips mips-linux-gnu-gcc
aarch64 aarch64-linux-gnu-gcc
END
[ $done -gt 0 ] || { echo "no QEMU and compiler for a target"; exit 77; }

# Without values the system's buffers can answer, and what is cut is said.
"$BIN/cannoli-record" -q -o run.ctr -e exec,mem,sys -- ./guest >out 2>stderr || fail "$(cat stderr)"
run 0 "$dump" --find "\"$secret\"" run.ctr
one_line "without values"
grep -q "values of accesses were not recorded" stderr || fail "$(cat stderr)"
[ "$(grep -c '+++ system (read) w 0x' stdout)" -eq 1 ] || fail "$(cat stdout)"
"$BIN/cannoli-record" -q -o run.ctr -e exec,sys --data-limit 8 -- ./guest >out 2>stderr ||
    fail "$(cat stderr)"
run 4 "$dump" --find "\"$secret\"" run.ctr
grep -q "[0-9]* buffers were recorded in part only" stderr || fail "$(cat stderr)"
finish
