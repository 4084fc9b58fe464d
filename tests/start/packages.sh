#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh LIBRARY FOLDER - programs and libraries of Debian's packages, unpacked in FOLDER and not installed,
# with LIBRARY preloaded: allocators, in both orders, under a program with 32 threads; a program that is linked with
# OpenMP, GLib and jemalloc; rustc, and what it compiles; a Go program with C in it; MPI over UCX; nginx with a pool
# of threads; redis-server with I/O threads and its own allocator. Needs apt-get with its lists, dpkg-deb, cc with
# OpenMP, python3 and, the first time, Debian's mirror (90 MB; Go, if there is none in PATH, is 80 MB more).
set -eu
# Commands whose result is judged by what they say or leave behind end with "|| true".
library=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
port=${PORT:-17391}
mkdir -p "$folder"
cd "$folder"
root=$PWD/root
status=0

result() { # NAME 0|1 TEXT
    if [ "$2" = 0 ]; then
        echo "ok $1"
    else
        echo "FAILED $1: $3"
        status=1
    fi
}

# With what they depend on and this machine has not installed.
unpack() {
    if [ -e "$1.done" ]; then
        return
    fi
    apt-get install -s --no-install-recommends "$@" > "$1.list"
    for package in $(awk '/^Inst/ { print $2 }' "$1.list") "$@"; do
        if [ ! -e "$package.unpacked" ]; then
            apt-get download -qq -o APT::Sandbox::User="$(id -un)" "$package"
            dpkg-deb -x "$package"_*.deb root
            rm -f "$package"_*.deb
            : > "$package.unpacked"
        fi
    done
    : > "$1.done"
}

unpack libjemalloc2 libtcmalloc-minimal4 libtbbmalloc2 libglib2.0-0
unpack redis-server redis-tools
unpack rustc
unpack mpich
unpack nginx
if [ ! -e libmpich-dev.unpacked ]; then # of it only headers and links to libraries
    apt-get download -qq -o APT::Sandbox::User="$(id -un)" libmpich-dev
    dpkg-deb -x libmpich-dev_*.deb root
    rm -f libmpich-dev_*.deb
    : > libmpich-dev.unpacked
fi
machine=$(cc -print-multiarch)
found=$root/usr/lib/$machine
export LD_LIBRARY_PATH="$found"

# says_done NAME PRELOADED COMMAND...: it says "done".
says_done() {
    name=$1 preload=$2
    shift 2
    said=$(timeout -s KILL 300 env LD_PRELOAD="$preload" PIRN_CPUS=2 "$@" 2>&1) || true
    [ "$said" = "done" ] && failed=0 || failed=1
    result "$name" "$failed" "$said"
}

# --- allocators ---

cc -O1 -fno-builtin -pthread "$here/allocate.c" -o allocate
for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtbbmalloc_proxy.so.2; do
    says_done "$allocator, nothing else" "$found/$allocator" ./allocate
    says_done "$allocator before the library" "$found/$allocator $library" ./allocate
    says_done "$allocator behind the library" "$library $found/$allocator" ./allocate
done
cc -O1 -fopenmp "$here/openmp.c" -o openmp -Wl,--no-as-needed "$found/libglib-2.0.so.0" "$found/libjemalloc.so.2"
for threads in 3 8 32; do
    says_done "OpenMP, GLib and jemalloc, $threads threads" "$library" \
        env OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=passive ./openmp
done

# --- rustc ---

said=$(timeout -s KILL 600 env LD_PRELOAD="$library" PIRN_CPUS=2 "$root/usr/bin/rustc" -O -C codegen-units=8 \
    "$here/channels.rs" -o channels 2>&1) && failed=0 || failed=1
result rustc "$failed" "$said"
says_done "a program in Rust" "$library" ./channels

# --- Go ---

go=$(command -v go) || go=
if [ -z "$go" ]; then
    unpack golang-1.19-go golang-1.19-src
    go=$root/usr/lib/go-1.19/bin/go
    export GOROOT="$root/usr/lib/go-1.19"
fi
env -u LD_LIBRARY_PATH CGO_ENABLED=1 GOCACHE="$PWD/go-cache" GO111MODULE=off "$go" build -o goroutines \
    "$here/goroutines.go"
