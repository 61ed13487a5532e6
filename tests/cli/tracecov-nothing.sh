# SPDX-License-Identifier: MIT
# A result that is empty because of what was recorded, selected or misnamed: one line that
# says why, also with -q, status 4, and nothing written but JSON.
. "$SRC/tests/cli/libtracecov.sh"
"$TOOLS/mktrace" sample unmapped.ctr || exit 1
"$TOOLS/mktrace" mapped /nowhere/app mapped.ctr || exit 1

# nothing FORMATS LINE OPTION...: the file of -o stays as it is
nothing() {
    local format
    for format in $1; do
        echo old >out
        run 4 "$cov" -q -f "$format" -o out "${@:3}"
        [ "$(cat stderr)" = "tracecov: $2" ] || fail "-f $format ${*:3}: $(cat stderr)"
        grep -qx old out || fail "-f $format ${*:3}: wrote $(head -3 out)"
    done
    run 4 "$cov" -q -f json "${@:3}"
    [ "$(cat stderr)" = "tracecov: $2" ] || fail "-f json ${*:3}: $(cat stderr)"
    is stdout 'j["format"]' tracecov
}
lines='lcov lcov2 cobertura'
all="$lines drcov html-summary text"

nothing "$all" 'no process matches --pid 77; the trace has 4242, 5000' -p 77 unmapped.ctr
nothing "$all" 'no thread matches --thread 77, 78; the trace has 4242, 4243, 5000' \
    -t 77,78 unmapped.ctr
nothing "$all" 'no process matches --pid 7; the traces have 4242, 5000, 1' \
    -p 7 unmapped.ctr mapped.ctr
nothing "$all" 'the chosen processes and threads executed no instruction' \
    -p 5000 -t 4243 unmapped.ctr
nothing "$all" 'no instruction has a chosen ordinal; the longest thread has 22 instructions' \
    --from=5000 unmapped.ctr
nothing "$all" "no instruction was executed in the chosen time; the trace has 0.006000 s" \
    --from-time=7 unmapped.ctr
nothing "$all" "no programs or libraries found: the trace has no mappings; name the programs with --elf, or record with the events \`map'" \
    unmapped.ctr
"$TOOLS/mktrace" machine aarch64 machine.ctr || exit 1
nothing "$all" "no programs or libraries found: name the machine's kernel or firmware with --elf or --kallsyms, the folder of its programs' files with --sysroot" \
    machine.ctr
nothing "$all" 'no program or library matches --module libfoo*, x; the trace has app' \
    --module 'libfoo*' --module x mapped.ctr
nothing "$all" 'no source file, program or library is selected: --include leaves none' \
    --include '*.c' mapped.ctr
nothing "$all" 'no source file, program or library is selected: --include --exclude leave none' \
    --include '*' --exclude '*app' mapped.ctr
for format in $lines; do
    run 4 "$cov" -q -f "$format" mapped.ctr
    grep -qx 'tracecov: no source lines found: no file for app; name it with --elf or --sysroot' \
        stderr || fail "no file: $(cat stderr)"
    [ ! -s stdout ] || fail "-f $format of no file: output"
done
# What these formats do have is no empty result.
for format in drcov html-summary json text; do
    run 0 "$cov" -q -f $format mapped.ctr
    [ -s stdout ] || fail "-f $format: no output"
done
# Code without mappings has addresses.  Without -q there is one line about them, too.
run 0 "$cov" -f text --disassembly unmapped.ctr
one_line "--disassembly without mappings"
[ "$(awk '/^ *[0-9]+: 0x/{ n += $1 } END { print n }' stdout)" = 28 ] || fail "$(cat stdout)"
run 0 "$cov" -f text --disassembly machine.ctr
one_line "--disassembly of a machine"
grep -q 'of a machine ran is not known (--elf, --kallsyms, --sysroot)$' stderr || fail "$(cat stderr)"
run 4 "$cov" -f text unmapped.ctr
one_line "without mappings"
run 4 "$cov" -f text --disassembly --module x unmapped.ctr

