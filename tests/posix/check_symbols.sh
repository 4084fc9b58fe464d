#!/bin/sh
# SPDX-License-Identifier: MIT
# check_symbols.sh LIBRARY PROGRAM - the library's names satisfy the versioned references of a program
# that was linked against the C library: all its pthread_ references, pthread_cond_* (GLIBC_2.3.2)
# included, are bound to the library when it is preloaded; and the POSIX names carry no version, but
# for the C library's on six of pthread_cond_* on x86-64 (src/posix/pirn-pthread-x86_64.map).
set -eu
library=$1 program=$2

fail() {
    echo "check_symbols: $*" >&2
    exit 1
}

versioned=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$3 ~ /^(pthread|sem|thrd|mtx|cnd|tss)_.*@/ {print $3}' |
    grep -vE '^pthread_cond_(init|destroy|wait|timedwait|signal|broadcast)@@GLIBC_2\.3\.2$' || true)
[ -z "$versioned" ] || fail "names with a version: $versioned"

bindings=$(LD_DEBUG=bindings LD_BIND_NOW=1 LD_PRELOAD=$library "$program" 2>&1 |
    sed -n "s|.*binding file $program .* to \(.*\) \[0\]: normal symbol .\(pthread_[a-z_]*\)'.*|\2 \1|p" | sort -u)
echo "$bindings"
[ -n "$bindings" ] || fail "no reference of $program to a pthread_ name was seen"
wrong=$(echo "$bindings" | grep -v "libpirn-pthread" || true)
[ -z "$wrong" ] || fail "bound elsewhere: $wrong"
echo "$bindings" | grep -q pthread_cond_wait || fail "pthread_cond_wait is not among them"
