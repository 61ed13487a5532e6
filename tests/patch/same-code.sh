#!/bin/bash
# SPDX-License-Identifier: MIT
# Without the flag, the patched QEMU translates as the unpatched one does: the host
# code that `-d out_asm` shows for a whole program is the same, but for the
# addresses of QEMU's own functions and data.
. "$(dirname "$0")/lib.sh"
setarch -R true 2>/dev/null || skip "address randomisation cannot be turned off here"

cat >"$TMP/prog.c" <<'EOF'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf env;

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    static int v[1000];
    static char text[5000];
    unsigned seed = 1;
    double sum = 0;
    int total = 0;

    for (int i = 0; i < 1000; i++) {
        seed = seed * 1103515245 + 12345;
        v[i] = seed >> 8;
        sum += v[i] / 3.0;
    }
    qsort(v, 1000, sizeof(*v), compare);
    memset(text, 'x', sizeof(text) - 1);
    for (int i = 0; i < 20; i++) {
        total += __atomic_add_fetch(&v[i], 3, __ATOMIC_SEQ_CST) + strlen(text + i);
    }
    if (setjmp(env) == 0) {
        longjmp(env, 1);
    }
    printf("%d %d %d %f\n", v[0], v[999], total, sum);
    return 0;
}
EOF

compare() {
    local target=$1 kind
    shift
    if ! command -v "$1" >/dev/null; then
        echo "no $1 here, $target not compared"
        return
    fi
    "$@" -O2 -static -o "$TMP/prog-$target" "$TMP/prog.c" || fail "$1"
    qemu --variant plain "$target"
    qemu "$target"
    for kind in plain patched; do
        local program=$WORK/plain/qemu-$target
        [ $kind = plain ] || program=$BUILD/libexec/cannoli/qemu-$target
        # the same path and arguments, as the guest's stack holds them
        ln -sf "$program" "$TMP/qemu" || exit 1
        (cd "$TMP" && env -i setarch -R ./qemu -d out_asm -D "log-$kind" "./prog-$target" \
            >"out-$kind") || fail "$kind qemu-$target: status $?"
    done
    cmp "$TMP/out-plain" "$TMP/out-patched" || fail "$target: different output"
    same_host_code "$target"
    compared=1
}

compared=
compare arm arm-linux-gnueabi-gcc
compare x86_64 gcc
[ -n "$compared" ] || skip "no compiler for the program to compare"
