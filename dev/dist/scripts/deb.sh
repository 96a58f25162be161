# Installs PACKAGE into a copy of the clean ROOT, runs it there, purges it, and compares: ROOT PACKAGE WORK.
# What it mounts is gone with it: it has a room of its own. Files of the package are printed, a line each.
root=$1 package=$2 work=$3
mount -t tmpfs tmpfs "$work"
cp -a "$root/." "$work/"
mount -t proc proc "$work/proc"
mount --rbind /sys "$work/sys"

# All but what dpkg itself keeps: its books.
list() {
    (cd "$work" && find . \( -path ./proc -o -path ./sys -o -path ./var/log -o -path ./var/lib/dpkg \) -prune -o -print | sort)
}
inside() {
    chroot "$work" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}

before=$(list)
cp "$package" "$work/package.deb"
inside dpkg --install /package.deb >&2
rm "$work/package.deb"

# Nothing is run when it is installed, and nothing is enabled.
books=$(cd "$work/var/lib/dpkg/info" && echo cpudyno.*)
[ "$books" = "cpudyno.list cpudyno.md5sums" ] || { echo "dpkg has more of it: $books" >&2; exit 1; }

changed=$(inside dpkg --verify cpudyno)
[ -z "$changed" ] || { echo "dpkg says of its files: $changed" >&2; exit 1; }
inside cpudyno --version >&2
inside cpudyno info >&2
inside cpudyno doctor >&2
for file in $(inside dpkg --listfiles cpudyno); do
    [ -d "$work$file" ] || echo "$file"
done

inside dpkg --purge cpudyno >&2
after=$(list)
if [ "$before" != "$after" ]; then
    echo "not as before:" >&2
    echo "$before" > "$work/before"
    echo "$after" | diff "$work/before" - >&2
    exit 1
fi
left=$(grep -l cpudyno "$work/var/lib/dpkg/status" || true)
[ -z "$left" ] || { echo "dpkg still knows it" >&2; exit 1; }
