#!/bin/sh
# SPDX-License-Identifier: MIT
# check_install.sh BUILD CC CXX - install into an empty prefix; build a small program there with
# pkg-config and another with find_package; both must run on Pirn.
set -eu
build=$1 cc=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cmake --install "$build" --component library --prefix "$work/usr" >install.log || {
    cat install.log >&2
    exit 1
}
libdir=$(dirname "$(find "$work/usr" -name libpirn-pthread.so | head -1)")
export PKG_CONFIG_PATH="$libdir/pkgconfig"

cat >posix.c <<'END'
#include <pthread.h>
#include <stdio.h>
static void *run(void *arg)
{
    return arg;
}
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 5; i++) {
        pthread_t t;
        void *ret;
        if (pthread_create(&t, NULL, run, (void *)i) != 0 || pthread_join(t, &ret) != 0) {
            return 1;
        }
        sum += (long)ret;
    }
    return sum == 10 ? 0 : 1;
}
END

cat >native.c <<'END'
#include <pirn/pirn.h>
static void *run(void *arg)
{
    return arg;
}
int main(void)
{
    for (int i = 0; i < 5; i++) {
        pirn_thread_t t;
        if (pirn_create(&t, NULL, run, NULL) != 0 || pirn_join(t, NULL) != 0) {
            return 1;
        }
    }
    return 0;
}
END

cat >std.cpp <<'END'
#include <thread>
int main()
{
    for (int i = 0; i < 5; i++) {
        std::thread([] {}).join();
    }
}
END

# Main and five threads.
on_pirn() {
    LD_LIBRARY_PATH=$libdir PIRN_STATS=text "$1" 2>stats || {
        cat stats >&2
        echo "check_install: $1 failed" >&2
        exit 1
    }
    grep -q '^pirn: threads 6$' stats || {
        cat stats >&2
        echo "check_install: $1 did not run its threads on Pirn" >&2
        exit 1
    }
    echo "ok $1"
}

# Word splitting is what pkg-config's output is for.
# shellcheck disable=SC2046
{
    "$cc" posix.c -o pc-posix $(pkg-config --cflags --libs pirn-pthread)
    "$cc" native.c -o pc-native $(pkg-config --cflags --libs pirn)
    "$cc" native.c -o pc-native-both $(pkg-config --cflags --libs pirn-pthread)
    "$cxx" -Wl,--as-needed std.cpp -o pc-std $(pkg-config --cflags --libs pirn-pthread)
}
for program in pc-posix pc-native pc-native-both pc-std; do
    on_pirn "./$program"
done

cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(uses_pirn C CXX)
find_package(pirn 0.1 REQUIRED)
add_executable(cmake-posix posix.c)
target_link_libraries(cmake-posix pirn::pthread)
add_executable(cmake-native native.c)
target_link_libraries(cmake-native pirn::pirn)
add_executable(cmake-std std.cpp)
target_link_libraries(cmake-std pirn::pthread)
END
CC=$cc CXX=$cxx cmake -S . -B out -DCMAKE_PREFIX_PATH="$work/usr" >cmake.log && cmake --build out >>cmake.log || {
    cat cmake.log >&2
    exit 1
}
for program in cmake-posix cmake-native cmake-std; do
    on_pirn "./out/$program"
done
