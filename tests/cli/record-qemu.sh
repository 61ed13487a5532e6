# SPDX-License-Identifier: MIT
# The recorder with a real QEMU: what the fake QEMU cannot show.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm
fake=$qemu_dir

cat >guest.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int counter;
static void *count(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
    }
    return arg;
}
static void handler(int sig)
{
    (void)sig;
}
static void ready(void)
{
    close(open("ready", O_CREAT | O_WRONLY, 0666));
}
int main(int argc, char **argv, char **envp)
{
    const char *what = argc > 1 ? argv[1] : "look";
    int n = argc > 2 ? atoi(argv[2]) : 0;

    if (!strcmp(what, "look")) {
        struct rlimit r;
        int local, child;
        for (char **e = envp; *e; e++) {
            puts(*e);
        }
        for (int fd = 0; fd < 300; fd++) {
            if (fcntl(fd, F_GETFD) >= 0) {
                printf("fd %d\n", fd);
            }
        }
        printf("next fd %d\n", dup(1));
        getrlimit(RLIMIT_NOFILE, &r);
        printf("limit %lu %lu\n", (unsigned long)r.rlim_cur, (unsigned long)r.rlim_max);
        for (int sig = 1; sig < 32; sig++) {
            struct sigaction sa;
            sigset_t set;
            sigaction(sig, NULL, &sa);
            sigprocmask(SIG_SETMASK, NULL, &set);
            printf("%d%d ", sa.sa_handler == SIG_IGN, sigismember(&set, sig));
        }
        printf("\naddresses %p %p %p %p\n", (void *)&local, malloc(10), malloc(1 << 20),
               (void *)main);
        /* nobody but our own children can be waited for */
        printf("wait %d %d\n", (int)waitpid(-1, &child, WNOHANG), errno);
        printf("argv0 %s\n", argv[0]);
    } else if (!strcmp(what, "threads")) {
        pthread_t *t = calloc(n, sizeof(*t));
        for (int i = 0; i < n; i++) {
            pthread_create(&t[i], NULL, count, NULL);
        }
        for (int i = 0; i < n; i++) {
            pthread_join(t[i], NULL);
        }
        printf("%d\n", counter);
    } else if (!strcmp(what, "forks")) {
        for (int i = 0; i < n; i++) {
            if (fork() == 0) {
                count(NULL);
                _exit(0);
            }
        }
        while (wait(NULL) > 0) {
        }
    } else if (!strcmp(what, "exec")) {
        execl("/nonexistent", "x", NULL);
        execl("/bin/sh", "sh", "-c", "exit 7", NULL);
    } else if (!strcmp(what, "follow")) {
        char *const next[] = {"guest", n > 1 ? "follow" : "exit", argv[2], NULL};
        argv[2][0]--;
        if (fork() == 0) {
            execv("./guest", next);
            _exit(99);
        }
        wait(&counter);
        printf("%d\n", WEXITSTATUS(counter));
        fflush(stdout);
        execv("./guest", next);
    } else if (!strcmp(what, "sleep")) {
        if (n) {
            signal(SIGINT, handler);
        }
        ready();
        sleep(n ? n : 600);
        return 9;
    } else if (!strcmp(what, "spin")) {
        ready();
        for (;;) {
            count(NULL);
        }
    } else if (!strcmp(what, "segv")) {
        *(volatile int *)4 = 1;
    } else if (!strcmp(what, "exit")) {
        return n;
    }
    return 0;
}
END
$cc -static -O1 -o guest guest.c -lpthread || exit 1

rec 42 -q -o a.ctr -- ./guest exit 42
silent
info a.ctr >got
grep -q '^instructions [0-9][0-9][0-9][0-9]' got || fail "exit: $(cat got)"
rec 42 -q -o a.ctr -- qemu-arm -seed 1 ./guest exit 42
rec 139 -q -o a.ctr -- ./guest segv
rec 7 -q -o a.ctr -- ./guest exec
rec 0 -q -o a.ctr -- ./guest threads 300
[ "$(cat stdout)" = 300000 ] || fail "threads: $(cat stdout)"
info a.ctr >got
grep -q '^threads 301$' got && grep -q '^incomplete 0$' got || fail "threads: $(cat got)"
rec 0 -q -o a.ctr -- ./guest forks 200
info a.ctr >got
grep -q '^processes 201$' got && grep -q '^incomplete 0$' got || fail "forks: $(cat got)"
loads=$(sed -n 's/^loads //p' got)
[ "$loads" -ge 200000 ] || fail "forks: too few loads: $loads"

rec 0 -q -o a.ctr --no-follow-forks -- ./guest forks 20
info a.ctr >got
grep -q '^processes 1$' got && grep -q '^incomplete 0$' got || fail "no forks: $(cat got)"

# A program that executes itself in a child and then in itself, and that does the same once
# more: four processes, which all end as another program, two of them twice.
rec 0 -q -e all --follow-exec -o a.ctr -- ./guest follow 2
[ "$(sort stdout | tr '\n' ' ')" = '0 0 0 ' ] || fail "follow: $(cat stdout)"
info a.ctr >got
grep -q '^processes 10$' got && grep -q '^incomplete 0$' got || fail "follow: $(cat got)"

# The guest's view is the same as under the same QEMU without a recorder.
for how in env 'env -i' 'setarch -R' 'env -i X=1 QEMU_CANNOLI= setarch -R'; do
    env --default-signal=INT setarch -R $how "$qemu_dir/qemu-arm" ./guest look >plain 2>&1
    env --default-signal=INT setarch -R $how "$record" -q --qemu-dir "$qemu_dir" -o a.ctr -- \
        "$qemu_dir/qemu-arm" ./guest look >recorded 2>&1
    sed -i '/^_=/d' plain recorded
    same plain recorded "$how: the guest sees a difference"
done
# found in PATH: argv[0] is the name that was typed
PATH=$PWD:$PATH run 0 "$record" -q --qemu-dir "$qemu_dir" -o a.ctr -- guest look
grep -q '^argv0 guest$' stdout || fail "argv[0]: $(grep argv0 stdout)"
rm -f cannoli.ctr
rec 0 -q -- ./guest exit 0
[ -s cannoli.ctr ] || fail "no cannoli.ctr"

start ./guest sleep 2
kill -INT "$pid" "$child"
ended 9
for what in sleep spin; do
    start ./guest $what
    kill -INT "$pid" "$child"
    ended 130
    start ./guest $what
    kill -TERM "$pid"
    ended 143
    "$dump" --no-disas a.ctr >/dev/null 2>err
    [ $? -eq 3 ] || fail "$what: after SIGTERM: $(cat err)"
    start ./guest $what
    kill -KILL "$child"
    ended 137
    info a.ctr >got
    grep -q '^incomplete 1$' got || fail "$what: a killed thread is not marked"
    start ./guest $what
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    eventually gone "$child"
    # the watchdog reports it, or QEMU, whichever is first
    eventually grep -Eq 'was killed|has died' stderr
done
finish
