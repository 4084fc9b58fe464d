#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh FOLDER VERSION - run in a root file system of Debian with a compiler (tools/setup-packaging):
# the packages of FOLDER are installed by dpkg; a program is built with them, another is preloaded,
# the pirn command works; nothing is left when they are removed.
set -eu
# shellcheck source=tests/packaging/common.sh
. "$(dirname "$0")/common.sh"
packages=$1 version=$2
libraries=/usr/lib/$(dpkg --print-architecture | sed 's/amd64/x86_64/; s/arm64/aarch64/')-linux-gnu
. /etc/os-release

check_pages() { # pages
    for page; do
        [ -s "/usr/share/man/$page.gz" ] || fail "no manual page $page"
        python3 -c 'import gzip, sys; print(gzip.open(sys.argv[1], "rt").read())' "/usr/share/man/$page.gz" >"$work/page"
        grep -q '^\.TH' "$work/page" || fail "manual page $page has no title"
    done
}

quiet dpkg --install "$packages"/libpirn0_*.deb "$packages"/libpirn0-dbgsym_*.deb "$packages"/libpirn-dev_*.deb
installed="libpirn0 libpirn0-dbgsym libpirn-dev"

# shellcheck disable=SC2046
quiet gcc -O2 "$here/consumer/sum.c" -o "$work/linked" $(pkg-config --cflags --libs pirn-pthread)
# shellcheck disable=SC2046
quiet gcc -O2 "$here/consumer/native.c" -o "$work/native" $(pkg-config --cflags --libs pirn)
quiet gcc -O2 "$here/consumer/sum.c" -o "$work/plain" -pthread
for each in pirn pirn-pthread; do
    [ "$(pkg-config --modversion "$each")" = "$version" ] || fail "pkg-config $each is not $version"
done
on_pirn "$work/linked"
on_pirn "$work/native"
on_pirn env LD_PRELOAD=libpirn-pthread.so.0 "$work/plain"
on_pirn env LD_PRELOAD=libpirn-pthread.so.0 python3 "$here/threads.py"

for each in libpirn libpirn-pthread; do
    id=$(readelf --notes "$libraries/$each.so.0" | sed -n 's/^ *Build ID: //p')
    symbols=/usr/lib/debug/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug
    readelf --section-headers "$symbols" | grep -q ' \.debug_info ' || fail "no debug symbols of $each in $symbols"
done
check_pages man3/pirn_create.3 man3/pirn_mutex_lock.3

# apt would refuse what dpkg refuses.
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    quiet dpkg --install "$packages"/pirn_*_all.deb
    installed="$installed pirn"
    check_pages man1/pirn.1 man1/pirn-run.1 man7/libpirn-pthread.7
    [ "$(pirn --version)" = "pirn, version $version" ] || fail "pirn --version says: $(pirn --version)"
    quiet env PYTHONPATH=/usr/share/pirn/python python3 -B "$here/commands.py"
    check_doctor "$libraries/libpirn-pthread.so.0" "$version"
    on_pirn pirn run -- "$work/plain"
    on_pirn pirn run -- python3 "$here/threads.py"
    quiet pirn trace record --output "$work/trace" -- "$work/linked"
    quiet pirn trace stat "$work/trace"
    command="pirn $(python3 --version)"
else
    ! dpkg --install "$packages"/pirn_*_all.deb >"$work/log" 2>&1 || fail "pirn is installed beside $(python3 --version)"
    grep -q 'pirn depends on python3:any (>= 3.11)' "$work/log" || fail "dpkg does not say why: $(cat "$work/log")"
    quiet dpkg --purge pirn
    command="pirn refused, as it must be, with $(python3 --version)"
fi
# shellcheck disable=SC2086
[ -z "$(dpkg --verify $installed)" ] || fail "files are not as in the packages: $(dpkg --verify $installed)"

# shellcheck disable=SC2086
quiet dpkg --purge $installed
ls -R /etc /usr /var >"$work/files"
left=$(grep -i pirn "$work/files" || true)
[ -z "$left" ] || fail "left when the packages are removed: $left"
echo "ok: $PRETTY_NAME: $installed; $command"
