# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Sourced by tools/setup-kernel and tools/setup-glibc: packages of another release of Debian than
# this machine's, from the mirror of its own apt, which stays as it is. $cache: a folder, for
# setup.log.

: "${cache:?}"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

# Its output is long and of use only when it fails.
run_logged() # command
{
    if ! "$@" >"$cache/setup.log" 2>&1; then
        tail -n 15 "$cache/setup.log" >&2
        die "$1 failed; its whole output is ${cache##*/}/setup.log"
    fi
}

# Where this machine's apt has Debian's packages from.
mirror()
{
    apt-get indextargets --format "\$(ORIGIN)|\$(LABEL)|\$(COMPONENT)|\$(REPO_URI)" 'Identifier: Packages' |
        sed -n 's/^Debian|Debian|main|//p' | head -n 1
}

# A configuration of apt in a folder, with nothing installed. A source: deb|deb-src, and a suite.
make_private_apt() # folder, sources
{
    local apt="$1" uri source
    command -v apt-get >/dev/null || die "this needs apt-get: Debian or a relative"
    [[ -e "$keyring" ]] || die "$keyring is missing: apt-get install debian-archive-keyring"
    uri="$(mirror)"
    [[ -n "$uri" ]] || die "apt has no source of Debian's packages; run apt-get update, and try again"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    cat >"$apt/apt.conf" <<END
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
END
    for source in "${@:2}"; do
        printf '%s [signed-by=%s] %s %s main\n' "${source% *}" "$keyring" "$uri" "${source#* }"
    done >"$apt/sources.list"
    run_logged private_apt "$apt" apt-get -q update
}

private_apt() { APT_CONFIG="$1/apt.conf" "${@:2}"; } # folder, command
