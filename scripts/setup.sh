#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sets everything up on a fresh machine: the Debian packages that are missing,
# the project's own programs into BUILD/bin, the patched QEMUs into
# BUILD/libexec/cannoli.  Running it again does only what has to be done again.
#
# What the tests need is fetched, and the builds of --presets are made, while QEMU
# compiles.  A package or an archive that only some tests need does not keep the others
# away: BUILD/log/left-out says what is missing, a line each.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

help() {
    cat <<EOF
Usage: scripts/setup.sh [OPTION]...
Install what is missing and build everything.

  -t, --targets LIST    QEMU targets, separated by commas, or 'all' that QEMU has;
                        arm is for programs, arm-softmmu for machines
                        (default: $(tested_targets 1 | paste -sd,))
      --system          also system emulators, for machines: ${MACHINES[*]:0:5}
                        ${MACHINES[*]:5}
  -s, --source PATH     QEMU 10.0.x as a tarball or folder (default: Debian's)
  -b, --build-dir DIR   build folder (default: build)
  -j, --jobs N          jobs at once (default: number of processors)
      --tests           also what the tests of these targets need: cross compilers,
                        test packages, QEMU's plugins, programs of other Debian
                        architectures
      --presets LIST    with --tests: also these builds of CMakePresets.json
      --full            with --tests: the tests are to run everything, which takes
                        more than an hour; all targets that they cover
      --werror          compiler warnings are errors
      --no-apt          install no packages; say which are missing and go on
  -q, --quiet           say only what went wrong
  -h, --help            show this help
EOF
}

MACHINES=(aarch64 arm i386 x86_64 riscv32 riscv64 mips mipsel mips64el ppc64 s390x)
SYSTEM="" TARGETS="" SOURCE="" BUILD=$ROOT/build JOBS=$(nproc) TESTS="" WERROR=OFF APT=1 FULL=OFF
PRESETS=()
while [ $# -gt 0 ]; do
    case $1 in
    -t|--targets) need_arg "$1" "$@"; TARGETS=$2; shift ;;
    -s|--source) need_arg "$1" "$@"; SOURCE=$2; shift ;;
    -b|--build-dir) need_arg "$1" "$@"; BUILD=$2; shift ;;
    -j|--jobs) need_arg "$1" "$@"; JOBS=$2; shift ;;
    --system) SYSTEM=1 ;;
    --tests) TESTS=1 ;;
    --presets) need_arg "$1" "$@"; read -r -a PRESETS <<<"${2//,/ }"; shift ;;
    --full) FULL=ON ;;
    --werror) WERROR=ON ;;
    --no-apt) APT="" ;;
    -q|--quiet) QUIET=1 ;;
    -h|--help) help; exit 0 ;;
    -*) usage_error "unknown option '$1'" ;;
    *) usage_error "unexpected argument '$1'" ;;
    esac
    shift
done
[ -z "$SYSTEM" ] || [ "$TARGETS" != all ] || usage_error "not both --system and --targets all"
[ -n "$TESTS" ] || [ $FULL = OFF ] || usage_error "--full needs --tests"
[ -n "$TESTS" ] || [ ${#PRESETS[@]} = 0 ] || usage_error "--presets needs --tests"
case $JOBS in ''|*[!0-9]*|0) usage_error "not a number of jobs: '$JOBS'" ;; esac
if [ $FULL = ON ]; then
    TARGETS=$(tested_targets | paste -sd,)
else
    TARGETS=${TARGETS:-$(tested_targets 1 | paste -sd,)}
fi
[ -z "$SYSTEM" ] || TARGETS+=$(printf ',%s-softmmu' "${MACHINES[@]}")
read -r -a TARGET_LIST <<<"${TARGETS//,/ }"
TEST_TARGETS=$TARGETS
[ "$TARGETS" != all ] || TEST_TARGETS=""

# The programs and the library; then QEMU.
PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config
    libzstd-dev libxxhash-dev libcapstone-dev libelf-dev libdw-dev libiberty-dev
    liblz4-dev liblzma-dev
    patch xz-utils flex bison python3-venv python3-distlib libglib2.0-dev zlib1g-dev
    ${TESTS:+libcmocka-dev})
