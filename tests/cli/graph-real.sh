# SPDX-License-Identifier: MIT
# Profiles and call trees of two builds of a recorded program: a part, inverted, compared.
# The folded trees are the witness: Python turns them over, adds them up and compares them.
. "$SRC/tests/cli/librecord.sh"
sym="$BIN/tracesym"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
need x86_64-linux-gnu-gcc "$qemu_dir/qemu-x86_64"

cat >program.c <<'END'
#define NOINLINE __attribute__((noinline, noclone))
volatile int sink;
NOINLINE static void step(int n)
{
    for (int i = 0; i < n; i++) {
        sink += i;
    }
}
NOINLINE static void deeper(int n)
{
    step(n);
    if (n) {
        deeper(n - 1);
    }
    sink++;
}
#ifdef NEW
NOINLINE static void added(void)
{
    step(300);
    sink++;
}
#else
NOINLINE static void removed(void)
{
    step(200);
    sink++;
}
#endif
NOINLINE static void work(void)
{
#ifdef NEW
    step(500);
    added();
#else
    step(1000);
    removed();
#endif
    deeper(20);
    sink++;
}
int main(void)
{
    for (int i = 0; i < 20; i++) {
        work();
    }
    step(50);
    return 0;
}
END
for build in old new; do
    mkdir -p $build
    flag=$([ $build = new ] && echo -DNEW)
    x86_64-linux-gnu-gcc -static -g -O1 -fno-ipa-sra -fno-optimize-sibling-calls ${flag:+"$flag"} \
        -o $build/app program.c || exit 1
    "$BIN/cannoli-record" -q --qemu-dir "$qemu_dir" -o $build.ctr -- qemu-x86_64 $build/app ||
        fail "$build is not recorded"
done
cp new/app new/renamed
"$BIN/cannoli-record" -q --qemu-dir "$qemu_dir" -o renamed.ctr -- qemu-x86_64 new/renamed ||
    fail "renamed is not recorded"

# made NAME OPTION...: tracesym's output goes to NAME
made() {
    run 0 "$sym" "${@:2}"
    silent "${@:2}"
    mv stdout "$1"
}
for build in old new; do
    made $build.folded --calls -f folded $build.ctr
    made $build.inverted --calls --inverted -f folded $build.ctr
    made $build.inverted.json --calls --inverted --json $build.ctr
    made $build.json --calls --json $build.ctr
    made $build.functions.json --functions --json $build.ctr
done
for cost in loads stores; do
    made $cost.folded --calls -f folded --cost=$cost new.ctr
done
made inverted.text --calls --inverted new.ctr
made inverted.svg --calls --inverted -f svg new.ctr
made icicle.svg --calls --icicle -f svg new.ctr
made diff.folded --calls -f folded --diff=old.ctr new.ctr
made diff.json --calls --json --diff=old.ctr new.ctr
made diff.text --calls --diff=old.ctr new.ctr
made diff.svg --calls -f svg --diff=old.ctr new.ctr
made diff.functions --functions --json --diff=old.ctr new.ctr
made diff.inverted --calls --inverted -f folded --diff=old.ctr new.ctr
made same.folded --calls -f folded --diff=new.ctr new.ctr
made renamed.folded --calls -f folded --diff=new.ctr renamed.ctr
made work.folded --calls --function work -f folded new.ctr
made work.text --calls --function work new.ctr
made step.functions --functions --function 'st[e]p' --json new.ctr
made app.functions --functions --module 'app*' --json new.ctr
for order in self inclusive calls; do
    made $order.functions --functions --sort=$order --json new.ctr
    python3 - $order.functions $order new.functions.json <<'END' || fail "--sort=$order"
import json, sys
rows, all_rows = ([json.loads(line) for line in open(name)] for name in (sys.argv[1], sys.argv[3]))
key = sys.argv[2]
numbers = [r[key] for r in rows]
assert numbers == sorted(numbers, reverse=True), numbers[:10]
text = lambda rows: sorted(json.dumps(r) for r in rows)
assert text(rows) == text(all_rows)
END
done
made app.text --functions --module app --function 'd*' new.ctr

python3 - <<'PY' || fail "wrong sums"
import collections, json, re, subprocess, os
import xml.etree.ElementTree as ET


def folded(name):
    out = collections.Counter()
    for line in open(name):
        path, n = line.rsplit(" ", 1)
        out[path] += int(n)
    return out


def two(name):
    """Of a folded comparison: older, now."""
    older, now = collections.Counter(), collections.Counter()
    for line in open(name):
        path, a, b = line.rsplit(" ", 2)
        older[path] += int(a)
        now[path] += int(b)
    return +older, +now


def objects(name):
    return [json.loads(line) for line in open(name)]


def turned(paths):
    out = collections.Counter()
    for path, n in paths.items():
        out[";".join(reversed(path.split(";")))] += n
    return out


def without_pid(paths):
    return collections.Counter({re.sub(r"^(app|renamed)-\d+", "app", path): n
                                for path, n in paths.items()})


for build in ("old", "new"):
    info = json.loads(subprocess.run([os.environ["BIN"] + "/tracedump", "--info", "--json",
                                      build + ".ctr"], capture_output=True, check=True).stdout)
    paths, flat = folded(build + ".folded"), objects(build + ".functions.json")
    total = info["instructions"]
    assert sum(paths.values()) == sum(f["self"] for f in flat) == total
    assert folded(build + ".inverted") == turned(paths)
    roots = [n for n in objects(build + ".inverted.json") if n["parent"] is None]
    assert sum(n["inclusive"] for n in roots) == total
    assert sorted((n["function"], n["inclusive"]) for n in roots) == sorted(
        (f["function"], f["self"]) for f in flat if f["self"])
    if build == "new":
        assert sum(folded("loads.folded").values()) == sum(f["self_loads"] for f in flat) > 0
        assert sum(folded("stores.folded").values()) == sum(f["self_stores"] for f in flat) > 0

