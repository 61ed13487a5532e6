# SPDX-License-Identifier: MIT
# The expansion that is kept beside a light trace: who has it made, for which questions, with
# which kinds, when it is made again, and what happens if it cannot be.  A script in place of
# cannoli-record writes a trace that was made for it.
. "$SRC/tests/cli/libtracedump.sh"
need python3
mkdir tool
for tool in cannoli-expand tracedump tracesym tracegdb; do
    cp "$BIN/$tool" tool/
done
cat >tool/cannoli-record <<'EOF'
#!/bin/sh
# Writes down the kinds, and makes the trace that has them.
here=${0%/*}/..
while [ "$1" != -e ]; do
    shift
done
echo "$2" >>"$here/kinds"
case ,$2, in
*,val,*) cp "$here/val.ctr" "$4" ;;
*,mem,*) cp "$here/mem.ctr" "$4" ;;
*) cp "$here/light.ctr" "$4" ;;
esac
EOF
chmod +x tool/cannoli-record
cp tool/cannoli-record qemu-arm
export CANNOLI_QEMU_DIR=.
for kind in mem val; do
    "$TOOLS/mktrace" light $kind.ctr arm $kind || fail "mktrace $kind"
done
"$TOOLS/mktrace" light light.ctr arm '' || fail mktrace
mark() { # FILE TIME: as cannoli-record does
    python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.cannoli.recorded", sys.argv[2].encode())' "$@"
}
mark light.ctr 1700000000000000000 || { # the file system has no attributes
    echo "needs extended attributes"
    exit 77
}
kept=light.ctr.expanded
all=sys,map,thr,time

# Nothing is kept, and nothing was executed yet
begin() {
    rm -f $kept kinds
}
# expands WORDS KINDS STATUS COMMAND...: the command has the program executed again for these
# kinds, once, and says so with these words; then not again.
expands() {
    local words=$1 kinds=$2 status=$3
    shift 3
    run "$status" "$@"
    grep -qx "${1##*/}: light.ctr has no $words: executing the program again, for $kept" stderr ||
        fail "not '$words' for $*: $(cat stderr)"
    [ "$(cat kinds)" = "$kinds" ] || fail "kinds for $*: $(cat kinds)"
    cp stdout first
    run "$status" "$@"
    ! grep -q executing stderr || fail "executed twice for $*"
    [ "$(cat kinds)" = "$kinds" ] || fail "again for $*: $(cat kinds)"
    same first stdout "the answer is another one the second time: $*"
}
# answers STATUS COMMAND...
answers() {
    run "$@"
    [ ! -e kinds ] && [ ! -e $kept ] || fail "executed again for $*: $(cat kinds)"
}

# What a light trace answers itself
answers 0 tool/tracedump light.ctr
answers 0 tool/tracedump --info light.ctr
answers 0 tool/tracedump -e exec,sys,input light.ctr
answers 0 tool/tracedump --summary light.ctr
answers 0 tool/tracesym --calls light.ctr
answers 0 tool/tracesym --list threads light.ctr
answers 4 tool/tracedump --no-expand --addr 0x50000020 light.ctr
grep -q 'accesses were not recorded (-e mem)$' stderr || fail "--no-expand: $(cat stderr)"
# Standard input
answers 4 sh -c 'tool/tracedump -e mem - <light.ctr'
# A pipe, which can be read only once
mkfifo pipe
cat light.ctr >pipe &
answers 4 tool/tracedump -e mem pipe
grep -q '^tracedump: pipe: accesses were not recorded$' stderr || fail "a pipe: $(cat stderr)"
wait
cat mem.ctr >pipe &
answers 0 tool/tracedump -e mem pipe
wait
# Other traces are none
run 4 tool/tracedump -e reg mem.ctr
one_line "a trace that is not light"
[ ! -e mem.ctr.expanded ] || fail "a trace that is not light was expanded"

# What it does not
begin
expands accesses "mem,$all" 0 tool/tracedump --addr 0x50000020 light.ctr
grep -q '96310 .* w 0x50000020' stdout || fail "--addr: $(cat stdout)"
# More kinds: those that were there stay
expands 'accesses, values' "mem,$all
mem,val,$all" 0 tool/tracedump --find u32:0x11223344 light.ctr
for question in '-e mem' '--addr 0x50000020 --reads' --histogram=page; do
    begin
    case $question in *reads) status=4 words='accesses, values' ;; *) status=0 words=accesses ;; esac
    case $words in *values) kinds=mem,val,$all ;; *) kinds=mem,$all ;; esac
    # shellcheck disable=SC2086
    expands "$words" $kinds $status tool/tracedump $question light.ctr
done
for question in '--writes' '-e val' '--addr 0x50000020 --last-write-before end'; do
    begin
    # shellcheck disable=SC2086
    expands 'accesses, values' mem,val,$all 0 tool/tracedump $question light.ctr
