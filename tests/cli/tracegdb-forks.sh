# SPDX-License-Identifier: MIT
# Several processes in one gdb, by one connection: catch fork, vfork and exec, which of them gdb
# follows, or both; forward and backward, and as QEMU's gdbstub shows it of the live program.
. "$SRC/tests/cli/librecord.sh"
need gdb-multiarch
need_qemu_arm
export CANNOLI_QEMU_DIR=$qemu_dir

cat >app.c <<'END_C'
#include <sys/wait.h>
#include <unistd.h>
volatile int rounds;
int work(int n) { return n + rounds++; }
int child(int n) { return work(n) + 1; }
int leaf(int n) { return n + 3; }
int main(int argc, char **argv)
{
    int status;
    if (argc > 1) {
        return leaf(argc);
    }
    work(1);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(child(40));
    }
    waitpid(pid, &status, 0);
    work(2);
    pid = vfork();
    if (pid == 0) {
        execl(argv[0], argv[0], "x", (char *)0);
        _exit(9);
    }
    waitpid(pid, &status, 0);
    work(3);
    execl(argv[0], argv[0], "x", "y", (char *)0);
    return 7;
}
END_C
"$cc" -g -O0 -static -o app app.c || fail "$cc"
run 6 "$record" -q --follow-exec -e all -o app.ctr -- qemu-arm ./app

# A variable that all processes have is that of the moment's.
"$BIN/tracedump" -q --json --state=0/1 --memory=rounds app.ctr | grep '"kind":"memory"' >memory
[ "$(wc -l <memory)" = 1 ] || fail "--memory=rounds: $(cat memory)"

# session TARGET COMMAND...: what gdb prints, without what is of a process alone
session() {
    {
        printf '%s\n' "set width 0" "set pagination off" "set confirm off" "file app" \
            "target remote $1" "${@:2}" "kill"
    } >commands
    timeout 100 gdb-multiarch -q -nx -batch -x commands 2>&1 </dev/null |
        sed -E -e '/^Reading /d' -e 's/(process|Thread) [0-9.]+/\1/g' -e 's/0x4080[0-9a-f]*/STACK/g' \
            -e 's/^Reached end of recorded history; stopping\./No more reverse-execution history./' \
            -e 's/^\* 1 .*|^ *[0-9]+ +(<null>|process).*/inferior/' -e 's/ "app" hit/ hit/'
}
trace="| $BIN/tracegdb -q app.ctr"

# expect FILE PATTERN...: these lines, in this order
expect() {
    local file=$1 rest pattern
    rest=$(cat "$file")
    for pattern in "${@:2}"; do
        case $rest in
        *"$pattern"*) rest=${rest#*"$pattern"} ;;
        *) fail "$file: no '$pattern' in: $(cat "$file")"; return ;;
        esac
    done
}

# As live, where the parent goes on, and where the child does. QEMU has no vfork-events, and
# shows a vfork as a fork.
live() {
    rm -f socket
    "$qemu_dir/qemu-arm" -g "$PWD/socket" ./app >/dev/null 2>&1 &
    eventually test -S socket
    session "$PWD/socket" "${@:2}" >"$1.live"
    session "$trace" "${@:2}" >"$1.seen"
    wait
    [ "$(grep -c 'app.c:' "$1.live")" -gt 3 ] || fail "$1, live: $(cat "$1.live")"
    diff "$1.live" "$1.seen" >differ || fail "$1: $(cat differ)"
}
live parent 'catch fork' 'break work' continue backtrace continue backtrace continue backtrace
live child 'set follow-fork-mode child' 'break child' continue backtrace 'print rounds' finish \
    'print rounds'

# Forward and backward: each stop, and what follows
session "$trace" 'catch fork' 'catch vfork' 'catch exec' 'break leaf' \
    continue backtrace continue backtrace continue continue backtrace reverse-continue backtrace \
    reverse-continue backtrace reverse-continue backtrace reverse-continue continue >both-ways
expect both-ways 'Catchpoint 1 (forked process)' 'main (argc=1' 'app.c:14' '[Detaching after fork' \
    'Catchpoint 2 (vforked process)' 'main (argc=1' 'app.c:20' '[Detaching after vfork' \
    'is executing new program: ' "Catchpoint 3 (exec'd " 'Breakpoint 4, leaf (n=3)' 'main (argc=3' \
    'is executing new program: ' "Catchpoint 3 (exec'd " 'in execl ()' 'main (argc=1' 'app.c:27' \
    'Catchpoint 2 (vforked process)' 'app.c:20' '[Detaching after vfork' \
    'Catchpoint 1 (forked process)' 'app.c:14' '[Detaching after fork' \
    'No more reverse-execution history' 'Catchpoint 1 (forked process)'

# Without catchpoints breakpoints are met through fork, vfork and execve, and back again.
session "$trace" 'break work' 'break leaf' continue continue continue continue \
    reverse-continue reverse-continue reverse-continue >through
expect through 'work (n=1)' 'work (n=2)' 'work (n=3)' 'executing new program' 'leaf (n=3)' \
    'executing new program' 'work (n=3)' 'work (n=2)' 'work (n=1)'

# By steps of the instructions that make the calls
session "$trace" 'catch fork' 'catch exec' continue reverse-stepi reverse-stepi stepi stepi \
    continue reverse-stepi 'x/i $pc' stepi 'x/i $pc' >steps
expect steps 'Catchpoint 1 (forked process)' 'Catchpoint 1 (forked process)' \
    'executing new program' "Catchpoint 2 (exec'd " 'executing new program' \
    "Catchpoint 2 (exec'd " 'svc' 'executing new program' "Catchpoint 2 (exec'd " '<_start>'

# The child of a vfork and its program; backward to where it was made
session "$trace" 'catch vfork' continue 'set follow-fork-mode child' 'break leaf' continue \
    backtrace reverse-continue backtrace >vfork-child
expect vfork-child 'Catchpoint 1 (vforked process)' 'vfork parent process after child exec' \
    'leaf (n=2)' 'main (argc=2' 'No more reverse-execution history' 'main (argc=1' 'app.c:20'

# Both: each goes on by itself, with memory of its own
session "$trace" 'set detach-on-fork off' 'break work' continue continue 'inferior 2' \
    'print rounds' continue backtrace finish 'print rounds' 'inferior 1' 'print rounds' \
    backtrace reverse-continue continue 'info threads' detach 'inferior 2' \
    'info proc mappings' backtrace reverse-continue >both
expect both 'work (n=1)' '[New inferior 2 (process)]' 'work (n=2)' '$1 = 1' 'work (n=40)' \
    'in child (n=40)' 'Value returned is $2 = 41' '$3 = 2' '$4 = 1' 'work (n=2)' 'work (n=1)' \
    'work (n=2)' '2.1 ' 'in child (n=40)' 'detached]' '[stack]' 'in child (n=40)' 'work (n=40)'

# Without system calls there are no forks, and gdb says so.
run 6 "$record" -q --follow-exec -e exec,mem,val,reg,map,thr -o plain.ctr -- qemu-arm ./app
session "| $BIN/tracegdb -q plain.ctr" 'catch fork' 'catch exec' continue >plain
grep -q 'Error inserting catchpoint 1\|does not support' plain || fail "plain: $(cat plain)"
finish
