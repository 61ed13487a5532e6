# SPDX-License-Identifier: MIT
# cannoli-expand: wrong command lines, and traces that it refuses, each with one line.
. "$SRC/tests/cli/libtracedump.sh"
expand=$BIN/cannoli-expand
light() { # WHAT: light.ctr with something planted
    "$TOOLS/mktrace" light light.ctr arm "$1" || fail "mktrace light $1"
}
light ''

usage() {
    is_usage cannoli-expand "$@"
}
usage
usage -o out.ctr
usage -o out.ctr light.ctr other.ctr
usage -o - light.ctr
usage -o '' light.ctr
usage -e nothing -o out.ctr light.ctr
usage -e mem,int -o out.ctr light.ctr
usage --qemu-dir= -o out.ctr light.ctr
usage --nonsense -o out.ctr light.ctr
usage --expand-limit 0 light.ctr
usage --from 10 light.ctr
usage --select=--stores light.ctr
usage --to 10 light.ctr
usage --from nowhere -o out.ctr light.ctr
usage --to call:main -o out.ctr light.ctr
usage --select= -o out.ctr light.ctr
usage --select --module -o out.ctr light.ctr
usage --select '--stores --function' -o out.ctr light.ctr
usage --select --stores --from 10 -o out.ctr light.ctr
usage --select "--function 'main" -o out.ctr light.ctr
for other in -o --output=x --ring=1M '--stores --light' -j2 --stor --paused --stores=x \
    '--stores /bin/sh' --after-instructions=5 word; do
    usage "--select=$other" -o out.ctr light.ctr
    grep -q "' is no option of cannoli-record that chooses instructions" stderr || fail "$other: $(cat stderr)"
done
usage --expand-limit 5X light.ctr
run 0 "$expand" --help
silent --help
grep -q '^Usage: cannoli-expand ' stdout || fail "--help"
run 0 "$expand" --version
grep -Eq '^cannoli-expand \(cannoli\) [0-9.]+$' stdout || fail "--version: $(cat stdout)"
help_and_man cannoli-expand 12

# refused WORDS FILE
refused() {
    run 1 "$expand" -q --qemu-dir . -o out.ctr "$2"
    one_line "$1"
    grep -q -- "$1" stderr || fail "not '$1': $(cat stderr)"
    [ ! -s stdout ] && [ ! -e out.ctr ] || fail "$1: output"
}
echo text >text
refused "nothing: No such file" nothing
refused "text: not a .ctr trace" text
"$TOOLS/mktrace" sample sample.ctr
refused "sample.ctr: this is no light trace (cannoli-record --light)$" sample.ctr
"$TOOLS/mktrace" machine aarch64 machine.ctr
refused "machine.ctr: a trace of a machine cannot be expanded$" machine.ctr
refused "there is no qemu-arm in \.: say where it is with --qemu-dir$" light.ctr
mkfifo pipe
cat light.ctr >pipe &
refused "pipe: a stream cannot be expanded: it is read more than once$" pipe
wait
cp "$expand" qemu-arm
while IFS=: read -r what words; do
    light "$what"
    refused "^cannoli-expand: light.ctr: $words$" light.ctr
done <<'END'
no-input:this is no light trace (cannoli-record --light)
selection:only a part of the program was recorded (--module app)
threads:the order of its threads is not in it
no-seed:the seed of random numbers is not in it
no-stack:arguments and environment of the program are not in it
no-program:/bin/app was mapped, and its contents are not in the trace
changed:/bin/app was mapped, and it was changed while the program ran
part:/bin/app was mapped, and not all of it is in the trace
no-file:/tmp/unknown was mapped, and its contents are not in the trace
cut-data:not all memory that the system wrote is in it
gate:a part of the program was not recorded
END
# Where its own files cannot be
light ''
TMPDIR=$PWD/nowhere run 1 "$expand" -q --qemu-dir . -o out.ctr light.ctr
grep -q 'cannot make the folder .*/nowhere/cannoli-expand' stderr || fail "TMPDIR: $(cat stderr)"
finish
