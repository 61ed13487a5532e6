# SPDX-License-Identifier: MIT
# --embed: files that change after they were read. A mapping that mprotect makes writable
# marks them; of a recorder that was killed, what may have changed is no contents of memory.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm
need python3
export BIN
fake=$qemu_dir # rec: the real one

cat >guest.c <<'END2'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

volatile unsigned sum;
static unsigned work[4096];

__attribute__((noinline)) int here(int x)
{
    __asm__ volatile("");
    return x;
}

static void *map(int prot, int flags, int fd)
{
    void *p = mmap(NULL, 8192, prot, flags, fd, 0);

    if (p == MAP_FAILED) {
        exit(1);
    }
    return p;
}

/* Stores through a shared mapping, and hides that. */
static void change(const char *how, char *shared, int fd)
{
    struct stat st;

    fstat(fd, &st);
    if (!strcmp(how, "move")) {
        void *to = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        shared = mremap(shared, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    }
    if (mprotect(shared + 4096, 4096, PROT_READ | PROT_WRITE)) {
        exit(1);
    }
    shared[5000] = 'x';
    msync(shared, 8192, MS_SYNC);
    futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim});
}

/* guest HOW FILE [wait|end]; without the last one the file is mapped as code */
int main(int argc, char **argv)
{
    const char *how = argv[1];
    const int fd = open(argv[2], O_RDWR);
    volatile char *p = map(PROT_READ | (argc > 3 ? 0 : PROT_EXEC), MAP_PRIVATE, fd);
    char *shared = NULL;

    sum += p[0];
    if (strcmp(how, "write") && strcmp(how, "stay")) {
        shared = map(PROT_READ, MAP_SHARED, fd);
        sum += shared[0];
    }
    usleep(500000); /* the recorder reads it */
    if (!strcmp(how, "unmap")) { /* it is not that file any more */
        munmap(shared, 8192);
        shared = mmap(shared, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        mprotect(shared, 8192, PROT_READ | PROT_WRITE);
        shared[0] = 'x';
    } else if (!strcmp(how, "fork")) {
        if (!fork()) {
            change(how, shared, fd);
            _exit(0);
        }
        wait(NULL);
    } else if (shared) {
        change(how, shared, fd);
    } else if (!strcmp(how, "write") && pwrite(fd, "xxxx", 4, 5000) != 4) {
        return 1;
    }
    here(1);
    if (argc > 3) { /* fills chunks, and waits until the recorder is killed */
        for (unsigned i = 0; i < 3000000; i++) {
            work[i * 2654435761u >> 20] += i;
        }
        sleep(argv[3][0] == 'w' ? 1000 : 0);
    }
    return 0;
}
END2
$cc -O1 -static -o guest guest.c || exit 1

# files FILE: "NAME CHANGED CHECKED" of each file in a trace
files() {
    "$dump" --info --json "$1" >info.json 2>info.err
    python3 - <<'END2'
import json
for f in json.load(open("info.json")).get("files", []):
    print(f["path"].rsplit("/", 1)[-1], f["changed"], f["checked"])
END2
}

new() {
    head -c 8192 /dev/urandom >"$1"
    touch -d '1 hour ago' "$1"
}

# A mapping that is made writable marks the file: in place, after a move, in a child; not if
# something else is there by then
for how in protect move fork; do
    new data
    rec 0 -q -e all -o t.ctr -- qemu-arm ./guest $how data
    files t.ctr | grep -q '^data True True$' || fail "$how: $(files t.ctr)"
done
for how in stay unmap; do
    new data
    rec 0 -q -e all -o t.ctr -- qemu-arm ./guest $how data
    files t.ctr | grep -q '^data False True$' || fail "$how: $(files t.ctr)"
done
new data
rec 0 -q -e all --ring=8M -o t.ctr -- qemu-arm ./guest protect data
files t.ctr | grep -q '^data False' && fail "ring: $(files t.ctr)"
files t.ctr | grep -q '^guest False True' || fail "ring: $(files t.ctr)"

# memory TRACE FROM TO: the known bytes of the file's first mapping at the call of here
cat >memory.py <<'END2'
import os, re, subprocess, sys
trace, first, last = sys.argv[1], *(int(x, 0) for x in sys.argv[2:])
dump = [os.environ["BIN"] + "/tracedump", "-q"]
text = subprocess.run(dump + ["-e", "map", trace], capture_output=True, text=True).stdout
at = int(re.search(r"\+\+\+ mmap2? 0x([0-9a-f]+)-\S+ \S+ \S*/data(?:\+0x0)?\n", text)[1], 16)
text = subprocess.run(dump + ["--state=call:here", "--memory=0x%x-0x%x" % (at + first, at + last),
                      trace], capture_output=True, text=True).stdout
text = text[text.index("\nmemory\n") + 8:]
print("".join(line.split("|")[0].partition("  ")[2].partition("  ")[2].replace(" ", "")
              for line in text.splitlines() if line.startswith("  0x")))
END2
has_here() {
    [ -s "$1" ] && files "$1" 2>/dev/null | grep -q ^data &&
        "$dump" -q --state=call:here "$1" 2>/dev/null | grep -q .
}

# killed HOW: the recorder is killed after the file was changed
killed() {
    rm -f killed.ctr
    new data
    cp data before
    "$record" --qemu-dir="$qemu_dir" -q -e all --embed=all \
        --no-key-frames -o killed.ctr -- qemu-arm ./guest "$1" data wait >/dev/null 2>&1 &
    pid=$!
    eventually has_here killed.ctr || return
    kill -KILL "$pid"
    wait "$pid"
    python3 memory.py killed.ctr 0x1380 0x1390 >got
    [ -s got ] || fail "$1: no memory"
}

for how in write stay; do
    killed $how
    files killed.ctr | grep -q '^data False False$' || fail "killed, $how: $(files killed.ctr)"
    grep -q '[0-9a-f]' got && fail "killed, $how: bytes that may have changed: $(cat got)"
done
killed protect
files killed.ctr | grep -q '^data True False$' || fail "killed, protect: $(files killed.ctr)"
grep -q '[0-9a-f]' got && fail "killed, protect: known bytes $(cat got)"
"$dump" --info killed.ctr 2>/dev/null | grep -q 'guest .*may have been changed' ||
    fail "killed: $("$dump" --info killed.ctr 2>&1 | grep -A5 '^files')"

# ... and with its end it is used
new data
cp data before
rec 0 -q -e all --embed=all -o whole.ctr -- qemu-arm ./guest stay data end
python3 memory.py whole.ctr 0x1380 0x1390 >got
[ "$(cat got)" = "$(tail -c +$((0x1381)) before | head -c 16 | od -An -v -tx1 | tr -d ' \n')" ] ||
    fail "memory of the file: $(cat got)"
finish
