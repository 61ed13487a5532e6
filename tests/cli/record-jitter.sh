# SPDX-License-Identifier: MIT
# A jitter library that cannot work: one line, status 125, and no trace; also if
# its constructor crashes.
. "$SRC/tests/cli/librecord.sh"

guest program 'print ran'
echo old >old.ctr

# library NAME: built from standard input
library() {
    cat - >"$1.c"
    ${CC:-cc} -shared -fPIC -I "$SRC/include" -DDESCRIBED="CANNOLI_JITTER_HEADER" \
        "$1.c" -o "$1.so" || fail "cannot build $1"
}

# bad TEXT LIBRARY[,ARGUMENTS]
bad() {
    rec 125 -o old.ctr --jitter "$2" -- qemu-arm program
    one_line "$2"
    grep -q "^cannoli-record: cannot \(use\|load\) '.*${2%%,*}': .*$1" stderr ||
        fail "$2: $(cat stderr)"
    [ ! -s stdout ] || fail "$2: the program ran"
    [ "$(cat old.ctr)" = old ] || fail "$2: an older trace was harmed"
}

bad 'No such file' missing.so
bad 'no shared library' program
bad 'no shared library' .
: >empty.so
bad 'no shared library' empty.so

library symbol <<'END'
int something;
END
bad 'no symbol cannoli_jitter$' symbol.so
library undefined <<'END'
#include "cannoli/jitter.h"
void nowhere(void *);
const struct cannoli_jitter cannoli_jitter = {DESCRIBED, "undefined", .unload = nowhere};
END
bad 'undefined symbol: nowhere$' undefined.so
head -c 2000 symbol.so >half.so
bad '.' half.so
library version <<'END'
#include "cannoli/jitter.h"
const struct cannoli_jitter cannoli_jitter = {99, sizeof(struct cannoli_jitter), "version"};
END
bad 'made for version 99 of cannoli/jitter.h, this is version 4$' version.so
library short <<'END'
#include "cannoli/jitter.h"
const struct cannoli_jitter cannoli_jitter = {CANNOLI_JITTER_VERSION, 16, "short"};
END
bad 'has 16 bytes' short.so
# Libraries for other machines than this one
for machine in 40:1:1:arm 22:2:2:s390x 9999:2:1:QEMU; do
    python3 - symbol.so other.so "$machine" <<'END'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
machine, cls, data, name = sys.argv[3].split(":")
b[4], b[5] = int(cls), int(data)
b[18:20] = struct.pack("<H" if data == "1" else ">H", int(machine))
b[36:40] = b[48:52] = bytes(4)
open(sys.argv[2], "wb").write(b)
END
    bad "made for another machine.*${machine##*:}" other.so
done

library crash <<'END'
#include "cannoli/jitter.h"
static void __attribute__((constructor)) begin(void)
{
    *(volatile int *)8 = 1;
}
const struct cannoli_jitter cannoli_jitter = {DESCRIBED, "crash"};
END
bad 'crashes while it is loaded (Segmentation fault)$' crash.so
library abort <<'END'
#include <stdlib.h>
#include "cannoli/jitter.h"
static int load(const struct cannoli_host *host, const char *args, void **state)
{
    (void)host, (void)args, (void)state;
    abort();
}
const struct cannoli_jitter cannoli_jitter = {DESCRIBED, "abort", .load = load};
END
bad 'crashes while it is loaded (Aborted)$' abort.so
library leave <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "cannoli/jitter.h"
static void __attribute__((constructor)) begin(void)
{
    puts("I am here"); /* nobody is to hear that twice */
    fputs("so am I\n", stderr);
    fflush(stdout);
    exit(0);
}
const struct cannoli_jitter cannoli_jitter = {DESCRIBED, "leave"};
END
bad 'ends its process while it is loaded$' leave.so
library refuse <<'END'
#include <string.h>
#include "cannoli/jitter.h"
static int load(const struct cannoli_host *host, const char *args, void **state)
{
    static int here;

    *state = &here;
    if (!strcmp(args, "fine")) {
        return 0;
    }
    if (*args) {
        host->error("%s is not for %s (%u, %d, %u bits, %s)\n", args, host->target,
                    host->elf_machine, host->big_endian, 8u * host->addr_bytes,
                    host->program);
    }
    return 3;
}
static void unload(void *state)
{
    *(int *)state = 1;
}
const struct cannoli_jitter cannoli_jitter = {DESCRIBED, "refuse", .load = load,
                                             .unload = unload};
END
bad 'refuses to work (its load returned 3)$' refuse.so
bad 'a=1,b=2 is not for arm (40, 0, 32 bits, program)$' refuse.so,a=1,b=2
rec 0 -qo a.ctr --jitter refuse.so,fine -- qemu-arm program
[ "$(cat stdout)" = ran ] || fail "a library that works: $(cat stdout stderr)"
# A good library before it does not help.
rec 125 -o old.ctr --jitter refuse.so,fine --jitter crash.so -- qemu-arm program
one_line

# Nothing of the library remains.
[ -z "$(find . -name 'core*')" ] || fail "a core file was left"
finish
