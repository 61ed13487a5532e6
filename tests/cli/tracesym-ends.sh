# SPDX-License-Identifier: MIT
# tracesym --trace-calls: how each call ended.  A call that did not return, one that returns
# after what is selected, and one of which the trace does not show it have marks of their own.
. "$SRC/tests/cli/libtracecalls.sh"

cat >ends.c <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "cannoli/guest.h"
#define NOINLINE __attribute__((noinline, noclone))
volatile int ready, sink;
jmp_buf env;
NOINLINE void leave(void) { sink++; longjmp(env, 1); }
NOINLINE void finish(int n) { sink += n; exit(n); }
NOINLINE void killed(void) { sink++; kill(getpid(), SIGKILL); pause(); }
NOINLINE void *stay(void *arg) { ready = 1; for (;;) { pause(); sink++; } return arg; }
NOINLINE int step(int n) { sink += n; return n + 1; }
NOINLINE int fact(int n) { int below = n < 2 ? 1 : n * fact(n - 1); sink += below; return below; }
NOINLINE int resumed(int n)
{
    sink += n;
    cannoli_pause(CANNOLI_THREAD);
    step(n);
    cannoli_resume(CANNOLI_THREAD);
    return step(n);
}
NOINLINE int lost(int n) { sink += n; cannoli_pause(CANNOLI_THREAD); return step(n); }
int main(int argc, char **argv)
{
    pthread_t thread;
    switch (atoi(argv[1])) {
    case 1:
        if (!setjmp(env)) {
            leave();
        }
        step(1);
        fact(3);
        killed();
        break;
    case 2:
        resumed(1);
        lost(2);
        cannoli_resume(CANNOLI_THREAD);
        step(3);
        break;
    }
    pthread_create(&thread, NULL, stay, NULL);
    while (!ready) {
        usleep(1000);
    }
    finish(0);
}
END
names=leave,finish,killed,stay,step,fact,resumed,lost,main

# program TARGET: ./ends
program() {
    local cc
    cc=$(compiler "$1") || return 1
    # shellcheck disable=SC2086 # several words
    $cc -g -O1 -w -fno-optimize-sibling-calls -static -pthread -I"$SRC/include" -o ends ends.c \
        2>cc.err || { fail "$1: $(head -3 cc.err)"; return 1; }
    done_any=1
}

# ended WHAT STATUS OPTION...: each call in `want', by number of its begin: function, outcome,
# in text and in JSON
ended() {
    run "$2" "$sym" -q --trace-calls=$names "${@:3}"
    sed -E 's/^ *[0-9]+ [0-9/]+ *(\[[0-9.]*\])? +[0-9]+ +(\w+)\(.*\)( = \S+| <[a-z ]*>)? <[0-9]+>.*/\2\3/' \
        stdout >got
    sort -o got got
    sort -o want want
    same want got "$1 ${*:3}"
    run "$2" "$sym" -q --json --trace-calls=$names "${@:3}"
    python3 - <<'END' || fail "$1 ${*:3}, JSON: $(cat stdout)"
import json
want, got = sorted(open("want").read().splitlines()), []
for call in map(json.loads, open("stdout")):
    returned = call["returned"]
    assert ("return" in call) == (returned is None), call
    got.append(call["function"] + (
        " <no return>" if returned is False else
        " <return %s>" % call["return"] if returned is None else
        " = %s" % call["result"] if "result" in call else ""))
assert sorted(got) == want, (got, want)
END
}

# ordinal FUNCTION N MEMBER: ordinal and number of instructions of its call N
ordinal() {
    "$sym" -q --json --trace-calls="$1" a.ctr | sed -n "$2s/.*\"$3\":\([0-9]*\).*/\1/p"
}

for target in x86_64 arm; do
    program $target || continue

    # longjmp; a process that was killed: its last events may be missing
    record_all $target a.ctr ./ends 1
    printf '%s\n' 'leave <no return>' 'step = 2' 'fact = 1' 'fact = 2' 'fact = 6' \
        'killed <return not recorded>' 'main <return not recorded>' >want
    ended $target 3 a.ctr

    # A selection that ends within calls, and where the innermost call has just returned:
    # the outer ones, called from the same place, have not
    from=$(ordinal fact 3 ordinal)
    end=$((from + $(ordinal fact 3 instructions)))
    printf '%s\n' 'fact <return not selected>' 'fact <return not selected>' \
        'fact <return not selected>' >want
    ended $target 3 --from=call:fact --to=$((end - 1)) a.ctr
    printf '%s\n' 'fact = 1' 'fact <return not selected>' 'fact <return not selected>' >want
    ended $target 3 --from=call:fact --to=$end a.ctr
    printf '%s\n' 'step <return not selected>' >want
    ended $target 3 --from="$(ordinal step 1 ordinal)" --count=2 a.ctr

    # Recording that was paused: it goes on in the call, or later
    record_all $target a.ctr ./ends 2
    printf '%s\n' 'resumed = 2' 'step = 2' 'step = 4' 'lost <return not recorded>' \
        'main <return not recorded>' 'finish <no return>' 'stay <no return>' >want
    ended $target 0 a.ctr

    # The end of the program, in one thread and in another
    record_all $target a.ctr ./ends 0
    printf '%s\n' 'main <no return>' 'finish <no return>' 'stay <no return>' >want
    ended $target 0 a.ctr
done
finish_any
