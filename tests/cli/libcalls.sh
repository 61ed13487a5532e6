# SPDX-License-Identifier: MIT
# Functions that the tests of call trees share; sourced, not run.
. "$SRC/tests/cli/libtracedump.sh"
dumper=$TOOLS/calltree_dump
record=$BIN/cannoli-record
qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
sysroot_dir=${CANNOLI_SYSROOT_DIR:-$BUILD/sysroot}
all_targets='arm thumb aarch64 mipsel mips riscv64 x86_64 i386 ppc64le s390x'
done_any=

# qemu_of TARGET
qemu_of() {
    if [ "$1" = thumb ]; then
        echo qemu-arm
    else
        echo "qemu-$1"
    fi
}

# build TARGET PROGRAM...: guests/TARGET/PROGRAM; fails if this machine cannot build or run it
build() {
    local target=$1 program
    local -a list=()
    shift
    [ -x "$qemu_dir/$(qemu_of "$target")" ] || return 1
    for program in "$@"; do
        list+=(--program "$program")
    done
    python3 "$SRC/tests/guests/build.py" --out guests --target "$target" "${list[@]}" \
        >/dev/null 2>&1
}

# recorded TARGET FILE COMMAND...: the program's stdout goes to `witness'
recorded() {
    local target=$1 file=$2
    shift 2
    "$record" -q --qemu-dir "$qemu_dir" -o "$file" -- "$(qemu_of "$target")" "$@" \
        >witness 2>stderr </dev/null
    [ -s "$file" ] || fail "$target: no trace of $*: $(head -3 stderr)"
}

# tree OUT OPTION... TRACE: all sums must be right
tree() {
    local out=$1
    shift
    "$dumper" "$@" >"$out" 2>stderr || fail "calltree_dump $*: $(head -3 stderr)"
}

# The same for any number of workers, and with all optional outputs.
all_ways() {
    tree one -aelps -j1 "$@"
    tree two -aelps -j2 "$@"
    same one two "two workers: $*"
    tree one -S 0 -j1 "$@"
    tree two -S 0 -j2 "$@"
    same one two "spans, two workers: $*"
    tree one -el -m 100 "$@"
}

finish_any() {
    if [ -z "$done_any" ]; then
        echo "needs patched QEMUs in '$qemu_dir' and cross compilers"
        [ -z "${CANNOLI_EXPECT_QEMU:-}" ] && exit 77
        exit 1
    fi
    finish
}
