# SPDX-License-Identifier: MIT
# Static functions and objects of one name are distinguished by their source file, in the same
# way in all tools and in the filters of the recorder.  Needs the patched qemu-x86_64.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 gcc
[ "$(uname -m)" = x86_64 ] || { echo "needs programs for x86_64"; exit 77; }
export CANNOLI_QEMU_DIR=$qemu_dir
cov=$BIN/tracecov dump=$BIN/tracedump sym=$BIN/tracesym

cp "$SRC/tests/cli/bare.h" . || exit 1
mkdir -p src
cat >src/a.c <<'END'
#include "../bare.h"
static volatile int total;
static __attribute__((noinline)) int bump(int n)
{
    return total = n;
}
int other(int n);
struct { int first, head; } volatile shared;
int main(long argc, char **argv)
{
    for (int i = 0; i < 5; i++) {
        shared.head = bump(i) + other(i);
    }
    return 0;
}
END
cat >src/b.c <<'END'
static volatile int total;
static __attribute__((noinline)) int bump(int n)
{
    static volatile int times;

    times = n;
    return total = 2 * n;
}
int other(int n)
{
    return bump(n) + bump(n + 1);
}
END
gcc -g -O1 -nostdlib -static -fno-stack-protector -fcf-protection=none -o app src/a.c src/b.c ||
    fail "cc"
rec() { # FILE OPTION...
    "$record" -q -o "$@" -- qemu-x86_64 ./app >out 2>err || fail "recording: $(cat err)"
}
rec all.ctr -e all

# stores PLACE N: it is written N times
stores() {
    run 0 "$dump" --no-pager --writes --addr "$1" all.ctr
    [ "$(wc -l <stdout)" -eq "$2" ] || fail "$1: $(cat stdout)"
}
# calls PLACE N: it is called N times, and each tool and filter finds the same code
calls() {
    local code
    run 0 "$sym" --no-pager --trace-calls "$1" all.ctr
    [ "$(grep -c ' bump(n=' stdout)" -eq "$2" ] || fail "--trace-calls $1: $(cat stdout)"
    run 0 "$sym" --no-pager --callers-of "$1" all.ctr
    [ "$(awk '$3 == "bump" { n += $1 } END { print n }' stdout)" -eq "$2" ] ||
        fail "--callers-of $1: $(cat stdout)"
    run 0 "$sym" --no-pager --functions --function "$1" all.ctr
    [ "$(awk '/ bump / { n += $5 } END { print n }' stdout)" -eq "$2" ] ||
        fail "--functions $1: $(cat stdout)"
    run 0 "$sym" --no-pager --function "$1" all.ctr
    code=$(grep -c . stdout)
    [ "$code" -ge $((3 * $2)) ] || fail "--function $1: $(cat stdout)"
    run 0 "$dump" --no-pager --summary --pc "$1" all.ctr
    [ "$(awk '$NF == "total" { print $1 }' stdout)" -eq "$code" ] || fail "--pc $1"
    run 0 "$cov" --no-pager -q -f text -d --function "$1" all.ctr
    [ "$(awk '/^ *[0-9]+: 0x/ { n += $1 } END { print n }' stdout)" -eq "$code" ] ||
        fail "tracecov --function $1: $(cat stdout)"
    run 0 "$cov" --no-pager -q -f text --function "$1" all.ctr
    [ "$(grep -c 'return total = ' stdout)" -eq $((1 + ($2 == 15))) ] ||
        fail "tracecov --function $1: $(cat stdout)"
    for option in --function --range; do
        rec part.ctr $option "$1"
        run 0 "$dump" --no-pager --summary part.ctr
        [ "$(awk '$NF == "total" { print $1 }' stdout)" -eq "$code" ] ||
            fail "recording with $option $1: $(cat stdout)"
    done
    run 0 "$dump" --no-pager --state "call:$1/$2" all.ctr
    run 4 "$dump" --no-pager --state "call:$1/$(($2 + 1))" all.ctr
}

stores total 15
stores a.c:total 5
stores b.c:total 10
stores "'b.c'::total" 10
stores "app!src/b.c:total" 10
stores b.c:bump::times 10
stores a.c:shared.head 5
calls bump 15
calls a.c:bump 5
calls b.c:bump 10
calls "'src/b.c':bump" 10
calls 'app!b.c:b*p' 10

# ---- all code of a file, also without symbols: _start and the rest of the start-up code
run 0 "$dump" --no-pager --summary all.ctr
all=$(awk '$NF == "total" { print $1 }' stdout)
cp app named
strip app
run 0 "$dump" --no-pager --summary --pc 'app!*' all.ctr
[ "$(awk '$NF == "total" { print $1 }' stdout)" -eq "$all" ] || fail "app!*: $(cat stdout)"
mv named app

# ---- a reader that has ended is no error
python3 -c 'import os, subprocess, sys
r, w = os.pipe()
os.close(r)
p = subprocess.run(sys.argv[1:], stdout=w, stderr=subprocess.PIPE, text=True)
sys.exit(p.stderr or p.returncode)' "$sym" --no-pager --trace-calls bump all.ctr ||
    fail "--trace-calls into a closed pipe"

# ---- what is not there
run 4 "$dump" --no-pager --addr c.c:total all.ctr
grep -q "no source file 'c.c' in the debug information" stderr || fail "c.c: $(cat stderr)"
run 4 "$dump" --no-pager --addr a.c:nothing all.ctr
grep -q "no object or function 'nothing' in a.c" stderr || fail "nothing: $(cat stderr)"
run 4 "$dump" --no-pager --pc c:bump all.ctr
grep -q "no function 'c:bump'" stderr || fail "c:bump: $(cat stderr)"
run 4 "$sym" --no-pager --trace-calls b.c:main all.ctr
grep -q "no function 'b.c:main' in any file" stderr || fail "b.c:main: $(cat stderr)"
finish
