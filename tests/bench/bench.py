#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs, as ratios to the same QEMU without -cannoli.

Each program is run in turn plain, with its events thrown away (what the
translated code alone costs) and recorded to a file, again and again; the table
shows the median of the wall-clock times, divided by the plain one's.  Nothing
is asserted: machines differ, and this one may be busy.
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
MODES = [
    ("plain", None),
    ("jit exec", ["--discard", "--events", "exec"]),
    ("jit exec+mem", ["--discard", "--events", "exec,mem"]),
    ("file exec", ["--events", "exec"]),
    ("file exec+mem", ["--events", "exec,mem"]),
]


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(ROOT, "build"),
                   help="build folder with bin/, libexec/ and sysroot/")
    p.add_argument("--qemu-dir", help="folder of the patched QEMUs")
    p.add_argument("--sysroot", help="folder made by scripts/sysroot.sh")
    p.add_argument("--runs", type=int, default=5, help="runs of each (default 5)")
    p.add_argument("--only", default="", help="programs whose name contains this")
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
    found.append(("nops mipsel", qemu + "/qemu-mipsel",
                  [compile_with("mipsel-linux-gnu-gcc", "nops", "-nostdlib",
                                HERE + "/nops.S")], None))
    return [p for p in found if args.only in p[0] and os.path.exists(p[1])]


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


def measure(args, program, tmp):
    name, qemu, command, stdin = program
    trace = os.path.join(tmp, "bench.ctr")
    record = os.path.join(args.build, "bin/cannoli-record")
    times = {mode: [] for mode, _ in MODES}
    result = {"program": name}
    for _ in range(args.runs):
        for mode, options in MODES:
            line = [qemu] + command
            if options is not None:
                line = [record, "-q", "-o", trace] + options + ["--"] + line
            times[mode].append(run(line, stdin))
    info = subprocess.run([os.path.join(args.build, "bin/tracedump"), "--info",
                           "--json", trace], check=True, capture_output=True)
    info = json.loads(info.stdout)
    result["instructions"] = info["instructions"]
    result["bits per instruction"] = 8 * os.path.getsize(trace) / info["instructions"]
    os.remove(trace)
    result["times"] = times
    plain = statistics.median(times["plain"])
    result["plain seconds"] = plain
    result["ratios"] = {m: statistics.median(t) / plain for m, t in times.items()}
    return result


def main():
    args = arguments()
    args.qemu_dir = args.qemu_dir or os.path.join(args.build, "libexec/cannoli")
    args.sysroot = args.sysroot or os.path.join(args.build, "sysroot")
    with tempfile.TemporaryDirectory() as tmp:
        results = []
        head = ("%-16s %9s %8s" + " %13s" * 4 + " %9s %9s") % (
            "program", "Minsn", "plain s", *[m for m, _ in MODES[1:]], "bits/insn",
            "Minsn/s")
        print(head)
        for program in make_programs(args, tmp):
            r = measure(args, program, tmp)
            results.append(r)
            ratios = [r["ratios"][m] for m, _ in MODES[1:]]
            rate = r["instructions"] / (r["plain seconds"] * ratios[-1]) / 1e6
            print(("%-16s %9.0f %8.2f" + " %13.2f" * 4 + " %9.3f %9.0f") % (
                r["program"], r["instructions"] / 1e6, r["plain seconds"], *ratios,
                r["bits per instruction"], rate), flush=True)
        real = [r for r in results if not r["program"].startswith("nops")]
        if real:
            print(("%-16s %9s %8s" + " %13.2f" * 4 + " %9.3f") % (
                "median", "", "",
                *[statistics.median(r["ratios"][m] for r in real)
                  for m, _ in MODES[1:]],
                statistics.median(r["bits per instruction"] for r in real)))
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
