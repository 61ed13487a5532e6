#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The whole test run of a fresh machine: set-up, then every test in the ordinary
# build, unit, cli and fuzz tests under the address and undefined behaviour
# sanitizers, pipe and replay tests under the thread sanitizer, and a build by
# clang.  The last line is the sum over all of them.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

help() {
    cat <<EOF
Usage: scripts/test.sh [OPTION]...
Set everything up and pass all tests.

  -s, --source PATH     QEMU 10.0.x as a tarball or folder (default: Debian's)
  -j, --jobs N          jobs at once (default: number of processors)
      --werror          compiler warnings are errors
      --no-apt          install no packages
  -h, --help            show this help
EOF
}

JOBS=$(nproc) SETUP=() WERROR=OFF
while [ $# -gt 0 ]; do
    case $1 in
    -s|--source) need_arg "$1" "$@"; SETUP+=(--source "$2"); shift ;;
    -j|--jobs) need_arg "$1" "$@"; JOBS=$2; shift ;;
    --werror) SETUP+=(--werror); WERROR=ON ;;
    --no-apt) SETUP+=(--no-apt) ;;
    -h|--help) help; exit 0 ;;
    *) usage_error "unknown option '$1'" ;;
    esac
    shift
done

cd "$ROOT" || exit 1
scripts/setup.sh --tests --jobs "$JOBS" "${SETUP[@]}" || {
    echo "0 passed, 1 failed"
    exit 1
}

for preset in asan tsan clang; do
    say "building: $preset"
    mkdir -p build-$preset build/libexec/cannoli
    # recorders look for their QEMUs beside themselves
    ln -sfn ../build/libexec build-$preset/libexec
    if ! cmake --preset $preset -DCANNOLI_WERROR=$WERROR >build-$preset/configure.log 2>&1 ||
        ! cmake --build build-$preset -j "$JOBS" >build-$preset/build.log 2>&1; then
        grep -E 'error|warning|Error' build-$preset/configure.log build-$preset/build.log |
            head -n 20 >&2
        say "building $preset failed"
        echo "0 passed, 1 failed"
        exit 1
    fi
done

exec tests/run --jobs "$JOBS" build 'build-asan:^(unit|cli|fuzz)$' 'build-tsan:^(pipe|replay)$' \
    'build-clang:^unit$'
