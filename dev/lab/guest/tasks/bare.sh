# Files that are nearly always there are not.
umount /dev/shm /dev/pts
ask bare-shm-turbo 60 cpudyno turbo --test scalar_iadd --max-threads 1 $WIDE
umount /sys
ask bare-sys-info 60 cpudyno info -v $WIDE
ask bare-sys-doctor 60 cpudyno doctor $WIDE
ask bare-sys-settings 60 cpudyno settings $WIDE
ask bare-sys-turbo 90 cpudyno turbo --test scalar_iadd --max-threads 2 $WIDE
ask bare-sys-sheet 150 cpudyno sheet --budget 8s $WIDE
ask bare-sys-set 60 cpudyno set thp=never $WIDE
mount -t sysfs sysfs /sys
cat /proc/uptime > /tmp/uptime
mkdir -p /tmp/proc
mount --move /proc /tmp/proc
# The library tells the time by /proc.
mkdir -p /proc && cp /tmp/uptime /proc/uptime
ask bare-proc-info 60 cpudyno info -v $WIDE
ask bare-proc-doctor 60 cpudyno doctor $WIDE
ask bare-proc-turbo 90 cpudyno turbo --test scalar_iadd --max-threads 2 $WIDE
rm /proc/uptime
mount --move /tmp/proc /proc
