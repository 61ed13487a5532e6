#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Fetches programs of other Debian architectures, with the libraries they need,
# into one folder per architecture, for `qemu-ARCH -L FOLDER`.
#
# apt itself works out what is needed, for an empty machine of that
# architecture; dpkg -x unpacks without running anything.  Debian 12 is taken
# on any system because later releases dropped ports; riscv64 came with 13.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

help() {
    cat <<EOF
Usage: scripts/sysroot.sh [OPTION]... ARCH...
Fetch foreign Debian programs for QEMU user mode to run.

ARCH is a Debian architecture: amd64 arm64 armel armhf i386 mips64el mipsel
ppc64el riscv64 s390x.

  -d, --dir DIR         folders DIR/ARCH (default: build/sysroot)
  -p, --packages LIST   packages, separated by commas
                        (default: busybox,sqlite3,bc)
  -q, --quiet           say only what went wrong
  -h, --help            show this help
EOF
}

DIR=$ROOT/build/sysroot PACKAGES=busybox,sqlite3,bc ARCHS=()
while [ $# -gt 0 ]; do
    case $1 in
    -d|--dir) need_arg "$1" "$@"; DIR=$2; shift ;;
    -p|--packages) need_arg "$1" "$@"; PACKAGES=$2; shift ;;
    -q|--quiet) QUIET=1 ;;
    -h|--help) help; exit 0 ;;
    -*) usage_error "unknown option '$1'" ;;
    *) ARCHS+=("$1") ;;
    esac
    shift
done
[ ${#ARCHS[@]} -gt 0 ] || usage_error "no architecture given"

mkdir -p "$DIR/apt" || exit 1
DIR=$(cd "$DIR" && pwd)
exec 9>"$DIR/lock"
flock 9

fetch() {
    local arch=$1 suite=bookworm root=$DIR/$1 apt=$DIR/apt/$1 pkg
    local packages dir
    read -r -a packages <<<"${PACKAGES//,/ }"
    case $arch in
    amd64|arm64|armel|armhf|i386|mips64el|mipsel|ppc64el|s390x) ;;
    riscv64) suite=trixie ;;
    *) usage_error "Debian has no architecture '$arch' to take programs of" ;;
    esac
    if [ "$(cat "$root/.complete" 2>/dev/null)" = "$PACKAGES" ]; then
        say "$arch: there already"
        return
    fi
    apt_private "$apt" $suite "$arch"
    rm -rf "$root" "$apt/cache/archives"
    mkdir -p "$root" "$apt/cache/archives/partial"
    run "$DIR/apt/$arch.log" "fetching $PACKAGES ($arch)" \
        apt_in "$apt" install --download-only "${packages[@]}"
    for pkg in "$apt"/cache/archives/*.deb; do
        dpkg -x "$pkg" "$root" || die "cannot unpack $pkg"
    done
    rm -rf "$apt/cache/archives"
    # Absolute links would lead out of the folder (ppc64el's loader is one).
    find "$root" -type l -lname '/*' -printf '%p\n%l\n' | while read -r link && read -r to; do
        ln -sfnr "$root$to" "$link"
    done
    # From Debian 13 on the old top folders are links that base-files makes.
    for dir in bin sbin lib lib64; do
        if [ -d "$root/usr/$dir" ] && [ ! -e "$root/$dir" ]; then
            ln -s "usr/$dir" "$root/$dir"
        fi
    done
    echo "$PACKAGES" >"$root/.complete"
    say "$arch: $PACKAGES of $suite in $root"
}

# What one architecture lacks does not keep the others away.
failed=0
for arch in "${ARCHS[@]}"; do
    (fetch "$arch")
    status=$?
    [ $status != 2 ] || exit 2
    [ $status = 0 ] || failed=$status
done
exit $failed
