# SPDX-License-Identifier: MIT
# A jitter library that ends QEMU inside of a hook, in any process and thread: one line of
# the recorder names the library, the status is 125, and what was recorded before can be
# read.  A process that is killed while a hook runs is not blamed on a library.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 gcc

cat >guest.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *thread(void *arg)
{
    puts("thread");
    return arg;
}
int main(void)
{
    pthread_t t;
    int status = 0;

    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    fflush(stdout);
    if (fork() == 0) {
        write(1, "child\n", 6);
        _exit(0);
    }
    wait(&status);
    printf("status %d\n", status);
    return 0;
}
END
gcc -O1 -w -static -pthread guest.c -o guest || fail "cannot build the guest"

cat >crash.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cannoli/jitter.h"
static char how[32], where[32];
static pid_t first, thread;
static void *nowhere;
static int load(const struct cannoli_host *host, const char *args, void **state)
{
    (void)host, (void)state;
    first = getpid();
    strncpy(how, args, strcspn(args, ","));
    strncpy(where, strchr(args, ',') + 1, sizeof(where) - 1);
    return 0;
}
static void end(void)
{
    if (!strcmp(how, "abort")) {
        abort();
    } else if (!strcmp(how, "write")) {
        *(volatile int *)nowhere = 1;
    } else if (!strcmp(how, "divide")) {
        volatile int zero = 0;
        zero = 1000 / zero;
    } else if (!strcmp(how, "trap")) {
        __builtin_trap();
    } else if (!strcmp(how, "exit")) {
        exit(0);
    } else if (!strcmp(how, "_exit")) {
        _exit(0);
    } else if (!strcmp(how, "free")) {
        char *p = malloc(100);
        memset(p - 16, 0x55, 116);
        free(p);
    } else {
        kill(getpid(), SIGKILL);
    }
}
static unsigned calls;
static int hook_inst(void *state, const struct cannoli_insn *insn)
{
    (void)state, (void)insn;
    if (++calls > 1000 &&
        (!strcmp(where, "inst") || (!strcmp(where, "child") && getpid() != first) ||
         (!strcmp(where, "thread") && syscall(SYS_gettid) != first))) {
        end();
    }
    return CANNOLI_ALWAYS;
}
static int hook_mem(void *state, const struct cannoli_insn *insn, int w, uint32_t size)
{
    (void)state, (void)insn, (void)w, (void)size;
    if (!strcmp(where, "mem")) {
        end();
    }
    return 1;
}
static int hook_syscall(void *state, uint32_t nr, const char *name)
{
    (void)state, (void)nr;
    if (!strncmp(name, "exit", 4) &&
        (!strcmp(where, "syscall") || (!strcmp(where, "childcall") && getpid() != first))) {
        end();
    }
    return 1;
}
static int hook_range(void *state, void *context, uint64_t addr, struct cannoli_range *r)
{
    (void)state, (void)context, (void)addr, (void)r;
    if (!strcmp(where, "range")) {
        end();
    }
    return CANNOLI_ANYTHING;
}
static void unload(void *state)
{
    (void)state;
    if (!strcmp(where, "unload") && calls) {
        end();
    }
}
const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER, "crash", .load = load, .unload = unload,
    .hook_inst = hook_inst, .hook_mem = hook_mem, .hook_syscall = hook_syscall,
    .hook_range = hook_range,
};
END
cat >good.c <<'END'
#include "cannoli/jitter.h"
const struct cannoli_jitter cannoli_jitter = {CANNOLI_JITTER_HEADER, "good"};
END
for lib in crash good; do
    ${CC:-cc} -w -shared -fPIC -I "$SRC/include" $lib.c -o $lib.so || fail "cannot build $lib"
done

# dies TEXT HOW WHERE: the recorder reports that in a single line
dies() {
    ulimit -c 0
    "$record" --qemu-dir "$qemu_dir" -o a.ctr --jitter "./crash.so,$2,$3" --jitter ./good.so \
        --module guest -- qemu-x86_64 ./guest >stdout 2>stderr
    local got=$?
    [ "$got" -eq 125 ] || fail "$2 in $3: status $got: $(cat stderr)"
    [ "$(grep -c '^cannoli-record: ' stderr)" -eq 1 ] || fail "$2 in $3: not one line: $(cat stderr)"
    grep -q "^cannoli-record: $1 inside '$PWD/crash.so'\$" stderr || fail "$2 in $3: $(cat stderr)"
    if [ -e a.ctr ]; then
        zstd -tq a.ctr || fail "$2 in $3: the trace is damaged"
        rm a.ctr
    fi
}
dies 'QEMU was ended by SIGABRT' abort inst
dies 'QEMU was ended by SIGSEGV' write mem
dies 'QEMU was ended by SIGFPE' divide syscall
dies 'QEMU was ended by SIGILL' trap range
dies 'QEMU was ended by SIGABRT' free inst
dies 'QEMU exited' exit inst
dies 'QEMU exited' _exit inst
dies 'QEMU was ended by SIGSEGV' write thread
dies 'QEMU (process [0-9]*) was ended by SIGABRT' abort child
dies 'QEMU (process [0-9]*) was ended by SIGSEGV' write child
dies 'QEMU (process [0-9]*) exited' exit child
# The same where QEMU blocks signals
dies 'QEMU (process [0-9]*) was ended by SIGILL' trap childcall

# Killed from outside, or by a guest that gets no message: as without a library.
"$record" --qemu-dir "$qemu_dir" -qo a.ctr --jitter ./crash.so,kill,inst -- qemu-x86_64 ./guest \
    >stdout 2>stderr
got=$?
[ "$got" -eq 137 ] || fail "killed: status $got: $(cat stderr)"
! grep -q crash.so stderr || fail "killed: a library is blamed: $(cat stderr)"
"$record" --qemu-dir "$qemu_dir" -qo a.ctr --jitter ./crash.so,kill,child -- qemu-x86_64 ./guest \
    >stdout 2>stderr
got=$?
[ "$got" -eq 0 ] || fail "a child killed: status $got: $(cat stderr)"
grep -qx 'status 9' stdout || fail "a child killed: $(cat stdout)"
[ ! -s stderr ] || fail "a child killed: $(cat stderr)"

# Unloaded while the program runs
cat >slow.c <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
    close(open("ready", O_CREAT | O_WRONLY, 0666));
    while (access("go", F_OK)) {
        usleep(1000);
    }
    return 0;
}
END
gcc -O1 -w -static slow.c -o slow || fail "cannot build the guest"
rm -f ready go
"$record" --qemu-dir "$qemu_dir" -qo a.ctr --control=ctl --jitter ./crash.so,abort,unload \
    --jitter ./good.so -- qemu-x86_64 ./slow >stdout 2>stderr &
pid=$!
eventually test -e ready
"$BIN/cannoli-ctl" -s ctl unload crash.so || fail "unload"
wait "$pid"
got=$?
[ "$got" -eq 125 ] || fail "unload: status $got: $(cat stderr)"
grep -q "^cannoli-record: QEMU was ended by SIGABRT inside '$PWD/crash.so'\$" stderr ||
    fail "unload: $(cat stderr)"
finish
