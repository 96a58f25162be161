# SMT as a setting; CPUs that the kernel keeps off; what cannot be had.
drivers
note settings-smt-before settings
ask smt-off 120 cpudyno set smt=off $WIDE
note settings-smt-off settings
ask smt-off-info-json 60 cpudyno info --format json
ask undo-smt-off 60 cpudyno undo $WIDE
note settings-smt-off-undone settings
ask smt-on 120 cpudyno set smt=on $WIDE
note settings-smt-on settings
ask undo-smt-on 60 cpudyno undo $WIDE
note settings-smt-on-undone settings
ask smt-online 60 cpudyno set online@1=on $WIDE
ask undo-smt-online 60 cpudyno undo $WIDE
note settings-smt-online-undone settings
cpudyno set smt=off > /dev/null 2>&1 < /dev/null &
sleep 0.9
kill -9 $! 2> /dev/null
wait $! 2> /dev/null
ask undo-smt-killed 60 cpudyno undo $WIDE
note settings-smt-killed settings
ask smt-prefetch 120 cpudyno set prefetch.l2=off $WIDE
ask undo-smt-prefetch 60 cpudyno undo $WIDE
ask smt-too-many 120 cpudyno set huge_pages=1000000 $WIDE
ask undo-smt-too-many 60 cpudyno undo $WIDE
note settings-smt-after settings
