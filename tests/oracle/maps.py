# SPDX-License-Identifier: MIT
"""The address space of the trace, compared with the guest's own /proc/self/maps.

A program's last action is to print its maps.  The map events of the trace before it
opened the file, combined page by page, must give the same: ranges, protection,
private or shared, file, offset, device and inode.  "sym FILE NAME 0xADDR" lines
give addresses of functions: the trace must place their pcs into the file where
readelf places them, and tracedump must show their address in the file beside the pc.
"""
import json
import os
import re
import subprocess

import common
import states
from common import Failure, TARGETS

PAGE = 4096
LINE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) ([r-])([w-])([x-])([ps]) ([0-9a-f]+) "
                  r"([0-9a-f]+):([0-9a-f]+) (\d+)\s*(.*)$")
MAP_SHARED = 1
# Their inodes cannot be known in advance.
NO_INODE = ("/dev/zero", "/SYSV")


class Page:
    """What is mapped there: protection, kind, and the file and its offset."""

    def __init__(self, prot, shared, path, offset, dev, inode):
        anonymous = not path or path[0] == "["
        self.prot = prot
        self.shared = shared
        self.path = "" if anonymous else path
        self.offset = 0 if anonymous else offset
        known = not anonymous and not path.startswith(NO_INODE)
        self.place = (dev, inode) if known else None

    def with_prot(self, prot):
        page = Page(prot, self.shared, self.path, self.offset, 0, 0)
        page.place = self.place
        return page

    def __eq__(self, other):
        return (self.prot, self.shared, self.path, self.offset, self.place) == (
            other.prot, other.shared, other.path, other.offset, other.place)

    def __str__(self):
        return "%s%s %s+0x%x %s" % (self.prot, "s" if self.shared else "p",
                                    self.path or "anonymous", self.offset, self.place)


def number(v):
    return int(v, 0) if isinstance(v, str) else v


def device(v):
    """As /proc/self/maps prints it: "fe:00"; or st_dev."""
    if isinstance(v, str) and ":" in v:
        major, minor = v.split(":")
        return int(major, 16), int(minor, 16)
    return os.major(number(v)), os.minor(number(v))


def fold(space, e):
    """Applies one map event of tracedump --json to {page number: Page}."""
    start, end = number(e["start"]) // PAGE, (number(e["end"]) + PAGE - 1) // PAGE
    op = e["op"]
    if op in ("initial", "mmap", "shmat"):
        shared = bool(number(e["flags"]) & MAP_SHARED)
        path, dev, inode = e.get("path", ""), device(e.get("dev", 0)), number(e.get("inode", 0))
        offset = number(e.get("offset", 0))
        for i in range(start, end):
            space[i] = Page(e["prot"], shared, path, offset + (i - start) * PAGE, dev, inode)
    elif op in ("munmap", "shmdt"):
        for i in range(start, end):
            space.pop(i, None)
    elif op == "mprotect":
        for i in range(start, end):
            if i not in space:
                raise Failure("mprotect of page 0x%x, where nothing is mapped" % (i * PAGE))
            space[i] = space[i].with_prot(e["prot"])
    elif op == "mremap":
        old, n = number(e["old_start"]) // PAGE, number(e["old_end"]) // PAGE
        moved = [space.get(i) for i in range(old, n)]
        if not all(moved):
            raise Failure("mremap of a range that is not mapped: %s" % e)
        for i in range(old, n):
            space.pop(i, None)
        first = moved[0]
        for i in range(start, end):
            at = i - start
            if at < len(moved):
                space[i] = moved[at]
            else:
                space[i] = Page(first.prot, first.shared, first.path,
                                first.offset + at * PAGE, 0, 0)
                space[i].place = first.place
    elif op == "brk":
        old = (number(e["old_end"]) + PAGE - 1) // PAGE
        for i in range(end, old):
            space.pop(i, None)
        for i in range(old, end):
            space[i] = Page("rw-", False, "", 0, 0, 0)
    elif e["op"] != "discard":  # it changes what is there, not where
        raise Failure("an unknown map event: %s" % e)


