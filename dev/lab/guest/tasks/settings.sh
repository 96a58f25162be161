# What is set is there, and undone without a trace: in peace, after a kill at any moment, after a deadline.
note settings-before settings
ask set-thp 120 cpudyno set thp=never $WIDE
note settings-thp settings
ask undo-thp 60 cpudyno undo $WIDE
note settings-thp-undone settings

ask set-online 120 cpudyno set online@3=off --force $WIDE
note settings-online settings
ask set-online-info-json 60 cpudyno info --format json
ask undo-online 60 cpudyno undo $WIDE
note settings-online-undone settings

ask set-many 120 cpudyno set thp=madvise huge_pages=8 numa_balancing=0 thp_defrag=never --no-proof $WIDE
note settings-many settings
ask undo-many 60 cpudyno undo $WIDE
note settings-many-undone settings

for delay in 0.05 0.2 0.6 1.5; do
    cpudyno set thp=never huge_pages=16 numa_balancing=0 > /dev/null 2>&1 < /dev/null &
    sleep $delay
    kill -9 $! 2> /dev/null
    wait $! 2> /dev/null
    ask undo-killed-$delay 60 cpudyno undo $WIDE
    note settings-killed-$delay settings
done

ask set-for 60 cpudyno set thp=never --for 2s --no-proof $WIDE
note settings-for settings
ask undo-nothing 60 cpudyno undo $WIDE
ask quiet 60 cpudyno quiet thp=never $WIDE -- cat /sys/kernel/mm/transparent_hugepage/enabled
note settings-quiet settings
ask set-first 60 cpudyno set online@0=off $WIDE
ask undo-first 60 cpudyno undo $WIDE
ask set-absent 60 cpudyno set online@99=off $WIDE
as_user set-user 60 cpudyno set thp=never $WIDE
note settings-refused settings
