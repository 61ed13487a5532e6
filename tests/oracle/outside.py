# SPDX-License-Identifier: MIT
"""What happens to a machine and to its recording from outside.

killed     QEMU, then the recorder, ends by SIGKILL: what is left is the begin of a whole run
no-room    the trace cannot grow any more
storm      the recording is paused and resumed as fast as it goes; a jitter library is loaded and
           unloaded, and one that is not there is refused
rebuilt    memory at places in the middle, before and after a snapshot is loaded, and at the end is
           what QEMU's monitor saved there
snapshot   the machine is saved, goes on, is loaded and reset: what it counts, RAM, and its events
debugger   it is stopped and continued, by the monitor and by a debugger, which steps, writes, and
           stops where a function returns to
refused    a machine without TCG, a network card that another process runs: a sentence

The program counts for ever, so that its stores say whether anything is missing.
"""
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
import time
from types import SimpleNamespace

import choices
import common
import firmware
import machines
import physical
import ram
from common import Failure
from gdbstep import Stub
from monitor import Running

NAMES = {target: ["killed", "no-room", "storm", "snapshot", "debugger"]
         for target in ("aarch64-softmmu", "arm-softmmu", "mips-softmmu", "mipsel-softmmu",
                        "riscv32-softmmu", "riscv64-softmmu", "s390x-softmmu", "x86_64-softmmu")}
for _target in ("aarch64-softmmu", "riscv64-softmmu", "x86_64-softmmu"):
    NAMES[_target].append("rebuilt")
NAMES["armv7m-softmmu"] = ["killed", "storm", "debugger"]
NAMES["x86_64-softmmu"].append("refused")
MANY = 2000  # rounds
FAST, SLOW = "shift=0,sleep=off", "shift=8,align=on"  # of -icount
TAIL = 5000  # instructions
ROOM = 300000  # bytes
STORM = 100  # pauses
# The mnemonic of what stores the number; elsewhere sw
STORE = {"aarch64-softmmu": "str", "arm-softmmu": "str", "armv7m-softmmu": "str.w", "riscv64-softmmu": "sd",
         "s390x-softmmu": "stg", "x86_64-softmmu": "mov"}
RAM = {"aarch64-softmmu": (0x40000000, 128 << 20), "arm-softmmu": (0x40000000, 128 << 20),
       "armv7m-softmmu": (0x20000000, 4 << 20), "mips-softmmu": (0, 128 << 20),
       "mipsel-softmmu": (0, 128 << 20), "riscv32-softmmu": (0x80000000, 128 << 20),
       "riscv64-softmmu": (0x80000000, 128 << 20), "s390x-softmmu": (0, 128 << 20),
       "x86_64-softmmu": (0x100000, 64 << 20)}


class Rounds:
    """The program, which is recorded; how far it is, and how far the trace says it came.
    slow: by a clock that does not run ahead."""

    def __init__(self, tools, target, name, *options, more=(), slow=True, main="rounds"):
        self.tools, self.target = tools, target
        self.trace = os.path.join(tools.work, "%s-%s.ctr" % (name, target))
        self.command = [*machines.command_of(tools, target, main), *more]
        self.command.remove("-no-reboot")
        if slow:
            self.command = [SLOW if w == FAST else w for w in self.command]
        self.size = machines.word_size(target)
        self.cell = machines.symbol(tools, target, "rounds", main)
        self.running = Running(tools, self.trace, self.command, *options)

    def count(self):
        line = self.running.monitor.human("xp /1%sx 0x%x" % ("w" if self.size == 4 else "g", self.cell))
        return int(line.split(":")[1], 16)

    def wait_until(self, least):
        end = time.monotonic() + common.PATIENCE
        while self.count() < least:
            if time.monotonic() > end:
                raise Failure("the machine does not go on")
            time.sleep(0.005)

    def stores(self):
        """(ordinal, value) of each."""
        for line in lines(self.tools, self.trace, "--events", "store,val",
                          "--addr=0x%x+%d" % (self.cell, self.size)):
            o = json.loads(line)
            if int(o["value"], 16):  # x86_64's program clears its memory first
                yield o["ordinal"], int(o["value"], 16)

    def check(self, least=MANY):
        """No number is missing; returns how many there are."""
        said = [n for _, n in self.stores()]
        if said != list(range(1, len(said) + 1)) or len(said) < least:
            n = next((i for i, v in enumerate(said) if v != i + 1), len(said))
            raise Failure("of %d numbers, after %d: %r" % (len(said), n, said[n:n + 3]))
        return len(said)


