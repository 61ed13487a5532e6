# SPDX-License-Identifier: MIT
# Functions that the tests of tools/symbols share; sourced, not run.
. "$SRC/tests/cli/libtracedump.sh"
symdump=$TOOLS/symdump
sources=$SRC/tests/cli/symfile

# shapes OUTPUT CXX [FLAG...]: builds the C++ program; from relative paths, so that file
# names have to be made absolute
shapes() {
    local output=$1 cxx=$2
    shift 2
    mkdir -p src
    cp "$sources"/*.cpp "$sources"/*.h src/
    "$cxx" -std=c++17 "$@" -o "$output" src/main.cpp ./src/../src/shapes.cpp 2>cxx.err ||
        fail "$cxx $*: $(head -3 cxx.err)"
}
