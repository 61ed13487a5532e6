# SPDX-License-Identifier: MIT
"""damage_sections.py TRACE: damages each section of a trace in turn, and runs every tool.

One bit is flipped in the header of each section, in each of its columns and in the seek
table, and the file is cut before and within each.  Every tool must then give the same
answer as for the whole trace, or report the error on stderr and end with 1 or 3: this test
looks for status 0 with other output.  --info reports damage also of a part that is not
needed to read the rest.

DAMAGE_ALL=1 tries every tool on every damage.
"""
import concurrent.futures
import os
import struct
import subprocess
import sys

BIN = os.environ["BIN"]
DUMP = [BIN + "/tracedump", "-j1"]
COV = [BIN + "/tracecov", "-j1"]
SYM = [BIN + "/tracesym", "-j1"]
DIFF = [BIN + "/tracediff", "--json", sys.argv[1]]  # with the whole trace
SELF = ["sh", "-c", '"$0" --json "$1" "$1"', BIN + "/tracediff"]  # with itself
MAIN = ["-t", "4242"]
PACKETS = ["QStartNoAckMode", "?", "qXfer:threads:read::0,1000", "qXfer:exec-file:read::0,1000", "g",
           "m40000000,100", "Z0,10404,4", "c", "g", "Z2,21000,8", "c", "m21000,8", "bc", "bs", "g",
           "Z4,407fff00,1000", "vCont;c", "m407fff00,200", "s", "bs", "bc", "QCatchSyscalls:1", "c",
           "c", "bc", "g"]
GDB = ["sh", "-c", 'printf "%s" "$0" | "$@"',
       "".join("$%s#%02x" % (p, sum(p.encode()) & 255) for p in PACKETS),
       BIN + "/tracegdb", "-j1", *MAIN]
TYPES = {1: "META", 2: "PROCESS", 3: "THREAD", 4: "DICT", 5: "CHUNK", 6: "PART",
         7: "ROOT", 8: "END", 9: "REGS", 10: "EMBED"}

# Tried on any damage ...
FEW = {
    "dump": DUMP,
    "dump exec": DUMP + ["--json", "-e", "exec"],
    "info": DUMP + ["--info", "--json"],
    "state": DUMP + ["--json", "--state", "20"] + MAIN,
    "last write": DUMP + ["-a", "0x40000000-0x41000000", "--last-write-before", "20"]
    + MAIN,
    "cov": COV + ["-f", "json"],
    "calls": SYM + ["--calls", "-f", "folded"],
    "diff": DIFF,
    "diff itself": SELF,
    "gdb": GDB,
    "dump no index": DUMP + ["--no-index"],
    "cov no index": COV + ["-f", "json", "--no-index"],
    "dump stream": DUMP + ["-"],
    "cov stream": COV + ["-f", "json", "-"],
}
# ... and on columns, which are most of a file; of chunks only on those of the first.
MORE = {
    "mem": DUMP + ["-e", "mem,val"],
    "reg": DUMP + ["-e", "reg"],
    "sys": DUMP + ["-e", "sys"],
    "map, thr": DUMP + ["-e", "map,thr,mark"],
    "summary": DUMP + ["-c", "--json"],
    "summary of addresses": DUMP + ["-c", "-a", "0x21000+8"],
    "state of another": DUMP + ["--state", "2", "-t", "5000"],
    "addresses": DUMP + ["-a", "0x21000+8"],
    "pcs": DUMP + ["--pc", "0x10404"],
    "last read": DUMP + ["-a", "0x21000+8", "--last-read-before", "20"] + MAIN,
    "first write": DUMP + ["-a", "0x40000000-0x41000000", "--first-write-after", "0"]
    + MAIN,
    "diff counts": DIFF + ["--counts=blocks"],
    "diff no index": DIFF + ["--no-index"],
    "cov range": COV + ["-f", "json", "--from", "2"],
    "cov thread": COV + ["-f", "json", "-t", "4243"],
    "cov text": COV + ["-f", "text"],
    "sym": SYM + ["--json"],
    "sym exec": SYM + ["-e", "exec"],
    "functions": SYM + ["--functions", "--json"],
    "vectors": SYM + ["--bbv", "5"] + MAIN,
    "vectors and pcs": SYM + ["--bbv", "5", "--bbv-pcs", "/dev/stdout"] + MAIN,
}
# Tried with DAMAGE_ALL only: they read what others do.
ALL = {
    "no modules": DUMP + ["-e", "exec", "--no-modules"],
    "summary of pcs": DUMP + ["-c", "--pc", "0x10400"],
    "state at the begin": DUMP + ["--state", "0"] + MAIN,
    "range": DUMP + ["--from", "4", "--to", "9"],
    "first three": DUMP + ["-n", "3"],
    "time": DUMP + ["--to-time", "0.005"],
    "one thread": DUMP + ["-t", "4243"],
    "cov drcov": COV + ["-f", "drcov"],
    "cov keep going": COV + ["-f", "json", "-k"],
    "functions alone": SYM + ["--functions", "--no-accesses"],
    "calls chrome": SYM + ["--calls", "-f", "chrome"],
    "dump text exec": DUMP + ["-e", "exec"],
    "info text": DUMP + ["--info"],
    "summary text": DUMP + ["-c"],
    "addresses no index": DUMP + ["--no-index", "-a", "0x21000+8"],
    "state no index": DUMP + ["--no-index", "--state", "20"] + MAIN,
    "cov time": COV + ["-f", "json", "--to-time", "1"],
    "cov html": COV + ["-f", "html-summary"],
    "sym text": SYM,
    "sym mem": SYM + ["-e", "mem"],
    "sym module": SYM + ["--module", "app"],
    "sym no index": SYM + ["--no-index"],
    "functions text": SYM + ["--functions"],
    "calls text": SYM + ["--calls"],
    "calls callgrind": SYM + ["--calls", "-f", "callgrind"],
    "calls json": SYM + ["--calls", "--json"],
    "calls svg": SYM + ["--calls", "-f", "svg"],
    "calls stream": SYM + ["--calls", "-f", "folded", "-"],
    "info stream": DUMP + ["--info", "-"],
    "summary stream": DUMP + ["-c", "-"],
}

