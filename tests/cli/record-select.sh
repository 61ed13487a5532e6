# SPDX-License-Identifier: MIT
# The options that select what is recorded: what arrives at the other end of the pipe.
. "$SRC/tests/cli/librecord.sh"

guest control 'control' 'blocks 15'

# chosen WANT OPTION...: the control area, and the libraries
chosen() {
    local want=$1
    shift
    rec 0 -qo a.ctr "$@" -- qemu-arm control
    # where the filters report about names
    sed -i -E 's#,report=/proc/[0-9]+/fd/[0-9]+$##' stdout
    printf "$want" >want
    same want stdout "the result of $*"
}

# said WORD OPTION...: what --info reports about it
said() {
    local want=$1
    shift
    rec 0 -qo a.ctr "$@" -- qemu-arm control
    "$dump" --info a.ctr >stdout 2>stderr
    grep -qF -- "$want" stdout || fail "--info after $*: $(cat stdout)"
}

plain='window 0 coverage 0 watch 0 seq 0'
chosen "paused 0 $plain\n"
chosen "paused 0 $plain after 7\n" --after-instructions 7
chosen "paused 0 $plain after 4096 for 16\n" --for-instructions=0x10 --after-instructions 4.096K
chosen "paused 0 $plain\n" --after-instructions 0
chosen 'paused 1 window 0 coverage 0 watch 1 seq 0\n' --paused
chosen 'paused 0 window 0 coverage 0 watch 1 seq 0\n' --control
chosen 'paused 0 window 0 coverage 1 watch 0 seq 0\n' --coverage

# Libraries: absolute paths, commas in them twice, arguments as they are
cat >lib.c <<'END'
#include "cannoli/jitter.h"
const struct cannoli_jitter cannoli_jitter = {CANNOLI_JITTER_HEADER, "all"};
END
cc=${CC:-cc}
$cc -shared -fPIC -I "$SRC/include" lib.c -o lib.so || fail "cannot build a library"
here=$(pwd -P)
cp lib.so 'a,b.so'
ln -s lib.so link.so
chosen "paused 0 $plain\nlibrary $here/lib.so\n" --jitter lib.so
chosen "paused 0 $plain\nlibrary $here/lib.so,a=1,b=x,,y\nlibrary $here/a,,b.so\n" \
    --jitter ./link.so,a=1,b=x,,y --jitter a,,b.so
said '--jitter=./link.so,a=1' --jitter ./link.so,a=1
said '--after-instructions=7 --for-instructions=9' --after-instructions 7 --for-instructions 9

# The built-in filters are one more library, in any order.
if [ -e "$BIN/../lib/cannoli/libcannoli-filter.so" ]; then
    lib=$(readlink -f "$BIN")
    lib=${lib%/*}/lib/cannoli/libcannoli-filter.so
    chosen "paused 0 $plain\nlibrary $lib,stores=on\n" --stores
    chosen "paused 0 $plain\nlibrary $here/lib.so\nlibrary $lib,module=a,,b,not-function=main,range=0x10-0x20,range=0x100-0x110\n" \
        --module a,b --jitter lib.so --not --function main --range 0x10-0x20,0x100+16
    chosen "paused 0 $plain\nlibrary $lib,opcode=add,opcode=ldr,not-opcode=b,not-loads=on,once=on\n" \
        --opcode add,ldr --not --opcode b --not --loads --once
    chosen "paused 0 window 1 coverage 0 watch 0 seq 0\nlibrary $lib,start-at=main,stop-at=libc.so.6!exit\n" \
        --start-at main --stop-at 'libc.so.6!exit'
    chosen "paused 0 $plain\nlibrary $lib,function=f,callees=on\n" --function f --callees
    chosen "paused 0 $plain\nlibrary $lib,range=a.c:1,range='f(x,, y)',not-function=g,not-function=h(int,,int),stop-at=0x10-0x11\n" \
        --range "a.c:1,'f(x, y)'" --not --function 'g,h(int,int)' --stop-at 16
    said '--not --module=libc.so.6 --branches' --not --module libc.so.6 --branches
else
    fail "the library of built-in filters is missing"
fi

# A selection without any instruction is reported, also with --quiet.
guest nothing 'print ran'
rec 0 -qo a.ctr --for-instructions 5 -- qemu-arm nothing
one_line
grep -q '^cannoli-record: no instruction was recorded.*--for-instructions=5$' stderr ||
    fail "nothing: $(cat stderr)"
rec 0 -qo a.ctr -- qemu-arm nothing
silent
rec 0 -o a.ctr --for-instructions 5 -- qemu-arm control
grep -q ' a.ctr; of --for-instructions=5$' stderr || fail "summary: $(cat stderr)"

# --coverage has no data, and no more events than requested.
rec 0 -qo a.ctr --coverage -- qemu-arm control
counts a.ctr 40 0 0 1 1 0
rec 0 -qo a.ctr --coverage -e exec,sys -- qemu-arm control
finish
