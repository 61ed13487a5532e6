# SPDX-License-Identifier: MIT
# Demangled names of C++, Rust (legacy and v0) and D; bombs; names of a Rust-like file.
. "$SRC/tests/cli/libsymfile.sh"

# name MANGLED DEMANGLED ("-": not mangled)
name() {
    local got
    got=$("$symdump" demangle "$1") || fail "$1: status $?"
    [ "$got" = "$2" ] || fail "$1: '$got', not '$2'"
}
name main -
name _start -
name '' -
name _Z -
name _ZN -
name _ZN3foo3barEi 'foo::bar(int)'
name _ZNSt6vectorIiSaIiEE9push_backERKi 'std::vector<int, std::allocator<int> >::push_back(int const&)'
name _ZN1AC1Ei 'A::A(int)'
name _ZN1AC2Ei 'A::A(int)'
name _ZThn8_N1BD1Ev 'non-virtual thunk to B::~B()'
name _ZTv0_n24_N1CD0Ev 'virtual thunk to C::~C()'
name _ZZ4mainENKUlvE_clEv 'main::{lambda()#1}::operator()() const'
name _ZN12_GLOBAL__N_11fEv '(anonymous namespace)::f()'
name _Z3fooi.constprop.0 'foo(int) [clone .constprop.0]'
# Rust: the legacy scheme's hash is left out, as rustfilt and addr2line -C do
name _ZN4core3fmt9Formatter3pad17h0123456789abcdefE core::fmt::Formatter::pad
name '_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE' \
    "<Test + 'static as foo::Bar<Test>>::bar"
name _ZN13test_function17h0123456789abcdefE test_function
# v0, as in RFC 2603 and the tests of rustc-demangle
name _RNvC6_123foo3bar '123foo::bar'
name _RNvCs1234_7mycrate3foo mycrate::foo
name _RNvNtCs1234_7mycrate3foo3bar mycrate::foo::bar
name _RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_ 'cc::spawn::{closure#0}::{closure#0}'
name _RNvC6_123foo4main '123foo::main'
name _RNvMNtC3std4listINtB2_4ListmE4push '<std::list::List<u32>>::push'
name _RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std \
    'alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>'
name _D3std5stdio7writelnFZv 'std.stdio.writeln()'
name _Dmain 'D main'
name _D8demangle4testFAyaQdQfQhZv 'demangle.test(immutable(char)[], immutable(char)[], immutable(char)[], immutable(char)[])'
name _D3std5regex8internal9kickstart__T7ShiftOrTaZQl11ShiftThread__T3setS_DQCqQCpQCmQCg__TQBzTaZQCfQBv10setInvMaskMFNaNbNiNfkkZvZQCjMFNaNfwZv \
    'std.regex.internal.kickstart.ShiftOr!(char).ShiftOr.ShiftThread.set!(std.regex.internal.kickstart.ShiftOr!(char).ShiftOr.ShiftThread.setInvMask(uint, uint)).set(dchar)'
# Each reference to an item that contains another one doubles the text, 16 times or more
name _D1fFB2B2B2B2AyaQdQhQlQpZv "$(c++filt -s dlang _D1fFB2B2B2B2AyaQdQhQlQpZv)"
name _D1fFB2B2B2B2B2B2B2B2B2B2B2B2B2B2B2B2AyaQdQhQlQpQtQxQBbQBgQBlQBqQBvQCaQCfQCkQCpQCuZv -

# A name that would grow without bound is given up early, and its linkage name kept.
bomb=_Z1f
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    bomb=${bomb}St4pairIS_S_E
done
timeout 300 "$symdump" demangle "$bomb" >out || fail "bomb: status $?"
nested=_Z1f$(printf '1aI%.0s' $(seq 3000))
timeout 300 "$symdump" demangle "$nested" >out || fail "nested: status $?"
timeout 300 "$symdump" demangle "_R$(printf 'C%.0s' $(seq 20000))" >out || fail "long: status $?"
timeout 300 "$symdump" demangle "_RNv$(printf 'INvB_%.0s' $(seq 1000))C1a1b" >out || fail "v0: $?"
finish
