# Unpacks LAYER, and runs its program as USER, which sees its host below /host: LAYER USER WORK.
layer=$1 user=$2 work=$3
mount -t tmpfs tmpfs "$work"
tar --extract --gzip --file "$layer" --directory "$work"
mkdir "$work/host" "$work/proc" "$work/sys"
mount --rbind / "$work/host"
mount -t proc proc "$work/proc"
mount --rbind /sys "$work/sys"
inside() {
    chroot --userspec="$user" "$work" /usr/bin/cpudyno "$@"
}

inside --version
model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
seen=$(inside --root /host info --verbose)
# CPUs of other makers have no name there.
if [ -n "$model" ]; then
    case $seen in *"$model"*) ;; *) echo "of the host it does not see $model: $seen" >&2; exit 1 ;; esac
fi
