#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs, as ratios to the same QEMU without -cannoli.

Each program is run in turn plain and, for each set of events, with its events
thrown away (jit: what the translated code alone costs) and recorded to a file,
again and again; the table shows the median of the wall-clock times, divided by
the plain one's, and the size of the trace in bits for each instruction.  Nothing
is asserted: machines differ, and this one may be busy.

With --choices what is measured is a recording of a part: nothing chosen, all of it
paused, one function that runs now and then, each block once.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SETS = [
    ("exec", "exec"),
    ("mem", "exec,mem"),
    ("val", "exec,mem,val"),
    ("reg", "exec,reg"),
    ("sys", "exec,sys,time"),
    ("map", "exec,map"),
    ("thr", "exec,thr"),
    ("default", None),
    ("all", "all"),
]
# Ways of choosing; {cold}: a function of the program that runs now and then
CHOICES = [
    ("nothing", ["--range", "0-1"]),
    ("paused", ["--paused"]),
    ("cold", ["--function", "{cold}"]),
    ("coverage", ["--coverage"]),
]
COLD = {"sqlite3": "sqlite3_finalize", "python3": "PyErr_Clear", "mixed": "exit"}
# What the project wants to keep below, as ratios to plain
CHOICE_AIMS = {"nothing": 1.02, "paused": 1.02, "cold": 1.02, "coverage": 1.10}
# Programs that do nothing but one thing: not part of the medians
EXTREME = ("nops", "calls")


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(ROOT, "build"),
                   help="build folder with bin/, libexec/ and sysroot/")
    p.add_argument("--qemu-dir", help="folder of the patched QEMUs")
    p.add_argument("--sysroot", help="folder made by scripts/sysroot.sh")
    p.add_argument("--runs", type=int, default=5, help="runs of each (default 5)")
    p.add_argument("--only", default="", help="programs whose name contains this")
    p.add_argument("--sets", default=",".join(name for name, _ in SETS),
                   help="sets of events, of %(default)s (all)")
    p.add_argument("--choices", action="store_true", help="measure recordings of a part")
    p.add_argument("--json", metavar="FILE", help="write all times to FILE, too")
    return p.parse_args()


