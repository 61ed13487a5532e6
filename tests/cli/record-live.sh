# SPDX-License-Identifier: MIT
# A recording that is changed while it runs, with a real QEMU; and libraries that fail
# only inside of QEMU.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm
fake=$qemu_dir
ctl=$BIN/cannoli-ctl

cat >guest.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cannoli/guest.h"

static volatile int sum;
static void __attribute__((noinline)) work(int n)
{
    for (int i = 0; i < n; i++) {
        sum += i;
    }
}
/* Each line of the input is a phase; what it does is the same each time. */
int main(void)
{
    char line[64];

    close(open("ready", O_CREAT | O_WRONLY, 0666));
    setvbuf(stdout, NULL, _IONBF, 0);
    while (fgets(line, sizeof(line), stdin)) {
        if (!strcmp(line, "mark\n")) {
            cannoli_mark("from inside", 42);
        } else if (!strcmp(line, "crash\n")) {
            *(volatile int *)8 = 1;
        } else {
            work(1000);
        }
        fputs(line, stdout);
    }
    return 0;
}
END
$cc -static -O1 -I "$SRC/include" guest.c -o guest || exit 1
mkfifo in

# open_recording [OPTION...]: with the guest's input at descriptor 9
open_recording() {
    rm -f ready
    "$record" --qemu-dir "$qemu_dir" -qo a.ctr --control "$@" -- qemu-arm guest \
        <in >out 2>stderr.record &
    pid=$!
    exec 9>in
    eventually test -e ready
}
# phase WORD: the guest executes it, and waits again
phases=0
phase_is_over() {
    [ "$(wc -l <out)" -eq "$phases" ]
}
phase() {
    phases=$((phases + 1))
    echo "$1" >&9
    eventually phase_is_over
}
over() {
    exec 9>&-
    wait "$pid"
    local got=$?
    [ "$got" -eq "$1" ] || fail "status $got, not $1: $(cat stderr.record)"
    phases=0
}
must() {
    "$@" >/dev/null || fail "$*"
}
insns() {
    "$dump" --info --json a.ctr | python3 -c 'import json,sys; print(json.load(sys.stdin)["instructions"])'
}

# One phase, recorded or not: only the function, so that the count is exact.
open_recording --function work
phase one
over 0
once=$(insns)
[ "$once" -gt 4000 ] || fail "the function has $once instructions"
open_recording --function work --paused
phase one
must "$ctl" resume
phase two
must "$ctl" mark 'from outside'
phase mark
must "$ctl" pause
phase three
phase mark
kill -USR1 "$pid"
recorded() {
    "$ctl" status | grep -q 'paused: *no'
}
eventually recorded
phase four
over 0
[ "$(insns)" -eq $((2 * once)) ] || fail "$(insns) instructions, not 2 times $once"
"$dump" -e mark --json a.ctr | python3 -c '
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e["kind"] == "mark":
        print(e["source"], e["text"])
    elif e["kind"] == "gate":
        print("open" if e["open"] else "closed", e["why"])
' >got
printf '%s\n' 'closed start' 'open outside' 'outside from outside' 'guest from inside' \
    'closed outside' 'guest from inside' 'open outside' >want
same want got 'marks and gates'

# Libraries are loaded and unloaded: the same function by name and by address
open_recording --function work
filter=$(readlink -f "$BIN/../lib/cannoli/libcannoli-filter.so")
phase one
must "$ctl" load "$filter,function=nothing_like_this"
must "$ctl" unload "$filter"
must "$ctl" load "$filter,function=nothing_like_this"
phase two
must "$ctl" load "$filter,function=work"
phase three
over 0
[ "$(insns)" -eq $((2 * once)) ] || fail "$(insns) instructions with libraries, not 2 times $once"

