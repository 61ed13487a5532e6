# SPDX-License-Identifier: MIT
# Descriptions that are too long: each is refused with its kind, its length and the limit;
# what can be split is recorded whole.
. "$SRC/tests/cli/librecord.sh"
guest program 'print ran'

# x COUNT: a word of COUNT letters
x() {
    printf "%0$1d" 0 | tr 0 x
}

# Filters: as many bytes as fit, and one more
rec 2 -o a.ctr --function "$(x 70000)" -- qemu-arm program
one_line
grep -q 'the filters are too long: [0-9]* bytes of text.*the limit is 65535' stderr ||
    fail "filters: $(cat stderr)"
bytes=$(grep -o '[0-9]* bytes' stderr | cut -d' ' -f1)
rec 0 -qo a.ctr --function "$(x $((70000 - bytes + 65535)))" -- qemu-arm program
rec 2 -o a.ctr --function "$(x $((70000 - bytes + 65536)))" -- qemu-arm program
grep -q 'too long: 65536 bytes of text' stderr || fail "one byte too many: $(cat stderr)"
# Linux allows 128 KiB for a word of the command line
half=$(x 60000)
rec 2 -o a.ctr --function "$half" --module "$half" -- qemu-arm program
grep -Eq 'too long: 120[0-9]{3} bytes' stderr || fail "two filters: $(cat stderr)"

# A library's error message
cat >talks.c <<'END'
#include "cannoli/jitter.h"
static int load(const struct cannoli_host *host, const char *args, void **state)
{
    (void)args, (void)state;
    host->error("%0900d", 1);
    return 1;
}
const struct cannoli_jitter cannoli_jitter = {CANNOLI_JITTER_HEADER, "talks", .load = load};
END
${CC:-cc} -shared -fPIC -I "$SRC/include" talks.c -o talks.so || fail "cannot build a library"
rec 125 -o b.ctr --jitter ./talks.so -- qemu-arm program
one_line
grep -q '0\.\.\.$' stderr || fail "a long message is not marked as cut: $(cat stderr)"

# From outside: a mark, a library's arguments, a request
guest waits 'blocks 15' 'ready ready' 'sleep 600000'
cat >quiet.c <<'END'
#include "cannoli/jitter.h"
const struct cannoli_jitter cannoli_jitter = {CANNOLI_JITTER_HEADER, "quiet"};
END
${CC:-cc} -shared -fPIC -I "$SRC/include" quiet.c -o quiet.so || fail "cannot build a library"
start -q --control=ctl -- qemu-arm waits
# says TEXT COMMAND...
says() {
    run 1 "$BIN/cannoli-ctl" -s ctl "${@:2}"
    one_line "$@"
    grep -Eq "$1" stderr || fail "${*:2:1}: $(cut -c 1-300 stderr)"
}
says 'the text of the mark is too long: 241 bytes, the limit is 240' mark "$(x 241)"
says 'too long: 6[56][0-9]{3} bytes, the limit is 65535' load "./quiet.so,$(x 65530)"
says "'load' with its operand is too long: [0-9]+ bytes, the limit is 98303" load "./quiet.so,$(x 99000)"
run 0 "$BIN/cannoli-ctl" -s ctl load "./quiet.so,$(x 40000)"
says 'too long: [78][0-9]{4} bytes, the limit is 65535' load "./quiet.so,$(x 40001)"
kill -TERM "$pid"
wait "$pid"

# With QEMU: tags of many libraries on each instruction of long blocks, and a selection of
# 60,000 bytes that is made while the program runs
need_qemu x86_64 gcc
{
    echo '.globl _start; _start:'
    for i in $(seq 1500); do echo nop; done
    cat <<'END'
    lea ready(%rip), %rdi; mov $0102, %esi; mov $0666, %edx; mov $2, %eax; syscall
again: mov $24, %eax; syscall
    lea go(%rip), %rdi; xor %esi, %esi; mov $21, %eax; syscall
    test %eax, %eax; jnz again
    mov $60, %eax; xor %edi, %edi; syscall
ready: .string "ready"
go: .string "go"
END
} >nops.S
gcc -nostdlib -static -no-pie nops.S -o nops || fail "cannot build the guest"
cat >tags.c <<'END'
#include "cannoli/jitter.h"
static const struct cannoli_host *host;
static int load(const struct cannoli_host *h, const char *args, void **state)
{
    (void)args, (void)state;
    host = h;
    return 0;
}
static int hook_inst(void *state, const struct cannoli_insn *insn)
{
    (void)state;
    host->tag_insn(insn->context, NUMBER);
    return CANNOLI_ALWAYS;
}
const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER, "tags", .load = load, .hook_inst = hook_inst,
};
END
options=()
for i in $(seq 20); do
    ${CC:-cc} -shared -fPIC -I "$SRC/include" -DNUMBER="$i" tags.c -o "tags$i.so" || fail "cannot build a library"
    options+=(--jitter "./tags$i.so")
done
touch go
run 0 "$record" --qemu-dir "$qemu_dir" -qo a.ctr "${options[@]}" -- qemu-x86_64 ./nops
"$dump" --json --events=exec a.ctr | head -n 1500 >events || true
python3 - events <<'END' || fail "tags are missing"
import json, sys
n = 0
for line in open(sys.argv[1]):
    e = json.loads(line)
    if "tags" in e or "pc" in e:
        n += 1
        assert sorted(int(str(t), 0) for t in e["tags"]) == list(range(1, 21)), line
assert n == 1500, n
END

rm -f ready go
"$record" --qemu-dir "$qemu_dir" -qo a.ctr --control=ctl -- qemu-x86_64 ./nops >stdout 2>stderr &
pid=$!
eventually test -e ready
run 0 "$BIN/cannoli-ctl" -s ctl load "./quiet.so,$(x 60000)end"
touch go
wait "$pid" || fail "a long selection: $?: $(cat stderr)"
"$dump" --json --events=all a.ctr >events
grep -q 'quiet.so,x*xend"' events || fail "the text of a selection is cut: $(grep -o 'quiet.so,x*.' events | wc -c) bytes"
finish
