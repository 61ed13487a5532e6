# SPDX-License-Identifier: MIT
# The command line of tracesym: errors give one line and status 2; --help and the man page
# have the same options; output that cannot be written.
. "$SRC/tests/cli/libtracedump.sh"
sym="$BIN/tracesym"
"$TOOLS/mktrace" sample sample.ctr || exit 1

usage() {
    is_usage tracesym "$@"
}
usage
usage --nonsense sample.ctr
usage sample.ctr sample.ctr
usage --from=x sample.ctr
usage --from=5 --to=4 sample.ctr
usage --to=5 --count=4 sample.ctr
usage --thread=0 sample.ctr
usage --pc=5-5 sample.ctr
usage --events=line sample.ctr
usage --bbv=0 sample.ctr
usage --bbv sample.ctr
usage --bbv=many sample.ctr
usage --bbv=10 --functions sample.ctr
usage --functions --calls sample.ctr
usage --calls --sort=calls sample.ctr
usage --functions --sort=name sample.ctr
usage --bbv=10 --json sample.ctr
usage --bbv-pcs=file sample.ctr
usage --functions --bbv-pcs=file sample.ctr
for format in callgrind chrome; do
    usage --calls --function=main -f $format sample.ctr
    usage --calls --module=app -f $format sample.ctr
    usage --calls --inverted -f $format sample.ctr
    usage --calls --diff=sample.ctr -f $format sample.ctr
done
usage --inverted sample.ctr
usage --functions --inverted sample.ctr
usage --calls --icicle sample.ctr
usage --calls --diff= sample.ctr
usage --calls --diff=- -
usage --functions --diff-pid=4242 sample.ctr
usage --calls --diff-thread=4242 sample.ctr
usage --diff=sample.ctr --diff-thread=4242 sample.ctr
usage --functions --diff=sample.ctr --diff-thread=0 sample.ctr
usage --calls --cost=loads --no-accesses sample.ctr
usage --calls --pc=5 sample.ctr
usage --bbv=10 --module=app sample.ctr
usage --format=svg sample.ctr
usage --functions --format=svg sample.ctr
usage --calls --format=xml sample.ctr
usage --calls --format=folded --json sample.ctr
usage --calls --min-span=5 sample.ctr
usage --calls --min-percent=200 sample.ctr
usage --calls --format=folded --min-percent=2 sample.ctr
usage --calls --json --min-percent=2 sample.ctr
for format in folded callgrind chrome json; do
    usage --calls --depth=2 --format=$format sample.ctr
done
usage --calls --depth=2 --json sample.ctr
usage --functions --depth=2 sample.ctr
for format in callgrind chrome json; do
    usage --calls --cost=loads --format=$format sample.ctr
done
usage --calls --cost=loads --json sample.ctr
run 0 "$sym" --functions --json --cost=loads sample.ctr
run 0 "$sym" --calls --depth=2 --cost=stores -f svg sample.ctr
run 0 "$sym" --calls --cost=loads -f folded sample.ctr
usage --calls --depth=0 sample.ctr
usage --calls --cost=time sample.ctr
usage --only-elf sample.ctr
usage --only-elf --elf=a --sysroot=b sample.ctr
usage --substitute-path=/a sample.ctr
usage --substitute-path==/a sample.ctr
usage --output= sample.ctr
usage --color=blue sample.ctr
usage -j0 sample.ctr

run 0 "$sym" --help
silent --help
grep -q '^Usage: tracesym ' stdout || fail "--help"
run 0 "$sym" --version
grep -Eq '^tracesym \(cannoli\) [0-9.]+$' stdout || fail "--version: $(cat stdout)"
help_and_man tracesym 35

# Unreadable input
echo text >text
: >empty
for how in "" --functions "--calls -f chrome" --bbv=10; do
    run 1 "$sym" $how missing.ctr
    one_line "$how missing.ctr"
    run 1 "$sym" $how text
    one_line "$how text"
    run 1 "$sym" $how sample.ctr --elf text
    [ -z "$how" ] || [ "$how" = --bbv=10 ] || one_line "$how --elf text"
done
run 1 "$sym" --calls --diff=missing.ctr sample.ctr
one_line --diff=missing.ctr
run 1 "$sym" --elf missing sample.ctr
one_line --elf missing
run 1 "$sym" --elf empty sample.ctr
one_line --elf empty

# Output that ends early, or cannot be written
"$TOOLS/mktrace" random 5 60 3000 large.ctr expect.json || exit 1
for how in "" --json --functions --calls "--calls -f folded" "--calls -f chrome"; do
    "$sym" -q $how large.ctr 2>stderr | head -n 1 >stdout
    status=${PIPESTATUS[0]}
    [ "$status" -eq 0 ] || fail "tracesym $how | head ended with $status"
    silent "tracesym $how | head"
    "$sym" -q $how large.ctr >/dev/full 2>stderr && fail "/dev/full: status 0: $how"
    one_line "$how /dev/full"
    "$sym" -q $how large.ctr >&- 2>stderr && fail "closed stdout: status 0: $how"
    one_line "$how closed stdout"
done
"$sym" --bbv=100 -t 100 large.ctr 2>stderr | head -n 1 >stdout
[ "${PIPESTATUS[0]}" -eq 0 ] || fail "tracesym --bbv | head"
silent "tracesym --bbv | head"
"$sym" --bbv=100 -t 100 large.ctr >/dev/full 2>stderr && fail "--bbv /dev/full: status 0"
one_line "--bbv /dev/full"
run 1 "$sym" --bbv=100 large.ctr
one_line "--bbv of several threads"
run 1 "$sym" --bbv=100 -o no/such/folder large.ctr
one_line "--bbv to no folder"
run 1 "$sym" -q --output=no/such/folder large.ctr
one_line "--output in no folder"

# To a file, and to standard output
run 0 "$sym" sample.ctr
mv stdout want
run 0 "$sym" -o out sample.ctr
same want out "--output=out"
[ ! -s stdout ] || fail "--output=out: something on stdout"
run 0 "$sym" -o - sample.ctr
same want stdout "--output=-"

# A trace of a part
"$TOOLS/mktrace" chosen chosen.ctr || exit 1
for how in --functions --calls "--calls -f chrome" --bbv=5; do
    run 0 "$sym" $how chosen.ctr
    [ "$(grep -c 'only a part was recorded (--module libfoo' stderr)" -eq 1 ] || fail "$how: $(cat stderr)"
    run 0 "$sym" -q $how chosen.ctr
    silent "$how of a part"
done
run 0 "$sym" chosen.ctr
grep -q 'only a part' stderr && fail "printing a part: $(cat stderr)"

# A trace that is not whole
size=$(stat -c %s large.ctr)
head -c $((size * 2 / 3)) large.ctr >cut.ctr
for how in "" --functions "--calls -f folded" "--bbv=100 -t 100"; do
    run 3 "$sym" $how cut.ctr
    [ "$(grep -c 'truncated at offset' stderr)" -eq 1 ] || fail "$how cut.ctr: $(cat stderr)"
    [ -s stdout ] || fail "$how cut.ctr: nothing is shown"
    run 3 "$sym" -q $how cut.ctr
    silent "$how cut.ctr"
done
finish
