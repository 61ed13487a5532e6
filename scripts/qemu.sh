#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Gets, verifies, patches and builds QEMU for cannoli-record.
#
# The source is Debian 13's (through apt, see lib.sh) or the user's own, of any
# 10.0.x.  Every step leaves its result under BUILD/qemu and is skipped when
# what it depends on has not changed: source, patch and files of qemu/ (key of
# the tree), compiler and options (key of the object folder).  A changed patch
# rebuilds only what it touches, because the fresh tree is copied over the old
# one file by file; a further target is added to those already configured.
#
# qemu/ holds the files that are new in QEMU, each below its place there; the
# patch holds what changes in QEMU's own files.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SUITE=trixie # the Debian release whose QEMU is 10.0.x

help() {
    cat <<EOF
Usage: scripts/qemu.sh [OPTION]... [TARGET]...
Build the patched QEMU emulators that cannoli-record runs.

  -t, --targets LIST    targets, separated by commas (default: arm): arm is the
                        user-mode emulator qemu-arm, arm-softmmu the system
                        emulator qemu-system-arm; 'all' is every user-mode
                        target that QEMU has
  -s, --source PATH     QEMU 10.0.x as a release tarball or a source folder
                        (copied, never changed); default: Debian's, by apt
  -b, --build-dir DIR   the project's build folder (default: build); programs
                        go to DIR/libexec/cannoli
  -j, --jobs N          jobs at once (default: number of processors)
      --patch FILE      patch to apply (default: qemu_patches.patch)
      --plugins         build QEMU's plugins mem and execlog as well, into
                        DIR/qemu/plugins
      --variant KIND    patched (default); plain: not patched, into
                        DIR/qemu/plain; off: patched but configured without
                        --with-cannoli, into DIR/qemu/off
      --dev             build for work on qemu/: with debug information, and
                        with links to the files of qemu/, into DIR/qemu/dev;
                        after an edit there, 'ninja -C DIR/qemu/obj-dev'
      --update-patch    write what was edited in DIR/qemu/src-dev, of QEMU's own
                        files, into the patch, and build nothing
      --export FILE     write patch and new files as one mail for 'git am',
                        and build nothing
      --configure-only  stop before compiling
  -q, --quiet           say only what went wrong
  -h, --help            show this help
EOF
}

TARGETS="" SOURCE="" BUILD=$ROOT/build JOBS=$(nproc) PATCH=$ROOT/qemu_patches.patch
PLUGINS="" VARIANT=patched CONFIGURE_ONLY="" EXPORT="" UPDATE=""
while [ $# -gt 0 ]; do
    case $1 in
    -t|--targets) need_arg "$1" "$@"; TARGETS="$TARGETS,$2"; shift ;;
    -s|--source) need_arg "$1" "$@"; SOURCE=$2; shift ;;
    -b|--build-dir) need_arg "$1" "$@"; BUILD=$2; shift ;;
    -j|--jobs) need_arg "$1" "$@"; JOBS=$2; shift ;;
    --patch) need_arg "$1" "$@"; PATCH=$2; shift ;;
    --plugins) PLUGINS=1 ;;
    --variant) need_arg "$1" "$@"; VARIANT=$2; shift ;;
    --dev) VARIANT=dev ;;
    --update-patch) VARIANT=dev UPDATE=1 ;;
    --export) need_arg "$1" "$@"; EXPORT=$2; shift ;;
    --configure-only) CONFIGURE_ONLY=1 ;;
    -q|--quiet) QUIET=1 ;;
    -h|--help) help; exit 0 ;;
    -*) usage_error "unknown option '$1'" ;;
    *) TARGETS="$TARGETS,$1" ;;
    esac
    shift
