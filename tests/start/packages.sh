#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh LIBRARY FOLDER - programs and libraries of Debian's packages, unpacked in FOLDER and not installed,
# with LIBRARY preloaded: allocators, in both orders, under a program with 32 threads (32 OpenMP threads and a team
# of tasks are tests of their own), and redis-server with I/O threads and its own allocator. Needs apt-get, dpkg-deb,
# cc and, the first time, Debian's mirror.
set -eu
library=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
port=${PORT:-17391}
mkdir -p "$folder"
cd "$folder"
for package in libjemalloc2 libtcmalloc-minimal4 libtbbmalloc2 liblzf1 redis-server redis-tools; do
    if [ ! -e "$package.done" ]; then
        apt-get download -qq "$package"
        dpkg-deb -x "$package"_*.deb root
        rm -f "$package"_*.deb
        : > "$package.done"
    fi
done
found=$PWD/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo x86_64-linux-gnu)
export LD_LIBRARY_PATH="$found"
cc -O1 -fno-builtin -pthread "$here/allocate.c" -o allocate
status=0

# check NAME PRELOADED COMMAND...: it says "done".
check() {
    name=$1 preload=$2
    shift 2
    said=$(timeout -s KILL 300 env LD_PRELOAD="$preload" PIRN_CPUS=2 "$@" 2>&1) || true
    if [ "$said" = "done" ]; then
        echo "ok $name"
    else
        echo "FAILED $name: $said"
        status=1
    fi
}

for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtbbmalloc_proxy.so.2; do
    check "$allocator, nothing else" "$found/$allocator" ./allocate
    check "$allocator before the library" "$found/$allocator $library" ./allocate
    check "$allocator behind the library" "$library $found/$allocator" ./allocate
done

redis=root/usr/bin
env LD_PRELOAD="$library" PIRN_CPUS=2 "$redis/redis-server" --bind 127.0.0.1 --port "$port" --save '' \
    --io-threads 3 --io-threads-do-reads yes > redis.log 2>&1 &
server=$!
round=0
until "$redis/redis-cli" -p "$port" ping 2>/dev/null | grep -q PONG; do
    round=$((round + 1))
    [ $round -lt 600 ] || break
    sleep .1
done
timeout -s KILL 600 "$redis/redis-benchmark" -p "$port" -n 2000 -c 20 -q -t set,get,lpush > benchmark.log || status=1
"$redis/redis-cli" -p "$port" set key value > /dev/null || true
if [ "$("$redis/redis-cli" -p "$port" get key)" = value ]; then
    echo "ok redis-server"
else
    echo "FAILED redis-server: $(tail -3 redis.log)"
    status=1
fi
"$redis/redis-cli" -p "$port" flushall async > /dev/null || true
"$redis/redis-cli" -p "$port" shutdown nosave > /dev/null 2>&1 || true
round=0
while kill -0 "$server" 2>/dev/null && [ $round -lt 600 ]; do
    round=$((round + 1))
    sleep .1
done
if kill -9 "$server" 2>/dev/null; then
    echo "FAILED redis-server does not end"
    status=1
fi
exit $status
