#!/bin/sh
# SPDX-License-Identifier: MIT
# conan.sh CONAN VERSION - the recipe's package, built in a cache of its own, and its consumer, whose programs
# run on Pirn; a system that Pirn's libraries are not for is refused with a reason. No network.
set -eu
conan=$1 version=$2
recipe=$(cd "$(dirname "$0")/../../packaging/conan" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CONAN_HOME="$work/home"

fail() {
    cat "$work/log" >&2
    echo "conan: $1" >&2
    exit 1
}

{ "$conan" profile detect && "$conan" remote disable '*'; } >"$work/log" 2>&1 || fail "Conan has no profile of this machine"
"$conan" create "$recipe" -c tools.cmake.cmaketoolchain:generator=Ninja -c tools.cmake.cmaketoolchain:user_presets= \
    -c tools.cmake.cmake_layout:test_folder="$work/consumer" >"$work/log" 2>&1 || fail "the package or its consumer failed"
"$conan" list "pirn/$version:*" >"$work/log" 2>&1 || fail "no list of packages"
grep -q "settings" "$work/log" || fail "no package pirn/$version"
if "$conan" create "$recipe" --test-folder= -s os=Windows -s arch=x86 >"$work/log" 2>&1; then
    fail "a package for Windows was built"
fi
grep -q "os=Windows: Pirn's libraries are for Linux" "$work/log" || fail "a package for Windows is not refused for that"
echo "ok: Conan $("$conan" --version | sed 's/.* //'): pirn/$version and its consumer"