done
case $VARIANT in patched|plain|off|dev) ;; *) usage_error "no variant '$VARIANT'" ;; esac
case $JOBS in ''|*[!0-9]*|0) usage_error "not a number of jobs: '$JOBS'" ;; esac
read -r -a WANTED <<<"${TARGETS//,/ }"
[ ${#WANTED[@]} -gt 0 ] || WANTED=(arm)
for i in "${!WANTED[@]}"; do
    WANTED[i]=${WANTED[i]%-linux-user}
    [[ ${WANTED[i]} =~ ^[a-z0-9_]+(-softmmu)?$ ]] || usage_error "not a target: '${WANTED[i]}'"
done
[ -z "$SOURCE" ] || [ -e "$SOURCE" ] || die "no such file or folder: $SOURCE"
[ "$VARIANT" = plain ] || [ -r "$PATCH" ] || die "cannot read the patch: $PATCH"

# The files that are new in QEMU, one a line, as paths below qemu/.  What lies in
# qemu/ itself is for those who work there.
new_files() { (cd "$ROOT/qemu" && find . -mindepth 2 -type f ! -name '.*' ! -name '*~') |
    sed 's,^\./,,' | LC_ALL=C sort; }

# Identifies the QEMU side as a whole (tests/bench/suite/machine.py knows it, too).
side_sum() {
    {
        sha256 "$PATCH"
        new_files | (cd "$ROOT/qemu" && xargs -d '\n' sha256sum)
    } | sha256
}

# The patch is a mail: after its message come the new files, then its own hunks.
export_mail() {
    local file lines
    sed '/^---$/q' "$PATCH"
    echo
    new_files | while read -r file; do
        lines=$(wc -l <"$ROOT/qemu/$file")
        printf 'diff --git a/%s b/%s\nnew file mode 100644\n' "$file" "$file"
        printf -- '--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n' "$file" "$lines"
        sed 's/^/+/' "$ROOT/qemu/$file"
    done
    sed -n '/^diff --git /,$p' "$PATCH"
}

if [ -n "$EXPORT" ]; then
    grep -q '^---$' "$PATCH" || die "not a mail: $PATCH"
    export_mail >"$EXPORT" || die "cannot write $EXPORT"
    exit 0
fi

mkdir -p "$BUILD/qemu" || exit 1
BUILD=$(cd "$BUILD" && pwd)
WORK=$BUILD/qemu
case $VARIANT in
patched) SRC=$WORK/src OBJ=$WORK/obj OUT=$BUILD/libexec/cannoli ;;
plain) SRC=$WORK/src-plain OBJ=$WORK/obj-plain OUT=$WORK/plain ;;
off) SRC=$WORK/src OBJ=$WORK/obj-off OUT=$WORK/off ;;
dev) SRC=$WORK/src-dev OBJ=$WORK/obj-dev OUT=$WORK/dev ;;
esac
BUILT=$WORK/built-$VARIANT
mkdir -p "$WORK/log" "$WORK/dl" "$OUT" || exit 1

# One run at a time in a build folder.
exec 9>"$WORK/lock"
flock 9

# The interpreter that Debian's python3 packages (meson, distlib) are for.
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=$(command -v python3 || echo python3)

