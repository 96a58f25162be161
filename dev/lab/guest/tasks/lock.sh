# What a locked kernel refuses is foreseen, and named as the lock's doing.
drivers
ask lock-unmounted-doctor-json 60 cpudyno doctor --format json
mount -t securityfs securityfs /sys/kernel/security
note lockdown cat /sys/kernel/security/lockdown
ask lock-doctor-json 60 cpudyno doctor --format json
ask lock-doctor 60 cpudyno doctor $WIDE
ask lock-settings 60 cpudyno settings $WIDE
note settings-lock-before settings
ask lock-set 60 cpudyno set prefetch.l2=off $WIDE
ask lock-set-pair 60 cpudyno set thp=never prefetch.l2=off $WIDE
note settings-lock-refused settings
ask lock-undo 60 cpudyno undo $WIDE
