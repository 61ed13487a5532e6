# SPDX-License-Identifier: MIT
#
# Real programs, recorded and written in every format: a C program for arm and a C++ one
# (templates, lambdas, names with commas, a file name with a blank) for machines that have
# a C++ compiler.  The formats agree with each other and with -j1 and -j2; lcov and
# genhtml accept theirs without a message.
. "$SRC/tests/cli/librecord.sh"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
check="/usr/bin/python3 $SRC/tests/cli/covcheck.py"
export HOME=$PWD # no ~/.lcovrc

mkdir -p 'my src'
cat >'my src/part one.c' <<'EOF'
#include <stdio.h>
static int odd(int n)
{
    if (n & 1) {
        return 1;
    }
    return 0;
}
int never(int n)
{
    return n ? never(n - 1) : 3;
}
static inline int small(int n)
{
    return n > 4 && n < 9;
}
int main(int argc, char **argv)
{
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += odd(i) + small(i);
    }
    if (argc > 1) {
        sum += never(argc);
        puts(argv[1]);
    }
    printf("%d\n", sum);
    return 0;
}
EOF
cat >'my src/part two.cc' <<'EOF'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
#include <cstdio>
template <class A, class B>
struct both {
    A a;
    B b;
    both(A x, B y) : a(x), b(y) {}
    A sum() const { return a + A(b); }
};
namespace {
std::map<std::string, int> table = {{"one", 1}, {"two", 2}};
template <class... T>
int count(const T &...)
{
    return sizeof...(T);
}
int unused(int a, long b)
{
    return a > b ? a : int(b);
}
}
int main(int argc, char **)
{
    std::vector<int> v = {5, 3, 9, 1};
    int calls = 0;
    std::sort(v.begin(), v.end(), [&calls](int a, int b) {
        calls++;
        return a < b;
    });
    auto never = [](int a, int b) { return a + b; };
    both<int, long> p(v[0], 2);
    both<std::string, const char *> q("x", "y");
    if (argc > 1) {
        return unused(argc, never(1, 2));
    }
    printf("%d %s %d %d\n", p.sum(), q.sum().c_str(), count(1, 2L, 'c'), table["one"]);
    return 0;
}
EOF

# cov FORMAT FILE: with one worker and with two
cov() {
    run 0 "$BIN/tracecov" -q -j1 -f "$1" -o "$2" "${elf[@]}" "$trace"
    run 0 "$BIN/tracecov" -q -j2 -f "$1" -o "$2.j2" "${elf[@]}" "$trace"
    cmp "$2" "$2.j2" || fail "$1: -j1 and -j2 differ"
}

# Every format of $trace with the options $elf.
formats() {
    local f
    for f in lcov lcov2 drcov cobertura json html-summary text; do
        cov $f cov.$f
    done
    run 0 "$BIN/tracecov" -q -f text --disassembly -o cov.dis "${elf[@]}" "$trace"
    for f in lcov cobertura json; do
        $check $f cov.$f || fail "$f read back"
    done
    $check html cov.html-summary || fail "html read back"
    $check drcov cov.drcov >blocks || fail "drcov read back"
    $check same cov.lcov cov.cobertura cov.json || fail "formats differ"
    # without -o, the same on standard output
    "$BIN/tracecov" -q "${elf[@]}" "$trace" | cmp - cov.lcov || fail "standard output"
    "$BIN/tracecov" -q -f json "${elf[@]}" "$trace" >/dev/full 2>err && fail "full disk"
    [ "$(wc -l <err)" = 1 ] && grep -q 'No space left' err || fail "full disk: $(cat err)"
}

# lcov and genhtml, the installed versions; $1: the expected sources
consumers() {
    local kind=lcov rc=(--rc lcov_branch_coverage=1)
    command -v genhtml >/dev/null || { consumed=skipped; return; }
    case $(lcov --version) in
    *' 1.'*) ;;
    *) kind=lcov2 rc=(--branch-coverage) ;;
    esac
    run 0 "$BIN/tracecov" -q -f $kind --include "$1" -o own "${elf[@]}" "$trace"
    run 0 lcov "${rc[@]}" --summary own
    ! grep -iE 'warning|error' stdout stderr || fail "lcov"
    run 0 genhtml --branch-coverage --demangle-cpp -o "pages.$2" own
    ! grep -iE 'warning|error' stdout stderr || fail "genhtml"
}

