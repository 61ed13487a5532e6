# SPDX-License-Identifier: MIT
# Errors before anything runs, and full disks: one line and the status of the man
# page.
. "$SRC/tests/cli/librecord.sh"
guest ok 'blocks 15' 'print hello'
guest much 'blocks 30000000'

# bad STATUS PATTERN COMMAND...
bad() {
    local want=$1 pattern=$2
    shift 2
    run "$want" "$@"
    one_line "$*"
    grep -q "^cannoli-record: .*$pattern" stderr || fail "$*: $(cat stderr)"
    [ ! -s stdout ] || fail "$*: something on stdout"
}
with="$record --qemu-dir $fake"

# programs
bad 127 'No such file' $with -- qemu-arm missing
bad 127 'No such file' $with -- ./missing
bad 127 'no such program in PATH' $with -- missing-program
bad 127 'No such file' $with -- ./qemu-arm ok
bad 126 'directory' $with -- qemu-arm .
bad 126 'directory' $with -- ./
bad 126 'no ELF program' $with -- ./ok
printf '#! ./missing -e\n:\n' >script
chmod +x script
bad 127 "cannot run './missing', the interpreter of './script'" $with -- ./script
bad 127 'there is no qemu-mips in' $with -- qemu-mips ok
[ ! -e cannoli.ctr ] || fail "a program that never ran left a file"
printf 'old' >old.ctr
bad 127 'No such file' $with -o old.ctr -- qemu-arm missing
[ "$(cat old.ctr)" = old ] || fail "an older file was harmed"

# QEMUs
mkdir plain other
cp /bin/true plain/qemu-arm
bad 126 'without the cannoli patch.*scripts/setup.sh' "$record" --qemu-dir plain -- qemu-arm ok
bad 126 'without the cannoli patch' "$record" -- plain/qemu-arm ok
sed 's/cannoli-mempipe-version=[0-9]*/cannoli-mempipe-version=0/' "$fake/qemu-arm" >other/qemu-arm
chmod +x other/qemu-arm
bad 126 'version 0' "$record" --qemu-dir other -- qemu-arm ok
printf '#!/bin/sh\nexit 3\n' >other/qemu-arm
bad 3 'nothing was recorded' "$record" --qemu-dir other -- qemu-arm ok
printf '#!/nonexistent/interpreter\n' >other/qemu-arm
bad 126 'cannot start' "$record" --qemu-dir other -- qemu-arm ok
# A wrapper around a patched QEMU works.
printf '#!/bin/sh\nexec "%s" "$@"\n' "$fake/qemu-arm" >other/qemu-arm
run 0 "$record" -q --qemu-dir other -o a.ctr -- qemu-arm ok
counts a.ctr 40 15 5 1 1 0

# Where QEMU is searched: option, environment, PATH
CANNOLI_QEMU_DIR=$fake run 0 "$record" -q -o a.ctr -- qemu-arm ok
PATH=$fake:$PATH run 0 "$record" -q -o a.ctr -- "$fake/qemu-arm" ok
CANNOLI_QEMU_DIR=$fake bad 126 'without the cannoli patch' "$record" --qemu-dir plain -- qemu-arm ok

