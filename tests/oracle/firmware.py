# SPDX-License-Identifier: MIT
"""The first instructions of machines that start with what packages have.

firmware   EDK2, U-Boot, SeaBIOS, OpenSBI, SLOF and others
kernel     Debian's kernels, see linux.py
registers  of firmware, where no program of ours runs (machines.py)

They are compared as the cases exact and registers of machines.py.  QEMU's monitor ends the machine.
"""
import array
import itertools
import json
import os
import subprocess
import time

import common
import cpulog
import execlog
import linux
import machines
from common import Failure, Skip

SILENT = "-display none -serial null -monitor stdio"
CALM = machines.CLOCK.replace("-nographic", SILENT)
DATA = "-L /usr/share/qemu "
PC = "-M pc,vmport=off -global apic.vapic=off -vga none -m 128 "
# By target: the options of each firmware; the first one is started in every run, all with --full.
FIRMWARE = {
    "aarch64-softmmu": [
        "-M virt,dtb-randomness=off -cpu cortex-a57 -m 256 -bios /usr/share/qemu-efi-aarch64/QEMU_EFI.fd",
        "-M virt,dtb-randomness=off -cpu cortex-a57 -m 256 -bios /usr/lib/u-boot/qemu_arm64/u-boot.bin",
    ],
    "arm-softmmu": [
        "-M virt,dtb-randomness=off -cpu cortex-a15 -m 256 -bios /usr/lib/u-boot/qemu_arm/u-boot.bin",
    ],
    "riscv64-softmmu": [
        "-M virt -m 256 -bios /usr/lib/riscv64-linux-gnu/opensbi/generic/fw_jump.elf "
        "-kernel /usr/lib/u-boot/qemu-riscv64_smode/uboot.elf",
        "-M virt -m 256 -bios /usr/lib/u-boot/qemu-riscv64/u-boot.bin",
    ],
    "x86_64-softmmu": [
        PC + "-bios /usr/share/seabios/bios-256k.bin",
        PC + DATA + "-bios /usr/share/ovmf/OVMF.fd",
        PC + DATA + "-bios /usr/lib/u-boot/qemu-x86_64/u-boot.rom",
    ],
    "i386-softmmu": [
        PC + DATA + "-bios /usr/lib/u-boot/qemu-x86/u-boot.rom",
        PC + DATA + "-bios /usr/share/seabios/bios-256k.bin",
    ],
    "mipsel-softmmu": ["-M malta -vga none -m 256 -bios /usr/lib/u-boot/maltael/u-boot.bin"],
    "mips64el-softmmu": ["-M malta -vga none -cpu 5KEc -m 256 -bios /usr/lib/u-boot/malta64el/u-boot.bin"],
    "ppc64-softmmu": [
        "-M pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off -vga none -m 512 "
        + DATA + "-bios /usr/share/qemu/slof.bin",
        "-M powernv9 -m 1024 " + DATA + "-bios /usr/share/qemu/skiboot.lid",
        "-M mac99 -vga none -m 256 " + DATA + "-bios /usr/share/qemu/openbios-ppc",
    ],
    "s390x-softmmu": ["-M s390-ccw-virtio -m 512 " + DATA + "-bios /usr/share/qemu/s390-ccw.img"],
}
KERNELS = ("aarch64-softmmu", "arm-softmmu", "i386-softmmu", "ppc64-softmmu")
# By target: what the witness reports and a recording does not have
NOT_RECORDED = {"i386-softmmu": ["eflags", "cs_base", "ds_base", "es_base", "ss_base", "eip"],
                "mips64el-softmmu": ["badvaddr", "w*"],
                "ppc64-softmmu": ["pc"]}
COMPUTED = {"ppc64-softmmu": {"dec", "hdec", "tb"}}  # by QEMU, when they are read
NAMES = {target: ["firmware", *["kernel"] * (target in KERNELS), *["registers"] * (target in NOT_RECORDED)]
         for target in FIRMWARE}


def swapped(tools, image):
    """As malta wants it, whose words are big-endian."""
    path = os.path.join(tools.work, image.replace("/", "-"))
    with open(image, "rb") as f, open(path, "wb") as out:
        words = array.array("I", f.read())
        words.byteswap()
        words.tofile(out)
    return path


