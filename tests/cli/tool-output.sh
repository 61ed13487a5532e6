# SPDX-License-Identifier: MIT
# Output that cannot be written, for all tools: to a full disk, and where only closing the
# file reports the error, as on NFS.  One line, and a status that says so.
. "$SRC/tests/cli/libtracedump.sh"
. "$SRC/tests/cli/libfailing.sh"
"$TOOLS/mktrace" random 5 60 3000 t.ctr expect.json || exit 1
"$TOOLS/mktrace" mapped /nowhere/app m.ctr || exit 1 # a result of tracecov's needs mappings

for tool in tracedump tracecov tracesym tracediff cannoli-ctl cannoli-record cannoli-expand; do
    want=1
    [ $tool = tracediff ] && want=2
    [ $tool = cannoli-record ] && want=125
    for how in --help --version; do
        "$BIN/$tool" $how >/dev/full 2>stderr
        got=$?
        [ $got -eq $want ] || fail "$tool $how >/dev/full: status $got"
        one_line "$tool $how >/dev/full"
        failing close '*/out' "$BIN/$tool" $how >out 2>stderr
        got=$?
        [ $got -eq $want ] || fail "$tool $how, close: status $got"
        one_line "$tool $how, close"
        grep -q "^$tool: standard output: Disk quota exceeded" stderr ||
            fail "$tool $how, close: $(cat stderr)"
    done
    # If the reader goes away, the tool ends silently.
    (trap '' PIPE; exec "$BIN/$tool" --help) 2>stderr | :
    [ ! -s stderr ] || fail "$tool --help | :: $(cat stderr)"
done

# reports COMMAND...: the tool reports that the file `out' cannot be closed
reports() {
    run 1 failing close '*/out*' "$@"
    one_line "$*"
    grep -q "^trace[a-z]*: .*Disk quota exceeded" stderr || fail "$*: $(cat stderr)"
}
for how in "tracedump t.ctr" "tracedump --info t.ctr" "tracedump --summary t.ctr" \
    "tracedump --json t.ctr" "tracesym -q t.ctr" "tracesym -q --functions t.ctr" \
    "tracesym -q --calls -f json t.ctr" "tracesym -q --calls -f chrome t.ctr" \
    "tracesym -q --bbv=100 -t 100 t.ctr" "tracecov -q -f json m.ctr" "tracecov -q -f drcov m.ctr"; do
    failing close '*/out' "$BIN"/$how >out 2>stderr
    got=$?
    [ $got -eq 1 ] || fail "$how, close of standard output: status $got"
    one_line "$how, close of standard output"
    grep -q "standard output: Disk quota exceeded" stderr || fail "$how: $(cat stderr)"
done
for how in "" --json --functions "--calls -f svg" "--calls -f callgrind" --bbv=100; do
    rm -f out*
    reports "$BIN/tracesym" -q $how -o out t.ctr
    grep -q "tracesym: out" stderr || fail "tracesym $how: $(cat stderr)"
    [ -z "$(ls out* 2>/dev/null)" ] || [ "$how" = --bbv=100 ] || fail "tracesym $how: left $(ls out*)"
done
# A full disk; an old file remains, and no part of a new one.
if mkdir -p small && mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
    echo old >small/out
    for how in "" --json --functions "--calls -f json"; do
        dd if=/dev/zero of=small/rest bs=4k 2>/dev/null
        run 1 "$BIN/tracesym" -q $how -o small/out t.ctr
        one_line "tracesym $how on a full disk"
        grep -q "^tracesym: small/out: No space left on device" stderr ||
            fail "tracesym $how on a full disk: $(cat stderr)"
        [ "$(ls small)" = "out
rest" ] && [ "$(cat small/out)" = old ] || fail "tracesym $how on a full disk: left $(ls small)"
    done
    umount small
fi
# Closed descriptors
run 0 sh -c 'exec "$1" -q -o out t.ctr <&- >&-' sh "$BIN/tracesym"
[ -s out ] || fail "tracesym -o with standard output closed"
"$BIN/tracesym" -q t.ctr | cmp - out || fail "tracesym -o writes something else"
reports "$BIN/tracesym" -q --bbv=100 -o bb --bbv-pcs=out.pcs t.ctr
for format in json text drcov html-summary; do
    rm -f out*
    reports "$BIN/tracecov" -q -f $format -o out m.ctr
    [ -z "$(ls out* 2>/dev/null)" ] || fail "tracecov -f $format: left $(ls out*)"
done
finish