ran='' consumed=''
for target in arm x86_64 aarch64 riscv64; do
    case $target in
    arm) cc=arm-linux-gnueabi-gcc source='my src/part one.c' ;;
    x86_64) cc=x86_64-linux-gnu-g++ source='my src/part two.cc' ;;
    *) cc=$target-linux-gnu-g++ source='my src/part two.cc' ;;
    esac
    command -v $cc >/dev/null && [ -x "$qemu_dir/qemu-$target" ] || continue
    kinds='-O0 -O2'
    [ "$target-$(uname -m)" != x86_64-x86_64 ] || kinds+=' -pie' # with this machine's libraries
    for opt in $kinds; do
        prog=prog.$target$opt trace=$target$opt.ctr elf=() link=-static
        [ $opt != -pie ] || link=-O1 elf=(--module "*$prog")
        $cc -g $opt $link -o "$prog" "$PWD/$source" || fail "$cc"
        run 0 "$record" --qemu-dir "$qemu_dir" -e exec,map,sys -q -o "$trace" -- \
            "$qemu_dir/qemu-$target" "./$prog"
        formats
        consumers "$PWD/my src/*" "$target$opt"
        python3 - cov.json "$PWD/$source" $opt blocks "$prog" <<'END' || fail "$prog: counts"
import json, sys
doc = json.load(open(sys.argv[1]))
src = [s for s in doc["sources"] if s["path"] == sys.argv[2]]
assert len(src) == 1, [s["path"] for s in doc["sources"]]
lines = {l["line"]: l["count"] for l in src[0]["lines"]}
fns = {f["name"].split("(")[0]: f for f in src[0]["functions"]}
assert fns["main"]["count"] == 1, fns["main"]
if sys.argv[2].endswith(".c"):
    assert fns["odd"]["count"] == 10 and fns["never"]["count"] == 0, fns
    assert lines[24] == 0, lines
    if sys.argv[3] == "-O0":
        assert [lines[n] for n in (4, 5, 7, 20, 24)] == [10, 5, 5, 11, 0], lines
        ways = [(b["taken"], b["count"]) for b in src[0]["branches"] if b["line"] == 4]
        assert sorted(c for _, c in ways) == [5, 5], ways
else:
    assert any("operator()" in f["name"] and f["count"] > 1 for f in src[0]["functions"])
    assert lines.get(37, 0) == 0 and lines[39] == 1, lines
starts = {int(l.rsplit(" ", 2)[1], 16) for l in open(sys.argv[4]) if sys.argv[5] in l}
load = min(int(m["load_start"], 16) for m in doc["modules"] if sys.argv[5] in m["path"])
addr = int(fns["main"]["addr"], 16)
assert (addr - load if addr >= load else addr) in starts, "main is no block of drcov"
END
        if [ $target$opt = arm-O0 ]; then
            "$dump" --json --no-disas -e exec "$trace" | python3 -c '
import json, re, sys
pcs = {int(json.loads(l)["pc"], 16) for l in sys.stdin}
load = min(int(m["load_start"], 16) for m in json.load(open(sys.argv[2]))["modules"])
code = set()
for l in open(sys.argv[1]):
    start, size = l.rsplit(" ", 2)[1:]
    code.update(range(load + int(start, 16), load + int(start, 16) + int(size), 4))
assert {pc for pc in pcs if pc < 0xffff0000} == code, "drcov and tracedump differ"
' blocks cov.json || fail "blocks of $prog"
        fi
        ran+=" $target$opt"
    done

    # Without lines and symbols: the program by address.
    $cc -s -static -o "$prog.bare" "$PWD/$source"
    trace=$target.bare.ctr elf=()
    run 0 "$record" --qemu-dir "$qemu_dir" -e exec,map,sys -q -o "$trace" -- \
        "$qemu_dir/qemu-$target" "./$prog.bare"
    run 0 "$BIN/tracecov" -q -f text -o cov.text "$trace"
    grep -qE '^ +[0-9]+: 0x[0-9a-f]+: [a-z.]' cov.text || fail "no disassembly of $prog.bare"

    # The same as a listing, which lcov uses as its source; the others have much more code.
    [ $target = arm ] || continue
    elf=(--listing lists)
    consumers '*' "$target.bare"
    cov lcov bare.lcov
    $check lcov bare.lcov || fail "listing read back"
    list=$(sed -n "s|^SF:\\($PWD/lists/$prog.bare-[0-9a-f]\\{8\\}/.*\\.lst\\)$|\\1|p" bare.lcov | head -1)
    [ -s "$list" ] || fail "no listing of $prog.bare"
    ln -sf /dev/full "$list"
    run 1 "$BIN/tracecov" -q "${elf[@]}" -o /dev/null "$trace"
    one_line "a full disk"
    rm "$list"
done
# A recording of a part: branches are not known.
filter=$BUILD/lib/cannoli/libcannoli-filter.so
if [[ $ran == *" arm-O0"* ]] && [ -e "$filter" ]; then
    trace=part.ctr elf=()
    run 0 "$record" --qemu-dir "$qemu_dir" --once -q -o "$trace" -- \
        "$qemu_dir/qemu-arm" ./prog.arm-O0
    formats
    ! grep -q BRDA cov.lcov || fail "branches of a part"
    consumers "$PWD/my src/*" part
fi
[ -n "$ran" ] || { echo "needs a patched QEMU and cross compilers"; exit 77; }
echo "ran:$ran ${consumed:+(without lcov)}"
finish
