# SPDX-License-Identifier: MIT
# The totals of all formats are of the same source files: those that lcov has, which counts
# them itself.  What has no line information is counted apart.  Needs the patched qemu-arm.
. "$SRC/tests/cli/libtracecov.sh"
need_qemu_arm
command -v lcov >/dev/null || { echo "lcov is not installed"; exit 77; }
export HOME=$PWD # no ~/.lcovrc
src=$SRC/tests/cli/covguest.c
cat >shared.h <<'END'
static int shared(int n)
{
    return n > 2 ? n : 2 * n;
}
static __attribute__((constructor)) void begin(void)
{
    shared(shared(3));
}
END
build() { # OUTPUT OPTION...
    $cc -O0 -include "$PWD/shared.h" "${@:2}" "$src" -o "$1" -ldl || fail "compiling $1"
}
build loader -g -DLOAD
build liba.so -g -shared -fPIC -DLIBRARY=5
build libb.so -s -shared -fPIC -DLIBRARY=7
rec_arm run.ctr -- qemu-arm -L "$(sysroot)" ./loader load "$PWD/liba.so" "$PWD/libb.so"

rc=(--rc lcov_branch_coverage=1)
case $(lcov --version) in
*' 1.'*) ;;
*) rc=(--branch-coverage) ;;
esac
# "6 of 11" of lines, functions and branches, by lcov
by_lcov() {
    lcov "${rc[@]}" --summary "$1" 2>&1 |
        sed -n 's/^ *\(lines\|functions\|branches\)\.*: .*(\([0-9]* of [0-9]*\) .*/\1 \2/p'
}
# the same by tracecov's text
by_text() {
    sed -n 's/^\(lines\|functions\|branches\) .*(\([0-9]* of [0-9]*\))$/\1 \2/p' "$1"
}
# the same by JSON, of its totals or of a module's
by_json() {
    of "$1" '"\n".join("%s %d of %d" % (k, t[k + "_hit"], t[k]) for t in ['"$2"']
                       for k in ("lines", "functions", "branches"))'
}
for only in '*' '*/loader' '*/liba.so'; do
    for f in lcov text json html-summary; do
        run 0 "$cov" -q -f $f --module "$only" run.ctr
        cp stdout cov.$f
    done
    by_lcov cov.lcov >want
    by_text cov.text >text
    by_json cov.json 'j["totals"]' >json
    [ "$(wc -l <want)" -eq 3 ] || fail "lcov: $(cat want)"
    same want text "$only: lcov and text"
    same want json "$only: lcov and JSON"
    sed -n 's/^lines //p; s/^functions //p; s/^branches //p' want | while read -r hit _ all; do
        grep -q "<span>$hit of $all</span>" cov.html-summary || echo "$hit of $all"
    done >missing
    [ ! -s missing ] || fail "$only: the page lacks $(cat missing)"
    # A module alone has what its row has beside others.
    [ "$only" != '*' ] || cp cov.json all.json
    [ "$only" = '*' ] ||
        by_json all.json "*[m['totals'] for m in j['modules'] if m['path'].endswith('${only#\*}')]" >row
    [ "$only" = '*' ] || same want row "$only: alone and in its row"
done
# The two share a header: its lines are once in the total.
is all.json 'len({s["path"] for s in j["sources"] if "module" not in s})' 2
is all.json 'j["totals"]["lines"] < sum(m["totals"]["lines"] for m in j["modules"])' True
# Without line information: functions only, apart from the others.
is all.json 'sorted(m["path"].rsplit("/", 1)[1] for m in j["modules"] if m["totals"]["lines"])' \
    "['liba.so', 'loader']"
is all.json 'j["without_lines"]["functions"] > j["without_lines"]["functions_hit"] > 1' True
is all.json '[m["without_lines"] for m in j["modules"] if m["path"].endswith("libb.so")]' \
    "[{'functions': 2, 'functions_hit': 2}]"
run 0 "$cov" -q -f text run.ctr
grep -qx 'sources       2 files of 2 programs or libraries with line information' stdout ||
    fail "no denominator: $(head -8 stdout)"
grep -qE '^without lines [0-9.]+ % \([0-9]+ of [0-9]+\) functions$' stdout ||
    fail "functions without lines: $(head -8 stdout)"
grep -qE "^$PWD/libb.so: [0-9,]+ executed, functions without lines 100.0 % \(2 of 2\)$" stdout ||
    fail "no row of libb.so: $(head -12 stdout)"
finish
