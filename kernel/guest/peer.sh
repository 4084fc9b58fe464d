# SPDX-License-Identifier: MIT
#
# A scheduler of others, which is loaded as long as its program runs. Run in the guest, by all.sh,
# after checks.sh.

peer_begin() # command...
{
    "$@" >/tmp/peer 2>&1 &
    peer=$!
    loaded="$(await 60 enabled)"
    case "$loaded" in ok*) return 0 ;; esac
    echo "$loaded"
    tail -n 4 /tmp/peer | sed 's/^/FAILED: it said: /'
    kill "$peer" 2>/dev/null
    return 1
}

# What ran under it counts only if the kernel has not ended the scheduler meanwhile.
peer_end()
{
    expect "$(cat /sys/kernel/sched_ext/root/ops) is loaded to the end" enabled \
        "$(cat /sys/kernel/sched_ext/state)"
    kill "$peer"
    wait "$peer"
    await 20 disabled
}
