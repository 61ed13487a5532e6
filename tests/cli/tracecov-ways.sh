# SPDX-License-Identifier: MIT
# The directions of branches, exactly, while signals interrupt the program: on every
# available target, compared with the program's own counts; branch-likely of mips; what
# is unknown while a recording is paused.
# Needs the patched QEMU.
. "$SRC/tests/cli/libtracecov.sh"
need_qemu_arm
done=0

# ways FUNCTION: "count taken nottaken" of the conditional branches in it
ways() {
    "$cov" -q -f text --disassembly --function "$1" run.ctr |
        sed -n 's/^ *\([0-9]*\): .*; taken \([0-9]*\), not taken \([0-9]*\)$/\1 \2 \3/p'
}

while read -r target cc flags; do
    command -v "$cc" >/dev/null && [ -x "$qemu_dir/qemu-$target" ] || continue
    # shellcheck disable=SC2086 # flags are words
    "$cc" -O1 -g -static $flags -o ways "$SRC/tests/guests/ways.c" || fail "$target: cc"
    for events in exec,sys,map exec,mem,sys,map; do
        rec_arm run.ctr -e $events -- ./ways
        read -r met held <guest.out
        ways walk >got
        awk -v met="$met" -v held="$held" '
            $1 != $2 + $3 { exit 1 }
            ($2 == held && $3 == met - held) || ($3 == held && $2 == met - held) { n++ }
            END { exit n != 1 }' got ||
            fail "$target, $events: $met, $held of them; got: $(cat got)"
        # The same from all runs, one by one, as with any filter.
        cp got index
        "$cov" -q -f text --disassembly --function walk --to 9999999999 run.ctr |
            sed -n 's/^ *\([0-9]*\): .*; taken \([0-9]*\), not taken \([0-9]*\)$/\1 \2 \3/p' >got
        same index got "$target, $events: a replay"
    done
    done=$((done + 1))
done <<'END'
arm arm-linux-gnueabi-gcc
arm arm-linux-gnueabihf-gcc -mthumb
aarch64 aarch64-linux-gnu-gcc
riscv64 riscv64-linux-gnu-gcc
mipsel mipsel-linux-gnu-gcc
mips mips-linux-gnu-gcc
ppc64le powerpc64le-linux-gnu-gcc
s390x s390x-linux-gnu-gcc
i386 i686-linux-gnu-gcc
x86_64 x86_64-linux-gnu-gcc
END
[ $done -gt 0 ] || fail "no compiler"

# The direction of the last branch before a pause is unknown; and a replay of a part of a
# recording gives as much as the index.  No signals here: with a slow recorder one is always
# pending, is reported before the pause, and shows where the branch went.
replayed() { # FILE [OPTION...]: the same from all its runs
    run 0 "$cov" -q -f json "$@"
    cp stdout index.json
    run 0 "$cov" -q -f json "$@" --to 99999999999
    same index.json stdout "$*: a replay"
}
arm-linux-gnueabi-gcc -O1 -g -static -o ways "$SRC/tests/guests/ways.c" || fail "ways"
unknown() { ways walk | awk '$2 + $3 < $1 { n++ } END { exit n == 0 }'; }
paused_run() {
    rm -f run.ctr
    "$record" -q --qemu-dir "$qemu_dir" --control -o run.ctr \
        -- ./ways 5000 >guest.out 2>guest.err &
    pid=$!
    eventually test -S run.ctr.ctl
    for i in 1 2 3 4 5 6 7 8; do
        sleep 0.04
        "$BIN/cannoli-ctl" pause >ctl.out 2>&1 || break # it has ended
        sleep 0.04
        "$BIN/cannoli-ctl" resume >ctl.out 2>&1 || break
    done
    wait "$pid" || fail "the paused recording: $(cat guest.err)"
}
for _ in $(seq 10); do
    paused_run
    unknown && break # on a busy machine nothing may have run between two pauses
done
unknown || fail "all directions before pauses are known: $(ways walk)"
replayed run.ctr
replayed run.ctr -j 2
replayed run.ctr --no-index

if command -v mipsel-linux-gnu-gcc >/dev/null && [ -x "$qemu_dir/qemu-mipsel" ]; then
    mipsel-linux-gnu-gcc -static -mips32r2 -o likely "$SRC/tests/guests/likely.S" ||
        fail "likely"
    rec_arm run.ctr -- ./likely
    for name in likely_250_750 loop_999_1 plain_1000_1 cut_1000_1; do
        want=${name#*_}
        [ "$(ways "$name" | head -1 | cut -d' ' -f2,3)" = "${want%_*} ${want#*_}" ] ||
            fail "$name: $(ways "$name")"
    done
fi
finish
