#!/bin/bash
# SPDX-License-Identifier: MIT
# What qemu.sh exports is a mail that `git am` applies without a word, to the
# source that it fetches, and it makes the tree that it builds.  Only the files it touches need to be under git for that.
. "$(dirname "$0")/lib.sh"
command -v git >/dev/null || skip "git is not installed"
qemu --variant plain --configure-only arm

cd "$TMP" || exit 1
qemu --export "$TMP/mail"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t \
    GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
git init -q tree && cd tree || exit 1
grep -h '^--- a/' "$PATCH" | cut -c7- | cut -f1 | sort -u >../touched
while read -r file; do
    # a later mail may touch what an earlier one made
    [ -e "$WORK/src-plain/$file" ] || continue
    mkdir -p "$(dirname "$file")" && cp "$WORK/src-plain/$file" "$file" || fail "no $file"
done <../touched
[ -s ../touched ] || fail "the patch touches no file"
git add -A && git commit -q -m base || exit 1
git am --whitespace=error-all "$TMP/mail" >../log 2>&1 || { cat ../log; fail "git am"; }
! grep -i warning ../log || fail "git am warns"
# What was applied is what qemu.sh builds.
qemu --configure-only arm
git diff --name-only HEAD "$(git rev-list --max-parents=0 HEAD)" >../changed
while read -r file; do
    cmp "$file" "$WORK/src/$file" || fail "$file differs from the tree that is built"
done <../changed
# Every new file is in it.
(cd "$SRC/qemu" && find . -mindepth 2 -type f ! -name '.*' | sed 's,^\./,,') >../new
[ -s ../new ] || fail "no files in qemu/"
while read -r file; do
    cmp "$SRC/qemu/$file" "$file" || fail "$file is not in the mail as it is in qemu/"
done <../new
echo "git am: $(wc -l <../changed) files"
