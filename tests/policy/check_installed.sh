#!/bin/sh
# SPDX-License-Identifier: MIT
# check_installed.sh BUILD CC CXX - installs into an empty prefix and builds the example of
# docs/guide/policies.md there, outside of the source tree: by pkg-config, by find_package, as a shared
# library that is preloaded into a program of the system's threads. All run under load.
set -eu
build=$1 cc=$2 cxx=$3
source=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in example.c example.h loaded.c program.c cxx.cpp list.h owned.c relay.c ranked.c registers.c; do
    cp "$source/$file" "$work"
done
cd "$work"

fail() {
    cat output >&2
    echo "check_installed: $*" >&2
    exit 1
}

cmake --install "$build" --component library --prefix "$work/usr" >output 2>&1 || fail "cannot be installed"
libdir=$(dirname "$(find "$work/usr" -name libpirn.so | head -1)")
export PKG_CONFIG_PATH="$libdir/pkgconfig" LD_LIBRARY_PATH="$libdir"
others=$(cd usr/include && find . -type f ! -path './pirn/*')
[ -z "$others" ] || fail "installed headers outside of pirn/: $others"

# runs PROGRAM: under load, with each option, and the policy is the one that ran.
runs() {
    for cpus in 1 2 4; do
        for sched in home home:start=here home:start=turn; do
            PIRN_STATS=text PIRN_CPUS=$cpus PIRN_SCHED=$sched "$@" >output 2>&1 ||
                fail "$1 failed under $sched on $cpus CPUs"
            grep -q '^pirn: sched home$' output || fail "$1 did not run under $sched"
        done
    done
    echo "ok $1"
}

# The headers by themselves, as strict as compilers are.
echo '#include <pirn/policy.h>' >alone.c
cp alone.c alone.cpp
"$cc" -std=c11 -pedantic -Wall -Wextra -Werror -Iusr/include -fsyntax-only alone.c >output 2>&1 ||
    fail "policy.h is not C11"
"$cxx" -std=c++17 -pedantic -Wall -Wextra -Werror -Iusr/include -fsyntax-only alone.cpp >output 2>&1 ||
    fail "policy.h is not C++17"

# Word splitting is what pkg-config's output is for.
# shellcheck disable=SC2046
for library in pirn pirn-pthread; do
    "$cc" -O2 -Wall -Wextra -Werror program.c example.c -o "by-pkg-config-$library" \
        $(pkg-config --cflags --libs $library) -pthread >output 2>&1 || fail "does not build with $library"
    runs "./by-pkg-config-$library"
done

cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(brings_a_policy C CXX)
find_package(pirn 0.1 REQUIRED)
find_package(Threads REQUIRED)
add_executable(by-cmake program.c example.c)
target_link_libraries(by-cmake pirn::pirn Threads::Threads)
add_executable(by-cmake-cxx cxx.cpp)
target_compile_features(by-cmake-cxx PRIVATE cxx_std_17)
target_link_libraries(by-cmake-cxx pirn::pirn)
add_library(home SHARED loaded.c example.c)
target_link_libraries(home pirn::pthread)
END
{
    CC=$cc CXX=$cxx cmake -S . -B out -DCMAKE_PREFIX_PATH="$work/usr" && cmake --build out
} >output 2>&1 || fail "does not build with find_package"
runs ./out/by-cmake
./out/by-cmake-cxx >output 2>&1 || fail "the policy in C++ does not run"
echo "ok ./out/by-cmake-cxx"

# A program that knows nothing of Pirn, under a policy that Pirn does not come with.
cat >posix_system.c <<'END'
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static void *add(void *arg)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        sum++;
        sched_yield();
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
int main(void)
{
    pthread_t t[100];
    for (int i = 0; i < 100; i++) {
        pthread_create(&t[i], 0, add, 0);
    }
    for (int i = 0; i < 100; i++) {
        pthread_join(t[i], 0);
    }
    return sum != 10000;
}
END
"$cc" posix_system.c -o system -pthread
runs env "LD_PRELOAD=$libdir/libpirn-pthread.so.0:./out/libhome.so" ./system

# Policies that use all of the header find all of it in either library.
# shellcheck disable=SC2046
for library in pirn pirn-pthread; do
    "$cc" posix_system.c registers.c example.c owned.c relay.c ranked.c -o "all-of-$library" -Wl,-z,defs \
        $(pkg-config --cflags --libs $library) -pthread >output 2>&1 || fail "something is missing in $library"
done
for sched in owned relay ranked home; do
    PIRN_STATS=text PIRN_CPUS=2 PIRN_SCHED=$sched ./all-of-pirn-pthread >output 2>&1 || fail "$sched does not run"
    grep -q "^pirn: sched $sched\$" output || fail "$sched is not what ran"
done
echo "ok ./all-of-pirn-pthread"

# refused SAYS PROGRAM: ends with status 2 and says so.
refused() {
    says=$1
    shift
    status=0
    "$@" >output 2>&1 || status=$?
    [ $status = 2 ] || fail "$*: status $status, 2 expected"
    grep -q "$says" output || fail "$*: does not say: $says"
}
refused 'home has no option "strt"; it has: start=here|turn' env PIRN_SCHED=home:strt=turn ./out/by-cmake
refused 'option start of home takes here|turn, not "left"' env PIRN_SCHED=home:start=left ./out/by-cmake
refused 'there are: .* home; did you mean "home"?$' env PIRN_SCHED=hom ./out/by-cmake

# A program that was compiled against other headers: it says so, and so does the library.
mkdir older
cp -r usr/include/pirn older
sed -i 's/^#define PIRN_POLICY_VERSION .*/#define PIRN_POLICY_VERSION 0u/' older/pirn/policy.h
"$cc" -Iolder program.c example.c -o older-program -L"$libdir" -lpirn -pthread
status=0
./older-program >output 2>&1 || status=$?
if [ $status != 1 ] || ! grep -q 'the table has version 0, and Pirn .* takes version [1-9]' output; then
    fail "a table of another version is not refused"
fi
"$cc" -Iolder -shared -fPIC loaded.c example.c -o older-home.so -L"$libdir" -lpirn-pthread
says='ignored: .*no policy "home"; there are: .*; refused when it was registered: the table has version 0'
env "LD_PRELOAD=$libdir/libpirn-pthread.so.0:./older-home.so" PIRN_SCHED=home ./system >output 2>&1 ||
    fail "a preloaded program with a policy of another version does not run"
grep -q "$says" output || fail "a preloaded policy of another version: does not say: $says"
echo "ok refusals"
