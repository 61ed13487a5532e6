# SPDX-License-Identifier: MIT
# Selecting what is recorded uses no address space that the guest would have got: where the
# guest's addresses are the host's (64-bit guests), every mapping has the same address as
# without a recorder, whatever is selected and how, also while libraries are loaded and
# unloaded.  The witness is the guest: the results of mmap, malloc, dlopen and thread
# creation, and its /proc/self/maps, line by line.
. "$SRC/tests/cli/librecord.sh"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
# One arena: QEMU's second thread may make its own at any time.
export MALLOC_ARENA_MAX=1
command -v setarch >/dev/null || { echo "needs setarch"; exit 77; }

cat >guest.c <<'END'
#define _GNU_SOURCE
#ifdef DYNAMIC
#include <dlfcn.h>
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("mmap %zu %p\n", bytes, p);
    return p;
}
static pthread_barrier_t barrier;
/* None ends: when QEMU gives back what one had is not the guest's to say. */
static void *thread(void *arg)
{
    int local;
    printf("thread %p malloc %p\n", (void *)&local, malloc(1 << 18));
    map(1 << 20);
    pthread_barrier_wait(&barrier);
    for (;;) {
        pause();
    }
    return arg;
}
static void use_memory(void)
{
    pthread_t t;
    void *p = map(4096), *q;

    map(65536);
    map((3 << 20) + 4096);
    q = map(40 << 20);
    munmap(p, 4096);
    map(8192);
    printf("mremap %p\n", mremap(q, 40 << 20, 44 << 20, MREMAP_MAYMOVE));
    printf("malloc %p %p %p\n", malloc(100), malloc(200000), p = malloc(5 << 20));
    free(p);
    if (sizeof(p) == 8) {
        map((size_t)1 << 36);
    }
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 3; i++) {
        pthread_create(&t, NULL, thread, NULL);
        pthread_barrier_wait(&barrier);
    }
}
static void show_maps(void)
{
    char buf[4096];
    int fd = open("/proc/self/maps", O_RDONLY), n;

    fflush(stdout);
    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        write(1, buf, n);
    }
    close(fd);
}
static void step(const char *name)
{
    char file[32];

    fflush(stdout);
    sprintf(file, "at-%s", name);
    close(open(file, O_CREAT | O_WRONLY, 0666));
    sprintf(file, "go-%s", name);
    while (access(file, F_OK)) {
        usleep(1000);
    }
}
int main(int argc, char **argv)
{
    use_memory();
    for (int i = 1; i < argc; i++) {
        step(argv[i]);
        use_memory();
    }
#ifdef DYNAMIC
    void *lib = dlopen("libm.so.6", RTLD_NOW);
    printf("dlopen %p\n", lib ? dlsym(lib, "cos") : NULL);
#endif
    if (fork() == 0) {
        free(map(1 << 20) ? malloc(1 << 21) : NULL);
        map(1 << 16);
        show_maps();
        _exit(0);
    }
    wait(NULL);
    use_memory();
    show_maps();
    return 0;
}
END

# A library that allocates memory in every way, at every occasion.
cat >greedy.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cannoli/jitter.h"
static char table[5 << 20];
static void *kept[64];
static unsigned calls;
static void take(unsigned i)
{
    size_t n = (i % 7 + 1) * 300000;
    void *p;

    memset(malloc(n / 3), 1, n / 3);
    kept[i % 64] = realloc(kept[i % 64], n);
    memset(kept[i % 64], i, n);
    free(malloc(40 << 20)); /* which the allocator remembers */
    p = aligned_alloc(1 << 16, 1 << 18);
    memset(p, 2, 1 << 18);
    if ((size_t)p % (1 << 16)) {
        abort();
    }
    if (i % 3) {
        free(p);
    }
    p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(char *)p = 1;
}
static int load(const struct cannoli_host *host, const char *args, void **state)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[100];

    (void)host, (void)args, (void)state;
    while (f && fgets(line, sizeof(line), f)) {
    }
    table[12345] = 1;
    take(1);
    return 0;
}
static int hook(void *state, const struct cannoli_insn *insn)
{
    (void)state;
    if (++calls % 4096 == 0 && calls / 4096 < 40) {
        take(calls / 4096);
    }
    return insn->pc % 5 ? CANNOLI_NEVER : CANNOLI_ALWAYS;
}
const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER, "greedy", .load = load, .hook_inst = hook,
};
END
${CC:-cc} -shared -fPIC -I "$SRC/include" greedy.c -o greedy.so || fail "cannot build greedy"

