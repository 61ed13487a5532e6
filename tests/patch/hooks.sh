#!/bin/bash
# SPDX-License-Identifier: MIT
# The patch holds hooks only: it adds lines and changes none, what it adds to C files
# is a call, a macro or an include under 80 columns, and makes no file.  The files of
# qemu/ have 80 columns, fewer than 1000 lines, and name their license.  In each
# header, every hook is there for both configurations.
. "$(dirname "$0")/lib.sh"
cd "$SRC" || exit 1
bad=0
complain() { echo "$*"; bad=1; }

! grep -n '^-[^-]' "$PATCH" || complain "the patch changes these lines"
! grep -nE '^(new|deleted|rename|old mode|copy)' "$PATCH" || complain "the patch makes or moves a file"
hooks=$(awk '
    /^\+\+\+ / { c = /\.(c|h|inc)$/; open = 0; next }
    !c || !/^\+/ { next }
    { line = substr($0, 2); sub(/ *\\$/, "", line) }
    length($0) > 80 { print FILENAME ":" FNR ": " length($0) - 1 " columns" }
    line == "" { next }
    # the rest of a call over two lines
    open { open = line !~ /\);?$|\)\)$/; next }
    line ~ /^ *(cannoli_[a-z0-9_]+|CANNOLI_[A-Z_]+)\(/ { open = line !~ /\);?$/; n++; next }
    line ~ /^ *CANNOLI_[A-Z_]+$/ { n++; next }
    line ~ /^#include "[a-z\/-]*cannoli[a-z\/]*\.h"$/ { next }
    { print FILENAME ":" FNR ": no hook: " line }
    END { print "hooks " n }' "$PATCH")
n=$(sed -n 's/^hooks //p' <<<"$hooks")
[ "$(grep -vc '^hooks ' <<<"$hooks")" = 0 ] || complain "$(grep -v '^hooks ' <<<"$hooks")"
[ "${n:-0}" -gt 100 ] || complain "hardly any hooks: $n"

files=$(find qemu -mindepth 2 -type f ! -name '.*' ! -name '*~')
[ -n "$files" ] || fail "no files in qemu/"
for file in $files; do
    grep -q 'SPDX-License-Identifier: GPL-2.0-or-later' "$file" || complain "$file: no license"
    awk -v f="$file" 'length > 80 { print f ":" FNR ": " length " columns"; bad = 1 }
        /[ \t]$/ || /\t/ { print f ":" FNR ": white space"; bad = 1 }
        END { if (NR > 1000) { print f ": " NR " lines"; bad = 1 } exit bad }' "$file" || bad=1
done

# Whatever the patch calls is defined when it is off.
grep -ohE '^\+ *(cannoli_[a-z0-9_]+|CANNOLI_[A-Z_]+)' "$PATCH" | tr -d '+ ' | sort -u >"$TMP/called"
sed -sn '/^#else \/\* CONFIG_CANNOLI \*\//,$s/^#define \([A-Za-z0-9_]*\).*/\1/p' \
    qemu/include/exec/cannoli.h qemu/linux-user/cannoli/hooks.h \
    qemu/system/cannoli/hooks.h qemu/system/cannoli/devices.h | sort -u >"$TMP/defined"
comm -23 "$TMP/called" "$TMP/defined" >"$TMP/missing"
[ ! -s "$TMP/missing" ] || complain "not defined when off: $(xargs <"$TMP/missing")"
comm -13 "$TMP/called" "$TMP/defined" >"$TMP/unused"
[ ! -s "$TMP/unused" ] || complain "defined when off and never called: $(xargs <"$TMP/unused")"

[ $bad = 0 ] || fail "see above"
echo "$n hooks, $(wc -w <<<"$files") files"
