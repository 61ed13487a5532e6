# SPDX-License-Identifier: MIT
"""Where the programs are, how they are run, and how two recordings are compared."""
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GUESTS = os.path.join(ROOT, "tests", "guests")
sys.path.insert(0, GUESTS)
from table import TARGETS  # noqa: E402

# An x86_64 guest can have no region reserved (its vsyscall page is above): the plugin
# is loaded while it is recorded, too, and does nothing; and where pages are moved all the
# same, the comparison follows.
SLIDE = {"x86_64"}


SETARCH = shutil.which("setarch") or "setarch"


# Seconds after which a program hangs: a machine that does much else needs as long.
PATIENCE = 1500


class Failure(Exception):
    """A case that did not hold; its text says what was seen."""


class Skip(Exception):
    """A case that cannot run here; its text says why."""


class Tools:
    def __init__(self, build, work):
        self.build = build
        self.qemu_dir = os.environ.get("CANNOLI_QEMU_DIR",
                                       os.path.join(build, "libexec", "cannoli"))
        self.bin = os.environ.get("CANNOLI_BIN_DIR", os.path.join(build, "bin"))
        self.plugins = os.environ.get("CANNOLI_PLUGIN_DIR", os.path.join(build, "qemu", "plugins"))
        self.guests = os.environ.get("CANNOLI_GUEST_DIR", os.path.join(build, "guests"))
        self.sysroot = os.environ.get("CANNOLI_SYSROOT_DIR", os.path.join(build, "sysroot"))
        self.work = work

    # A case needs only some of them, and a build folder may have no libctr for the others.
    @functools.cached_property
    def compare(self):
        return self.helper("oracle-compare", "compare.c", "blind.c", "readers.c")

    @functools.cached_property
    def flow(self):
        return self.helper("oracle-flow", "flow.c", "blind.c", "readers.c")

    @functools.cached_property
    def memory(self):
        return self.helper("oracle-memory", "memory.c", "shadow.c", library=True)

    @functools.cached_property
    def registers(self):
        return self.helper("oracle-registers", "registers.c", "readers.c", "blind.c",
                           library=True)

    @functools.cached_property
    def replay(self):
        return self.helper("oracle-replay", "replay.c", "flags.c", library=True)

    @functools.cached_property
    def order(self):
        return self.helper("oracle-order", "order.c", library=True)

    @functools.cached_property
    def physical(self):
        return self.helper("oracle-physical", "physical.c", library=True)

    @functools.cached_property
    def windows(self):
        return self.helper("oracle-windows", "windows.c", library=True)

    @functools.cached_property
    def coverage(self):
        return self.helper("oracle-coverage", "coverage.c", library=True)

    def norandom(self):
        """What makes getrandom(2) give the same in every run: see norandom.c."""
        path = os.path.join(self.build, "tests", "oracle", "oracle-norandom.so")
        if not os.path.exists(path):
            path = os.path.join(self.work, "oracle-norandom.so")
            if not os.path.exists(path):
                compile_library(path, os.path.join(HERE, "norandom.c"), "-D_GNU_SOURCE")
        return path

    def helper(self, name, *sources, library=False):
        """A program of this folder: the build's, or one made here and now."""
        path = os.path.join(self.build, "tests", "oracle", name)
        if not os.path.exists(path):
            path = os.path.join(self.work, name)
            lib = os.path.join(self.build, "lib")
            command = ["cc", "-O2", "-D_GNU_SOURCE", "-o", path]
            command += [os.path.join(HERE, f) for f in sources]
            if library:
                if not os.path.exists(os.path.join(lib, "libctr.so")):
                    raise Skip("no libctr in %s" % lib)
                command += ["-I" + os.path.join(ROOT, "include"),
                            "-I" + os.path.join(ROOT, "tracefmt", "include"), "-L" + lib,
                            "-Wl,-rpath," + lib, "-lctr"]
            subprocess.run(command, check=True)
        return path

    def qemu(self, target):
        path = os.path.join(self.qemu_dir, "qemu-" + (TARGETS[target].qemu
                                                      if target in TARGETS else target))
        if not os.path.exists(path):
            raise Skip("no %s" % path)
        return path

    def plugin(self, name="mem"):
        for sub in ("", "tests/tcg/plugins", "contrib/plugins"):
            path = os.path.join(self.plugins, sub, "lib%s.so" % name)
            if os.path.exists(path):
                return path
        raise Skip("no lib%s.so in %s" % (name, self.plugins))

    def program(self, name):
        path = os.path.join(self.bin, name)
        if not os.path.exists(path):
            raise Skip("no %s" % path)
        return path


