# SPDX-License-Identifier: MIT
# tracegdb by gdb's protocol: positions, breakpoints, watchpoints, registers and memory of
# random traces; its sockets; what it refuses.
. "$SRC/tests/cli/libtracedump.sh"
need python3
export BIN

for seed in 1 2 3; do
    "$TOOLS/mktrace" random-all $seed 9 60 t.ctr expect.json || exit 1
    python3 "$SRC/tests/cli/tracegdb_check.py" t.ctr expect.json $seed || fail "seed $seed"
done

# --help and the manual page, wrong use
run 0 "$BIN/tracegdb" --help
grep -oE -- '--[a-z-]+' stdout | sort -u >help
tr -d '\\' <"$SRC/man/tracegdb.1" | grep -oE -- '--[a-z-]+' | sort -u >page
comm -23 help page | grep . && fail "options that the manual page lacks"
is_usage tracegdb
is_usage tracegdb --at=x t.ctr
is_usage tracegdb --multi t.ctr
is_usage tracegdb --gdb --listen=0 t.ctr
is_usage tracegdb --listen= t.ctr
is_usage tracegdb --listen=70000 t.ctr
is_usage tracegdb --listen=localhost:gdb t.ctr
is_usage tracegdb -

# complains STATUS TEXT ARGUMENT...: one line on stderr
complains() {
    run "$1" "$BIN/tracegdb" "${@:3}" </dev/null
    [ "$(wc -l <stderr)" = 1 ] && grep -q "$2" stderr || fail "${*:3}: $(cat stderr)"
}
"$TOOLS/mktrace" sample sample.ctr || exit 1
complains 1 'nothing.ctr: No such file' nothing.ctr
run 1 "$BIN/tracegdb" -q --listen="$PWD/socket" - < <(cat t.ctr)
grep -q 'a stream cannot be debugged' stderr || fail "a stream: $(cat stderr)"
complains 4 "no process '77777'" -q --pid=77777 t.ctr
complains 1 'listen=/none/here: No such file' -q --listen=/none/here t.ctr
complains 1 "listen=no.such.host.invalid:1" -q --listen=no.such.host.invalid:1 t.ctr
complains 1 'no-such-gdb: No such file' --gdb=no-such-gdb t.ctr
head -c 20 t.ctr >part.ctr
complains 1 'part.ctr' part.ctr

# Sockets: on the loopback interface, one connection, or one after the other
cat >connect.py <<'END'
import os, socket, subprocess, sys, time
tracegdb = [os.environ["BIN"] + "/tracegdb", "-q", *sys.argv[2:], "t.ctr"]
process = subprocess.Popen(tracegdb, stderr=subprocess.PIPE, text=True)
where = process.stderr.readline().split()[-1]
for _ in range(int(sys.argv[1])):
    if "/" in where:
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
    else:
        host, port = where.rsplit(":", 1)
        assert host in ("127.0.0.1", "[::1]"), host
        s = socket.create_connection((host.strip("[]"), int(port)))
    s.sendall(b"$?#3f")
    answer = b""
    while b"#" not in answer:
        answer += s.recv(100)
    assert answer.startswith(b"+$T05"), answer
    s.close()
if "--multi" in sys.argv:
    process.terminate()
status = process.wait()
assert status == (-15 if "--multi" in sys.argv else 0), status
END
python3 connect.py 1 --listen=0 || fail "a port"
python3 connect.py 1 -l 0 || fail "a port as another word"
python3 connect.py 1 --listen=127.0.0.1:0 || fail "a host and a port"
python3 connect.py 3 --listen=:0 --multi || fail "several connections"
python3 connect.py 1 "--listen=$PWD/socket" || fail "a UNIX socket"
[ ! -e socket ] || fail "the socket is left"
python3 connect.py 2 "--listen=$PWD/socket" --multi || fail "a UNIX socket and a signal"
[ ! -e socket ] || fail "the socket is left after a signal"

# What cannot be known is said.
"$TOOLS/mktrace" random 5 9 60 plain.ctr expect.json || exit 1
run 0 "$BIN/tracegdb" plain.ctr </dev/null
grep -q 'registers were not recorded (-e reg)' stderr || fail "no registers: $(cat stderr)"
grep -q 'values were not recorded (-e val)' stderr || fail "no values: $(cat stderr)"
finish
