# SPDX-License-Identifier: MIT
# Sums equal those of the traces: real recordings with threads, forks, signals, code that
# rewrites itself; many traces; parts of recordings.  Needs the patched qemu-arm.
. "$SRC/tests/cli/libtracecov.sh"
need_qemu_arm
/usr/bin/python3 "$SRC/tests/guests/build.py" --out guests --target arm --program calls \
    --program smc --program family --program signals --program threads || fail "guests"
for guest in calls smc family signals threads; do
    "$record" -q --qemu-dir "$qemu_dir" -o $guest.ctr -- "guests/arm/$guest" >out 2>err
    /usr/bin/python3 "$SRC/tests/cli/covsums.py" "$BIN" $guest.ctr || fail "$guest"
done

# ---- many traces: sums, in any order, in memory that does not grow
run 0 "$cov" -q -f json calls.ctr
cp stdout one.json
/usr/bin/python3 -c 'import os
for i in range(3000):
    os.link("calls.ctr", "calls-%d.ctr" % i)
    print("calls-%d.ctr" % i)' >names
run 0 "$cov" -q -f json @names
cp stdout many.json
is many.json 'j["traces"]' 3000
is many.json "j['instructions'] == 3000 * $(of one.json 'j["instructions"]')" True
is many.json "count('main') == 3000 * $(of one.json "count('main')")" True
head -40 names >few
run 0 "$cov" -q -f json @few
cp stdout few.json
is few.json 'j["traces"]' 40
run 0 "$cov" -q -f json --traces-from - <few
same few.json stdout "--traces-from -"
run 0 "$cov" -q -f json --traces-from few
same few.json stdout "--traces-from few"
run 3 "$cov" -q -f json calls.ctr smc.ctr family.ctr
cp stdout merged.json
run 3 "$cov" -q -f json family.ctr calls.ctr smc.ctr
is stdout 'j["instructions"]' "$(of merged.json 'j["instructions"]')"
is stdout 'j["totals"]' "$(of merged.json 'j["totals"]')"
is stdout 'sorted((m["path"], m["instructions"], m["insns"], m["blocks"]) for m in j["modules"])' \
    "$(of merged.json 'sorted((m["path"], m["instructions"], m["insns"], m["blocks"]) for m in j["modules"])')"
# The address sanitizer keeps freed memory for a while, and adds to each allocation.
grow=16384
! grep -q '^CANNOLI_SANITIZE:.*address' "$BUILD/CMakeCache.txt" || grow=32768
peak() { ASAN_OPTIONS=${ASAN_OPTIONS-}:quarantine_size_mb=1 /usr/bin/python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"; }
[ "$(peak "$cov" -q -f json @names)" -lt $(($(peak "$cov" -q -f json calls.ctr) + grow)) ] ||
    fail "memory grows with the number of traces"

# ---- a stream gives the same as a file
run 0 "$cov" -q -f json - < <(cat calls.ctr)
same one.json stdout "a stream"
run 0 "$cov" -q -f json - <calls.ctr
same one.json stdout "standard input"
mkfifo pipe
cat calls.ctr >pipe &
run 0 "$cov" -q -f json pipe
same one.json stdout "a pipe with a name"

# ---- parts
for part in --once --coverage --branches; do
    rec_arm part.ctr $part -- guests/arm/calls
    run 0 "$cov" -f json part.ctr
    one_line "$part"
    grep -q "only a part was recorded ($part)" stderr || fail "$part: $(cat stderr)"
    is stdout '(j["whole"], j["branches_known"])' '(False, False)'
    most='max(v["count"] for s in j["sources"] for v in s["functions"])'
    if [ $part != --branches ]; then # whether something ran, not how often
        is stdout "$most" 1
        is stdout "count('main')" 1
    fi
    run 0 "$cov" -f json part.ctr part.ctr calls.ctr
    one_line "$part, twice"
    [ $part = --branches ] || is stdout "$most" 1
    is stdout '(j["whole"], j["branches_known"])' '(False, False)'
    run 0 "$cov" -q -f json part.ctr
    silent "$part -q"
    run 0 "$cov" -q -f text -d part.ctr
    grep -q '^branches  *not known$' stdout || fail "$part: $(head -5 stdout)"
    ! grep -q '; taken' stdout || fail "$part: counts of branches that are not known"
    [ $part = --branches ] || ! grep -qE '^ *([2-9]|[0-9]{2,}): ' stdout ||
        fail "$part: counts: $(grep -E '^ *([2-9]|[0-9]{2,}): ' stdout | head -3)"
done
is one.json '(j["whole"], j["branches_known"])' '(True, True)'
cat >twice.c <<'END'
static inline __attribute__((always_inline)) int half(int n)
{
    return n & 1 ? 3 * n : n / 2;
}
volatile int sum;
int main(void)
{
    for (int i = 0; i < 10; i++) {
        sum += half(i) - half(i + 1);
    }
    return 0;
}
END
$cc -g -O1 -static -o twice twice.c || fail "cc"
rec_arm part.ctr --coverage -- ./twice
run 0 "$cov" -q -f json --include '*twice.c' part.ctr
is stdout '{v["count"] for s in j["sources"] if "lines" in s for v in s["lines"]}' '{1}'
is stdout "count('half')" 1

# ---- a trace that is left out has no effect, wherever it is damaged
rec_arm part.ctr --once -- guests/arm/calls
"$cov" -q -f json --to 99999999999 calls.ctr >whole.json || fail "a replay"
left_out=0
for i in $(seq 15); do
    /usr/bin/python3 -c 'import sys
b = bytearray(open("part.ctr", "rb").read())
b[len(b) * int(sys.argv[1]) // 16] ^= 0x55
open("damaged.ctr", "wb").write(b)' "$i"
    "$cov" -k -q -f json --to 99999999999 damaged.ctr calls.ctr >stdout 2>stderr
    case $? in
    0) continue ;; # the damaged place was not needed
    3) left_out=$((left_out + 1)) ;;
    *) fail "-k, damaged at $i: $(cat stderr)" ;;
    esac
    # Except for the message, the result is that of the other traces.
    is stdout 'j["whole"]' False
    sed 's/"whole":false/"whole":true/' stdout >got
    same whole.json got "-k, damaged at $i"
done
[ "$left_out" -ge 8 ] || fail "only $left_out damaged traces were left out"
finish
