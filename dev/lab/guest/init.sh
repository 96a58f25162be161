#!/bin/busybox sh
# The first process of a guest: mounts, drivers, the tasks, and the end.
/bin/busybox --install -s /bin
export PATH=/usr/local/bin:/usr/bin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for folder in /dev/shm /run /tmp; do mount -t tmpfs tmpfs $folder; done
chmod 1777 /tmp
for module in $(cat /lib/modules/early); do insmod "$module"; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 host /host || poweroff -f
cut -d' ' -f1 /proc/uptime > /host/began
. /host/tasks.sh
dmesg > /host/kernel.log
cut -d' ' -f1 /proc/uptime > /host/ended
sync
umount /host
poweroff -f
