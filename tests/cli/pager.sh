# SPDX-License-Identifier: MIT
# Output on a terminal goes through the pager, with the tool's own status; without a terminal
# there is none.  The pagers are scripts that write down what they get.
. "$SRC/tests/cli/libtracedump.sh"
export TERM=xterm PAGER=./pager
unset CANNOLI_PAGER LESS NO_COLOR
"$TOOLS/mktrace" sample sample.ctr || exit 1
"$TOOLS/mktrace" random-all 2 12 40 big.ctr expect.json || exit 1
dump=$BIN/tracedump
python=$(python3 -c 'import sys; print(sys.executable)')

# pager LINE...: makes the pager
pager() {
    printf '%s\n' '#!/bin/sh' ': >started' "$@" >pager
    chmod +x pager
}

# on STATUS COMMAND...: runs it on a terminal; what that shows goes to `stdout'
on() {
    rm -f started got less go
    run "$1" "$python" "$SRC/tests/cli/terminal.py" "${@:2}"
}

# await FILE: waits until it is there, a minute at most
await() {
    local i
    for i in $(seq 3000); do
        [ ! -e "$1" ] || return 0
        sleep 0.02
    done
}

# paged STATUS COMMAND...: the pager gets what a file would, with colors, the terminal nothing
paged() {
    on "$@"
    "${@:2}" --color=always >want 2>/dev/null
    same want got "the pager's input of ${*:2}"
    [ ! -s stdout ] || fail "${*:2}: the terminal shows $(head -3 stdout)"
}

# unpaged STATUS COMMAND...: the terminal gets it
unpaged() {
    on "$@"
    [ ! -e started ] || fail "a pager for ${*:2}"
    [ -s stdout ] || fail "${*:2}: nothing on the terminal"
}

pager 'printf %s "$LESS" >less' 'cat >got'
paged 0 "$dump" sample.ctr
grep -q $'\033' got || fail "no colors for the pager"
[ "$(cat less)" = FRX ] || fail "LESS is '$(cat less)'"
paged 0 "$dump" --info sample.ctr
paged 0 "$dump" big.ctr
paged 0 "$BIN/tracesym" -q sample.ctr
paged 0 "$BIN/tracesym" -q --functions sample.ctr
on 4 "$BIN/tracecov" -q -f json sample.ctr
"$BIN/tracecov" -q -f json sample.ctr >want 2>/dev/null
same want got "the pager's input of tracecov"
LESS=-S on 0 "$dump" sample.ctr
[ "$(cat less)" = -S ] || fail "LESS was not kept: '$(cat less)'"
PAGER='sed -n 1,2p | cat >got; true' on 0 "$dump" big.ctr
[ "$(wc -l <got)" -eq 2 ] || fail "a pager for the shell"

# Which pager, if any
CANNOLI_PAGER='./pager # first' PAGER=false paged 0 "$dump" sample.ctr
CANNOLI_PAGER='' unpaged 0 "$dump" sample.ctr
for none in '' cat ./nosuchpager 'nosuchpager -x'; do
    PAGER=$none unpaged 0 "$dump" sample.ctr
done
PAGER="'./nosuchpager' -x" on 1 "$dump" sample.ctr
grep -q "^tracedump: cannot run the pager ''./nosuchpager' -x'" stdout ||
    fail "a pager that the shell does not find: $(cat stdout)"
TERM=dumb unpaged 0 "$dump" sample.ctr
TERM='' unpaged 0 "$dump" sample.ctr
unpaged 0 "$dump" --no-pager sample.ctr
unpaged 0 "$BIN/tracesym" -q --no-pager sample.ctr
unpaged 4 "$BIN/tracecov" -q -f json --no-pager sample.ctr
unpaged 0 "$BIN/tracesym" -q --bbv=100 -t 4242 sample.ctr
unpaged 0 "$dump" --help
unpaged 2 "$dump" --nonsense sample.ctr
unpaged 1 "$dump" missing.ctr
unpaged 0 sh -c "exec '$dump' - <sample.ctr"
on 0 "$BIN/tracesym" -q -o file sample.ctr
[ ! -e started ] || fail "a pager for a file"
run 0 "$dump" sample.ctr
[ ! -e started ] || fail "a pager without a terminal"
# Without any output the pager does not start
rm -f started
"$python" "$SRC/tests/cli/terminal.py" "$dump" --count=0 -e exec sample.ctr >stdout
[ ! -e started ] || fail "a pager for nothing"

# The status is the tool's, and what it says comes after the pager
head -c $(($(stat -c %s big.ctr) / 2)) big.ctr >cut.ctr
pager 'cat >got' 'sleep 0.1' 'echo end of pager >/dev/tty'
on 3 "$dump" cut.ctr
[ "$(head -n 1 stdout)" = 'end of pager' ] || fail "before the pager ended: $(head -1 stdout)"
grep -q '^tracedump: cut.ctr: .*; showing the part before$' stdout || fail "no remark: $(cat stdout)"
[ "$(wc -l <stdout)" -eq 2 ] || fail "the terminal shows $(head -5 stdout)"
on 3 sh -c "exec '$dump' cut.ctr 2>messages"
grep -q 'showing the part before$' messages || fail "a file for messages: $(cat messages)"

# The user quits the pager early, also when the tool waits for more to show
pager 'head -n 1 >got'
on 0 "$dump" big.ctr
[ ! -s stdout ] || fail "after an early end: $(head -3 stdout)"
on 0 "$BIN/tracesym" -q big.ctr
[ ! -s stdout ] || fail "tracesym after an early end: $(head -3 stdout)"
mkfifo pipe
{ cat big.ctr; exec sleep 100; } >pipe 2>/dev/null &
feeder=$!
on 0 "$dump" pipe
kill "$feeder"
[ ! -s stdout ] || fail "after an early end of a stream: $(head -3 stdout)"

# Ctrl-C is the pager's while it runs
printf '%s\n' '#!/bin/sh' "trap '' INT" ': >started' 'while [ ! -e go ]; do sleep 0.02; done' \
    'cat >got' >pager
"$dump" --color=always big.ctr >want
rm -f started
{ await started; sleep 0.3; : >go; } &
on 0 --send '\x03' started -- "$dump" big.ctr
wait $!
same want got "after Ctrl-C in the pager"
# SIGTERM ends both, the pager first
printf '%s\n' '#!/bin/sh' "trap ': >terminated; exit' TERM" ': >started' \
    'while :; do sleep 0.02; done' >pager
rm -f started
{ await started; kill "$(cat pid)"; } &
# shellcheck disable=SC2016
on 143 sh -c 'echo $$ >pid; exec "$0" big.ctr' "$dump"
wait $!
[ -e terminated ] || fail "SIGTERM did not end the pager"
# ... and Ctrl-C is the tool's before the first output, here of a stream that does not end
{ head -c 90000 big.ctr; : >fed; exec sleep 100; } >pipe 2>/dev/null &
feeder=$!
on 130 --send '\x03' fed -- "$dump" --pc=1 pipe
kill "$feeder"
[ ! -e started ] || fail "a pager after Ctrl-C"

# less itself: what fits the screen is shown, and that is all
if command -v less >/dev/null; then
    run 0 "$dump" --count=2 -e exec sample.ctr
    mv stdout want
    PAGER=less on 0 "$dump" --count=2 --color=never -e exec sample.ctr
    sed 's/\x1b[=>]//g; s/\x1b\[?1[hl]//g; s/\x1b\[[Km]//g; s/\r//g' stdout | grep . >shown
    same want shown "what less shows"
fi
finish
