# SPDX-License-Identifier: MIT
# Programs that make code at run time and name it as JITs do, in a perf map and in a jitdump
# file that they map: the counts are those of the program.
. "$SRC/tests/cli/librecord.sh"
sym=$BIN/tracesym
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
need python3

cat >guest.c <<'END'
/* guest FOLDER: makes outer, which calls the function that it gets, and inner; replaces
 * outer by a function that does not call. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#define MACHINE 62
static const uint8_t outer[] = {0xff, 0xd7, 0xc3};       /* call *%rdi; ret */
static const uint8_t inner[] = {0xb8, 2, 0, 0, 0, 0xc3}; /* mov $2, %eax; ret */
static const uint8_t other[] = {0xb8, 3, 0, 0, 0, 0xc3};
#else
#define MACHINE 40
static const uint32_t outer[] = {0xe52de004, 0xe12fff30, 0xe49df004}; /* push; blx r0; pop */
static const uint32_t inner[] = {0xe3a00002, 0xe12fff1e};             /* mov r0, #2; bx lr */
static const uint32_t other[] = {0xe3a00003, 0xe12fff1e, 0}; /* as long as outer */
#endif
static FILE *map, *dump;
static void put(const void *p, size_t n)
{
    fwrite(p, 1, n, dump);
}
static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
static void record(uint32_t id, uint32_t bytes)
{
    uint32_t head[2] = {id, bytes};
    uint64_t time = now();
    put(head, 8);
    put(&time, 8);
}
static void make(uint8_t *at, const void *code, size_t n, const char *name)
{
    static uint64_t index;
    uint32_t ids[2] = {(uint32_t)getpid(), (uint32_t)getpid()};
    uint64_t addr = (uintptr_t)at, body[4] = {addr, addr, n, index++};
    memcpy(at, code, n);
    __builtin___clear_cache((char *)at, (char *)at + n);
    fprintf(map, "%lx %lx %s\n", (long)at, (long)n, name);
    record(0, (uint32_t)(16 + 8 + 32 + strlen(name) + 1 + n));
    put(ids, 8);
    put(body, 32);
    put(name, strlen(name) + 1);
    put(code, n);
}
int main(int argc, char **argv)
{
    uint8_t *m = mmap(NULL, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*f)(void *) = (int (*)(void *))(void *)m;
    int (*g)(void) = (int (*)(void))(void *)(m + 64);
    uint32_t header[6] = {0x4a695444, 1, 40, MACHINE, 0, (uint32_t)getpid()};
    uint64_t rest[2] = {now(), 0};
    char path[300];
    int sum = 0;
    if (argc != 2 || m == MAP_FAILED) {
        return 1;
    }
    snprintf(path, sizeof(path), "%s/perf-%d.map", argv[1], (int)getpid());
    map = fopen(path, "w");
    snprintf(path, sizeof(path), "%s/jit-%d.dump", argv[1], (int)getpid());
    dump = fopen(path, "w+");
    if (!map || !dump) {
        return 1;
    }
    put(header, 24);
    put(rest, 16);
    fflush(dump);
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED) {
        return 1;
    }
    make(m, outer, sizeof(outer), "outer code");
    make(m + 64, inner, sizeof(inner), "inner");
    for (int i = 0; i < 11; i++) {
        sum += f((void *)(m + 64));
    }
    for (int i = 0; i < 5; i++) {
        sum += g();
    }
    make(m, other, sizeof(other), "other");
    for (int i = 0; i < 13; i++) {
        sum += f(NULL);
    }
    fclose(map);
    fclose(dump);
    return sum == 11 * 2 + 5 * 2 + 13 * 3 ? 0 : 2;
}
END
cat >check.py <<'END'
import json, sys
got, modules = {}, set()
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["kind"] == "function" and e["function"] in ("outer code", "inner", "other"):
        got[e["function"]] = e["calls"]
        modules.add(e["module"].rsplit("/", 1)[-1].split("-")[0])
want = dict((k, int(v)) for k, v in (a.split("=") for a in sys.argv[3:]))
sys.exit((got != want or modules != {sys.argv[2]}) and "%s %s, not %s" % (got, modules, want))
END

done_any=0
for target in arm x86_64; do
    cc=$target-linux-gnu-gcc
    [ $target != arm ] || cc=arm-linux-gnueabi-gcc
    command -v $cc >/dev/null && [ -x "$qemu_dir/qemu-$target" ] || continue
    done_any=1
    rm -rf out
    mkdir out
    $cc -O1 -static -marm -o guest guest.c 2>/dev/null ||
        $cc -O1 -static -Wall -o guest guest.c || exit 1
    run 0 "$record" -q --qemu-dir "$qemu_dir" -o $target.ctr -- ./guest "$PWD/out"

    # The jitdump is found by its mapping, and knows what was replaced.
    run 0 "$sym" -q --functions --json $target.ctr
    python3 check.py stdout jit "outer code=11" inner=16 other=13 || fail "$target: jitdump"
    run 0 "$sym" -q --calls -f folded $target.ctr
    grep -q ';main;outer code;inner ' stdout || fail "$target: $(grep inner stdout)"

    # The perf map has the last name only.
    map=$(echo out/perf-*.map)
    run 0 "$sym" -q --functions --json --perf-map="$map" $target.ctr
    python3 check.py stdout perf inner=16 other=24 || fail "$target: perf map"
    run 0 "$BIN/tracecov" -q -f text --perf-map=out --function=inner $target.ctr
    grep -Eq '^ *16 .* inner$' stdout || fail "$target: tracecov: $(cat stdout)"

    # An older file, as of another process with this number, is not used.
    rm out/jit-*
    mkdir -p root/tmp
    cp "$map" root/tmp
    touch -d '10 minutes ago' root/tmp/*
    run 0 "$sym" --functions --json --sysroot=root $target.ctr
    grep -q 'perf-[0-9]*.map: is older than the recording; ' stderr || fail "$(cat stderr)"
    rm -r root
done
[ $done_any -eq 1 ] || { echo "needs a patched QEMU and a compiler for its target"; exit 77; }
finish
