# SPDX-License-Identifier: MIT
# Events between instructions are shown in order of time: compared with a sort of the lines
# that --group shows, for any number of workers, within any limit of memory.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"

# sorted KINDS [OPTION...]: compares t.ctr's lines of these kinds with a sort
sorted() {
    local moved
    "$dump" --json --group -e "$@" t.ctr >grouped 2>stderr || fail "--group -e $*: $(cat stderr)"
    run 0 "$dump" --json -e "$@" t.ctr
    silent -e "$@"
    cp stdout ordered
    moved=$(python3 "$SRC/tests/cli/order_check.py" grouped ordered info.json) || fail "-e $*"
    [ "${moved:-0}" -gt 50 ] || fail "-e $*: only ${moved:-no} lines are moved"
    for how in -j1 "-j5 --no-index"; do
        # shellcheck disable=SC2086
        run 0 "$dump" --json $how -e "$@" t.ctr
        same ordered stdout "-e $* $how"
    done
    run 0 "$dump" --json -e "$@" - <t.ctr
    same ordered stdout "-e $*: a file on standard input"
}

# make SEED THREADS CALLS BYTES KIND
make() {
    "$TOOLS/mktrace" order "$@" t.ctr || exit 1
    "$dump" --info --json t.ctr >info.json
}

make 1 4 400 20 short
sorted sys,time -t 100,102 --from 100 --to 350
sorted sys,time --from-time 0.01 --to-time 0.04
make 2 5 400 20 short
sorted map,thr,time
sorted sys,map,thr,mark,time
# A stream has the same order if nothing takes long.
run 0 "$dump" --json -j3 -e sys,map,thr,mark,time - < <(cat t.ctr)
silent "a stream"
same ordered stdout "a stream"
# Text has the same lines.
"$dump" --group -e sys,map,time t.ctr | sort >want
"$dump" -e sys,map,time t.ctr | sort >got
same want got "lines of text"
# With anything from within instructions, nothing changes.
"$dump" -j1 --group -e exec,sys,time t.ctr >want
run 0 "$dump" -e exec,sys,time t.ctr
same want stdout "-e exec,sys"

# A call that lasts nearly to the end and one that never returns, with more lines after
# them than wait for the ends of calls; a chunk as long as the rest.
make 4 5 3000 60 long
sorted sys,time
"$dump" --json --statistics -j1 -e sys,time t.ctr 2>stderr | head -n 2000 >stdout
[ "$(wc -l <stdout)" -eq 2000 ] || fail "head of a long call: $(wc -l <stdout) lines"
read -r chunks all < <(sed -n 's/.*bytes, \([0-9]*\) of \([0-9]*\) chunks.*/\1 \2/p' stderr)
[ "$chunks" -lt $((all * 3 / 4)) ] || fail "the first lines need $chunks of $all chunks"
# A stream cannot look ahead: what takes more than a second is elsewhere, and said.
"$dump" --json --group -e sys,time t.ctr >grouped
run 0 "$dump" --json -j1 -e sys,time - < <(cat t.ctr)
cp stdout stream
cp stderr remark
sort grouped >want
sort stream >got
same want got "lines of a stream with long calls"
one_line "a stream with a long chunk"
grep -q 'lines are not in order of time' stderr || fail "a stream with a long chunk: $(cat stderr)"
run 0 "$dump" --json -j4 -e sys,time - < <(cat t.ctr)
same stream stdout "a stream with long calls: -j4"
same remark stderr "a stream with long calls: remarks of -j4"
run 0 "$dump" -q -e sys,time - < <(cat t.ctr)
silent "-q: a stream with a long chunk"

# Chunks that all claim to have been begun at once: everything waits, and much of it in a
# file.  But for that claim it is the trace of kind `short'.
make 5 4 300 1000 same
sorted sys,time
make 5 4 8500 1000 short
"$dump" --json -e sys,time t.ctr >ordered
make 5 4 8500 1000 same
mkdir tmp
TMPDIR=$PWD/tmp run 0 "$dump" --json -e sys,time t.ctr
cmp ordered stdout || fail "a temporary file"
[ -z "$(ls tmp)" ] || fail "left in TMPDIR: $(ls tmp)"
TMPDIR=$PWD/nowhere run 1 "$dump" --json -e sys,time t.ctr
one_line "no temporary file"
grep -q 'temporary file: No such file' stderr || fail "no temporary file: $(cat stderr)"

# The reader goes away; output cannot be written.
"$dump" -e sys t.ctr 2>stderr | head -n 1 >stdout
[ "${PIPESTATUS[0]}" -eq 0 ] || fail "| head: not 0"
silent "| head"
[ "$(wc -l <stdout)" -eq 1 ] || fail "| head"
run 1 sh -c "'$dump' -e sys t.ctr >/dev/full"
one_line /dev/full

# All that events can be, with times that are not those of their chunks.
"$TOOLS/mktrace" random-all 7 40 60 t.ctr expect.json || exit 1
"$dump" --group -e sys,thr,map,mark,time t.ctr | sort >want
run 0 "$dump" -j1 -e sys,thr,map,mark,time t.ctr
cp stdout ordered
sort stdout >got
same want got "random events"
run 0 "$dump" -j4 -e sys,thr,map,mark,time t.ctr
same ordered stdout "random events: -j4"

# Without times, or with --group: the order of chunks, which is said.
make 7 3 300 8 timeless
"$dump" --group -e sys t.ctr >want
run 0 "$dump" -e sys t.ctr
same want stdout "without times"
one_line "without times"
grep -q 'the recording has no times' stderr || fail "without times: $(cat stderr)"
run 0 "$dump" -e sys --group t.ctr
silent "without times, --group"
run 0 "$dump" -q -e sys t.ctr
silent "without times, -q"
is_usage tracedump --group=1 t.ctr
is_usage tracesym --group --functions t.ctr

# Damage ends the output where it is: all before it is shown.
make 6 4 500 20 short
"$dump" --json -e sys,time t.ctr >whole
size=$(stat -c %s t.ctr)
head -c $((size * 2 / 3)) t.ctr >cut.ctr
run 3 "$dump" --json -e sys,time cut.ctr
one_line cut
[ -s stdout ] || fail "a cut trace: nothing shown"
cp stdout file
run 3 "$dump" --json -j3 -e sys,time - < <(cat cut.ctr)
same file stdout "a cut stream"
finish
