#!/bin/bash
# SPDX-License-Identifier: MIT
# Configured without --with-cannoli, the patched QEMU compiles what the unpatched
# one compiles: after preprocessing every source is the same.
. "$(dirname "$0")/lib.sh"
# Targets whose own code the patch touches, and arm.
targets="arm $(sed -n 's,^--- a/target/\([a-z0-9]*\)/.*,\1,p' "$PATCH" | sort -u |
    sed 's/^mips$/mips mipsel/; s/^ppc$/ppc64le/; s/^i386$/i386 x86_64/; s/^riscv$/riscv64/')"
known=""
for t in $targets; do
    [ -e "$WORK/src-plain/configs/targets/$t-linux-user.mak" ] || [ "$t" = arm ] || continue
    known="${known:+$known,}$t"
done
qemu --variant plain --configure-only -t "$known"
qemu --variant off --configure-only -t "$known"
exec python3 "$(dirname "$0")/preprocess.py" "$WORK/obj-plain" "$WORK/src-plain" \
    "$WORK/obj-off" "$WORK/src" "${known//,/ }"