done
begin
run 0 tool/tracesym --functions --cost stores light.ctr
[ "$(cat kinds)" = "mem,$all" ] || fail "--cost: $(cat kinds)"
begin
run 0 tool/tracesym --functions --diff light.ctr --cost stores mem.ctr
[ "$(cat kinds)" = "mem,$all" ] || fail "--diff: $(cat kinds)"
begin
run 0 tool/tracedump -q -e mem light.ctr
silent "-q"

# Made before: without -o, with all that there is
begin
run 0 tool/cannoli-expand -e mem light.ctr
silent cannoli-expand
[ -s $kept ] && [ "$(cat kinds)" = "mem,$all" ] || fail "cannoli-expand: $(cat kinds)"
run 0 tool/tracedump -e mem light.ctr
silent "an expansion that was made before"
run 0 tool/cannoli-expand -e mem light.ctr
one_line again
grep -qx "cannoli-expand: $kept: all of it is there already" stderr || fail "again: $(cat stderr)"
# Of an earlier recording with the same name
"$TOOLS/mktrace" light other.ctr x86_64 mem || fail mktrace
cp other.ctr $kept
rm kinds
expands accesses "mem,$all" 0 tool/tracedump -e mem light.ctr
# Something else of that name
begin
echo mine >$kept
run 4 tool/tracedump -e mem light.ctr
grep -q "^cannoli-expand: $kept: it is there already, and no expansion: say another name with -o$" stderr ||
    fail "another file: $(cat stderr)"
[ "$(cat $kept)" = mine ] || fail "another file was lost"
cp light.ctr $kept
run 4 tool/tracedump -e mem light.ctr
same light.ctr $kept "a light trace of that name was lost"

# Of a program that was killed it may have less
"$TOOLS/mktrace" light killed.ctr arm killed && "$TOOLS/mktrace" light killed.ctr.expanded arm early-mem ||
    fail mktrace
rm -f kinds
run 3 tool/tracedump -q -e mem killed.ctr
[ ! -e kinds ] || fail "killed: executed again"
# One that was made before the recording had ended
cp killed.ctr.expanded $kept
expands accesses "mem,$all" 0 tool/tracedump -e mem light.ctr
# A part that has the name is in the way
"$TOOLS/mktrace" light $kept arm selection-mem || fail mktrace
cp $kept part.ctr
rm kinds
run 4 tool/tracedump -e mem light.ctr
grep -q "^cannoli-expand: $kept: it is there already, and no expansion" stderr || fail "a part: $(cat stderr)"
same part.ctr $kept "a part of that name was lost"
rm -f $kept

# It cannot be made: the answer is that of the light trace
begin
CANNOLI_QEMU_DIR=/nowhere PATH=/usr/bin:/bin run 4 tool/tracedump -e mem light.ctr
grep -q '^cannoli-expand: there is no qemu-arm ' stderr &&
    grep -q '^tracedump: light.ctr: accesses were not recorded$' stderr || fail "no QEMU: $(cat stderr)"
run 4 tool/tracedump -e mem --expand-limit 1K light.ctr
grep -q '^cannoli-expand: the trace would be larger than 1024 bytes (--expand-limit)$' stderr ||
    fail "--expand-limit: $(cat stderr)"
[ ! -e $kept ] && [ -z "$(find . -name '*.part')" ] || fail "--expand-limit: a trace is left"
"$TOOLS/mktrace" light mem.ctr arm insn || fail mktrace
run 4 tool/tracedump -e mem light.ctr
grep -q 'the second execution differs at ordinal' stderr || fail "a difference: $(cat stderr)"
[ ! -e $kept ] || fail "a difference: a trace is left"
mv tool/cannoli-expand elsewhere
PATH=/usr/bin:/bin run 4 tool/tracedump -e mem light.ctr
grep -q '^tracedump: there is no cannoli-expand, neither beside this program nor in PATH$' stderr ||
    fail "no cannoli-expand: $(cat stderr)"
mv elsewhere tool/cannoli-expand
# Not recorded here, or not by this user
refused() {
    rm -f kinds $kept
    run 4 tool/tracedump -e mem light.ctr
    grep -q '^tracedump: light.ctr was not recorded by you, here: its program is not executed again unless' stderr ||
        fail "$1: $(cat stderr)"
    [ ! -e kinds ] || fail "$1: it was executed"
}
"$TOOLS/mktrace" light mem.ctr arm mem || fail mktrace
if [ "$(id -u)" = 0 ]; then
    chown 12345 light.ctr
    refused "another user's"
fi
cp light.ctr copy.ctr
mv copy.ctr light.ctr
refused "a copy"
mark light.ctr 1700000000000000001 # of the file that was there before
refused "another trace"
run 0 tool/cannoli-expand -e mem light.ctr
run 0 tool/tracedump -e mem light.ctr
silent "a copy, expanded before"
finish
