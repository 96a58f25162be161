# The host stands still for ten seconds in the middle of a measurement, and the guest's clock does not.
# stopped KIND COMMAND...: asks while the host is asked to stand still
stopped() {
    local kind=$1
    shift
    (sleep 3; touch /host/suspend) &
    ask suspend-$kind 180 cpudyno "$@" --json /tmp/$kind.json $WIDE
    wait
    cp /tmp/$kind.json /host/suspend-$kind.note
    while [ -e /host/suspend ]; do sleep 1; done
}
stopped turbo turbo --test scalar_iadd --budget 8s
stopped memory memory --budget 8s
stopped wake wake --budget 8s
stopped top top -i 1s -n 8
