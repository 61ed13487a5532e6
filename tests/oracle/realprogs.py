# SPDX-License-Identifier: MIT
"""Real programs of foreign Debian architectures, compared event by event.

scripts/sysroot.sh fetches them; qemu -L runs them with their own libraries.
Programs that calculate with their process id (busybox sh: $$) are left out: no
two runs of them are equal where division is a subroutine.
"""
import os

import common
from common import Failure, Skip

ARCHITECTURE = {"arm": "armel", "thumb": "armhf", "aarch64": "arm64", "mipsel": "mipsel",
                "riscv64": "riscv64", "x86_64": "amd64", "i386": "i386", "s390x": "s390x",
                "ppc64le": "ppc64el", "mips64el": "mips64el"}

TEXT = ("the quick brown fox jumps over the lazy dog\n" * 20
        + "".join("%d %d %s\n" % (i, i * i % 97, "x" * (i % 13)) for i in range(200)))
SQL = ("create table t(a integer primary key, b text, c real);"
       "with recursive n(i) as (select 1 union all select i+1 from n where i < 60)"
       " insert into t select i, 'row ' || (i * 7919 % 101), i / 3.0 from n;"
       "create index tb on t(b);"
       "select b, sum(c), count(*) from t group by substr(b, 1, 5) order by 2 desc limit 5;"
       "select group_concat(a) from (select a from t where b like '%1%' order by c);")

# name: (program in the sysroot, arguments)
PROGRAMS = {
    "busybox-sort": ("bin/busybox", ["sort", "-n", "{text}"]),
    "busybox-md5sum": ("bin/busybox", ["md5sum", "{text}"]),
    "busybox-sha256sum": ("bin/busybox", ["sha256sum", "{text}"]),
    "busybox-gzip": ("bin/busybox", ["gzip", "-c", "{text}"]),
    "busybox-awk": ("bin/busybox", ["awk", "{s[$1%7]+=$2} END {for (i in s) print i, s[i]}",
                                    "{text}"]),
    "busybox-grep": ("bin/busybox", ["grep", "-E", "(fox|9[0-9]) .*x", "{text}"]),
    "busybox-sed": ("bin/busybox", ["sed", "s/\\([a-z]*\\) \\(.*\\)/\\2 \\1/;3,9d", "{text}"]),
    "bc": ("usr/bin/bc", ["{bc}"]),
    "sqlite3": ("usr/bin/sqlite3", [":memory:", SQL]),
}


def busybox(tools, target):
    """(sysroot, path of busybox in it)"""
    if target not in ARCHITECTURE:
        raise Skip("no programs of %s" % target)
    root = os.path.join(tools.sysroot, ARCHITECTURE[target])
    for path in ("bin/busybox", "usr/bin/busybox"):
        if os.path.exists(os.path.join(root, path)):
            return root, os.path.join(root, path)
    raise Skip("no busybox in %s: run scripts/sysroot.sh %s" % (root, ARCHITECTURE[target]))


def command(tools, target, name):
    """The command line of such a program, and its environment."""
    root = os.path.join(tools.sysroot, ARCHITECTURE[target])
    program, args = PROGRAMS[name]
    path = os.path.join(root, program)
    if not os.path.exists(path):
        path = os.path.join(root, "usr", program)
    if not os.path.exists(path):
        raise Skip("no %s in %s: run scripts/sysroot.sh %s"
                   % (program, root, ARCHITECTURE[target]))
    files = {"text": "input.txt", "bc": "input.bc"}
    with open(os.path.join(tools.work, files["text"]), "w") as f:
        f.write(TEXT)
    with open(os.path.join(tools.work, files["bc"]), "w") as f:
        f.write("scale=30\nfor (i = 1; i < 6; i++) sqrt(i) / i\n2^200\ndefine f(n) {\n"
                "if (n < 2) return (1)\nreturn (n * f(n - 1))\n}\nf(20)\nquit\n")
    args = [files.get(a.strip("{}"), a) if a.startswith("{") and a.endswith("}")
            and a.strip("{}") in files else a for a in args]
    guest = ([tools.qemu(target)] + common.guest_options(target) + ["-L", root, path] + args)
    guest, environment = common.equal_runs(tools, guest)
    environment.update(PATH="/bin:/usr/bin", LC_ALL="C", PYTHONHASHSEED="0", TZ="UTC")
    return guest, environment


def run(tools, target, name):
    guest, environment = command(tools, target, name)
    trace = os.path.join(tools.work, "real-%s-%s.ctr" % (target, name))
    recorded = common.record(tools, trace, guest, environment, tools.work)
    if recorded.status:
        raise Failure("exit status %d: %s" % (recorded.status, recorded.stderr.strip()[-300:]))
    summary, witness = common.compare_exactly(tools, target, guest, trace, environment, tools.work)
    if witness.stdout != recorded.stdout:
        raise Failure("recorded it printed other things than unrecorded")
    common.drop_file(trace)
    return summary
