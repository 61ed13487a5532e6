# SPDX-License-Identifier: MIT
# Call trees of a C++ program that throws: calls equal the program's own counts.
. "$SRC/tests/cli/libcalls.sh"

for pair in x86_64:g++ aarch64:aarch64-linux-gnu-g++ riscv64:riscv64-linux-gnu-g++ \
    arm:arm-linux-gnueabihf-g++; do
    target=${pair%%:*}
    cxx=${pair#*:}
    [ -x "$qemu_dir/qemu-$target" ] && [ -n "$(command -v "$cxx")" ] || continue
    for level in -O0 -O2; do
        "$cxx" $level -static -o unwind "$SRC/tests/guests/unwind.cc" 2>stderr || {
            fail "$cxx: $(head -3 stderr)"
            continue
        }
        done_any=1
        rm -f a.ctr
        recorded "$target" a.ctr ./unwind
        cp witness counted
        tree dump a.ctr
        python3 "$SRC/tests/cli/calls_check.py" counted dump 10 >problems 2>&1 ||
            fail "$target $level: $(head -5 problems)"
        read -r _ insns _ unmatched _ depth <dump
        [ "$unmatched" -le 4 ] || fail "$target: $unmatched branches unmatched"
        [ "$depth" -lt 60 ] || fail "$target: $depth deep"
    done
done
finish_any
