# Little memory of a control group, from the least that is promised on.
mount -t cgroup2 none /sys/fs/cgroup
echo "+cpu +memory" > /sys/fs/cgroup/cgroup.subtree_control
for mib in 100 150 200 300; do
    group=/sys/fs/cgroup/memory-$mib
    mkdir -p $group
    echo ${mib}M > $group/memory.max
    within $group oom-$mib-sheet 120 cpudyno sheet --budget 10s --json /tmp/oom.json $WIDE
    within $group oom-$mib-memory 120 cpudyno memory --budget 4s $WIDE
    within $group oom-$mib-latency 120 cpudyno memory latency --budget 4s $WIDE
    within $group oom-$mib-sweep 120 cpudyno memory sweep --budget 4s $WIDE
    within $group oom-$mib-turbo 120 cpudyno turbo --neighbours --budget 5s $WIDE
    note oom-$mib cat $group/memory.events
done
