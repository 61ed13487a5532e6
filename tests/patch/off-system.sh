#!/bin/bash
# SPDX-License-Identifier: MIT
# As off.sh, of system emulators: of those whose targets have hooks of their own, the sources
# that the patch touches.
. "$(dirname "$0")/lib.sh"
targets=$(sed -nE 's,^--- a/target/([a-z0-9]+)/.*,\1,p' "$PATCH" | sort -u |
    sed 's/^arm$/aarch64/; s/^mips$/mips64el/; s/^ppc$/ppc64/; s/^i386$/x86_64/; s/^riscv$/riscv64/
        s/^loongarch$/loongarch64/; s/^sparc$/sparc64/')
[ "$(wc -w <<<"$targets")" -ge 6 ] || fail "the patch touches only $targets"
if [ "$1" != full ]; then
    targets="aarch64 x86_64 riscv64"
fi
list="" programs=""
for t in $targets; do
    list=${list:+$list,}$t-softmmu
    programs="${programs:+$programs }qemu-system-$t"
done
qemu --variant plain --configure-only -t "$list"
qemu --variant off --configure-only -t "$list"
sed -n 's,^--- a/,,p' "$PATCH" >"$TMP/touched"
exec python3 "$(dirname "$0")/preprocess.py" "$WORK/obj-plain-system" "$WORK/src-plain" \
    "$WORK/obj-off-system" "$WORK/src" "$programs" "$TMP/touched"
