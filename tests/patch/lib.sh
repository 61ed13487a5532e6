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