for cpus in 2 4; do # on 1 it may hang: docs/STATUS.md
    right=0 last=
    for _ in $(seq 100); do
        last=$(timeout -s KILL 300 env LD_PRELOAD="$library" PIRN_CPUS=$cpus ./goroutines 2>&1) || true
        [ "$last" != "done" ] || right=$((right + 1))
    done
    [ $right = 100 ] && failed=0 || failed=1
    result "a program in Go and C, 100 times on $cpus" "$failed" "$right times right; at last: $last"
done

# --- MPI ---

cc -O1 -I"$root/usr/include/$machine/mpich" "$here/ring.c" -o ring -L"$found" -lmpich -pthread
for threads in 1 8; do
    said=$(timeout -s KILL 300 "$root/usr/bin/mpiexec.hydra" -n 2 -genv LD_PRELOAD "$library" -genv PIRN_CPUS 2 \
        ./ring $threads 2>&1) || true
    [ "$said" = "done" ] && failed=0 || failed=1
    result "MPICH over UCX, $threads threads" "$failed" "$said"
done

# --- servers ---

# ends PID: soon, by itself.
ends() {
    round=0
    while kill -0 "$1" 2>/dev/null && [ $round -lt 600 ]; do
        round=$((round + 1))
        sleep .1
    done
    ! kill -9 "$1" 2>/dev/null
}

# answers PORT: soon.
answers() {
    python3 - "$1" << 'END'
import socket, sys, time
for _ in range(600):
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
        sys.exit(0)
    except OSError:
        time.sleep(0.1)
sys.exit("no answer")
END
}

mkdir -p web
head -c 3000000 /dev/urandom > web/large
{
    [ "$(id -u)" != 0 ] || echo "user $(id -un) $(id -gn);"
    echo "daemon off; worker_processes 1; pid nginx.pid; error_log error.log; thread_pool default threads=8;
    events { worker_connections 64; }
    http {
        access_log access.log; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
        uwsgi_temp_path uwsgi; scgi_temp_path scgi;
        server { listen 127.0.0.1:$((port + 1)); location / { root .; aio threads; sendfile off; } }
    }"
} > web/nginx.conf
env LD_PRELOAD="$library" PIRN_CPUS=2 "$root/usr/sbin/nginx" -p "$PWD/web/" -c "$PWD/web/nginx.conf" \
    -e error.log > nginx.log 2>&1 &
server=$!
said=$(answers $((port + 1)) && python3 - $((port + 1)) web/large 2>&1 << 'END'
import sys, urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

url, large = f"http://127.0.0.1:{sys.argv[1]}/large", Path(sys.argv[2]).read_bytes()


def whole(_: int) -> bool:
    return urllib.request.urlopen(url, timeout=100).read() == large


with ThreadPoolExecutor(8) as pool:
    if not all(pool.map(whole, range(100))):
        sys.exit("a file is not what it was")
END
) && failed=0 || failed=1
result "nginx, files by a pool of threads" "$failed" "$said $(tail -n 3 nginx.log web/error.log)"
kill -QUIT "$server" || true
ends "$server" && failed=0 || failed=1
result "nginx ends when it is asked to" "$failed" ""

redis=$root/usr/bin
env LD_PRELOAD="$library" PIRN_CPUS=2 "$redis/redis-server" --bind 127.0.0.1 --port "$port" --save '' \
    --io-threads 3 --io-threads-do-reads yes > redis.log 2>&1 &
server=$!
answers "$port" || true
timeout -s KILL 600 "$redis/redis-benchmark" -p "$port" -n 2000 -c 20 -q -t set,get,lpush > benchmark.log || status=1
"$redis/redis-cli" -p "$port" set key value > /dev/null || true
[ "$("$redis/redis-cli" -p "$port" get key)" = value ] && failed=0 || failed=1
result redis-server "$failed" "$(tail -n 3 redis.log)"
"$redis/redis-cli" -p "$port" flushall async > /dev/null || true
"$redis/redis-cli" -p "$port" shutdown nosave > /dev/null 2>&1 || true
ends "$server" && failed=0 || failed=1
result "redis-server ends" "$failed" ""
exit $status
