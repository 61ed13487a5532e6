# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of the patch share.  From the environment: SRC and BUILD.
set -u
PATCH=${PATCH:-$SRC/qemu_patches.patch}
WORK=$BUILD/qemu
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

fail() { echo "FAILED: $*"; exit 1; }
skip() { echo "skipped: $*"; exit 77; }

# qemu ARGUMENTS...: scripts/qemu.sh in this build folder, with the same source
qemu() {
    "$SRC/scripts/qemu.sh" -b "$BUILD" --patch "$PATCH" \
        ${CANNOLI_QEMU_SOURCE:+--source "$CANNOLI_QEMU_SOURCE"} "$@" || fail "qemu.sh $*"
}

# normalise_host_code LOG: of a log of `-d out_asm', no host bytes, no host addresses (QEMU's own and its code buffer's).
# A block's constants come after it ordered by value, so those that are host
# addresses go, and with them the distances of what loads a constant.
normalise_host_code() {
    sed -E 's/^(0x[0-9a-f]+):((  [0-9a-f]{2})( [0-9a-f]{2})* +)?/HOST: /
        s/\b0x0*(5[56]|7f)[0-9a-f]{10}\b/HOST/g
        /^HOST:  *\.quad  *HOST/d
        /lea/!s/-?\b(0x)?[0-9a-f]+\(%rip\)/CONSTANT/' "$1"
}

# same_host_code WHAT: compares log-plain with log-patched, in TMP
same_host_code() {
    local kind
    for kind in plain patched; do
        normalise_host_code "$TMP/log-$kind" >"$TMP/code-$kind"
    done
    [ "$(wc -l <"$TMP/code-plain")" -gt 10000 ] || fail "$1: hardly any code in the log"
    grep -q 'mov' "$TMP/code-plain" || skip "QEMU was built without a disassembler"
    diff "$TMP/code-plain" "$TMP/code-patched" >"$TMP/diff" || {
        head -n 20 "$TMP/diff"
        fail "$1: the translated code differs"
    }
    echo "$1: $(wc -l <"$TMP/code-plain") lines of host code are the same"
}
