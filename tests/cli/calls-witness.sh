# SPDX-License-Identifier: MIT
# Call trees: callers, callees and numbers of calls equal the program's own counts, with
# tail calls, longjmp, signals, coroutines, threads and fork.
. "$SRC/tests/cli/libcalls.sh"

for target in $all_targets; do
    build "$target" calltree || continue
    done_any=1
    rm -f a.ctr
    recorded "$target" a.ctr "guests/$target/calltree"
    cp witness counted
    tree dump a.ctr
    python3 "$SRC/tests/cli/calls_check.py" counted dump >problems 2>&1 ||
        fail "$target: $(head -5 problems)"
    read -r _ insns _ unmatched _ depth <dump
    [ "$unmatched" -le 8 ] || fail "$target: $unmatched branches unmatched"
    [ "$depth" -lt 800 ] || fail "$target: $depth deep"
    # In recursion an instruction counts once.
    awk '$1 == "function" && ($2 == "main" || $2 == "deep") && $5 > '"$insns"' {exit 1}' dump ||
        fail "$target: a function has more than all instructions"
    all_ways a.ctr
done
finish_any
