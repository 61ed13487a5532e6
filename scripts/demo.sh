#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The main job on a fresh machine: sets up, compiles a program that crashes (overrun.c),
# records it, and finds the cause.  The README quotes a run; tests/scripts/readme.sh
# compares the commands.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

help() {
    cat <<EOF
Usage: scripts/demo.sh [OPTION]...
Set up, record a program that crashes, and find the cause.

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

# The program is one for this machine, so its QEMU is needed.
"$ROOT/scripts/setup.sh" --targets "$(uname -m)" "${SETUP[@]}" || exit 1
cd "$ROOT/build" || exit 1

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
show 'cc -g -o overrun ../scripts/overrun.c' || die "overrun.c does not compile"
show 'cannoli-record -e all -o run.ctr -- ./overrun'
[ $? = 139 ] || die "the recording failed"
page 'tracesym --basenames --backtrace=crash run.ctr | head -n 2'
page 'tracesym --basenames -a "accounts[1].balance" --last-write-before=crash run.ctr'
page 'tracesym --basenames --trace-calls=open_account run.ctr'
page 'tracedump -e sys,time run.ctr | tail -n 2'
page 'tracesym --functions run.ctr | head -n 2'
