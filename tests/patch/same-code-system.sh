#!/bin/bash
# SPDX-License-Identifier: MIT
# As same-code.sh, of system emulators: the programs for machines of tests/guests/machine.
# The unpatched emulators take minutes to build, so only the full run does this.
. "$(dirname "$0")/lib.sh"
[ "$1" = full ] || skip "in the full run only"
setarch -R true 2>/dev/null || skip "address randomisation cannot be turned off here"

# command_words TARGET: the words of the command that runs its program, one a line; QEMU is ./qemu
command_words() {
    python3 - "$SRC/tests/oracle" "$TMP" "$1" <<'END'
import os
import sys
import types
sys.path.insert(0, sys.argv[1])
import common
import machines
tools = types.SimpleNamespace(guests=sys.argv[2], qemu_dir=sys.argv[2], work=sys.argv[2])
open(os.path.join(sys.argv[2], machines.MACHINES[sys.argv[3]].qemu), "w").close()
try:
    print("\n".join(["./qemu", *machines.command_of(tools, sys.argv[3])[1:]]))
except common.Skip as e:
    print(e, file=sys.stderr)
    sys.exit(77)
END
}

compared=
for target in aarch64-softmmu riscv64-softmmu x86_64-softmmu; do
    command_words $target >"$TMP/words"
    case $? in
    0) ;;
    77) continue ;;
    *) fail "no command for $target" ;;
    esac
    mapfile -t words <"$TMP/words"
    program=qemu-system-${target%-softmmu}
    qemu --variant plain $target
    qemu $target
    for kind in plain patched; do
        from=$WORK/plain/$program
        [ $kind = plain ] || from=$BUILD/libexec/cannoli/$program
        ln -sf "$from" "$TMP/qemu" || exit 1
        (cd "$TMP" && env -i setarch -R "${words[@]}" -d out_asm -D "log-$kind" \
            >"out-$kind" 2>&1 </dev/null) || fail "$kind $program: status $?"
    done
    # QEMU's own data of a vCPU is before its registers, and the patch adds to it.
    sed -i -E 's/-0x[0-9a-f]+\(%rbp\)/OWN(%rbp)/' "$TMP/log-plain" "$TMP/log-patched"
    same_host_code $target
    compared=1
done
[ -n "$compared" ] || skip "no compiler for the programs to compare"
