#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The whole test run of a fresh machine: set-up; the ordinary build's tests; units, damaged
# and made-up input, the pipe and replay under the address and undefined behaviour
# sanitizers; pipe and replay under the thread sanitizer; units in a build by clang.
#
# An ordinary run takes what fits into --time.  Three targets beside arm, and of all tests a
# sample, are chosen by the commit's hash, so that in time all of them run.  The last lines
# say which tests took longest, what was left out and why, and the sum.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Processor seconds that a build of the programs takes where tests/costs was written.
REFERENCE=60

help() {
    cat <<EOF
Usage: scripts/test.sh [OPTION]...
Set everything up and run the tests: a sample of them in some twenty minutes.

      --full            all tests, for all targets, with more steps and random programs:
                        more than an hour
      --seed TEXT       the sample that this text chooses (default: the commit's hash)
  -t, --targets LIST    the targets of the sample, separated by commas (default: arm and
                        one of each tier of scripts/targets, as the seed chooses)
      --time MINUTES    the run may take so long, set-up included (default: 18)
      --seconds N       the sample takes N seconds of processor time by tests/costs,
                        however long that is here (default: what fits into --time)
      --dry-run         say what would be set up and which tests would run, if the build
                        folders are there
  -s, --source PATH     QEMU 10.0.x as a tarball or folder (default: Debian's)
  -j, --jobs N          jobs at once (default: number of processors)
      --werror          compiler warnings are errors
      --no-apt          install no packages
  -h, --help            show this help
EOF
}

JOBS=$(nproc) SETUP=() FULL="" SEED="" TARGETS="" TIME=18 BUDGET="" DRY=""
while [ $# -gt 0 ]; do
    case $1 in
    --full) FULL=1 ;;
    --seed) need_arg "$1" "$@"; SEED=$2; shift ;;
    -t|--targets) need_arg "$1" "$@"; TARGETS=$2; shift ;;
    --time) need_arg "$1" "$@"; TIME=$2; shift ;;
    --seconds) need_arg "$1" "$@"; BUDGET=$2; shift ;;
    --dry-run) DRY=1 ;;
    -s|--source) need_arg "$1" "$@"; SETUP+=(--source "$2"); shift ;;
    -j|--jobs) need_arg "$1" "$@"; JOBS=$2; shift ;;
    --werror) SETUP+=(--werror) ;;
    --no-apt) SETUP+=(--no-apt) ;;
    -h|--help) help; exit 0 ;;
    *) usage_error "unknown option '$1'" ;;
    esac
    shift
done
case $JOBS in ''|*[!0-9]*|0) usage_error "not a number of jobs: '$JOBS'" ;; esac
case $TIME in ''|*[!0-9]*) usage_error "not a number of minutes: '$TIME'" ;; esac
case $BUDGET in *[!0-9]*) usage_error "not a number of seconds: '$BUDGET'" ;; esac
for target in ${TARGETS//,/ }; do
    tested_targets | grep -qx "$target" || usage_error "the tests cover no target '$target'"
done

cd "$ROOT" || exit 1
if [ -z "$SEED" ]; then
    SEED=$(git rev-parse HEAD 2>/dev/null) ||
        SEED=$(find . -path './.git' -prune -o -path './build*' -prune -o -type f -print0 |
            sort -z | xargs -0 sha256sum | sha256)
fi
LEFT_OUT=()
given=""
[ ${#SETUP[@]} = 0 ] || given=$(printf ' %q' "${SETUP[@]}")
if [ -n "$FULL" ]; then
    SETUP+=(--full)
else
    [ -n "$TARGETS" ] || TARGETS=$({
        echo arm
        tested_targets 1 | grep -vx arm | sample "$SEED" 1
        tested_targets 2 | sample "$SEED" 1
        tested_targets system | sample "$SEED" 1
    } | paste -sd,)
    SETUP+=(--targets "$TARGETS")
    say "targets: $TARGETS"
    LEFT_OUT+=(--left-out "targets $(tested_targets | grep -vxF "${TARGETS//,/$'\n'}" | paste -sd' '): not in this sample")
fi
say "seed: $SEED"

if [ -n "$DRY" ]; then
    say "set-up: scripts/setup.sh --tests --presets asan,tsan,clang --jobs $JOBS ${SETUP[*]}"
else
    scripts/setup.sh --tests --presets asan,tsan,clang --jobs "$JOBS" "${SETUP[@]}" || {
        echo "0 passed, 1 failed"
        exit 1
    }
fi

ASAN='^(unit|fuzz|hostile|pipe|replay)$'
if [ -n "$FULL" ]; then
    # Of the other uses of the programs, which the sanitizers hardly hit, a sample.
    parts=(build "build-asan:$ASAN" 'build-asan:^cli$:60' 'build-tsan:^(pipe|replay)$'
        'build-clang:^unit$')
    again="scripts/test.sh --full --seed $SEED$given"
else
    if [ -z "$BUDGET" ]; then
        measured=$(cat build/log/build-seconds 2>/dev/null || echo $REFERENCE)
        # a tenth is lost where the last tests of a build folder do not use all processors
        BUDGET=$(((TIME * 60 - SECONDS) * JOBS * REFERENCE * 9 / 10 / measured))
        [ "$BUDGET" -ge 300 ] || BUDGET=300
    fi
    # part SHARE: percent of the budget
    part() { echo $((BUDGET * $1 / 100)); }
    parts=("build:^lint\$"
        "build:^(unit|fuzz|hostile|pipe|replay|cli|once|patch|scripts)\$:$(part 36)"
        "build:^oracle\$:$(part 25)"
        "build-asan:$ASAN:$(part 19)" "build-asan:^cli\$:$(part 4)"
        "build-tsan:^(pipe|replay)\$:$(part 13)" "build-clang:^unit\$:$(part 3)")
    again="scripts/test.sh --seed $SEED --targets $TARGETS --seconds $BUDGET$given"
fi
[ -z "$DRY" ] || say "again: $again"
while read -r line; do
    LEFT_OUT+=(--left-out "$line")
done < <(cat build/log/left-out 2>/dev/null)
exec tests/run --jobs "$JOBS" --sample "$SEED" ${DRY:+--list} "${LEFT_OUT[@]}" --again "$again" \
    "${parts[@]}"
