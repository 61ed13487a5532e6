# SPDX-License-Identifier: MIT
# Process identities come from the system: programs in PID namespaces of their own, whose
# pids differ from those that the recorder sees, processes that cannot be inspected,
# senders of signals; and recorders that die together with their watchdogs.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm

cat >guest.c <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void ready(const char *name)
{
    fclose(fopen(name, "w"));
}

/* A namespace with an init and a child of it. */
static int space(int linger, const char *name)
{
    int status;
    pid_t pid;

    if (unshare(CLONE_NEWPID)) {
        return 77;
    }
    pid = fork();
    if (pid == 0) {
        pid = fork();
        if (pid == 0) {
            if (linger) {
                ready(name);
                pause();
            }
            _exit(getpid() < 10 && getppid() == 1 ? 20 : 1);
        }
        waitpid(pid, &status, 0);
        _exit(getpid() == 1 && getppid() == 0 ? WEXITSTATUS(status) + 1 : 1);
    }
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

/* Two of them side by side: the same numbers in both. */
static int spaces(int linger)
{
    int status, sum = 0;

    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            _exit(space(linger, i ? "ready" : "ready0"));
        }
    }
    for (int i = 0; i < 2; i++) {
        wait(&status);
        sum += WEXITSTATUS(status);
    }
    return sum;
}

/* What a program sees of the signal that the recorder has the kernel keep for it. */
static int deathsig(void)
{
    int first = -1, second = -1, third = -1;

    prctl(PR_GET_PDEATHSIG, &first);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    prctl(PR_GET_PDEATHSIG, &second);
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_GET_PDEATHSIG, &third);
    printf("%d %d %d %d\n", first, second, third, prctl(PR_SET_PDEATHSIG, 1000));
    return 0;
}

/* Each child sends a signal to all of its group, and is gone. */
static int signals(void)
{
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 100; i++) {
        if (fork() == 0) {
            kill(0, SIGTERM);
            _exit(0);
        }
        wait(NULL);
    }
    return 9;
}

/* Who is not root cannot see what these map; their parents are gone. */
static int hidden(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            if (fork() == 0) {
                pause();
            }
            _exit(0);
        }
        wait(NULL);
    }
    ready("ready");
    pause();
    return 0;
}

static void spin(void)
{
    volatile int x = 0;

    for (;;) {
        x++;
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "spaces")) {
        return spaces(0);
    } else if (!strcmp(what, "linger")) {
        return spaces(1);
    } else if (!strcmp(what, "deathsig")) {
        return deathsig();
    } else if (!strcmp(what, "signals")) {
        return signals();
    } else if (!strcmp(what, "hidden")) {
        return hidden();
    } else if (!strcmp(what, "sleep")) {
        /* a child asleep, and an orphan */
        if (fork() == 0) {
            if (fork() == 0) {
                pause();
            }
            _exit(0);
        }
        wait(NULL);
        if (fork() == 0) {
            ready("ready");
            pause();
        }
        pause();
    } else if (!strcmp(what, "spin")) {
        if (fork() == 0) {
            ready("ready");
            spin();
        }
        spin();
    }
    return 1;
}
END
$cc -static -O1 -o guest guest.c || exit 1
real=("$record" --qemu-dir "$qemu_dir" -q -o a.ctr -- qemu-arm ./guest)

"$qemu_dir/qemu-arm" ./guest deathsig >want || fail "deathsig: unrecorded: $?"
"${real[@]}" deathsig >got || fail "deathsig: $?"
same want got "deathsig: what the program sees"

# A signal from a short-lived process belongs to the program, too.
setsid -w "${real[@]}" signals
got=$?
[ $got -eq 9 ] || fail "signals: status $got"

# knows N: whether the recorder watches N processes.  It opens those that it examines for a
# moment, too, so one look is not enough.
knows() {
    for _ in 1 2; do
        [ "$(find "/proc/$pid/fd" -lname 'anon_inode:\[pidfd\]' | wc -l)" -eq "$1" ] || return
        sleep 0.1
    done
}

# Recorder and watchdog are killed at once, so that neither can act.
for what in sleep spin; do
    rm -f ready
    setsid "${real[@]}" $what 2>stderr &
    pid=$!
    eventually test -e ready
    family=$(pgrep -x qemu-arm -g "$pid" -r R,S)
    eventually knows "$(echo "$family" | wc -l)"
    watchdog=$(pgrep -P "$pid" -x ctr-watchdog)
    kill -STOP "$watchdog" # it is killed slightly later than the recorder
    kill -KILL "$pid" "$watchdog"
    wait "$pid" 2>/dev/null
    for process in $family; do
        eventually gone "$process"
    done
done

# Processes that their own user cannot inspect are ended with the others.
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups test -x "$record" -a -x guest &&
    chmod 777 .; then
    for sig in TERM KILL; do
        rm -f ready a.ctr
        setsid setpriv --reuid=65534 --clear-groups "${real[@]}" hidden 2>stderr &
        pid=$!
        eventually test -e ready
        all=$(pgrep -x qemu-arm -u 65534 -g "$pid")
        [ "$(echo "$all" | wc -l)" -ge 4 ] || fail "hidden: $all"
        kill -$sig "$pid"
        wait "$pid" 2>/dev/null
        for process in $all; do
            eventually gone "$process"
        done
    done
fi

"$qemu_dir/qemu-arm" ./guest spaces
plain=$?
if [ $plain -ne 42 ]; then
    echo "PID namespaces cannot be made here" # the rest needs them
    finish
fi

timeout 600 "${real[@]}" spaces
got=$?
[ $got -eq $plain ] || fail "spaces: status $got, unrecorded $plain"
"$dump" --info --json a.ctr >info.json || fail "spaces: tracedump: $?"
python3 - info.json <<'END' || fail "spaces: the processes"
import json, sys
ps = json.load(open(sys.argv[1]))["processes"]
inner = [p for p in ps[1:] if 1 in (p["pid"], p["ppid"])]
outer = [p for p in ps if p not in inner]
assert len(inner) == 4 and len({p["pid"] for p in inner}) == 2, ps
assert len(outer) == 3 and not any("host_pid" in p for p in outer), ps
# One that ended before the recorder looked at it has no number; no two have the same.
hosts = [p["host_pid"] for p in inner if "host_pid" in p] + [p["pid"] for p in outer]
assert len(set(hosts)) == len(hosts) and all(p["end_reason"] == "exit_group" for p in ps), ps
END

# They are ended with the others, and no other process is.
sleep 600 &
bystander=$!
for sig in TERM KILL; do
    rm -f ready ready0
    setsid "${real[@]}" linger 2>stderr &
    pid=$!
    eventually test -e ready
    eventually test -e ready0
    all=$(pgrep -x qemu-arm -g "$pid")
    eventually knows "$(echo "$all" | wc -l)"
    kill -$sig "$pid"
    wait "$pid" 2>/dev/null
    for process in $all; do
        eventually gone "$process"
    done
    kill -0 $bystander || fail "linger, SIG$sig: an unrelated process was killed"
    [ $sig = TERM ] || continue
    "$dump" --info --json a.ctr >info.json
    python3 - info.json <<'END' || fail "linger: the processes"
import json, sys
ps = json.load(open(sys.argv[1]))["processes"]
inner = [p for p in ps[1:] if 1 in (p["pid"], p["ppid"])]
hosts = [p["host_pid"] for p in inner]
assert len(inner) == 4 and len(set(hosts)) == 4, ps
END
done
kill $bystander
finish
