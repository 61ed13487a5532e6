#!/bin/bash
# SPDX-License-Identifier: MIT
# What the scripts say when they are called wrongly, and what lib.sh takes from
# either form of apt configuration.
set -u
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TMP" || exit 1
checks=0
fail() { echo "FAILED: $*"; exit 1; }

# usage SCRIPT PATTERN ARGUMENTS...: status 2, what is wrong, where to read on
usage() {
    local script=$1 pattern=$2
    shift 2
    "$SRC/scripts/$script" "$@" >out 2>err </dev/null
    [ $? = 2 ] || fail "$script $*: not status 2"
    [ ! -s out ] && [ "$(wc -l <err)" = 2 ] || { cat out err; fail "$script $*: not two lines"; }
    grep -qE "^$script: $pattern\$" err || { cat err; fail "$script $*: no '$pattern'"; }
    grep -qx "Try '$script --help'" err || fail "$script $*: no hint"
    checks=$((checks + 1))
}
for script in setup.sh demo.sh test.sh qemu.sh sysroot.sh lint.sh; do
    usage $script "unknown option '--frob'" --frob
    "$SRC/scripts/$script" --help >out 2>err && [ -s out ] && [ ! -s err ] ||
        fail "$script --help"
    checks=$((checks + 1))
done
usage setup.sh "not a number of jobs: 'x'" --jobs x
usage setup.sh "--full needs --tests" --full
usage setup.sh "--presets needs --tests" --presets asan
usage test.sh "the tests cover no target 'vax'" --targets m68k,vax
usage test.sh "not a number of minutes: 'x'" --time x
usage test.sh "not a number of seconds: 'x'" --seconds x

# The line that repeats a run has the options that the run was given.
for mode in --full "--targets arm --seconds 1"; do
    # shellcheck disable=SC2086
    "$SRC/scripts/test.sh" --dry-run --seed text $mode --werror --source 'a b' --no-apt >out 2>err
    grep -qE -- '^test.sh: again: scripts/test.sh .*--seed text.* --werror --source a\\ b --no-apt$' err ||
        { cat err; fail "test.sh $mode: another line to repeat it"; }
    checks=$((checks + 1))
done

# scripts/targets and tests/guests/table.py describe the same targets.
. "$SRC/scripts/lib.sh"
for tier in 1 2; do
    [ "$(tested_targets $tier | sort)" = "$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SRC/tests/guests \
        python3 -c "import table
print('\n'.join(sorted({t.qemu for t in table.TARGETS.values() if t.tier == $tier})))")" ] ||
        fail "scripts/targets and tests/guests/table.py name other targets"
    checks=$((checks + 1))
done
[ "$(tested_targets system | sort)" = "$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SRC/tests/oracle \
    python3 -c "import machines
print('\n'.join(sorted({machines.QEMU.get(t, t) for t in machines.NAMES})))")" ] ||
    fail "scripts/targets and tests/oracle/machines.py name other machines"
checks=$((checks + 1))
# In time every target is in a sample, and the same text gives the same one.
for seed in $(seq 60); do
    tested_targets 2 | sample "$seed" 1
done | sort -u >sampled
[ "$(cat sampled)" = "$(tested_targets 2 | sort)" ] || fail "sampled: $(tr '\n' ' ' <sampled)"
[ "$(tested_targets | sample text 3)" = "$(tested_targets | sample text 3)" ] || fail "another sample"
[ "$(tested_targets | sample text 3 | sort -u | wc -l)" = 3 ] || fail "not three targets"
checks=$((checks + 3))
usage lint.sh "no check 'spelling'" spelling
usage sysroot.sh "no architecture given"
usage sysroot.sh "Debian has no architecture 'vax' to take programs of" -d "$TMP/s" vax

if command -v apt-get >/dev/null; then
    PROG=lib codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    mkdir sources empty
    cat >sources/a.sources <<EOF
# a stanza of its own key
Types: deb
URIs: http://archive.invalid/debian
Suites: $codename $codename-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 text
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://other.invalid/things
Suites: stable-of-theirs
Components: main
EOF
    echo "deb [arch=$(dpkg --print-architecture) signed-by=/k.gpg] http://archive.invalid/sec $codename-security main" \
        >sources/b.list
    # apt cannot reach these hosts: only what it gets to do is looked at
    cat >apt.conf <<EOF
Dir::Etc::sourcelist "$TMP/none.list";
Dir::Etc::sourceparts "$TMP/sources";
Acquire::http::Proxy "http://127.0.0.1:9";
Acquire::Retries::Delay "false";
EOF
    (APT_CONFIG=$TMP/apt.conf apt_private "$TMP/apt" trixie amd64) 2>err && fail "apt reached nowhere"
    grep -q '^lib: apt cannot fetch the lists of trixie (amd64); is there a network?' err ||
        { cat err; fail "no word of the network"; }
    cat >expected <<EOF
# made from the system's own apt configuration

Types: deb
URIs: http://archive.invalid/debian/
Suites: trixie-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 text
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://archive.invalid/debian/
Suites: trixie
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 text
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://archive.invalid/sec/
Suites: trixie-security
Components: main
Signed-By: /k.gpg
EOF
    diff expected apt/apt.sources.new || fail "sources taken over wrongly"
    checks=$((checks + 1))
    rm -rf apt sources/*
    echo 'deb http://other.invalid/things theirs main' >sources/c.list
    (APT_CONFIG=$TMP/apt.conf apt_private "$TMP/apt" trixie amd64) 2>err && fail "no archive, no error"
    grep -qx 'lib: the apt configuration names no Debian archive to take trixie from' err ||
        { cat err; fail "no word of the missing archive"; }
    checks=$((checks + 1))
fi
echo "$checks passed, 0 failed"
