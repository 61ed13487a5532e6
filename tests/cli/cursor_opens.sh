# SPDX-License-Identifier: MIT
# The cursor example prints the files of `tracedump -e sys', for a file and for a
# stream.
. "$SRC/tests/cli/libtracedump.sh"
opens=$(ls "$BIN/cursor_opens" "$BIN"/examples/cursor_opens 2>/dev/null | head -1)
[ -n "$opens" ] || { echo "cursor_opens was not built"; exit 77; }

"$TOOLS/mktrace" calls arm t.ctr || exit 1
run 0 "$opens" t.ctr
silent
cp stdout file.txt
[ "$(wc -l <file.txt)" -eq "$("$BIN/tracedump" -e sys t.ctr | grep -c ' open(')" ] ||
    fail "$(wc -l <file.txt) files"
[ "$(sort -u file.txt | tr -s ' ')" = "1/1 f descriptor 3" ] || fail "$(sort -u file.txt)"
run 0 "$opens" - < <(cat t.ctr)
same file.txt stdout "a stream gives another result"
"$TOOLS/mktrace" system t.ctr || exit 1
run 0 "$opens" t.ctr
[ "$(tr -s ' ' <stdout)" = "4242/4242 /lib/libc.so.6 descriptor 3" ] || fail "$(cat stdout)"
run 2 "$opens"
run 1 "$opens" missing.ctr
one_line
finish
