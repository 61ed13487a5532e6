#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The main job on a fresh machine: sets up, fetches a real ARM program (Debian's
# busybox for armhf), records it, and shows what was recorded.  The README quotes
# a run; tests/scripts/readme.sh compares the commands.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

help() {
    cat <<EOF
Usage: scripts/demo.sh [OPTION]...
Set up, record a real ARM program and show what was recorded.

  -s, --source PATH     QEMU 10.0.x as a tarball or folder (default: Debian's)
      --no-apt          install no packages
  -h, --help            show this help
EOF
}

SETUP=()
while [ $# -gt 0 ]; do
    case $1 in
    -s|--source) need_arg "$1" "$@"; SETUP+=(--source "$2"); shift ;;
    --no-apt) SETUP+=(--no-apt) ;;
    -h|--help) help; exit 0 ;;
    *) usage_error "unknown option '$1'" ;;
    esac
    shift
done

"$ROOT/scripts/setup.sh" --targets arm "${SETUP[@]}" || exit 1
cd "$ROOT/build" || exit 1
"$ROOT/scripts/sysroot.sh" --dir demo --packages busybox-static armhf || exit 1
ln -sf demo/armhf/bin/busybox busybox-arm || exit 1

# show COMMAND: as typed in the build folder
show() {
    printf '\n$ %s\n' "$1"
    PATH=$ROOT/build/bin:$PATH bash -o pipefail -c "$1"
}

# page COMMAND: as show; head closes the pipe early, which the tools accept silently
page() {
    show "$1"
    local status=$?
    [ $status = 0 ] || [ $status = 141 ] || die "failed: $1"
}

echo
echo "In $ROOT/build, with bin/ in PATH:"
show 'cannoli-record -o run.ctr -- qemu-arm ./busybox-arm sha256sum busybox-arm' ||
    die "the recording failed"
page 'tracedump --events=exec,mem run.ctr | head -n 7'
page 'tracedump --events=sys,time run.ctr | tail -n 3'
page 'tracesym --functions run.ctr | head -n 4'
page 'tracecov --format text run.ctr | sort -rn | head -n 3'
