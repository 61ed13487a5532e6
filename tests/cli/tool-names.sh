# SPDX-License-Identifier: MIT
# Names of code, data, moments, threads and processes (cannoli-names(7)) in all tools:
# compared with nm, readelf and addr2line, and with all events of the trace.
. "$SRC/tests/cli/libsymfile.sh"
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 gcc
need gcc nm addr2line python3
[ "$(uname -m)" = x86_64 ] || { echo "needs programs for x86_64"; exit 77; }
export CANNOLI_QEMU_DIR=$qemu_dir

cp "$SRC/tests/cli/bare.h" . || exit 1
cat >app.c <<'END'
#include "bare.h"
struct point { int x, y; };
struct shape { char name[8]; struct point corner[3]; };
struct shape shapes[2];
static long counter;
int total, app;
int leaf(int n)
{
    total += n;
    return n + 1;
}
static int helper_one(int n)
{
    counter++;
    return leaf(n);
}
static int helper_two(int n)
{
    counter += 2;
    return leaf(n + 1);
}
int main(long argc, char **argv)
{
    for (int i = 0; i < 3; i++) {
        helper_one(i);
    }
    helper_two(7);
    shapes[1].corner[2].y = 5;
    shapes[0].name[3] = 'x';
    app = argv[0][0];
    for (int i = 0; i < 200; i++) {
        counter++;
    }
    for (int i = 0; i < 2; i++) {
        sys(1, 1, (long)"done\n", 5, 0);
    }
    if (argc > 1) {
        sys(62, sys(39, 0, 0, 0, 0), 15, 0, 0); /* kill(getpid(), SIGTERM) */
    }
    return 0;
}
END
cat >tree.c <<'END'
#include "bare.h"
/* Runs each argument as a program, one after the other. */
int main(long argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *args[] = {argv[i], "x", 0}, *none[] = {0};
        if (!sys(57, 0, 0, 0, 0)) {
            sys(59, (long)argv[i], (long)args, (long)none, 0);
            return 1;
        }
        sys(61, -1, 0, 0, 0);
    }
    return 0;
}
END
cat >one.c <<'END'
#include "bare.h"
int value, other;
int work(int n) { value += n; return value; }
int main(long argc, char **argv) { for (int i = 0; i < 3; i++) work(i); return 0; }
END
# The same addresses mean something else.
cat >two.c <<'END'
#include "bare.h"
int pad[100], other, value;
int before(int n) { return n + 1; }
int work(int n) { value += before(n); return value; }
int main(long argc, char **argv) { for (int i = 0; i < 5; i++) { work(i); pad[i] = other++; } return 0; }
END
cat >bad.c <<'END'
#include "bare.h"
int main(long argc, char **argv) { return *(volatile int *)8; }
END
mkdir fixed
flags="-g -O0 -nostdlib -fno-stack-protector -fcf-protection=none"
build() {
    # shellcheck disable=SC2086
    gcc $flags "$@" || exit 1
}
build -static -no-pie -o fixed/app app.c
build -static-pie -fPIE -o pie app.c
for name in one two tree bad; do
    build -static -no-pie -o $name $name.c
done
all=mem,val,sys,map,thr,time
run 0 "$record" -q -e $all -o fixed.ctr -- fixed/app
run 0 "$record" -q -e $all -o pie.ctr -- ./pie
run 143 "$record" -q -e $all -o term.ctr -- ./pie x
run 0 "$record" -q --follow-exec -e $all -o tree.ctr -- ./tree ./one ./two ./one ./pie
run 0 "$record" -q --follow-exec -e $all -o crashes.ctr -- ./tree ./pie ./bad ./bad
run 0 "$record" -q --follow-exec -e $all -o random.ctr -- ./tree ./pie ./pie

cat >check.py <<'END'
import json, os, re, subprocess, sys

BIN = os.environ["BIN"]

