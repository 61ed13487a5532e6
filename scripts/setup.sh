#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Sets everything up on a fresh machine: the Debian packages that are missing,
# the project's own programs into BUILD/bin, the patched QEMUs into
# BUILD/libexec/cannoli.  Running it again does only what has to be done again.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The targets that the tests cover.
ALL_TESTED=arm,aarch64,i386,mips,mipsel,ppc64le,riscv64,s390x,x86_64

help() {
    cat <<EOF
Usage: scripts/setup.sh [OPTION]...
Install what is missing and build everything.

  -t, --targets LIST    QEMU targets, separated by commas, or 'all' that QEMU has
                        (default: $ALL_TESTED)
  -s, --source PATH     QEMU 10.0.x as a tarball or folder (default: Debian's)
  -b, --build-dir DIR   build folder (default: build)
  -j, --jobs N          jobs at once (default: number of processors)
      --tests           also what the tests need: cross compilers, test packages,
                        QEMU's plugins, programs of other Debian architectures
      --second-ring LIST  with --tests: also these targets of the second ring
                        (scripts/second-ring), or 'all'
      --full            with --tests: the tests are to run everything, which takes
                        hours; all of the second ring
      --werror          compiler warnings are errors
      --no-apt          install no packages; say which are missing and go on
  -q, --quiet           say only what went wrong
  -h, --help            show this help
EOF
}

TARGETS=$ALL_TESTED SOURCE="" BUILD=$ROOT/build JOBS=$(nproc) TESTS="" WERROR="" APT=1
RING=() RING_PACKAGES=() FULL=OFF
while [ $# -gt 0 ]; do
    case $1 in
    -t|--targets) need_arg "$1" "$@"; TARGETS=$2; shift ;;
    -s|--source) need_arg "$1" "$@"; SOURCE=$2; shift ;;
    -b|--build-dir) need_arg "$1" "$@"; BUILD=$2; shift ;;
    -j|--jobs) need_arg "$1" "$@"; JOBS=$2; shift ;;
    --tests) TESTS=1 ;;
    --second-ring) need_arg "$1" "$@"; read -r -a RING <<<"${2//,/ }"; shift ;;
    --full) FULL=ON ;;
    --werror) WERROR=1 ;;
    --no-apt) APT="" ;;
    -q|--quiet) QUIET=1 ;;
    -h|--help) help; exit 0 ;;
    -*) usage_error "unknown option '$1'" ;;
    *) usage_error "unexpected argument '$1'" ;;
    esac
    shift
done
[ "${RING[*]-}" != all ] && [ $FULL = OFF ] || mapfile -t RING < <(second_ring)
for target in "${RING[@]}"; do
    packages=$(ring_packages "$target")
    [ -n "$packages" ] || usage_error "the second ring has no target '$target'"
    read -r -a packages <<<"$packages"
    RING_PACKAGES+=("${packages[@]}")
done
[ -n "$TESTS" ] || [ ${#RING[@]} = 0 ] || usage_error "--second-ring and --full need --tests"
case $JOBS in ''|*[!0-9]*|0) usage_error "not a number of jobs: '$JOBS'" ;; esac

# The programs and the library; then QEMU.
PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config
    libzstd-dev libxxhash-dev libcapstone-dev libelf-dev libdw-dev libiberty-dev
    patch xz-utils flex bison python3-venv python3-distlib libglib2.0-dev zlib1g-dev)
TEST_PACKAGES=(libcmocka-dev zstd clang git strace lcov elfutils dwz llvm
    g++ g++-aarch64-linux-gnu g++-arm-linux-gnueabihf g++-riscv64-linux-gnu
    gcc-arm-linux-gnueabi gcc-arm-linux-gnueabihf gcc-aarch64-linux-gnu
    gcc-mipsel-linux-gnu gcc-mips-linux-gnu gcc-riscv64-linux-gnu
    gcc-s390x-linux-gnu gcc-powerpc64le-linux-gnu gcc-i686-linux-gnu
    libc6-dev-armel-cross libc6-dev-armhf-cross libc6-dev-arm64-cross
    libc6-dev-mipsel-cross libc6-dev-mips-cross libc6-dev-riscv64-cross
    libc6-dev-s390x-cross libc6-dev-ppc64el-cross libc6-dev-i386-cross)
SYSROOTS=(amd64 arm64 armel armhf i386 mipsel ppc64el riscv64 s390x)
# tests/oracle/stress.py compiles a class
[ $FULL = OFF ] || TEST_PACKAGES+=(default-jdk-headless)
case " ${RING[*]-} " in *" mips64el "*) SYSROOTS+=(mips64el) ;; esac

mkdir -p "$BUILD/log" || exit 1
BUILD=$(cd "$BUILD" && pwd)

install_packages() {
    local missing
    command -v dpkg-query >/dev/null || return 0
    read -r -a missing <<<"$(missing_packages "$@")"
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ -z "$APT" ]; then
        say "not installed: ${missing[*]}"
        return
    fi
    say "installing: ${missing[*]}"
    run "$BUILD/log/apt-update.log" "apt-get update" as_root apt-get -q update
    run "$BUILD/log/apt-install.log" "installing packages" as_root \
        env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends \
        "${missing[@]}"
}

install_packages "${PACKAGES[@]}" ${TESTS:+"${TEST_PACKAGES[@]}"} "${RING_PACKAGES[@]}"
command -v cmake >/dev/null || die "cmake is not installed"

options=()
if [ ! -e "$BUILD/CMakeCache.txt" ]; then
    ! command -v ninja >/dev/null || options+=(-G Ninja)
    options+=(-DBUILD_TESTING=OFF)
fi
if [ -n "$TESTS" ]; then
    options+=(-DBUILD_TESTING=ON "-DCANNOLI_FULL_TESTS=$FULL" "-DCANNOLI_TEST_RING=${RING[*]}")
fi
[ -z "$WERROR" ] || options+=(-DCANNOLI_WERROR=ON)
# what the target `qemu' and the tests of the patch are to use
options+=("-DCANNOLI_QEMU_TARGETS=$TARGETS"
    "-DCANNOLI_QEMU_SOURCE=${SOURCE:+$(realpath -m "$SOURCE")}")
say "building the programs"
run "$BUILD/log/cmake.log" "configuring" cmake -S "$ROOT" -B "$BUILD" "${options[@]}"
run "$BUILD/log/build.log" "compiling" cmake --build "$BUILD" -j "$JOBS"

quiet=()
[ -z "${QUIET-}" ] || quiet=(-q)
"$ROOT/scripts/qemu.sh" "${quiet[@]}" -b "$BUILD" -j "$JOBS" \
    -t "$TARGETS" ${RING:+-t "$(IFS=,; echo "${RING[*]}")"} \
    ${SOURCE:+-s "$SOURCE"} ${TESTS:+--plugins} || exit 1
[ -z "$TESTS" ] ||
    "$ROOT/scripts/sysroot.sh" "${quiet[@]}" -d "$BUILD/sysroot" "${SYSROOTS[@]}" ||
    say "programs of some architectures are missing: what runs them is left out of the tests"
if [ $FULL = ON ]; then
    "$ROOT/scripts/sysroot.sh" "${quiet[@]}" -d "$BUILD/sysroot/python" -p python3 arm64 &&
        "$ROOT/scripts/sysroot.sh" "${quiet[@]}" -d "$BUILD/sysroot/java" \
            -p openjdk-17-jre-headless amd64 ||
        say "python3 or java is missing: what runs it is left out of the tests"
fi
say "ready: programs in $BUILD/bin, QEMUs in $BUILD/libexec/cannoli"
