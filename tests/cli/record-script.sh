# SPDX-License-Identifier: MIT
# A script as the program: its interpreter runs as execve(2) starts it.  The witness is the
# kernel: the interpreter prints its arguments, recorded and not.
. "$SRC/tests/cli/librecord.sh"
need_qemu "$(uname -m)" gcc

cat >interpreter.c <<'EOF'
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        printf("%d <%s>\n", i, argv[i]);
    return 7;
}
EOF
gcc -O1 -static -o interpreter interpreter.c || exit 1
mkdir -p "bin" && here=$PWD

# script NAME LINE: an executable file with this first line
script() {
    printf '%b' "$2" >"$1" && chmod +x "$1"
}

# as_kernel COMMAND...: arguments and status are those of the unrecorded program
as_kernel() {
    "$@" >expected 2>native.err
    local status=$?
    [ "$status" -eq 7 ] || fail "the kernel does not run it: $* ($status)"
    run "$status" "$record" -q --qemu-dir "$qemu_dir" -o a.ctr -- "$@"
    silent "$*"
    cmp expected stdout || fail "$*: $(diff expected stdout)"
}

script plain "#!$here/interpreter\n"
script argument "#! \t$here/interpreter \t one argument, with blanks \t \nrest\n"
script relative '#!./interpreter -x\n'
script noend '#!./interpreter'
script nested '#!./argument nested\n'
script bin/named "#!$here/interpreter -n\n"
long=$(head -c 300 /dev/zero | tr '\0' a)
script long "#!./interpreter $long\n"
script five '#!./four\n'
script four '#!./three\n'
script three '#!./two 2\n'
script two '#!./plain\n'
as_kernel ./plain
as_kernel ./plain a '' 'b c'
as_kernel ./argument a
as_kernel ./relative
as_kernel ./noend x
as_kernel ./nested y
as_kernel ./long z
as_kernel ./five a
PATH=$here/bin:$PATH as_kernel named a

# what the trace says ran: the interpreter, with the arguments of the script
"$dump" --info --json a.ctr >info || exit 1
grep -q "\"argv\": *\[\"$here/interpreter\", *\"-n\", *\"$here/bin/named\", *\"a\"\]" info ||
    fail "no arguments: $(cat info)"

# what the kernel does not run, either
script loop '#!./loop\n'
script missing '#!/nonexistent/interpreter\n'
script folder '#!./bin\n'
script empty '#!  \n'
script toolong "#!/$long/interpreter\n"
script plainfile 'text\n'
cp plain closed && chmod -x closed
while read -r status pattern name; do
    run "$status" "$record" -q --qemu-dir "$qemu_dir" -o b.ctr -- "./$name"
    [ ! -s stdout ] && [ "$(wc -l <stderr)" -eq 1 ] || fail "$name: $(cat stdout stderr)"
    grep -q "${pattern//_/ }" stderr || fail "$name: $(cat stderr)"
    [ ! -e b.ctr ] || fail "$name leaves a trace"
done <<'EOF'
126 Too_many_levels loop
127 interpreter_of_'./missing' missing
126 Is_a_directory folder
126 no_script empty
126 no_script toolong
126 no_script plainfile
126 Permission_denied closed
EOF
finish