def of_text(text):
    """{page number: Page} of /proc/self/maps, and the rest of the output."""
    space, rest = {}, []
    for line in text.splitlines():
        m = LINE.match(line)
        if not m:
            rest.append(line)
            continue
        start, end = int(m.group(1), 16), int(m.group(2), 16)
        for i in range(start // PAGE, end // PAGE):
            space[i] = Page(m.group(3) + m.group(4) + m.group(5), m.group(6) == "s", m.group(11),
                            int(m.group(7), 16) + i * PAGE - start,
                            (int(m.group(8), 16), int(m.group(9), 16)), int(m.group(10)))
    return space, rest


def of_trace(lines):
    """The address space when the program opened its maps, and the number of events."""
    space, count = {}, 0
    for line in lines:
        e = json.loads(line)
        if e["kind"] == "map":
            fold(space, e)
            count += 1
        elif e["kind"] == "syscall" and '"/proc/self/maps"' in e["text"]:
            return space, count
    raise Failure("the trace has no open of /proc/self/maps")


def beyond_the_end(guest, trace):
    """For targets with larger pages than the host's QEMU maps no file past its end."""
    return (trace.path and not guest.path and guest.prot == trace.prot
            and os.path.isfile(trace.path)
            and trace.offset >= os.path.getsize(trace.path))


def differences(guest, trace, large_pages=False):
    """Text lines, one for a range of pages of one kind of difference."""
    out, last = [], None
    for i in sorted(set(guest) | set(trace)):
        a, b = guest.get(i), trace.get(i)
        if a is not None and b is not None and (
                a == b or (large_pages and beyond_the_end(a, b))):
            continue
        what = ("only the guest has" if b is None else "only the trace has" if a is None else
                "differs")
        if last and last[1] == i and last[2] == what:
            last[1] = i + 1
            continue
        last = [i, i + 1, what, a, b]
        out.append(last)
    return ["0x%x..0x%x: %s: guest %s, trace %s" % (s * PAGE, e * PAGE, w, a, b)
            for s, e, w, a, b in out]


def readelf(path, *options):
    done = subprocess.run(["readelf", "-W", *options, path], capture_output=True, text=True)
    if done.returncode:
        raise Failure("readelf %s: %s" % (path, done.stderr))
    return done.stdout.splitlines()


def elf_segments(path):
    """(file offset, address, bytes in the file) of each segment that is loaded."""
    words = (line.split() for line in readelf(path, "-l"))
    return [(int(w[1], 16), int(w[2], 16), int(w[4], 16)) for w in words if w[:1] == ["LOAD"]]


def elf_place(path, name, dynamic):
    """(value, file offset) of a symbol, from readelf."""
    value = None
    for line in readelf(path, "--dyn-syms" if dynamic else "-s"):
        word = line.split()
        if len(word) >= 8 and word[-1].split("@")[0] == name and "UND" not in word:
            value = int(word[1], 16)
    if value is None:
        raise Failure("%s has no %s" % (path, name))
    for offset, vaddr, size in elf_segments(path):
        if vaddr <= value < vaddr + size:
            return value, value - vaddr + offset
    raise Failure("%s: %s is in no segment" % (path, name))


def check_symbols(tools, trace, space, said, program, target):
    for line in said:
        word = line.split()
        if word[:1] != ["sym"]:
            continue
        tag = 1 if target == "thumb" or (target == "arm" and word[1] != "self") else 0
        addr = int(word[3], 16)
        page = space.get(addr // PAGE)
        path = program if word[1] == "self" else page.path if page else ""
        if not page or os.path.basename(path) != os.path.basename(page.path):
            raise Failure("%s: the trace has %s there" % (line, page))
        at = offset = (page.offset + addr % PAGE) & ~tag
        if TARGETS[target].descriptors:
            value = [vaddr + at - first for first, vaddr, size in elf_segments(page.path)
                     if first <= at < first + size][-1]
        else:
            value, offset = elf_place(page.path, word[2], word[1] != "self")
        if at != offset & ~tag:
            raise Failure("%s: offset 0x%x, readelf says 0x%x" % (line, at, offset))
        text = common.dump_text(tools, trace, "--no-disas", "--events", "exec", "--pc",
                                "0x%x+4" % (addr & ~tag))
        if not text:
            raise Failure("%s: the trace never comes there" % line)
        expected = "%s+0x%x" % (os.path.basename(page.path), value & ~tag)
        if expected not in text[0]:
            raise Failure("%s: no %s in %s" % (line, expected, text[0]))


def check_info(tools, trace, guest_space, large):
    """tracedump --info lists the same, as it was at the process's end."""
    done = subprocess.run([tools.program("tracedump"), "--info", "--json", trace],
                          capture_output=True, text=True)
    space = {}
    for m in json.loads(done.stdout)["maps"]:
        for i in range(number(m["start"]) // PAGE, number(m["end"]) // PAGE):
            shared = i in guest_space and guest_space[i].shared
            space[i] = Page(m["prot"], shared, m.get("path", ""),
                            number(m.get("offset", 0)) + i * PAGE - number(m["start"]),
                            device(m.get("dev", 0)), number(m.get("inode", 0)))
    wrong = differences(guest_space, space, large)
    if wrong:
        raise Failure("--info: %d differences\n  %s" % (len(wrong), "\n  ".join(wrong[:12])))


def run(tools, target, name, guest, folder, program):
    trace = os.path.join(tools.work, "maps-%s-%s.ctr" % (target, name))
    recorded = common.record(tools, trace, guest, cwd=folder, options=states.ALL)
    if recorded.status != 0:
        raise Failure("exit status %d: %s%s" % (recorded.status, recorded.stdout[-200:],
                                                recorded.stderr[-300:]))
    guest_space, said = of_text(recorded.stdout.decode())
    large = TARGETS[target].page > PAGE
    space, count = of_trace(common.dump_lines(tools, trace, "--events", "sys,map"))
    wrong = differences(guest_space, space, large)
    if wrong:
        raise Failure("%d differences\n  %s" % (len(wrong), "\n  ".join(wrong[:12])))
    if not any(line.startswith("sym ") for line in said):
        raise Failure("the program named no symbols")
    check_symbols(tools, trace, space, said, program, target)
    check_info(tools, trace, guest_space, large)
    states.memory(tools, trace)
    common.drop_file(trace)
    return "%d events, %d pages, %d symbols" % (count, len(space), len(said))
