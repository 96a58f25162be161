# Each measuring command again and again ($rounds times), where CPUs are not there all the time.
# round KIND COMMAND...: asks once more, and notes whether there is a record that is whole
round() {
    local kind=$1
    shift
    rm -f /tmp/record.json
    ask rounds-$kind-$turn 180 cpudyno "$@" --json /tmp/record.json $WIDE
    note rounds-$kind-$turn sh -c 'grep -q "\"schema\"" /tmp/record.json && [ "$(tail -n 1 /tmp/record.json)" = "}" ] && echo whole'
}
for turn in $(seq 1 $rounds); do
    round sheet sheet --budget 5s
    round turbo turbo --budget 2s
    round memory memory --budget 3s
    round latency memory latency --budget 3s
    round sweep memory sweep --budget 3s
    round cores cores --budget 2s
    round wake wake --budget 2s
    round openmp openmp --budget 3s
    round pause pause --budget 1s
done
