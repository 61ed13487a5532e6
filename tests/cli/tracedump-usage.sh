# SPDX-License-Identifier: MIT
# The command line: errors give one line and status 2; --help and the man page
# have the same options; output that cannot be written.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"
"$TOOLS/mktrace" sample sample.ctr || exit 1

usage() {
    is_usage tracedump "$@"
}
usage
usage --nonsense sample.ctr
usage --nonsense=3 sample.ctr
usage -x sample.ctr
usage sample.ctr sample.ctr
usage --from sample.ctr
usage sample.ctr --from
usage --from=-1 sample.ctr
usage --from=1q sample.ctr
usage --to= sample.ctr
usage --count=99999999999999999999 sample.ctr
usage --from=5 --to=4 sample.ctr
usage --to=5 --count=4 sample.ctr
usage --pid=0 sample.ctr
usage --thread=1,0x sample.ctr
usage --pc=5-5 sample.ctr
usage --addr=0x10- sample.ctr
usage --addr=0xffffffffffffffff+2 sample.ctr
usage --events=exec,call sample.ctr
usage --events= sample.ctr
usage --events=vals sample.ctr
usage --strings=-1 sample.ctr
usage -s many sample.ctr
usage --state sample.ctr
usage --state=x sample.ctr
usage --state=1/ sample.ctr
usage --state=/1 sample.ctr
usage --state=1/0 sample.ctr
usage --state=1 --info sample.ctr
usage --state=1 --addr=0x1000 sample.ctr
usage --state=1 --pc=0x1000 sample.ctr
usage --histogram sample.ctr
usage --histogram= sample.ctr
usage --histogram=size,shape sample.ctr
usage --histogram=size --summary sample.ctr
usage --histogram=size --top=0 sample.ctr
usage --top=3 sample.ctr
usage --only-elf sample.ctr
usage --color=blue sample.ctr
usage --json=yes sample.ctr
usage -j0 sample.ctr
usage -j many sample.ctr

run 0 "$dump" --help
silent --help
grep -q '^Usage: tracedump ' stdout || fail "--help"
run 0 "$dump" --version
grep -Eq '^tracedump \(cannoli\) [0-9.]+$' stdout || fail "--version: $(cat stdout)"

help_and_man tracedump 18

# Output that ends early, or cannot be written
"$TOOLS/mktrace" random 5 60 3000 large.ctr expect.json || exit 1
"$dump" large.ctr 2>stderr | head -n 3 >stdout
status=${PIPESTATUS[0]}
[ "$status" -eq 0 ] || fail "tracedump | head ended with $status"
[ "$(wc -l <stdout)" -eq 3 ] || fail "tracedump | head"
silent "tracedump | head"
cat large.ctr | "$dump" - 2>stderr | head -n 3 >stdout
silent "tracedump - | head"
"$dump" large.ctr >/dev/full 2>stderr && fail "/dev/full: status 0"
one_line /dev/full
"$dump" --info large.ctr >/dev/full 2>stderr && fail "--info to /dev/full: status 0"
one_line "--info to /dev/full"
"$dump" large.ctr >&- 2>stderr && fail "closed stdout: status 0"
one_line "closed stdout"

# A stream is shown as it arrives: a line for every chunk that is there, while
# the writer still holds the pipe open.
mkfifo pipe
"$dump" --no-disas pipe >live 2>live.err &
pid=$!
exec 7>pipe
size=$(stat -c %s large.ctr)
head -c $((size / 2)) large.ctr >&7
for _ in $(seq 3000); do
    [ "$(wc -l <live)" -gt 1000 ] && break
    sleep 0.1
done
[ "$(wc -l <live)" -gt 1000 ] || fail "a stream is not shown as it arrives"
tail -c +$((size / 2 + 1)) large.ctr >&7
exec 7>&-
wait $pid || fail "live stream: status $?"
"$dump" --no-disas large.ctr >stdout
same live stdout "a stream with a pause in it"
finish
