# SPDX-License-Identifier: MIT
# Recorded programs of three targets: threads, a child process, libraries that are loaded,
# closed and loaded again at other libraries' places.  The program counts how often each
# function was entered; the symbols must give the same.
. "$SRC/tests/cli/librecord.sh"
sym="$BIN/tracesym"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
need arm-linux-gnueabi-gcc x86_64-linux-gnu-gcc riscv64-linux-gnu-gcc \
    "$qemu_dir/qemu-arm" "$qemu_dir/qemu-x86_64" "$qemu_dir/qemu-riscv64"

cat >program.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
volatile int sink;
NOINLINE static void in_thread(int n)
{
    sink += n;
}
NOINLINE static void in_child(int n)
{
    sink -= n;
}
NOINLINE static void *thread(void *arg)
{
    for (long i = 0; i < (long)arg; i++) {
        in_thread((int)i);
    }
    return NULL;
}
NOINLINE static void load(const char *name, int times)
{
    void *lib = dlopen(name, RTLD_NOW);
    void (*work)(volatile int *) = (void (*)(volatile int *))dlsym(lib, "work");
    for (int i = 0; i < times; i++) {
        work(&sink);
    }
    if (times != 5) {
        dlclose(lib);
    }
}
int main(void)
{
    pthread_t t[3];
    for (long i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, thread, (void *)(300 * (i + 1)));
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    load("./one.so", 11);
    load("./two.so", 22);
    load("./one.so", 33);
    load("./two.so", 5);
    if (fork() == 0) {
        for (int i = 0; i < 77; i++) {
            in_child(i);
        }
        load("./one.so", 5);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
END
cat >library.c <<'END'
__attribute__((noinline)) static void STEP(volatile int *p)
{
    *p += STEPS;
}
void work(volatile int *p)
{
    for (int i = 0; i < STEPS; i++) {
        STEP(p);
    }
}
END
cat >check.py <<'END'
import collections, json, sys
entered = collections.Counter()
modules, files = set(), set()
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["kind"] != "exec":
        continue
    name = e.get("function", "").split("@")[0]
    module = e.get("module", "?").rsplit("/", 1)[-1]
    modules.add(module)
    if e.get("offset") == "0x0":
        entered[module, name, "thread" if e["tid"] != e["pid"] else "main"] += 1
    if name in ("work", "step_one", "step_two", "in_thread", "in_child", "load"):
        files.add(e["file"].rsplit("/", 1)[-1])
want = {("program", "in_thread", "thread"): 1800, ("program", "in_child", "main"): 77,
        ("program", "thread", "thread"): 3, ("program", "load", "main"): 5,
        ("program", "main", "main"): 1,
        ("one.so", "work", "main"): 11 + 33 + 5, ("one.so", "step_one", "main"): 3 * 49,
        ("two.so", "work", "main"): 22 + 5, ("two.so", "step_two", "main"): 4 * 27}
for key, n in want.items():
    assert entered[key] == n, (key, n, entered[key])
for key in entered:
    assert key[1] not in ("work", "step_one", "step_two", "in_thread", "in_child") or key in want, key
assert files == {"program.c", "library.c"}, files
modules.discard("?" if sys.argv[2] == "arm" else "")  # the kernel's page of helpers
assert "libc.so.6" in modules and "?" not in modules, modules
END

for target in arm x86_64 riscv64; do
    triple=$target-linux-gnu
    [ $target != arm ] || triple=arm-linux-gnueabi
    rm -f program *.so
    flags="-g -O1 -Wall"
    $triple-gcc $flags -o program program.c -pthread -ldl || exit 1
    $triple-gcc $flags -shared -fPIC -DSTEP=step_one -DSTEPS=3 -o one.so library.c || exit 1
    $triple-gcc $flags -shared -fPIC -DSTEP=step_two -DSTEPS=4 -o two.so library.c || exit 1
    prefix=/usr/$triple
    [ $target != x86_64 ] || prefix=
    QEMU_LD_PREFIX=$prefix run 0 "$record" -q --qemu-dir "$qemu_dir" -o $target.ctr -- ./program
    run 0 "$sym" -q --json $target.ctr
    silent "$target"
    mv stdout all.json
    python3 check.py all.json $target || fail "$target"

    # Neither workers nor the index change anything; accesses and registers are added
    run 0 "$sym" -q --json -j1 --no-index $target.ctr
    same all.json stdout "$target: -j1 --no-index"
    run 0 "$sym" -q -j1 -e all -d $target.ctr
    mv stdout want
    run 0 "$sym" -q -j2 -e all -d $target.ctr
    same want stdout "$target: -j2"

    # Filters select by names
    run 0 "$sym" -q --json --module '*.so' --function 'step_*' $target.ctr
    grep '"kind":"exec".*"function":"step_' all.json >want
    same want stdout "$target: --module --function"
    run 0 "$sym" -q --json --function in_thread -e exec -n 100000 --no-index $target.ctr
    [ "$(grep -c '"offset":"0x0"' stdout)" -eq 1800 ] || fail "$target: --function in_thread"

    # Vectors: the sum is the number of instructions of each thread
    rm -f bb.*
    run 0 "$sym" -q --bbv 10007 -o bb --bbv-pcs blocks $target.ctr
    python3 - $target <<'END' || fail "$target: --bbv"
import glob, json, os, re, subprocess, sys
info = json.loads(subprocess.check_output(
    [os.environ["BIN"] + "/tracedump", "--info", "--json", sys.argv[1] + ".ctr"]))
want = {t["tid"]: t["instructions"] for t in info["threads"]}
got = {}
for name in glob.glob("bb.*"):
    sums = [sum(map(int, re.findall(r":\d+:(\d+)", line))) for line in open(name)]
    assert all(s == 10007 for s in sums[:-1]) and 0 < sums[-1] <= 10007, (name, sums)
    got[int(name[3:])] = sum(sums)
assert got == want, (got, want)
names = {line.split(":", 3)[3].rstrip("\n") for line in open("blocks")}
assert {"main", "in_thread", "step_one", "step_two"} <= names
END

    # Without symbols and debug information a program still has addresses; its exports
    # keep their names
    mkdir -p stripped
    for file in program one.so two.so; do
        $triple-strip -o stripped/$file $file
    done
    run 0 "$sym" -q -e exec --module one.so --elf stripped/one.so --elf stripped/two.so \
        --elf stripped/program --only-elf $target.ctr
    grep -q ' one.so work+0x0$' stdout || fail "$target: stripped: no dynamic symbol"
    grep -q 'library.c' stdout && fail "$target: stripped: lines"
    grep -c . stdout >n
    grep -c '"kind":"exec".*one\.so"' all.json | cmp -s n - || fail "$target: stripped: other code"

    # Another program of that name is refused, and so is one whose end is missing
    mkdir -p other
    sed 's/sink += n/sink ^= n/' program.c >other/program.c
    $triple-gcc $flags -o other/program other/program.c -pthread -ldl || exit 1
    run 1 "$sym" --elf other/program $target.ctr
    one_line "$target: other program"
    head -c 3000 program >cut
    run 1 "$sym" --elf cut $target.ctr
    one_line "$target: cut program"
done
run 1 "$sym" --elf other/program arm.ctr # of riscv64
one_line "other machine"

# A trace that is cut, and a stream of a program at fixed addresses
size=$(stat -c %s riscv64.ctr)
head -c $((size - 100)) riscv64.ctr >part.ctr # chunks are whole, their index is not
run 3 "$sym" part.ctr
tail -1 stderr | grep -Eq 'truncated|not finished' || fail "part.ctr: $(cat stderr)"
grep -q ' program main+0x' stdout || fail "part.ctr: no symbols"
arm-linux-gnueabi-gcc -g -O1 -static -o fixed -x c - <<<'int main(void) { return 0; }' || exit 1
run 0 "$record" -q --qemu-dir "$qemu_dir" -o fixed.ctr -- ./fixed
"$sym" -q --elf fixed -e exec - <fixed.ctr >stdout 2>stderr || fail "a stream: $(cat stderr)"
mv stdout got
run 0 "$sym" -q --elf fixed -e exec fixed.ctr
same stdout got "a stream"
grep -q ' fixed main+0x0 ' got || fail "a stream: no main"
finish
