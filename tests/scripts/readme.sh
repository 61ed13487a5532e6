#!/bin/bash
# SPDX-License-Identifier: MIT
# README shows what scripts/demo.sh runs, and is short; every file that a document
# links to is there, and every heading within one.
set -u
cd "$SRC" || exit 1
checks=0
fail() { echo "FAILED: $*"; exit 1; }
ok() { checks=$((checks + 1)); }

diff <(sed -n '/^## A session/,/^## /s/^    \$ //p' README.md) \
    <(sed -n "s/^\(show\|page\) '\(.*\)'.*/\2/p" scripts/demo.sh) ||
    fail "README's session is not that of scripts/demo.sh"
ok
[ "$(wc -l <README.md)" -le 200 ] || fail "README has $(wc -l <README.md) lines"
ok

# anchors FILE: those of its headings, as GitHub and others make them
anchors() {
    sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
for document in README.md HACKING.md doc/*.md tracefmt/FORMAT.md; do
    while read -r link; do
        case $link in http*://*) continue ;; esac
        file=${link%%#*}
        [ -n "$file" ] && file=$(dirname "$document")/$file || file=$document
        [ -e "$file" ] || fail "$document links to $link"
        case $link in
        *#*) anchors "$file" | grep -qxF -- "${link#*#}" || fail "$document: no heading $link" ;;
        esac
        ok
    done < <(grep -o '\](\([^)]*\))' "$document" | sed 's/^](//; s/)$//')
done
echo "$checks passed, 0 failed"
