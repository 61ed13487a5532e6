# SPDX-License-Identifier: MIT
# Tasks of a machine's Linux: in each line, alone, by name and pid, vCPU and address space.
. "$SRC/tests/cli/libtracedump.sh"
dump="$BIN/tracedump"
need python3
"$TOOLS/mktrace" tasks t.ctr && "$TOOLS/mktrace" machine aarch64 m.ctr &&
    "$TOOLS/mktrace" chosen program.ctr || exit 1

run 0 "$dump" --no-disas t.ctr
silent
golden tracedump-tasks-text.txt
cp stdout want
run 0 "$dump" --no-disas --json t.ctr
golden tracedump-tasks-json.txt
run 0 "$dump" --info --json t.ctr
python3 - stdout <<'PY' || fail "--info --json: $(cat stdout)"
import json, sys
i = json.load(open(sys.argv[1]))
assert i["events"] == ["exec", "int", "order", "pwr", "task"], i
assert [(t.get("comm"), t["instructions"]) for t in i["tasks"]] == [
    ("init", 9), ("sh", 5), ("work\x1ber", 3), (None, 2), ("swapper/1", 2),
    ("swapper/0", 2)], i["tasks"]
assert i["tasks"][2] == {"pid": 7, "tgid": 5, "address": "0xffff000000007000",
                         "comm": "work\x1ber", "instructions": 3}, i["tasks"]
PY
run 0 "$dump" --info t.ctr
grep -q '^  7 work?er of 5  3 instructions$' stdout || fail "--info: $(cat stdout)"

# What each task did is what its lines are; with all workers, without the index, of a stream.
while IFS='|' read -r tasks lines; do
    grep -E "cpu. +($lines) .*0x000040100000 " want >part
    for how in "" -j1 -j3 --no-index; do
        # shellcheck disable=SC2086
        run 0 "$dump" --no-disas -e exec --task "$tasks" $how t.ctr
        same part stdout "--task $tasks $how"
    done
    run 0 "$dump" --no-disas -e exec --task "$tasks" - < <(cat t.ctr)
    same part stdout "--task $tasks of a stream"
done <<'END'
init|init-1
1|init-1
5|work.er-7|bash-5|sh-5
7|work.er-7
bash|bash-5
comm:sh|sh-5
0|swapper/.-0
swapper*|swapper/.-0
sh,init|sh-5|init-1
END

# Events, too: a switch from a task or to it.
grep -E 'init-1|task 7|task not' want | same - <("$dump" --no-disas --task init t.ctr) "--task init"
run 0 "$dump" -e task,time --task 7 t.ctr
[ "$(wc -l <stdout)" -eq 2 ] || fail "-e task: $(cat stdout)"
run 0 "$dump" --no-disas --task init --from 5 --to 13 -e exec t.ctr
[ "$(wc -l <stdout)" -eq 5 ] || fail "--from: $(cat stdout)"

# vCPUs, address spaces.
run 0 "$dump" --no-disas --cpu 1 t.ctr
grep cpu1 want | same - stdout "--cpu 1"
for both in 0,1 cpu0,cpu1 0,cpu1; do
    run 0 "$dump" --no-disas --cpu $both t.ctr
    same want stdout "--cpu $both"
done
run 0 "$dump" -e exec --context 0x43186000 m.ctr
[ "$(wc -l <stdout)" -eq 8 ] || fail "--context: $(cat stdout)"
run 0 "$dump" -e exec --context 0 m.ctr
[ "$(wc -l <stdout)" -eq 2 ] || fail "--context 0: $(cat stdout)"
run 0 "$dump" --histogram mnemonic --task init t.ctr
grep -q ' 9 .*nop' stdout || fail "--histogram: $(cat stdout)"
run 0 "$dump" -c --task init t.ctr
grep -Eq '^ +9 .*total$' stdout || fail "-c: $(cat stdout)"

# A place has its task and its privilege, of the vCPU that is chosen.
while read -r ordinal _ task privilege _; do
    [ "$task" = - ] && task="not known"
    run 0 "$dump" --state="$ordinal" --cpu 0 t.ctr
    grep -qx "task       $task" stdout && grep -qx "privilege  $privilege" stdout ||
        fail "--state=$ordinal: $task $privilege, $(cat stdout)"
done < <(grep ' cpu0 .*0x000040100000 ' want)
run 0 "$dump" --state=6 --cpu 0 --json t.ctr
grep -q '"task":{"pid":1,"tgid":1,"comm":"init"},"privilege":"EL1"' stdout ||
    fail "--state --json: $(cat stdout)"

says() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2
    shift 2
    run "$status" "$dump" "$@"
    one_line "$*"
    grep -q -- "$text" stderr || fail "$*: $(cat stderr)"
}
says 1 '2 vCPUs: choose one with --cpu, or the K-th with --state=1/K$' --state=1 t.ctr
says 4 'no vCPU .2.; there are cpu0, cpu1$' --cpu 2 t.ctr
says 4 'no such task (--task); tracesym --list=tasks lists' --task nobody t.ctr
says 4 'no such page table (--context); tracedump --info' --context 0x1000 m.ctr
says 4 'there is no such event in what is selected$' --task init --pc 1 t.ctr
run 4 "$BIN/tracesym" -q --functions --task nobody t.ctr
grep -q 'no such task (--task)' stderr || fail "tracesym: $(cat stderr)"
says 4 '--task: tasks were not recorded (-e task)$' --task init m.ctr
says 4 '--context: address spaces were not recorded (-e ctx)$' --context 0 t.ctr
says 4 'no vCPU .0.' --cpu 0 program.ctr
says 4 'tasks were not recorded$' -e task m.ctr
for wrong in --task= "--task=init," --task=5x --cpu= --cpu=a --cpu=cpu "--cpu=0," --cpu=-1 --context=tables \
    --context=; do
    says 2 "${wrong%%=*}" "$wrong" t.ctr
done
finish
