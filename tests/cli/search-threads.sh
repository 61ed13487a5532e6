# SPDX-License-Identifier: MIT
# Searches through the threads of a process: system calls between two accesses say which was
# last, however long the chunks are that hold them.  The values that the program reads are
# the witness.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 gcc
[ "$(uname -m)" = x86_64 ] || { echo "needs programs for x86_64"; exit 77; }
export CANNOLI_QEMU_DIR=$qemu_dir
dump=$BIN/tracedump

cat >app.c <<'END'
#include <pthread.h>
#include <unistd.h>
volatile long value, other, seen;
static void *worker(void *arg)
{
    value = (long)arg;
    usleep(1000);
    other = (long)arg + 100;
    return NULL;
}
static void run(long n)
{
    pthread_t t;

    value = -n;
    pthread_create(&t, NULL, worker, (void *)n);
    pthread_join(t, NULL); /* without a call if the thread has ended */
    getppid();
    seen = value;
    seen = other;
}
int main(void)
{
    for (long n = 1; n <= 4; n++) {
        run(n);
    }
    value = 99;
    *(volatile int *)seen = 0;
    return 0;
}
END
gcc -O1 -g -pthread -static -o app app.c || fail "cc"
"$BIN/cannoli-record" -q -e all -o run.ctr -- ./app 2>err
run 0 "$dump" --no-pager --json --no-disas --writes -a seen run.ctr
cp stdout seen
# found OPTION=MOMENT PLACE: the values of what is found
found() {
    "$dump" --no-pager --json --no-disas -a "$2" "$1" run.ctr >stdout 2>stderr ||
        fail "$1 $2: $(cat stderr)"
    sed -n "s/.*\"addr\":\"\([0-9a-fx]*\)\".*\"value\":\"\([0-9a-fx]*\)\".*/\2/p" stdout | tr '\n' ' '
}
n=0
while read -r ordinal want; do
    n=$((n + 1))
    # Every second one is `value', the others `other'.
    if [ $((n % 2)) -eq 1 ]; then name=value; else name=other; fi
    got=$(found --last-write-before="$ordinal/1" $name)
    [ "$got" = "$want " ] || fail "$name before $ordinal: $got, the program read $want"
    got=$(found --last-read-before=$((ordinal + 1))/1 $name)
    [ "$got" = "$want " ] || fail "$name read before $ordinal: $got, not $want"
done < <(sed -n 's/.*"ordinal":\([0-9]*\),.*"value":"\([0-9a-fx]*\)".*/\1 \2/p' seen)
[ $n -eq 8 ] || fail "$n of 8 stores to seen: $(cat seen)"
got=$(found --last-write-before=crash value)
[ "$got" = "0x63 " ] || fail "value at the crash: $got"
got=$(found --last-write-before=crash other)
[ "$got" = "0x68 " ] || fail "other at the crash: $got"
# Forward: the read after what the last worker wrote is that of the main thread.
last=$("$dump" --no-pager --json --no-disas --writes -a other run.ctr |
    sed -n 's/.*"ordinal":\([0-9]*\),.*"tid":\([0-9]*\),.*/\1 -t \2/p' | tail -1)
[ -n "$last" ] || fail "no write of other"
tid=${last#* -t }
number=$("$dump" --no-pager --json --info run.ctr | python3 -c '
import json, sys
print([t["tid"] for t in json.load(sys.stdin)["threads"]].index(int(sys.argv[1])) + 1)' "$tid")
got=$(found --first-read-after="${last%% *}/$number" other)
[ "$got" = "0x68 " ] || fail "read of other after it was written: $got"

# ---- a thread without a call: that its access was after the moment is possible
cat >spin.c <<'END'
#include <pthread.h>
#include <unistd.h>
volatile long value, go;
static void *worker(void *arg)
{
    while (!go) {
    }
    value = 7;
    return arg;
}
int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, worker, NULL);
    write(1, "go\n", 3);
    go = 1;
    pthread_join(t, NULL);
    return value != 7;
}
END
gcc -O1 -g -pthread -static -o spin spin.c || fail "cc"
"$BIN/cannoli-record" -q -e all -o run.ctr -- ./spin >out 2>err || fail "spin"
got=$(found --first-write-after=syscall:write value)
[ "$got" = "0x7 " ] || fail "the write after syscall:write: $got"
# --from selects by times as it does without a search.
"$dump" --no-pager --writes -a value --from=syscall:write run.ctr >shown
run $((4 * (1 - $(wc -l <shown)))) "$dump" --no-pager -a value --from=syscall:write \
    --last-write-before=end run.ctr
