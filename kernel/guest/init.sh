#!/bin/busybox sh
# SPDX-License-Identifier: MIT
#
# The guest's first process: makes a small system, runs all.sh with its output on the second serial
# port, and turns the machine off.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debugfs /sys/kernel/debug
mount -t tmpfs tmp /tmp
ip link set lo up
stty -F /dev/ttyS1 raw
sh /guest/all.sh >/dev/ttyS1 2>&1 </dev/null
sync
poweroff -f
