# SPDX-License-Identifier: MIT
# tracesym --trace-calls and --backtrace: arguments, results, frames and variables are those
# that the programs print.  tracesym-calls-machines has more machines.
. "$SRC/tests/cli/libtracecalls.sh"
values x86_64 -O2

crash x86_64
crash arm

# frames FILE OPTION...: function and arguments of each frame
frames() {
    local file=$1
    shift
    run 0 "$sym" -q "$@" "$file"
    sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\?\([^(]*([^)]*)\).*/\2/p' stdout >frames
}

# A process that was forked: the frames up to the fork are its parent's
forked() {
    compile "$1" forked -g -O0 || return 0
    record_all "$1" forked.ctr ./forked
    printf '%s\n' 'boom (k=4)' 'work (n=4)' 'work (n=3)' 'work (n=2)' 'split (n=2)' \
        'main ()' >want
    for moment in crash call:boom; do
        frames forked.ctr --backtrace=$moment
        head -6 frames >got
        same want got "$1 $moment"
    done
    run 0 "$sym" -q --backtrace=crash --locals forked.ctr
    grep -q '^        twice = 4$' stdout || fail "$1: the parent's variable: $(cat stdout)"
    # What the child ends is a call from its own begin on
    run 0 "$sym" -q --json --trace-calls=split forked.ctr
    [ "$(grep -c '"arguments":"n=2"' stdout)" = 1 ] || fail "$1: split: $(cat stdout)"
}
forked x86_64
forked arm

