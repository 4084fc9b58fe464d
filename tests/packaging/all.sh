#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# all.sh [PART]... - tests packages that `make deb` and `make wheel` have built: deb, wheel, conan,
# fetch, abi (default: all), each where nothing else is installed. `make check-packaging` calls it.
# RELEASES: of Debian, for deb; ROOTS: of tools/setup-packaging, for wheel. Goes on after a failure;
# its exit status says whether there was one.

set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
project="${here%/tests/packaging}"
packages="$project/build/packages"
venv="$project/.venv/bin"
version="$(sed -n 's/^project(pirn VERSION \([0-9.]*\) .*/\1/p' "$project/CMakeLists.txt")"
readonly here project packages venv version
# Of manylinux, what runs in the roots for wheels.
readonly platforms="manylinux_2_31 manylinux_2_28 manylinux_2_27 manylinux_2_26 manylinux_2_24 manylinux_2_17 manylinux2014"
status=0
chosen=()

run() # name, command
{
    local code=0
    "${@:2}" || code=$?
    case "$code" in
        0) ;;
        125) echo "NOT RUN $1: this machine cannot (see above)" ;;
        *)
            echo "FAILED $1"
            status=1
            ;;
    esac
}

# shellcheck disable=SC2317 # run calls it
in_root() # root, command
{
    local root="$1" words=(--fresh --root "$project/.packaging/$1/root")
    if [[ "$root" == *-aarch64 ]]; then words+=(--aarch64); fi
    "$project/tools/in-root" "${words[@]}" "${@:2}"
}

test_deb()
{
    local release
    for release in ${RELEASES:-bullseye bookworm trixie sid}; do
        run "deb on $release" in_root "$release" "$here/deb.sh" "$packages/deb" "$version"
    done
}

# What pip would download for the wheel, as tools/requirements.txt pins it.
make_wheelhouse() # root, machine, folder
{
    local each python words=()
    python="$(sed -n 's/^python3=\([0-9]*\.[0-9]*\)\..*/\1/p' "$project/.packaging/$1/packages")"
    for each in $platforms; do words+=(--platform "${each}_$2"); done
    "$venv/pip" download --quiet --disable-pip-version-check --only-binary :all: --no-deps --dest "$3" \
        --python-version "$python" "${words[@]}" -r "$project/tools/requirements.txt"
}

test_wheel()
{
    local root machine wheelhouse
    for root in ${ROOTS:-python python-trixie python-aarch64}; do
        machine=x86_64
        if [[ "$root" == *-aarch64 ]]; then machine=aarch64; fi
        wheelhouse="$packages/wheelhouse/$root"
        make_wheelhouse "$root" "$machine" "$wheelhouse"
        run "wheel in $root" in_root "$root" "$here/wheel.sh" "$packages/wheel" "$wheelhouse" "$version"
    done
}

readonly parts="deb wheel conan fetch abi"
for part in "$@"; do
    [[ " $parts " == *" $part "* ]] || {
        echo "all.sh: no part \"$part\"; there are: ${parts// /, }" >&2
        exit 2
    }
done
[[ $# -gt 0 ]] || read -ra chosen <<<"$parts"
for part in "$@" "${chosen[@]}"; do
    case "$part" in
        deb) test_deb ;;
        wheel) test_wheel ;;
        conan) run conan "$here/conan.sh" "$venv/conan" "$version" ;;
        # From the repository, as another project has it: the last commit.
        fetch) run fetch "$here/fetch.sh" "file://$project" "${CC:-cc}" ;;
        abi) run abi "$here/abi.sh" "$venv/python" "$packages/lib-x86_64/lib" ;;
    esac
done
exit $status
