# SPDX-License-Identifier: MIT
# A machine's kernel in gdb that KASLR has moved: symbols of its file (vmlinux) are where it ran,
# by the file or by the image; tracegdb --gdb gives gdb the file.
. "$SRC/tests/cli/libtracedump.sh"
need python3
export BIN
base=0xffff800080000000

# kernel SLIDE: k.ctr, its image, and vmlinux
kernel() {
    "$TOOLS/mktrace" kernel $base "$1" new image k.ctr || exit 1
    python3 - "$SRC/tests/cli" $base <<'END' || exit 1
import sys
sys.path.insert(0, sys.argv[1])
import mkelf
image = open("image", "rb").read()[:0x1000 + 64 * 300]
mkelf.write("vmlinux", "exec", int(sys.argv[2], 0), image,
            [("fn_%03u" % i, 0x1000 + 64 * i, 32) for i in range(300)])
END
}

# answers OFFSETS SLIDE OPTION...: to gdb's request and to monitor slide
answers() {
    python3 - "$SRC/tests/cli" "$@" <<'END' || fail "$*"
import sys
sys.path.insert(0, sys.argv[1])
import gdbremote
gdb = gdbremote.Connection("-q", *sys.argv[4:], "k.ctr")
offsets, slide = gdb.request("qOffsets").decode(), gdb.monitor("slide")
assert offsets == sys.argv[2], offsets
assert sys.argv[3] in slide, slide
assert gdb.close() == 0
END
}

kernel 0x1fe00000
answers TextSeg=ffff80009fe00000 'is 0x1fe00000 above' --elf vmlinux
answers TextSeg=ffff80009fe00000 'is 0x1fe00000 above' --kallsyms image
answers TextSeg=ffff80007ff00000 'is 0x100000 below' --elf vmlinux --slide=-0x100000
answers "" 'is not known' --slide=0x1fe00000
kernel 0
answers "" 'is 0x0 above' --elf vmlinux
"$TOOLS/mktrace" sample k.ctr || exit 1
answers "" 'is not known'

command -v gdb-multiarch >found || finish
kernel 0x1fe00000
# names OPTION...: where each instruction of a range is, as tracesym says and as gdb does
names() {
    "$BIN/tracesym" -q --elf vmlinux -e exec --from=300 -n 40 k.ctr >want || fail "tracesym: $?"
    sed -n 's/.* \(fn_[0-9]*[+0-9a-fx]*\).*/\1/p' want >names
    {
        echo 'monitor goto 300'
        echo 'maintenance flush register-cache'
        for _ in $(seq 40); do
            echo 'info symbol $pc'
            echo stepi
        done
    } >commands
    "$@" >out 2>err </dev/null || fail "$1: $(cat err)"
    sed -n 's/^\(fn_[0-9]*\)\( + \([0-9]*\)\)\? in section \.text$/\1 \3/p' out |
        awk '{ printf "%s+0x%x\n", $1, $2 }' >got
    [ "$(wc -l <got)" = 40 ] && cmp -s got names || fail "names: $(diff got names)"
}
names gdb-multiarch -nx -q -batch -ex 'file vmlinux' \
    -ex "target remote | $BIN/tracegdb -q --elf vmlinux k.ctr" -x commands
printf '#!/bin/sh\nexec gdb-multiarch -nx -batch "$@" -x commands\n' >gdb.sh
chmod +x gdb.sh
names "$BIN/tracegdb" --gdb=./gdb.sh -q --elf vmlinux k.ctr
finish