check_tools() {
    local need=()
    command -v cc >/dev/null || need+=(gcc libc6-dev)
    command -v ninja >/dev/null || need+=(ninja-build)
    command -v patch >/dev/null || need+=(patch)
    command -v xz >/dev/null || need+=(xz-utils)
    if ! command -v pkg-config >/dev/null; then
        need+=(pkg-config)
    else
        pkg-config --exists glib-2.0 || need+=(libglib2.0-dev)
        pkg-config --exists zlib || need+=(zlib1g-dev)
    fi
    case " ${WANTED[*]} " in
    *-softmmu\ *)
        echo '#include <libfdt.h>' | cc -E - >/dev/null 2>&1 || need+=(libfdt-dev) ;;
    esac
    $PYTHON -c 'import venv, ensurepip' 2>/dev/null || need+=(python3-venv)
    $PYTHON -c 'import distlib' 2>/dev/null || need+=(python3-distlib)
    [ ${#need[@]} = 0 ] ||
        die "missing packages: ${need[*]} (apt-get install them, or run scripts/setup.sh)"
}

# Sets TARBALL or TREE, and SOURCE_ID.
get_source() {
    TARBALL="" TREE=""
    if [ -d "$SOURCE" ]; then
        TREE=$(cd "$SOURCE" && pwd)
        [ -r "$TREE/VERSION" ] || die "not a QEMU source folder: $SOURCE"
        SOURCE_ID=tree:$TREE
        return
    elif [ -n "$SOURCE" ]; then
        TARBALL=$SOURCE
    else
        TARBALL=$(find "$WORK/dl" -name 'qemu_*.orig.tar.*' ! -name '*.asc' | sort -V | tail -n 1)
        [ -n "$TARBALL" ] && [ -e "$WORK/dl/verified" ] || fetch_source
    fi
    SOURCE_ID=tar:$(sha256 "$TARBALL")
    [ -n "$SOURCE" ] || [ "$SOURCE_ID" = "tar:$(cat "$WORK/dl/verified")" ] ||
        die "$TARBALL is not the file that was verified; remove it"
}

# apt checks the release's signature, with it the source index, with that the
# .dsc, and with that the tarball; the last link is checked once more here, on
# the file that is going to be used.
fetch_source() {
    local dsc sum listed
    say "fetching the QEMU source package of Debian $SUITE"
    apt_private "$WORK/apt" $SUITE "$(dpkg --print-architecture)" src
    rm -rf "$WORK/dl" && mkdir "$WORK/dl"
    (cd "$WORK/dl" && run "$WORK/log/fetch.log" "fetching the QEMU source" \
        apt_in "$WORK/apt" source --download-only qemu) || exit 1
    dsc=$(find "$WORK/dl" -name 'qemu_*.dsc')
    TARBALL=$(find "$WORK/dl" -name 'qemu_*.orig.tar.*' ! -name '*.asc')
    [ -r "$TARBALL" ] && [ -r "$dsc" ] || die "the source package holds no QEMU tarball"
    sum=$(sha256 "$TARBALL")
    listed=$(awk -v f="${TARBALL##*/}" '/^Checksums-Sha256:/ { on = 1; next } /^[^ ]/ { on = 0 }
        on && $3 == f { print $1 }' "$dsc")
    [ "$sum" = "$listed" ] || die "${TARBALL##*/} is not the file its .dsc names"
    say "verified: signature of the $SUITE release and of its source index (by apt)"
    say "verified: ${TARBALL##*/} sha256 $sum, as in ${dsc##*/}"
    echo "$sum" >"$WORK/dl/verified"
}

check_version() {
    local version
    version=$(cat "$1/VERSION" 2>/dev/null)
    # shellcheck disable=SC2254
    case $version in
    10.0.[0-9]|10.0.[1-4][0-9]) VERSION=$version ;;
    '') die "no QEMU source in ${SOURCE:-the source package}" ;;
    *) die "QEMU $version will not do: the patch is for 10.0.x" ;;
    esac
}

