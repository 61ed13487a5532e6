# SPDX-License-Identifier: MIT
# The command line: errors give one line and status 2; --help and the man page
# have the same options.
. "$SRC/tests/cli/librecord.sh"

usage() {
    run 2 "$record" "$@"
    one_line "$@"
    grep -q "^cannoli-record: .*Try 'cannoli-record --help'\.$" stderr ||
        fail "$*: $(cat stderr)"
    [ ! -s stdout ] || fail "$*: something on stdout"
}
usage
usage --
usage -o x.ctr
usage --nonsense -- qemu-arm x
usage -x -- qemu-arm x
usage --output
usage --quiet=1 -- qemu-arm x
usage --level 0 -- qemu-arm x
usage --level=20 -- qemu-arm x
usage --level=fast -- qemu-arm x
usage -j 0 -- qemu-arm x
usage -j 65 -- qemu-arm x
usage -e exec,call -- qemu-arm x
usage -e exec, -- qemu-arm x
usage --data-limit= -- qemu-arm x
usage --data-limit=4X -- qemu-arm x
usage --data-limit=4KB -- qemu-arm x
usage --data-limit=-1 -- qemu-arm x
usage --data-limit=4GiB -- qemu-arm x
usage --follow-exec=yes -- qemu-arm x
usage --events= -- qemu-arm x
usage ''
usage --module
usage --module= -- qemu-arm x
usage --function= -- qemu-arm x
usage --range=10-x -- qemu-arm x
usage --range= -- qemu-arm x
usage --range=0x20-0x10 -- qemu-arm x
usage --range=main, -- qemu-arm x
usage "--range='f(int" -- qemu-arm x
usage --start-at=12x -- qemu-arm x
usage --stop-at=-5 -- qemu-arm x
usage --function=a,,b -- qemu-arm x
usage --opcode= -- qemu-arm x
usage --opcode=add,,sub -- qemu-arm x
usage --opcode='add sub' -- qemu-arm x
usage --stores=yes -- qemu-arm x
usage --not -- qemu-arm x
usage --not --not --stores -- qemu-arm x
usage --not --once -- qemu-arm x
usage --not --jitter=x -- qemu-arm x
usage --not --paused -- qemu-arm x
usage --stores --not -- qemu-arm x
usage --callees -- qemu-arm x
usage --callees --not --function=f -- qemu-arm x
usage --once --coverage -- qemu-arm x
usage --coverage -e mem -- qemu-arm x
usage --coverage -e reg -- qemu-arm x
usage --start-at= -- qemu-arm x
# places that no file can have: said before a program runs
: >x
malformed() {
    for option in --start-at --stop-at --range --function; do
        usage "$option=$1" -o malformed.ctr -- qemu-arm x
        grep -qF -- "$option: '${1##*,}' $2. Try" stderr || fail "$option=$1: $(cat stderr)"
        [ ! -e malformed.ctr ] || fail "$option=$1: a file was made"
    done
}
malformed main+zz "has no number after its '+'"
malformed main+0x "has no number after its '+'"
malformed main+4+zz "has no number after its '+'"
malformed main,leaf+ "has no number after its '+'"
malformed +zz "has no name before its '+'"
malformed main+4+0 'is empty'
malformed main- "has no end after its '-'"
malformed 'libc.so.6!' "has no name after its '!'"
malformed parse.c: "has no line or name after its ':'"
usage "--start-at='main" -- qemu-arm x
usage '--stop-at=main,x[1' -- qemu-arm x
usage --after-instructions=many -- qemu-arm x
usage --after-instructions=-1 -- qemu-arm x
usage --after-instructions=0xffffffffffffffff -- qemu-arm x
usage --for-instructions=0 -- qemu-arm x
usage --for-instructions=1.5 -- qemu-arm x
usage --jitter "a
b" -- qemu-arm x
usage --control -o - -- qemu-arm x
usage --paused --output=- -- qemu-arm x
usage --progress=yes -- qemu-arm x
usage --no-aslr=yes -- qemu-arm x
usage --progress --discard -- qemu-arm x

