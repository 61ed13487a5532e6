# SPDX-License-Identifier: MIT
# Two recordings of a real program, at other addresses: no difference.  With another argument
# they part at the branch that depends on it, and come together after the function.  Two threads
# of one recording are compared, too.
. "$SRC/tests/cli/librecord.sh"
diff=$BIN/tracediff

cat >guest.c <<'END'
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int sums[2];
static struct __attribute__((packed)) {
    char tag;
    int *where; /* not aligned */
} volatile packed;

__attribute__((noinline)) static int parse(const char *s)
{
    int n = 0;

    while (*s) {
        if (*s < '0' || *s > '9') {
            return -1;
        }
        n = n * 10 + (*s++ - '0');
    }
    return n;
}

static void *work(void *arg)
{
    int *sum = arg;

    for (int i = 0; i < 100; i++) {
        *sum += i;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    char *memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    int n = 0;

    packed.where = &n;
    for (int i = 1; i < argc; i++) {
        memcpy(memory + 100 * i, argv[i], strlen(argv[i]) + 1);
        n += parse(memory + 100 * i) > 0;
    }
    for (int i = 0; i < 2 && argc == 1; i++) { /* joining depends on who is faster */
        pthread_create(&thread, NULL, work, &sums[i]);
        pthread_join(thread, NULL);
    }
    return n + (sums[0] == sums[1]);
}
END

mkdir one two # names of the same length: string functions depend on it

# recorded STATUS FILE ARGUMENT...: of everything there is
recorded() {
    rec "$1" -q -e all -o "$2" -- "qemu-$target" "one/$target" "${@:3}"
}

for target in arm x86_64; do
    need_qemu $target "$([ $target = arm ] && echo arm-linux-gnueabi-gcc || echo x86_64-linux-gnu-gcc)"
    fake=$qemu_dir
    $cc -O1 -g -static -o one/$target guest.c -lpthread || exit 1
    recorded 4 a.ctr 12 34 56
    recorded 4 b.ctr 12 34 56
    recorded 3 c.ctr 12 3x 56
    recorded 1 threads.ctr
    # What the program gets from outside differs in any two runs.
    ignore=call:getrandom
    run 0 "$diff" --json --ignore=$ignore,registers a.ctr b.ctr
    grep -q '"differences":0,"more":0,.*"threads":1' stdout ||
        fail "$target: the same: $(cat stdout)"
    # Registers that are made of random bytes or of several pointers differ, a few of them.
    "$diff" --json --data=100 --max=100 --ignore=$ignore a.ctr b.ctr >stdout
    [ "$(grep -c '"what":"register"' stdout)" -le 8 ] && [ "$(grep -c '"what":"\(code\|value\|call\)"' stdout)" = 0 ] ||
        fail "$target: registers: $(cat stdout)"
    run 0 "$diff" a.ctr a.ctr
    run 0 "$diff" --counts=blocks a.ctr b.ctr
    [ ! -s stdout ] || fail "$target: counts of the same: $(cat stdout)"

    run 1 "$diff" --json --ignore=$ignore,data,calls a.ctr c.ctr
    silent "another argument"
    python3 - <<'END' || fail "$target: another argument: $(cat stdout)"
import json
lines = [json.loads(line) for line in open("stdout")]
first = lines[0]
assert (first["what"], first["again"]) == ("code", True)
for side in "ab":
    assert first[side]["function"] == "parse", first[side]
    assert first[side]["file"].endswith("guest.c")
assert first["a"]["ordinal"] == first["b"]["ordinal"] == first["equal"]
assert first["a"]["only"] and first["b"]["only"]
assert lines[-1]["kind"] == "end" and lines[-1]["all"]
END
    # The argument comes before what depends on it.
    run 1 "$diff" --json --ignore=$ignore a.ctr c.ctr
    head -n 1 stdout | grep -q '"what":"call".*"ordinal":0,' || fail "$target: $(head -n 1 stdout)"
    run 1 "$diff" --width=200 --ignore=$ignore a.ctr c.ctr
    grep -q '^ *[0-9]* parse+0x.* guest.c:[0-9]* *| *[0-9]* parse+0x' stdout || fail "$target: no line of parse"
    grep -q '^only a: .* alike again from a ' stdout || fail "$target: not alike again"
    run 0 "$diff" --ignore=$ignore,data,calls,parse a.ctr c.ctr
    run 1 "$diff" --counts=functions a.ctr c.ctr
    grep -q ' parse  \[' stdout || fail "$target: counts: $(cat stdout)"

    # Another build has one more function, which moves all others, and more in parse.
    sed -e 's/^static int sums/int unused(int n) { return n * n + 1; }\n\n&/' \
        -e 's/^    while (\*s) {$/    __asm__ volatile("nop");\n&/' guest.c >other.c
    $cc -O1 -g -static -o two/$target other.c -lpthread || exit 1
    rec 4 -q -e all -o d.ctr -- "qemu-$target" two/$target 12 34 56
    run 1 "$diff" --json --by-function --ignore=$ignore,data,calls a.ctr d.ctr
    python3 - <<'END' || fail "$target: another build: $(cut -c1-300 stdout)"
import json
lines = [json.loads(line) for line in open("stdout")]
assert len(lines) == 4 and lines[-1]["all"], len(lines)
for line in lines[:-1]:
    assert (line["what"], line["again"]) == ("code", True)
    assert line["a"]["function"] == line["b"]["function"] == "parse"
END
    # The second and the third thread did the same.
    tids=$("$dump" --info --json threads.ctr | python3 -c 'import json, sys
print(*[t["tid"] for t in json.load(sys.stdin)["threads"]])')
    # shellcheck disable=SC2086
    set -- $tids
    run 0 "$diff" --json --ignore=data,calls --thread="$2" --with-thread="$3" threads.ctr threads.ctr
    grep -q '"threads":1,' stdout || fail "$target: threads: $(cat stdout)"
    run 1 "$diff" --max=1 --thread="$1" --with-thread="$2" threads.ctr threads.ctr
done

# With shared libraries, which string functions read beyond the ends of strings in, halves of old
# pointers among it.  Only a clock differs, which the loader reads, and what is made of it.
$cc -O1 -g -o one/dynamic guest.c -lpthread || exit 1
for i in 1 2; do
    rec 4 -q -e all -o dynamic$i.ctr -- "qemu-$target" one/dynamic 12 34 56
    rec 4 -q -e exec -o bare$i.ctr -- "qemu-$target" one/dynamic 12 34 56
done
run 0 "$diff" --ignore=$ignore,values dynamic1.ctr dynamic2.ctr
"$diff" --json --data=100 --max=100 --ignore=$ignore,registers dynamic1.ctr dynamic2.ctr >stdout
python3 - <<'END' || fail "shared libraries: $(cut -c1-300 stdout)"
import json
lines = [json.loads(line) for line in open("stdout")]
assert lines[-1]["all"] and lines[-1]["differences"] <= 7, lines[-1]
for line in lines[:-1]:
    assert line["what"] == "value" and "ld-linux" in line["a"]["module"], line
END
run 1 "$diff" bare1.ctr bare2.ctr
grep -q 'bare1.ctr has no mappings' stderr || fail "no mappings: $(cat stderr)"
# Mappings of one side alone mean nothing.
rec 4 -q -e exec,mem -o one.ctr -- "qemu-$target" "one/$target" 12 34 56
rec 4 -q -e exec,mem,map -o other.ctr -- "qemu-$target" "one/$target" 12 34 56
"$diff" --json --max=100 --ignore=$ignore,data one.ctr other.ctr >stdout
tail -n 1 stdout | grep -q '"equal":[0-9]\{5,\}' || fail "mappings of one side: $(tail -n 1 stdout)"
finish
