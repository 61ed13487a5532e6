# SPDX-License-Identifier: MIT
# --listing of programs without symbols and lines: files by function, whose names and lines
# depend on the program alone, so that lcov adds up runs; pages of genhtml under 1 MB.
# Needs the patched qemu-x86_64.
. "$SRC/tests/cli/libtracecov.sh"
need_qemu x86_64 x86_64-linux-gnu-gcc
[ "$(uname -m)" = x86_64 ] || { echo "needs this machine's libraries"; exit 77; }
export HOME=$PWD # no ~/.lcovrc

# Many functions and a large one; the argument decides which ones run.
python3 - >many.c <<'END'
print("#include <stdlib.h>\nvolatile unsigned v;")
for i in range(300):
    print("static __attribute__((noinline)) void f%d(unsigned n)\n{" % i)
    for k in range(4):
        print("    if (n & %d) { v += n * %d; } else { v ^= n >> %d; }" % (1 << k, i + k, k + 1))
    print("}")
print("__attribute__((noinline)) void large(unsigned n)\n{")
for k in range(1500):
    print("    v = v * %d + (n ^ v);" % (2 * k + 3))
print("}\nint main(int argc, char **argv)\n{\n    unsigned n = argc > 1 ? atoi(argv[1]) : 0;")
for i in range(300):
    print("    if (n %% %d == 0) { f%d(n + %d); }" % (i % 7 + 2, i, i))
print("    if (n & 1) { large(n); }\n    return 0;\n}")
END
$cc -O1 -o named many.c || fail "cc"
cp named many
strip many || fail "strip"