# Only --info reads these.
SPARE = ("PART", "ROOT", "EMBED", "seek table", "data after")

good = open(sys.argv[1], "rb").read()
failed = 0


def flip(at):
    data = bytearray(good)
    data[at] ^= 8
    return bytes(data)


def damages():
    """(what, bytes, whether to try MORE) of each."""
    off, count = 0, {}
    while off < len(good):
        magic, size = struct.unpack_from("<II", good, off)
        head, columns = size + 8, []
        end = off + head
        if magic == 0x184D2A5C and off:
            kind, = struct.unpack_from("<H", good, off + 12)
            for i in range(struct.unpack_from("<H", good, off + 20)[0]):
                n, = struct.unpack_from("<I", good, off + 24 + 16 * i)
                columns.append((end, n))
                end += n
            name = TYPES[kind]
        else:
            name = "seek table" if off else "file header"
        number = count[name] = count.get(name, 0) + 1
        name = "%s %d" % (name, number)
        yield name + ", header", flip(off + head - 12), False
        for i, (at, n) in enumerate(columns):
            if n:
                yield ("%s, column %d" % (name, i), flip(at + n // 2),
                       name == "CHUNK 1" or not name.startswith("CHUNK"))
        if off:
            yield "cut before " + name, good[:off], False
        yield "cut in " + name, good[:(off + end) // 2 + 1], False
        if name.startswith("seek"):
            yield name + ", magic", flip(off), False
            yield name + ", footer", flip(end - 2), False
            yield name + ", entries", flip(end - 9), False
            yield "data after the end", good + b"more", False
        off = end


def query(name, args, data, path):
    """Status, output and lines of stderr."""
    if args[-1] == "-":
        p = subprocess.run(args, input=data, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=False)
    else:
        p = subprocess.run(args + [path], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=False)
    path = path.encode()
    return (p.returncode, p.stdout.replace(path, b"T"), p.stderr.replace(path, b"T"),
            DIFFS.get(name))


def judge(got, want, must_say):
    """What is wrong with an answer, or None."""
    status, out, err, _ = got
    if want[3]:  # of tracediff 2 is trouble, and 1 must not result from damage
        lines = {line for line in err.splitlines() if b"modules may be wrong" not in line}
        return (None if status == 2 and err and len(lines) <= want[3] else
                None if status == 0 and out == want[1] else "status %d" % status)
    if must_say and status == 0:
        return "status 0"
    if must_say and status == 3 and err.count(b"\n") != 1:
        return "not one line"
    if status == want[0]:
        return ("status %d and different output" % status if out != want[1] else
                "status %d and different messages" % status
                if status == 0 and err != want[2] else None)
    if status == 4 and b" instructions only\n" in err and (
            b"was not finished" in err or b"truncated" in err):
        return None  # the moment is after what is left
    if status not in (1, 3):
        return "status %d" % status
    if not err or err == want[2]:
        return "status %d and no message" % status
    if b'"whole":true' in out:
        return "status %d, and reported as whole" % status
    return None


def test(job):
    number, (what, data, more) = job
    path = "damaged-%d.ctr" % number
    with open(path, "wb") as f:
        f.write(data)
    wrong = []
    for name, args in modes.items():
        if name in FEW or more or os.environ.get("DAMAGE_ALL"):
            got = query(name, args, data, path)
            why = judge(got, whole[name], name.startswith("info") and
                        args[-1] != "-" and what.startswith(SPARE))
            if why:
                wrong.append("%s: %s: %s %s" % (what, name, why, got[2][-300:].decode()))
    os.unlink(path)
    return wrong


# How many lines of tracediff name what is damaged: one of each file.
DIFFS = {name: 2 if args is SELF else 1 for name, args in {**FEW, **MORE}.items()
         if BIN + "/tracediff" in args}
modes = {**FEW, **MORE, **(ALL if os.environ.get("DAMAGE_ALL") else {})}
whole = {name: query(name, args, good, sys.argv[1]) for name, args in modes.items()}
for name, answer in whole.items():
    if answer[0] or not (answer[1] or answer[3]):
        sys.exit("%s of the whole trace: status %d %s" % (name, answer[0],
                                                         answer[2].decode()))
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for found in pool.map(test, enumerate(damages())):
        for line in found:
            failed += 1
            if failed <= 200:
                print(line.strip(), file=sys.stderr)
sys.exit(failed != 0)
