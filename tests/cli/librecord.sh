# SPDX-License-Identifier: MIT
# Functions that the tests of cannoli-record share; sourced, not run.  The guest is a
# script for the fake QEMU (tests/mempipe/fakeqemu.c).
. "$SRC/tests/cli/libtracedump.sh"
record=$BIN/cannoli-record
dump=$BIN/tracedump
fake=$BUILD/tests/mempipe/fake
unset CANNOLI_QEMU_DIR # tests that need it set it

# guest NAME LINE...: a program for the fake QEMU
guest() {
    local name=$1
    shift
    printf '%s\n' "$@" >"$name"
}

# rec STATUS [OPTION...] -- COMMAND...: as `run', with the fake QEMU
rec() {
    local want=$1
    shift
    run "$want" "$record" --qemu-dir "$fake" "$@"
}

# info FILE: what tracedump reports about a trace, as lines "key value"
info() {
    "$dump" --info --json "$1" >info.json 2>info.err
    info_status=$?
    python3 - info.json <<'END'
import json, sys
i = json.load(open(sys.argv[1]))
for key in ("instructions", "loads", "stores"):
    print(key, i[key])
print("threads", len(i["threads"]))
print("processes", len(i["processes"]))
print("incomplete", sum(1 for t in i["threads"] if t["incomplete"]))
END
}

# counts FILE INSNS LOADS STORES THREADS PROCESSES INCOMPLETE
counts() {
    local file=$1
    shift
    zstd -tq "$file" || fail "$file: zstd -t refuses it"
    printf 'instructions %s\nloads %s\nstores %s\nthreads %s\nprocesses %s\nincomplete %s\n' \
        "$@" >want
    info "$file" >got
    # tracedump's status shows that the end of a thread may be missing
    [ "$info_status" -eq $(($6 ? 3 : 0)) ] || fail "$file: tracedump --info: $info_status $(cat info.err)"
    cmp -s want got || fail "$file: $(diff want got | grep '^[<>]' | tr '\n' ' ')"
}

# Whether a process has ended; a zombie has.
gone() {
    case $(ps -o stat= -p "$1" 2>/dev/null) in
    ''|Z*) return 0 ;;
    esac
    return 1
}

# eventually COMMAND...: repeats it for a while until it succeeds
eventually() {
    local i
    for i in $(seq 3000); do
        "$@" && return 0
        sleep 0.1
    done
    fail "did not become true: $*"
    return 1
}

# start [OPTION... --] COMMAND...: records into a.ctr in the background, until the
# guest has made the file `ready'; $pid and $child are the recorder and the guest.
start() {
    rm -f ready
    # A shell ignores SIGINT in background commands.
    env --default-signal=INT "$record" --qemu-dir "$fake" -o a.ctr "$@" 2>stderr &
    pid=$!
    eventually test -e ready
    child=$(pgrep -P "$pid" -x qemu-arm)
}

# ended STATUS: the recorder ends with it, and the guest is gone
ended() {
    wait "$pid"
    local got=$?
    [ "$got" -eq "$1" ] || fail "status $got, not $1: $(cat stderr)"
    gone "$child" || fail "the guest still runs"
}

# need_qemu TARGET CC: for tests with the real QEMU: sets $qemu_dir and $cc, or ends the
# test as skipped.
need_qemu() {
    local what
    qemu_dir=${CANNOLI_QEMU_DIR:-$BUILD/libexec/cannoli}
    cc=$2
    for what in "$qemu_dir/qemu-$1" "$(command -v "$cc")"; do
        if [ ! -x "$what" ]; then
            echo "needs a patched qemu-$1 in '$qemu_dir' and $cc"
            # a machine that must have them sets this
            [ -z "${CANNOLI_EXPECT_QEMU:-}" ] && exit 77
            exit 1
        fi
    done
}
need_qemu_arm() {
    need_qemu arm arm-linux-gnueabi-gcc
}
