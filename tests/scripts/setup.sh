#!/bin/bash
# SPDX-License-Identifier: MIT
# What set-up leaves out when a package or an archive cannot be had, and what it does not
# leave out.  Everything that setup.sh starts is a stand-in here.
set -u
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
checks=0
fail() { echo "FAILED: $*"; exit 1; }

mkdir -p "$TMP/tree/scripts" "$TMP/bin" "$TMP/bad"
cd "$TMP/tree" || exit 1
cp "$SRC"/scripts/setup.sh "$SRC"/scripts/lib.sh "$SRC"/scripts/targets scripts/

# stand_in FILE: a program of the lines on standard input, which says how it was called
stand_in() {
    { echo '#!/bin/bash'; echo "echo \"$(basename "$1") \$*\" >>'$TMP/calls'"; cat; } >"$1"
    chmod +x "$1"
}
stand_in scripts/qemu.sh <<'EOF'
EOF
# BAD/ARCH: programs of it cannot be had; of `later' at the first attempt
stand_in scripts/sysroot.sh <<EOF
arch=\${@: -1}
[ -e '$TMP/bad/'\$arch ] || exit 0
echo "sysroot.sh: no lists of \$arch" >&2
grep -q later '$TMP/bad/'\$arch && rm '$TMP/bad/'\$arch
exit 1
EOF
stand_in "$TMP/bin/cmake" <<EOF
case " \$* " in *" --preset \$(cat '$TMP/bad/preset' 2>/dev/null) "*) echo 'error: no'; exit 1 ;; esac
EOF
stand_in "$TMP/bin/dpkg-query" <<EOF
grep -qx "\${@: -1}" '$TMP/bad/packages' 2>/dev/null || echo 'ii '
EOF
stand_in "$TMP/bin/apt-get" <<'EOF'
case " $* " in *" install "*) echo 'E: Unable to fetch some archives'; exit 100 ;; esac
EOF
stand_in "$TMP/bin/sleep" <<'EOF'
EOF
stand_in "$TMP/bin/sudo" <<'EOF'
exec "$@"
EOF

# setup STATUS ARGUMENTS...
setup() {
    local status=$1 got
    shift
    : >"$TMP/calls"
    PATH=$TMP/bin:$PATH scripts/setup.sh --tests "$@" >out 2>err </dev/null
    got=$?
    [ $got = "$status" ] || { cat out err; fail "setup.sh $*: status $got, not $status"; }
    checks=$((checks + 1))
}

setup 0 --targets arm,riscv64,mips
[ ! -s build/log/left-out ] || fail "left out: $(cat build/log/left-out)"
for arch in armel armhf riscv64; do
    grep -q "^sysroot.sh .* $arch\$" "$TMP/calls" || fail "no programs of $arch: $(cat "$TMP/calls")"
done
[ "$(grep -c '^sysroot.sh' "$TMP/calls")" = 3 ] || fail "$(cat "$TMP/calls")"

# An archive that is being renewed: the others come, it is tried again.
: >"$TMP/bad/riscv64"
echo later >"$TMP/bad/armel"
setup 0 --targets arm,riscv64,s390x
[ "$(cat build/log/left-out)" = "programs of riscv64: sysroot.sh: no lists of riscv64" ] ||
    fail "left out: $(cat build/log/left-out)"
grep -q '^sysroot.sh .* s390x$' "$TMP/calls" || fail "s390x went with riscv64"
[ "$(grep -c '^sysroot.sh .* armel$' "$TMP/calls")" = 2 ] || fail "armel was not tried again"
rm "$TMP/bad/riscv64"

# Packages that some tests alone need
echo gcc-mips-linux-gnu >"$TMP/bad/packages"
setup 0 --targets arm,mips
[ "$(cat build/log/left-out)" = \
    "programs for mips, gcc-mips-linux-gnu: E: Unable to fetch some archives" ] ||
    fail "left out: $(cat build/log/left-out)"
# ... and those that nothing can be built without
echo cmake >"$TMP/bad/packages"
setup 1 --targets arm
grep -q '^setup.sh: installing packages failed: E: Unable to fetch' err || { cat err; fail "what failed"; }
rm "$TMP/bad/packages"

# The other builds are made, and one that fails is an error.
setup 0 --targets arm --presets asan,clang
for preset in asan clang; do
    grep -q "^cmake --preset $preset " "$TMP/calls" && grep -q "^cmake --build .*/build-$preset " "$TMP/calls" ||
        fail "no $preset: $(cat "$TMP/calls")"
    [ "$(readlink build-$preset/libexec)" = ../build/libexec ] || fail "$preset: $(readlink build-$preset/libexec)"
done
for preset in asan clang; do
    echo $preset >"$TMP/bad/preset"
    setup 1 --targets arm --presets asan,clang
    grep -q "^setup.sh: configuring $preset failed: error: no" err || { cat err; fail "$preset"; }
done
echo "$checks passed, 0 failed"
