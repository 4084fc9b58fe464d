# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Sourced by deb.sh and wheel.sh, which run in a root file system of tools/setup-packaging.
# shellcheck disable=SC2034 # for the scripts
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Nothing of the machine on which the root file system lies.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$work" LC_ALL=C.UTF-8 XDG_CACHE_HOME="$work/cache"
unset LD_PRELOAD LD_LIBRARY_PATH PYTHONPATH PKG_CONFIG_PATH MPLCONFIGDIR
test=${0##*/}

fail() {
    echo "$test: $*" >&2
    exit 1
}

# Its output is of use only when it fails.
quiet() { # command
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        fail "failed: $*"
    }
}

# The command, and 100 threads that add up their numbers, ran on Pirn.
on_pirn() { # command
    PIRN_STATS=text "$@" >"$work/said" 2>"$work/stats" || fail "failed ($?): $*: $(cat "$work/said" "$work/stats")"
    [ "$(cat "$work/said")" = 4950 ] || fail "$* said \"$(cat "$work/said")\", not 4950"
    grep -q '^pirn: threads 101$' "$work/stats" || fail "$* did not run its threads on Pirn: $(cat "$work/stats")"
}

# pirn doctor finds the library there, and all that Pirn has (but what a machine may limit).
check_doctor() { # library, version
    status=0
    pirn doctor --json >"$work/doctor" 2>"$work/log" || status=$?
    [ $status = 0 ] || [ $status = 1 ] || fail "pirn doctor ended with $status: $(cat "$work/log" "$work/doctor")"
    grep -qF "$2, $1;" "$work/doctor" || fail "pirn doctor does not name $1, version $2: $(cat "$work/doctor")"
}
