# Limits of version 2 around the command.
mount -t cgroup2 none /sys/fs/cgroup
echo "+cpuset +cpu +memory" > /sys/fs/cgroup/cgroup.subtree_control
ask root-doctor-json 60 cpudyno doctor --format json
group=/sys/fs/cgroup/lab
mkdir -p $group/inner
echo "+cpuset +cpu +memory" > $group/cgroup.subtree_control
echo 1-2,5 > $group/cpuset.cpus
echo "150000 100000" > $group/cpu.max
echo 200M > $group/memory.max
note group-cpus cat $group/cpuset.cpus.effective
within $group/inner group-info-json 60 cpudyno info --format json
within $group/inner group-info 60 cpudyno info -v $WIDE
within $group/inner group-doctor-json 60 cpudyno doctor --format json
within $group/inner group-doctor 60 cpudyno doctor $WIDE
within $group/inner group-capture 60 cpudyno capture /tmp/group.capture
cp /tmp/group.capture /host/
ask group-capture-info-json 60 cpudyno info --machine /tmp/group.capture --format json
within $group/inner group-turbo 120 cpudyno turbo --test scalar_iadd --max-threads 2 $WIDE
within $group/inner group-outside 60 cpudyno turbo --cpus 0,1 --test scalar_iadd $WIDE
within $group/inner group-memory 120 cpudyno memory --budget 4s $WIDE
within $group/inner group-numa 120 cpudyno memory numa --budget 4s $WIDE
within $group/inner group-sheet 150 cpudyno sheet --budget 10s --json /tmp/group.json $WIDE
cp /tmp/group.json /host/group-record.note
note group-events cat $group/memory.events
echo 1 > $group/cpuset.mems
echo max > $group/memory.max
within $group/inner group-far-info-json 60 cpudyno info --format json
within $group/inner group-far-numa 120 cpudyno memory numa --budget 4s $WIDE
within $group/inner group-set-online 60 cpudyno set online@5=off --no-proof $WIDE
ask group-undo 60 cpudyno undo $WIDE
