# Installs PACKAGE into an empty root, verifies and erases it: PACKAGE WORK.
# What it mounts is gone with it: it has a room of its own. Files of the package are printed, a line each.
package=$1 work=$2
mount -t tmpfs tmpfs "$work"
inside() {
    rpm --root "$work" --dbpath /var/lib/rpm "$@"
}

inside --initdb
before=$(find "$work" -not -type d -not -path "$work/var/lib/rpm/*")
# The root is empty: what the package needs is not there.
inside --install --nodeps --nosignature "$package" >&2
scripts=$(inside --query --scripts --triggers --filetriggers cpudyno)
[ -z "$scripts" ] || { echo "it runs something when it is installed: $scripts" >&2; exit 1; }
inside --verify --nodeps cpudyno >&2
for file in $(inside --query --list cpudyno); do
    [ -d "$work$file" ] || echo "$file"
done

inside --erase cpudyno >&2
after=$(find "$work" -not -type d -not -path "$work/var/lib/rpm/*")
[ "$before" = "$after" ] || { echo "not as before: $after" >&2; exit 1; }
left=$(find "$work" -name '*cpudyno*')
[ -z "$left" ] || { echo "left: $left" >&2; exit 1; }
