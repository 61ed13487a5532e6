#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run counts: single tests, tests that count their own cases, skipped ones,
# and it fails when a test fails, when none ran and when a failing test hides it.
set -u
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TMP" || exit 1
checks=0
fail() { echo "FAILED: $*"; exit 1; }

# suite FOLDER: makes a build folder of the tests on standard input, NAME COMMAND
suite() {
    mkdir -p "$1"
    while read -r name command; do
        echo "add_test($name sh -c [==[$command]==])"
        echo "set_tests_properties($name PROPERTIES SKIP_RETURN_CODE 77 LABELS $name)"
    done >"$1/CTestTestfile.cmake"
}

# expect STATUS LAST-LINE ARGUMENTS...
expect() {
    local status=$1 line=$2 got
    shift 2
    "$SRC/tests/run" "$@" >out 2>&1
    got=$?
    [ $got = "$status" ] && [ "$(tail -n 1 out)" = "$line" ] ||
        { cat out; fail "run $*: status $got and '$(tail -n 1 out)', not $status and '$line'"; }
    checks=$((checks + 1))
}

suite good <<'EOF'
one exit 0
cases echo noise; echo "7 passed, 0 failed"
mocka echo "[==========] 3 test(s) run."; echo "[  PASSED  ] 3 test(s)."
EOF
expect 0 "11 passed, 0 failed" good
expect 0 "8 passed, 0 failed" 'good:^(one|cases)$'
suite bad <<'EOF'
one exit 0
two exit 1
cases echo "5 passed, 2 failed"; exit 1
later echo "cannot here"; exit 77
EOF
expect 1 "6 passed, 3 failed, 1 skipped" bad
expect 1 "17 passed, 3 failed, 1 skipped" good bad
grep -qx 'failed: bad two' out && grep -qx 'failed: bad cases' out || fail "failures are not named"
suite liar <<'EOF'
cases echo "5 passed, 2 failed"; exit 0
EOF
expect 1 "5 passed, 2 failed" liar
suite crash <<'EOF'
cases echo "5 passed, 0 failed"; kill -SEGV $$
EOF
expect 1 "5 passed, 1 failed" crash
mkdir nothing
touch nothing/CTestTestfile.cmake
expect 1 "0 passed, 1 failed" nothing
expect 1 "0 passed, 1 failed" good:nosuchlabel
expect 1 "0 passed, 1 failed" nosuchfolder
suite skips <<'EOF'
later exit 77
EOF
expect 1 "0 passed, 0 failed, 1 skipped" skips
suite lost <<'EOF'
gone exit 0
EOF
sed -i 's,gone sh,gone /nowhere/sh,' lost/CTestTestfile.cmake
expect 1 "0 passed, 1 failed" lost

# A sample takes what fits; the same text chooses the same tests, other texts others.
for name in a b c d e f; do echo "$name exit 0"; done | suite many
expect 0 "2 passed, 0 failed" --sample text many::2
grep -qx 'left out: many: 4 of 6 tests, a sample' out || { cat out; fail "what was left out"; }
expect 0 "3 passed, 0 failed" --sample text many::2 'many:^a$'
# ... of the tests with the labels, too, wherever these are in the folder
expect 0 "2 passed, 0 failed" --sample text 'many:^[def]$:2'
expect 0 "2 passed, 0 failed" --sample other 'many:^[bf]$:2'
"$SRC/tests/run" --sample text --list many::2 >first
"$SRC/tests/run" --sample text --list many::2 | cmp - first || fail "another sample"
for text in $(seq 40); do
    "$SRC/tests/run" --sample "$text" --list many::2 || fail "sample $text"
done | sort -u >all
[ "$(wc -l <first) $(wc -l <all)" = "2 6" ] || fail "samples: $(cat first all)"
# ... and now and then one that is longer than it.
for text in $(seq 80); do
    "$SRC/tests/run" --sample "$text" --list many::0.5 >list || fail "sample $text"
    [ ! -s list ] || { wc -l <list; cat list; }
done >all
[ "$(grep -c '^1$' all)" -ge 5 ] && ! grep -q '^[2-9]' all && [ "$(grep many all | sort -u | wc -l)" -ge 3 ] ||
    fail "longer tests: $(cat all)"
checks=$((checks + 3))
# What was left out, why, and what took longest is in the last lines.
suite reasons <<'EOF'
one exit 0
two echo noise; echo "SKIP exact/vax/two (0.0 s) no qemu-vax"; echo "0 passed, 0 failed, 1 skipped"; exit 77
three echo "SKIP exact/vax/three (0.2 s) no qemu-vax"; exit 77
EOF
expect 0 "1 passed, 0 failed, 2 skipped" --left-out "programs of vax: gone" --again "so" reasons
grep -qx 'left out: reasons two, reasons three: no qemu-vax' out &&
    grep -qx 'left out: programs of vax: gone' out && grep -qx 'again: so' out &&
    [ "$(grep -cE '^ +[0-9.]+ s  reasons (one|two|three)$' out)" = 3 ] ||
    { cat out; fail "the last lines"; }
echo "$checks passed, 0 failed"