cmp shown stdout || fail "--from with a search"

# ---- backward, too: the only write may have been before the moment
cat >late.c <<'END'
#include <pthread.h>
#include <unistd.h>
volatile long value, go, done;
static void *worker(void *arg)
{
    while (!go) {
    }
    getppid();
    value = 7;
    done = 1;
    for (;;) {
        pause();
    }
    return arg;
}
int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, worker, NULL);
    write(1, "go\n", 3);
    go = 1;
    while (!done) {
    }
    *(volatile int *)0 = 0;
}
END
gcc -O1 -g -pthread -static -o late late.c || fail "cc late"
"$BIN/cannoli-record" -q -e all -o run.ctr -- ./late >out 2>err
got=$(found --last-write-before=crash value)
[ "$got" = "0x7 " ] || fail "the only write, at about the time of the crash: $got"
grep -q 'at about the time of the moment: which was first is not recorded' stderr ||
    fail "no remark: $(cat stderr)"
run 4 "$dump" --no-pager -a value --last-write-before=syscall:write run.ctr
grep -q 'no write there is recorded before it' stderr || fail "$(cat stderr)"

# ---- a range with thousands of writers: all are shown, the closest to the moment first, and
# no chunk is read again for each of them
cat >many.c <<'END'
#include <pthread.h>
#include <unistd.h>
#define N 4096
volatile unsigned char buffer[N], seen;
volatile int work;
static void *worker(void *arg)
{
    for (long i = (long)arg; i < N; i += 3) {
        buffer[i] = (unsigned char)(i * 7 + (long)arg);
        if (i % 1024 == 0) {
            for (work = 0; work < 50000; work++) {
            }
        }
    }
    return NULL;
}
static void run(long n)
{
    pthread_t t;

    pthread_create(&t, NULL, worker, (void *)n);
    pthread_join(t, NULL);
}
int main(void)
{
    int ends[2];

    run(0);
    run(1);
    run(0);
    for (int i = 2; i < N; i += 3) {
        buffer[i] = 5;
    }
    pipe(ends);
    for (int i = 1000; i < 1100; i += 2) {
        write(ends[1], "x", 1);
        read(ends[0], (void *)(buffer + i), 1);
    }
    for (int i = 0; i < N; i++) {
        seen = buffer[i];
    }
    *(volatile int *)0 = 0;
}
END
gcc -O1 -g -pthread -static -o many many.c || fail "cc many"
"$BIN/cannoli-record" -q -e all -o run.ctr -- ./many 2>err
python3 - "$dump" <<'END' || fail "many writers: see above"
import json, re, subprocess, sys
N = 4096
def run(*args):
    p = subprocess.run([sys.argv[1], "--json", "--no-disas", *args, "run.ctr"], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode:
        sys.exit(f"{args}: {p.returncode}: {p.stderr}")
    return [json.loads(line) for line in p.stdout.splitlines()], p.stderr
def bytes_of(e): # (address, size) of an object of an access or of a call
    return [(int(m["addr"], 16), m["size"]) for m in e.get("memory", [e]) if m.get("op", "write") == "write"]
base = min(int(e["addr"], 16) for e in run("--reads", "-e", "load", "-a", "buffer")[0])
values = [int(e["value"], 16) for e in run("--writes", "-e", "store,val", "-a", "seen")[0]]
if len(values) != N:
    sys.exit(f"the program read {len(values)} values")
for option, order in ("--last-write-before=crash", -1), ("--first-write-after=0/1", 1):
    found, err = run(option, "-a", f"{base:#x}+{N}", "--statistics")
    read, chunks = map(int, re.search(r" (\d+) of (\d+) chunks", err).groups())
    if chunks < 4 or read > 20 * chunks:
        sys.exit(f"{option}: {err}")
    left, last = set(range(base, base + N)), {}
    for e in found:
        mine = {b for a, n in bytes_of(e) for b in range(a, a + n)} & left
        left -= mine
        if not mine or (e["tid"] in last and (e["ordinal"] - last[e["tid"]]) * order <= 0):
            sys.exit(f"{option}: nothing new, or not in order: {e}, {last}")
        last[e["tid"]] = e["ordinal"]
        got = int(e["value"], 16) if e["kind"] == "store" else ord("x")
        if order < 0 and any(got != values[b - base] for b in mine):
            sys.exit(f"{option}: the program read something else: {e}")
    calls = sum(e["kind"] != "store" for e in found)
    if left or len(found) != N or calls != (50 if order < 0 else 0):
        sys.exit(f"{option}: {len(found)} events, {calls} calls, {len(left)} bytes without one")
END
finish
