# SPDX-License-Identifier: MIT
# A patched QEMU with more rights than its user accepts no pipe and no library from
# QEMU_CANNOLI.  Needs root, to make such programs, and the patched qemu-arm.
. "$SRC/tests/cli/librecord.sh"
qemu=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}/qemu-arm
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
if [ "$(id -u)" -ne 0 ] || ! as_nobody true 2>/dev/null || [ ! -x "$qemu" ]; then
    echo "needs root, and '$qemu'"
    exit 77
fi
open=$(mktemp -d)
trap 'rm -rf "$open"' EXIT
chmod 755 "$open"
cp "$qemu" "$(command -v id)" "$open" || exit 1
chown 65533 "$open/id"
chmod 4755 "$open/id"
if [ "$(as_nobody "$open/id" -u)" != 65533 ]; then
    echo "no set-user-ID programs in '$open'"
    exit 77
fi
run 1 as_nobody env QEMU_CANNOLI=pipe=/proc/1/fd/9999,exec "$open/qemu-arm" --version
grep -q 'cannot open /proc/1/fd/9999' stderr || fail "$(cat stderr)"
chown 65533 "$open/qemu-arm"
chmod 4755 "$open/qemu-arm"
run 0 as_nobody env QEMU_CANNOLI=pipe=/proc/1/fd/9999,exec "$open/qemu-arm" --version
silent "set-user-ID"
# The command line is accepted: it controls such a program anyway.
run 1 as_nobody "$open/qemu-arm" -cannoli pipe=/proc/1/fd/9999,exec --version
finish
