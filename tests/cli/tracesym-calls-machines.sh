# SPDX-License-Identifier: MIT
# As tracesym-calls, for more machines.
. "$SRC/tests/cli/libtracecalls.sh"
values x86_64 -O0
values i386 -O2
values arm -O0
values thumb -O2
values aarch64 -O0 t_longdouble
# DWARF leaves out the room for patches at the entry
values aarch64 '-O2 -fpatchable-function-entry=2' t_longdouble
values mips -O2
values mipsel -O0
values riscv64 -O2 t_longdouble
values ppc64le -O2 t_longdouble
values s390x -O2 t_longdouble
values ppc -O0 t_longdouble
values ppc64 -O2 t_longdouble
values mips64el -O2 t_longdouble,t_ff,t_f3,t_dd,t_di,t_id,t_f1,t_d1,t_inside

for target in i386 aarch64 mips mipsel riscv64 ppc64le s390x; do
    crash $target
done

# Instructions of other machines are not known
if compile m68k values -g; then
    record_all m68k values.ctr ./values
    for what in --trace-calls=t_void --backtrace=end; do
        run 1 "$sym" -q "$what" values.ctr
        one_line "m68k $what"
        grep -q 'm68k' stderr || fail "m68k: $(cat stderr)"
    done
fi

finish_any
