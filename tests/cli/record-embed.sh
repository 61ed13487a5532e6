# SPDX-License-Identifier: MIT
# --embed: a trace holds the files that were mapped, byte for byte and equal contents once;
# where they are not, the tools give the answers that they give where they are.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm
need python3
export BIN
fake=$qemu_dir # rec: the real one

cat >guest.c <<'END2'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

volatile char *data;
char message[4096 * 3] = "in the file";

static __attribute__((noinline)) int add(int a, int b)
{
    return a + b;
}

int main(int argc, char **argv)
{
    if (argc > 2) { /* maps a file as code, and may change it then */
        int fd = open(argv[2], O_RDWR);
        void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        char *q = !strcmp(argv[1], "shared")
                      ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                      : NULL;
        usleep(300000);
        if (p == MAP_FAILED || q == MAP_FAILED ||
            ((!strcmp(argv[1], "change") || !strcmp(argv[1], "remove")) &&
             pwrite(fd, "other", 5, 100) != 5) ||
            (!strcmp(argv[1], "remove") && unlink(argv[2]))) {
            return 1;
        }
        if (q) {
            q[100] = 'x';
        }
        usleep(50000);
    }
    if (argc == 2) { /* a file of data, of which it accesses three pieces */
        int fd = open(argv[1], O_RDONLY);
        volatile char *p = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
        volatile char *q = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
                                5 << 16);
        volatile char *r =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0xff000);
        r[0xe00] = 'x'; /* after its end */
        q[0x8001] = p[0x31000] + q[0x123];
        munmap((void *)p, 1 << 20);
        data = q;
    }
    printf("%s %d\n", message, add(argc, 1));
    return 0;
}
END2
mkdir -p files
cp -rL /usr/arm-linux-gnueabi/lib files/lib || exit 1 # of the cross compiler
$cc -g -O1 -fPIE -pie -o files/guest guest.c || exit 1
cp files/guest files/again

# embedded FILE: "PATH SIZE BYTES CONTENTS CHANGED" of each file in it but the cache of the
# loader, which not every machine has
embedded() {
    "$dump" --info --json "$1" >info.json || fail "$1: tracedump --info: status $?"
    python3 - <<'END2'
import json
for f in json.load(open("info.json")).get("files", []):
    name = f["path"].rsplit("/", 1)[-1]
    if name != "ld.so.cache":
        print(name, f["size"], f["bytes"], f["contents"], f["changed"])
END2
}

# What is embedded: with val or reg the files with code
for kinds in exec,mem,map exec,val,map exec,reg,map; do
    rec 0 -q -e $kinds -o t.ctr -- qemu-arm -L "$PWD/files" files/guest
    case $kinds in
    *mem*) [ -z "$(embedded t.ctr)" ] || fail "$kinds: $(embedded t.ctr)" ;;
    *) [ "$(embedded t.ctr | cut -d ' ' -f 1 | sort | tr '\n' ' ')" = 'guest ld-linux.so.3 libc.so.6 ' ] ||
        fail "$kinds: $(embedded t.ctr)" ;;
    esac
done
rec 0 -q -e all --embed=none -o t.ctr -- qemu-arm -L "$PWD/files" files/guest
[ -z "$(embedded t.ctr)" ] || fail "none: $(embedded t.ctr)"
rec 2 --embed=some -o t.ctr -- qemu-arm files/guest
grep -q "'some'.*none, touched, all" stderr || fail "a wrong word: $(cat stderr)"

# Two files with equal contents
rec 0 -e all -o two.ctr -- qemu-arm -L "$PWD/files" files/guest map files/again
grep -q '([^ ]* [KM]iB of it files)' stderr || fail "no size of files: $(cat stderr)"
embedded two.ctr >list
[ "$(wc -l <list)" = 4 ] || fail "two files: $(cat list)"
[ "$(awk '/^guest|^again/ { print $4 }' list | uniq -d | wc -l)" = 1 ] || fail "not once: $(cat list)"
[ "$(awk '{ print $4 }' list | sort -u | wc -l)" = 3 ] || fail "contents: $(cat list)"
while read -r name size bytes _ changed; do
    case $name in guest|again) file=files/$name ;; *) file=files/lib/$name ;; esac
    [ "$size $bytes $changed" = "$(stat -c %s "$file") $size False" ] ||
        fail "two files, $name: $(cat list)"
done <list

# In a ring
rec 0 -q -e all --ring=4M -o ring.ctr -- qemu-arm -L "$PWD/files" files/guest
[ "$(embedded ring.ctr | wc -l)" = 3 ] || fail "ring: $(embedded ring.ctr)"

# A file that changes while it is mapped
head -c 5000 /dev/urandom >files/code
rec 0 -q -e all -o changed.ctr -- qemu-arm -L "$PWD/files" files/guest change files/code
embedded changed.ctr >list
grep -q '^code 5000 5000 [0-9]* True$' list || fail "changed: $(cat list)"
[ "$(grep -c 'False$' list)" = 3 ] || fail "changed: $(cat list)"

# ... also if it is removed then, or by a mapping, of which its times say nothing; it is left out
# if it was removed before it was read
for how in remove shared; do
    head -c 5000 /dev/urandom >files/gone
    rec 0 -q -e all -o gone.ctr -- qemu-arm -L "$PWD/files" files/guest $how files/gone
    embedded gone.ctr | grep '^gone .*False$' && fail "$how: $(embedded gone.ctr)"
