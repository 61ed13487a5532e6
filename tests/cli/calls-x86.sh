# SPDX-License-Identifier: MIT
# Call trees of GCC's code for x86: the cold parts of functions are elsewhere, and what
# follows a call through a table is no function.
. "$SRC/tests/cli/libcalls.sh"

cc=x86_64-linux-gnu-gcc
[ -x "$qemu_dir/qemu-x86_64" ] && [ -n "$(command -v $cc)" ] || finish_any
done_any=1

# Two static functions of one name, each with a cold part.
for unit in a b; do
    cat >$unit.c <<END
__attribute__((cold, noipa)) void bad_$unit(int x) { __asm__ volatile("" : : "r"(x)); }
static __attribute__((noipa)) int parse(int x)
{
    if (__builtin_expect(x > 5, 0)) {
        bad_$unit(x);
        bad_$unit(x + 1);
    }
    return x + 1;
}
__attribute__((noipa)) int run_$unit(int x) { return parse(x) + parse(x + 1) + 1; }
END
done
cat >main.c <<'END'
int run_a(int x), run_b(int x);
int main(void) { return run_a(5) + run_b(5) == 0; }
END
echo 'int run_b(int x); int run_a(int x) { return run_b(x); }' >only.c

# paths OPTION...: the paths below run_b
paths() {
    tree dump -p "$@" a.ctr
    sed -n 's/^path .*;\(run_b[^ ]*\) \([0-9]*\) .*/\1 \2/p' dump | sort >below
}
want() {
    printf '%s\n' "$@" | sort >wanted
    same below wanted "cold parts"
}

$cc -O2 -g -static -o prog main.c a.c b.c || exit 1
nm prog | grep -c ' t parse.cold$' | grep -qx 2 || {
    echo "$cc makes no cold parts"
    exit 77
}
recorded x86_64 a.ctr ./prog
all_ways a.ctr
paths -g
want 'run_b 1' 'run_b;parse 2' 'run_b;parse;bad_b 2'
# Names alone do not show to which function a cold part belongs.
paths
want 'run_b 1' 'run_b;parse 2' 'run_b;parse.cold 1' 'run_b;parse.cold;bad_b 2'

$cc -O2 -static -o prog main.c only.c b.c || exit 1
rm -f a.ctr
recorded x86_64 a.ctr ./prog
for options in "" -g; do
    paths $options
    grep -q 'parse.cold' below && fail "a cold part of the only function of its name"
    grep -q 'run_b;parse;bad_b 4$' below || fail "$(cat below)"
done

# A call that is seven bytes long, and whose callee leaves by a jump.  The jump goes past a
# function that has a name; otherwise it could be a jump within code without names.
cat >table.s <<'END'
        .globl _start
_start: xor %eax, %eax
        call *table(,%rax,8)
        mov $60, %eax
        xor %edi, %edi
        syscall
first:  call second
        ret
        .type named, @function
named:  ret
        .size named, 1
second: nop
        pop %rcx
        pop %rcx
        jmp *%rcx
        .data
table:  .quad first
END
$cc -nostdlib -static -no-pie -o prog table.s || exit 1
strip -K named prog
rm -f a.ctr
recorded x86_64 a.ctr ./prog
tree dump -p a.ctr
sed -n 's/^path prog-[0-9]*;//p' dump | cut -d' ' -f2,3 >costs
printf '%s\n' '1 5' '1 1' '1 4' | cmp -s costs - || fail "return to a call through a table: $(cat dump)"
finish_any
