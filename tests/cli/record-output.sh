# SPDX-License-Identifier: MIT
# The output file: failures that only fsync or close report, disks that become full at any
# moment, who may read the file, and who owns it.
. "$SRC/tests/cli/librecord.sh"
. "$SRC/tests/cli/libfailing.sh"
umask 022
guest ok 'blocks 15' 'print hello'
guest noisy
for i in $(seq 400); do
    echo "forks 1 15"
    echo "threads 3 1500"
done >noisy

# finished FILE WHAT: the file has an end
finished() {
    zstd -tq "$1" 2>err || fail "$2: zstd -t: $(cat err)"
    "$dump" --info "$1" >info 2>err
    grep -q '^state  *complete, format version [0-9]*, indexed' info ||
        fail "$2: not finished: $(grep '^state' info) $(cat err)"
}

# ---------------------------------------------- errors of fsync and close
for ring in '' --ring=1M; do
    run 125 failing fsync '*/f.ctr' "$record" --qemu-dir "$fake" $ring -o f.ctr -- qemu-arm ok
    one_line "fsync $ring"
    grep -q "cannot write 'f.ctr': Input/output error" stderr || fail "fsync: $(cat stderr)"
    run 125 failing close '*/f.ctr' "$record" --qemu-dir "$fake" $ring -o f.ctr -- qemu-arm ok
    one_line "close $ring"
    grep -q "cannot write 'f.ctr': Disk quota exceeded" stderr || fail "close: $(cat stderr)"
    # the same for standard output
    failing close '*/f.ctr' "$record" --qemu-dir "$fake" $ring -o - -- qemu-arm ok >f.ctr 2>stderr
    got=$?
    [ $got -eq 125 ] || fail "close of standard output: status $got"
    grep -q "cannot write 'standard output': Disk quota exceeded" stderr ||
        fail "close of standard output: $(cat stderr)"
    # a file system without fsync is no error
    for error in 22 30 95 38; do # EINVAL EROFS EOPNOTSUPP ENOSYS
        run 0 failing fsync '*/f.ctr' env FAILING_ERRNO=$error "$record" -q --qemu-dir "$fake" $ring -o f.ctr -- qemu-arm ok
    done
done
finished f.ctr "after fsync"
"$record" -q --qemu-dir "$fake" -o - -- qemu-arm ok 2>stderr | cat >piped.ctr
[ "${PIPESTATUS[0]}" -eq 0 ] || fail "a pipe is synced: $(cat stderr)"
run 0 "$record" -q --qemu-dir "$fake" -o /dev/null -- qemu-arm ok

# ------------------------------------------------------------- disks that are full
# disk HOW SIZE [OPTION...]: records onto a disk of SIZE KiB; within a mount namespace
cat >disk.sh <<'END'
how=$1 size=$2
shift 2
mkdir -p small
mount -t tmpfs -o size="${size}k" none small || exit 77
rm -f full.ctr
case $how in
written) # a file system without fallocate
    export FAILING_CALLS=fallocate FAILING_FILE='*/a.ctr' LD_PRELOAD="$failing_preload" ;;
shared) # another program uses up the space after the trace has begun
    (until [ "$(stat -c %s small/a.ctr 2>/dev/null || echo 0)" -gt 1000 ] || [ -e enough ]; do
         sleep 0.001
     done
     while [ ! -e enough ]; do
         head -c 4096 /dev/zero >>small/other 2>/dev/null || sleep 0.01
     done) &
    other=$! ;;
esac
"$record" --qemu-dir "$fake" -q -j1 "$@" -o small/a.ctr -- qemu-arm noisy 2>stderr
echo $? >status
if [ -n "${other:-}" ]; then
    : >enough
    wait $other
    rm enough
fi
unset LD_PRELOAD
cp small/a.ctr full.ctr
umount small
END
export record fake failing_preload
disk() {
    local what="full disk: $*"
    unshare -rm bash disk.sh "$@" || { fail "$what: $?"; return; }
    [ "$(cat status)" -eq 125 ] || fail "$what: status $(cat status)"
    [ "$(wc -l <stderr)" -eq 1 ] || fail "$what: $(cat stderr)"
    grep -q 'No space left' stderr || fail "$what: $(cat stderr)"
    finished full.ctr "$what"
}
if unshare -rm sh -c 'mkdir -p try && mount -t tmpfs -o size=4k none try' 2>/dev/null; then
    for size in $(seq 4 12 160); do
        disk allocated $size
    done
    for size in $(seq 8 24 160); do
        disk written $size
        disk shared $((3 * size))
        disk allocated $size --ring=1M
    done
else
    echo "no mount namespaces here: full disks were not tried"
fi

# A limit on file sizes, set after the shared memory was made.
guest waits 'ready ready' 'await marks 1'
for i in $(seq 400); do
    echo "forks 1 15"
    echo "threads 3 1500"
done >>waits
for size in $(seq 2000 9000 120000); do
    start -j1 --control -- qemu-arm waits
    prlimit --pid "$pid" --fsize=$size
    "$BIN/cannoli-ctl" -s a.ctr.ctl mark go >/dev/null || fail "limit $size: no mark"
    wait "$pid"
    got=$?
    [ $got -eq 125 ] || fail "limit $size: status $got: $(cat stderr)"
    grep -q 'File too large' stderr || fail "limit $size: $(cat stderr)"
    [ "$(stat -c %s a.ctr)" -le $size ] || fail "limit $size: $(stat -c %s a.ctr) bytes"
    finished a.ctr "limit $size"
