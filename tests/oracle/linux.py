# SPDX-License-Identifier: MIT
"""Machines that boot Debian's kernel to a shell, which does some work and switches them off.

scripts/sysroot.sh fetches kernels and busybox (build/sysroot/linux).  Nothing of them is
changed: an archive of two files is the root file system.
"""
import collections
import glob
import os
import sys

import common
from common import Skip, TARGETS

sys.path.insert(0, common.GUESTS)
import build  # noqa: E402
from table import BY_NAME  # noqa: E402

INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
echo begin
[ ! -x /bin/marks ] || /bin/marks
ls -R /sys | wc -l
sha256sum /bin/busybox
i=0
while [ $i -lt 40 ]; do
    (echo $i | sha256sum >/dev/null) &
    i=$((i + 1))
done
wait
cat /proc/interrupts /proc/uptime
echo "end"
poweroff -f
"""
Linux = collections.namedtuple("Linux", "arch options console vcpus", defaults=(2,))
LINUX = {
    "aarch64-softmmu": Linux("arm64", "-M virt,dtb-randomness=off -cpu cortex-a57 -m 256", "ttyAMA0"),
    "arm-softmmu": Linux("armhf", "-M virt,dtb-randomness=off -cpu cortex-a15 -m 256", "ttyAMA0", 1),
    "i386-softmmu": Linux("i386", "-M pc,vmport=off -global apic.vapic=off -vga none -m 256 "
                          "-bios /usr/share/seabios/bios-256k.bin -L /usr/share/qemu", "ttyS0"),
    "mipsel-softmmu": Linux("mipsel", "-M malta -vga none -m 256", "ttyS0", 1),
    "mips64el-softmmu": Linux("mips64el", "-M malta -vga none -cpu 5KEc -m 256", "ttyS0", 1),
    "ppc64-softmmu": Linux("ppc64el", "-M pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,"
                           "cap-ccf-assist=off -vga none -m 512 -L /usr/share/qemu", "hvc0"),
    "s390x-softmmu": Linux("s390x", "-M s390-ccw-virtio -m 512 -L /usr/share/qemu", "ttysclp0"),
    "riscv64-softmmu": Linux("riscv64", "-M virt -m 256 -seed 1 -bios "
                             "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_dynamic.elf", "ttyS0"),
    "x86_64-softmmu": Linux("amd64", "-M pc,vmport=off -global apic.vapic=off -vga none -m 256 "
                            "-bios /usr/share/seabios/bios-256k.bin -L /usr/share/qemu", "ttyS0"),
}


def cpio(files):
    """An archive as the kernel unpacks it: (name, mode, content)."""
    out = b""
    for i, (name, mode, data) in enumerate([*files, ("TRAILER!!!", 0, b"")]):
        fields = (i + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + b"".join(b"%08x" % n for n in fields) + name.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return out


def root(busybox, init, files):
    folders = [(name, 0o40755, b"") for name in ("bin", "proc", "sys", "dev", "drivers")]
    links = [("bin/" + name, 0o120777, b"busybox")
             for name in ("sh", "mount", "ls", "wc", "sha256sum", "cat", "poweroff")]
    return cpio([*folders, ("dev/console", 0o20600, b""), ("bin/busybox", 0o100755, busybox),
                 ("init", 0o100755, init.encode()), *links, *files])


def marks(tools, target):
    """The program that marks the recording, if it can be built here."""
    arch = {"ppc64": "ppc64le"}.get(target.split("-")[0], target.split("-")[0])
    if TARGETS[arch].missing():
        return []
    with open(build.build_one(BY_NAME["marks"], arch, tools.guests), "rb") as f:
        return [("bin/marks", 0o100755, f.read())]


def kernel(tools, target):
    folder = os.path.join(tools.sysroot, "linux", LINUX[target].arch, "boot")
    kernels = glob.glob(os.path.join(folder, "vmlinu[xz]-*"))
    if not kernels:
        raise Skip("no kernel in " + folder)
    return kernels[0]


def command(tools, target, clock, append="", vcpus=None, init=INIT, files=()):
    """QEMU's arguments; the initial file system, with files as cpio() has them, is in
    tools.work.  vcpus: else the table's."""
    m = LINUX[target]
    image = kernel(tools, target)
    busybox = os.path.join(os.path.dirname(image), "..", "bin", "busybox")
    qemu = os.path.join(tools.qemu_dir, "qemu-system-" + target.split("-")[0])
    words = m.options.split()
    for path in [qemu, busybox, *(w for w in words if w.startswith("/"))]:
        if not os.path.exists(path):
            raise Skip("no " + path)
    with open(busybox, "rb") as f:
        archive = root(f.read(), init, files)
    initrd = os.path.join(tools.work, "linux-%s.cpio" % target)
    with open(initrd, "wb") as f:
        f.write(archive)
    return [qemu, *words, *clock.split(), "-kernel", image, "-initrd", initrd, "-append",
            "console=%s nokaslr panic=-1 %s" % (m.console, append), "-smp", str(vcpus or m.vcpus)]
