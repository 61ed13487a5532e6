# SPDX-License-Identifier: MIT
# README's session in gdb, on an ARM program that crashes by a pointer that was overwritten long
# before: three commands find what wrote it.
. "$SRC/tests/cli/librecord.sh"
need gdb-multiarch
need_qemu_arm
export CANNOLI_QEMU_DIR=$qemu_dir

"$cc" -g -static -o overrun "$SRC/scripts/overrun.c" || fail "$cc"
run 139 "$record" -q -e all -o run.ctr -- ./overrun

sed -n 's/^    \(tracegdb --gdb\)/\1/p; s/^    (gdb) //p' "$SRC/README.md" | sed 's/ *#.*//' >session
[ "$(wc -l <session)" = 3 ] || fail "README's session: $(cat session)"
grep -q '^watch -l' session && grep -qx reverse-continue session || fail "README's session: $(cat session)"
cat >gdb <<END
#!/bin/sh
exec gdb-multiarch -nx -batch -ex 'set width 0' "\$@" -ex '$(sed -n 2p session)' \\
    -ex '$(sed -n 3p session)' -ex 'info args' -ex 'print k' -ex delete -ex reverse-finish
END
chmod +x gdb
command=$(sed -n 1p session)
PATH=$BIN:$PATH timeout 100 sh -c "${command/--gdb/--gdb=./gdb}" >said 2>&1 || fail "gdb: $(cat said)"
# gdb shows the last of the bytes that were written there.
for text in 'deposit (a=.*overrun.c:23$' 'Old value = (long \*) 0x726568$' 'in open_account (i=1, ' \
    'overrun.c:17$' '^owner = .* "Christopher"$' '= 10$' 'main () at .*overrun.c:29$'; do
    grep -q "$text" said || fail "no '$text': $(cat said)"
done

timeout 100 "$BIN/tracegdb" --gdb=./gdb --at=crash -- run.ctr >said 2>&1
grep -q 'main () at .*overrun.c:29$' said || fail "after --: $(cat said)"

# The signal is there at once, and after `monitor goto crash'.
for at in "--at=crash" ""; do
    timeout 100 gdb-multiarch -q -nx -batch -ex "target remote | $BIN/tracegdb -q $at run.ctr" \
        -ex 'monitor goto crash' -ex 'print $_siginfo.si_signo' overrun >said 2>&1
    grep -q '= 11$' said || fail "the signal: $(cat said)"
done
timeout 100 gdb-multiarch -q -nx -batch -ex "target remote | $BIN/tracegdb -q --at=crash run.ctr" \
    -ex 'info program' overrun >said 2>&1
grep -q 'signal SIGSEGV' said || fail "why it stopped: $(cat said)"
finish
