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

      --full            also what takes hours: every case of tests/oracle, and that for
                        the second ring of targets, too (scripts/second-ring)
      --ring-target T   the one of the second ring of which an ordinary run passes a
                        few cases, or 'none' (default: the commit's hash chooses)
  -s, --source PATH     QEMU 10.0.x as a tarball or folder (default: Debian's)
  -j, --jobs N          jobs at once (default: number of processors)
      --werror          compiler warnings are errors
      --no-apt          install no packages
  -h, --help            show this help
EOF
}

JOBS=$(nproc) SETUP=() WERROR=OFF FULL="" RING=""
while [ $# -gt 0 ]; do
    case $1 in
    --full) FULL=1 ;;
    --ring-target) need_arg "$1" "$@"; RING=$2; shift ;;
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
if [ -n "$FULL" ]; then
    SETUP+=(--full)
elif [ "$RING" != none ]; then
    if [ -z "$RING" ]; then
        # another commit, another target: in time all of them are run
        mapfile -t ring < <(second_ring)
        hash=$(git rev-parse HEAD 2>/dev/null || sha256 qemu_patches.patch)
        RING=${ring[0x${hash:0:8} % ${#ring[@]}]}
    fi
    [ -n "$(ring_packages "$RING")" ] || usage_error "the second ring has no target '$RING'"
    say "of the second ring: $RING (again: --ring-target $RING)"
    SETUP+=(--second-ring "$RING")
fi
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
