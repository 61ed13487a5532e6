# SPDX-License-Identifier: MIT
"""The conditions of a measurement: the machine, the versions of all programs, our commit."""
import hashlib
import os
import platform
import re
import subprocess
import time

from .programs import HERE

ROOT = os.path.dirname(os.path.dirname(HERE))


def lines_of(*command):
    """The command's output, or nothing if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().split("\n") if done.returncode == 0 else []


def output_of(*command):
    """The first line of the command's output, or an empty string."""
    return (lines_of(*command) or [""])[0]


def git_lines(*arguments):
    return lines_of("git", "-C", ROOT, *arguments)


def git(*arguments):
    return output_of("git", "-C", ROOT, *arguments)


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith(("model name", "Processor")):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def compiler_of(build):
    """CMake's compiler settings."""
    try:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as f:
            cc = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", f.read(), re.M)
    except OSError:
        cc = None
    return output_of(cc[1] if cc else "cc", "--version")


def version_number(text):
    found = re.search(r"\d+\.\d+(\.\d+)*", text)
    return found[0] if found else ""


def side_sum():
    """Identifies the tree's patch and files of qemu/, as side_sum of scripts/qemu.sh does."""
    def sha256(path):
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()

    top = os.path.join(ROOT, "qemu")
    files = sorted(os.path.relpath(os.path.join(folder, name), top)
                   for folder, _, names in os.walk(top) if folder != top
                   for name in names if not name.startswith(".") and not name.endswith("~"))
    lines = [sha256(os.path.join(ROOT, "qemu_patches.patch"))]
    lines += ["%s  %s" % (sha256(os.path.join(top, name)), name) for name in files]
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def built_patch(qemu_dir):
    """What side_sum() was for the QEMU side that these QEMUs were built with, as
    scripts/qemu.sh recorded it."""
    note = os.path.join(os.path.realpath(qemu_dir), "../../qemu/src/.cannoli-key")
    try:
        with open(note, encoding="ascii", errors="replace") as f:
            found = re.search(r"patch:([0-9a-f]{64})", f.read())
    except OSError:
        return ""
    return found[1] if found else ""


def describe(build, qemu_dir):
    """Everything, ready for JSON."""
    qemus = sorted(os.listdir(qemu_dir)) if os.path.isdir(qemu_dir) else []
    qemu = output_of(os.path.join(qemu_dir, qemus[0]), "--version") if qemus else ""
    tree_patch = side_sum()
    patch = built_patch(qemu_dir) or tree_patch
    with open("/proc/meminfo", encoding="ascii") as f:
        memory = int(f.readline().split()[1])
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": git("rev-parse", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "patch": patch,
        "tree_patch": tree_patch,
        "machine": {
            "cpu": cpu_model(),
            "cpus": len(os.sched_getaffinity(0)),
            "memory_gib": round(memory / 2**20),
            "system": "%s %s" % (platform.system(), platform.release()),
            "load": os.getloadavg()[0],
        },
        "versions": {
            "recorder": version_number(output_of(os.path.join(build, "bin/cannoli-record"),
                                                 "--version")),
            "qemu": version_number(qemu),
            "zstd": version_number(output_of("zstd", "--version")),
            "valgrind": version_number(output_of("valgrind", "--version")),
            "compiler": compiler_of(build),
        },
    }


def lines(about):
    """The lines under a table: the machine and the versions."""
    m, v = about["machine"], about["versions"]
    parts = ["%s, %d cpus, %d GiB, %s" % (m["cpu"], m["cpus"], m["memory_gib"], m["system"]),
             "QEMU %s" % v["qemu"]]
    parts += ["%s %s" % (name, v[name]) for name in ("zstd", "valgrind") if v[name]]
    return [", ".join(parts + [v["compiler"]]),
            "commit %s%s, patch %s%s, %s" % (
                about["commit"][:12] or "unknown", " with changes" if about["changed"] else "",
                about["patch"][:12],
                " (not the tree's)" if about["patch"] != about["tree_patch"] else "",
                about["date"])]
