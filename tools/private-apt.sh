# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Sourced by tools/setup-kernel, setup-glibc, setup-guest and setup-packaging: packages of another release
# or architecture of Debian than this machine's, from the mirror of its own apt, which stays as it
# is. $cache: a folder, for setup.log.

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
make_private_apt() # [--architecture NAME] folder, sources
{
    local apt uri source architecture
    command -v apt-get >/dev/null || die "this needs apt-get: Debian or a relative"
    architecture="$(dpkg --print-architecture)"
    if [[ "$1" == --architecture ]]; then
        architecture="$2"
        shift 2
    fi
    apt="$1"
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
APT::Architecture "$architecture";
APT::Architectures "$architecture";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
END
    for source in "${@:2}"; do
        printf '%s [signed-by=%s] %s %s main\n' "${source% *}" "$keyring" "$uri" "${source#* }"
    done >"$apt/sources.list"
    run_logged private_apt "$apt" apt-get -q update
}

private_apt() { APT_CONFIG="$1/apt.conf" "${@:2}"; } # folder, command

# These packages and all that they depend on: the private configuration has nothing installed.
list_packages() # folder of apt, packages
{
    private_apt "$1" apt-get install --simulate --no-install-recommends "${@:2}" |
        sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p'
}

# The archives of a list of packages.
download() # folder of apt, list, folder
{
    cd "$3" && private_apt "$1" xargs -a "$2" -r apt-get -q download
}

# The files of a list of packages, and for dpkg in that root a database that says they are there.
unpack() # folder of apt, list, folder
{
    local archive archives dpkg="$3/var/lib/dpkg"
    mkdir -p "$dpkg/info" "$dpkg/updates" "$dpkg/triggers"
    archives="$(mktemp -d "$cache/archives.XXXXXX")"
    (run_logged download "$1" "$2" "$archives")
    for archive in "$archives"/*.deb; do
        dpkg-deb --fsys-tarfile "$archive" | tar -x --no-same-owner --keep-directory-symlink -C "$3"
        { dpkg-deb --field "$archive" && printf 'Status: install ok installed\n\n'; } >>"$dpkg/status"
    done
    rm -rf "$archives"
}

# The directories that are links since the merge of /usr; older packages have files in them.
merge_usr() # root
{
    local name
    for name in bin sbin lib lib32 lib64; do
        mkdir -p "$1/usr/$name"
        ln -sfn "usr/$name" "$1/$name"
    done
}

# A root file system: packages are unpacked, their scripts do not run. The folder gets root and
# packages, a list of names and versions.
make_root() # folder of apt, folder, name of the system, packages
{
    local into="$2"
    mkdir -p "$into/root"
    merge_usr "$into/root"
    list_packages "$1" "${@:4}" >"$into/packages.part"
    [[ -s "$into/packages.part" ]] || die "$3 does not have these packages: ${*:4}"
    say "fetching $(wc -l <"$into/packages.part") packages of $3"
    unpack "$1" "$into/packages.part" "$into/root"
    [[ -e "$into/root/usr/bin/sh" ]] || ln -s dash "$into/root/usr/bin/sh"
    mkdir -p "$into/root"/{proc,sys,dev,tmp,run,root,home}
    printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n' \
        >"$into/root/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$into/root/etc/group"
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$into/root/etc/hosts"
    mv "$into/packages.part" "$into/packages"
}
