# SPDX-License-Identifier: MIT
# tracedump's text output for small traces that never change.
. "$SRC/tests/cli/libtracedump.sh"

"$TOOLS/mktrace" sample sample.ctr || exit 1
run 0 "$BIN/tracedump" sample.ctr
silent
golden tracedump-text.txt
run 0 "$BIN/tracedump" --no-disas sample.ctr
golden tracedump-no-disas.txt
run 0 "$BIN/tracedump" --events mem sample.ctr
golden tracedump-mem.txt
run 0 "$BIN/tracedump" -e exec,store sample.ctr
golden tracedump-exec-store.txt
run 0 "$BIN/tracedump" --color=always sample.ctr
golden tracedump-color.txt
run 0 "$BIN/tracedump" --json sample.ctr
golden tracedump-json.txt
run 0 "$BIN/tracedump" --info sample.ctr
sed -i -E 's/Capstone [0-9.]+/Capstone X/; s/^(size +)[0-9]+ (.*), [0-9.]+ bits.*/\1SIZE \2/' stdout
golden tracedump-info.txt
run 0 "$BIN/tracedump" --info --json sample.ctr
sed -i -E 's/Capstone [0-9.]+/Capstone X/; s/"(file_bytes|raw_bytes|bits_per_instruction|ratio)":[0-9.]+/"\1":N/g' stdout
golden tracedump-info-json.txt

# A stream's --info, known at its end, equals that of a file.
"$BIN/tracedump" --info --json sample.ctr >file.json
"$BIN/tracedump" --info --json - <sample.ctr >stream0.json
cat sample.ctr | "$BIN/tracedump" --info --json - >stream.json
sed -i 's/"indexed":[a-z]*/"indexed":X/' file.json stream.json stream0.json
same file.json stream.json "--info of a stream differs"
same file.json stream0.json "--info of a file on standard input differs"

# Instructions of each target; bytes are shown for those that Capstone 4 does not know.
for target in arm armeb aarch64 mips mipsel mips64 x86_64 i386 s390x ppc ppc64le sparc64 m68k hppa; do
    "$TOOLS/mktrace" target "$target" target.ctr || exit 1
    echo "$target"
    "$BIN/tracedump" target.ctr || fail "target $target"
done >stdout
golden tracedump-targets.txt
"$TOOLS/mktrace" target riscv64 target.ctr || exit 1
run 0 "$BIN/tracedump" target.ctr
grep -Eq '(\.byte 0x13, 0x05, 0x10, 0x00|li a0, 1|addi a0, zero, 1)' stdout ||
    fail "riscv64: $(cat stdout)"

# An incomplete trace is shown, and reported as incomplete.
"$TOOLS/mktrace" killed killed.ctr || exit 1
run 3 "$BIN/tracedump" killed.ctr
one_line killed
grep -q 'process 5000 was killed' stderr || fail "killed: $(cat stderr)"
golden tracedump-killed.txt
run 3 "$BIN/tracedump" -q killed.ctr
silent killed -q
"$TOOLS/mktrace" unfinished unfinished.ctr || exit 1
"$BIN/tracedump" sample.ctr >whole
run 3 "$BIN/tracedump" unfinished.ctr
one_line unfinished
same whole stdout "an unfinished trace lacks events"
run 3 "$BIN/tracedump" - < <(cat unfinished.ctr)
same whole stdout "an unfinished stream lacks events"
finish