# ELF files: which QEMU they need
elf() { # NAME CLASS DATA MACHINE FLAGS(hex, 4 bytes as in the file)
    python3 - "$@" <<'END'
import struct, sys
name, cls, data, machine, flags = sys.argv[1], *map(lambda x: int(x, 0), sys.argv[2:])
e = "<" if data == 1 else ">"
ident = b"\x7fELF" + bytes([cls, data, 1]) + bytes(9)
if cls == 1:
    h = struct.pack(e + "HHIIIIIHHHHHH", 2, machine, 1, 0, 0, 0, flags, 52, 32, 0, 40, 0, 0)
else:
    h = struct.pack(e + "HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 0, flags, 64, 56, 0, 64, 0, 0)
open(name, "wb").write(ident + h)
END
    chmod +x "$1"
}
mkdir none
while read -r target class data machine flags; do
    elf "elf-$target" "$class" "$data" "$machine" "$flags"
    bad 127 "needs qemu-$target," "$record" --qemu-dir none -- "./elf-$target"
done <<'END'
aarch64 2 1 183 0
aarch64_be 2 2 183 0
armeb 1 2 40 0
i386 1 1 3 0
x86_64 2 1 62 0
mips 1 2 8 0x70001007
mipsel 1 1 8 0x70001007
mipsn32 1 2 8 0x20
mipsn32el 1 1 8 0x20
mips64 2 2 8 0
mips64el 2 1 8 0
riscv32 1 1 243 0
riscv64 2 1 243 0
s390x 2 2 22 0
ppc 1 2 20 0
ppc64 2 2 21 0
ppc64le 2 1 21 0
sparc 1 2 2 0
sparc32plus 1 2 18 0
sparc64 2 2 43 0
m68k 1 2 4 0
sh4 1 1 42 0
sh4eb 1 2 42 0
hppa 1 2 15 0
alpha 2 1 0x9026 0
loongarch64 2 1 258 0
microblaze 1 2 189 0
microblazeel 1 1 189 0
or1k 1 2 92 0
xtensa 1 1 94 0
xtensaeb 1 2 94 0
hexagon 1 1 164 0
END
elf elf-vax 1 1 75 0
bad 126 'does not know' $with -- ./elf-vax
elf elf-s390 1 2 22 0
bad 126 'does not know' $with -- ./elf-s390
head -c 20 elf-arm 2>/dev/null >short || head -c 20 elf-mips >short
bad 126 'no ELF program' $with -- ./short

# outputs
bad 125 'Is a directory' $with -o . -- qemu-arm ok
bad 125 'No such file' $with -o missing/a.ctr -- qemu-arm ok
mkdir closed
chmod 555 closed
if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid=65534 --clear-groups true 2>/dev/null && chmod 755 . &&
        setpriv --reuid=65534 --clear-groups test -x "$record" &&
        bad 125 'Permission denied' setpriv --reuid=65534 --clear-groups \
            $with -o closed/a.ctr -- qemu-arm ok
else
    bad 125 'Permission denied' $with -o closed/a.ctr -- qemu-arm ok
fi
run 125 $with -o /dev/full -- qemu-arm ok
grep -q 'No space left' stderr || fail "/dev/full: $(cat stderr)"
python3 - "$record" "$fake" <<'END' || fail "a trace went to a terminal"
import os, pty, subprocess, sys
master, slave = pty.openpty()
r = subprocess.run([sys.argv[1], "--qemu-dir", sys.argv[2], "-o", "-", "--", "qemu-arm", "ok"],
                   stdout=slave, stderr=subprocess.PIPE)
sys.exit(r.returncode != 2 or b"terminal" not in r.stderr)
END

# A limit on file sizes applies to shared memory, too.
(ulimit -f 8; run 125 $with -o limit.ctr -- qemu-arm ok; one_line limit; exit $failed) ||
    failed=1

# A small disk: the file is finished with what fits.
guest noisy
for i in $(seq 400); do
    echo "forks 1 15"
    echo "threads 3 1500"
done >noisy
if unshare -rm true 2>/dev/null; then
    export with
    unshare -rm bash -c 'mkdir small && mount -t tmpfs -o size=64k none small &&
        $with -j1 -o small/a.ctr -- qemu-arm noisy 2>stderr
        echo $? >status; cp small/a.ctr full.ctr'
    [ "$(cat status)" -eq 125 ] || fail "full disk: status $(cat status)"
    grep -q 'No space left' stderr || fail "full disk: $(cat stderr)"
    [ "$(wc -l <stderr)" -eq 1 ] || fail "full disk: $(cat stderr)"
    "$dump" full.ctr >/dev/null 2>err
    case $? in
    0|3) ;;
    *) fail "full disk: the file cannot be read: $(cat err)" ;;
    esac
else
    echo "no mount namespaces here: only /dev/full was tried as a full disk"
fi
finish
