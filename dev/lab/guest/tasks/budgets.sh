# Time is kept to while nothing else runs.
ask budget-top 60 cpudyno top --once $WIDE
ask budget-cores 200 cpudyno cores --budget 5s $WIDE
ask budget-wake 200 cpudyno wake --budget 5s $WIDE
ask budget-openmp 200 cpudyno openmp --budget 6s $WIDE
ask budget-memory 240 cpudyno memory --budget 5s $WIDE
ask budget-sheet 240 cpudyno sheet --budget 10s $WIDE
for time in 1 2 3; do ask budget-pause-$time 60 cpudyno pause --budget 1s $WIDE; done
