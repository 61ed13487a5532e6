# SPDX-License-Identifier: MIT
# A recording that is changed while it runs: cannoli-ctl and signals.
. "$SRC/tests/cli/librecord.sh"
ctl=$BIN/cannoli-ctl

# control STATUS COMMAND...
control() {
    local want=$1
    shift
    run "$want" "$ctl" "$@"
}

# begin SCRIPT [OPTION...]: as `start', but the guest's output goes to a file, too
begin() {
    local script=$1
    shift
    rm -f ready
    env --default-signal=INT "$record" --qemu-dir "$fake" -qo a.ctr "$@" -- \
        qemu-arm "$script" >guest.out 2>stderr.record &
    pid=$!
    eventually test -e ready
}

# over STATUS: the recorder ends with it, and only the trace remains
over() {
    wait "$pid"
    local got=$?
    [ "$got" -eq "$1" ] || fail "status $got, not $1: $(cat stderr.record)"
    [ ! -e a.ctr.ctl ] || fail "the socket remains"
}

# Pause, marks and resume reach a guest that waits for them.
guest waits 'blocks 15' 'ready ready' 'await paused 1' 'print paused' 'await marks 2' \
    'marks' 'await paused 0' 'print resumed' 'blocks 15'
begin waits --control
[ -S a.ctr.ctl ] && [ "$(stat -c %a a.ctr.ctl)" = 600 ] || fail "the socket: $(ls -l)"
control 0 pause
silent pause
eventually grep -q paused guest.out
control 0 status
grep -q '^paused: *yes$' stdout || fail "status: $(cat stdout)"
! grep ' $' stdout || fail "blanks at the end of a line"
grep -q '^command: *qemu-arm waits$' stdout || fail "status: $(cat stdout)"
control 0 mark 'first'
[ "$(cat stdout)" = 'mark 1' ] || fail "mark: $(cat stdout)"
control 0 -s a.ctr.ctl mark $'second,\nin two lines'
eventually grep -q 'two lines' guest.out
control 0 status --json
python3 - stdout <<'END' || fail "status --json: $(cat stdout)"
import json, sys
s = json.load(open(sys.argv[1]))
assert s["paused"] is True and s["marks"] == 2 and s["libraries"] == [], s
assert s["output"] == "a.ctr" and s["command"] == ["qemu-arm", "waits"], s
assert s["threads"] == 1 and s["instructions"] >= 0 and s["seconds"] > 0, s
END
control 0 resume
over 0
printf 'paused\nmark 1 first\nmark 2 second,\nin two lines\nresumed\n' >want
same want guest.out 'what the guest received'
counts a.ctr 80 30 10 1 1 0

# SIGUSR1 does the same; the guest's own SIGUSR1 to its group does not.
guest signals 'handle 10' 'ready ready' 'await paused 1' 'print paused' 'await paused 0' 'print resumed'
begin signals --control=other.ctl
kill -USR1 "$pid"
eventually grep -q paused guest.out
kill -USR1 "$pid"
over 0
[ ! -e other.ctl ] || fail "another socket is left"
begin signals --paused
eventually grep -q paused guest.out
control 0 resume
over 0
# Without --control, SIGUSR1 acts as any other signal.
guest sleeps 'ready ready' 'sleep 600000'
begin sleeps
kill -USR1 "$pid"
over 138

# Errors: one line, and no effect on the recording.
refused() { # TEXT ARGUMENT...
    local text=$1
    shift
    control 1 "$@"
    one_line "$@"
    grep -q "^cannoli-ctl: .*$text" stderr || fail "$*: $(cat stderr)"
}
begin sleeps --control
refused 'needs a text' mark ''
refused 'too long: 241 bytes, the limit is 240' mark "$(printf %0241d 1)"
refused 'started without --ring' dump
refused 'No such file' load missing.so
refused 'no shared library' load sleeps
refused 'no library .nothing.so. is loaded' unload nothing.so
refused 'No such file' -s nowhere pause
refused "'sleeps' is not a socket$" -s sleeps pause
refused "did you mean '.*a.ctr.ctl'" -s a.ctr pause
python3 - a.ctr.ctl <<'END' || fail "invalid requests"
import socket, sys
def request(data):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    got = b""
    while part := s.recv(4096):
        got += part
    return got
assert request(b"") == b"" and request(b"pause") == b"", "not ended"
assert request(b"\n") == b"error\0no such command\0"
assert request(b"nonsense\n").startswith(b"error\0")
assert request(b"pauses\0").startswith(b"error\0")
assert request(b"mark " + b"x" * 90000 + b"\0").startswith(b"error\0")
assert request(b"pause\0") == b"ok\0"
assert request(b"resume\n") == b"ok\0"
try:
    assert request(b"x" * 300000) == b""
except OSError:
    pass
# Silent connections do not block other requests.
silent = [socket.socket(socket.AF_UNIX) for i in range(40)]
for s in silent:
    s.connect(sys.argv[1])
    s.send(b"mark half a requ")
