#!/bin/bash
# SPDX-License-Identifier: MIT
# `cmake --install` puts everything under a prefix in the shape it has in the
# build folder, and it works from there, the build folder out of sight: the
# recorder finds its QEMUs, the library its users.
set -u
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

cmake --install "$BUILD" --prefix "$TMP/prefix" >"$TMP/log" 2>&1 ||
    { cat "$TMP/log"; fail "cmake --install"; }
cd "$TMP" || exit 1
for program in cannoli-record tracedump; do
    [ -x prefix/bin/$program ] || fail "no bin/$program"
    prefix/bin/$program --version >out 2>err || { cat err; fail "$program --version"; }
    grep -q "^$program" out && [ ! -s err ] || fail "$program --version says $(cat out err)"
done
for program in cannoli-record cannoli-expand cannoli-ctl tracedump tracesym tracecov; do
    for shell in bash zsh fish; do
        case $shell in
        bash) file=bash-completion/completions/$program ;;
        zsh) file=zsh/site-functions/_$program ;;
        fish) file=fish/vendor_completions.d/$program.fish ;;
        esac
        "prefix/bin/$program" --completion=$shell >out
        cmp out "prefix/share/$file" || fail "no completion of $program for $shell"
    done
done
[ "$(prefix/lib/cannoli/cannoli-locate prefix/bin/tracedump functions nosuch code tracedump!0x1 | tail -n 1)" = end ] ||
    fail "lib/cannoli/cannoli-locate does not work"
for page in "$SRC"/man/*.[1-8]; do
    section=${page##*.}
    cmp "$page" "prefix/share/man/man$section/${page##*/}" || fail "no man page ${page##*/}"
done
for program in "$BUILD"/libexec/cannoli/qemu-*; do
    [ -e "$program" ] || break
    cmp "$program" "prefix/libexec/cannoli/${program##*/}" || fail "no ${program##*/}"
done
[ -z "$(grep -rl "$SRC" prefix/lib/*/pkgconfig prefix/lib/pkgconfig prefix/include 2>/dev/null)" ] ||
    fail "an installed file names the source folder"

# The examples, built as their comments say, and run: the library is found by itself.
unset LD_LIBRARY_PATH
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(find "$TMP/prefix" -name pkgconfig -type d)
[ -n "$PKG_CONFIG_PATH" ] || fail "no pkg-config file"
cp -r "$SRC/examples" commands
cd commands || exit 1
for source in *.c; do
    command=$(sed -n '/^ \* Build: /{:next;/\\$/{N;b next};s/\n \*/\n/g;s/^ \* Build: //;p}' \
        "$source")
    [[ $command == 'cc '*"$source"* ]] || fail "$source says no command: $command"
    bash -c "$command" >"$TMP/log" 2>&1 || { cat "$TMP/log"; fail "$source: $command"; }
done
sed -n '/^\.SH EXAMPLES/,/^\.EE/p' "$SRC/man/libctr.3" | sed '1,/^\.EX/d; /^\.EE/d; s/\\-/-/g; s/\\e/\\/g' >app.c
command=$(sed -n 's/\\-/-/g; s/^\.B \(cc -o app .*\)/\1/p' "$SRC/man/libctr.3")
[ -n "$command" ] || fail "libctr(3) says no command"
bash -c "$command" >"$TMP/log" 2>&1 || { cat "$TMP/log"; fail "libctr(3): $command"; }
"$BUILD/tests/cli/mktrace" sample sample.ctr || fail "mktrace"
for program in cursor_opens replay_profile app; do
    ./$program sample.ctr >out 2>&1 || { cat out; fail "$program, built by its command"; }
    ldd $program | grep -q "libctr.so.* => $TMP/prefix/" || fail "$program: $(ldd $program)"
done
[ "$(./app sample.ctr)" = "$("$TMP/prefix/bin/tracedump" --summary sample.ctr |
    awk '$NF == "total" { print $1 }')" ] || fail "app: $(./app sample.ctr)"
"$BUILD/tests/cli/mktrace" key key.ctr 1 || fail "mktrace"
./memory_at key.ctr 9 4000 0x20000 4096 >out 2>&1 && [ "$(wc -l <out)" = 256 ] &&
    grep -q '^0x00020000 .*[0-9a-f][0-9a-f]' out || { head -3 out; fail "memory_at"; }
# A package for the system must have no rpath.
DESTDIR=$TMP/system cmake -D CMAKE_INSTALL_PREFIX=/usr \
    -P "$BUILD/tracefmt/cmake_install.cmake" >"$TMP/log" 2>&1 ||
    { cat "$TMP/log"; fail "an installation to /usr"; }
pc=$(find "$TMP/system/usr" -name libctr.pc)
grep -q '^Libs: .*-lctr' "$pc" && ! grep rpath "$pc" || fail "libctr.pc of /usr: $(cat "$pc")"
cd "$TMP" || exit 1
generator=()
! command -v ninja >/dev/null || generator=(-G Ninja)
{ cmake -S "$SRC/examples" -B example "${generator[@]}" && cmake --build example; } >"$TMP/log" 2>&1 ||
    { cat "$TMP/log"; fail "examples against the installed library"; }

if [ -x prefix/libexec/cannoli/qemu-arm ] && command -v arm-linux-gnueabi-gcc >/dev/null; then
    echo 'int main(void) { return 7; }' >app.c
    arm-linux-gnueabi-gcc -static -o app app.c || exit 1
    env -u CANNOLI_QEMU_DIR prefix/bin/cannoli-record -q --start-at _start -o run.ctr -- ./app
    status=$?
    [ $status = 7 ] || fail "the installed recorder ends with $status, not with its guest's 7"
    prefix/bin/tracedump --count 5 run.ctr >out || fail "the installed tracedump"
    [ "$(wc -l <out)" -ge 5 ] || fail "the trace is short"
fi
echo "installed and used: $(find prefix -type f | wc -l) files"
