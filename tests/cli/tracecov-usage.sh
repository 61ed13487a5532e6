# SPDX-License-Identifier: MIT
# The command line: errors give one line and status 2; --help and the man page have the same
# options; output that cannot be written; bad input.
. "$SRC/tests/cli/libtracedump.sh"
cov="$BIN/tracecov"
"$TOOLS/mktrace" mapped /nowhere/app sample.ctr || exit 1
"$TOOLS/mktrace" random 5 60 3000 large.ctr expect.json || exit 1

usage() {
    is_usage tracecov "$@"
}
usage
usage -q
usage --nonsense sample.ctr
usage -x sample.ctr
usage -f gcov sample.ctr
usage --format= sample.ctr
usage -o '' sample.ctr
usage --elf
usage --only-elf sample.ctr
usage --substitute-path=a sample.ctr
usage --substitute-path==b sample.ctr
usage --sysroot= sample.ctr
usage --from=x sample.ctr
usage --from=5 --to=4 sample.ctr
usage --to=5 -n4 sample.ctr
usage -t 0 sample.ctr
usage -p 0 sample.ctr
usage --from-time=x sample.ctr
usage --from-time=-1 sample.ctr
usage --from-time=nan sample.ctr
usage --from-time=1e300 sample.ctr
usage --to-time=0 sample.ctr
usage --from-time=2 --to-time=1.5 sample.ctr
usage --function=main sample.ctr
usage --disassembly -f lcov sample.ctr
usage -f drcov --listing=dir sample.ctr
usage --color=blue sample.ctr
usage -j0 sample.ctr

run 0 "$cov" --help
silent --help
grep -q '^Usage: tracecov ' stdout || fail "--help"
[ "$(awk '{ if (length > 80) print }' stdout | wc -l)" -eq 0 ] || fail "--help: long lines"
run 0 "$cov" --version
grep -Eq '^tracecov \(cannoli\) [0-9.]+$' stdout || fail "--version: $(cat stdout)"

"$cov" --help | grep -oE '(^  -., |^      )--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort >in_help
sed 's/\\-/-/g' "$SRC/man/tracecov.1" | sed -n '/^.SH OPTIONS/,/^.SH FORMATS/p' |
    grep -E -A1 '^\.TP' | grep -oE -- '--[a-z][a-z-]*' | sort -u >in_man
same in_help in_man "options of --help and of the man page"
[ "$(wc -l <in_help)" -ge 25 ] || fail "options not found in --help"
for format in lcov lcov2 cobertura json text html-summary drcov; do
    grep -q "^\.SS $format$" "$SRC/man/tracecov.1" || fail "$format is not in the man page"
done

# ---- bad input
bad() { # STATUS WORDS OPTION...: one line that contains the words, and no output
    run "$1" "$cov" "${@:3}"
    one_line "${@:3}"
    grep -q -- "$2" stderr || fail "${*:3}: $(cat stderr)"
    [ ! -s stdout ] || fail "${*:3}: something on stdout"
}
echo text >text
: >empty
bad 1 "nothing: No such file" -f json nothing
bad 1 "text: not a .ctr trace" -f json text
bad 1 "empty: " -f json empty
bad 1 "standard input: not a .ctr trace" -f json - <text
bad 1 "nothing: No such file" -f json @nothing
bad 1 "the list of names is empty" -f json @empty
bad 1 "nothing: No such file" --elf nothing -f json sample.ctr
bad 1 "text: not an ELF file" --elf text -f json sample.ctr
head -c 100 "$cov" >short
bad 1 "short: " --elf short -f json sample.ctr
bad 1 "/: " --elf / -f json sample.ctr
bad 1 "a file of .*, but sample.ctr is a trace of" --elf "$cov" -f json sample.ctr
run 0 "$cov" -q -f json sample.ctr
cp stdout sample.json
run 3 "$cov" -k -q -f json text sample.ctr nothing
cp stderr keep
sed 's/"whole":true/"whole":false/' sample.json >part.json # a trace is missing
same part.json stdout "--keep-going"
[ "$(wc -l <keep)" -eq 2 ] || fail "--keep-going: $(cat keep)"
run 1 "$cov" -k -q -f json text nothing
[ ! -s stdout ] || fail "--keep-going without any trace: output"
head -c $(($(stat -c %s large.ctr) * 2 / 3)) large.ctr >cut.ctr
run 3 "$cov" -f json cut.ctr
grep -q "cut.ctr: truncated at offset" stderr || fail "cut.ctr: $(cat stderr)"
/usr/bin/python3 -c 'import json
j = json.load(open("stdout"))
assert j["instructions"] > 0 and not j["whole"]' || fail "cut.ctr"
run 4 "$cov" -q sample.ctr
one_line "lcov of nothing with lines"

# ---- output
run 0 "$cov" -q -f json -o out.json sample.ctr
[ ! -s stdout ] || fail "-o: output on stdout"
same sample.json out.json "-o"
run 0 "$cov" -q -f json -o - sample.ctr
same sample.json stdout "-o -"
echo old >out.json
run 1 "$cov" -q -f json -o out.json text
grep -qx old out.json || fail "a failure destroyed the existing file"
run 1 "$cov" -q -f json -o no/such/out.json sample.ctr
one_line "-o in no folder"
run 1 "$cov" -q -f json -o /dev/full sample.ctr
one_line "-o /dev/full"
"$cov" -q -f json sample.ctr >/dev/full 2>stderr && fail "/dev/full: status 0"
one_line /dev/full
"$cov" -q -f json sample.ctr >&- 2>stderr && fail "closed stdout: status 0"
one_line "closed stdout"
(
    trap '' XFSZ
    ulimit -f 1
    "$cov" -q -f text --disassembly large.ctr -o limited 2>limit.err
    [ $? -eq 1 ] || [ ! -s limit.err ]
) || fail "a file that cannot grow: status 0"
[ -z "$(find . -name '*.part')" ] || fail "a part remains: $(ls ./*.part)"
"$cov" -q -f json sample.ctr 2>stderr | head -n 1 >/dev/null
[ "${PIPESTATUS[0]}" -eq 0 ] || fail "tracecov | head: ${PIPESTATUS[0]}"
silent "tracecov | head"
finish