# QEMU does not query single instructions where the answer for their addresses rules them
# out; a range that does not contain the queried address rules nothing out.
cat >reach.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "cannoli/jitter.h"
static unsigned long from, to;
static char how;
static int load(const struct cannoli_host *host, const char *args, void **state)
{
    (void)host, (void)state;
    return sscanf(args, "%c,%lx,%lx", &how, &from, &to) != 3;
}
static int hook_range(void *state, void *context, uint64_t addr, struct cannoli_range *range)
{
    (void)state, (void)context;
    if (how == '1') {
        abort(); /* one of version 1 has no such function */
    }
    if (how == 'l') {
        range->start = addr + 1;
        return CANNOLI_NEVER;
    }
    if (how == 'a') {
        return CANNOLI_ANYTHING;
    }
    if (addr >= from && addr < to) {
        return CANNOLI_ALWAYS;
    }
    *(addr < from ? &range->end : &range->start) = addr < from ? from : to;
    return CANNOLI_NEVER;
}
static int hook_inst(void *state, const struct cannoli_insn *insn)
{
    (void)state;
    /* Not more than a block that lies in both */
    if (how == 'n' && (insn->pc + 4096 < from || insn->pc > to + 4096)) {
        abort();
    }
    return insn->pc >= from && insn->pc < to ? CANNOLI_ALWAYS : CANNOLI_NEVER;
}
const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER, .load = load, .hook_inst = hook_inst, .hook_range = hook_range};
END
${CC:-cc} -shared -fPIC -I "$SRC/include" reach.c -o reach.so || exit 1
python3 - "$(nm -S guest | sed -n 's/ . work$//p')" >place <<'END'
import sys
start, size = (int(x, 16) for x in sys.argv[1].split())
print("%x,%x" % (start & ~1, (start & ~1) + size))
END
# The same as a library of version 1, whose hook_range must not be called.
sed 's/CANNOLI_JITTER_HEADER,/1, offsetof(struct cannoli_jitter, hook_range),/' reach.c >reach1.c
${CC:-cc} -shared -fPIC -I "$SRC/include" reach1.c -o reach1.so || exit 1
for how in n l a 1; do
    open_recording --jitter "reach${how#[nla]}.so,$how,$(cat place)"
    phase one
    over 0
    [ "$(insns)" -eq "$once" ] || fail "range $how: $(insns) instructions, not $once"
done
# The same for all libraries together: two, and paused
open_recording --jitter "reach.so,n,$(cat place)" --function nothing_like_this --paused
phase one
must "$ctl" resume
phase two
over 0
[ "$(insns)" -eq "$once" ] || fail "two libraries: $(insns) instructions, not $once"

# A library whose failure a trial load cannot find
cat >only_qemu.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cannoli/jitter.h"
static int load(const struct cannoli_host *host, const char *args, void **state)
{
    char self[4096] = "";

    (void)state;
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 && strstr(self, "qemu-")) {
        if (!strcmp(args, "crash")) {
            abort();
        }
        if (!strcmp(args, "exit")) {
            exit(0);
        }
        host->error("not in here");
        return 1;
    }
    return 0;
}
const struct cannoli_jitter cannoli_jitter = {CANNOLI_JITTER_HEADER, "only", .load = load};
END
${CC:-cc} -shared -fPIC -I "$SRC/include" only_qemu.c -o only_qemu.so || exit 1
bad() {
    rm -f b.ctr
    rec 125 -o b.ctr --jitter "only_qemu.so$1" -- qemu-arm guest </dev/null
    grep -c '^cannoli-record: ' stderr >got
    [ "$(cat got)" = 1 ] && grep -q "^cannoli-record: .*$2" stderr || fail "only_qemu$1: $(cat stderr)"
    [ ! -e b.ctr ] || fail "only_qemu$1: a trace"
    [ ! -s stdout ] || fail "only_qemu$1: it ran: $(cat stdout)"
}
bad '' 'not in here'
bad ,crash "ended while it loaded '.*/only_qemu.so'"
bad ,exit "ended while it loaded '.*/only_qemu.so'"
# The same while the program runs: then the recording ends
open_recording
phase one
must "$ctl" load only_qemu.so
over 125
grep -q 'not in here' stderr.record || fail "loaded late: $(cat stderr.record)"
finish
