# SPDX-License-Identifier: MIT
# Call trees: the self costs of all paths add up to what each thread executed, whatever
# programs do with signals, threads and processes.
. "$SRC/tests/cli/libcalls.sh"

# Nonsense: branches to arbitrary places, signals and threads at random.
for seed in 1 2 3; do
    "$TOOLS/mktrace" random "$seed" 60 3000 a.ctr expect.json || exit 1
    all_ways a.ctr
done

for target in $all_targets; do
    build "$target" calls signals handlers threads family forktree smc || continue
    done_any=1
    for program in calls signals handlers threads family forktree smc; do
        rm -f a.ctr
        recorded "$target" a.ctr "guests/$target/$program"
        all_ways a.ctr
        # Without files, functions are the addresses that were called.
        tree one -n -j1 -elps a.ctr
        tree two -n -j2 -elps a.ctr
        same one two "no files, two workers"
    done
done

finish_any
