# CPUs go and come: before, during and after.
folder=/sys/devices/system/cpu
echo 0 > $folder/cpu3/online
echo 0 > $folder/cpu5/online
note hotplug-online cat $folder/online
ask off-info-json 60 cpudyno info --format json
ask off-info 60 cpudyno info -v $WIDE
ask off-doctor 60 cpudyno doctor $WIDE
ask off-settings 60 cpudyno settings $WIDE
ask off-capture 60 cpudyno capture /tmp/off.capture
ask off-capture-info-json 60 cpudyno info --machine /tmp/off.capture --format json
ask off-top 60 cpudyno top --once $WIDE
ask off-turbo 120 cpudyno turbo --test scalar_iadd --max-threads 4 $WIDE
ask off-turbo-3 60 cpudyno turbo --test scalar_iadd --cpus 3 $WIDE
ask off-set-3 60 cpudyno set online@3=on $WIDE
note hotplug-set cat $folder/online
ask off-undo-3 60 cpudyno undo $WIDE
note hotplug-undone cat $folder/online
echo 1 > $folder/cpu3/online
echo 1 > $folder/cpu5/online

(sleep 8; echo 0 > $folder/cpu6/online) &
ask gone-turbo 120 cpudyno turbo --test scalar_iadd --cpus 0,2,4,6 --budget 12s $WIDE
wait
echo 1 > $folder/cpu6/online

for cpu in 4 5 6 7; do echo 0 > $folder/cpu$cpu/online; done
ask node-off-info-json 60 cpudyno info --format json
ask node-off-numa 120 cpudyno memory numa --budget 16s --json /tmp/node-off.json $WIDE
cp /tmp/node-off.json /host/node-off-record.note
ask node-off-plan 60 cpudyno sheet --dry-run $WIDE
for cpu in 4 5 6 7; do echo 1 > $folder/cpu$cpu/online; done

(sleep 2; echo 0 > $folder/cpu6/online; sleep 2; echo 1 > $folder/cpu6/online) &
ask hotplug-top 60 cpudyno top -i 1s -n 6 $WIDE
wait
note hotplug-after cat $folder/online
