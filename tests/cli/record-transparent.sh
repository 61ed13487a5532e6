# SPDX-License-Identifier: MIT
# The guest notices nothing: descriptors, environment, signals, folder, output
# and status are those of a run without recorder.
. "$SRC/tests/cli/librecord.sh"

guest look 'environ' 'fds' 'dispositions' 'print done'

# alike COMMAND...: `recorded' and `plain' run the same command; the outputs agree
alike() {
    local name=$1
    shift
    "$@" "$fake/qemu-arm" look >plain.out 2>plain.err
    "$@" "$record" -q --qemu-dir "$fake" -o a.ctr -- "$fake/qemu-arm" look >rec.out 2>rec.err
    # $_, which the shell sets, may differ.
    sed -i '/^_=/d' plain.out rec.out
    same plain.out rec.out "$name: the guest sees a difference"
    same plain.err rec.err "$name: stderr differs"
    grep -q '^done$' rec.out || fail "$name: no output: $(cat rec.err)"
}
alike simple env
alike 'empty environment' env -i
alike 'with variables' env A=1 QEMU_LD_PREFIX=/x
alike 'open descriptors' bash -c 'exec 5</dev/null 7</dev/null "$@"' bash
alike 'no standard input' bash -c 'exec <&- "$@"' bash
alike 'no standard error' bash -c 'exec 2>&- "$@"' bash
alike 'nothing open' bash -c 'exec 3>&1 <&- 2>&- "$@"' bash
alike 'few descriptors' bash -c 'ulimit -n 20; exec "$@"' bash
alike 'ignored signals' bash -c 'trap "" INT QUIT TERM HUP PIPE CHLD TSTP XFSZ; exec "$@"' bash
# (an address sanitizer needs more than that for itself)
(ulimit -v 4000000 && "$record" --version) >/dev/null 2>&1 &&
    alike 'a limit on memory' bash -c 'ulimit -v 4000000; exec "$@"' bash
python3 - >block.py <<'END'
print("import os, signal, sys")
print("signal.pthread_sigmask(signal.SIG_BLOCK, {2, 10, 15, 17})")
print("os.execv(sys.argv[1], sys.argv[1:])")
END
alike 'blocked signals' python3 block.py

alike 'on a terminal' python3 "$SRC/tests/cli/terminal.py" --

# Ctrl-Z: the recorder's parent sees it stop, and run again when continued.
guest sleeps 'blocks 15' 'ready ready' 'sleep 5000' 'blocks 15' 'exit 9'
python3 - "$record" "$fake" <<'END' || fail "Ctrl-Z at a terminal"
import os, pty, signal, sys, time
record, fake = sys.argv[1:]
if os.path.exists("ready"):
    os.unlink("ready")
pid, fd = pty.fork()
if pid == 0:  # a shell with job control, more or less
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(record, [record, "--qemu-dir", fake, "-q", "-o", "z.ctr", "--",
                          "qemu-arm", "sleeps"])
    status = os.waitpid(job, os.WUNTRACED)[1]
    stopped = os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTSTP
    time.sleep(0.3)
    still = os.waitpid(job, os.WUNTRACED | os.WNOHANG)[0] == 0
    os.killpg(job, signal.SIGCONT)
    status = os.waitpid(job, 0)[1]
    os._exit(0 if stopped and still and os.waitstatus_to_exitcode(status) == 9 else 1)
while not os.path.exists("ready"):
    time.sleep(0.05)
time.sleep(0.1)
os.write(fd, b"\x1a")
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
counts z.ctr 80 30 10 1 1 0

# Ctrl-C at a terminal: a guest that handles it runs on, the other ends.
guest handles 'handle 2' 'blocks 15' 'ready ready' 'sleep 5000' 'blocks 15' 'exit 9'
guest dies 'blocks 15' 'ready ready' 'sleep 600000'
python3 - "$record" "$fake" <<'END' || fail "Ctrl-C at a terminal"
import os, pty, sys, time
record, fake = sys.argv[1:]
def through(name):
    if os.path.exists("ready"):
        os.unlink("ready")
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(record, [record, "--qemu-dir", fake, "-q", "-o", name + ".ctr", "--",
                          "qemu-arm", name])
    while not os.path.exists("ready"):
        time.sleep(0.05)
    time.sleep(0.1)
    os.write(fd, b"\x03")
    try:
        while os.read(fd, 4096):
            pass
    except OSError:
        pass
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
got = through("handles"), through("dies")
if got != (9, 130):
    print(got, file=sys.stderr)
sys.exit(got != (9, 130))
END
counts handles.ctr 80 30 10 1 1 0
counts dies.ctr 40 15 5 1 1 1
finish