done

# Of a file without code, what is accessed
head -c 1048000 /dev/urandom >files/data
rec 0 -q -e all -o data.ctr -- qemu-arm -L "$PWD/files" files/guest "$PWD/files/data"
embedded data.ctr | grep -q '^data 1048000 196032 [0-9]* False$' || fail "data: $(embedded data.ctr)"
rec 0 -q -e all --embed=all -o all.ctr -- qemu-arm -L "$PWD/files" files/guest "$PWD/files/data"
embedded all.ctr | grep -q '^data 1048000 1048000 [0-9]* False$' || fail "data, all: $(embedded all.ctr)"

# The same answers with the files and without them
rec 0 -q -e all --no-aslr -o t.ctr -- qemu-arm -L "$PWD/files" files/guest
cat >read.py <<'END2'
import sys
sys.path.insert(0, sys.argv[1] + "/tests/cli")
from gdbremote import Connection
gdb = Connection("-q", "t.ctr")
for name in sys.argv[2:]:
    answer = gdb.request("vFile:open:%s,0,0" % name.encode().hex()).decode()
    assert answer.startswith("F") and not answer.startswith("F-"), (name, answer)
    data = b""
    while True:
        head, piece = gdb.request("vFile:pread:%s,4000,%x" % (answer[1:], len(data))).split(b";", 1)
        if not piece:
            break
        data += piece
    open("got." + name.rsplit("/", 1)[-1], "wb").write(data)
gdb.close()
END2
answers() {
    mkdir -p "$1"
    "$BIN/tracesym" t.ctr >"$1/sym" 2>"$1/sym.err" || fail "$1: tracesym: status $?"
    "$BIN/tracesym" --calls t.ctr >"$1/calls" 2>"$1/calls.err" || fail "$1: calls: status $?"
    "$BIN/tracecov" t.ctr >"$1/cov" 2>"$1/cov.err" || fail "$1: tracecov: status $?"
    "$dump" --state=call:add --stack --memory=message t.ctr >"$1/state" 2>"$1/state.err" ||
        fail "$1: state: $? $(cat "$1/state.err")"
    python3 read.py "$SRC" "$PWD/files/guest" "$PWD/files/lib/ld-linux.so.3" \
        "$PWD/files/lib/libc.so.6" || fail "$1: files for gdb"
    for name in guest lib/ld-linux.so.3 lib/libc.so.6; do
        cmp "got.${name##*/}" "$2/$name" || fail "$1: gdb gets another $name"
    done
}
answers here files
mv files elsewhere
answers bare elsewhere
diff -r here bare >differs || fail "without the files: $(head -5 differs)"
grep -q '^main' here/calls || grep -q main here/calls || fail "no main: $(head -3 here/calls)"
grep -q 'in the file' here/state || fail "memory: $(head -20 here/state)"

# Memory of the data file, of a page that the program did not read; not of pieces that it did
# not access, and of no file that was changed
cat >memory.py <<'END2'
import os, re, subprocess, sys
name, start, first, last = sys.argv[1], *(int(x, 0) for x in sys.argv[2:])
dump = [os.environ["BIN"] + "/tracedump"]
text = subprocess.run(dump + ["-e", "map", name + ".ctr"], capture_output=True, text=True).stdout
at = int(re.search(r"\+\+\+ mmap 0x([0-9a-f]+)-\S+ \S+ \S*/(?:data|code)\+0x%x\n" % start, text)[1], 16)
text = subprocess.run(dump + ["--state=call:add", "--memory=0x%x-0x%x" % (at + first, at + last),
                      name + ".ctr"], capture_output=True, text=True).stdout
text = text[text.index("\nmemory\n") + 8:]
got = "".join(line.split("|")[0].partition("  ")[2].partition("  ")[2].replace(" ", "") for line in text.splitlines() if line.startswith("  0x"))
print(got)
END2
want() {
    python3 -c 'import sys; sys.stdout.write(open(sys.argv[1], "rb").read()[int(sys.argv[2]):int(sys.argv[3])].hex() + "\n")' "$@"
}
python3 memory.py data 0x50000 0x4000 0x4100 >got
want elsewhere/data $((0x54000)) $((0x54100)) >want
same got want "memory of a mapped file"
python3 memory.py all 0x50000 0x8000 0x8020 >got
grep -q "$(want elsewhere/data $((0x58002)) $((0x58020)))" got || fail "a page that was written: $(cat got)"
for part in '0xdb0 0xdd0' '0xe00 0xe08'; do
    # shellcheck disable=SC2086
    python3 memory.py data 0xff000 $part
done >got
{ want elsewhere/data 1047984 1048000 | tr -d '\n'; printf '%032d\n7800000000000000\n' 0; } >want
same got want "memory after the end of a file"
python3 memory.py changed 0 0x80 0x90 >got
grep -q '[0-9a-f]' got && fail "known bytes of a file that was changed: $(cat got)"

# Another file at the path, without build ids: not taken for the one that ran
mkdir -p files/lib
cp elsewhere/lib/libc.so.6 files/guest
answers other elsewhere
diff -r here other >differs || fail "another file there: $(head -5 differs)"
finish