run 0 "$record" --help
silent --help
grep -o -- '--[a-z-]*' stdout | sort -u >options
[ "$(wc -l <options)" -ge 10 ] || fail "--help names too few options"
while read -r option; do
    grep -qF -- "$(printf '%s' "${option#--}" | sed 's/-/\\-/g')" \
        "$SRC/man/cannoli-record.1" || fail "$option is not in the man page"
done <options
run 0 "$record" -V
grep -qE '^cannoli-record \(cannoli\) [0-9.]+$' stdout || fail "version: $(cat stdout)"

# Words after the command belong to the command.
guest words 'print written'
rec 0 -qo words.ctr -- qemu-arm words --help -o other.ctr
[ "$(cat stdout)" = written ] && [ ! -e other.ctr ] || fail "the command lost its arguments"
rec 0 -qo words.ctr --data-limit 64KiB --data-limit=1M -e val,reg,all --no-follow-forks \
    --follow-exec qemu-arm words --help
[ "$(cat stdout)" = written ] || fail "without --: $(cat stdout stderr)"

# What is for machines only, and for programs only.
mkdir system
ln -s "$fake/qemu-arm" system/qemu-system-arm
wrong_kind() {
    run 2 "$record" -qo kind.ctr "$@"
    one_line "$@"
    [ ! -e kind.ctr ] || fail "$*: there is a trace"
}
for option in --module=libc --function=main --range=main --start-at=0x10,main --stop-at=a.c:1 \
    --not=--module=libc --follow-exec --events=sys --events=exec,map --events=mem,time; do
    wrong_kind --qemu-dir=system ${option//=--/ --} -- qemu-system-arm -M none
    grep -q 'for programs' stderr || fail "$option: $(cat stderr)"
done
for option in --user --kernel --task=1 --context=0x1000 --events=int --events=mem,phys,thr; do
    wrong_kind --qemu-dir="$fake" "$option" -- qemu-arm words
    grep -q 'for machines' stderr || fail "$option: $(cat stderr)"
done

# Where page tables are is known of some machines.
ln -s "$fake/qemu-arm" system/qemu-system-mips
wrong_kind --qemu-dir=system --context=0x1000 -- qemu-system-mips -M none
grep -q -- '--context: address spaces of mips machines are not known$' stderr || fail "--context: $(cat stderr)"

# A machine under KVM is refused before QEMU looks for it; not where it may run under TCG, or where
# the word is the argument of another option.
mkdir none
for words in '-accel kvm' '--accel kvm,kernel-irqchip=off' '-accel accel=kvm' -enable-kvm \
    '-nographic --enable-kvm' '-M virt,accel=kvm' '-machine accel=tcg -machine accel=kvm' \
    '-accel kvm -accel kvm' '-cpu max -S -s -enable-kvm'; do
    # shellcheck disable=SC2086
    run 125 "$record" -qo kvm.ctr --qemu-dir=none -- qemu-system-x86_64 $words
    one_line "$words"
    grep -q 'under TCG (-accel tcg) are recorded, not under KVM$' stderr || fail "$words: $(cat stderr)"
done
for words in '' '-accel tcg' '-accel kvm -accel tcg' '-accel kvm:tcg' '-M accel=kvm:tcg' \
    '-M accel=kvm -M accel=tcg' '-enable-kvm -machine pc,accel=tcg' '-append -enable-kvm' \
    '-append -accel -kernel kvm' '-accel kvmx' '-M pc,accelx=kvm' -accel; do
    # shellcheck disable=SC2086
    run 127 "$record" -qo kvm.ctr --qemu-dir=none -- qemu-system-x86_64 $words
    grep -q "there is no qemu-system-x86_64 in 'none'" stderr || fail "$words: $(cat stderr)"
done
finish
