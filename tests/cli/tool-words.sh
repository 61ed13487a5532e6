# SPDX-License-Identifier: MIT
# A word that a program does not know gets one line that names the word, what it was
# probably meant to be, and the known ones.
. "$SRC/tests/cli/libtracedump.sh"

# says MESSAGE TOOL ARGUMENT...: a usage error with this message
says() {
    is_usage "${@:2}"
    [ "$(cat stderr)" = "$2: $1. Try '$2 --help'." ] || fail "${*:2}: $(cat stderr)"
}
says "unknown option '--evnts' (did you mean '--events'?)" tracedump --evnts=exec t.ctr
says "unknown option '--rnig' (did you mean '--ring'?)" cannoli-record --rnig=3 -- ./app
says "unknown option '--dissasembly' (did you mean '--disassembly'?)" tracecov --dissasembly t.ctr
says "unknown option '--nonsense'" tracedump --nonsense t.ctr
says "unknown option '--'x'" tracedump "--'x=1" t.ctr
says "option '--st' is ambiguous: --strings, --state, --stack, --statistics" tracedump --st t.ctr
all="exec, load, store, mem, val, phys, reg, sys, sig, map, thr, mark, int, ctx, order, pwr, ram, dma, io, task, key, input, time, all"
says "unknown option '--histogram': tracedump has it" tracesym --histogram=size t.ctr
says "unknown option '--function': tracesym and tracecov have it" tracedump --function main t.ctr
says "no trace file given: 't.ctr' is the argument of '--thread'" tracedump -q --thread t.ctr
says "unknown event 'exce' (did you mean 'exec'?); known: $all" tracedump -e mem,exce t.ctr
says "unknown event 'mm' (did you mean 'mem'?); known: $all" tracesym -e mm t.ctr
says "unknown event 'memory' (did you mean 'mem'?); known: $all" tracedump -e memory t.ctr
says "bad argument '0x20-0x10' for option '--addr': the range ends before it begins" tracedump -a 0x20-0x10 t.ctr
says "no command to record; './app' is the file of -o" cannoli-record -o ./app
says "unknown event ''; known: $all" tracedump -e exec, t.ctr
says "unknown event '$(printf %065d 0)'; known: $all" tracedump -e "$(printf %065d 0)" t.ctr
says "unknown event 'foo'; known: exec, mem, val, reg, sys, map, thr, time, int, ctx, phys, pwr, ram, dma, io, task, all" \
    cannoli-record -e exec,foo -- ./app
says "unknown format 'html' (did you mean 'html-summary'?); known: lcov, lcov2, cobertura, json, text, html-summary, drcov" \
    tracecov -f html t.ctr
says "unknown format 'lcvo' (did you mean 'lcov'?); known: lcov, lcov2, cobertura, json, text, html-summary, drcov" \
    tracecov -f lcvo t.ctr
says "unknown format 'flame'; known: text, folded, callgrind, chrome, svg, json" tracesym -f flame t.ctr
says "unknown cost 'load' (did you mean 'loads'?); known: insns, loads, stores" tracesym --cost=load t.ctr
says "unknown choice 'alwys' (did you mean 'always'?); known: auto, always, never" tracedump --color=alwys t.ctr
says "unknown command 'puase' (did you mean 'pause'?); known: pause, resume, mark, status, load, unload, dump" \
    cannoli-ctl puase
says "mark takes one argument; quote the text" cannoli-ctl mark now paused
says "pause takes no argument" cannoli-ctl pause now
# A bad value that is no word
takes='1234, 1.5s, end, crash, call:FUNCTION, syscall:NAME or mark:TEXT'
says "bad argument 'x' for option '--from', which takes $takes" tracedump --from=x t.ctr

# An option of the recorder after the command
run 127 "$BIN/cannoli-record" ./nosuch -o t.ctr
head -n 1 stderr | grep -q "^cannoli-record: '-o t.ctr' goes to the program, the trace to cannoli.ctr: " ||
    fail "-o after the command: $(cat stderr)"
run 127 "$BIN/cannoli-record" -- ./nosuch -o t.ctr
! grep -q 'goes to the program' stderr || fail "-- ends the options: $(cat stderr)"
[ $failed -eq 0 ]
