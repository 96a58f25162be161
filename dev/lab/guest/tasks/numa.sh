# From each node to each.
ask numa-plan 60 cpudyno memory numa --dry-run $WIDE
ask numa 150 cpudyno memory numa --budget 24s --json /tmp/numa.json $WIDE
cp /tmp/numa.json /host/numa-record.note
