# SPDX-License-Identifier: MIT
# Makes calls fail, for tests of error handling; sourced, not run.
cc -D_GNU_SOURCE -shared -fPIC -o failing.so "$SRC/tests/cli/failing.c" -ldl ||
    fail "failing.c cannot be built"
# A sanitizer's run-time library must be preloaded first.
failing_preload=$(ldd "$BIN/tracedump" | sed -n 's/.*=> \(.*lib[at]san[^ ]*\) .*/\1:/p' | head -1)$PWD/failing.so

# failing CALLS PATTERN COMMAND...: see failing.c
failing() {
    env FAILING_CALLS="$1" FAILING_FILE="$2" LD_PRELOAD="$failing_preload" "${@:3}"
}
