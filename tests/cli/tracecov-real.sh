# SPDX-License-Identifier: MIT
# Real programs of other machines, without debug information: the functions that ran are
# those of the trace, instruction by instruction.  Needs the patched QEMU and sysroots.
. "$SRC/tests/cli/libtracecov.sh"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
sysroot_dir=${CANNOLI_SYSROOT_DIR:-$BUILD/sysroot}
done_any=0
for pair in aarch64:arm64 arm:armhf riscv64:riscv64; do
    target=${pair%:*}
    root=$sysroot_dir/${pair#*:}
    [ -x "$qemu_dir/qemu-$target" ] && [ -x "$root/usr/bin/sqlite3" ] || continue
    done_any=1
    rec_arm "$target.ctr" -e exec,map -- "qemu-$target" -L "$root" \
        "$root/usr/bin/sqlite3" :memory: 'select 1 + 1;'
    [ "$(cat guest.out)" = 2 ] || fail "$target: sqlite3 says $(cat guest.out)"
    /usr/bin/python3 "$SRC/tests/cli/covfunctions.py" "$BIN" "$target.ctr" || fail "$target"
done
[ $done_any -eq 1 ] || { echo "no sysroot has sqlite3"; exit 77; }
finish
