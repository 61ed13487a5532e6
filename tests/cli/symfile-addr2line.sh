# SPDX-License-Identifier: MIT
# Functions, lines and inline chains of random addresses of a dynamic C++ program equal
# those of addr2line and eu-addr2line (compare.py lists where these two differ).
. "$SRC/tests/cli/libsymfile.sh"
need g++ addr2line eu-addr2line python3

# against NAME COUNT [all]: both tools on COUNT addresses of NAME; eu-addr2line only where
# addr2line differs, or on all
against() {
    "$symdump" pcs "$1" "$2" 7 >pcs
    "$symdump" addr2line "$1" <pcs >ours 2>remark || fail "$1: status $?"
    [ ! -s remark ] || fail "$1: $(cat remark)"
    addr2line -a -i -f -C -e "$1" <pcs >bin 2>bin.err
    [ -n "${3-}" ] || python3 "$sources/compare.py" --differing pcs ours bin
    eu-addr2line -a -i -f -C -e "$1" <pcs >eu 2>eu.err
    echo "$1:"
    python3 "$sources/compare.py" ours bin eu || fail "$1: addresses differ"
}

shapes dwarf5 g++ -O2 -gdwarf-5
against dwarf5 10000
shapes dwarf4 g++ -O2 -gdwarf-4
against dwarf4 1000
shapes plain g++ -O0 -g
against plain 500 all
shapes gc g++ -O2 -g -ffunction-sections -Wl,--gc-sections -fPIE -pie
against gc 1000
shapes static g++ -O1 -g -no-pie -static-libstdc++
against static 1000
shapes sections g++ -O3 -g -gz -freorder-blocks-and-partition
against sections 1000
shapes lto g++ -O2 -g -flto
against lto 1000

# An object: its sections have no addresses but those that are given to them here.
cp "$sources/calc.c" . && gcc -O2 -g -ffunction-sections -c -o object.o calc.c || exit 1
"$symdump" code object.o >code
[ "$(wc -l <code)" -gt 1 ] || fail "sections: $(cat code)"
while read -r from to section; do
    for ((pc = 16#$from; pc < 16#$to; pc++)); do
        printf '%x\n' $pc >>pcs.ours
        printf '%x\n' $((pc - 16#$from)) >>pcs.bin
    done
    "$symdump" addr2line object.o <pcs.ours | grep -v ^0x >>ours.o
    addr2line -i -f -C -j "$section" -e object.o <pcs.bin >>bin.o
    rm pcs.*
done <code
grep -q 'calc.c:[1-9]' bin.o || fail "no lines: $(head bin.o)"
diff <(sed 's/ (discriminator .*//' bin.o) ours.o >differ || fail "an object: $(head differ)"
"$symdump" code object.o | cut -d' ' -f1,2 >full
"$symdump" --headers code object.o | cut -d' ' -f1,2 | diff - full || fail "headers: other addresses"

# Formats that binutils 2.40 and elfutils 0.188 do not support.
llvm=$(command -v llvm-symbolizer || command -v llvm-symbolizer-14)
against_llvm() {
    [ -n "$llvm" ] || return 0
    "$symdump" pcs "$1" 2000 7 >pcs
    "$symdump" addr2line "$1" <pcs >ours 2>remark || fail "$1: status $?"
    [ ! -s remark ] || fail "$1: $(cat remark)"
    "$llvm" --output-style=GNU -a -f -i --no-demangle -e "$1" <pcs | c++filt --no-verbose >llvm
    echo "$1:"
    python3 "$sources/compare.py" ours llvm || fail "$1: addresses differ"
}
if command -v clang++ >/dev/null; then
    shapes clang clang++ -O2 -g
    against_llvm clang
    shapes clang4 clang++ -O2 -gdwarf-4
    against_llvm clang4
fi
shapes split g++ -O2 -g -gsplit-dwarf
against_llvm split
"$symdump" scopes split | grep -q 'shapes::make(int)' || fail "split: no scopes"
finish
