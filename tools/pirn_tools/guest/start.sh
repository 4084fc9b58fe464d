#!/bin/busybox sh
# SPDX-License-Identifier: MIT
#
# Runs in the guest's root file system after init.sh: what the scripts of packages would have done,
# then the plan of `pirn guest`. Turns the machine off. @TOOLS@ and @OUT@ are replaced.
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C
exec >"@OUT@/system.txt" 2>&1 </dev/null
uname -a
ldconfig
ip link set lo up
hostname guest
ulimit -n 65536
ulimit -c 0
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="@TOOLS@" python3 -m pirn_tools.guest.inside "@OUT@"
echo "the plan ended with status $?"
sync
poweroff -f