def guest_options(target, cpu=None, reserve=True):
    options = ["-seed", "1"]
    if reserve and target in TARGETS and TARGETS[target].reserve:
        options += ["-R", hex(TARGETS[target].reserve)]
    if cpu:
        options += ["-cpu", cpu]
    return options


def compile_library(path, source, *flags):
    subprocess.run(["cc", "-O2", *flags, "-shared", "-fPIC", "-o", path, source], check=True)


def equal_runs(tools, guest):
    """The command line and environment with which all runs have the same values.

    One malloc arena, because that of QEMU's second thread is mapped at any time.
    """
    return ([guest[0], "-U", "LD_PRELOAD,MALLOC_ARENA_MAX", *guest[1:]],
            {"LD_PRELOAD": tools.norandom(), "MALLOC_ARENA_MAX": "1"})


def status_of(code):
    """As a shell would say it: 128+N for signal N."""
    return 128 - code if code < 0 else code


class Run:
    """A guest that was run: what it printed and how it ended."""

    def __init__(self, stdout, stderr, status):
        self.stdout = stdout
        self.stderr = stderr
        self.status = status


def as_alone():
    """In a child: no core files, and signals as a terminal gives them: a shell that starts the
    tests in its background ignores these two, and programs inherit that."""
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def record(tools, trace, guest, environment=None, cwd=None, timeout=PATIENCE, options=(), stdin=None,
           idle=None):
    """cannoli-record the command line `guest' (its qemu first); idle: a plugin to load."""
    if idle:
        guest = [guest[0], "-plugin", idle, *guest[1:]]
    command = [SETARCH, "-R", tools.program("cannoli-record"), "-q", "-o", trace,
               *options, "--", *guest]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            done = subprocess.run(command, stdin=stdin or subprocess.DEVNULL, stdout=out,
                                  stderr=err, env=environment or {}, cwd=cwd, timeout=timeout,
                                  preexec_fn=as_alone)
        except subprocess.TimeoutExpired:
            raise Failure("the recording did not end in %d s" % timeout)
        out.seek(0)
        err.seek(0)
        run = Run(out.read(), err.read().decode(errors="replace"), status_of(done.returncode))
    if run.status == 125:
        raise Failure("cannoli-record failed: %s" % run.stderr.strip()[-500:])
    return run


