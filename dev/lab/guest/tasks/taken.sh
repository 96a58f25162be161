# Memory that goes away while something is measured in it, and memory that a group may not have.
drivers
# field NAME: of /proc/meminfo
field() { awk -v name="$1:" '$1 == name { print $2 }' /proc/meminfo; }
# left NAME KIB: waits until no more than that is left of it, for the time that a guest needs
left() {
    for turn in $(seq 40); do
        [ "$(field "$1")" -le "$2" ] && return
        sleep 0.5
    done
}

note balloon-before field MemTotal
# The host wants it back: a balloon takes 1,200 of 2,048 MiB.
(sleep 3; echo 848 > /host/balloon) &
ask balloon-memory 180 cpudyno memory --budget 12s --json /tmp/balloon.json $WIDE
wait
cp /tmp/balloon.json /host/balloon-record.note
left MemTotal 800000
note balloon-after field MemTotal
ask balloon-sheet 180 cpudyno sheet --budget 10s $WIDE
ask balloon-info-json 60 cpudyno info --format json
echo 2048 > /host/balloon
sleep 5

# Blocks are taken off: all that the kernel lets go of.
blocks=/sys/devices/system/memory
off() { for state in $blocks/memory*/state; do echo offline > $state; done 2> /dev/null; }
note blocks-before field MemTotal
(sleep 3; off) &
ask blocks-memory 180 cpudyno memory --budget 12s --json /tmp/blocks.json $WIDE
wait
cp /tmp/blocks.json /host/blocks-record.note
note blocks-after field MemTotal
ask blocks-info-json 60 cpudyno info --format json
ask blocks-sheet 180 cpudyno sheet --budget 10s $WIDE
for state in $blocks/memory*/state; do echo online_movable > $state; done 2> /dev/null

# A group may have two of the 32 huge pages that there are, or none, or may map two.
mount -t cgroup2 none /sys/fs/cgroup
echo "+cpu +memory +hugetlb" > /sys/fs/cgroup/cgroup.subtree_control
# limited GROUP FILE LIMIT
limited() {
    local group=/sys/fs/cgroup/huge-$1
    mkdir -p $group
    echo $3 > $group/hugetlb.2MB.$2
    within $group huge-$1-latency 120 cpudyno memory latency --pages 2m --length 16MiB --budget 4s $WIDE
    within $group huge-$1-memory 120 cpudyno memory --pages 2m --length 8MiB --budget 5s $WIDE
    within $group huge-$1-sheet 120 cpudyno sheet --budget 10s $WIDE
    within $group huge-$1-doctor 60 cpudyno doctor -v $WIDE
    note huge-$1 cat $group/hugetlb.2MB.events
}
limited max max 4M
limited none max 0
limited mapped rsvd.max 4M
