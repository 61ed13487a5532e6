# SPDX-License-Identifier: MIT
# Programs with more rights than their user do not let the environment choose what they
# run and where they write.  Needs root, to make such programs.
. "$SRC/tests/cli/librecord.sh"
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
if [ "$(id -u)" -ne 0 ] || ! as_nobody true 2>/dev/null; then
    echo "needs root"
    exit 77
fi
open=$(mktemp -d)
trap 'rm -rf "$open"' EXIT
chmod 755 "$open"
mkdir "$open/bin" "$open/out"
chown 65534 "$open/out"
cp "$record" "$BIN/tracecov" "$open/bin" || exit 1
guest ok 'blocks 15'
cp ok "$open"
cp "$fake/qemu-arm" "$open/qemu-arm"
"$TOOLS/mktrace" mapped /nowhere/app "$open/sample.ctr" || exit 1
chmod 644 "$open/sample.ctr"

# recorder STATUS [NAME=VALUE]...: cannoli-record as another user
recorder() {
    run "$1" as_nobody env PATH=/usr/bin:/bin "${@:2}" \
        "$open/bin/cannoli-record" -q -o "$open/out/a.ctr" -- qemu-arm "$open/ok"
}
# coverage STATUS: tracecov of a stream, with a TMPDIR that does not exist
coverage() {
    run "$1" as_nobody env TMPDIR="$open/missing" bash -c \
        'cat "$1/sample.ctr" | "$1/bin/tracecov" -q -f json -' - "$open"
}
as_nobody "$open/bin/cannoli-record" --version >/dev/null 2>&1 &&
    as_nobody "$open/qemu-arm" >/dev/null 2>&1
if [ $? -ge 126 ]; then
    echo "other users cannot run the built programs"
    exit 77
fi
recorder 0 CANNOLI_QEMU_DIR="$open"
recorder 0 PATH="$open:/usr/bin:/bin"
coverage 1

# a user other than the caller
chown 65533 "$open/bin/cannoli-record" "$open/bin/tracecov"
chmod 4755 "$open/bin/cannoli-record" "$open/bin/tracecov"
cp "$(command -v id)" "$open/id"
chown 65533 "$open/id"
chmod 4755 "$open/id"
if [ "$(as_nobody "$open/id" -u)" != 65533 ]; then
    echo "no set-user-ID programs in '$open'"
    exit 77
fi
chmod 777 "$open/out"
recorder 127 CANNOLI_QEMU_DIR="$open"
grep -q "there is no qemu-arm" stderr || fail "CANNOLI_QEMU_DIR: $(cat stderr)"
recorder 127 PATH="$open:/usr/bin:/bin"
grep -q "there is no qemu-arm" stderr || fail "PATH: $(cat stderr)"
coverage 0
finish
