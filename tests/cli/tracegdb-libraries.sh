# SPDX-License-Identifier: MIT
# gdb on recordings of a dynamically linked program that dlopens a library: the program, its
# loader and libraries are where they were, whether memory is known or not; breakpoints in
# all of them, forward and backward.
. "$SRC/tests/cli/librecord.sh"
need gdb-multiarch
need_qemu_arm
root=/usr/arm-linux-gnueabi
[ -d "$root/lib" ] || { echo "no $root"; exit 77; }
export CANNOLI_QEMU_DIR=$qemu_dir BIN

cat >late.c <<'END_C'
int late(int n) { return n + 1; }
END_C
cat >app.c <<'END_C'
#include <dlfcn.h>
#include <stdio.h>
int early(int n) { return n; }
int main(void)
{
    void *h = dlopen("./liblate.so", RTLD_NOW);
    int (*late)(int) = h ? (int (*)(int))dlsym(h, "late") : early;
    puts("opened");
    return late(early(-1));
}
END_C
"$cc" -g -O0 -shared -fPIC -o liblate.so late.c && "$cc" -g -O0 -o app app.c -ldl || fail "$cc"

mkdir elsewhere
cat >commands <<'END_GDB'
set width 0
echo == first\n
info sharedlibrary
break early
continue
echo == early\n
info sharedlibrary
break late
break puts
reverse-continue
echo == puts\n
continue
continue
echo == late\n
info symbol $pc
delete
break main
reverse-continue
echo == main\n
info sharedlibrary
END_GDB
# offset FILE: by how much gdb moves the program (qOffsets), where it cannot know it itself
offset() {
    PYTHONPATH=$SRC/tests/cli python3 -c '
import sys
from gdbremote import Connection
gdb = Connection("-q", sys.argv[1])
print(gdb.request("qOffsets").decode())
gdb.close()' "$1"
}

for kinds in exec,map exec,map,thr,sys,mem,time exec,map,reg all; do
    "$record" -q -e "$kinds" -o app.ctr -- qemu-arm -L $root ./app >out || fail "recording: $?"
    # Elsewhere, as gdb looks for ./liblate.so where it is.
    (cd elsewhere && gdb-multiarch -q -nx -batch \
        -ex "target remote | $BIN/tracegdb -q ../app.ctr" -x ../commands >../all 2>../err) ||
        fail "gdb: $(cat err)"
    # at PLACE: the libraries that gdb lists there
    at() { sed -n "/^== $1\$/,/^== /p" all | grep '^0x.* Yes'; }
    at first | grep -q ' target:.*ld-linux' || fail "$kinds: no loader"
    at first | grep -q 'libc\.so' && fail "$kinds: a library too early"
    grep -q '^Breakpoint 1, early (n=' all || fail "$kinds: no breakpoint in the program"
    at early | grep -q ' target:.*libc\.so' || fail "$kinds: no libc"
    [ "$(at early | grep -c ' target:/.*liblate\.so')" = 1 ] || fail "$kinds: not one library of dlopen"
    grep -Eq '^Breakpoint 3, .*puts' all || fail "$kinds: no breakpoint in libc, backward"
    grep -q '^late.* in section .text of .*liblate\.so' all || fail "$kinds: no breakpoint in a library"
    at main | grep -q ' target:.*libc\.so' || fail "$kinds: no libc at main"
    [ "$(at main | grep -c liblate)" = 0 ] || fail "$kinds: a library before dlopen"
    offset app.ctr >offset
    [ "$(cat offset)" = "TextSeg=$("$dump" --state=0 app.ctr | sed -n 's,^ *0x\([0-9a-f]*\)-.* r-x .*/app+0x0$,\1,p')" ] ||
        fail "$kinds: $(cat offset)"
done

# A program that is where its file says does not move.
"$cc" -static -no-pie -o fixed app.c -ldl 2>/dev/null || fail "$cc"
"$record" -q -e exec,map -o fixed.ctr -- qemu-arm ./fixed >out || fail "recording: $?"
[ -z "$(offset fixed.ctr)" ] || fail "a fixed program: $(offset fixed.ctr)"
finish
