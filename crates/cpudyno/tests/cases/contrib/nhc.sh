#!/bin/bash
# What NHC's README says of how checks are called, and nothing else of it: lines `MASK || CHECK`, of which those whose mask
# matches the host are run one after the other; the first that fails ends it.
#
#   nhc.sh HOST FILE      exit code 0: healthy, 1: not; 124: the watchdog has ended it
#
# Masks: globs, /regular expressions/, both with ! before them. Checks: check_cmd_status -t SECONDS -r STATUS COMMAND.
set -u
timeout=${TIMEOUT:-30}
if [ -z "${WATCHED:-}" ]; then
    WATCHED=1 exec timeout --kill-after=5 "$timeout" "$0" "$@"
fi
export PATH=${CHECK_PATH:-}/sbin:/usr/sbin:/bin:/usr/bin

die() {
    echo "ERROR:  nhc:  Health check failed:  $1"
    exit 1
}

check_cmd_status() {
    local OPTIND=1 option limit=5 expected='' status=0
    while getopts t:r: option; do
        case $option in
            t) limit=$OPTARG ;;
            r) expected=$OPTARG ;;
            *) die "check_cmd_status:  Invalid option" ;;
        esac
    done
    shift $((OPTIND - 1))
    [ "$limit" -le "$timeout" ] || die "check_cmd_status:  $limit s are more than NHC's $timeout s"
    timeout --kill-after=1 "$limit" "$@" > /dev/null || status=$?
    [ "$status" = "$expected" ] || die "check_cmd_status:  $status returned by $*"
}

matches() {
    local host=$1 mask=$2 negated=1
    [[ $mask == !* ]] && { negated=0 mask=${mask#!}; }
    local found=1
    if [[ $mask == /*/ ]]; then
        mask=${mask#/}
        [[ $host =~ ${mask%/} ]] && found=0
    else
        # shellcheck disable=SC2053 # It is a glob.
        [[ $host == $mask ]] && found=0
    fi
    [ $((found ^ (1 - negated))) = 0 ]
}

while read -r mask bars check <&3 || [ -n "$mask" ]; do
    case $mask in '' | '#'*) continue ;; esac
    [ "$bars" = '||' ] || die "no check in the line of $mask"
    if matches "$1" "$mask"; then
        eval "$check"
    fi
done 3< "$2"
