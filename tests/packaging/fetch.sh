#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch.sh SOURCE|URL CC - a project that builds Pirn as a part of itself by FetchContent, from a
# folder or from a repository; its programs run on Pirn, its tests and installed files are its own.
set -eu
here=$(cd "$(dirname "$0")" && pwd) from=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "fetch: $1" >&2
    exit 1
}

case "$from" in
    *://*) where=-DPIRN_URL=$from ;;
    *) where=-DFETCHCONTENT_SOURCE_DIR_PIRN=$from ;;
esac
{
    CC=$cc cmake -G Ninja -S "$here/consumer" -B "$work/out" "$where" -DCMAKE_INSTALL_PREFIX="$work/usr" \
        -DCMAKE_BUILD_TYPE="${BUILD_TYPE:-Debug}" -DCMAKE_C_FLAGS_DEBUG=-O0 &&
        cmake --build "$work/out"
} >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    fail "the project does not build"
}

# Main and 100 threads.
for program in sum native; do
    PIRN_STATS=text "$work/out/$program" >"$work/said" 2>"$work/stats" || fail "$program failed: $(cat "$work/stats")"
    [ "$(cat "$work/said")" = 4950 ] || fail "$program said $(cat "$work/said"), not 4950"
    grep -q '^pirn: threads 101$' "$work/stats" || fail "$program did not run its threads on Pirn: $(cat "$work/stats")"
done

tests=$(ctest --test-dir "$work/out" -N | sed -n 's/^ *Test .*: //p' | sort | paste -sd ' ' -)
[ "$tests" = "native sum" ] || fail "tests of the project: $tests"
cmake --install "$work/out" >"$work/log" 2>&1 || fail "the project does not install: $(cat "$work/log")"
files=$(cd "$work/usr" && find . ! -type d | sort | paste -sd ' ' -)
[ "$files" = "./bin/native ./bin/sum" ] || fail "the project installs: $files"
built=$(cd "$work/out/_deps/pirn-build" && find . -name '*.so.*' -type f | sort | paste -sd ' ' -)
[ "$(echo "$built" | wc -w)" = 2 ] || fail "other libraries than libpirn and libpirn-pthread were built: $built"
echo "ok: built and run from $from"
