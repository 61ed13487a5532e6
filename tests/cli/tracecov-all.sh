# SPDX-License-Identifier: MIT
# -f text --disassembly shows every instruction that ran: the sum of its counts is
# tracedump's number of instructions.  Static and dynamic programs, stripped and not; code
# made at run time; jumps into the middle of instructions.  Needs the patched QEMU.
. "$SRC/tests/cli/libtracecov.sh"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
sysroot_dir=${CANNOLI_SYSROOT_DIR:-$BUILD/sysroot}
cat >app.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
/* The second time, from the middle of its first instruction on: four NOPs. */
asm("twice: xor %ecx, %ecx; 1: .byte 0xb8, 0x90, 0x90, 0x90, 0x90\n"
    "inc %ecx; cmp $2, %ecx; jl 1b + 1; ret");
void twice(void);
#elif defined(__arm__)
static const unsigned code[] = {0xe3a0002a, 0xe12fff1e};
static void twice(void) {}
#else
static const unsigned code[] = {0x52800540, 0xd65f03c0};
static void twice(void) {}
#endif
static inline __attribute__((always_inline)) int half(int n)
{
    return n & 1 ? n : n / 2;
}
int main(void)
{
    char *page = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;

    memcpy(page, code, sizeof(code));
    __builtin___clear_cache(page, page + sizeof(code));
    for (int i = 0; i < 100; i++) {
        sum += ((int (*)(void))page)() + half(i);
    }
    twice();
    printf("%d\n", sum);
    return 0;
}
END

# shown [OPTION...]: the sum of the counts that tracecov shows
shown() {
    "$cov" -q -f text --disassembly "$@" run.ctr >shown.out
    awk '/^ *[0-9]+: 0x[0-9a-f]+: /{ n += $1 } END { printf "%d\n", n }' shown.out
}

# all WHAT: everything that ran in run.ctr is shown
all() {
    local want got
    want=$("$dump" -q --summary run.ctr | awk '$NF == "total" { print $1 }')
    got=$(shown)
    [ "$got" -eq "$want" ] || fail "$1: $got of $want instructions are shown"
    [ "$want" -gt 10000 ] || fail "$1: only $want instructions ran"
}

done=0
while read -r target cc debian flags; do
    command -v "$cc" >/dev/null && [ -x "$qemu_dir/qemu-$target" ] || continue
    for link in -static -rdynamic; do
        qemu=("qemu-$target")
        if [ $link != -static ]; then
            [ -d "$sysroot_dir/$debian/lib" ] || continue
            qemu+=(-L "$sysroot_dir/$debian")
        fi
        # shellcheck disable=SC2086 # flags are words
        "$cc" -g -O1 $link $flags -o app app.c || fail "$target: cc"
        for strip in no yes; do
            [ $strip = no ] || "${cc%gcc}strip" app || fail "$target: strip"
            rec_arm run.ctr -- "${qemu[@]}" ./app
            all "$target $link, stripped: $strip"
            grep -q '^in no file (' shown.out || fail "$target: no code made at run time"
            [ "$(grep -cE '^ +100: 0x0*[0-9a-f]+: (mov|b8)' shown.out)" -ge 1 ] ||
                fail "$target: the code made at run time"
            done=$((done + 1))
        done
    done
done <<'END'
x86_64 x86_64-linux-gnu-gcc amd64
arm arm-linux-gnueabihf-gcc armhf -mthumb
END
[ $done -gt 0 ] || { echo "needs a patched QEMU and a compiler"; exit 77; }

# ---- a program that writes its own code, threads, signals, another program
if command -v arm-linux-gnueabi-gcc >/dev/null && [ -x "$qemu_dir/qemu-arm" ]; then
    /usr/bin/python3 "$SRC/tests/guests/build.py" --out guests --target arm --program smc \
        --program family || fail "guests"
    for guest in smc family; do
        "$record" -q --qemu-dir "$qemu_dir" -o run.ctr -- guests/arm/$guest >out 2>err
        all $guest
        cp shown.out index.out
        shown -j2 --to=99999999999 >sum
        same index.out shown.out "$guest: a replay"
        shown --no-index >sum
        same index.out shown.out "$guest: --no-index"
    done
fi
finish