def make_programs(args, tmp):
    """(name, qemu, command line) of what can be built or found here."""
    qemu, sysroot, found = args.qemu_dir, args.sysroot, []

    def compile_with(cc, out, *flags):
        out = os.path.join(tmp, out)
        subprocess.run([cc, "-O2", "-static", *flags, "-o", out], check=True)
        return out

    data = os.path.join(tmp, "data")
    with open(data, "wb") as f:
        seed = 1
        words = []
        for i in range(400000):
            seed = (seed * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
            words.append("%x %d\n" % (seed >> (40 + i % 20), i))
        f.write("".join(words).encode())
    sql = os.path.join(tmp, "input.sql")
    with open(sql, "w") as f:
        f.write("create table t(a integer primary key, b integer, c text);\n"
                "with recursive n(i) as (select 1 union all select i+1 from n "
                "where i<60000) insert into t select i, (i*7919)%10007, "
                "'row '||i from n;\ncreate index tb on t(b);\n"
                "select count(*), sum(length(c)) from t where b between 100 and "
                "5000;\nselect b, count(*) from t group by b order by 2 desc, 1 "
                "limit 5;\nupdate t set c=upper(c) where b%3=0;\n"
                "select sum(a) from t where c like 'ROW 1%';\n")
    found.append(("mixed arm", qemu + "/qemu-arm",
                  [compile_with("arm-linux-gnueabihf-gcc", "mixed-arm",
                                HERE + "/mixed.c"), "12"], None))
    found.append(("mixed x86_64", qemu + "/qemu-x86_64",
                  [compile_with("gcc", "mixed-x86_64", HERE + "/mixed.c"), "12"],
                  None))
    root = os.path.join(sysroot, "armhf")
    busybox = os.path.join(root, "bin/busybox")
    if os.path.exists(busybox):
        prefix = ["-L", root, busybox]
        found.append(("gzip armhf", qemu + "/qemu-arm",
                      prefix + ["gzip", "-c", data], None))
        found.append(("sha256sum armhf", qemu + "/qemu-arm",
                      prefix + ["sha256sum"] + [data] * 16, None))
        found.append(("sqlite3 armhf", qemu + "/qemu-arm",
                      ["-L", root, os.path.join(root, "usr/bin/sqlite3"),
                       ":memory:"], sql))
    else:
        print("no busybox in %s: run scripts/sysroot.sh armhf" % root,
              file=sys.stderr)
    found += python(qemu, sysroot, tmp)
    found.append(("calls arm", qemu + "/qemu-arm",
                  [compile_with("arm-linux-gnueabihf-gcc", "calls-arm",
                                HERE + "/calls.c"), "100000"], None))
    found.append(("nops mipsel", qemu + "/qemu-mipsel",
                  [compile_with("mipsel-linux-gnu-gcc", "nops", "-nostdlib",
                                HERE + "/nops.S")], None))
    return [p for p in found if args.only in p[0] and os.path.exists(p[1])]


PYTHON = """
import json, re
words = {}
for i in range(60000):
    w = "%x" % (i * 7919 % 10007)
    words[w] = words.get(w, 0) + len(re.sub("[0-4]", "", w))
text = json.dumps(sorted(words.items()))
print(len(text), sum(n for _, n in json.loads(text)))
"""


def python(qemu, sysroot, tmp):
    """A python3 of another machine if the sysroot has one, else this machine's."""
    script = os.path.join(tmp, "words.py")
    with open(script, "w") as f:
        f.write(PYTHON)
    for arch, target in (("armhf", "arm"), ("arm64", "aarch64"), ("riscv64", "riscv64")):
        root = os.path.join(sysroot, arch)
        program = os.path.join(root, "usr/bin/python3")
        if os.path.exists(program):
            return [("python3 " + arch, qemu + "/qemu-" + target,
                     ["-L", root, program, "-S", script], None)]
    if platform.machine() == "x86_64" and os.path.exists("/usr/bin/python3"):
        return [("python3 x86_64", qemu + "/qemu-x86_64", ["/usr/bin/python3", "-S", script], None)]
    return []


def run(command, stdin):
    """Seconds of wall-clock time that the command took."""
    with open(stdin or os.devnull) as source:
        begin = time.monotonic()
        done = subprocess.run(command, stdin=source, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        took = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit("%s: status %d: %s" % (" ".join(command), done.returncode,
                                        done.stderr.decode(errors="replace")))
    return took


def measure(args, program, sets, tmp):
    name, qemu, command, stdin = program
    trace = os.path.join(tmp, "bench.ctr")
    record = os.path.join(args.build, "bin/cannoli-record")
    modes = [("plain", "", [qemu] + command)]
    for set_name, events in sets:
        options = ["--events", events] if events else []
        for how, more in ("jit", ["--discard"]), ("file", ["-o", trace]):
            modes.append((how, set_name,
                          [record, "-q"] + more + options + ["--", qemu] + command))
    times = {(how, set_name): [] for how, set_name, _ in modes}
    size = {}
    for _ in range(args.runs):
        for how, set_name, line in modes:
            times[how, set_name].append(run(line, stdin))
            if how == "file":
                size[set_name] = os.path.getsize(trace)
    info = subprocess.run([os.path.join(args.build, "bin/tracedump"), "--info",
                           "--json", trace], check=True, capture_output=True)
    insns = json.loads(info.stdout)["instructions"]
    os.remove(trace)
    plain = statistics.median(times["plain", ""])
    result = {"program": name, "instructions": insns, "plain seconds": plain,
              "plain times": times["plain", ""], "sets": {}}
    for set_name, _ in sets:
        result["sets"][set_name] = {
            "jit": statistics.median(times["jit", set_name]) / plain,
            "file": statistics.median(times["file", set_name]) / plain,
            "bits per instruction": 8 * size[set_name] / insns,
            "jit times": times["jit", set_name],
            "file times": times["file", set_name],
        }
    return result


def measure_choices(args, program, tmp):
    """Ratios to plain of each way of choosing, with its trace written to a file."""
    name, qemu, command, stdin = program
    trace = os.path.join(tmp, "bench.ctr")
    record = os.path.join(args.build, "bin/cannoli-record")
    modes = [("plain", [qemu] + command)]
    for choice, options in CHOICES:
        cold = COLD.get(name.split()[0])
        if cold or choice != "cold":
            options = [o.format(cold=cold) for o in options]
            modes.append((choice, [record, "-q", "-o", trace] + options + ["--", qemu] + command))
    times = {mode: [] for mode, _ in modes}
    for _ in range(args.runs):
        for mode, line in modes:
            times[mode].append(run(line, stdin))
    plain = statistics.median(times["plain"])
    print("%-16s plain %.2f s" % (name, plain))
    for mode, _ in modes[1:]:
        print("  %-14s %8.3f (aim %.2f)" % (mode, statistics.median(times[mode]) / plain,
                                            CHOICE_AIMS[mode]), flush=True)
    return {"program": name, "times": times}


def show(result, sets):
    print("%-16s %9.0f Minsn, plain %.2f s" % (
        result["program"], result["instructions"] / 1e6, result["plain seconds"]))
    for set_name, _ in sets:
        r = result["sets"][set_name]
        print("  %-14s %8.2f %8.2f %10.3f %10.0f" % (
            set_name, r["jit"], r["file"], r["bits per instruction"],
            result["instructions"] / (result["plain seconds"] * r["file"]) / 1e6),
            flush=True)


def show_medians(results, sets):
    real = [r for r in results if not r["program"].startswith(EXTREME)]
    if not real:
        return
    print("median of %s" % ", ".join(r["program"] for r in real))
    for set_name, _ in sets:
        print("  %-14s %8.2f %8.2f %10.3f" % (
            (set_name,) + tuple(statistics.median(r["sets"][set_name][what] for r in real)
                                for what in ("jit", "file", "bits per instruction"))))


def show_aims(results):
    """What the project wants to keep below, on the mixed programs."""
    for r in results:
        sets = r["sets"]
        if not r["program"].startswith("mixed"):
            continue
        if "val" in sets and "mem" in sets:
            print("%s: val is %.2f times mem (aim 1.6), %.2f bits (aim 4)" % (
                r["program"], sets["val"]["file"] / sets["mem"]["file"],
                sets["val"]["bits per instruction"]))
        if "reg" in sets:
            print("%s: reg is %.2f times plain (aim 6)" % (
                r["program"], sets["reg"]["file"]))


def main():
    args = arguments()
    args.qemu_dir = args.qemu_dir or os.path.join(args.build, "libexec/cannoli")
    args.sysroot = args.sysroot or os.path.join(args.build, "sysroot")
    wanted = args.sets.split(",")
    sets = [s for s in SETS if s[0] in wanted]
    if len(sets) != len(wanted):
        sys.exit("unknown set of events in '%s'" % args.sets)
    with tempfile.TemporaryDirectory() as tmp:
        results = []
        if args.choices:
            for program in make_programs(args, tmp):
                if not program[0].startswith(EXTREME):
                    results.append(measure_choices(args, program, tmp))
            finish(args, results)
            return
        print("%-16s %8s %8s %10s %10s" % (
            "program, events", "jit", "file", "bits/insn", "Minsn/s"))
        for program in make_programs(args, tmp):
            results.append(measure(args, program, sets, tmp))
            show(results[-1], sets)
        show_medians(results, sets)
        show_aims(results)
        finish(args, results)


def finish(args, results):
    """Tells of the machine, and writes the times to --json."""
    cpu = platform.processor() or "unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    print("%s, %d cpus, Linux %s, median of %d interleaved runs" % (
        cpu, os.cpu_count(), platform.release(), args.runs))
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"cpu": cpu, "cpus": os.cpu_count(), "runs": args.runs,
                       "results": results}, f, indent=1)


if __name__ == "__main__":
    main()