# --function and --module: who calls; a list has commas, and each name that is not found is
# reported
if [ -s forked.ctr ]; then
    run 0 "$sym" -q --json --trace-calls=work --function=split forked.ctr
    [ "$(grep -o '"arguments":"[^"]*"' stdout)" = '"arguments":"n=2"' ] ||
        fail "calls of work by split: $(cat stdout)"
    run 0 "$sym" -q --callers-of=work --function=split forked.ctr
    [ "$(sed 1d stdout | awk '{ print $1, $3 }')" = '1 work' ] ||
        fail "callers of work in split: $(cat stdout)"
    run 0 "$sym" -q --callers-of=work,boom --module=forked forked.ctr
    [ "$(grep -c ' work from \| boom from ' stdout)" = 3 ] || fail "in forked: $(cat stdout)"
    run 4 "$sym" -q --trace-calls=work --module=other forked.ctr
    grep -q 'no call from what --module and --function select' stderr || fail "$(cat stderr)"
    run 2 "$sym" -q --backtrace=crash --function=main forked.ctr
    run 0 "$sym" -q --json --trace-calls=work --trace-calls=boom forked.ctr
    cp stdout want
    run 0 "$sym" -q --json --trace-calls=work,boom forked.ctr
    same want stdout "a list of functions"
    run 0 "$sym" --trace-calls='boom,wrok,none(int, char)' forked.ctr
    for name in "wrok' in any file (did you mean 'work'?)" "none(int, char)' in any file"; do
        grep -qF "there is no function '$name" stderr || fail "no '$name: $(cat stderr)"
    done
    for option in --trace-calls --callers-of --functions\ --function --calls\ --function \
        --function; do
        # shellcheck disable=SC2086 # two words
        run 4 "$sym" $option=mian forked.ctr
        grep -q "there is no function 'mian' in any file (did you mean 'main'?)" stderr ||
            fail "$option=mian: $(cat stderr)"
    done
    run 4 "$sym" --trace-calls=abort forked.ctr
    grep -q "'abort' was not called in what is selected" stderr || fail "$(cat stderr)"
    run 2 "$sym" --trace-calls=work,,boom forked.ctr
fi

# Text whose last bytes known are those before a call that read them, after one that stored
# them, or in the file
buffers() {
    local qemu
    qemu=$(qemu_of "$1")
    compile "$1" buffers -g -O1 || return 0
    "$record" -q -e "$events" --qemu-dir "$qemu_dir" --data-limit=16 -o buffers.ctr \
        -- "$qemu" ./buffers 2>stderr </dev/null || fail "$1: $(cat stderr)"
    run 0 "$sym" -q --json --trace-calls=show buffers.ctr
    grep -o '"arguments":"[^}]*"result":"[0-9]*"' stdout | cut -d: -f2- >got
    printf '%s\n' '"text=\"stored before\"","result":"115"' \
        '"text=\"\"","result":"0"' '"text=\"in the file\"","result":"105"' \
        '"text=\"\"","result":"0"' >want
    same want got "$1: text in buffers"
}
buffers x86_64
buffers arm

# Variables of one name: that of the innermost block first
shadowed() {
    compile "$1" scopes -g -O0 || return 0
    record_all "$1" scopes.ctr ./scopes
    run 0 "$sym" -q --backtrace=crash --locals scopes.ctr
    sed -n '1s/^#0  0x[0-9a-f]* in \(.*\) at .*/\1/p; /^        [nx] = /s/^ *//p' stdout >got
    printf '%s\n' 'blocks (n=4, why="shadow")' 'n = "inner"' "x = '3'" 'x = 2' 'n = 4' \
        'x = 1' >want
    same want got "$1: variables of one name"
    grep -q '^        counted = <its length is not known>$' stdout ||
        fail "$1: $(grep counted stdout)"
    grep -q '^        compare = 0x[0-9a-f]* <atoi>$' stdout || fail "$1: $(grep compare stdout)"
}
shadowed x86_64
shadowed arm
shadowed riscv64

# Numbers of any width are followed by a blank
if compile x86_64 deep -g -O0; then
    record_all x86_64 deep.ctr ./deep
    run 0 "$sym" -q --backtrace=crash deep.ctr
    grep -oE '^#(9|10|99|100|999|1000|1001) +(0x[0-9a-f]+ in )?deep \(n=[0-9]+\)' stdout |
        sed 's/0x[0-9a-f]* in //' >got
    printf '%s\n' '#9  deep (n=9)' '#10 deep (n=10)' '#99 deep (n=99)' '#100 deep (n=100)' \
        '#999 deep (n=999)' '#1000 deep (n=1000)' '#1001 deep (n=1001)' >want
    same want got "numbers of frames"
fi

# A function that another one jumped to has arguments of its own
jumped() {
    compile "$1" tail -g -O2 || return 0
    record_all "$1" tail.ctr ./tail
    printf '%s\n' 'leaf (a=4, b=7)' 'main ()' >want
    frames tail.ctr --backtrace=call:leaf/2
    head -2 frames >got
    same want got "$1 leaf"
    printf '%s\n' 'middle (x=3)' 'main ()' >want
    frames tail.ctr --backtrace=call:middle/2
    head -2 frames >got
    same want got "$1 middle"
}
jumped x86_64
jumped arm

# Before the prologue, the frame has neither the arguments nor the variables
begun() {
    compile "$1" crash -g -O0 || return 0
    record_all "$1" crash.ctr ./crash
    for n in 1 2 3; do
        run 0 "$sym" -q --backtrace=call:down/$n --locals crash.ctr
        sed -n '1,/^#1/{/^ /p}' stdout | sort >got
        {
            sed -n '1s/.*(\(.*\)).*/\1/p' stdout | sed 's/, /\n/' | sed 's/=/ = /'
            printf '%s\n' 'sum = <not set yet>' 'p = <not set yet>'
        } | sed 's/^/        /' | sort >want
        same want got "$1 down/$n"
    done
}
begun x86_64
begun arm
begun aarch64

# A trace of some functions: each of their calls is one, whoever made it
parts() {
    local qemu
    qemu=$(qemu_of "$1")
    compile "$1" parts -g -O2 || return 0
    for option in add,inner 'add,inner --callees'; do
        rm -f parts.ctr
        # shellcheck disable=SC2086 # two words
        "$record" -q -e "$events" --qemu-dir "$qemu_dir" -o parts.ctr --function $option \
            -- "$qemu" ./parts 2>stderr </dev/null || fail "$1 $option: $(cat stderr)"
        run 0 "$sym" --json --trace-calls=add,inner parts.ctr
        grep -q 'only a part was recorded (--function=add' stderr || fail "$1: $(cat stderr)"
        python3 - "$option" <<'END' || fail "$1 $option: $(cat stdout)"
import json, sys
got = [json.loads(line) for line in open("stdout")]
whole = "--callees" in sys.argv[1]
step = 2 if whole else 1
want, total = [], 0
for i in range(6):
    want.append(("add", f"i={i}, v={total}", 0))
    total += i
want += [("inner", f"n={n}", (2 - n) * step) for n in (2, 1, 0)]
want.append(("add", f"i=6, v={total + 5}", 0))
assert [(c["function"], c["arguments"], c["depth"]) for c in got] == want, want
for c in got:
    known = c["depth"] > 0 and whole
    assert ("caller" in c) == known, c
    assert c["returned"] is (True if known else None), c
assert len({c["instructions"] for c in got if c["function"] == "add"}) == 1
END
        run 0 "$sym" -q --functions --json parts.ctr
        grep '"add"' stdout | grep -q '"calls": *7' || fail "$1 $option: $(cat stdout)"
        run 0 "$sym" -q --callers-of=add parts.ctr
        [ "$(awk 'NR > 1 { print $1 }' stdout)" = 7 ] || fail "$1 $option: $(cat stdout)"
        frames parts.ctr --backtrace=call:add/3
        [ "$(cat frames)" = 'add (i=2, v=1)' ] || fail "$1 $option: $(cat stdout)"
    done
}
parts x86_64
parts arm
parts riscv64

# Names alone without registers, and a remark
if compile x86_64 crash -g -O0; then
    events=mem,map,thr record_all x86_64 plain.ctr ./crash
    run 0 "$sym" -q --trace-calls last plain.ctr
    run 0 "$sym" --trace-calls last plain.ctr
    grep -q 'registers were not recorded' stderr || fail "no remark: $(cat stderr)"
    grep -q ' last(\.\.\.) <no return> ' stdout || fail "no names: $(cat stdout)"
fi

# Functions of the C library without debug information
if compile x86_64 crash -g -O0; then
    "$(command -v gcc)" -w -O0 -g -static -x c -o library - <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static inline __attribute__((always_inline)) int nowhere(int n) { return n + 1; }
int fact(int n) { return n < 2 ? nowhere(0) : n * fact(n - 1); }
int main(void)
{
    if (fact(5) != 120)
        return 2;
    char *volatile p = malloc(24);
    FILE *volatile f = fopen("none such", "r");
    size_t (*volatile length)(const char *) = strlen;
    volatile size_t n = length("fifteen letters");
    free(p);
    return f || n != 15;
}
END
    record_all x86_64 library.ctr ./library
    run 0 "$sym" -q --json --trace-calls malloc --trace-calls fopen library.ctr
    grep -q '"function":"malloc[^}]*"arguments":"\([a-z]*=\)\?24","result":"0x[0-9a-f]*","returned":true' stdout ||
        fail "malloc: $(grep malloc stdout | head -3)"
    grep -q '"arguments":"\([a-z]*=\)\?\\"none such\\", \([a-z]*=\)\?\\"r\\"","result":"NULL"' stdout ||
        fail "fopen: $(grep fopen stdout | head -3)"

    # All names of a function are its names
    names=$(nm library | awk '$3 == "malloc" { at = $1 } { name[$1] = name[$1] " " $3 }
                              END { print name[at] }')
    [ "$(wc -w <<<"$names")" -gt 1 ] || fail "one name: $names"
    for name in $names; do
        run 0 "$sym" -q --json --trace-calls="$name" library.ctr
        grep -o '"ordinal":[0-9]*' stdout >got
        [ -e calls ] || cp got calls
        same calls got "calls of $name"
        run 0 "$sym" -q --functions --json --function="$name" library.ctr
        [ "$(wc -l <stdout)" = 1 ] || fail "--function=$name: $(cat stdout)"
        run 0 "$sym" --list=functions library.ctr
        grep -qx "$name" stdout || fail "--list=functions has no $name"
    done

    # A selection begins in a function that then returns, which is its call; the functions
    # that it returns to were called before
    run 0 "$sym" -q --json --trace-calls=fact library.ctr
    grep -o '"arguments":"n=[0-9]","result":"[0-9]*","returned":true' stdout | sed 1,2d >want
    [ "$(wc -l <want)" = 3 ] || fail "fact: $(cat stdout)"
    run 0 "$sym" -q --json --trace-calls=fact --from=call:fact/3 library.ctr
    grep -o '"arguments":"n=[0-9]","result":"[0-9]*","returned":true' stdout >got
    same want got "from the third call on"
    [ "$(wc -l <stdout)" = 3 ] || fail "more calls than three: $(cat stdout)"

    # A function without code of its own
    for option in --trace-calls --callers-of; do
        run 4 "$sym" $option=nowhere library.ctr
        grep -q "'nowhere' has no calls: it is inlined into 'fact'" stderr || fail "$(cat stderr)"
    done
    run 4 "$sym" --from=call:nowhere library.ctr
    grep -q "'nowhere' has no address: it is inlined into 'fact'" stderr || fail "$(cat stderr)"
    run 0 "$sym" -q --function=nowhere library.ctr
    [ -s stdout ] || fail "no instruction of nowhere"
fi
# A function that the C library chooses by processor has the name that its callers use, also
# if they call it without a stub
if compile x86_64 crash -g -O0; then
    cat >lengths.c <<'END'
#include <string.h>
char to[8];
int main(int argc, char **argv)
{
    return strlen("four") + strlen(argv[1]) != 4 + strlen(strcpy(to, "seven")) + 2;
}
END
    # __printf_chk has other arguments than printf
    gcc -w -O0 -x c -o checked - <<'END'
int main(void) { return __printf_chk(1, "%d\n", 3) != 2; }
END
    record_all x86_64 checked.ctr ./checked
    run 4 "$sym" -q --trace-calls=printf --function=main checked.ctr
    run 0 "$sym" -q --trace-calls=__printf_chk --function=main checked.ctr
    ! grep '__printf_chk(0x1, \.\.\.)' stdout || fail "the arguments of printf"
    for program in no-plt plt; do
        gcc -w -O0 -fno-builtin "-f$program" -o "$program" lengths.c || fail "$program"
        record_all x86_64 "$program.ctr" "./$program" sevens.
        # What it is without a stub, the C library's own symbols say.
        "$sym" -q --list=functions --module='libc.so*' "$program.ctr" 2>list.err |
            grep -q '^__strlen_' || [ "$program" = plt ] || continue
        run 0 "$sym" -q --json --trace-calls=strlen --function=main "$program.ctr"
        sed 's/.*"arguments":"\(s=\)\?\([^,]*\)","result":"\([0-9]*\)".*/\2 \3/' stdout >got
        printf '%s\n' '\"four\" 4' '\"sevens.\" 7' '\"seven\" 5' >want
        same want got "$program: calls of strlen"
        run 0 "$sym" -q --callers-of=strlen --function=main "$program.ctr"
        [ "$(awk 'NR > 1 { n += $1 } END { print n }' stdout)" = 3 ] || fail "$program: $(cat stdout)"
    done
fi
finish_any
