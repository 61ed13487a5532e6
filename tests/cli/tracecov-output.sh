# SPDX-License-Identifier: MIT
#
# Every format of tracecov from one handmade report (mkreport.c): as in expected/, and
# as parsers that share no code with it read it; lcov and genhtml accept theirs silently.
# To write the expected files again: UPDATE=1.
set -u -o pipefail

fail() {
    echo "$*" >&2
    exit 1
}

# A file name with a blank, one with markup, one that does not exist.
mkdir -p src/sub
printf '%s\n' 'template <class A, class B> struct pair;' 'pair twice(int a)' \
    '{ if (a && b())' '  return a; }' '' '' 'void helper() { if (x()) {' '}' '}' \
    'int helper()' '{ return 1; }' $'\tno code, \e[31mno red' >'src/a b.cc'
printf '%s\r\n' 'last line, no line break' | tr -d '\n' >'src/odd <&">.c'
printf '%s\n' '' 'int zero(void)' '{ return 0; }' >src/sub/zero.c

golden() { # NAME FORMAT [OPTION]
    "$TOOLS/mkreport" "$PWD" "${@:2}" >"$1" || fail "$1"
    sed "s|$PWD|DIR|g" "$1" >"$1.seen"
    [ -z "${UPDATE-}" ] || cp "$1.seen" "$SRC/tests/cli/expected/tracecov-$1.txt"
    diff -u "$SRC/tests/cli/expected/tracecov-$1.txt" "$1.seen" || fail "$1 differs"
}
golden lcov lcov
golden lcov2 lcov2
golden lcov-part lcov-part
golden cobertura cobertura
golden json json
golden html html
golden text text
golden text-color text color
golden text-disassembly text disassembly
golden text-function text 'nev*'

# drcov: its blocks, read back
check="/usr/bin/python3 $SRC/tests/cli/covcheck.py"
"$TOOLS/mkreport" "$PWD" drcov >drcov || fail "drcov"
$check drcov drcov >drcov.seen || fail "drcov read back"
cat >drcov.want <<'EOF'
/opt/My App/app 100 8
/opt/My App/app 108 8
/lib/libplain.so 500 8
/lib/libplain.so 600 32767
/lib/libplain.so 85ff 32767
/lib/libplain.so 105fe 32767
/lib/libplain.so 185fd 32767
/lib/libplain.so 205fc 8932
[vdso] 40 4
[vdso] 80 4
EOF
diff -u drcov.want drcov.seen || fail "drcov"
for kind in far many; do
    "$TOOLS/mkreport" "$PWD" drcov-$kind >out 2>err && fail "drcov-$kind written"
    [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -q 'drcov can' err || fail "$(cat err)"
done

"$TOOLS/mkreport" "$PWD" cobertura-part >cobertura-part || fail "cobertura-part"
$check cobertura cobertura-part || fail "cobertura of a part"
grep -q 'branches-valid="0"' cobertura-part || fail "branches of a part"
for kind in lcov cobertura json html; do
    $check $kind $kind || fail "$kind read back"
done
$check same lcov cobertura json || fail "formats differ"

# A full disk is reported, however little there is to write.
for kind in lcov drcov cobertura json html text; do
    "$TOOLS/mkreport" "$PWD" $kind >/dev/full 2>err && fail "$kind: written to /dev/full"
    grep -q 'No space left' err || fail "$kind: $(cat err)"
done

# lcov and genhtml, with all sources present.
if ! command -v genhtml >/dev/null; then
    echo "lcov is not installed" >&2
    exit 77
fi
seq 4 >src/missing.c
seq 28 >>'src/a b.cc' # lcov 2 requires all lines to exist
kind=lcov rc=(--rc lcov_branch_coverage=1)
case $(lcov --version) in
*' 1.'*) ;;
*) kind=lcov2 rc=(--branch-coverage) ;;
esac
lcov "${rc[@]}" --summary $kind >lcov.out 2>&1 || fail "$(cat lcov.out)"
genhtml --branch-coverage -o pages $kind >genhtml.out 2>&1 || fail "$(cat genhtml.out)"
! grep -iE 'warning|error' lcov.out genhtml.out || fail "lcov complains"
grep -q '(6 of 11 lines)' lcov.out || fail "$(cat lcov.out)"
grep -q '(3 of 8 branches)' lcov.out || fail "$(cat lcov.out)"
[ -n "$(find pages -name 'a b.cc.gcov.html')" ] || fail "no page of a b.cc"
echo ok