cover() { # NUMBER: list.NUMBER, NUMBER.lcov, NUMBER.ctr
    rec_arm "$1.ctr" -- qemu-x86_64 ./many "$1"
    run 0 "$cov" -q --module many --listing lists -o "$1.lcov" "$1.ctr"
    mv lists "list.$1"
}
cover 8
cover 15
diff -r list.8 list.15 >differ || fail "listings of two runs differ: $(head -5 differ)"
cp -r list.8 lists
[ "$(find lists -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ] || fail "folders: $(ls lists)"
folder=$(echo lists/many-*)
id=$(readelf -n many | sed -n 's/.*Build ID: \(.\{8\}\).*/\1/p')
[ "$folder" = "lists/many-$id" ] || fail "$folder is not of the build $id"
[ "$(find "$folder" -name '*.lst' | wc -l)" -ge 8 ] || fail "files: $(ls "$folder")"
[ "$(cat "$folder"/*.lst | wc -l)" -gt 12000 ] || fail "the listing is short"
wc -l "$folder"/*.lst | awk '$2 != "total" && $1 > 4000 { print; bad = 1 } END { exit bad }' ||
    fail "a file is long"
[ -n "$(find "$folder" -name '*-.plt*.lst')" ] || fail "no name of a section: $(ls "$folder")"

# Functions are found without symbols: those that nm knows in the program with symbols.
nm named | sed -n 's/^0*\([0-9a-f]*\) [tT] \(f[0-9]*\|large\|main\)$/0x\1:/p' | sort >want
[ "$(wc -l <want)" -eq 302 ] || fail "nm: $(wc -l <want) functions"
cat "$folder"/*.lst | grep '^0x[0-9a-f]*:$' | sort >found
[ -z "$(comm -23 want found)" ] || fail "functions not found: $(comm -23 want found | head -3)"
# Each byte of code is in one line, in order.
cat "$folder"/*.lst | sed -n 's/^  \(0x[0-9a-f]*\)  .*/\1/p' >at
sort -c -u at || fail "lines are not in order of addresses"
objdump -d --no-show-raw-insn named | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p' |
    sed 's/^/000000000000/; s/.*\(.\{12\}\)$/0x\1/' >dumped
[ -z "$(comm -23 dumped at | head -1)" ] || fail "not listed: $(comm -23 dumped at | head -3)"

# The text has a table of them: each that the argument selects was entered once, and the
# others never.
run 0 "$cov" -q -f text --module many 15.ctr
sed -n 's/^ *\([0-9]*\) *[0-9]*\/[0-9]* *\(0x[0-9a-f]*\)$/\2: \1/p' stdout | sort >table
nm named | awk '$3 ~ /^f[0-9]+$/ { n = substr($3, 2) % 7 + 2 }
    $3 == "large" || $3 == "main" { n = 1 }
    n && 15 % n == 0 { sub(/^0*/, "0x", $1); print $1 ": 1" }
    { n = 0 }' | sort >entered
[ "$(wc -l <entered)" -gt 80 ] || fail "$(wc -l <entered) functions"
sed 's/:.*//' table | grep -xFf <(tr -d : <want) | sort >ran
sed 's/:.*//' entered | cmp - ran || fail "functions that ran: $(head -20 stdout)"
[ -z "$(comm -23 entered table)" ] || fail "counts: $(comm -23 entered table | head -3)"
sed -n 's/^ *##### *0\/[1-9][0-9]* *\(0x[0-9a-f]*\)$/\1/p' stdout | sort >never
sed 's/:$//' want | comm -23 - ran | comm -23 - never >lacks
[ ! -s lacks ] || fail "functions that never ran are not in the table: $(head -3 lacks)"
[ -z "$(comm -12 ran never)" ] || fail "ran, and never ran: $(comm -12 ran never | head -3)"

# Counts are those of the instructions; two runs add up to both traces.
run 0 "$cov" -q -f text --disassembly --module many 15.ctr
sed -n 's/^ *\([1-9][0-9]*\): \(0x[0-9a-f]*\): .*/\2 \1/p' stdout | sort >want
python3 - 15.lcov >got <<'END'
import re, sys
for line in open(sys.argv[1]):
    key, _, rest = line.rstrip("\n").partition(":")
    if key == "SF":
        text = open(rest).read().split("\n")
    elif key == "DA":
        at, n = map(int, rest.split(","))
        if n:
            print(re.match(r"  (0x[0-9a-f]+)  ", text[at - 1])[1], n)
END
sort got | cmp - want || fail "counts: $(sort got | diff - want | head -3)"
/usr/bin/python3 "$SRC/tests/cli/covcheck.py" lcov 15.lcov || fail "15.lcov read back"
if command -v genhtml >/dev/null; then
    run 0 "$cov" -q --module many --listing lists -o both.lcov 8.ctr 15.ctr
    run 0 lcov -q --rc lcov_branch_coverage=1 -a 8.lcov -a 15.lcov -o sum.lcov
    for file in both sum; do
        # What ran between functions counts once in each result.
        grep -E '^(SF|DA|FNDA):' $file.lcov | sed 's/^FNDA:[1-9][0-9]*,\./FNDA:1,./' |
            awk -F: '/^SF/ { file = $2 } { print file, $0 }' | sort >$file
    done
    for key in SF DA FNDA; do
        diff <(grep " $key:" both) <(grep " $key:" sum) >differ ||
            fail "$key of two runs: $(head -3 differ)"
    done
    run 0 genhtml -q --branch-coverage -o pages sum.lcov
    ! grep -iE 'warning|error' stdout stderr || fail "genhtml"
    [ -z "$(find pages -size +1000k)" ] || fail "a large page: $(find pages -size +1000k)"
fi

# ---- damaged unwind tables: other functions are found, or none, and nothing else happens
readelf -SW many | sed -n 's/^ *\[ *[0-9]*\] \.eh_frame[_hdr]* *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p' >tables
[ "$(wc -l <tables)" -eq 2 ] || fail "tables: $(cat tables)"
mkdir bad
for seed in 1 2 3 4 5 6; do
    python3 - "$seed" <<'END'
import random, sys
random.seed(int(sys.argv[1]))
data = bytearray(open("many", "rb").read())
for line in open("tables"):
    at, size = (int(x, 16) for x in line.split())
    for _ in range(random.choice((1, 8, 200))):
        data[at + random.randrange(min(size, random.choice((16, 100, size))))] = random.randrange(256)
open("bad/many", "wb").write(data)
END
    run 0 "$cov" -q --elf bad/many --only-elf --listing damaged.lists -o damaged.lcov 15.ctr
    grep -c '^DA:.*,[1-9]' damaged.lcov >lines
    [ "$(cat lines)" -gt 1000 ] || fail "damage $seed: $(cat lines) lines ran"
done
finish
