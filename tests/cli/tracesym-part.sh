# SPDX-License-Identifier: MIT
# Backtraces in recordings of a part: functions that began before it are shown as in a
# recording of the whole, with variables where they are now, and nothing is invented.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 gcc
export CANNOLI_QEMU_DIR=$qemu_dir
sym="$BIN/tracesym --no-pager"

cat >app.c <<'END'
struct node { struct node *next; long v; };
static struct node pool[4];
volatile unsigned long noise;
__attribute__((noinline)) long walk(struct node *n, int depth, long why)
{
    long s = why;
    while (n) {
        s += n->v + depth;
        n = n->next;
    }
    return s;
}
__attribute__((noinline)) long work(struct node *n, int rounds, long why)
{
    unsigned long x = 88172645463325252u;
    long t = 0;
    for (int i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        noise = x;
        t += walk(n, i, why);
        if (i == 79990) {
            n->next->next = (struct node *)0x1230;
        }
    }
    return t;
}
int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++) {
        pool[i] = (struct node){&pool[i + 1], i};
    }
    pool[3].v = argc;
    return (int)work(pool, 80000, argv ? 77 : 0);
}
END

# frames FILE: the two innermost frames of the crash, with variables
frames() {
    $sym -q --backtrace=crash --locals "$1" 2>err | sed '/^#2 /,$d'
}

# part CC QEMU FLAG...
part() {
    local cc=$1 qemu=$2 first
    shift 2
    "$cc" -g -static "$@" -o app app.c || { fail "$cc"; return; }
    record() {
        "$BIN/cannoli-record" -q -e all "$@" -- "$qemu" ./app 2>err
    }
    record -o full.ctr
    frames full.ctr >want
    grep -q '^#0 .* walk (n=0x[0-9a-f]*, depth=79991, why=77)' want &&
        grep -q '^#1 .* work (n=0x[0-9a-f]*, rounds=80000, why=77)' want ||
        fail "$*: the whole: $(cat want)"
    for options in "--ring 1M" "--after-instructions=800007" "--start-at=walk"; do
        # shellcheck disable=SC2086 # two words
        record $options -o part.ctr
        frames part.ctr >got
        # What a parameter was is not known where the function began before: its value now.
        cmp want got || fail "$* $options: $(diff want got; cat err)"
    done
    # No instruction of a ring is without a backtrace, the first one least of all.
    record --ring 1M -o part.ctr
    first=$("$BIN/tracedump" --no-pager --info part.ctr | sed -n 's/^dropped *\([0-9]*\) .*/\1/p')
    [ -n "$first" ] || fail "$*: the ring has all"
    for n in "$first" $((first + 1)) $((first + 1000)); do
        run 0 $sym -q --backtrace="$n" --locals part.ctr
        grep -q '^#0 ' stdout || fail "$* --backtrace=$n: $(cat stdout stderr)"
    done
    # The crash is in code that was not recorded.
    record --function=work,main -o part.ctr
    run 4 $sym -q --backtrace=crash part.ctr
    grep -q 'that the signal came at was not recorded (--function=work,main)' stderr ||
        fail "$* --function: $(cat stderr)"
    record --once -o part.ctr
    for question in --backtrace=crash --trace-calls=walk; do
        run 4 $sym -q $question part.ctr
        grep -q 'single instructions were recorded (--once): which calls' stderr ||
            fail "$* --once $question: $(cat stderr)"
    done
}

# Memory that the program can write has its initial value in a recording of the whole only.
cat >text.c <<'END'
char title[16] = "initial";
volatile char *p = title;
static const char fixed[] = "constant";
__attribute__((noinline, noipa)) int show(const char *a, const char *b)
{
    return a != b;
}
int main(void)
{
    int n = 0;
    for (int i = 0; i < 3; i++) {
        p[i] = (char)('A' + i);
        n += show(title, fixed);
    }
    return n - 3;
}
END
gcc -O1 -g -static -o text text.c || fail "cc text"
# shown OPTION...: the arguments of the calls of show
shown() {
    "$BIN/cannoli-record" -q -e all -o text.ctr "$@" -- ./text || fail "$*"
    $sym -q --trace-calls=show text.ctr | sed 's/.*show(\(.*\)) .*/\1/; s/0x[0-9a-f]*/ADDR/' | xargs -d '\n' echo
}
[ "$(shown)" = "$(echo 'a=Anitial, b=constant a=ABitial, b=constant a=ABCtial, b=constant' |
    sed 's/=\([A-Za-z]*\)/="\1"/g')" ] || fail "text of the whole: $(shown)"
for options in --start-at=show --function=show; do
    [ "$(shown $options)" = 'a=ADDR, b="constant" a=ADDR, b="constant" a=ADDR, b="constant"' ] ||
        fail "text with $options: $(shown $options)"
done

# A part that is the whole: the same frames, down to those of ld.so, whose code after a call
# is the start of another symbol.
gcc -O1 -g -o dynamic text.c || fail "cc dynamic"
names() {
    "$BIN/cannoli-record" -q -e all -o dynamic.ctr "$@" -- ./dynamic || fail "$*"
    $sym -q --backtrace=call:show dynamic.ctr | sed 's/^\(#[0-9]*\) .*0x[0-9a-f]* in \([^ ]*\) .*/\1 \2/'
}
names >whole
grep -q '_start' whole || fail "no _start: $(cat whole)"
names --after-instructions=0 >part
cmp whole part || fail "--after-instructions=0: $(diff whole part)"

part gcc qemu-x86_64 -O0
if [ -x "$qemu_dir/qemu-arm" ] && command -v arm-linux-gnueabihf-gcc >/dev/null; then
    part arm-linux-gnueabihf-gcc qemu-arm -O0
fi

# A return to an instruction that was left out is none to the start of a function: each call
# counts once.
cat >fib.c <<'END'
__attribute__((noinline)) int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int main(void)
{
    return fib(10) != 55;
}
END
gcc -O1 -g -static -o fib fib.c || fail "cc fib"
"$BIN/cannoli-record" -q -e exec,map --opcode=add,call,ret,cmp -o fib.ctr -- qemu-x86_64 ./fib
run 0 $sym -q --functions fib.ctr
grep -q ' 177  fib  \[fib\]$' stdout || fail "calls of fib: $(grep fib stdout)"
finish
