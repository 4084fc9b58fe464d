# SPDX-License-Identifier: MIT
#
# A situation of steps.c, and the scheduler's trace of it. Run in the guest, by all.sh. The events
# wait in the buffer until all is over: a program that fetched them would run in between, and its own
# events with it. CPUs take nothing late, and no thread's slice ends, unless the situation's options
# say so.

steps_play() # pirn-kernel or pirn-kernel-faulty, situation, plays, options of load...
{
    loader="$1" situation="$2" plays="$3"
    shift 3
    damon=/sys/module/damon_stat/parameters/enabled # a thread of the kernel, each 5 ms
    [ ! -w $damon ] || echo N >$damon
    "$loader" load --late=1000000 --slice=1000000 "$@" || return 1
    rm -f /tmp/events
    pirn-kernel events --all >/tmp/events & watcher=$!
    while [ ! -s /tmp/events ]; do usleep 5000; done
    kill -STOP $watcher
    LD_PRELOAD=/lib/libpirn-kernel.so steps --plays="$plays" "$situation"
    status=$?
    kill -CONT $watcher
    usleep 50000
    kill -TERM $watcher
    wait $watcher
    grep -v '  pirn-kernel  ' /tmp/events
    pirn-kernel counters | grep dropped
    pirn-kernel unload && ( exit $status )
}
