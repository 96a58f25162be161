# The time of day jumps by an hour, ahead and back, in the middle of a run.
now() { date +%s; }
(sleep 2; date -s @$(($(now) + 3600)) > /dev/null) &
ask clock-ahead 90 cpudyno pause --budget 5s --json /tmp/ahead.json $WIDE
wait
cp /tmp/ahead.json /host/ahead-record.note
(sleep 2; date -s @$(($(now) - 3600)) > /dev/null) &
ask clock-back 90 cpudyno pause --budget 5s --json /tmp/back.json $WIDE
wait
cp /tmp/back.json /host/back-record.note
(sleep 1; date -s @$(($(now) + 3600)) > /dev/null) &
ask clock-top 60 cpudyno top -i 1s -n 4 $WIDE
wait
ask clock-set 60 cpudyno set thp=never --for 2s --no-proof $WIDE
note settings-clock settings
