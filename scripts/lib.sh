# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the scripts of this folder share: messages, and apt used beside the
# system's own set-up.
#
# Sources and programs come from Debian through apt alone, which checks every
# signature.  To reach a suite or an architecture that the system itself does
# not use, apt is given a folder of its own (sources, lists, cache, an empty
# package status), so that nothing of the system changes and an ordinary user
# can do it.  The archive's address and key are taken over from the system's
# configuration as apt itself reads it, in either of its two formats.

PROG=${0##*/}
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { [ -n "${QUIET-}" ] || printf '%s: %s\n' "$PROG" "$*" >&2; }
die() { printf '%s: %s\n' "$PROG" "$*" >&2; exit 1; }
usage_error() {
    printf '%s: %s\n' "$PROG" "$1" >&2
    printf "Try '%s --help'\n" "$PROG" >&2
    exit 2
}

# The value of option $1, which must be followed by one: need_arg --opt "$@"
need_arg() { [ $# -ge 3 ] || usage_error "option '$1' needs a value"; }

# complaint LOG: the log's own last complaint, on one line
complaint() {
    local why
    why=$(grep -aE '^E: |[Ee]rror: |ERROR: |fatal: ' "$1" | head -n 1)
    [ -n "$why" ] || why=$(grep -aE 'FAILED|Error' "$1" | head -n 1)
    [ -n "$why" ] || why=$(tail -n 1 "$1")
    echo "${why:-no message}"
}

# try LOG COMMAND...: the command's output goes to a log
try() {
    local log=$1
    shift
    LC_ALL=C "$@" >"$log" 2>&1 </dev/null
}

# run LOG WHAT COMMAND...: as try; a failure is one line that quotes the log, and the end
run() {
    local log=$1 what=$2
    shift 2
    try "$log" "$@" || die "$what failed: $(complaint "$log") (all of it: $log)"
}

sha256() { sha256sum "$@" | cut -d' ' -f1; }

# tested_targets [TIER]: the targets that the tests cover, one a line
tested_targets() {
    awk -v tier="${1-}" '!/^#/ && (tier == "" || $2 == tier) { print $1 }' "$ROOT/scripts/targets"
}

# target_packages TARGET: what its compilers come in, on one line
target_packages() { awk -v t="$1" '$1 == t { $1 = $2 = $3 = ""; print }' "$ROOT/scripts/targets"; }

# target_architectures TARGET: the Debian architectures whose programs it runs, on one line
target_architectures() {
    awk -v t="$1" '$1 == t && $2 != "system" && $3 != "-" { gsub(",", " ", $3); print $3 }' \
        "$ROOT/scripts/targets"
}

# target_kernel TARGET: of a machine, the Debian architecture and package of its kernel
target_kernel() {
    awk -v t="$1" '$1 == t && $2 == "system" && $3 != "-" { sub(":", " ", $3); print $3 }' \
        "$ROOT/scripts/targets"
}

# sample TEXT NUMBER: of the lines on standard input some that the text chooses
sample() {
    local line
    while read -r line; do
        echo "$(printf '%s %s' "$1" "$line" | sha256sum | cut -d' ' -f1) $line"
    done | sort | head -n "$2" | cut -d' ' -f2-
}

# as_root COMMAND...: for apt-get and dpkg only
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "must be root (or have sudo) for: $*"
    fi
}

# missing_packages PACKAGE...: those that are not installed, on one line
missing_packages() {
    local p out=()
    for p in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null) in
        ?i*) ;;
        *) out+=("$p") ;;
        esac
    done
    echo "${out[*]}"
}

# The Signed-By of entry $2 of an apt sources file $1, as apt numbers them (line
# of a .list file, stanza of a .sources file), in deb822 form, key text included.
apt_signed_by() {
    case $1 in
    *.sources)
        awk -v n="$2" '
            /^[ \t]*$/ { if (inside) { inside = 0 } ; next }
            /^#/ { next }
            { if (!inside) { inside = 1; stanza++ } }
            stanza == n && /^[^ \t]/ { on = tolower($0) ~ /^signed-by[ \t]*:/ }
            stanza == n && on { print }' "$1"
        ;;
    *)
        sed -n "$2{s/^[^[]*\\[\\([^]]*\\)\\].*/\\1/p;}" "$1" | tr ' \t' '\n\n' |
            sed -n 's/^signed-by=/Signed-By: /Ip'
        ;;
    esac
}