def plain(guest, environment=None, cwd=None, timeout=PATIENCE):
    """The same command line without a recorder, its descriptors of the same kind."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        done = subprocess.run([SETARCH, "-R", *guest], stdin=subprocess.DEVNULL, stdout=out,
                              stderr=err, env=environment or {}, cwd=cwd, timeout=timeout,
                              preexec_fn=as_alone)
        out.seek(0)
        err.seek(0)
        return Run(out.read(), err.read().decode(errors="replace"), status_of(done.returncode))


# Statuses of tracedump: the trace was cut short; no event is selected
INCOMPLETE = 3
NOTHING = 4


def dump(tools, trace, *options):
    """tracedump --json as a process whose stdout is read line by line."""
    if "--events" not in options:
        options = ("--events", "exec,mem,val", *options)
    return subprocess.Popen([tools.program("tracedump"), "--json", "--no-disas", "--no-modules",
                             *options, trace],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def dump_lines(tools, trace, *options):
    process = dump(tools, trace, *options)
    for line in process.stdout:
        yield line.decode()
    error = process.stderr.read().decode()
    if process.wait() not in (0, NOTHING):
        raise Failure("tracedump: status %d: %s" % (process.returncode, error.strip()))


def dump_text(tools, trace, *options):
    done = subprocess.run([tools.program("tracedump"), *options, trace], capture_output=True,
                          text=True)
    if done.returncode not in (0, NOTHING):
        raise Failure("tracedump: status %d: %s" % (done.returncode, done.stderr.strip()))
    return done.stdout.splitlines()


def split_guest(guest):
    """[qemu, options.., program, args..] with our options only in between."""
    return guest[0], guest[1:]


def swaps_loads():
    """Can this host not load the other byte order?  Then the plugin gets other values."""
    try:
        with open("/proc/cpuinfo") as f:
            return " movbe" not in f.read()
    except OSError:
        return True


def compare_exactly(tools, target, guest, trace, environment=None, cwd=None, timeout=PATIENCE,
                    blocks=False, values=False):
    """Run the witness beside tracedump and compare; returns (summary, Run).

    With values, each access must have its value (but on targets whose loader keeps what
    a clock says).  With blocks, QEMU's blocks are as
    long as ever, and accesses alone are compared.
    """
    qemu, rest = split_guest(guest)
    name = TARGETS[target].qemu if target in TARGETS else target
    log = ["-d", "in_asm,plugin"] if blocks else ["-one-insn-per-tb", "-d",
                                                  "in_asm,exec,nochain,plugin"]
    witness = [SETARCH, "-R", qemu, *log, "-plugin", tools.plugin() + ",print-accesses=true",
               *rest]
    read_end, write_end = os.pipe()
    with tempfile.TemporaryFile() as out:
        w = subprocess.Popen(witness, stdin=subprocess.DEVNULL, stdout=out, stderr=write_end,
                             env=environment or {}, cwd=cwd, preexec_fn=as_alone)
        os.close(write_end)
        clock = target in TARGETS and TARGETS[target].clock
        d = dump(tools, trace, *(("--events", "exec,mem") if clock else ()))
        command = [tools.compare, "--target", name, "--witness", "/dev/fd/%d" % read_end,
                   "--trace", "/dev/fd/%d" % d.stdout.fileno()]
        if blocks:
            command.append("--accesses")
        if values and not clock:
            command.append("--values")
        if target in TARGETS and TARGETS[target].big_endian:
            command.append("--big-endian")
            if swaps_loads():
                command.append("--swapped-loads")
        if name in SLIDE:
            command.append("--slide")
        if os.environ.get("CANNOLI_EXECUTE_TWICE"):
            command.append("--execute-twice")
        c = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             pass_fds=(read_end, d.stdout.fileno()))
        os.close(read_end)
        d.stdout.close()
        try:
            text = c.communicate(timeout=timeout)[0].decode(errors="replace").strip()
        except subprocess.TimeoutExpired:
            text = "no end in %d s" % timeout
        equal = c.returncode == 0
        if not equal:
            for p in (c, w, d):
                if p.poll() is None:
                    p.send_signal(signal.SIGKILL)
        w.wait()
        error = d.stderr.read().decode(errors="replace").strip()
        d.wait()
        out.seek(0)
        run = Run(out.read(), "", status_of(w.returncode))
    if not equal:
        raise Failure(text + ("\ntracedump: " + error if error else ""))
    if d.returncode != 0:
        raise Failure("tracedump: status %d: %s" % (d.returncode, error))
    return text, run


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


keep_files = False  # run.py --keep


def memory_known(tools, trace, places, *options):
    """The bytes that tracedump --state --memory knows: {address: byte}.

    places: [(address, bytes)]; options: the moment and its thread."""
    places = ",".join("0x%x+%d" % place for place in places)
    done = subprocess.run([tools.program("tracedump"), "-q", "--json", *options, "--memory", places,
                           trace], capture_output=True, text=True)
    if done.returncode:
        raise Failure("tracedump: " + done.stderr.strip())
    known = {}
    for o in map(json.loads, done.stdout.splitlines()):
        if o["kind"] == "memory" and o["bytes"]:
            known.update(enumerate(bytes.fromhex(o["bytes"]), int(o["address"], 16)))
    return known


def drop_file(path):
    """Removes a file of a case that passed, unless the files are to be kept."""
    if not keep_files:
        remove(path)


def work_folder(given):
    if given:
        os.makedirs(given, exist_ok=True)
        return given, False
    return tempfile.mkdtemp(prefix="oracle."), True


def drop_folder(path):
    shutil.rmtree(path, ignore_errors=True)
