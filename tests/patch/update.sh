#!/bin/bash
# SPDX-License-Identifier: MIT
# `qemu.sh --update-patch` writes what was edited in the tree of --dev into the patch: the
# new patch makes that tree again, its message is kept, and with no edit not a byte of the
# project's patch changes.  What it cannot write gets one line, and the patch stays.
. "$(dirname "$0")/lib.sh"
command -v git >/dev/null || skip "git is not installed"
cd "$TMP" || exit 1

# update STATUS PATTERN: what it says, and whether it leaves the patch alone if it fails
update() {
    cp my.patch before.patch
    "$SRC/scripts/qemu.sh" -b "$TMP/build" -s tree --patch my.patch --update-patch >out 2>err
    local got=$?
    [ $got = "$1" ] || { cat err; fail "status $got, not $1, wanted '$2'"; }
    grep -qE -- "$2" err || { cat err; fail "no line '$2'"; }
    [ ! -s out ] || fail "writes on stdout"
    [ $got = 0 ] || cmp before.patch my.patch || fail "the patch was changed"
}

# A source of the files that the patch touches is enough.
mkdir tree && echo 10.0.7 >tree/VERSION && mkdir -p tree/sub
printf 'one\ntwo\nthree\n' >tree/file.c
printf 'four\n' >tree/sub/other.c
cat >my.patch <<'END'
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A <a@b.example>
Date: Fri, 20 Nov 2026 12:00:00 +0000
Subject: [PATCH] some hooks

What they are for.
---
 file.c | 1 +
 1 file changed, 1 insertion(+)

diff --git a/file.c b/file.c
index 4cb29ea..8b3ee1c 100644
--- a/file.c
+++ b/file.c
@@ -1,3 +1,4 @@
 one
 two
+more
 three
END
dev() { "$SRC/scripts/qemu.sh" -b "$TMP/build" -s tree --patch my.patch --dev nosuch 2>err; }
edited=build/qemu/src-dev

update 1 "no .*/src-dev to read"
dev
[ -e $edited/file.c ] || fail "--dev makes no tree"
update 0 "my.patch (has these changes already|is written: 1 file changed)"
sed -i 's/^more$/still more/' $edited/file.c
echo five >>$edited/sub/other.c
update 0 "^qemu.sh: my.patch is written: 2 files changed, 2 insertions"
[ "$(sed '/^---$/q' my.patch)" = "$(sed '/^---$/q' before.patch)" ] || fail "another message"
grep -qE '^ sub/other.c *\| 1 \+$' my.patch || fail "no statistics"
cp -r tree again && patch -s -d again -p1 <my.patch || fail "the new patch does not apply"
cmp again/file.c $edited/file.c && cmp again/sub/other.c $edited/sub/other.c ||
    fail "the new patch makes another tree"
update 0 "my.patch has these changes already"
dev
! grep -q 'is kept' err || { cat err; fail "what the patch has is an edit once more"; }

touch $edited/sub/new.c
update 1 "/sub/new.c is a new file: it belongs into qemu/"
rm $edited/sub/new.c $edited/sub/other.c
update 1 "/sub/other.c is gone"
echo four >$edited/sub/other.c
sed -i '/^still more$/d' $edited/file.c
update 1 "holds no change of QEMU's files"
echo >>my.patch
update 1 "my.patch has changed since .*/src-dev was made"

# The project's own, with the source that is built
source=${CANNOLI_QEMU_SOURCE:-$(find "$WORK/dl" -name 'qemu_*.orig.tar.*' ! -name '*.asc' | head -n 1)}
cp "$SRC/qemu_patches.patch" own.patch
own() { "$SRC/scripts/qemu.sh" -b "$TMP/own" -s "$source" --patch own.patch "$@"; }
own --dev nosuch 2>err
own --update-patch 2>>err || { cat err; fail "--update-patch of the project's patch"; }
cmp own.patch "$SRC/qemu_patches.patch" || fail "without an edit the patch is another"
echo "the patch comes back"