done

# ------------------------------------------------------------------- who may read it
mode() {
    [ "$(stat -c %a "$1")" = "$2" ] || fail "$1: mode $(stat -c %a "$1"), not $2"
}
rm -f new.ctr
rec 0 -q -o new.ctr -- qemu-arm ok
mode new.ctr 600
rm new.ctr
(umask 0277; rec 0 -q -o new.ctr -- qemu-arm ok; exit $failed) || failed=1
mode new.ctr 400
rm -f new.ctr
: >old.ctr
chmod 640 old.ctr
rec 0 -q -o old.ctr -- qemu-arm ok
mode old.ctr 640
finished old.ctr "an older file"
guest ringed 'blocks 15' 'ready ready' 'sleep 600000'
start --ring=1M --control -- qemu-arm ringed
mode a.ctr.ctl 600
run 0 "$BIN/cannoli-ctl" -s a.ctr.ctl dump
mode a.ctr.1 600
run 0 "$BIN/cannoli-ctl" -s a.ctr.ctl dump named.ctr
mode named.ctr 600
ln -s nowhere a.ctr.2
run 0 "$BIN/cannoli-ctl" -s a.ctr.ctl dump
[ ! -e nowhere ] && [ -f a.ctr.3 ] || fail "a dump follows a link: $(ls -l)"
kill -TERM "$pid"
ended 143
# a program that never runs leaves no file, and neither does a trace that cannot begin
rec 127 -o none.ctr -- qemu-arm missing
[ ! -e none.ctr ] || fail "an empty file is left"

# ---------------------------------------------------------------------- who owns the file
mkdir links
ln -s ../target.ctr links/own
rec 0 -q -o links/own -- qemu-arm ok
finished target.ctr "through the user's own link"
rm target.ctr
ln -s links/own again
rec 0 -q -o again -- qemu-arm ok # the link's target does not exist
finished target.ctr "through two links"
ln -s links folder
rec 0 -q -o folder/inside.ctr -- qemu-arm ok
finished links/inside.ctr "through a folder's link"
ln -s round round
rec 125 -o round -- qemu-arm ok
one_line "a link to itself"
mkfifo fifo
cat fifo >from.ctr &
rec 0 -q -o fifo -- qemu-arm ok
wait $!
finished from.ctr "through a FIFO"
rec 0 -q -o >(cat >from.ctr) -- qemu-arm ok
eventually finished from.ctr "through /dev/fd"

# Other users: needs root, and a folder that they can reach.
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    other() {
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    }
    open=$(mktemp -d) # not below a folder that is closed to others
    chmod 1777 "$open"
    mkdir "$open/plain" # writable by all, but not sticky
    chmod 777 "$open/plain"
    other mkdir "$open/theirs"
    printf 'precious' >precious
    # refused FILE PATTERN
    refused() {
        run 125 timeout 600 "$record" --qemu-dir "$fake" -o "$1" -- qemu-arm ok # a FIFO waits
        one_line "$1"
        grep -q "^cannoli-record: cannot write '$1': .*$2" stderr || fail "$1: $(cat stderr)"
        [ "$(cat precious)" = precious ] || fail "$1: another file was overwritten"
        rm -f "$1"
    }
    for where in "$open" "$open/plain" "$open/theirs"; do
        other ln -s "$PWD/precious" "$where/link"
        refused "$where/link" 'symbolic link that belongs to another user'
        other ln -s "$PWD/created" "$where/link" # its target does not exist
        refused "$where/link" 'symbolic link that belongs to another user'
        [ ! -e created ] || fail "$where/link: made another user's file"
        ln precious "$where/hard" 2>/dev/null || { cp precious "$where/hard" && ln "$where/hard" "$where/hard2"; }
        refused "$where/hard" 'has another name'
        rm -f "$where/hard2"
    done
    other ln -s "$PWD" "$open/way"
    refused "$open/way/precious" 'a symbolic link on the way'
    printf 'precious' >precious
    other sh -c ": >'$open/file'; chmod 666 '$open/file'"
    refused "$open/file" 'belongs to another user'
    other mkfifo -m 666 "$open/pipe"
    refused "$open/pipe" 'belongs to another user'
    # a user's link to root's file, and root's link for a user
    chmod 755 . 2>/dev/null
    if other test -x "$record" && other test -x "$fake/qemu-arm" && other test -r ok; then
        cp ok "$open/prog"
        other mkdir "$open/mine"
        ln -s "$open/mine/by-root.ctr" "$open/mine/root"
        run 0 other "$record" -q --qemu-dir "$fake" -o "$open/mine/root" -- qemu-arm "$open/prog"
        finished "$open/mine/by-root.ctr" "through root's link"
        ln -s "$open/mine" "$open/tomine" # the owner of the folder is its owner
        run 0 other "$record" -q --qemu-dir "$fake" -o "$open/tomine/x.ctr" -- qemu-arm "$open/prog"
        finished "$open/mine/x.ctr" "through a link of the folder's owner"
    else
        echo "other users cannot run the recorder here: their links were not tried"
    fi
    rm -rf "$open"
else
    echo "not root: files of other users were not tried"
fi
finish
