# SPDX-License-Identifier: MIT
#
# What a user can do wrong, and what must hold then. Run in the guest; prints a line for each check,
# "ok" or "FAILED", and what the command said. Sourced by all.sh.

# Runs a command that must fail with this status and say this; and leave the scheduler as it is.
refused() # status, words, command...
{
    wanted="$1" words="$2"
    shift 2
    before="$(pirn-kernel status)"
    said="$("$@" 2>&1)"
    status=$?
    result=ok
    [ "$status" = "$wanted" ] || result="FAILED (status $status)"
    case "$said" in *"$words"*) ;; *) result="FAILED (words)" ;; esac
    [ "$(pirn-kernel status)" = "$before" ] || result="FAILED (state)"
    echo "$result: $*: $(echo "$said" | head -n 1)"
}

expect() # what, wanted, got
{
    if [ "$2" = "$3" ]; then echo "ok: $1"; else echo "FAILED: $1: \"$3\" instead of \"$2\""; fi
}

nothing_pinned() { expect "nothing is left in the BPF file system" "" "$(ls /sys/fs/bpf)"; }

await() # seconds, state of sched_ext
{
    left=$(($1 * 10))
    while [ "$(cat /sys/kernel/sched_ext/state)" != "$2" ] && [ $left -gt 0 ]; do
        usleep 100000
        left=$((left - 1))
    done
    expect "sched_ext is $2" "$2" "$(cat /sys/kernel/sched_ext/state)"
}

check_options()
{
    refused 2 "not one of: none, old, new" pirn-kernel load --rule=newest
    refused 2 "not a whole number from 500 to 30000" pirn-kernel load --timeout=1
    refused 2 "no such option" pirn-kernel load --misbehave=stall
    refused 2 "one operand too many" pirn-kernel load now
    refused 2 "not one of: load, unload" pirn-kernel start
    refused 1 "the scheduler is not loaded" pirn-kernel unload
    refused 1 "the scheduler is not loaded" pirn-kernel counters
    refused 1 "the scheduler is not loaded" pirn-kernel add 1 2
    umount /sys/fs/bpf
    refused 1 "mount -t bpf" pirn-kernel load
    mount -t bpf bpf /sys/fs/bpf
    refused 1 "no privileges" /usr/bin/setpriv --bounding-set=-all pirn-kernel load
    nothing_pinned
}

check_loaded()
{
    pirn-kernel load
    expect "it is loaded" "loaded: pirn" "$(pirn-kernel status | cut -c1-12)"
    refused 1 "loaded already" pirn-kernel load --rule=old
    pirn-kernel unload
    pirn-kernel-faulty load --misbehave=rename
    refused 1 "another sched_ext scheduler is loaded: other" pirn-kernel load
    pirn-kernel unload
    pirn-kernel load 2>/dev/null & one=$!
    pirn-kernel load 2>/dev/null & two=$!
    wait $one; first=$?
    wait $two
    expect "of two loads at once one succeeds" 1 $((first + $?))
    relay --rounds=1000000 >/dev/null &
    usleep 300000
    refused 1 "no thread with the name" pirn-kernel add mixer9 wave0
    refused 1 "no thread with the number 99999" pirn-kernel add mixer0 99999
    refused 1 "of itself" pirn-kernel add mixer0 mixer0
    refused 1 "does not depend" pirn-kernel delete mixer0 wave0
    pirn-kernel add mixer0 wave0 && pirn-kernel add mixer2 mixer0
    refused 1 "a circle" pirn-kernel add wave0 mixer2
    expect "two consumers are listed" 2 "$(pirn-kernel list | wc -l)"
    pirn-kernel delete mixer2 mixer0
    expect "one is left" 1 "$(pirn-kernel list | wc -l)"
    check_many
    check_unload
}

# The same binary declares its dependencies to Pirn's scheduler outside of the guest (either.py).
check_declared()
{
    pirn-kernel load
    LD_PRELOAD=/lib/libpirn-kernel.so wavemix-nptl --samples=100000 --affinity >/dev/null & program=$!
    usleep 500000
    expect "wavemix declares three consumers" \
        " mixer0 < wave0 wave1; mixer1 < wave2 wave3; mixer2 < mixer0 mixer1;" \
        "$(pirn-kernel list | sed 's/ [0-9]* (\([a-z0-9]*\))/ \1/g; s/$/;/' | sort | tr -d '\n')"
    kill $program
    wait $program 2>/dev/null
    expect "and takes them back by its end" "" "$(pirn-kernel list)"
    pirn-kernel unload
    pirn-kernel load
    LD_PRELOAD=/lib/libpirn-kernel.so wavemix-nptl --buffer=4K --samples=50 --warmup=10 --affinity | tail -n 1
    pirn-kernel counters
    pirn-kernel unload
    sha256sum /bin/wavemix-nptl
}

# 17 producers of one consumer.
check_many()
{
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        sleep 1000 &
        pirn-kernel add mixer1 $!
    done
    refused 1 "16 threads have the name" pirn-kernel add mixer2 sleep
    refused 1 "there is no room" pirn-kernel add mixer1 wave0
    killall sleep
    usleep 200000
    expect "producers that end are forgotten" 0 "$(pirn-kernel list | grep -c sleep)"
}

