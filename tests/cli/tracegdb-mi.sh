# SPDX-License-Identifier: MIT
# gdb's machine interface, which editors use, on a trace, in both directions. And several
# processes in one gdb, each with a tracegdb of its own.
. "$SRC/tests/cli/librecord.sh"
need gdb-multiarch
need_qemu_arm
export CANNOLI_QEMU_DIR=$qemu_dir BIN

cat >app.c <<'END_C'
#include <sys/wait.h>
#include <unistd.h>
volatile int rounds;
int work(int n) { return n + rounds++; }
int child(int n) { return work(n) + 1; }
int main(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(child(40));
    }
    int status;
    waitpid(pid, &status, 0);
    for (int i = 0; i < 3; i++) {
        work(i);
    }
    return WEXITSTATUS(status);
}
END_C
"$cc" -g -O0 -static -o app app.c || fail "$cc"
run 41 "$record" -q -e all -o app.ctr -- qemu-arm ./app
"$dump" --info --json app.ctr >info.json || fail "tracedump --info: $?"

cat >mi.py <<'END_PY'
import os, re, subprocess
gdb = subprocess.Popen(["gdb-multiarch", "-q", "-nx", "-i=mi"], stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE, text=True, bufsize=1)

def until(pattern):
    said = ""
    for line in gdb.stdout:
        said += line
        if re.match(pattern, line):
            return line
    raise SystemExit("gdb ended: " + said)

def request(command):
    gdb.stdin.write(command + "\n")
    line = until(r"\^")
    assert not line.startswith("^error"), (command, line)
    return line

def stop(command, pattern):
    line = request(command) and until(r"\*stopped")
    assert re.search(pattern, line), (command, line)

request("-gdb-set mi-async on")
request("-target-select remote | %s/tracegdb -q app.ctr" % os.environ["BIN"])
assert '"reverse"' in request("-list-target-features")
request("-break-insert work")
stop("-exec-continue", r'breakpoint-hit.*func="work",args=\[{name="n",value="0"}')
stop("-exec-continue", r'breakpoint-hit.*func="work",args=\[{name="n",value="1"}')
stop("-exec-finish", r'function-finished.*func="main"')
stop("-exec-continue --reverse", r'breakpoint-hit.*func="work",args=\[{name="n",value="1"}')
stop("-exec-step-instruction --reverse", r'end-stepping-range.*func="(work|main)"')
stop("-exec-continue --reverse", r'func="work",args=\[{name="n",value="0"}')
stop("-exec-finish --reverse", r'func="main"')
stop("-exec-next", r'end-stepping-range.*func="main"|breakpoint-hit.*func="work"')
request("-break-delete 1")
request("-break-watch rounds")
stop("-exec-continue", r'watchpoint-trigger.*old="[01]",new="[12]"')
stop("-exec-continue --reverse", r'watchpoint-trigger.*old="[12]",new="[01]"')
request("-break-delete 2")
stop("-exec-continue", "stopped")  # at the end
request("-gdb-exit")
gdb.wait()
END_PY
timeout 100 python3 mi.py || fail "mi"

child=$(python3 -c 'import json; print(json.load(open("info.json"))["processes"][1]["pid"])')
cat >two <<END_GDB
set width 0
target remote | $BIN/tracegdb -q app.ctr
add-inferior -no-connection
inferior 2
target remote | $BIN/tracegdb -q --pid=$child app.ctr
break work
continue
backtrace
inferior 1
continue
backtrace
reverse-continue
inferior 2
info inferiors
backtrace
END_GDB
gdb-multiarch -q -nx -batch -x two >all 2>err || fail "gdb: $(cat err)"
[ "$(grep -c '^#1 .* in child (n=40)' all)" = 2 ] || fail "the child: $(cat all)"
grep -q '^#0  work (n=0)' all || fail "the parent: $(cat all)"
grep -q "^\* 2 *process $child " all || fail "two processes: $(cat all)"
finish
