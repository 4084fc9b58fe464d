#!/bin/busybox sh
# SPDX-License-Identifier: MIT
#
# The guest's first process: mounts the root file system from the disk and folders of the host at
# the same places as there, and goes on with start.sh in that system. /guest/load names modules in
# the order of loading; a line of /guest/folders is a tag, ro or rw, and a path.
/bin/busybox --install -s /bin
export PATH=/bin
stop()
{
    echo "init: $*" >/dev/console
    sleep 1
    poweroff -f
}
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do
    insmod "/guest/modules/$module" || stop "module $module cannot be loaded"
done </guest/load
mount -t ext4 /dev/vda /new || stop "the disk cannot be mounted"
for each in proc sys dev; do mount --move "/$each" "/new/$each"; done
mount -t tmpfs run /new/run
mount -t tmpfs tmp /new/tmp
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts pts /new/dev/pts
mount -t tmpfs shm /new/dev/shm
mount -t cgroup2 cgroup /new/sys/fs/cgroup
while read -r tag mode path; do
    options="trans=virtio,version=9p2000.L,msize=262144"
    mkdir -p "/new$path"
    if [ "$mode" = rw ]; then
        mount -t 9p -o "$options,cache=none" "$tag" "/new$path" || stop "$path cannot be mounted"
        continue
    fi
    # What tests write beside their programs stays in the guest.
    mkdir -p "/new/run/$tag/host" "/new/run/$tag/new" "/new/run/$tag/work"
    mount -t 9p -o "$options,cache=loose,ro" "$tag" "/new/run/$tag/host" || stop "$path cannot be mounted"
    mount -t overlay -o "lowerdir=/new/run/$tag/host,upperdir=/new/run/$tag/new,workdir=/new/run/$tag/work" \
        overlay "/new$path" || stop "$path cannot be mounted"
done </guest/folders
cp /guest/start.sh /new/run/start.sh
exec switch_root /new /bin/busybox sh /run/start.sh