def tool(status, *args):
    """Standard output of a tool, which must end with a status."""
    p = subprocess.run([BIN + "/" + args[0], *args[1:]], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    if p.returncode != status or (status in (1, 2, 4)) != bool(p.stderr):
        sys.exit(f"{args}: {p.returncode}, not {status}: {p.stderr}")
    return p.stdout if status not in (1, 2, 4) else p.stderr

def events(*args):
    return [json.loads(line) for line in tool(0, *args, "--json").splitlines()]

def symbols(path):
    """name -> (address, size) by nm"""
    out = subprocess.run(["nm", "-S", path], stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {r[3]: (int(r[0], 16), int(r[1], 16)) for r in rows if len(r) == 4}

def lines(path, addresses):
    """address -> line by addr2line"""
    text = "\n".join(hex(a) for a in addresses)
    out = subprocess.run(["addr2line", "-e", path], input=text, stdout=subprocess.PIPE,
                         text=True).stdout.splitlines()
    return {a: re.sub(r"^.*/| .*", "", where) for a, where in zip(addresses, out)}

class Trace:
    def __init__(self, path):
        self.path = path
        self.events = events("tracedump", "--no-disas", path)
        self.exec = [e for e in self.events if e["kind"] == "exec"]
        self.memory = [e for e in self.events if e["kind"] in ("load", "store")]
        info = events("tracedump", "--info", path)[0]
        self.threads = [(t["pid"], t["tid"]) for t in info["threads"]]

    def check(self, option, name, want, extra=()):
        """What both tools select is what is wanted: keys of events."""
        kinds = "exec" if option == "--pc" else "mem"
        for args in ("tracedump", "--no-disas"), ("tracesym",):
            if not want:
                tool(4, *args, "-e", kinds, *extra, option, name, self.path)
                continue
            got = events(*args, "-e", kinds, *extra, option, name, self.path)
            if [key(e) for e in got] != [key(e) for e in want]:
                sys.exit(f"{args[0]} {option} {name} {self.path}: {len(got)} events, "
                         f"not {len(want)}: {got[:2]}, not {want[:2]}")

def key(e):
    return e["kind"], e["pid"], e["tid"], e["ordinal"], e.get("pc"), e.get("addr")

def number(e, name="pc"):
    return int(e[name], 16)
END

cat >places.py <<'END'
# Locations in one process: want is by nm, addr2line and the structures above
import sys
from check import *

trace, path = Trace(sys.argv[1]), sys.argv[2]
name = os.path.basename(path)
table = symbols(path)
entry = [e for e in trace.exec if e.get("module", "").endswith("/" + name)][0]
bias = number(entry) - int(entry["vaddr"], 16) if "vaddr" in entry else None
if bias is None:
    text = tool(0, "tracesym", "-e", "exec", "--json", "--pc=main", trace.path)
    first = json.loads(text.splitlines()[0])
    bias = number(first) - int(first["vaddr"], 16)
    if int(first["vaddr"], 16) != table["main"][0]:
        sys.exit("main is not where nm has it")

def code(option, *ranges):
    trace.check("--pc", option, [e for e in trace.exec
                if any(a <= number(e) - bias < b for a, b in ranges)])

def data(option, *ranges):
    trace.check("--addr", option,
                [e for e in trace.memory if any(number(e, "addr") - bias < b and
                 number(e, "addr") - bias + e["size"] > a for a, b in ranges)])

def function(n):
    return table[n][0], table[n][0] + table[n][1]

leaf, main = function("leaf"), function("main")
code("leaf", leaf)
code(f"{name}!leaf", leaf)
code(f"{name[:2]}*!leaf", leaf)
code("'leaf'", leaf)
code("helper_*", function("helper_one"), function("helper_two"))
code("helper_[a-o]*,leaf", function("helper_one"), leaf)
code("leaf+1", (leaf[0] + 1, leaf[0] + 2))
code("leaf+0+5", (leaf[0], leaf[0] + 5))
code(f"{name}!leaf+0x4+1", (leaf[0] + 4, leaf[0] + 5))
code(f"{name}!0x{leaf[0]:x}", (leaf[0], leaf[0] + 1))
code("leaf-helper_two", (leaf[0], function("helper_two")[0]))
code(f"0x{leaf[0] + bias:x}", (leaf[0], leaf[0] + 1))
code(f"0x{leaf[0] + bias:x}-0x{leaf[1] + bias:x}", leaf)
code(f"0x{leaf[0] + bias:x}+0x{leaf[1] - leaf[0]:x}", leaf)
if name != "app": # which is a variable, too
    code(f"{name}+0x{leaf[0]:x}", (leaf[0], leaf[0] + 1))
    code(f"{name}+0x{leaf[0]:x}+5", (leaf[0], leaf[0] + 5))
    code(f"{name}+0x{leaf[0]:x}-{name}+0x{main[0]:x}", (leaf[0], main[0]))
own = sorted({number(e) - bias for e in trace.exec
              if any(function(n)[0] <= number(e) - bias < function(n)[1]
                     for n in ("leaf", "helper_one", "helper_two", "main"))})
at = lines(path, own)
for line in (9, 10, 14, 15, 27):
    want = [(a, a + 1) for a in own if at[a] == f"app.c:{line}"]
    if not want:
        sys.exit(f"nothing at line {line}")
    code(f"app.c:{line}", *want)
    code(f"{name}!app.c:{line}", *want)
code("app.c:12-app.c:17", (function("helper_one")[0], function("helper_two")[0]))

total, shapes = table["total"][0], table["shapes"][0]
data("total", (total, total + 4))
data(f"{name}!total", (total, total + 4))
data("counter,total", (total, total + 4), (table["counter"][0], table["counter"][0] + 8))
data("tot*", *[function(n) for n in table if n.startswith("tot")])
data("shapes", (shapes, shapes + 64))
data("shapes[1]", (shapes + 32, shapes + 64))
data("shapes[0].name", (shapes, shapes + 8))
data("shapes[0].name[3]", (shapes + 3, shapes + 4))
data("shapes[0].name[2]", (shapes + 2, shapes + 3))
data("shapes[1].corner[2].y", (shapes + 60, shapes + 64))
data("shapes[1].corner[2].x", (shapes + 56, shapes + 60))
data("shapes+3", (shapes + 3, shapes + 4))
data("shapes+60+2", (shapes + 60, shapes + 62))
data("shapes+64", (shapes + 64, shapes + 65))
data(f"0x{total + bias:x}", (total + bias - bias, total + 1))
END

cat >tree.py <<'END'
# A process tree: each name at its own addresses
from check import *

trace = Trace("tree.ctr")
programs = {}
for e in trace.exec:
    programs.setdefault((e["pid"], os.path.basename(e.get("module", ""))), []).append(e)

def of(program, kinds, name, size=None):
    a, n = symbols(program)[name]
    n = size or n
    pids = {p for p, m in programs if m == program}
    inside = lambda e: (a <= number(e) < a + n if kinds == "exec" else
                        number(e, "addr") < a + n and number(e, "addr") + e["size"] > a)
    # of a process that executed several programs only what this one did
    last = {p: [e["ordinal"] for e in programs[p, program]] for p in pids}
    return {key(e) for e in (trace.exec if kinds == "exec" else trace.memory)
            if e["pid"] in pids and inside(e) and e["ordinal"] in set(last[e["pid"]])}

for option, kinds, name in (("--pc", "exec", "work"), ("--addr", "mem", "value"),
                            ("--addr", "mem", "other")):
    one, two = (of(p, kinds, name) for p in ("one", "two"))
    events_ = trace.exec if kinds == "exec" else trace.memory
    pick = lambda keys: [e for e in events_ if key(e) in keys]
    if not two or name != "other" and not one:
        sys.exit(f"{name}: nothing to compare")
    trace.check(option, name, pick(one | two))
    trace.check(option, f"one!{name}", pick(one))
    trace.check(option, f"two!{name}", pick(two))
    trace.check(option, f"*!{name}", pick(one | two))

# Processes and threads: the shell's child has its name first, then the program's.
info = events("tracedump", "--info", trace.path)[0]
order = {}
for t in info["threads"]:
    order.setdefault(t["pid"], []).append(t["instructions"])
pid = [p for p, m in programs if m == "two"][0]
if len(order[pid]) != 2:
    sys.exit(f"{pid} is not two processes")
for option in "-p", "-t":
    for text, want in ((f"{pid}", sum(order[pid])), (f"{pid}/1", order[pid][0]),
                       (f"{pid}/2", order[pid][1]), ("two", order[pid][1]),
                       ("tw?", order[pid][1]), ("comm:two", order[pid][1]),
                       (f"two,{pid}/1", sum(order[pid])), (f"two,{pid}", sum(order[pid]))):
        got = [e for e in events("tracedump", "-e", "exec", "--no-disas", option, text, trace.path)]
        if len(got) != want:
            sys.exit(f"{option} {text}: {len(got)}, not {want}")
        if len(events("tracesym", "-e", "exec", option, text, trace.path)) != want:
            sys.exit(f"tracesym {option} {text}")
for option, what in (("-p", "process"), ("-t", "thread")):
    for text in f"{pid}/3", "nosuch", "999999", "comm:7":
        for t in "tracedump", "tracesym", "tracecov":
            err = tool(4, t, option, text, trace.path)
            if t != "tracecov" and (f"no {what} '{text.replace('comm:', '')}'" not in err or
                                    f"{pid} (two{' x' if option == '-p' else ''})" not in err):
                sys.exit(f"{t} {option} {text}: {err}")

# Of several threads one must be chosen for an ordinal.
err = tool(1, "tracedump", "--state=5", trace.path)
if "--state=5/K" not in err:
    sys.exit(err)
k = [(t["pid"], t["instructions"]) for t in info["threads"]].index((pid, order[pid][1])) + 1
for args in (f"--state=5/{k}",), ("--state=5", "-p", "two"), ("--state=5", "-p", f"{pid}/2"), \
        ("--state=5/2", "-t", f"{pid}"):
    state = events("tracedump", *args, trace.path)[0]
    if (state["pid"], state["ordinal"]) != (pid, 5) or "two" not in json.dumps(state):
        sys.exit(f"{args}: {state}")
# crash: the only process that a signal ended
for moment in "crash", "crash/1":
    state = events("tracedump", "--state=" + moment, trace.path)[0]
    if not any(p["pid"] == state["pid"] and p["end_reason"] == "signal"
               for p in info["processes"]):
        sys.exit(f"{moment}: {state['pid']}: {info['processes']}")
if "fewer processes" not in tool(4, "tracedump", "--state=crash/2", trace.path):
    sys.exit("crash/2")

# Two that an instruction ended, and which of them first
crashes = Trace("crashes.ctr")
last = {}
for e in crashes.exec:
    last[e["pid"]] = e
ended = sorted((p["end"], p["pid"]) for p in
               events("tracedump", "--info", crashes.path)[0]["processes"]
               if p["end_reason"] == "signal")
if len(ended) != 3:
    sys.exit(f"{ended}")
for moment, which in ("crash", 1), ("crash/1", 0), ("crash/2", 1), ("crash/3", 2):
    state = events("tracedump", "--state=" + moment, crashes.path)[0]
    if (state["pid"], state["ordinal"]) != (ended[which][1], last[ended[which][1]]["ordinal"] + (which == 0)):
        sys.exit(f"{moment}: {state['pid']} {state['ordinal']}: {ended} {last}")
END

cat >random.py <<'END'
# One program in two processes, at the addresses of each
from check import *

trace = Trace("random.ctr")
table = symbols("pie")
leaf = [e for e in events("tracesym", "-e", "exec", "--module=pie", trace.path)
        if table["leaf"][0] <= number(e, "vaddr") < sum(table["leaf"])]
bias = {e["pid"]: number(e) - number(e, "vaddr") for e in leaf}
if len(bias) != 2:
    sys.exit(f"{bias}")
keys = {key(e) for e in leaf}
trace.check("--pc", "leaf", [e for e in trace.exec if key(e) in keys])
total = [e for e in trace.memory if e["pid"] in bias and
         number(e, "addr") - bias[e["pid"]] == table["total"][0]]
if len(total) != 16:
    sys.exit(f"{len(total)} accesses to total")
trace.check("--addr", "total", total)
for pid in bias:
    trace.check("--addr", "total", [e for e in total if e["pid"] == pid], ("-p", str(pid)))
    # an address counts in every process
    at = bias[pid] + table["total"][0]
    trace.check("--addr", hex(at), [e for e in trace.memory if number(e, "addr") <= at <
                                    number(e, "addr") + e["size"]])
END

cat >moments.py <<'END'
# Moments: ordinals of the full list of events
from check import *

trace = Trace(sys.argv[1])
path = sys.argv[2]
calls = [e for e in trace.events if e["kind"] == "syscall"]
count = len(trace.exec)
text = events("tracesym", "-e", "exec", "--pc=leaf", trace.path)
leaf = [e["ordinal"] for e in text if e["offset"] in (0, "0x0")]
if len(leaf) != 4:
    sys.exit(f"{len(leaf)} calls of leaf")
helpers = [e["ordinal"] for e in events("tracesym", "-e", "exec", "--pc=helper_*", trace.path)
           if e["offset"] in (0, "0x0")]
writes = [e["ordinal"] for e in calls if e["name"] == "write"]
want = {
    "0": 0, "1234": 1234, "1,234": 1234, "0x4d2": 1234, "1.234K": 1234, "1k": 1000,
    "0.001M": 1000, "1234/1": 1234, "end": count, "end/1": count, "999s": count, "1min": count,
    "0s": 0, str(count): count,
    "call:leaf": leaf[0], "call:leaf/2": leaf[1], "call:leaf/-1": leaf[3],
    "call:leaf/-4": leaf[0], f"call:{os.path.basename(path)}!leaf/3": leaf[2],
    "call:helper_*/4": helpers[3], "call:leaf,helper_two/-2": helpers[3],
    "call:leaf+1/2": leaf[1] + 1,
    "syscall:write": writes[0], "syscall:writ?/2": writes[1], "syscall:write/-1": writes[1],
    "syscall:*": calls[0]["ordinal"], "syscall:*/-1": calls[-1]["ordinal"],
    f"syscall:*/{len(calls)}": calls[-1]["ordinal"],
}
for moment, ordinal in want.items():
    state = events("tracedump", "--state=" + moment, trace.path)[0]
    if state["ordinal"] != ordinal:
        sys.exit(f"--state={moment}: {state['ordinal']}, not {ordinal}")
    kept = [e for e in trace.exec if e["ordinal"] >= ordinal]
    if moment.endswith(("s", "min")) or not 0 < len(kept) < count:
        continue
    for option, wanted in (("--from", kept), ("--to", trace.exec[:count - len(kept)])):
        got = events("tracedump", "-e", "exec", "--no-disas", option + "=" + moment, trace.path)
        if [key(e) for e in got] != [key(e) for e in wanted]:
            sys.exit(f"{option}={moment}: {len(got)} instructions, not {len(wanted)}")
got = events("tracesym", "-e", "exec", "--from=call:leaf/2", "-n", "7", trace.path)
if [e["ordinal"] for e in got] != list(range(leaf[1], leaf[1] + 7)):
    sys.exit("--from with --count")
# A time: the instructions after the event that it is the time of
t = calls[-2]["time"]
for moment in f"{t * 1e9:.0f}ns", f"{t * 1e6:.3f}us", f"{t:.9f}s":
    got = events("tracedump", "-e", "exec", "--no-disas", "--from=" + moment, trace.path)
    if got[-1]["ordinal"] != count - 1 or abs(got[0]["ordinal"] - calls[-2]["ordinal"]) > 1:
        sys.exit(f"--from={moment}: {got[0]}, {calls[-2]}")
# In all tools the same
first = tool(0, "tracesym", "--backtrace=call:leaf/4", "-q", trace.path).splitlines()
if [re.search(r" in (\w+) ", line)[1] for line in first[:3]] != ["leaf", "helper_two", "main"]:
    sys.exit(f"--backtrace: {first}")
if not re.match(r"#0 +(0x[0-9a-f]+ in )?_start ", tool(0, "tracesym", "--backtrace=end", "-q", trace.path)):
    sys.exit("--backtrace=end")
found = events("tracesym", "-a", "total", "--last-write-before=call:leaf/2", trace.path)
stores = [e["ordinal"] for e in events("tracedump", "-e", "store", "-a", "total", trace.path)]
if found[0]["ordinal"] != max(o for o in stores if o < leaf[1]):
    sys.exit(f"--last-write-before: {found}")
covered = tool(0, "tracecov", "-q", "--from=call:leaf/3", "--to=call:leaf/4",
               "--module=*" + os.path.basename(path), trace.path)
if "DA:9,1\n" not in covered or "DA:14,0\n" not in covered:
    sys.exit("tracecov --from --to")
# What is not there, and what is no moment
for moment, why in (("crash", "no process was ended by a signal"),
                    ("mark:x", "there is none"), ("syscall:nosuch", "there is none"),
                    ("syscall:write/3", "there are only 2"), ("call:leaf/5", "there are only 4"),
                    ("call:main/2", "there is only 1"), ("call:leaf/-5", "there are only 4"),
                    ("call:laef", "did you mean 'leaf'"), ("end/2", "no such thread")):
    err = tool(4, "tracedump", "--state=" + moment, trace.path)
    if why not in err:
        sys.exit(f"{moment}: {err}")
tool(4, "tracedump", f"--state={count + 1}", trace.path)
for moment, why in (("--from=999999999", f"no thread selected has more than {count} instructions"),
                    ("--from=syscall:wriet", "did you mean 'write'"),
                    ("--state=syscall:zzzzzzzzzz", "there are '")):
    err = tool(4, "tracedump", moment, trace.path)
    if why not in err:
        sys.exit(f"{moment}: {err}")
err = tool(2, "tracedump", "--from=foo", trace.path)
if "call:FUNCTION" not in err:
    sys.exit(err)
for moment in ("", "x", "1,23", "12,34", "1.2345K", "0x1K", "1.5", "-1", "end/0", "end/-1", "crash/x",
               "call:", "mark:", "syscall:", "3 s", "99999999999999999999"):
    tool(2, "tracedump", "--state=" + moment, trace.path)
for t, option in (("tracedump", "--from"), ("tracesym", "--to"), ("tracesym", "--backtrace"),
                  ("tracesym", "--last-read-before"), ("tracecov", "--from")):
    tool(2, t, option + "=1,23", trace.path)
END

for script in "places fixed.ctr fixed/app" "places pie.ctr pie" "moments pie.ctr pie" tree random; do
    # shellcheck disable=SC2086
    set -- $script
    python3 "$1.py" "${@:2}" || fail "$script"
done

# nothing OPTION ARGUMENT WHY: status 4, and why, in both tools
nothing() {
    local tool
    for tool in tracedump tracesym; do
        run 4 "$BIN/$tool" "$1" "$2" fixed.ctr
        one_line "$tool $1 $2"
        [ ! -s stdout ] || fail "$tool $1 $2: something on stdout"
        grep -qF -- "$3" stderr || fail "$tool $1 $2: $(cat stderr)"
    done
}
nothing --pc laef "no function 'laef' (did you mean 'leaf'?)"
nothing --pc app!laef "no function 'laef' (did you mean 'leaf'?)"
nothing --pc leaf,laef "no function 'laef' (did you mean 'leaf'?)"
nothing --pc nosuch!leaf "no program or library 'nosuch' ran"
nothing --pc nosuch.c:3 "no source file 'nosuch.c'"
nothing --pc app.c:99999 "no code of app.c at line 99999"
nothing --pc main-leaf "'main-leaf' is no range"
nothing --pc leaf-mian "no function 'mian' (did you mean 'main'?)"
nothing --pc app "'app' is a program or library, no function"
nothing --addr totl "no object or function 'totl' (did you mean 'total'?)"
nothing --addr 'shapes[2]' 'has no element 2'
nothing --addr shapes.name "shapes of app"
nothing --addr 'shapes[0].nosuch' "has no member 'nosuch'"
nothing --addr 'shapes[0].nmae' "has no member 'nmae' (did you mean 'name'?)"
nothing --addr 'shpaes[0].name' "no object or function 'shpaes' (did you mean 'shapes'?)"
nothing --addr 'shapes[0].name->x' 'pointers are not followed: use the address'
nothing --addr i "'i' is a local variable of main, which has no fixed address"
nothing --addr leaf::n "'n' is a parameter of leaf, which has no fixed address"
nothing --addr leaf::i "no object or function 'leaf::i'"
nothing --addr total+1000000+8 "there is no such event"
# a module and a variable
for tool in tracedump tracesym; do
    is_usage $tool -a app+0x10 fixed.ctr
    grep -qF "write app!0x10 or app!app+0x10" stderr || fail "$(cat stderr)"
    for bad in '' ',' 'leaf,' ',leaf' "'leaf" 'area(int' 'x[1' 5-5 6-5 '12,0x' leaf+1+0 \
        leaf+zz leaf+ leaf- app! app.c:; do
        is_usage $tool --pc="$bad" fixed.ctr
        is_usage $tool --addr="$bad" fixed.ctr
    done
    for bad in '' ',' 0 12x 1/0 1/x '1,,' 99999999999; do
        is_usage $tool -p "$bad" fixed.ctr
        is_usage $tool -t "$bad" fixed.ctr
    done
done
run 0 "$dump" -e mem -a app!app+0 fixed.ctr

# The signal came from elsewhere
run 0 "$dump" --json --state=crash term.ctr
run 0 "$dump" --json --state=end term.ctr
run 0 "$BIN/tracesym" --backtrace=crash term.ctr
grep -q main stdout || fail "--backtrace=crash: $(cat stdout)"

# Streams: numbers, ids, and fixed programs of --elf
run 0 "$dump" -e exec --pc=leaf --elf fixed/app - < <(cat fixed.ctr)
cp stdout in_stream
run 0 "$dump" -e exec --pc=leaf fixed.ctr
same stdout in_stream "leaf of a stream"
run 0 "$BIN/tracesym" -e mem -a 'app!shapes[1].corner' --elf fixed/app - < <(cat fixed.ctr)
run 4 "$dump" -q -e exec --pc=leaf - < <(cat fixed.ctr)
one_line stream
run 0 "$dump" -e exec --from=1K -n 5 - < <(cat fixed.ctr)
[ "$(awk 'NR == 1 { print $1 }' stdout)" = 1000 ] || fail "--from of a stream: $(head -1 stdout)"
for moment in crash end call:leaf mark:x syscall:write 5/1; do
    run 1 "$dump" --from=$moment --elf fixed/app - < <(cat fixed.ctr)
    one_line "$moment of a stream"
    run 1 "$dump" --state=$moment --elf fixed/app - < <(cat fixed.ctr)
    one_line "$moment of a stream"
done
for who in app 4242/1; do
    run 1 "$dump" -p $who - < <(cat fixed.ctr)
    one_line "-p $who of a stream"
done
run 1 "$BIN/tracesym" -q --trace-calls=leaf --elf fixed/app - < <(cat fixed.ctr)
one_line "--trace-calls of a stream"

# C++: parts of names, overloads, operators
if command -v g++ >/dev/null; then
    cat >shapes.cpp <<'END'
extern "C" {
#include "bare.h"
}
namespace ns {
struct Box {
    int side;
    explicit Box(int n) : side(n) {}
    int area(int k) const { return side * side + k; }
    int area(int k, char) const { return side + k; }
    Box operator+(const Box &o) const { return Box(side + o.side); }
    bool operator!() const { return side == 0; }
};
int last;
}
int main(long, char **)
{
    ns::Box a(3), b(4);
    ns::last = a.area(1) + b.area(2, 'x') + (a + b).side + !a;
    return ns::last == 0;
}
END
    # shellcheck disable=SC2086
    g++ $flags -Wno-main -static -no-pie -o boxes shapes.cpp || exit 1
    run 0 "$record" -q -o boxes.ctr -- ./boxes
    # cpp PLACES LINKAGE...: is the code of these symbols
    cpp() {
        local place=$1 name from size
        shift
        for name in "$@"; do
            read -r from size < <(nm -S boxes | awk -v n="$name" '$4 == n { print $1, $2 }')
            "$dump" -e exec --no-disas --pc="boxes!0x$from-boxes!0x$(printf %x $((0x$from + 0x$size)))" \
                boxes.ctr
        done | awk '{ print $1, $3 }' | sort >want
        [ -s want ] || fail "no $*"
        for tool in tracedump tracesym; do
            run 0 "$BIN/$tool" -e exec --pc="$place" boxes.ctr
            cmp -s want <(awk '{ print $1, $3 }' stdout | sort) ||
                fail "$tool --pc=$place"
        done
    }
    one=_ZNK2ns3Box4areaEi two=_ZNK2ns3Box4areaEic
    for name in area Box::area ns::Box::area '*::area' 'ns::Box::are?'; do
        cpp "$name" $one $two
    done
    for name in "'ns::Box::area(int)'" "Box::area(int)" "$one" "'area(int)'" "'ns::Box::area(int) const'"; do
        cpp "$name" $one
    done
    cpp "area(int, char)" $two
    cpp "'ns::Box::area(int, char)',main" $two main
    cpp "ns::Box::operator+" _ZNK2ns3BoxplERKS0_
    cpp "ns::Box::operator!" _ZNK2ns3BoxntEv
    cpp "boxes!ns::Box::operator!" _ZNK2ns3BoxntEv
    cpp "'main'" main
    run 0 "$dump" --json -e mem -a ns::last boxes.ctr
    [ "$(grep -c '"kind":"store"' stdout)" = 1 ] || fail "ns::last: $(cat stdout)"
    run 4 "$dump" -e exec --pc="'area(long)'" boxes.ctr
fi
# A function in two parts: its name is both, an offset is from its begin.
cat >parts.c <<'END'
#include "bare.h"
__asm__(".globl parted\n.type parted, @function\nparted: nop\nnop\nret\n.size parted, .-parted\n"
        ".type parted.cold, @function\nparted.cold: nop\nnop\nret\n"
        ".size parted.cold, .-parted.cold\n");
int main(long argc, char **argv)
{
    __asm__ volatile("call parted\n call parted.cold");
    return 0;
}
END
build -static -no-pie -o parts parts.c
run 0 "$record" -q -e exec,map -o parts.ctr -- ./parts
for place in parted:6 parted+1:1 parted+0+2:2 parts!parted.cold:3 parted-parted.cold:3; do
    run 0 "$dump" -e exec --no-disas --pc="${place%:*}" parts.ctr
    [ "$(wc -l <stdout)" = "${place#*:}" ] || fail "${place%:*}: $(cat stdout)"
done
finish
