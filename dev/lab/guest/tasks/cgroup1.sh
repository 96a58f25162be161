# Limits of version 1 around the command.
mount -t tmpfs tmpfs /sys/fs/cgroup
for name in cpuset cpu memory; do
    mkdir /sys/fs/cgroup/$name
    mount -t cgroup -o $name none /sys/fs/cgroup/$name
done
ask root-doctor-json 60 cpudyno doctor --format json
for name in cpuset cpu memory; do mkdir -p /sys/fs/cgroup/$name/lab; done
echo 1-2,5 > /sys/fs/cgroup/cpuset/lab/cpuset.cpus
echo 0-1 > /sys/fs/cgroup/cpuset/lab/cpuset.mems
echo 150000 > /sys/fs/cgroup/cpu/lab/cpu.cfs_quota_us
echo 200M > /sys/fs/cgroup/memory/lab/memory.limit_in_bytes
note group-cpus cat /sys/fs/cgroup/cpuset/lab/cpuset.cpus
inside() {
    local label=$1 limit=$2
    shift 2
    ask "$label" "$limit" sh -c 'for group in /sys/fs/cgroup/*/lab; do echo $$ > $group/cgroup.procs || exit 99; done; exec "$@"' sh "$@"
}
inside group-info-json 60 cpudyno info --format json
inside group-doctor-json 60 cpudyno doctor --format json
inside group-doctor 60 cpudyno doctor $WIDE
inside group-capture 60 cpudyno capture /tmp/group.capture
ask group-capture-info-json 60 cpudyno info --machine /tmp/group.capture --format json
inside group-turbo 120 cpudyno turbo --test scalar_iadd --max-threads 2 $WIDE
inside group-memory 120 cpudyno memory --budget 4s $WIDE
inside group-numa 120 cpudyno memory numa --budget 4s $WIDE
inside group-sheet 150 cpudyno sheet --budget 10s --json /tmp/group.json $WIDE
cp /tmp/group.json /host/group-record.note
inside group-outside 60 cpudyno turbo --cpus 0,1 --test scalar_iadd $WIDE
note group-events cat /sys/fs/cgroup/memory/lab/memory.oom_control
