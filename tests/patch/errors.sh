#!/bin/bash
# SPDX-License-Identifier: MIT
# What goes wrong when QEMU is to be built gets one clear line: nothing is
# left half done, and a source folder of the user's is never changed.
. "$(dirname "$0")/lib.sh"
cd "$TMP" || exit 1

# expect STATUS PATTERN ARGUMENTS...: qemu.sh in an empty build folder
expect() {
    local status=$1 pattern=$2 got
    shift 2
    "$SRC/scripts/qemu.sh" -b "$TMP/build" "$@" >out 2>err </dev/null
    got=$?
    [ $got = "$status" ] || { cat err; fail "qemu.sh $*: status $got, not $status"; }
    [ ! -s out ] || fail "qemu.sh $*: writes on stdout"
    [ "$(grep -cE -- "$pattern" err)" = 1 ] ||
        { cat err; fail "qemu.sh $*: no line '$pattern'"; }
    [ ! -e build/libexec/cannoli/qemu-arm ] || fail "qemu.sh $*: built something"
    checks=$((checks + 1))
}
checks=0

expect 2 "^qemu.sh: unknown option '--frob'\$" --frob
expect 2 "^qemu.sh: option '--targets' needs a value\$" --targets
expect 2 "^qemu.sh: not a target: 'a/b'\$" a/b
expect 2 "^qemu.sh: not a number of jobs: '0'\$" -j 0
expect 1 "^qemu.sh: no such file or folder: nowhere\$" --source nowhere
expect 1 "^qemu.sh: cannot read the patch: nowhere\$" --patch nowhere

mkdir tree && echo 9.2.4 >tree/VERSION && printf 'one\ntwo\nthree\n' >tree/file.c
printf -- '--- a/file.c\n+++ b/file.c\n@@ -1,3 +1,4 @@\n one\n two\n+more\n three\n' >good.patch
sed 's/two/other/' good.patch >bad.patch
expect 1 "^qemu.sh: QEMU 9.2.4 will not do: the patch is for 10.0.x\$" --patch good.patch -s tree
tar -cJf qemu-9.2.4.tar.xz tree
expect 1 "^qemu.sh: QEMU 9.2.4 will not do: the patch is for 10.0.x\$" --patch good.patch \
    -s qemu-9.2.4.tar.xz
echo nothing >qemu-10.0.0.tar.xz
expect 1 "^qemu.sh: unpacking qemu-10.0.0.tar.xz failed: " --patch good.patch -s qemu-10.0.0.tar.xz
mkdir empty
expect 1 "^qemu.sh: not a QEMU source folder: empty\$" --patch good.patch -s empty

echo 10.0.7 >tree/VERSION
before=$(find tree -type f -exec sha256sum {} + | sort)
expect 1 "^qemu.sh: the patch does not apply to QEMU 10.0.7: hunk #1 of file.c, line 1 " \
    --patch bad.patch -s tree
[ ! -e build/qemu/src ] || fail "a half patched tree is left"
expect 2 "^qemu.sh: QEMU has no target 'nosuch'\$" --patch good.patch -s tree nosuch
grep -q more build/qemu/src/file.c || fail "the copy is not patched"
[ "$before" = "$(find tree -type f -exec sha256sum {} + | sort)" ] || fail "the user's tree changed"

# An edit made in the build folder is kept when the tree is made anew.
sleep 0.01
echo edited >>build/qemu/src/file.c
cp good.patch other.patch && echo >>other.patch
expect 2 "^qemu.sh: .*/src/file.c was edited; a copy is kept in .*/edited-" --patch other.patch \
    -s tree nosuch
grep -qx edited build/qemu/edited-*/file.c || fail "the edit is lost"
! grep -q edited build/qemu/src/file.c || fail "the tree is not made anew"
new=include/exec/cannoli.h
grep -q CANNOLI build/qemu/src/$new || fail "the new files are not in the tree"

# With --dev they are links.
expect 2 "^qemu.sh: QEMU has no target 'nosuch'\$" --patch good.patch -s tree --dev nosuch
[ "$(readlink build/qemu/src-dev/$new)" = "$SRC/qemu/$new" ] || fail "--dev: no link"

# A source with a file of the same name and other content is not overwritten.
mkdir -p tree/include/exec && echo >tree/$new
expect 1 "^qemu.sh: the source has another $new than qemu/$new\$" --patch good.patch -s tree
rm -r tree/include
expect 1 "^qemu.sh: not a mail: good.patch\$" --patch good.patch --export mail
[ ! -e mail ] || fail "--export writes what is no mail"

# A tree that has the patch already is taken as it is.
patch -s -d tree -p1 <good.patch
expect 2 "^qemu.sh: .*/tree has the patch already\$" --patch good.patch -s tree nosuch

# Everything but ninja
mkdir bin
for dir in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
    [ -d $dir ] && ln -s $dir/* bin/ 2>/dev/null
done
rm -f bin/ninja
PATH=$TMP/bin expect 1 "^qemu.sh: missing packages: ninja-build " --patch good.patch

if command -v apt-get >/dev/null; then
    rm -rf build
    echo 'Acquire::http::Proxy "http://127.0.0.1:9"; Acquire::https::Proxy "http://127.0.0.1:9";
        Acquire::Retries::Delay "false";' >apt.conf
    APT_CONFIG=$TMP/apt.conf expect 1 "^qemu.sh: apt cannot fetch the lists of trixie .*network" \
        --patch good.patch
fi
echo "$checks passed, 0 failed"
