#!/bin/bash
# SPDX-License-Identifier: MIT
# Small ELF files for fuzz_elf: elf_corpus.sh DIR.  For every machine that has a compiler
# here, with DWARF 4 and 5, symbols of all kinds, PLTs, .gnu_debugdata, compressed.
set -u
mkdir -p "$1" && cd "$1" || exit 1
rm -f ./*
cat >a.c <<'END'
extern int puts(const char *);
extern int atoi(const char *);
struct pair { int a, b; };
enum color { RED, GREEN = -5 };
typedef struct node { struct node *next; unsigned x : 3, y : 9; union { int i; float f; };
    enum color c; int grid[2][3]; int (*call)(struct node *, ...); } node_t;
node_t list = {&list};
static const volatile long total[4] = {1, 2};
__thread int mine = 3;
static inline int twice(struct pair *p) { int t = p->a * 2; { int u = t + p->b; return u; } }
static __attribute__((noinline)) int sum(int n)
{
    struct pair p = {n, 3};
    static int count;
    int s = (int)total[n & 3] + mine + list.grid[1][n % 3];
    count++;
    for (int i = 0; i < n; i++) {
        p.a = i;
        s += twice(&p);
    }
    return s;
}
int _start_here(int n, char **v) { puts(v[0]); return sum(n) + atoi(v[0]); }
END
cat >b.cpp <<'END'
extern "C" int puts(const char *);
namespace n {
template <typename T> struct Box {
    T v;
    explicit Box(T x) : v(x) {}
    inline T twice() const { return v + v; }
};
struct Base { virtual int f(int) const; static int made; };
int Base::made = 4;
struct Virtual : virtual Base { int v; } it;
int Base::f(int x) const { return Box<int>(x).twice(); }
}
int go(int x) { auto f = [x](int y) { return n::Box<long>(x).twice() + y; }; puts("x"); return f(2); }
END
n=10
# seed COMPILER SOURCE FLAG...
seed() {
    local file
    command -v "$1" >/dev/null || return 0
    file=$n.elf
    "$1" -nostdlib -shared -fPIC -O2 "${@:3}" "$2" -o "$file" 2>/dev/null && n=$((n + 1))
}
seed gcc a.c -gdwarf-5
seed gcc a.c -gdwarf-4 -Wl,-z,lazy
seed g++ b.cpp -gdwarf-5 -fno-exceptions -fno-rtti
seed g++ b.cpp -gdwarf-4 -fno-exceptions -fno-rtti -ffunction-sections
seed g++ b.cpp -gdwarf-4 -fno-exceptions -fno-rtti -fdebug-types-section
seed gcc a.c -s
seed gcc a.c -gdwarf-5 -gz
seed gcc a.c -gdwarf-5 -c
seed clang a.c -gdwarf-5
seed arm-linux-gnueabi-gcc a.c -g -marm
seed arm-linux-gnueabihf-gcc a.c -g -mthumb
seed aarch64-linux-gnu-gcc a.c -g
seed mips-linux-gnu-gcc a.c -g
seed riscv64-linux-gnu-gcc a.c -gdwarf-4
seed powerpc64le-linux-gnu-gcc a.c
seed s390x-linux-gnu-gcc a.c -g
seed i686-linux-gnu-gcc a.c -gdwarf-3
if [ -e 10.elf ] && command -v objcopy xz strip >/dev/null; then
    strip -o bare 10.elf
    objcopy -S --keep-symbol=sum 10.elf mini 2>/dev/null && xz mini &&
        objcopy --add-section .gnu_debugdata=mini.xz bare $n.elf
fi
rm -f a.c b.cpp bare mini mini.xz
[ -e 10.elf ] || { echo "no compiler"; exit 77; }