# System emulators have devices that describe themselves, networks and displays (without
# pixman mips machines do not start).
case ,$TARGETS, in *-softmmu,*) PACKAGES+=(libfdt-dev libslirp-dev libpixman-1-dev) ;; esac
# What tests need whatever the target; the last four are for the target `lint'.
TEST_PACKAGES=(zstd clang git strace gdb gdb-multiarch lcov elfutils dwz llvm g++
    zsh fish clang-format-19 shellcheck flake8 mandoc)
# tests/oracle/stress.py compiles a class
[ $FULL = OFF ] || TEST_PACKAGES+=(default-jdk-headless)

mkdir -p "$BUILD/log" || exit 1
BUILD=$(cd "$BUILD" && pwd)
: >"$BUILD/log/left-out"

left_out() {
    say "left out: $*"
    echo "$*" >>"$BUILD/log/left-out"
}

apt_install() {
    # a run that was ended while it installed packages leaves them half configured
    if [ -n "$(dpkg --audit 2>/dev/null)" ]; then
        try "$BUILD/log/dpkg.log" as_root dpkg --configure -a
    fi
    try "$BUILD/log/apt-install.log" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y install --no-install-recommends "$@"
}

# want PACKAGE...: sets MISSING; fails if there is nothing to install
want() {
    MISSING=()
    command -v dpkg-query >/dev/null || return 1
    read -r -a MISSING <<<"$(missing_packages "$@")"
    [ ${#MISSING[@]} -gt 0 ] || return 1
    [ -n "$APT" ] && return 0
    say "not installed: ${MISSING[*]}"
    return 1
}

install_packages() {
    want "$@" || return 0
    say "installing: ${MISSING[*]}"
    run "$BUILD/log/apt-update.log" "apt-get update" as_root apt-get -q update
    apt_install "${MISSING[@]}" ||
        die "installing packages failed: $(complaint "$BUILD/log/apt-install.log") (all of it: $BUILD/log/apt-install.log)"
}

# All at once; if that fails, perhaps because the archive is being renewed, each
# target's for itself.
install_test_packages() {
    local target packages=("${TEST_PACKAGES[@]}") own
    for target in "${TARGET_LIST[@]}"; do
        read -r -a own <<<"$(target_packages "$target")"
        packages+=("${own[@]}")
    done
    want "${packages[@]}" || return 0
    say "installing: ${MISSING[*]}"
    apt_install "${MISSING[@]}" && return
    try "$BUILD/log/apt-update.log" as_root apt-get -q update
    apt_install "${MISSING[@]}" && return
    if want "${TEST_PACKAGES[@]}" && ! apt_install "${MISSING[@]}"; then
        left_out "packages ${MISSING[*]}: $(complaint "$BUILD/log/apt-install.log")"
    fi
    for target in "${TARGET_LIST[@]}"; do
        read -r -a own <<<"$(target_packages "$target")"
        if want "${own[@]}" && ! apt_install "${MISSING[@]}"; then
            left_out "programs for $target, ${MISSING[*]}: $(complaint "$BUILD/log/apt-install.log")"
        fi
    done
}

# sysroot FOLDER ARCHITECTURE OPTION...
sysroot() {
    local dir=$1 arch=$2
    shift 2
    "$ROOT/scripts/sysroot.sh" -d "$dir" "$@" "$arch" 2>"$BUILD/log/sysroot-$arch.log"
}

# Programs of other architectures.  A list that cannot be had is tried again after the
# others: an archive that is being renewed is whole a little later.
fetch_programs() {
    local arch package again=() archs=()
    mapfile -t archs < <(for target in "${TARGET_LIST[@]}"; do target_architectures "$target"; done |
        tr ' ' '\n' | sort -u)
    for arch in "${archs[@]}"; do
        [ -z "$arch" ] || sysroot "$BUILD/sysroot" "$arch" || again+=("$arch")
    done
    [ ${#again[@]} = 0 ] || sleep 30
    for arch in "${again[@]}"; do
        sysroot "$BUILD/sysroot" "$arch" ||
            left_out "programs of $arch: $(tail -n 1 "$BUILD/log/sysroot-$arch.log")"
    done
    for target in "${TARGET_LIST[@]}"; do
        read -r arch package < <(target_kernel "$target") || continue
        sysroot "$BUILD/sysroot/linux" "$arch" -p "$package,busybox-static" ||
            left_out "Linux of $arch: $(tail -n 1 "$BUILD/log/sysroot-$arch.log")"
    done
    [ $FULL = ON ] || return 0
    sysroot "$BUILD/sysroot/python" arm64 -p python3 ||
        left_out "python3 of arm64: $(tail -n 1 "$BUILD/log/sysroot-arm64.log")"
    sysroot "$BUILD/sysroot/java" amd64 -p openjdk-17-jre-headless ||
        left_out "java of amd64: $(tail -n 1 "$BUILD/log/sysroot-amd64.log")"
}

# build_preset NAME: beside BUILD, whose QEMUs its recorder finds
build_preset() {
    local preset=$1 dir=$ROOT/build-$1
    say "building: $preset"
    mkdir -p "$dir" "$BUILD/libexec/cannoli"
    ln -sfn "$(realpath --relative-to "$dir" "$BUILD/libexec")" "$dir/libexec"
    (
        cd "$ROOT" || exit 1
        run "$dir/configure.log" "configuring $preset" \
            cmake --preset "$preset" "-DCANNOLI_WERROR=$WERROR" \
            "-DCANNOLI_TEST_TARGETS=$TEST_TARGETS" "-DCANNOLI_QEMU_DIR=$BUILD/libexec/cannoli"
        run "$dir/build.log" "compiling $preset" cmake --build "$dir" -j "$JOBS"
    )
}

install_packages "${PACKAGES[@]}"
command -v cmake >/dev/null || die "cmake is not installed"

options=()
if [ ! -e "$BUILD/CMakeCache.txt" ]; then
    ! command -v ninja >/dev/null || options+=(-G Ninja)
    options+=(-DBUILD_TESTING=OFF)
fi
[ -z "$TESTS" ] ||
    options+=(-DBUILD_TESTING=ON "-DCANNOLI_FULL_TESTS=$FULL" "-DCANNOLI_TEST_TARGETS=$TEST_TARGETS")
[ $WERROR = OFF ] || options+=(-DCANNOLI_WERROR=ON)
# what the target `qemu' and the tests of the patch are to use
options+=("-DCANNOLI_QEMU_TARGETS=$TARGETS"
    "-DCANNOLI_QEMU_SOURCE=${SOURCE:+$(realpath -m "$SOURCE")}")
say "building the programs"
run "$BUILD/log/cmake.log" "configuring" cmake -S "$ROOT" -B "$BUILD" "${options[@]}"
start=$SECONDS
run "$BUILD/log/build.log" "compiling" cmake --build "$BUILD" -j "$JOBS"
# How fast this machine is: scripts/test.sh goes by it.
[ $((SECONDS - start)) -lt 10 ] || echo $(((SECONDS - start) * JOBS)) >"$BUILD/log/build-seconds"

# If this script ends early: no new package, and no compiler that goes on.
jobs=() builds=""
trap '[ ${#jobs[@]} = 0 ] || kill "${jobs[@]}" ${builds:+-"$builds"} 2>/dev/null' EXIT
if [ -n "$TESTS" ]; then
    (install_test_packages; fetch_programs) &
    jobs+=($!)
fi
late=()
if [ ${#PRESETS[@]} -gt 0 ]; then
    early=()
    for preset in "${PRESETS[@]}"; do
        # clang is one of the packages that are being installed
        if [ "$preset" = clang ]; then late+=("$preset"); else early+=("$preset"); fi
    done
    set -m # with its own process group
    (for preset in "${early[@]}"; do build_preset "$preset" || exit 1; done) </dev/null &
    set +m
    builds=$!
    jobs+=("$builds")
fi

quiet=()
[ -z "${QUIET-}" ] || quiet=(-q)
"$ROOT/scripts/qemu.sh" "${quiet[@]}" -b "$BUILD" -j "$JOBS" -t "$TARGETS" \
    ${SOURCE:+-s "$SOURCE"} ${TESTS:+--plugins} || exit 1
failed=""
for job in "${jobs[@]}"; do
    wait "$job" || failed=1
done
jobs=()
for preset in "${late[@]}"; do
    build_preset "$preset" || failed=1
done
[ -z "$failed" ] || exit 1
say "ready: programs in $BUILD/bin, QEMUs in $BUILD/libexec/cannoli"
