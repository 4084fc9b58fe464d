#!/bin/busybox sh
# SPDX-License-Identifier: MIT
#
# Runs in the guest's root file system after init.sh: what the scripts of packages would have done,
# then the plan of `pirn guest`, or a shell on a terminal. Turns the machine off. system.py
# puts values for TOOLS, OUT and SHELL.
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C
exec >"@OUT@/system.txt" 2>&1 </dev/null
uname -a
ldconfig
ip link set lo up
hostname guest
ulimit -n 65536
ulimit -c 0
terminal="@SHELL@"
if [ -n "$terminal" ]; then
    setsid -c bash -i <"/dev/$terminal" >"/dev/$terminal" 2>&1
else
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="@TOOLS@" python3 -m pirn_tools.guest.inside "@OUT@"
    echo "the plan ended with status $?"
fi
sync
poweroff -f