# apt_private DIR SUITE ARCH [src]: make (or renew, twice a day) in DIR a set-up
# of apt for one suite and one architecture, with the source packages when
# requested.  Use it with `apt_in DIR ...`.
apt_private() {
    local dir=$1 suite=$2 arch=$3 types=deb${4:+ deb-src} codename entries entry uri release sentry origin new
    local format="\$(REPO_URI)|\$(RELEASE)|\$(SOURCESENTRY)|"
    local written=

    command -v apt-get >/dev/null || die "apt is not here; use --source with a QEMU 10.0 tarball"
    mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/etc" || exit 1
    : >"$dir/status"
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    entries=$(apt-get indextargets --no-release-info --format "$format" \
        "Created-By: Packages" "Component: main" 2>/dev/null | sort -u)
    # The origin is known once the system's lists have been fetched.
    origin=$(apt-get indextargets --format "$format\$(ORIGIN)" \
        "Created-By: Packages" "Component: main" 2>/dev/null | sort -u)

    new=$dir/apt.sources.new
    printf '# made from the system'\''s own apt configuration\n' >"$new"
    while IFS='|' read -r uri release sentry _; do
        case $uri in ''|cdrom:*) continue ;; esac
        entry=$(grep -F "$uri|$release|$sentry|" <<<"$origin" | head -n 1)
        case $entry in ''|*'|'|*'|Debian'|*"\$(ORIGIN)") ;; *) continue ;; esac
        case $release in
        "$codename"|stable|oldstable|testing|unstable|sid) release=$suite ;;
        "$codename-updates"|stable-updates|oldstable-updates) release=$suite-updates ;;
        "$codename-security"|stable-security|oldstable-security) release=$suite-security ;;
        *) continue ;;
        esac
        case $written in *"<$uri $release>"*) continue ;; esac
        written="$written<$uri $release>"
        printf '\nTypes: %s\nURIs: %s\nSuites: %s\nComponents: main\n' "$types" "$uri" "$release"
        apt_signed_by "${sentry%:*}" "${sentry##*:}"
    done <<<"$entries" >>"$new"
    case $written in
    *" $suite>"*) ;;
    *) die "the apt configuration names no Debian archive to take $suite from" ;;
    esac

    # Options of the system that would get in the way are cleared; proxies and
    # the like are kept.
    cat >"$dir/apt.conf" <<EOF
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear APT::Default-Release;
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Update::Error-Mode "any";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "true";
Dir::Etc::sourcelist "$dir/apt.sources";
Dir::Etc::sourceparts "$dir/etc";
Dir::Etc::preferences "$dir/etc/none";
Dir::Etc::preferencesparts "$dir/etc";
Dir::State::status "$dir/status";
Dir::State::extended_states "$dir/extended_states";
Dir::State::Lists "$dir/lists";
Dir::Cache "$dir/cache";
EOF
    if cmp -s "$new" "$dir/apt.sources.made" && [ -e "$dir/updated" ] &&
        [ -z "$(find "$dir/updated" -mmin +720)" ]; then
        rm -f "$new"
        return
    fi
    rm -f "$dir/updated"
    cp "$new" "$dir/apt.sources"
    if ! apt_in "$dir" update >"$dir/update.log" 2>&1; then
        # A mirror may lack, or be busy with, the point updates: the suite alone will do.
        awk -v RS= -v ORS='\n\n' -v s="$suite" '$0 ~ "Suites: " s "\n" || /^#/' \
            "$new" >"$dir/apt.sources"
        # While it is being renewed its lists do not fit together for a minute or two.
        local try=1
        while ! apt_in "$dir" update >"$dir/update-2.log" 2>&1; do
            if [ $try = 3 ] || ! grep -q 'unexpected size\|Hash Sum' "$dir/update-2.log"; then
                die "apt cannot fetch the lists of $suite ($arch); is there a network? $(
                    grep -m 1 '^[EW]:' "$dir/update-2.log")"
            fi
            try=$((try + 1))
            sleep 30
        done
        say "no updates of $suite ($arch) to be had; taking the suite without them"
    fi
    mv "$new" "$dir/apt.sources.made"
    touch "$dir/updated"
}

# apt_in DIR ARGUMENTS...: apt-get in a set-up made by apt_private
apt_in() {
    local dir=$1
    shift
    LC_ALL=C apt-get -q -y -c "$dir/apt.conf" "$@" </dev/null
}
