# SPDX-License-Identifier: MIT
# --light: files and memory that others can write while a program has them mapped are named, once
# each, with a time before which nothing depends on them; other mappings are not.
. "$SRC/tests/cli/librecord.sh"
need_qemu_arm
fake=$qemu_dir # rec: the real one

cat >guest.c <<'END2'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int map(int fd, int prot, int flags)
{
    return mmap(NULL, 4096, prot, flags, fd, 0) == MAP_FAILED;
}

int main(int argc, char **argv)
{
    const int read = open("read", O_RDONLY), file = open("data", O_RDWR);
    const int memory = memfd_create("buffer", 0);
    int failed = read < 0 || file < 0 || memory < 0 || ftruncate(memory, 4096) ||
                 map(read, PROT_READ, MAP_SHARED) ||
                 map(read, PROT_READ | PROT_WRITE, MAP_PRIVATE) ||
                 map(-1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);

    if (argc > 1) {
        failed |= map(file, PROT_READ | PROT_WRITE, MAP_SHARED) ||
                  map(file, PROT_READ | PROT_WRITE, MAP_SHARED) ||
                  map(memory, PROT_READ, MAP_SHARED);
    }
    if (argc > 2) { /* the first file becomes writable in a child, which has all the others */
        void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, open("late", O_RDWR), 0);

        if (fork()) {
            failed |= wait(NULL) < 0;
        } else {
            _exit(mprotect(p, 4096, PROT_READ | PROT_WRITE));
        }
    }
    return failed;
}
END2
arm-linux-gnueabi-gcc -O1 -static -o guest guest.c || exit 1
head -c 4096 /dev/zero | tee read late >data

rec 0 --light -o some.ctr -- qemu-arm ./guest shared
grep -v ' instructions, ' stderr >named
[ "$(grep -c '^cannoli-record: process [0-9]* has mapped .*/data: what programs' named)" = 1 ] &&
    [ "$(grep -c '^cannoli-record: process [0-9]* has mapped .*memfd:buffer.*: what programs' named)" = 1 ] &&
    [ "$(wc -l <named)" = 2 ] || fail "shared memory: $(cat stderr)"
# Up to the time that it names the trace can be executed again.
until=$(sed -n '1s/.*--to=\([0-9.]*s\)).*/\1/p' named)
run 0 "$BIN/cannoli-expand" -e mem -q --to="$until" -o before.ctr some.ctr
"$BIN/tracedump" --info before.ctr | grep -q '^instructions *[1-9]' || fail "nothing is before $until"

# A mapping that becomes writable is named then; what a child has from its parent, no more.
rec 0 --light -o late.ctr -- qemu-arm ./guest shared late
grep -v ' instructions, ' stderr >named
[ "$(grep -c 'has mapped .*/late: what programs' named)" = 1 ] && [ "$(wc -l <named)" = 3 ] ||
    fail "a mapping that becomes writable: $(cat stderr)"

# One that is only read is not named, however often it is mapped.
cat >often.c <<'END2'
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
    const int file = open("read", O_RDONLY);

    for (int i = 0; i < 1100; i++) {
        if (munmap(mmap(0, 4096, PROT_READ, MAP_SHARED, file, 0), 4096)) {
            return 1;
        }
    }
    return 0;
}
END2
arm-linux-gnueabi-gcc -O1 -static -o often often.c || exit 1
rec 0 --light -o often.ctr -- qemu-arm ./often
! grep -q 'has mapped' stderr || fail "a file that is only read: $(cat stderr)"

rec 0 --light -q -o quiet.ctr -- qemu-arm ./guest shared
silent "-q"
rec 0 --light -o none.ctr -- qemu-arm ./guest
! grep -q 'has mapped' stderr || fail "mappings that only the program has: $(cat stderr)"
rec 0 -o other.ctr -- qemu-arm ./guest shared
! grep -q 'has mapped' stderr || fail "no light trace: $(cat stderr)"
finish
