# CPUs that the scheduler leaves alone.
ask isolated-turbo-2 90 cpudyno turbo --cpus 2 --test scalar_iadd $WIDE
ask isolated-turbo-23 90 cpudyno turbo --cpus 2,3 --test scalar_iadd $WIDE
ask isolated-allowed-turbo 90 taskset -c 0-2 cpudyno turbo --cpus 2 --test scalar_iadd $WIDE
ask isolated-plan 60 cpudyno sheet --cpus 0-7 --dry-run $WIDE
ask isolated-mask-info-json 60 taskset 0x24 cpudyno info --format json
ask isolated-mask-turbo 90 taskset 0x20 cpudyno turbo --test scalar_iadd $WIDE
