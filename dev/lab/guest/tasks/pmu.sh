# Counters of the cores.
folders="/sys/bus/event_source/devices/armv8_pmuv3* /sys/bus/event_source/devices/cpu*"
note pmu-type sh -c "cat $(echo $folders | tr ' ' '\n' | sed 's,$,/type,' | tr '\n' ' ') 2> /dev/null"
ask pmu-doctor-json 60 cpudyno doctor --format json
ask pmu-list 60 cpudyno pmu list $WIDE
ask pmu-stat 60 cpudyno pmu stat -e cycles -e instructions --json /tmp/stat.json $WIDE -- true
cp /tmp/stat.json /host/stat-record.note
ask pmu-stat-comma 60 cpudyno pmu stat -e cycles,instructions $WIDE -- true
ask pmu-stat-own 60 cpudyno pmu stat -e cpu_cycles --json /tmp/own.json $WIDE -- true
cp /tmp/own.json /host/own-record.note
ask pmu-selftest 180 cpudyno pmu selftest $WIDE
ask pmu-loop 120 cpudyno pmu kernel loop --json /tmp/loop.json $WIDE
cp /tmp/loop.json /host/loop-record.note
ask pmu-loop-own 120 cpudyno pmu kernel loop -e cpu_cycles $WIDE
ask pmu-save 120 cpudyno pmu kernel loop --save-budget /tmp/budget.json $WIDE
ask pmu-check 120 cpudyno pmu check /tmp/budget.json $WIDE
as_user pmu-loop-user 120 cpudyno pmu kernel loop $WIDE
if [ -e /proc/sys/kernel/perf_user_access ]; then
    ask pmu-closed-doctor-json 60 cpudyno doctor --format json
    echo 1 > /proc/sys/kernel/perf_user_access
    note user-access cat /proc/sys/kernel/perf_user_access
    ask pmu-open-doctor-json 60 cpudyno doctor --format json
    ask pmu-open-loop 120 cpudyno pmu kernel loop -e cpu_cycles $WIDE
fi
