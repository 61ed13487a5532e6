# SPDX-License-Identifier: MIT
# Files of other machines, 32 and 64 bits, both byte orders: functions are those of nm,
# lines those of the machine's addr2line; ARM code, Thumb code and data are distinguished.
. "$SRC/tests/cli/libsymfile.sh"
need python3

# headers FILE: build id and addresses of code without and with elfutils
headers() {
    local how
    for how in --headers --no-lines; do
        { "$symdump" $how info "$1" | grep -v '^has_symtab\|^debug_path' &&
            "$symdump" $how code "$1" | cut -d' ' -f1,2; } >of$how || fail "$1 $how"
    done
    [ "$(wc -l <of--headers)" -ge 8 ] || fail "$1: $(cat of--headers)"
    same of--headers of--no-lines "$1: headers alone"
}

# check MACHINE NAME BITS BIG FLAG...
check() {
    local machine=$1 name=$2 bits=$3 big=$4
    shift 4
    command -v "$machine-gcc" >/dev/null || return 0
    "$machine-gcc" "$@" -o "$name" "$sources/calc.c" 2>cc.err || {
        fail "$name: $(head -3 cc.err)"
        return
    }
    "$symdump" info "$name" >info 2>stderr || fail "$name: $(cat stderr)"
    silent "$name"
    grep -q "^addr_bits $bits\$" info && grep -q "^big_endian $big\$" info ||
        fail "$name: $(tr '\n' ' ' <info)"
    headers "$name"
    # functions with a size in nm, if ours begin there too
    "$machine-nm" -S --defined-only "$name" |
        awk '$3 ~ /^[tTwW]$/ && $2 !~ /^0*$/ {print $1, $2, $4}' >nm.out
    "$symdump" functions "$name" >functions
    python3 - "$name" nm.out functions <<'END' || fail "$name: functions"
import sys
name, nm, ours = sys.argv[1:]
have = {}
for row in map(str.split, open(ours)):
    have[int(row[0], 16)] = (int(row[1], 16), row[4])
want = {}
for addr, size, symbol in map(str.split, open(nm)):
    addr = int(addr, 16) & ~1 if name.startswith(("arm", "thumb")) else int(addr, 16)
    want.setdefault(addr, set()).add((addr + int(size, 16), symbol))
bad = [addr for addr in want if have.get(addr) not in want[addr]]
for addr in bad:
    print(name, hex(addr), want[addr], have.get(addr))
sys.exit(1 if bad or len(want) < 2 else 0)
END
    grep -q ' apply apply$' functions || fail "$name: $(grep apply functions)"
    # lines and inlines of the program's own functions
    python3 - functions "$name" >pcs <<'END'
import sys
for row in map(str.split, open(sys.argv[1])):
    if row[4] in ("main", "apply", "run"):
        for pc in range(int(row[0], 16), int(row[1], 16)):
            print(hex(pc))
END
    "$symdump" addr2line "$name" <pcs >ours
    "$machine-addr2line" -a -i -f -C -e "$name" <pcs >bin
    python3 "$sources/compare.py" ours bin >result || fail "$name: $(tail -20 result)"
    echo "$name: $(tail -1 result)"
}

for level in -O0 -O2; do
    check x86_64-linux-gnu x86_64$level 64 0 -g $level
    check i686-linux-gnu i386$level 32 0 -g $level
    check aarch64-linux-gnu aarch64$level 64 0 -g $level
    check riscv64-linux-gnu riscv64$level 64 0 -g $level
    check mips-linux-gnu mips$level 32 1 -g $level
    check mipsel-linux-gnu mipsel$level 32 0 -gdwarf-4 $level
    check s390x-linux-gnu s390x$level 64 1 -g $level
    check powerpc64le-linux-gnu ppc64le$level 64 0 -gdwarf-4 $level
    check arm-linux-gnueabi arm$level 32 0 -g $level -marm -march=armv7-a '-DOTHER_MODE="thumb"'
    check arm-linux-gnueabihf thumb$level 32 0 -g $level -mthumb '-DOTHER_MODE="arm"'
done

# ARM, Thumb and literals, as objdump disassembles them
modes() {
    local name=$1 machine=$2
    [ -e "$name" ] || return 0
    "$machine-objdump" -d "$name" --section=.text >dis
    python3 - "$name" dis "$symdump" <<'END' || fail "$name: modes"
import re, subprocess, sys
name, dis, symdump = sys.argv[1:]
want = []
for text in open(dis):
    m = re.match(r" *([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(\S+)", text)
    if m:
        data = m[3] in (".word", ".short", ".byte")
        digits = m[2].replace(" ", "")
        wide = m[2].count(" ") == 1 and len(digits) == 8
        thumb = not data and (wide or len(digits) == 4)
        want.append((int(m[1], 16), not data, thumb))
out = subprocess.run([symdump, "marks", name], input="".join("%x\n" % w[0] for w in want),
                     capture_output=True, text=True, check=True).stdout.split("\n")
bad = 0
for (addr, code, thumb), line in zip(want, out):
    got = [x == "1" for x in line.split()]
    if got[0] != code or (code and got[1] != thumb):
        bad += 1
        if bad < 5:
            print(name, hex(addr), "code", code, "thumb", thumb, line)
kinds = {(c, t) for _, c, t in want}
print(name, len(want), "places,", len(kinds), "kinds")
sys.exit(1 if bad or len(want) < 50 else 0)
END
}
for level in -O0 -O2; do
    modes arm$level arm-linux-gnueabi
    modes thumb$level arm-linux-gnueabihf
done
if [ -e arm-O2 ]; then
    "$symdump" functions arm-O2 | grep -q ' symtab 1 apply ' || fail "arm: apply is not T32"
    "$symdump" functions arm-O2 | grep -q ' symtab 0 main ' || fail "arm: main is not A32"
    "$symdump" functions thumb-O2 | grep -q ' symtab 0 apply ' || fail "thumb: apply is not A32"
    "$symdump" functions thumb-O2 | grep -q ' symtab 1 main ' || fail "thumb: main is not T32"
fi

# Room for patches at the entry is of the function, although not in DWARF.
check aarch64-linux-gnu patchable-O2 64 0 -g -O2 -fpatchable-function-entry=4,2
if [ -e patchable-O2 ]; then
    "$symdump" functions patchable-O2 | awk '{print $5}' | grep -xE 'main|apply|twice.*' >names
    [ "$(grep -cx main names)" = 1 ] && ! sort names | uniq -d | grep -q . ||
        fail "doubled functions: $("$symdump" functions patchable-O2)"
fi

# Bytes of code are those of the file
if [ -e aarch64-O2 ]; then
    addr=$("$symdump" functions aarch64-O2 | awk '$5 == "main" {print $1}')
    want=$(aarch64-linux-gnu-objdump -s --start-address=0x"$addr" \
        --stop-address=$((0x$addr + 4)) aarch64-O2 | tail -1 | awk '{print $2}')
    got=$(echo "$addr" | "$symdump" bytes aarch64-O2 | cut -d' ' -f2- | tr -d ' ')
    [ "$got" = "$want" ] || fail "bytes of main: $got, not $want"
fi
finish
