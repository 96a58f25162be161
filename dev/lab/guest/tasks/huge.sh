# Huge pages that one node has and the other one lacks.
pages() { cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages; }
note huge-pages pages
ask huge-info-json 60 cpudyno info --format json
ask huge-doctor-json 60 cpudyno doctor --format json
ask huge-latency 120 cpudyno memory latency --pages 2m --length 16MiB --budget 6s $WIDE
ask huge-numa 150 cpudyno memory numa --pages 2m --length 8MiB --budget 8s --json /tmp/huge.json $WIDE
cp /tmp/huge.json /host/huge-record.note
ask huge-numa-all 150 cpudyno memory numa --pages 2m --budget 8s $WIDE
ask huge-set 90 cpudyno set huge_pages=100 $WIDE
note huge-pages-set pages
ask huge-undo 60 cpudyno undo $WIDE
note huge-pages-undone pages
