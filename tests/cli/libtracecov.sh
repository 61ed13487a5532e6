# SPDX-License-Identifier: MIT
# Functions that the tests of tracecov share; sourced, not run.
. "$SRC/tests/cli/librecord.sh"
cov=$BIN/tracecov

# The folder with the libraries for a dynamic program of $cc.
sysroot() {
    local lib
    lib=$($cc -print-file-name=libc.so.6)
    dirname "$(dirname "$(realpath "$lib")")"
}

# rec_arm OUTPUT [OPTION...] -- COMMAND...: a recording by the real QEMU
rec_arm() {
    local out=$1
    shift
    "$record" -q --qemu-dir "$qemu_dir" -o "$out" "$@" >guest.out 2>guest.err ||
        fail "recording $out: $(cat guest.err)"
}

# of FILE EXPRESSION: evaluates it in Python, with the JSON in FILE as j
of() {
    /usr/bin/python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
def count(function, source=""):
    return sum(f["count"] for s in j["sources"] for f in s["functions"]
               if f["name"] == function and source in s["path"])
print(eval(sys.argv[2]))' "$1" "$2"
}

# is FILE EXPRESSION VALUE
is() {
    local got
    got=$(of "$1" "$2")
    [ "$got" = "$3" ] || fail "$1: $2 is $got, not $3"
}
