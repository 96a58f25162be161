#!/bin/bash
# A cluster of Slurm whose nodes n1, n2, ... are all this machine.
#
#   cluster.sh up DIR NODES PORT [FILE]   starts it; all its files are below DIR, its ports are PORT and the NODES after
#                                         it; lines of FILE are more of its configuration
#   cluster.sh down DIR                   ends what was started, and nothing else
#
# It has a munged of its own, so that none of the system is touched. Needs root, as slurmd does.
set -euo pipefail
dir=$2

down() {
    for file in "$dir"/pids/n*.pid "$dir"/pids/slurmctld.pid "$dir"/pids/munged.pid; do
        [ -s "$file" ] && kill "$(cat "$file")" 2>/dev/null || true
    done
}

configuration() {
    cat <<CONF
ClusterName=cpudyno
SlurmctldHost=localhost
SlurmctldPort=$port
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
SlurmctldPidFile=$dir/pids/slurmctld.pid
SlurmdPidFile=$dir/pids/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n[1-$nodes] NodeHostname=localhost Port=[$((port + 1))-$((port + nodes))] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:4
CONF
}

up() {
    mkdir -p "$dir"/{munge,state,spool,log,pids}
    chmod 755 "$dir" "$dir"/munge
    (umask 077; head -c 1024 /dev/urandom > "$dir/munge/key")
    configuration > "$dir/slurm.conf"
    [ -z "$more" ] || cat "$more" >> "$dir/slurm.conf"
    munged --force --socket="$dir/munge/socket" --key-file="$dir/munge/key" \
        --pid-file="$dir/pids/munged.pid" --log-file="$dir/log/munged" --seed-file="$dir/munge/seed" \
        > "$dir/log/munged.out" 2>&1
    slurmctld -f "$dir/slurm.conf"
    for node in $(seq "$nodes"); do
        mkdir -p "$dir/spool/n$node"
        slurmd -f "$dir/slurm.conf" -N "n$node"
    done
    export SLURM_CONF=$dir/slurm.conf
    for _ in $(seq 300); do
        [ "$(sinfo -h -N -t idle -o %N | wc -l)" -ge "$nodes" ] && return
        sleep 0.2
    done
    echo "not all of $nodes nodes became idle" >&2
    tail -n 20 "$dir"/log/* >&2
    exit 1
}

case $1 in
    up) nodes=$3 port=$4 more=${5-}; up ;;
    down) down ;;
esac
