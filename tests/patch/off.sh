#!/bin/bash
# SPDX-License-Identifier: MIT
# Configured without --with-cannoli, every object of the patched QEMU is the one of
# the unpatched QEMU: see preprocess.py.  All sources of qemu-arm, and of the targets
# that have hooks of their own those that the patch touches: the others get nothing
# from it but headers, which are the same for all targets.
. "$(dirname "$0")/lib.sh"
targets="arm $(sed -nE 's,^--- a/(target|linux-user)/([a-z0-9]+)/.*,\2,p' "$PATCH" | sort -u |
    sed 's/^arm$//; s/^mips$/mips mipsel/; s/^ppc$/ppc64le/; s/^i386$/i386 x86_64/
        s/^openrisc$/or1k/; s/^riscv$/riscv64/')"
qemu --variant plain --configure-only arm
known=""
for t in $targets; do
    [ -e "$WORK/src-plain/configs/targets/$t-linux-user.mak" ] || continue
    known="${known:+$known,}$t"
done
qemu --variant plain --configure-only -t "$known"
qemu --variant off --configure-only -t "$known"
sed -n 's,^--- a/,,p' "$PATCH" >"$TMP/touched"
programs=qemu-${known//,/ qemu-}
exec python3 "$(dirname "$0")/preprocess.py" "$WORK/obj-plain" "$WORK/src-plain" \
    "$WORK/obj-off" "$WORK/src" "$programs" "$TMP/touched"