old, new = without_pid(folded("old.folded")), without_pid(folded("new.folded"))
assert two("diff.folded") == (old, new)
assert two("diff.inverted") == (turned(old), turned(new))
assert two("same.folded") == (new, new)
for path, a, b in (line.rsplit(" ", 2) for line in open("renamed.folded")):
    assert path.split(";")[0] == "renamed"
    if re.search("main;(work|step)", path):  # the same function in a renamed program
        assert int(a) == int(b) > 0, (path, a, b)
both = objects("diff.json")
assert sum(n["older_self"] for n in both) == sum(old.values())
assert sum(n["self"] for n in both) == sum(new.values())
flat = {f["function"]: f for f in objects("diff.functions")}
assert flat["added"]["older_self"] == 0 < flat["added"]["self"]
assert flat["removed"]["self"] == 0 < flat["removed"]["older_self"]
text = open("diff.text").read().splitlines()
assert [int(w) for w in text[-1].split()[:3]] == [sum(old.values()), sum(new.values()),
                                                  sum(new.values()) - sum(old.values())]

flat = objects("new.functions.json")
by_name = {f["function"]: f for f in flat}
work = folded("work.folded")
assert sum(work.values()) == by_name["work"]["inclusive"]
assert all(path.split(";")[0] == "work" for path in work)
whole = collections.Counter()
for path, n in folded("new.folded").items():
    if ";work" in path:
        whole["work" + path.split(";work", 1)[1]] += n
assert work == whole
assert open("work.text").read().splitlines()[-2].split() == [
    str(sum(work.values())), "%.1f%%" % (100 * sum(work.values()) / total), "in", "these", "calls"]
assert objects("step.functions") == [by_name["step"]]
assert objects("app.functions") == [
    f for f in flat if os.path.basename(f["module"] or "").startswith("app")]
assert re.search(r"^ *%d +[\d.]+%% in these \d+ of \d+ functions$" % sum(
    f["self"] for f in flat if f["function"].startswith("d") and os.path.basename(f["module"] or "") == "app"),
    open("app.text").read(), re.MULTILINE)
for name in ("inverted.svg", "icicle.svg", "diff.svg"):
    ET.parse(name)
PY

# nothing MESSAGE OPTION...: status 4, one line that says why, and no output file
nothing() {
    rm -f out
    run 4 "$sym" "${@:2}" -o out new.ctr
    one_line "${@:2}"
    grep -Eq "^tracesym: new.ctr: $1\$" stderr || fail "${*:2}: $(cat stderr)"
    [ ! -e out ] && [ ! -s stdout ] || fail "${*:2}: there is output"
}
for mode in --functions --calls "--calls -f svg" "--calls --inverted"; do
    nothing "nothing ran in a module 'nosuch\*'; modules with code that ran: app.*" $mode --module 'nosuch*'
    nothing "there is no function 'nosuch' in any file.*" $mode --function nosuch
    nothing "no function 'abort' ran in the selected modules" $mode --function abort --module app
done
for mode in --functions "--calls -f chrome" "--calls -f folded" --bbv=100; do
    nothing "no process '999999'; there are [0-9]+ \\(app\\)" $mode --pid 999999
    nothing "no thread '999999'; there are [0-9]+ \\(app\\)" $mode --thread 999999
    nothing "no instruction was executed in the selected part" $mode --from 99999999999
done
"$BIN/cannoli-record" -q --events=exec --qemu-dir "$qemu_dir" -o bare.ctr -- qemu-x86_64 new/app ||
    fail "bare is not recorded"
run 4 "$sym" --functions --function main bare.ctr
grep -q 'bare.ctr: the trace has no mappings' stderr || fail "no mappings: $(cat stderr)"
run 4 "$sym" -q --calls --cost=loads bare.ctr
grep -q "bare.ctr: no loads: the trace was recorded without 'mem'" stderr || fail "no loads: $(cat stderr)"

# Progress on a terminal.  A preloaded clock makes each job take seconds.
cat >clock.c <<'END'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *ts)
{
    static long calls;
    int ret = (int)syscall(SYS_clock_gettime, id, ts);
    ts->tv_sec += __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return ret;
}
END
cc -D_GNU_SOURCE -shared -fPIC -o clock.so clock.c || fail "clock.c cannot be built"
preload=$(ldd "$BIN/tracesym" | sed -n 's/.*=> \(.*lib[at]san[^ ]*\) .*/\1:/p' | head -1)$PWD/clock.so
# progress FILE OPTION...: standard error, and output unless FILE is given, are a terminal, and
# there is a progress line, which is wiped at the end
progress() {
    # shellcheck disable=SC2016  # the inner shell's
    python3 "$SRC/tests/cli/terminal.py" -- env CANNOLI_PAGER=cat \
        bash -c '[ -z "$1" ] || exec >"$1"; LD_PRELOAD=$2 "${@:3}"' bash \
        "$1" "$preload" "$sym" "${@:2}" new.ctr >terminal || fail "terminal.py"
    grep -q 'tracesym: .* M instructions' terminal || fail "no progress: ${*:2}"
    tail -c 100 terminal | grep -q $'\r\e\[K' || [ -z "$1" ] || fail "progress remains: ${*:2}"
}
progress out --calls -f chrome
progress out --calls -f folded
progress out --functions
progress out --bbv=1000
progress "" --bbv=1000 -o vectors
progress "" --functions
progress "" --calls -f chrome -o out
finish