# Applies to a fresh tree only, so nothing is left half patched.
apply_patch() {
    local log=$WORK/log/patch.log where
    if patch -d "$1" -p1 --fuzz=0 --batch --forward --no-backup-if-mismatch -r - \
        <"$PATCH" >"$log" 2>&1; then
        return
    fi
    if [ -n "$TREE" ] && patch -d "$TREE" -p1 --fuzz=0 --batch --reverse --dry-run \
        <"$PATCH" >/dev/null 2>&1; then
        say "$TREE has the patch already"
        rm -rf "$1"
        copy_tree "$1"
        return
    fi
    where=$(awk '/^(checking|patching) file/ { file = $3 }
        /FAILED at/ { print "hunk " $2 " of " file ", line " $5 + 0; exit }
        /can.t find file|No file to patch/ { print "it names a file that is not there"; exit }' "$log")
    die "the patch does not apply to QEMU $VERSION: ${where:-see the log} (all of it: $log)"
}

# Copies (or links) the new files into tree $1.  A source that holds one of them
# already, with other content, is somebody else's.
add_files() {
    local file
    while read -r file; do
        if [ -e "$1/$file" ] && ! cmp -s "$ROOT/qemu/$file" "$1/$file"; then
            die "the source has another $file than qemu/$file"
        fi
        mkdir -p "$1/${file%/*}" && rm -f "$1/$file" || exit 1
        if [ "$VARIANT" = dev ]; then
            ln -s "$ROOT/qemu/$file" "$1/$file"
        else
            cp "$ROOT/qemu/$file" "$1/$file"
        fi || die "cannot make $1/$file"
    done < <(new_files)
}

# Time and size of each file of tree $1, to find what was edited in it.
list_tree() {
    (cd "$1" && find . \( -name __pycache__ -o -name .git \) -prune -o -type f \
        ! -name '.cannoli-*' -printf '%P\t%s %T@\n' | LC_ALL=C sort)
}

# An edit in the build folder's tree is about to be replaced: keeps a copy.
keep_edits() {
    local kept edited
    [ -e "$SRC/.cannoli-files" ] || return 0
    mapfile -t edited < <(list_tree "$SRC" | LC_ALL=C comm -13 "$SRC/.cannoli-files" - | cut -f1)
    for file in "${edited[@]}"; do
        cmp -s "$SRC/$file" "$1/$file" && continue
        [ -n "${kept-}" ] || kept=$(mktemp -d "$WORK/edited-XXXXXX") || exit 1
        mkdir -p "$kept/$(dirname "$file")" && cp -p "$SRC/$file" "$kept/$file" ||
            die "cannot keep the edited $SRC/$file"
        printf '%s: %s was edited; a copy is kept in %s\n' "$PROG" "$SRC/$file" "$kept" >&2
    done
}

copy_tree() {
    mkdir -p "$1"
    tar -C "$TREE" --exclude=./.git --exclude=./build -cf - . | tar -C "$1" -xf - ||
        die "cannot copy $TREE"
}

# Debian's source leaves out firmware images that QEMU's build wants to unpack.  They
# are not among what is built here, but configuring system emulators needs the names.
name_firmware() {
    local image
    sed -n "s/^ *'\(edk2-.*\.fd\)',$/\1.bz2/p" "$1/pc-bios/meson.build" |
        while read -r image; do
            [ -e "$1/pc-bios/$image" ] || touch "$1/pc-bios/$image"
        done
}

# Makes SRC.  A file keeps its time unless its content changed.
make_tree() {
    local key="$SOURCE_ID" new=$SRC.new
    case $VARIANT in
    plain) ;;
    # an edit of a linked file changes nothing in the tree
    dev) key="$key patch:$(sha256 "$PATCH") links:$({ echo "$ROOT"; new_files; } | sha256)" ;;
    *) key="$key patch:$(side_sum)" ;;
    esac
    if [ -z "$TREE" ] && [ "$(cat "$SRC/.cannoli-key" 2>/dev/null)" = "$key" ]; then
        check_version "$SRC"
        return
    fi
    rm -rf "$new"
    mkdir -p "$new"
    if [ -n "$TREE" ]; then
        copy_tree "$new"
    else
        run "$WORK/log/unpack.log" "unpacking ${TARBALL##*/}" \
            tar -C "$new" --strip-components=1 -xf "$TARBALL"
    fi
    check_version "$new"
    say "QEMU $VERSION, $VARIANT"
    name_firmware "$new"
    if [ "$VARIANT" != plain ]; then
        apply_patch "$new"
        add_files "$new"
    fi
    if [ -d "$SRC" ]; then
        keep_edits "$new"
        rm -f "$SRC/.cannoli-key"
        $PYTHON "$ROOT/scripts/update-tree.py" "$new" "$SRC" || die "cannot update $SRC"
        rm -rf "$new"
    else
        mv "$new" "$SRC"
    fi
    list_tree "$SRC" >"$SRC/.cannoli-files"
    echo "$key" >"$SRC/.cannoli-key"
}

