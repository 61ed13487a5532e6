# SPDX-License-Identifier: MIT
# module+offset: the same number in tracedump and tracesym, which nm and addr2line have for
# the file; of programs at fixed and at any addresses, libraries, and files that are not
# there.
. "$SRC/tests/cli/librecord.sh"
sym="$BIN/tracesym"
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
need arm-linux-gnueabihf-gcc x86_64-linux-gnu-gcc "$qemu_dir/qemu-arm" "$qemu_dir/qemu-x86_64"

cat >app.c <<'END'
#include <stdlib.h>
int kept;
extern int in_library(int n);
__attribute__((noinline, noclone)) int work(int n)
{
    __asm__ volatile("");
    return n + 1;
}
int main(int argc, char **argv)
{
    int sum = 0;
    for (int i = 0; i < 11; i++) {
        sum = work(sum);
        kept = sum;
    }
    for (int i = 0; i < 7; i++) {
        sum += (int)a64l(argv[argc - 1]) + in_library(i);
    }
    return sum != 11 + 7 * 7 + 21;
}
END
cat >lib.c <<'END'
int in_library(int n)
{
    return n;
}
END
cat >check.py <<'END'
"""check.py TRACE TOOLS FILE=FUNCTION=COUNT...: tracedump's offsets are tracesym's, and the
functions of nm were entered so often."""
import collections, json, os, re, subprocess, sys
trace, tools, *wanted = sys.argv[1:]
options = os.environ.get("OPTIONS", "").split()
def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
def run(tool, *how):
    return output(os.environ["BIN"] + "/" + tool, "-q", *options, *how, trace).splitlines()
def events(tool, offset):
    """(pc, module, offset) of each instruction; all of them have a module."""
    pattern = re.compile(r'"pc":"(0x[0-9a-f]+)".*"module":"([^"]*)","%s":"(0x[0-9a-f]+)"' % offset)
    return [pattern.search(line).groups() for line in run(tool, "--json", "-e", "exec")]
dump = events("tracedump", "module_offset")
assert dump == events("tracesym", "vaddr") and len(dump) > 1000
count = collections.Counter((module.rsplit("/", 1)[-1], int(offset, 16))
                            for _, module, offset in dump)
for want in wanted:
    path, function, n = want.split("=")
    [addr] = {int(line.split()[0], 16) & ~int("arm" in tools)
              for how in ([], ["-D"]) for line in output(tools + "nm", *how, path).splitlines()
              if line.split()[-1].split("@")[0] == function and line.split()[-2] in "TWi"}
    got = count[path.rsplit("/", 1)[-1], addr]
    assert got == int(n), (want, hex(addr), got)
    name = output(tools + "addr2line", "-f", "-e", path, hex(addr)).splitlines()[0]
    assert name == function or "libc" in path, (want, name)
