# SPDX-License-Identifier: MIT
# Names of PLT entries equal those of objdump -d, for every machine and kind of entry,
# also in a stripped file.
. "$SRC/tests/cli/libsymfile.sh"
need python3

cat >plt.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int (*f)(const char *) = puts;
    void *(*g)(size_t) = malloc;
    free(g((size_t)argc));
    f(argv[0]);
    printf("%zu\n", strlen(argv[0]));
    puts("x");
    return atoi(argv[0]);
}
END

# entries NAME: "addr name" of the entries, as symfile has them; checks their ends
entries() {
    "$symdump" functions "$1" | awk '$3 == "plt" {print $1, $5}' | sort
}

# check MACHINE NAME FLAG...
check() {
    local machine=$1 name=$2 what
    shift 2
    command -v "$machine-gcc" >/dev/null || return 0
    "$machine-gcc" -O1 -fno-builtin -z lazy "$@" -o "$name" plt.c 2>cc.err || {
        fail "$name: $(head -3 cc.err)"
        return
    }
    # objdump names the stubs of landing pads only in .plt.sec
    "$machine-objdump" -d "$name" 2>/dev/null |
        sed -nE 's/^0*([0-9a-f]+) <([0-9a-f]{8}\.plt_call\.)?([^>]*)>:$/\1 \2 \3/p' |
        awk '$2 ~ /plt_call/ {sub(/@.*/, "", $3); print $1, $3 "@plt"; next}
             $2 ~ /@plt$/ && $2 !~ /^\*ABS\*/ {print $1, $2}' | sort >want
    entries "$name" >got
    case $machine in
    # objdump does not name MIPS stubs: the symbol table has them
    mips*) "$machine-readelf" -sW "$name" | awk '$4 == "FUNC" && $7 == "UND" && $2 !~ /^0*$/ {
            sub(/^0*/, "", $2); sub(/@.*/, "", $8); print $2, $8 "@plt"}' >>want
        sort -u -o want want ;;
    esac
    [ "$(wc -l <want)" -ge 5 ] || fail "$name: only $(wc -l <want) entries to compare with"
    comm -23 want got >missing
    [ ! -s missing ] || fail "$name: missing $(tr '\n' ';' <missing)"
    # more than objdump: lazy stubs, with the names of their entries
    comm -13 want got | while read -r _ what; do
        grep -q " $what\$" want || echo "$what"
    done >unknown
    [ ! -s unknown ] || fail "$name: unknown $(tr '\n' ';' <unknown)"
    "$machine-strip" -o "$name.bare" "$name"
    entries "$name.bare" >bare
    same got bare "$name: a stripped file gives another result"
    "$symdump" functions "$name" | python3 -c '
import sys
for row in map(str.split, sys.stdin):
    if row[2] == "plt" and int(row[1], 16) - int(row[0], 16) > 36:
        print(sys.argv[1] + ": long:", *row)' "$name" >long
    [ ! -s long ] || fail "$(cat long)"
}

x=x86_64-linux-gnu
check $x x86_64 -fcf-protection=none
check $x x86_64-now -Wl,-z,now
check $x x86_64-ibt -fcf-protection -Wl,-z,ibtplt
check $x x86_64-nopie -no-pie
check i686-linux-gnu i386
check i686-linux-gnu i386-nopie -no-pie -fno-pic
check i686-linux-gnu i386-ibt -fcf-protection -Wl,-z,ibtplt
check aarch64-linux-gnu aarch64
check aarch64-linux-gnu aarch64-bti -mbranch-protection=standard -Wl,-z,force-bti
check aarch64-linux-gnu aarch64-nopie -no-pie
check arm-linux-gnueabi arm
check arm-linux-gnueabi arm-nopie -no-pie -fno-pic
check arm-linux-gnueabihf thumb -mthumb
check arm-linux-gnueabihf thumb-armv6 -march=armv6+fp -marm
check riscv64-linux-gnu riscv64
check mips-linux-gnu mips
check mipsel-linux-gnu mipsel
check mipsel-linux-gnu mipsel-nopic -no-pie -fno-pic -mno-abicalls
check s390x-linux-gnu s390x
check powerpc64le-linux-gnu ppc64le

# Demangled, including the machine's suffix
cat >new.cpp <<'END'
#include <string>
int main(int argc, char **argv) { return (new std::string(argv[argc - 1], 2))->data()[0]; }
END
if command -v g++ >/dev/null && g++ -O1 -o cxx new.cpp; then
    "$symdump" functions cxx | grep -q ' plt 0 _Znwm@plt operator new(unsigned long)@plt$' ||
        fail "C++: $("$symdump" functions cxx | grep Znwm)"
fi

# What a static program chooses at its start is named after the choosing function
if gcc -static -O1 -fno-builtin -o static plt.c 2>/dev/null; then
    "$symdump" functions static | awk '$3 == "plt" {print $5}' | sort -u >got
    grep -qx 'strlen@plt' got || fail "static: $(head -5 got)"
fi
finish
