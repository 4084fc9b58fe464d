#!/bin/sh
# SPDX-License-Identifier: MIT
# abi.sh PYTHON LIBRARIES - the check of binary interfaces is silent about the libraries as they are,
# and names a function that has gone, one that is new, and a type of another size.
set -eu
python=$1 libraries=$2
project=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() { # reference
    "$python" "$project/packaging/abi.py" --libraries "$libraries" --reference "$1" >"$work/said" 2>&1
}

differs() { # sed's command for the recorded interface, what is to be said
    rm -rf "$work/abi"
    cp -r "$project/packaging/abi" "$work/abi"
    sed -i "$1" "$work/abi/libpirn.abi"
    ! cmp -s "$project/packaging/abi/libpirn.abi" "$work/abi/libpirn.abi" || {
        echo "abi: nothing to change for $1" >&2
        exit 1
    }
    if check "$work/abi" || ! grep -q "$2" "$work/said"; then
        cat "$work/said" >&2
        echo "abi: after \"$1\" it does not say \"$2\"" >&2
        exit 1
    fi
}

check "$project/packaging/abi" || {
    cat "$work/said" >&2
    exit 1
}
differs 's/pirn_yield/pirn_gone/' '\[D\] pirn_gone@@PIRN_0'
differs 's/pirn_mutex_lock_until/pirn_other/' "\[A\] 'function int pirn_mutex_lock_until("
differs 's/name="pirn_mutex" size-in-bits="320"/name="pirn_mutex" size-in-bits="384"/' 'type size changed from 384 to 320'
grep '^abi:' "$work/said" || true
echo "ok: the interfaces are as recorded; three other ones were found to differ"