# The guest's output equals that of an unrecorded run.
check() {
    cmp -s plain.out got.out || fail "$what: $*: $(diff plain.out got.out | grep -c '^[<>]') of $(wc -l <plain.out) lines differ: $(diff plain.out got.out | head -n 4 | tr '\n' ' ')"
}

# with OPTION...: recorded with them, the guest's output equals that of an unrecorded run
with() {
    setarch -R "$record" -q --qemu-dir "$qemu_dir" -o a.ctr "$@" -- "${qemu[@]}" ./guest >got.out 2>stderr ||
        fail "$what: $*: status $?: $(cat stderr)"
    check "$@"
}

any=
# program TARGET CC [OPTION...]: $qemu, ./guest and its output in an unrecorded run
program() {
    local target=$1 compiler=$2
    shift 2
    what="$target $*"
    if [ ! -x "$qemu_dir/qemu-$target" ] || ! command -v "$compiler" >/dev/null; then
        [ -z "${CANNOLI_EXPECT_QEMU:-}" ] || fail "no qemu-$target or no $compiler"
        return 1
    fi
    "$compiler" -O1 -w guest.c -o guest -pthread "$@" || { fail "$what: $compiler"; return 1; }
    qemu=("$qemu_dir/qemu-$target" -U MALLOC_ARENA_MAX)
    case $compiler in
    *-gcc) qemu+=(-L "/usr/${compiler%-gcc}") ;;
    esac
    setarch -R "${qemu[@]}" ./guest >plain.out 2>stderr || fail "$what: $(cat stderr)"
    setarch -R "${qemu[@]}" ./guest >got.out 2>stderr
    check "a second time"
    any=1
    with
}

# A library that is loaded from outside, while the guest waits, and is unloaded again.
loads() {
    rm -f at-* go-*
    touch go-1 go-2
    setarch -R "${qemu[@]}" ./guest 1 2 >plain.out 2>stderr || fail "$what: $(cat stderr)"
    rm -f at-* go-*
    setarch -R "$record" -q --qemu-dir "$qemu_dir" -o a.ctr --control=ctl "$@" -- "${qemu[@]}" ./guest 1 2 \
        >got.out 2>stderr &
    pid=$!
    eventually test -e at-1
    "$BIN/cannoli-ctl" -s ctl load ./greedy.so >/dev/null || fail "$what: load"
    touch go-1
    eventually test -e at-2
    "$BIN/cannoli-ctl" -s ctl unload greedy.so >/dev/null || fail "$what: unload"
    "$BIN/cannoli-ctl" -s ctl load ./greedy.so,again >/dev/null || fail "$what: load again"
    touch go-2
    wait "$pid" || fail "$what: loaded meanwhile: status $?: $(cat stderr)"
    check "loaded meanwhile $*"
}

if program x86_64 gcc -DDYNAMIC -ldl; then
    with --module guest
    with --range 0-0x7fffffffffff --stores
    with --not --module libc.so.6 --branches
    with --function main --callees
    with --function 'use_*' --function 'str*' --once
    with --opcode add,mov
    with --coverage
    with --events=all --function 'm*'
    with --after-instructions 100K --for-instructions 5,000
    with --start-at main --stop-at exit
    with --paused --control=ctl
    with --jitter ./greedy.so --module guest
    loads
    loads --function main --callees
    # The other end of the address space is filled first, and little of it is left.
    for limit in '-s unlimited' '-v 8000000'; do
        # (an address sanitizer needs more than that for itself)
        (ulimit $limit && "$record" --version) >/dev/null 2>&1 || continue
        before=$what
        what="$what, ulimit $limit"
        (
            ulimit $limit
            setarch -R "${qemu[@]}" ./guest >plain.out 2>stderr
            with --module guest --jitter ./greedy.so
            exit $failed
        ) || failed=1
        what=$before
    done
fi
if program x86_64 gcc -static; then
    with --module guest
    with --jitter ./greedy.so
fi
if program aarch64 aarch64-linux-gnu-gcc -DDYNAMIC -ldl; then
    with --module libc.so.6
    with --range 0-0x7fffffffffff
    with --jitter ./greedy.so --function main --callees
    loads
fi
if program aarch64 aarch64-linux-gnu-gcc -static; then
    with --function main --callees
fi
if program arm arm-linux-gnueabi-gcc -DDYNAMIC -ldl; then
    with --module guest
    with --jitter ./greedy.so
    loads
fi
[ -n "$any" ] || { echo "needs a patched QEMU for x86_64, aarch64 or arm and a compiler for it"; exit 77; }
finish
