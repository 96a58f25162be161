# What tasks are written with. Whatever is kept is a file in the folder that the host shares.
WIDE="--width 200"
USER_HOME=/tmp/user
mkdir -p $USER_HOME && chown 1000:1000 $USER_HOME

# ask LABEL SECONDS COMMAND...: keeps command, output, errors, and how it ended: exit code, seconds
ask() {
    local label=$1 limit=$2
    shift 2
    echo "$*" > "/host/$label.cmd"
    begun=$(cut -d' ' -f1 /proc/uptime)
    timeout -s KILL "$limit" "$@" > /tmp/.out 2> /tmp/.err < /dev/null
    code=$?
    now=$(cut -d' ' -f1 /proc/uptime)
    cp /tmp/.out "/host/$label.out"
    cp /tmp/.err "/host/$label.err"
    echo "$code $(awk "BEGIN { print $now - $begun }")" > "/host/$label.end"
}

# as_user LABEL SECONDS COMMAND...: the same without any rights
as_user() {
    local label=$1 limit=$2
    shift 2
    # The shell's own tool of that name takes fewer options.
    ask "$label" "$limit" /usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs env HOME=$USER_HOME "$@"
}

# note NAME COMMAND...: keeps what the kernel says, without judging it
note() {
    local name=$1
    shift
    "$@" > "/host/$name.note" 2>&1 < /dev/null
}

# within GROUP LABEL SECONDS COMMAND...: asks from within a control group
within() {
    local group=$1 label=$2 limit=$3
    shift 3
    ask "$label" "$limit" sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

# drivers: the ones that are no part of the kernel, as far as this machine takes them
drivers() {
    for module in $(cat /lib/modules/later); do insmod "$module" 2> /dev/null; done
}

# settings: the state of everything that tasks set
settings() {
    cat /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag \
        /sys/devices/system/cpu/online /proc/sys/vm/nr_hugepages /proc/sys/kernel/numa_balancing \
        /sys/devices/system/cpu/smt/control 2>&1
}
