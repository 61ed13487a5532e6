# SPDX-License-Identifier: MIT
# Functions that the tests of tracedump share; sourced, not run.
set -u
export NO_COLOR=
failed=0

fail() {
    echo "FAIL: $*" >&2
    failed=1
}

# need COMMAND...: skips the test if one is missing
need() {
    local what
    for what in "$@"; do
        command -v "$what" >/dev/null && continue
        echo "needs $what"
        [ -z "${CANNOLI_EXPECT_QEMU:-}" ] && exit 77
        exit 1
    done
}

# run STATUS COMMAND...: stdout and stderr go to files of these names; the
# command must end with STATUS.
run() {
    local want=$1 got
    shift
    "$@" >stdout 2>stderr
    got=$?
    [ "$got" -eq "$want" ] || fail "'$*' ended with $got, not $want: $(head -3 stderr)"
}

# The last command wrote exactly one line to stderr.
one_line() {
    [ "$(wc -l <stderr)" -eq 1 ] || fail "not one line on stderr for $*: $(head -5 stderr)"
}

silent() {
    [ ! -s stderr ] || fail "something on stderr for $*: $(head -5 stderr)"
}

same() {
    cmp "$1" "$2" || {
        fail "$3"
        diff "$1" "$2" | head -8 >&2
    }
}

# golden NAME: stdout must equal tests/cli/expected/NAME.  With
# UPDATE_EXPECTED=1 the file is written instead; review the difference before you
# commit it.
golden() {
    local file=$SRC/tests/cli/expected/$1
    if [ -n "${UPDATE_EXPECTED:-}" ]; then
        mkdir -p "${file%/*}"
        cp stdout "$file"
    fi
    same "$file" stdout "output is not that of expected/$1"
}

# is_usage TOOL ARGUMENT...: a usage error, reported on one line
is_usage() {
    run 2 "$BIN/$1" "${@:2}"
    one_line "$@"
    grep -q "^$1: .*Try '$1 --help'\.$" stderr || fail "$*: $(cat stderr)"
    [ ! -s stdout ] || fail "$*: something on stdout"
}

# help_and_man TOOL COUNT: --help and the manual page know the same options, at least COUNT;
# --help fits a terminal
help_and_man() {
    "$BIN/$1" --help | awk 'length > 80 { print; bad = 1 } END { exit bad }' ||
        fail "$1 --help: more than 80 columns"
    "$BIN/$1" --help | grep -oE '(^  -., |^      )--[a-z-]+' | grep -oE -- '--[a-z-]+' |
        sort >in_help
    sed 's/\\-/-/g' "$SRC/man/$1.1" | grep -E '^\.B[IR]? ' |
        grep -oE -- '--[a-z][a-z-]*' | sort -u >in_man
    for option in $(cat in_help); do
        grep -qx -- "$option" in_man || fail "$option is not in the man page"
    done
    for option in $(cat in_man); do
        grep -qx -- "$option" in_help || fail "$option is in the man page only"
    done
    [ "$(wc -l <in_help)" -ge "$2" ] || fail "options not found in --help"
}

finish() {
    exit "$failed"
}

# random_trace SEED: makes t.ctr; with an odd seed of instructions and accesses, with an
# even one also of values, registers and events.
random_trace() {
    local maker=random
    [ $(($1 % 2)) -eq 1 ] || maker=random-all
    "$TOOLS/mktrace" $maker "$1" 12 80 t.ctr expect.json || exit 1
}