# Needs a tree of --dev that was made of this source and this patch.
update_patch() {
    local key tree=$SRC old=$WORK/src-plain tmp file
    key=$(cat "$tree/.cannoli-key" 2>/dev/null) ||
        die "no $tree to read: edit QEMU's files there after scripts/qemu.sh --dev"
    [[ $key = "$SOURCE_ID "* ]] || die "$tree was made of another source: run scripts/qemu.sh --dev"
    [[ $key = *" patch:$(sha256 "$PATCH") "* ]] ||
        die "${PATCH##*/} has changed since $tree was made: run scripts/qemu.sh --dev"
    grep -q '^---$' "$PATCH" || die "not a mail: $PATCH"
    command -v git >/dev/null || die "missing packages: git"
    PATCH=$(realpath "$PATCH")
    VARIANT=plain SRC=$old
    make_tree

    # A repository of just the files that are in the patch or were edited gives the lines.
    tmp=$(mktemp -d "$WORK/update-XXXXXX") && mkdir "$tmp/a" "$tmp/b" || exit 1
    # shellcheck disable=SC2064
    trap "rm -rf '$tmp'" EXIT
    {
        sed -n 's,^--- a/,,p' "$PATCH"
        list_tree "$tree" | LC_ALL=C comm -3 "$tree/.cannoli-files" - | sed 's/^\t//' | cut -f1
    } | LC_ALL=C sort -u >"$tmp/files"
    while read -r file; do
        [ -e "$old/$file" ] || die "$tree/$file is a new file: it belongs into qemu/"
        [ -e "$tree/$file" ] || die "$tree/$file is gone, but the patch only adds lines"
        (cd "$old" && cp --parents "$file" "$tmp/a") && (cd "$tree" && cp --parents "$file" "$tmp/b") ||
            die "cannot copy $tree/$file"
    done <"$tmp/files"
    (
        export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_DIR=$tmp/git
        export GIT_WORK_TREE=.
        cd "$tmp/a" && git init -q && git add -A . && cd "$tmp/b" &&
            sed '/^---$/q' "$PATCH" && git diff --stat=72 && echo && git diff
    ) >"$tmp/mail" || die "cannot write the patch anew"
    grep -q '^diff --git ' "$tmp/mail" || die "$tree holds no change of QEMU's files"
    if cmp -s "$tmp/mail" "$PATCH"; then
        say "${PATCH##*/} has these changes already"
    else
        cat "$tmp/mail" >"$PATCH" || die "cannot write $PATCH"
        say "${PATCH##*/} is written:$(grep -m 1 '^ [0-9]* files\? changed' "$tmp/mail")"
    fi
    # The tree is that of the new patch.
    list_tree "$tree" >"$tree/.cannoli-files"
    sed -i "s/ patch:[0-9a-f]*/ patch:$(sha256 "$PATCH")/" "$tree/.cannoli-key"
}

