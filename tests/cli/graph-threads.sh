# SPDX-License-Identifier: MIT
# Profiles of threads: --functions --by=thread has for each thread what --thread shows of it
# alone, and --diff compares chosen ones.
. "$SRC/tests/cli/librecord.sh"
sym="$BIN/tracesym"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
need x86_64-linux-gnu-gcc "$qemu_dir/qemu-x86_64"

cat >program.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE void step(int n)
{
    for (volatile int i = 0; i < n; i++) {
    }
}
NOINLINE void deeper(int n)
{
    step(10 * n);
    if (n) {
        deeper(n - 1);
    }
    __asm__ volatile("");
}
NOINLINE void own(void) { step(7); __asm__ volatile(""); }
static void *body(void *arg)
{
    int n = *(int *)arg;
    pthread_setname_np(pthread_self(), n > 100 ? "long" : "short");
    step(n);
    if (n > 100) {
        deeper(5);
        own();
    }
    return NULL;
}
int main(int argc, char **argv)
{
    int n[2] = {atoi(argv[1]), 50};
    for (int i = 0; i < 2; i++) {
        pthread_t t;
        pthread_create(&t, NULL, body, &n[i]);
        pthread_join(t, NULL);
    }
    if (!fork()) {
        step(30);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
END
x86_64-linux-gnu-gcc -static -pthread -g -O1 -w -fno-optimize-sibling-calls -o app program.c || exit 1
for n in 1000 3000; do
    "$BIN/cannoli-record" -q --qemu-dir "$qemu_dir" -o $n.ctr -- qemu-x86_64 app $n ||
        fail "app $n is not recorded"
done

# made NAME OPTION...: tracesym's output goes to NAME
made() {
    run 0 "$sym" "${@:2}"
    silent "${@:2}"
    mv stdout "$1"
}
tids=$("$BIN/tracedump" --info --json 1000.ctr |
    python3 -c 'import json, sys; print(*[t["tid"] for t in json.load(sys.stdin)["threads"]])')
[ "$(wc -w <<<"$tids")" = 4 ] || fail "not four threads: $tids"
for tid in $tids; do
    made "$tid.json" --functions --json -t "$tid" 1000.ctr
done
made threads.json --functions --by=thread --json 1000.ctr
made threads.text --functions --by=thread 1000.ctr
# shellcheck disable=SC2086 # several words
python3 - $tids <<'PY' || fail "wrong threads"
import json, re, sys


def objects(name):
    return [json.loads(line) for line in open(name)]


threads = {}
for row in objects("threads.json"):
    key = row.pop("thread"), row.pop("pid"), row.pop("tid")
    threads.setdefault(key, []).append(row)
assert [str(tid) for _, _, tid in threads] == sys.argv[1:]
total = 0
for (name, pid, tid), rows in threads.items():
    alone = objects("%d.json" % tid)
    assert name == "%s-%d/%d" % (name.split("-")[0], pid, tid)
    # what has no function counts for the process in one, for the thread in the other
    same = lambda v: sorted(json.dumps(r) for r in v if r["kind"] == "function")
    if pid == tid and total:  # the calls that it is in since the fork are its parent's
        same = lambda v: sorted((r["function"], r["self"], r["self_loads"]) for r in v if r["self"])
    assert same(rows) == same(alone), (name, set(same(rows)) ^ set(same(alone)))
    numbers = [r["self"] for r in rows]
    assert numbers == sorted(numbers, reverse=True)
    assert sum(numbers) == sum(r["self"] for r in alone)
    total += sum(numbers)
names = [key[0].split("-")[0] for key in threads]
assert names == ["app", "long", "short", "app"], names

# text: the same numbers
parts = open("threads.text").read().split("\n\n")
assert len(parts) == 6 and int(parts[-1].split()[0]) == total
for part, (key, rows) in zip(parts[1:], threads.items()):
    lines = part.splitlines()
    assert lines[0] == key[0] + ":"
    assert [int(line.split()[0]) for line in lines[1:-1]] == [r["self"] for r in rows]
    assert int(lines[-1].split()[0]) == sum(r["self"] for r in rows)
    assert lines[-1].endswith(" in this thread")
PY

# A selection leaves out the threads that ran none of it
made own.json --functions --by=thread --function own --json 1000.ctr
[ "$(sed 's/-.*//' own.json)" = '{"thread": "long' ] || fail "own: $(cat own.json)"
made own.text --functions --by=thread --function own 1000.ctr
[ "$(grep ':$' own.text | sed 's/-.*//')" = long ] || fail "own: $(cat own.text)"
grep -q 'in these 1 of [0-9]* functions$' own.text || fail "own: $(cat own.text)"

# --diff of chosen threads.  The witness are the profiles of each alone.
# compared WHAT OLD NEW OPTION...: what the functions had in OLD.json and in NEW.json
compared() {
    made diff.json --functions --json "${@:4}"
    python3 - "$2" "$3" <<'PY' || fail "$1: $(head -5 diff.json)"
import collections, json, sys
want, got = collections.defaultdict(lambda: [0] * 4), {}
for i, name in enumerate(sys.argv[1:]):
    for f in map(json.loads, open(name + ".json")):
        if f["kind"] == "function":
            want[f["function"]][2 * i] += f["self"]
            want[f["function"]][2 * i + 1] += f["calls"]
for f in map(json.loads, open("diff.json")):
    if f["kind"] == "function":
        got[f["function"]] = [f["older_self"], f["older_calls"], f["self"], f["calls"]]
assert got == dict(want), [(k, got.get(k), want.get(k)) for k in {*got, *want}
                           if got.get(k) != want.get(k)]
assert want["own"] != [0] * 4
PY
}
for thread in long short; do
    for n in 1000 3000; do
        made $thread.$n.json --functions --json -t $thread $n.ctr
    done
done
made 1000.json --functions --json 1000.ctr
made 3000.json --functions --json 3000.ctr
long=$(sed 's/.*"tid": \([0-9]*\),.*/\1/' own.json)
compared "two threads" short.1000 long.1000 -t long --diff=1000.ctr --diff-thread=short 1000.ctr
compared "by id" long.1000 long.3000 -t long --diff=1000.ctr --diff-thread="$long" 3000.ctr
compared "in both" long.1000 long.3000 -t long --diff=1000.ctr 3000.ctr
compared "all and a thread" short.1000 3000 --diff=1000.ctr --diff-thread=short 3000.ctr
compared "a thread of a process" long.1000 3000 -p app --diff=1000.ctr --diff-thread=long 3000.ctr
compared "a thread and a process" 1000 long.3000 -t long --diff=1000.ctr --diff-pid=app 3000.ctr
# In a tree, too: the two are one root
made diff.folded --calls -f folded --by=thread -t long --diff=1000.ctr --diff-thread=short 1000.ctr
[ "$(sed 's/[; ].*//' diff.folded | sort -u)" = long ] || fail "roots: $(cat diff.folded)"
[ "$(grep -c ';body;step [1-9][0-9]* [1-9][0-9]*$' diff.folded)" = 1 ] ||
    fail "not in both: $(grep body diff.folded)"
# What is not there
run 4 "$sym" --functions -t long --diff=1000.ctr --diff-thread=none 3000.ctr
one_line --diff-thread=none
grep -q "1000.ctr: no thread 'none'" stderr || fail "$(cat stderr)"
run 4 "$sym" --functions -t none --diff=1000.ctr --diff-thread=long 3000.ctr
grep -q "3000.ctr: no thread 'none'" stderr || fail "$(cat stderr)"
finish
