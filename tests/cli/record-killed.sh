# SPDX-License-Identifier: MIT
# Guests killed with SIGKILL anywhere: the file holds a prefix of the complete run,
# including the last accesses, derived ones among them.
. "$SRC/tests/cli/libcalls.sh"
tail=20000

# last FILE FROM [OPTION...]: instructions and accesses from an ordinal on, one a line
last() {
    local file=$1 from=$2
    shift 2
    "$BIN/tracedump" -q --json --no-disas -e exec,load,store --from "$from" "$@" "$file" \
        2>/dev/null | sed -E 's/"[pt]id":[0-9]+,//g'
}

instructions() {
    "$BIN/tracedump" --info --json "$1" 2>/dev/null |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["instructions"])'
}

# killed SECONDS COMMAND...: records into killed.ctr, and kills the guest
killed() {
    local seconds=$1 pid child='' i
    shift
    setarch -R "$record" -q -e exec,mem -o killed.ctr -- "$@" >/dev/null 2>&1 &
    pid=$!
    for i in $(seq 6000); do
        child=$(pgrep -P "$pid" -x "$(basename "$1")") && break
        sleep 0.01
    done
    sleep "$seconds"
    kill -KILL "$child"
    wait "$pid"
}

# 32-bit targets: on these the stack has the same address in each run.
for pair in arm:arm-linux-gnueabihf-gcc mips:mips-linux-gnu-gcc mipsel:mipsel-linux-gnu-gcc \
    i386:i686-linux-gnu-gcc; do
    target=${pair%:*}
    qemu=$qemu_dir/qemu-$target
    [ -x "$qemu" ] && ${pair#*:} -O2 -static -o "mixed-$target" "$SRC/tests/bench/mixed.c" \
        2>/dev/null || continue
    done_any=1
    setarch -R "$record" -q -e exec,mem -o whole.ctr -- "$qemu" "./mixed-$target" 1 \
        >/dev/null
    many=0
    # the last ones are for busy machines
    for seconds in 0.02 0.03 0.05 0.07 0.09 0.11 1 5 20; do
        [ "$many" -gt 0 ] && [ "${seconds%.*}" -gt 0 ] && break
        rm -f killed.ctr
        killed "$seconds" "$qemu" "./mixed-$target" 1
        [ -e killed.ctr ] || continue # it had not begun
        zstd -tq killed.ctr || fail "$target: zstd -t refuses the file of a killed guest"
        n=$(instructions killed.ctr)
        many=$((many + (n > tail)))
        from=$((n > tail ? n - tail : 0))
        # only the last instruction may be uncertain
        last killed.ctr "$from" | sed "/\"ordinal\":$((n - 1)),/ s/,\"unsure\":true//" >got
        last whole.ctr "$from" --count "$tail" | head -n "$(wc -l <got)" >want
        cmp -s want got || fail "$target: $n instructions: $(diff want got | head -12)"
    done
    [ "$many" -gt 0 ] || fail "$target: no guest ran for long"
done
finish_any