# While the threads of relay run.
check_unload()
{
    pirn-kernel unload
    await 5 disabled
    nothing_pinned
    expect "relay goes on" 1 "$(pidof relay | wc -w)"
    pirn-kernel load
    killall relay
    usleep 200000
    expect "consumers that end are forgotten" 0 "$(pirn-kernel list | wc -l)"
    pirn-kernel unload
}

check_partial()
{
    pirn-kernel load
    expect "the library's calls give each result" "1 test passed" "$(LD_LIBRARY_PATH=/lib calls loaded)"
    pirn-kernel unload
    pirn-kernel load --threads=asking
    LD_PRELOAD=/lib/libpirn-kernel.so relay --rounds=20 --affinity >/dev/null
    expect "threads that do not ask are not placed" 0 \
        "$(pirn-kernel counters | awk '/^(here|elsewhere|standard) /{n += $2} END {print n}')"
    LD_PRELOAD=/lib/libpirn-kernel.so pirn-kernel run relay --rounds=20 --affinity >/dev/null
    expect "those that ask are" 1 \
        "$(pirn-kernel counters | awk '/^(here|elsewhere) /{n += $2} END {print (n > 0)}')"
    pirn-kernel unload
}

# More threads than CPUs, threads that may use few CPUs, CPUs that come and go.
check_busy()
{
    pirn-kernel load --timeout=3000
    for _ in 1 2 3 4 5 6; do
        yes >/dev/null &
    done
    for mask in 0xf 0x6 0x2; do
        LD_PRELOAD=/lib/libpirn-kernel.so taskset $mask relay --rounds=20 --affinity | sed 's/ at_waker.*//'
    done
    expect "nobody starves" "loaded: pirn" "$(pirn-kernel status | cut -c1-12)"
    echo 0 >/sys/devices/system/cpu/cpu3/online
    await 5 disabled
    expect "a CPU that goes offline ends it" 1 "$(pirn-kernel status | grep -c 'going offline')"
    echo 1 >/sys/devices/system/cpu/cpu3/online
    killall yes
    pirn-kernel unload >/dev/null
    nothing_pinned
}

programs_loaded() { grep -c '\[bpf\]' /proc/kallsyms; }

# The kernel frees programs a little later.
await_programs() # how many
{
    left=50
    while [ "$(programs_loaded)" != "$1" ] && [ $left -gt 0 ]; do
        usleep 100000
        left=$((left - 1))
    done
    programs_loaded
}

# A load that fails in the middle. It needs a file descriptor for each map, program and link, one
# after another; with one more allowed each time, each step fails once.
check_undone()
{
    mount -o remount,ro /sys/fs/bpf
    refused 1 "Read-only file system" pirn-kernel load
    mount -o remount,rw /sys/fs/bpf
    before="$(programs_loaded)"
    pirn-kernel load
    expect "the programs of a loaded scheduler are seen" 1 "$(($(programs_loaded) > before))"
    pirn-kernel unload
    expect "and gone after unload" "$before" "$(await_programs "$before")"
    descriptors=4 failed=0
    while ! undone_with "$descriptors"; do
        [ "$descriptors" -lt 100 ] || break
        descriptors=$((descriptors + 1))
    done
    expect "with $descriptors file descriptors it is loaded" "loaded: pirn" "$(pirn-kernel status | cut -c1-12)"
    expect "it failed with fewer, and left nothing" 1 "$((failed == descriptors - 4 && failed > 20))"
    for step in "BPF programs" "tracepoints" "take the scheduler"; do
        expect "it failed when: $step" 1 "$(grep -c "$step" /tmp/undone | sed 's/[1-9][0-9]*/1/')"
    done
    sort /tmp/undone | uniq -c
    pirn-kernel unload
    expect "no program is left" "$before" "$(await_programs "$before")"
    rm /tmp/undone
}

# Status 0: the load succeeds. Counts in `failed` those that fail and leave nothing.
undone_with() # descriptors
{
    (ulimit -n "$1"; exec pirn-kernel load) 2>/tmp/said
    status=$?
    [ $status != 0 ] || return 0
    tail -n 1 /tmp/said >>/tmp/undone
    left="$(cat /sys/kernel/sched_ext/state) $(ls /sys/fs/bpf)"
    if [ $status = 1 ] && [ "$left" = "disabled " ]; then
        failed=$((failed + 1))
    else
        echo "FAILED: with $1 file descriptors: status $status, left: $left: $(cat /tmp/said)"
    fi
    return 1
}

# A scheduler that loses threads: the kernel ends it, and the program goes on.
check_ejected()
{
    pirn-kernel-faulty load --misbehave=stall --timeout=1000
    LD_PRELOAD=/lib/libpirn-kernel.so relay --rounds=20 --affinity | sed 's/ at_waker.*//'
    await 10 disabled
    pirn-kernel status
    expect "the reason is known" 1 "$(pirn-kernel status | grep -c 'stall')"
    pirn-kernel load
    expect "it can be loaded again" "loaded: pirn" "$(pirn-kernel status | cut -c1-12)"
    pirn-kernel unload
    nothing_pinned
}
