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
for kinds in exec,map exec,map,thr,sys,mem,time exec,map,reg all; do
    "$record" -q -e "$kinds" -o app.ctr -- qemu-arm -L $root ./app >out || fail "recording: $?"
    gdb-multiarch -q -nx -batch -ex "target remote | $BIN/tracegdb -q app.ctr" -x commands >all 2>err ||
        fail "gdb: $(cat err)"
    # at PLACE: the libraries that gdb lists there
    at() { sed -n "/^== $1\$/,/^== /p" all | grep '^0x.* Yes'; }
    at first | grep -q ' target:.*ld-linux' || fail "$kinds: no loader"
    at first | grep -q 'libc\.so' && fail "$kinds: a library too early"
    grep -q '^Breakpoint 1, early (n=' all || fail "$kinds: no breakpoint in the program"
    at early | grep -q ' target:.*libc\.so' || fail "$kinds: no libc"
    at early | grep -q 'liblate\.so' || fail "$kinds: no library of dlopen"
    grep -Eq '^Breakpoint 3, .*puts' all || fail "$kinds: no breakpoint in libc, backward"
    grep -q '^late.* in section .text of .*liblate\.so' all || fail "$kinds: no breakpoint in a library"
    at main | grep -q ' target:.*libc\.so' || fail "$kinds: no libc at main"
    [ "$(at main | grep -c liblate)" = 0 ] || fail "$kinds: a library before dlopen"
done
finish