# the text: the same number, in lines and in --state
for i in (0, len(dump) // 2, len(dump) - 1):
    _, module, offset = dump[i]
    name = "%s+%s" % (module.rsplit("/", 1)[-1], offset)
    [line] = run("tracedump", "-e", "exec", "--from=%d" % i, "-n1")
    assert line.split()[3] == name, (line, name)
    state = run("tracedump", "--state=%d" % i)
    assert any(" %s " % name in line for line in state), (name, state)
    [state] = map(json.loads, run("tracedump", "--json", "--state=%d" % i))
    assert [state["next"][k] for k in ("module", "module_offset")] == [module, offset]
END

# record NAME OPTION... -- COMMAND...
record() {
    local name=$1
    shift
    "$record" -q --qemu-dir "$qemu_dir" -o "$name.ctr" "$@" 5 || fail "$name: status $?"
}
check() {
    python3 check.py "$@" || fail "$*"
}
build() {
    local machine=$1 name=$2
    shift 2
    "$machine-gcc" -O1 -g -o "$name" "$@" || exit 1
}
for machine in x86_64-linux-gnu arm-linux-gnueabihf; do
    tools=$machine-
    short=${machine%%-*}
    qemu="$qemu_dir/qemu-$short"
    build $machine fixed-$short -static -no-pie app.c lib.c
    programs=fixed
    if [ -e "$($machine-gcc -print-file-name=rcrt1.o)" ]; then # not every C library has it
        build $machine pie-$short -static-pie app.c lib.c
        programs="fixed pie"
    fi
    # A library whose first segment is not at 0
    build $machine libmoved-$short.so -shared -fPIC -Wl,-Ttext-segment=0x40000 lib.c
    build $machine dynamic-$short -pie -fPIE app.c ./libmoved-$short.so
    for name in $programs; do
        record $name-$short -- "$qemu" ./$name-$short
        check $name-$short.ctr $tools $name-$short=work=11 $name-$short=in_library=7
    done
    root=/usr/$machine
    [ -e "$root/lib/libc.so.6" ] || root=/
    record dynamic-$short -- "$qemu" -L $root ./dynamic-$short
    libc=$(find -L "$root/lib/libc.so.6" /lib/$machine/libc.so.6 2>/dev/null | head -n 1)
    check dynamic-$short.ctr $tools dynamic-$short=work=11 libmoved-$short.so=in_library=7 \
        "$libc=a64l=7"
done

# A program that is not there: both count from where it begins in memory, silently.
mkdir elsewhere
mv fixed-arm fixed-x86_64 elsewhere
for machine in x86_64-linux-gnu arm-linux-gnueabihf; do
    short=${machine%%-*}
    run 0 "$dump" -n 100000000 -e exec --json fixed-$short.ctr
    silent "missing file"
    base=$(python3 -c '
import json
first = json.loads(open("stdout").readline())
print(int(first["pc"], 16) - int(first["module_offset"], 16))')
    # ld places them at 0x10000 and 0x400000
    [ "$base" -gt 4096 ] || fail "fixed-$short: base is $base"
    check fixed-$short.ctr arm
    # --elf and --sysroot name it
    OPTIONS="--elf elsewhere/fixed-$short" check fixed-$short.ctr $machine- \
        elsewhere/fixed-$short=work=11
done
mkdir -p "root/$PWD"
cp elsewhere/fixed-arm "root/$PWD/"
OPTIONS="--sysroot root" check fixed-arm.ctr arm-linux-gnueabihf- elsewhere/fixed-arm=work=11
# Another file of that name is not used, and reported.
cp dynamic-arm fixed-arm
run 0 "$dump" -n 1 -e exec fixed-arm.ctr
one_line "another file"
grep -q '^tracedump: .*/fixed-arm has another build id' stderr || fail "$(cat stderr)"
check fixed-arm.ctr arm
run 0 "$dump" -q -n 1 -e exec fixed-arm.ctr
silent -q
run 1 "$dump" -n 1 -e exec --elf dynamic-x86_64 fixed-arm.ctr
one_line "--elf of another machine"
run 1 "$dump" -n 1 -e exec --elf libmoved-arm.so fixed-arm.ctr
grep -q 'no such program or library ran' stderr || fail "$(cat stderr)"
# A program that was built again, which its build id shows, or its code: no name of the new
# one is looked up, and a place that is not found is no reason to show everything.
for id in sha1 none; do
    again=again-$id
    build x86_64-linux-gnu $again -static -no-pie -Wl,--build-id=$id app.c lib.c
    record $again -- "$qemu_dir/qemu-x86_64" ./$again
    run 0 "$dump" -a kept --writes $again.ctr
    [ "$(wc -l <stdout)" -eq 11 ] || fail "$again: $(wc -l <stdout) writes of 11"
    mv $again $again.old
    x86_64-linux-gnu-gcc -O0 -static -no-pie -Wl,--build-id=$id -o $again app.c lib.c || exit 1
    for how in "$dump -c --pc=main" "$dump --from=call:main" "$dump -a kept" \
        "$dump --histogram=function --pc=main" "$sym --backtrace=call:main" \
        "$sym -a kept --writes" "$sym -a kept --last-write-before=end" \
        "$BIN/tracecov --from=call:main"; do
        run 4 $how $again.ctr
        [ -s stdout ] && fail "$how $again: $(head -2 stdout)"
        grep -Eq '(has another build id than|is not) the file' stderr || fail "$how: $(cat stderr)"
    done
    # The old file is found by its build id, the new one is refused.
    if [ $id = sha1 ]; then
        for tool in "$dump" "$sym"; do
            run 0 "$tool" --elf $again.old -a kept --writes $again.ctr
            [ "$(wc -l <stdout)" -eq 11 ] || fail "--elf $again.old: $(cat stderr)"
        done
    fi
    run 1 "$dump" --elf $again -a kept --writes $again.ctr
    one_line "--elf of another build"
done
# A stream has no mappings: a program at a fixed address is known by --elf only.
run 0 "$dump" -n 1 -e exec - < <(cat fixed-arm.ctr)
grep -q 'fixed-arm+' stdout && fail "a stream with modules: $(cat stdout)"
"$dump" -e exec --elf elsewhere/fixed-arm - < <(cat fixed-arm.ctr) >with
"$dump" -e exec --elf elsewhere/fixed-arm fixed-arm.ctr >want
same with want "--elf with a stream"
finish
