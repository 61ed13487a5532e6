# SPDX-License-Identifier: MIT
# Call trees of a program that forks and starts threads while its stacks are deep: the
# memory for them is bounded.
. "$SRC/tests/cli/libcalls.sh"

cc=x86_64-linux-gnu-gcc
[ -x "$qemu_dir/qemu-x86_64" ] && [ -n "$(command -v $cc)" ] || finish_any
done_any=1

cat >deep.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { DEPTH = 150000, FORKS = 24, THREADS = 4 };
static volatile int sink;
static __attribute__((noipa)) void down(unsigned n, void (*f)(void))
{
    if (n) {
        down(n - 1, f);
        sink++;
    } else {
        f();
    }
}
static __attribute__((noipa)) void forks(void)
{
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}
static __attribute__((noipa)) void nothing(void) {}
static void *deep(void *arg)
{
    down(DEPTH, arg);
    return NULL;
}
int main(void)
{
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 64 << 20);
    for (int i = 0; i < THREADS; i++) {
        pthread_t t;
        if (pthread_create(&t, &a, deep, i ? nothing : forks)) {
            return 1;
        }
        pthread_join(t, NULL);
    }
    return 0;
}
END
$cc -O2 -static -pthread -o deep deep.c || exit 1
recorded x86_64 a.ctr ./deep

# KiB at most: the tree may need some, each of the stacks 16 MiB.
cat >peak.py <<'END'
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:], stdout=open("dump", "w"))
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak)
sys.exit(status or peak > int(sys.argv[1]))
END
ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=8 python3 peak.py 320000 "$dumper" -j1 a.ctr >peak 2>stderr ||
    fail "$(cat peak) KiB: $(head -3 stderr)"
cp dump one
grep -q '^function down 600004 ' one || fail "$(grep '^function down' one)"
read -r _ _ _ _ _ depth <one
[ "$depth" -gt 150000 ] || fail "$depth deep"
[ "$(grep -c '^function deep-' one)" = 25 ] || fail "$(grep -c '^function deep-' one) processes"
tree two -j2 a.ctr
same one two "two workers"
# Names are known from before the selected part.
for options in "--from 1000" "--from 1000 --by=thread"; do
    "$BIN/tracesym" -q --calls $options a.ctr >stdout 2>stderr
    grep -q ' deep-[0-9]' stdout || fail "$options: $(head -3 stdout)"
    grep -Eq ' (process|thread)-[0-9]' stdout && fail "$options: no name: $(head -3 stdout)"
done
# Each child begins with its parent's stack: more paths than a tree has, which is said.
"$BIN/tracesym" --functions --no-accesses a.ctr >stdout 2>stderr
grep -q ' paths, the most that it can have' stderr || fail "full tree: $(head -3 stderr)"
finish_any
