# What measures nothing: as root, as a plain user, and of a capture.
ask driverless-doctor 60 cpudyno doctor $WIDE
drivers
note online cat /sys/devices/system/cpu/online
note clocksource cat /sys/devices/system/clocksource/clocksource0/current_clocksource
ask info-json 60 cpudyno info --format json
ask info 60 cpudyno info -v $WIDE
ask doctor-json 60 cpudyno doctor --format json
ask doctor 60 cpudyno doctor $WIDE
ask settings-json 60 cpudyno settings --format json
ask settings-page 60 cpudyno settings -v $WIDE
ask capture 180 cpudyno capture /tmp/machine.capture
cp /tmp/machine.capture /host/
chmod 644 /tmp/machine.capture
ask capture-info-json 60 cpudyno info --machine /tmp/machine.capture --format json
ask capture-doctor 60 cpudyno doctor --machine /tmp/machine.capture $WIDE
as_user user-info-json 60 cpudyno info --format json
as_user user-doctor 60 cpudyno doctor $WIDE
ask sheet-plan 60 cpudyno sheet --dry-run $WIDE
ask top 60 cpudyno top --once $WIDE