# QEMU wants a newer meson than Debian 12 has, and pycotap; both are pure Python.
make_meson() {
    local pkg
    if $PYTHON - 2>/dev/null <<'EOF'
import pycotap, mesonbuild.coredata as c
assert tuple(map(int, c.version.split('.')[:2])) >= (1, 5)
EOF
    then
        MESON_ENV=()
        return
    fi
    MESON_ENV=("PATH=$WORK/meson/usr/bin:$PATH"
        "PYTHONPATH=$WORK/meson/usr/lib/python3/dist-packages")
    [ -e "$WORK/meson/complete" ] && return
    say "fetching meson and pycotap of Debian $SUITE"
    apt_private "$WORK/apt" $SUITE "$(dpkg --print-architecture)" src
    rm -rf "$WORK/meson"
    mkdir -p "$WORK/meson"
    (cd "$WORK/meson" && run "$WORK/log/meson.log" "fetching meson" \
        apt_in "$WORK/apt" download meson python3-pycotap) || exit 1
    for pkg in "$WORK"/meson/*.deb; do
        dpkg -x "$pkg" "$WORK/meson" || die "cannot unpack $pkg"
    done
    touch "$WORK/meson/complete"
}

# A fixed hash seed makes what QEMU's generators write the same each time.
in_env() { env PYTHONHASHSEED=0 "${MESON_ENV[@]}" "$@"; }

# The program of a target, and how configure calls the target.
program_of() {
    case $1 in
    *-softmmu) echo "qemu-system-${1%-softmmu}" ;;
    *) echo "qemu-$1" ;;
    esac
}

configured_name() {
    case $1 in
    *-softmmu) echo "$1" ;;
    *) echo "$1-linux-user" ;;
    esac
}

FIRMWARE=(/usr/share/{qemu,seabios,qemu-firmware,ipxe/qemu,seavgabios} /usr/lib/ipxe/qemu)

# Configures for the targets wanted and those configured before.
configure() {
    local args t list names=() compiler key dir
    compiler=$(cc --version | head -n 1)
    args=(--python="$PYTHON" --disable-docs --disable-download --disable-install-blobs
        --disable-tools)
    if [ "$KIND" = system ]; then
        # Where packages of Debian, and of others, have what machines begin with
        args+=(--firmwarepath="$(IFS=:; echo "${FIRMWARE[*]}")")
    else
        args+=(--disable-system)
    fi
    [ "$VARIANT" = dev ] || args+=(--disable-debug-info)
    case $VARIANT in patched|dev) args+=("--with-cannoli=$ROOT/include") ;; esac
    # Another compiler means from scratch; other options or another configure
    # script, to run it again.
    if [ -d "$OBJ" ] && [ "$(cat "$OBJ/.cannoli-compiler" 2>/dev/null)" != "$compiler" ]; then
        rm -rf "$OBJ"
    fi
    mkdir -p "$OBJ"
    echo "$compiler" >"$OBJ/.cannoli-compiler"
    list=$(sed -n 's/^targets //p' "$OBJ/.cannoli-key" 2>/dev/null)
    for t in "${WANTED[@]}"; do
        case " $list " in *" $t "*) ;; *) list="${list:+$list }$t" ;; esac
    done
    key="targets $list
${args[*]} $SRC ${MESON_ENV[*]-}
$(cd "$SRC" && sha256 configure scripts/meson-buildoptions.sh meson_options.txt)"
    if [ "$(cat "$OBJ/.cannoli-key" 2>/dev/null)" != "$key" ] || [ ! -e "$OBJ/build.ninja" ]; then
        say "configuring for $list"
        rm -f "$OBJ/.cannoli-key"
        for t in $list; do names+=("$(configured_name "$t")"); done
        (cd "$OBJ" && run "$WORK/log/configure-$VARIANT.log" "configuring QEMU" in_env \
            "$SRC/configure" "${args[@]}" --target-list="$(IFS=,; echo "${names[*]}")") || exit 1
        # a later ninja, without our environment, finds meson as well
        for dir in "$OBJ"/pyvenv/lib/python3*/site-packages; do
            [ ! -d "$dir" ] || [ ${#MESON_ENV[@]} = 0 ] ||
                echo "${MESON_ENV[1]#PYTHONPATH=}" >"$dir/cannoli-meson.pth"
        done
        echo "$key" >"$OBJ/.cannoli-key"
    fi
}

# Builds the programs wanted and puts them in place.
compile() {
    local goals=() t p out name
    for t in "${WANTED[@]}"; do goals+=("$(program_of "$t")"); done
    [ -z "$PLUGINS" ] || goals+=(tests/tcg/plugins/libmem.so contrib/plugins/libexeclog.so)
    say "compiling: ${goals[*]}"
    run "$WORK/log/ninja-$VARIANT.log" "compiling QEMU" in_env \
        ninja -C "$OBJ" -j "$JOBS" "${goals[@]}"
    for t in "${WANTED[@]}"; do
        name=$(program_of "$t")
        out=$OUT/$name
        if [ "$VARIANT" = dev ]; then
            # one ninja is the whole cycle
            ln -sf "$OBJ/$name" "$out" || exit 1
            continue
        fi
        cmp -s "$OBJ/$name" "$out" && continue
        # a new file: the old one may be running
        cp "$OBJ/$name" "$out.new" && "$out.new" --version >/dev/null &&
            mv "$out.new" "$out" || die "$name cannot be put into $OUT"
    done
    if [ -n "$PLUGINS" ]; then
        mkdir -p "$WORK/plugins"
        for p in tests/tcg/plugins/libmem.so contrib/plugins/libexeclog.so; do
            cp "$OBJ/$p" "$WORK/plugins/" || die "cannot copy $p"
        done
        # for those of ours
        cp "$SRC/include/qemu/qemu-plugin.h" "$WORK/plugins/" || die "cannot copy qemu-plugin.h"
    fi
}

# What the programs depend on, so that an unchanged build is recognised at once.
fingerprint() {
    {
        cat "$SRC/.cannoli-key" "$OBJ/.cannoli-compiler"
        sed 1d "$OBJ/.cannoli-key"
        sha256 "$ROOT"/include/cannoli/*.h
    } | sha256
}

up_to_date() {
    local t
    [ "$VARIANT" != dev ] && [ -z "$TREE" ] && [ -e "$BUILT" ] || return 1
    for t in "${WANTED[@]}"; do
        [ -x "$OUT/$(program_of "$t")" ] && grep -qx "$t $1" "$BUILT" || return 1
    done
    [ -z "$PLUGINS" ] || [ -e "$WORK/plugins/qemu-plugin.h" ]
}

# Builds the targets of one kind: user, system.  System emulators consist of a
# thousand objects more, so they have an object folder of their own: whoever
# adds one kind does not rebuild the other.
build_kind() {
    local t print
    KIND=$1 OBJ=$2
    shift 2
    WANTED=("$@")
    configure
    [ -z "$CONFIGURE_ONLY" ] || return 0
    print=$(fingerprint)
    if up_to_date "$print"; then
        say "up to date: ${WANTED[*]}"
        return
    fi
    compile
    touch "$BUILT"
    for t in "${WANTED[@]}"; do
        sed -i "/^$t /d" "$BUILT"
        echo "$t $print" >>"$BUILT"
    done
    say "built in $OUT: ${WANTED[*]}"
}

check_tools
get_source
if [ -n "$UPDATE" ]; then
    update_patch
    exit 0
fi
make_tree
if [ "${WANTED[*]}" = all ]; then
    mapfile -t WANTED < <(cd "$SRC/configs/targets" && printf '%s\n' ./*-linux-user.mak |
        sed 's,^\./,,; s,-linux-user\.mak$,,')
fi
USER_TARGETS=() SYSTEM_TARGETS=()
for t in "${WANTED[@]}"; do
    [ -e "$SRC/configs/targets/$(configured_name "$t").mak" ] || usage_error "QEMU has no target '$t'"
    case $t in
    *-softmmu) SYSTEM_TARGETS+=("$t") ;;
    *) USER_TARGETS+=("$t") ;;
    esac
done
make_meson
[ ${#USER_TARGETS[@]} = 0 ] || build_kind user "$OBJ" "${USER_TARGETS[@]}"
[ ${#SYSTEM_TARGETS[@]} = 0 ] || build_kind system "$OBJ-system" "${SYSTEM_TARGETS[@]}"
