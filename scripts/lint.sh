#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Reads the tree: C as clang-format writes it, shell scripts by shellcheck, Python by
# flake8, which folder includes from which (tests/structure), manual pages by mandoc.
# A check whose program is missing is left out; the status is 77 if no other was made.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Another version formats otherwise.
CLANG_FORMAT=19
CHECKS=(format shell python structure man)

help() {
    cat <<EOF
Usage: scripts/lint.sh [--fix] [CHECK]...
Check the sources for form (default: ${CHECKS[*]}).

      --fix             write C files as clang-format wants them
  -h, --help            show this help
EOF
}

FIX="" WANTED=()
while [ $# -gt 0 ]; do
    case $1 in
    --fix) FIX=1 ;;
    -h|--help) help; exit 0 ;;
    -*) usage_error "unknown option '$1'" ;;
    *)
        case " ${CHECKS[*]} " in *" $1 "*) ;; *) usage_error "no check '$1'" ;; esac
        WANTED+=("$1")
        ;;
    esac
    shift
done
[ ${#WANTED[@]} -gt 0 ] || WANTED=("${CHECKS[@]}")
cd "$ROOT" || exit 1

# sources PATTERN...: files of the tree whose names fit, one a line
sources() {
    local pattern args=()
    for pattern in "$@"; do args+=(-o -name "$pattern"); done
    find . -name .git -prune -o -path './build*' -prune -o -type f \( "${args[@]:1}" \) -print |
        cut -c3- | sort
}

# Files without an ending that begin with #! and the name of the interpreter
scripts() {
    sources '*' | grep -vE '\.[a-z0-9]+$' | xargs -d '\n' grep -lEIm 1 "^#!.*/(env )?$1" |
        while read -r file; do head -n 1 "$file" | grep -qE "^#!.*/(env )?$1" && echo "$file"; done
}

# need PROGRAM PACKAGE
need() {
    command -v "$1" >/dev/null && return
    say "$check: no $1 (Debian: $2)"
    return 77
}

check_format() {
    local program=clang-format-$CLANG_FORMAT files
    command -v $program >/dev/null || program=clang-format
    case $($program --version 2>/dev/null) in
    *" $CLANG_FORMAT."*) ;;
    *) need clang-format-$CLANG_FORMAT clang-format-$CLANG_FORMAT || return ;;
    esac
    mapfile -t files < <(sources '*.c' '*.h')
    if [ -n "$FIX" ]; then
        printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 20 $program -i
        return
    fi
    # one line a file, and how to mend it
    printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 20 $program --dry-run -Werror 2>&1 |
        sed -n 's/^\([^:]*\):\([0-9]*\):.*error: .*/\1 \2/p' |
        awk '!seen[$1]++ { print $1 ":" $2 ": not as clang-format writes it (scripts/lint.sh --fix)" }' |
        complain
}

check_shell() {
    local files
    need shellcheck shellcheck || return
    mapfile -t files < <(sources '*.sh' '*.bash'; scripts bash)
    printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 10 shellcheck --severity=warning
}

check_python() {
    local files
    need flake8 flake8 || return
    mapfile -t files < <(sources '*.py'; scripts python3)
    flake8 "${files[@]}"
}

check_structure() {
    local name status=0
    # circles and exports read what is built: they are tests
    for name in includes words; do
        python3 "tests/structure/$name.py" "$ROOT" || status=1
    done
    return $status
}

check_man() {
    need mandoc mandoc || return
    # a page has no date of its own
    mandoc -T lint -W warning man/*.[1-9] | grep -v 'missing date' | complain
}

# Shows what comes on standard input and fails if anything does.
complain() { ! grep .; }

done="" failed=0
for check in "${WANTED[@]}"; do
    "check_$check"
    case $? in
    0) done=1 ;;
    77) ;;
    *)
        say "$check: see above"
        failed=1
        ;;
    esac
done
[ $failed = 0 ] || exit 1
[ -n "$done" ] || exit 77
