# SPDX-License-Identifier: MIT
# --no-aslr: two recordings of one program have the same addresses, also those of its
# children and of the programs that they execute; without it they have not.
. "$SRC/tests/cli/librecord.sh"
need_qemu x86_64 x86_64-linux-gnu-gcc
need_qemu aarch64 aarch64-linux-gnu-gcc

cat >guest.c <<'END2'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int local;

    if (argc > 1 && fork() == 0) {
        execl(argv[0], argv[0], NULL);
        _exit(99);
    }
    wait(NULL);
    printf("%p %p %p %p %p\n", (void *)main, (void *)puts, (void *)&local, malloc(10),
           mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    printf("%s %d\n", getenv("MALLOC_ARENA_MAX") ? getenv("MALLOC_ARENA_MAX") : "-",
           !!(personality(0xffffffff) & ADDR_NO_RANDOMIZE));
    return 0;
}
END2

# recorded NAME [OPTION...]: what the guest printed
recorded() {
    local name=$1
    shift
    rec 0 -q -e exec,map --follow-exec "$@" -o a.ctr -- "qemu-$target" -L "$root" "./$target" again
    mv stdout "$name.printed"
}
# places NAME: where it and its child were
places() {
    local name=$1
    "$dump" -e exec,map --no-disas a.ctr >dumped || fail "tracedump: status $?"
    # without the process IDs
    sed -E 's: [0-9]+/[0-9]+ : :' dumped | sort >"$name.places"
    [ "$(wc -l <"$name.places")" -gt 1000 ] || fail "$target: no places"
}

for target in x86_64 aarch64; do
    need_qemu $target $target-linux-gnu-gcc
    fake=$qemu_dir
    case $target in
    x86_64) root=$BUILD/sysroot/amd64 ;;
    *) root=$BUILD/sysroot/arm64 ;;
    esac
    $cc -O1 -fPIE -pie -o $target guest.c || exit 1
    # With the libraries of the machine, or else without any
    if ! "$qemu_dir/qemu-$target" -L "$root" ./$target >/dev/null 2>&1; then
        $cc -O1 -static-pie -o $target guest.c || exit 1
    fi
    for run in 1 2; do
        recorded $run --no-aslr
        places $run
    done
    same 1.printed 2.printed "$target: the guest sees other addresses"
    same 1.places 2.places "$target: other addresses"
    [ "$(sed -n 2~2p 1.printed | tr '\n' ' ')" = '- 1 - 1 ' ] || fail "$target: $(cat 1.printed)"
    # A number of arenas that the user chose is left alone.
    MALLOC_ARENA_MAX=7 recorded other --no-aslr
    [ "$(sed -n 2~2p other.printed | tr '\n' ' ')" = '7 1 7 1 ' ] ||
        fail "$target: the user's variable: $(cat other.printed)"
    # where the machine has random addresses, and this test's caller
    [ "$(cat /proc/sys/kernel/randomize_va_space)" = 0 ] && continue
    [ $((0x$(cat /proc/self/personality) & 0x40000)) = 0 ] || continue
    for run in 4 5; do
        recorded $run
        places $run
    done
    cmp -s 4.places 5.places && fail "$target: the same addresses without the option"
    [ "$(sed -n 2~2p 4.printed | tr '\n' ' ')" = '- 0 - 0 ' ] || fail "$target: $(cat 4.printed)"
done

# Where it is forbidden, nothing is recorded.
cat >forbid.c <<'END2'
#include <errno.h>
int personality(unsigned long persona)
{
    if (persona != 0xffffffff) {
        errno = EPERM;
        return -1;
    }
    return 0;
}
END2
${CC:-cc} -shared -fPIC -o forbid.so forbid.c || exit 1
preload=$(ldd "$record" | sed -n 's/.*=> \(.*lib[at]san[^ ]*\) .*/\1:/p' | head -1)$PWD/forbid.so
rm -f b.ctr
LD_PRELOAD=$preload rec 125 --no-aslr -o b.ctr -- qemu-x86_64 ./x86_64
one_line forbidden
grep -q 'cannot disable .* Operation not permitted' stderr || fail "forbidden: $(cat stderr)"
[ ! -e b.ctr ] || fail "forbidden: a trace"
finish