def lines(tools, trace, *options):
    """tracedump's, of a trace that may have been cut short."""
    process = common.dump(tools, trace, *options)
    for line in process.stdout:
        yield line.decode()
    error = process.stderr.read().decode()
    if process.wait() not in (0, common.INCOMPLETE):
        raise Failure("tracedump: status %d: %s" % (process.returncode, error.strip()))


def info(tools, trace):
    done = subprocess.run([tools.program("tracedump"), "--info", "--json", trace], capture_output=True,
                          text=True)
    if done.returncode not in (0, common.INCOMPLETE):
        raise Failure("tracedump --info: %s" % done.stderr.strip())
    return json.loads(done.stdout)


def last_lines(tools, trace, first, count):
    """Of a few instructions; the last one may be marked as not sure."""
    found = []
    for line in lines(tools, trace, "--events", "exec,load,store,val", "--from", str(first),
                      "--count", str(count)):
        o = json.loads(line)
        found.append({k: v for k, v in o.items() if k not in ("pid", "tid", "time", "unsure")})
    return found


def whole_file(trace):
    done = subprocess.run(["zstd", "-tq", trace], capture_output=True, text=True)
    if done.returncode:
        raise Failure("zstd: " + done.stderr.strip())


def gone(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def check_begin(tools, target, trace):
    """The last instructions of what is left are those of another recording."""
    insns = info(tools, trace)["instructions"]
    first = max(0, insns - TAIL)
    left = last_lines(tools, trace, first, TAIL)
    r = Rounds(tools, target, "whole", "--events", "exec,val", "--for-instructions", str(insns + 1000),
               slow=False)
    with r.running as machine:
        firmware.wait_for_end_of_window(tools, r.trace, machine.recorder)
        machine.quit()
    whole = last_lines(tools, r.trace, first, TAIL)
    if not left or left != whole[:len(left)]:
        n = next(i for i, line in enumerate(left) if i >= len(whole) or line != whole[i])
        raise Failure("%r instead of %r" % (left[n], whole[n:n + 1]))
    common.drop_file(r.trace)
    return insns


def killed_unrecorded(tools, target):
    """QEMU is killed in code that is not recorded: nothing before it is lost or uncertain."""
    wanted = 10001
    r = Rounds(tools, target, "killed", "--events", "exec", "--for-instructions=%d" % wanted, slow=False)
    with r.running as machine:
        r.wait_until(MANY)
        os.kill(machine.qemu, signal.SIGKILL)
        machine.end()
    whole = info(tools, r.trace)["instructions"]
    last = [json.loads(line) for line in lines(tools, r.trace, "--events", "exec", "--from", str(wanted - 1))]
    if whole != wanted or len(last) != 1 or "unsure" in last[0]:
        raise Failure("%d instructions, not %d: %r" % (whole, wanted, last))
    common.drop_file(r.trace)


def killed(tools, target, full):
    killed_unrecorded(tools, target)
    said = []
    for victim in ("QEMU", "the recorder"):
        r = Rounds(tools, target, "killed", "--events", "exec,val", slow=False)
        with r.running as machine:
            r.wait_until(MANY)
            machine.wait_for_file(100000)
            os.kill(machine.qemu if victim == "QEMU" else machine.recorder.pid, signal.SIGKILL)
            status, text = machine.end()
            if status != 128 + signal.SIGKILL:
                raise Failure("%s is killed: status %d: %s" % (victim, status, text))
            end = time.monotonic() + common.PATIENCE
            while not gone(machine.qemu):
                if time.monotonic() > end:
                    raise Failure("QEMU outlives the recorder")
                time.sleep(0.02)
        whole_file(r.trace)
        numbers = r.check()
        said.append("%s: %d numbers, %d instructions"
                    % (victim, numbers, check_begin(tools, target, r.trace)))
        common.drop_file(r.trace)
    return "; ".join(said)


def no_room(tools, target, full):
    r = Rounds(tools, target, "no-room", "--events", "exec,val", slow=False)
    with r.running as machine:
        r.wait_until(10)
        limit = os.path.getsize(r.trace) + ROOM
        resource.prlimit(machine.recorder.pid, resource.RLIMIT_FSIZE, (limit, limit))
        status, text = machine.end()
    if status != 125 or "File too large" not in text:
        raise Failure("status %d: %s" % (status, text))
    whole_file(r.trace)
    size = os.path.getsize(r.trace)
    if size > limit:
        raise Failure("%d bytes of %d" % (size, limit))
    numbers = r.check()
    insns = check_begin(tools, target, r.trace)
    common.drop_file(r.trace)
    return "%d bytes: %d numbers, %d instructions" % (size, numbers, insns)


def storm(tools, target, full):
    """Between two pauses no number is missing, and none is there twice."""
    r = Rounds(tools, target, "storm", "--events", "exec,val")
    with r.running as machine:
        r.wait_until(MANY)
        for i in range(STORM):
            machine.control.send("pause")
            if i % 3 == 0:  # others are often over before a vCPU sees them
                r.wait_until(r.count() + 20)
            machine.control.send("resume")
            if i % 5 == 0:
                r.wait_until(r.count() + 20)
        now = r.count()
        r.wait_until(now + MANY)
        machine.quit()
    gates = [json.loads(line) for line in lines(tools, r.trace, "--events", "mark")]
    if [g["open"] for g in gates] != [False, True] * (len(gates) // 2) or len(gates) < 4:
        raise Failure("%d pauses requested, %d events" % (STORM, len(gates)))
    pauses = [g["ordinal"] for g in gates if not g["open"]]
    seen, before, last, missing = 0, 0, 0, 0
    for ordinal, n in r.stores():
        paused = False
        while seen < len(pauses) and pauses[seen] <= ordinal:
            paused = paused or pauses[seen] > before
            seen += 1
        if n != last + 1 and not (paused and n > last):
            raise Failure("%d after %d, ordinals %d and %d" % (n, last, before, ordinal))
        missing += n - last - 1
        before, last = ordinal, n
    if last < now + MANY or not missing:
        raise Failure("up to %d of %d, %d were not recorded" % (last, now + MANY, missing))
    common.drop_file(r.trace)
    return "%d pauses, %d numbers, %d were not recorded; %s" % (
        len(pauses), last - missing, missing, chosen_anew(tools, target))


def chosen_anew(tools, target):
    """A library that counts one mnemonic, without accesses, from where it is loaded to where it is
    unloaded; before and after that no number is missing."""
    library = os.path.join(tools.build, "lib", "libjitter-opcode.so")
    mnemonic = STORE.get(target, "sw")
    program = choices.Program(machines.architecture(target), machines.program_of(tools, target, "rounds"),
                              machines.MACHINES[target].cc.replace("gcc", "objdump"))
    r = Rounds(tools, target, "anew", "--events", "exec,val")
    with r.running as machine:
        r.wait_until(MANY)
        wrong = subprocess.run([tools.program("cannoli-ctl"), "--socket", r.trace + ".ctl", "load",
                                library + ".not"], capture_output=True, text=True)
        if wrong.returncode != 1 or wrong.stdout or len(wrong.stderr.splitlines()) != 1:
            raise Failure("a wrong path: status %d, %r" % (wrong.returncode, wrong.stderr))
        machine.control.send("load %s,mnemonic=%s" % (library, mnemonic))
        r.wait_until(r.count() + MANY)
        machine.control.send("unload " + library)
        now = r.count() + MANY
        r.wait_until(now)
        machine.quit()
    marks = [json.loads(line) for line in lines(tools, r.trace, "--events", "mark")]
    marks = [m for m in marks if m["kind"] == "select" and (m["ordinal"] or m["text"])]
    if len(marks) != 2 or mnemonic not in marks[0]["text"] or marks[1]["text"]:
        raise Failure("the selections are %r" % marks)
    begin, end = (m["ordinal"] for m in marks)
    pcs = machines.pcs_of(tools, r.trace, "--from", str(begin), "--to", str(end))
    counted = program.mnemonic(mnemonic.split(".")[0])
    others = [pc for pc in pcs if not counted(SimpleNamespace(pc=pc))]
    if len(pcs) != end - begin or len(pcs) < MANY or others:
        raise Failure("%d of %d instructions, %d are no %s: %r"
                      % (len(pcs), end - begin, len(others), mnemonic, others[:1]))
    stores = list(r.stores())
    for what, said in (("before", [n for at, n in stores if at < begin]),
                       ("after", [n for at, n in stores if at >= end])):
        if len(said) < MANY - 1 or said != list(range(said[0], said[0] + len(said))):
            raise Failure("%s the library %d numbers: %r ..." % (what, len(said), said[:3]))
    if any(begin <= at < end for at, _ in stores) or stores[-1][1] < now:
        raise Failure("the library has stores, or not all came after it: %r of %d" % (stores[-1], now))
    common.drop_file(r.trace)
    return "%d times %s by a library" % (len(pcs), mnemonic)


def same_memory(tools, target, machine, trace):
    """The machine is stopped: RAM by the trace is what the monitor saves."""
    begin, size = RAM[target]
    image = trace + ".ram"
    machine.monitor.call("pmemsave", val=begin, size=size, filename=image)
    machine.quit()
    said = ram.follow(tools, trace, "--image", "%#x:%s" % (begin, image))
    common.drop_file(image)
    return said.split("; ")[-1]


def snapshot_disk(machine):
    """The monitor's own disk; returns the arguments of the jobs that save and load."""
    monitor = machine.monitor
    disk = os.path.join(machine.folder, "disk")
    file = {"driver": "file", "filename": disk}
    monitor.job("blockdev-create", options={**file, "size": 0})
    monitor.call("blockdev-add", node_name="file", **file)
    monitor.job("blockdev-create", options={"driver": "qcow2", "file": "file", "size": 1 << 20})
    monitor.call("blockdev-add", node_name="disk", driver="qcow2", file="file")
    return {"tag": "a", "vmstate": "disk", "devices": ["disk"]}


def moments(tools, trace):
    """[(what was done to the machine, ordinal)]"""
    power = map(json.loads, lines(tools, trace, "--events", "pwr"))
    return [(o["op"], o["ordinal"]) for o in power if o["op"] not in ("halt", "wake", "off")]


def snapshot(tools, target, full):
    r = Rounds(tools, target, "snapshot", "--events", ram.OPTIONS[1] + ",pwr")
    with r.running as machine:
        monitor = machine.monitor
        kept = snapshot_disk(machine)
        r.wait_until(200)
        monitor.call("stop")
        saved = r.count()
        monitor.job("snapshot-save", **kept)
        ends = []
        for _ in range(2):
            monitor.call("cont")
            r.wait_until(saved + 200)
            monitor.call("stop")
            ends.append(r.count())
            monitor.job("snapshot-load", **kept)
            if r.count() != saved:
                raise Failure("the machine is not as it was")
        monitor.call("cont")
        r.wait_until(saved + 100)
        monitor.call("stop")
        ends.append(r.count())
        monitor.call("system_reset")
        monitor.call("cont")
        while r.count() >= saved:  # memory keeps it until the program begins again
            time.sleep(0.005)
        r.wait_until(100)
        monitor.call("stop")
        ends.append(r.count())
        said = same_memory(tools, target, machine, r.trace)
    numbers = [n for _, n in r.stores()]
    want = [*range(1, ends[0] + 1), *range(saved + 1, ends[1] + 1), *range(saved + 1, ends[2] + 1),
            *range(1, ends[3] + 1)]
    done = [op for op, _ in moments(tools, r.trace)]
    if done != ["saved", "loaded", "loaded", "reset"]:
        raise Failure("recorded: %r" % done)
    if numbers != want:
        n = next((i for i, v in enumerate(numbers) if i >= len(want) or v != want[i]), len(numbers))
        raise Failure("saved at %d, loaded and reset at %r: number %d of %d is %r"
                      % (saved, ends, n, len(want), numbers[n:n + 3]))
    common.drop_file(r.trace)
    return "saved at %d, loaded and reset at %r; %s" % (saved, ends, said)


def rebuilt(tools, target, full):
    r = Rounds(tools, target, "rebuilt", "--events", ram.OPTIONS[1] + ",pwr")
    begin, size = RAM[target]
    moments = []

    def stop(name):
        """The machine is stopped: what memory holds, and a mark where it goes on."""
        image = "%s.%s" % (r.trace, name)
        monitor.call("stop")
        monitor.call("pmemsave", val=begin, size=size, filename=image)
        machine.control.send("mark " + name)
        moments.append(("mark:" + name, [(begin, image)]))

    with r.running as machine:
        monitor = machine.monitor
        kept = snapshot_disk(machine)
        for i in range(8 if full else 3):
            r.wait_until(r.count() + 50 + 100 * i)
            stop("place%d" % i)
            if i == 1:
                monitor.job("snapshot-save", **kept)
            monitor.call("cont")
        monitor.call("stop")
        monitor.job("snapshot-load", **kept)
        stop("loaded")
        monitor.call("cont")
        r.wait_until(r.count() + 100)
        stop("last")
        moments[-1] = ("end", moments[-1][1])
        machine.quit()
    total = physical.same_pages(tools, r.trace, moments, 40 if full else 8)
    for _, images in moments:
        common.drop_file(images[0][1])
    common.drop_file(r.trace)
    return "%d bytes at %d places" % (total, len(moments))


def after_call(tools, target):
    """Where the program's one_round() returns to."""
    objdump = machines.MACHINES[target].cc.replace("gcc", "objdump")
    text = subprocess.run([objdump, "-d", machines.program_of(tools, target, "rounds")],
                          capture_output=True, text=True, check=True).stdout
    main = text[text.index("<machine_main>:"):].splitlines()
    call = next(i for i, line in enumerate(main) if "<one_round>" in line)
    after = call + 2 if target.startswith("mips") else call + 1  # there, a delay slot comes first
    return int(main[after].split(":")[0], 16)


def jumps_to(r, pc):
    """What comes right before pc, of the instructions there and in one_round()."""
    function = machines.symbol(r.tools, r.target, "one_round", "rounds") & ~1
    before, last = set(), (None, None)
    for line in lines(r.tools, r.trace, "--events", "exec", "--pc=0x%x+256,0x%x+1" % (function, pc)):
        o = json.loads(line)
        if int(o["pc"], 16) == pc:
            before.add(last[1] if last[0] == o["ordinal"] - 1 else None)
        last = o["ordinal"], o["pc"]
    return before


def debugger(tools, target, full):
    """gdb's protocol: watchpoints, breakpoints, steps, a write to memory."""
    path = os.path.join(tools.work, "gdb-" + target)
    r = Rounds(tools, target, "debugger", *ram.OPTIONS, more=["-gdb", "unix:%s,server=on,wait=off" % path])
    with r.running as machine:
        r.wait_until(200)
        stub = Stub(path, machine.recorder)  # the machine stops
        before = r.count()
        for _ in range(20):  # QEMU stops before the store, or after it
            stub.request("Z2,%x,%x" % (r.cell, r.size))
            if not stub.request("c").startswith(b"T05"):
                raise Failure("no stop")
            stub.request("z2,%x,%x" % (r.cell, r.size))
            for _ in range(5):
                stub.request("s")
        back = after_call(tools, target)
        stub.request("Z1,%x,%x" % (back, 4))
        for _ in range(10):  # QEMU finds the breakpoint while the return is under way
            if not stub.request("c").startswith(b"T05"):
                raise Failure("no stop at 0x%x" % back)
            stub.request("s")
        stub.request("z1,%x,%x" % (back, 4))
        now = r.count()
        stub.request("M%x,%x:%s" % (r.cell + 64, 4, "01020304"))
        stub.request("D")
        r.wait_until(now + 200)
        machine.monitor.call("stop")
        said = same_memory(tools, target, machine, r.trace)
    numbers = r.check(now)
    if not before + 25 <= now <= before + 40:
        raise Failure("from %d to %d" % (before, now))
    jumps = jumps_to(r, back)
    if len(jumps) != 1 or None in jumps:
        raise Failure("before 0x%x: %r" % (back, jumps))
    common.drop_file(r.trace)
    return "%d numbers; %s" % (numbers, said)


def answer(server, times):
    """As the process of a network card (vhost-user): it has the least that there is."""
    values = {1: 1 << 30, 15: 0, 17: 1}  # features, those of the protocol, queues
    for _ in range(times):
        connection, _ = server.accept()
        with connection:
            while len(head := connection.recv(12)) == 12:
                request, _, size = struct.unpack("<III", head)
                if size:
                    connection.recv(size)
                if request in values:
                    connection.sendall(struct.pack("<IIIQ", request, 5, 8, values[request]))


def refused(tools, target, full):
    """Nothing runs, and there is no trace.  Without dma the card is accepted."""
    path = os.path.join(tools.work, "network-" + target)
    trace = os.path.join(tools.work, "refused-%s.ctr" % target)
    qemu = [os.path.join(tools.qemu_dir, "qemu-system-x86_64"), "-display", "none", "-nic", "none",
            "-vga", "none", "-bios", "/usr/share/seabios/bios-256k.bin"]
    network = ["-m", "128", "-object", "memory-backend-memfd,id=m,size=128M,share=on", "-machine",
               "pc,memory-backend=m", "-chardev", "socket,id=c,path=" + path, "-netdev",
               "vhost-user,id=card,chardev=c"]
    common.remove(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        threading.Thread(target=answer, args=(server, 2), daemon=True).start()
        for words, expected in ((["-accel", "qtest"], "not under QTest"),
                                (network, "network card is not run by QEMU")):
            done = common.record(tools, trace, qemu + words)
            if done.status != 1 or expected not in done.stderr or os.path.exists(trace):
                raise Failure("%r: status %d, %s" % (words, done.status, done.stderr))
        with Running(tools, trace, qemu + network, "--events", "exec,mem") as machine:
            machine.wait_for_file(1)
            machine.quit()
    recorded = info(tools, trace)["instructions"]
    common.drop_file(trace)
    return "a card, %d instructions" % recorded


RUN = {"killed": killed, "no-room": no_room, "storm": storm, "snapshot": snapshot, "rebuilt": rebuilt,
       "debugger": debugger, "refused": refused}