def command(tools, target, options):
    words = [os.path.join(tools.qemu_dir, "qemu-system-" + machines.architecture(target)),
             *CALM.split(), *options.split()]
    for path in (words[0], *(w for w in words if w.startswith("/usr/"))):
        if not os.path.exists(path):
            raise Skip("no " + path)
    return [swapped(tools, w) if "/malta" in w else w for w in words]


def first(tools, target):
    """A machine that runs until it is ended: with firmware, or with a program of ours."""
    if target in FIRMWARE:
        return command(tools, target, FIRMWARE[target][0])
    words = machines.command_of(tools, target, "rounds")
    words.remove("-nographic")
    return words + SILENT.split()


def wait_for_end_of_window(tools, trace, recorder):
    while recorder.poll() is None:
        time.sleep(0.2)
        done = subprocess.run([tools.program("cannoli-ctl"), "--socket", trace + ".ctl", "--json", "status"],
                              capture_output=True, text=True)
        if done.returncode == 0 and json.loads(done.stdout)["for_instructions"] == 0:
            return


def record(tools, target, words, insns, events):
    """A trace of the machine's first instructions."""
    trace = os.path.join(tools.work, "begin-%s.ctr" % target)
    recorder = subprocess.Popen([tools.program("cannoli-record"), "-q", "--control", "--events", events,
                                 "--for-instructions", str(insns), "-o", trace, "--", *words],
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for_end_of_window(tools, trace, recorder)
    _, error = recorder.communicate(b"quit\n", timeout=common.PATIENCE)
    if recorder.returncode:
        raise Failure("status %d: %s" % (recorder.returncode, error.decode()[-300:]))
    return trace


def begin(tools, target, words, insns):
    trace = record(tools, target, words, insns, "exec,mem,val")
    log = trace + ".log"
    os.mkfifo(log)
    witness = machines.run_witness(words, ["-d", "in_asm,exec,nochain,plugin", "-plugin",
                                           tools.plugin() + ",print-accesses=true"], log)
    try:
        return machines.compare(tools, target, trace, log, ["--limit", str(insns - 100)])
    finally:
        witness.kill()
        witness.communicate()
        os.unlink(log)
        common.drop_file(trace)


def firmware(tools, target, full):
    said = []
    for options in FIRMWARE[target] if full else FIRMWARE[target][:1]:
        name = options.split()[-1]
        try:
            said.append(name + " " + begin(tools, target, command(tools, target, options), 400000))
        except Failure as err:
            raise Failure("%s: %s" % (name, err)) from None
    return "; ".join(said)


def kernel(tools, target, full):
    return begin(tools, target, linux.command(tools, target, CALM, vcpus=1), 1200000)


def log_registers(tools, target, words, log, insns):
    """Writes what the witness says of so many instructions."""
    pipe = log + ".pipe"
    os.mkfifo(pipe)
    logged = target == "mips64el-softmmu"
    witness = machines.run_witness(words, cpulog.OPTIONS if logged else [
        "-d", "plugin", "-plugin", tools.plugin("execlog") + ",reg=*"], pipe)
    try:
        with open(pipe, encoding="ascii", errors="replace") as f, open(log, "w", encoding="ascii") as out:
            if logged:
                cpulog.as_execlog(f, out, insns)
            else:
                out.writelines(itertools.islice(f, insns))
    finally:
        witness.kill()
        witness.communicate()
        os.unlink(pipe)
    if target == "ppc64-softmmu":
        execlog.convert(log, target)


def registers(tools, target, full):
    words = command(tools, target, FIRMWARE[target][0])
    insns = 400000 if full else 100000
    trace = record(tools, target, words, insns, "reg")
    log = trace + ".log"
    log_registers(tools, target, words, log, insns)
    said = machines.same_registers(tools, trace, log, NOT_RECORDED[target],
                                   ["--limit", str(insns - 100)], COMPUTED.get(target, {"none"}))
    for path in (trace, log):
        common.drop_file(path)
    return said


RUN = {"firmware": firmware, "kernel": kernel, "registers": registers}