# In a trace that is not whole, what was looked for may be missing.
"$TOOLS/mktrace" unfinished cut.ctr || exit 1
run 3 "$cov" -q -f text --disassembly cut.ctr
run 3 "$cov" -q -f text -p 77 cut.ctr
grep -q 'no process matches --pid 77' stderr || fail "cut.ctr: $(cat stderr)"

# ---- functions, and programs without lines
as=arm-linux-gnueabi-gcc
if command -v $as >/dev/null; then
    printf '%s\n' '.globl first' '.type first, %function' 'first: mov r0, #1' 'bx lr' \
        '.size first, 8' >id.s
    $as -nostdlib -static -Wl,-e,first -Wl,-Ttext=0x10000,-z,max-page-size=4096,--build-id=0x1234ab01 \
        id.s -o app || fail "compiling app"
    for more in '' --disassembly; do
        # shellcheck disable=SC2086 # may be no word
        run 4 "$cov" -q -f text $more --elf app --function 'sec*' mapped.ctr
        [ "$(cat stderr)" = "tracecov: no function matches --function sec*, of 1 of app" ] ||
            fail "--function: $(cat stderr)"
        [ ! -s stdout ] || fail "--function $more: output"
        # shellcheck disable=SC2086
        run 0 "$cov" -q -f text $more --elf app --function 'fir*' mapped.ctr
        grep -q '^first: count 1, instructions 100.0 % (2 of 2)' stdout || fail "--function: $(cat stdout)"
    done
    for format in $lines; do
        run 4 "$cov" -q -f "$format" --elf app mapped.ctr
        one_line "-f $format"
        grep -qx 'tracecov: no source lines found: no line information for app; --listing DIR makes listings of what has none, for genhtml too; -f text and -f html-summary show functions' \
            stderr || fail "no lines: $(cat stderr)"
    done
    run 0 "$cov" -f html-summary --elf app mapped.ctr
    [ "$(cat stderr)" = "tracecov: no line information for app: the page shows functions; -f lcov --listing DIR and genhtml make pages of instructions" ] ||
        fail "html-summary: $(cat stderr)"
    grep -q '<td class="name">first</td>' stdout || fail "html-summary: no function"
    for format in json text drcov; do
        run 0 "$cov" -f $format --elf app mapped.ctr
        silent "-f $format"
    done
    run 0 "$cov" -f html-summary --elf app --listing lists mapped.ctr
    silent "html-summary with --listing"
    run 0 "$cov" -f lcov --elf app --listing lists mapped.ctr
    silent "--listing"

    # ---- functions of a stripped program: those that never ran are in the table, too, at
    # its end; nothing is said of source files
    printf '%s\n' '.globl first, __aeabi_unwind_cpp_pr0' '.set __aeabi_unwind_cpp_pr0, 0' \
        'first: .fnstart' 'mov r0, #1' 'bx lr' '.cantunwind' '.fnend' \
        'second: .fnstart' 'mov r0, #2' 'bx lr' '.fnend' \
        'third: .fnstart' 'bx lr' '.cantunwind' '.fnend' >three.s
    $as -s -nostdlib -static -Wl,-e,first -Wl,-Ttext=0x10000,-z,max-page-size=4096,--build-id=0x1234ab01 \
        three.s -o app || fail "compiling three.s"
    run 0 "$cov" -q -f text --elf app mapped.ctr
    cat >want <<'END'
sources       none with line information
functions     33.3 % (1 of 3)
instructions  2 executed, arm, 1 trace

/nowhere/app: 2 executed, functions without lines 33.3 % (1 of 3)

/nowhere/app
  2 instructions ran, 2 times in all
  functions 33.3 % (1 of 3), instructions of them 40.0 % (2 of 5)

        count   instructions  function
            1       2/2       0x10000
        #####       0/2       0x10008
        #####       0/1       0x10010

0x10000: count 1, instructions 100.0 % (2 of 2)
        1: 0x00010000: mov r0, #1
        1: 0x00010004: bx lr
END
    diff want stdout || fail "text of a stripped program"
fi
finish