assert request(b"status\n").startswith(b"ok\0")
END
control 0 status
grep -q '^marks: *0$' stdout || fail "status: $(cat stdout)"
# A second recording does not use an active socket, but replaces a stale one.
rec 125 -o b.ctr --control=a.ctr.ctl -- qemu-arm sleeps
one_line
[ ! -e b.ctr ] || fail "a trace of a recording that did not run"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
[ -S a.ctr.ctl ] || fail "a killed recorder removed its socket"
refused 'has ended' -s a.ctr.ctl pause
refused 'no recording with --control' status
begin sleeps --control
begin_pid=$pid
control 0 status
mkdir sub
rm -f ready
"$record" --qemu-dir "$fake" -qo b.ctr --control -- qemu-arm sleeps 2>stderr.other &
other=$!
eventually test -e ready
refused 'several recordings here' status
kill -TERM "$begin_pid" "$other"
over 143
wait "$other"
printf 'no socket' >a.ctr.ctl
rec 125 -o a.ctr --control -- qemu-arm sleeps
[ "$(cat a.ctr.ctl)" = 'no socket' ] || fail "a file was mistaken for a socket"
rm -f a.ctr.ctl

# A long path to the socket
long=$(printf 'd%0100d' 1)/$(printf 'e%0100d' 1)
mkdir -p "$long"
begin sleeps --control="$long/x.ctl"
control 0 -s "$long/x.ctl" status
(cd "$long" && "$ctl" status >/dev/null) || fail "status in its folder"
kill -TERM "$pid"
over 143
[ ! -e "$long/x.ctl" ] || fail "the socket remains"

# Libraries are loaded and unloaded.
cat >lib.c <<'END'
#include "cannoli/jitter.h"
const struct cannoli_jitter cannoli_jitter = {CANNOLI_JITTER_HEADER, "all"};
END
${CC:-cc} -shared -fPIC -I "$SRC/include" lib.c -o sub/lib.so || fail "cannot build"
cp sub/lib.so 'sub/a,b.so'
guest loads 'ready ready' 'await seq 2' 'control' 'await seq 4' 'control' \
    'await seq 6' 'control' 'await seq 8' 'control' 'await seq 10' 'control'
begin loads --control --jitter sub/lib.so
control 0 load sub/lib.so,k=v
(cd sub && "$ctl" -s ../a.ctr.ctl load a,,b.so,k=1,,2) || fail "load elsewhere"
refused 'loaded already' load sub/lib.so
refused 'loaded already' load sub/lib.so,k=v
control 0 unload sub/lib.so
control 0 unload 'a,,b.so'
refused 'no library' unload sub/lib.so
control 0 load sub/lib.so
over 0
python3 - guest.out "$(pwd -P)" <<'END' || fail "libraries: $(cat guest.out)"
import sys
text, here = open(sys.argv[1]).read(), sys.argv[2] + "/sub/"
states = [[l[8:].replace(here, "") for l in s.splitlines()[1:]] for s in text.split("paused")[1:]]
steps = [["lib.so", "lib.so,k=v"], ["lib.so", "lib.so,k=v", "a,,b.so,k=1,,2"],
         ["a,,b.so,k=1,,2"], [], ["lib.so"]]
assert len(states) == 5, states
# the guest may see a later state than the one it waited for
for s in states:
    while steps and steps[0] != s:
        steps.pop(0)
    assert steps, states
END

# QEMU's error message about a library ends the recording.
guest fails 'blocks 15' 'ready ready' 'failed cannot load this one' 'sleep 600000'
rec 125 -o a.ctr --jitter sub/lib.so -- qemu-arm fails
one_line
grep -q '^cannoli-record: cannot load this one$' stderr || fail "failed: $(cat stderr)"
guest crashes 'blocks 15' 'loading 2' 'signal 11'
rec 125 -o a.ctr --jitter sub/lib.so --jitter sub/a,,b.so -- qemu-arm crashes
one_line
grep -q "ended while it loaded '.*/sub/a,b.so'$" stderr || fail "loading: $(cat stderr)"

# The command line of cannoli-ctl
for words in '' 'pauze' 'pause now' 'mark' 'load' 'unload' 'dump a b' '--json pause' \
    '--nonsense pause' '-s'; do
    # shellcheck disable=SC2086
    run 2 "$ctl" $words
    one_line "$words"
    grep -q "^cannoli-ctl: .*Try 'cannoli-ctl --help'\.$" stderr || fail "$words: $(cat stderr)"
done
run 0 "$ctl" --help
grep -o -- '--[a-z-]*' stdout | sort -u >options
for word in $(sed 's/^--//' options) pause resume mark status load unload dump; do
    grep -qF -- "$word" "$SRC/man/cannoli-ctl.1" || fail "$word is not in the man page"
done
run 0 "$ctl" --version
finish
