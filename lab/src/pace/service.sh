#!/bin/bash
# Arguments: a folder for what is changed, the program, the units, a block device with an ext4. Boots
# systemd over this machine's files in namespaces of its own, has it run the service there, and
# prints what it saw, a `name=value` each.
set -euo pipefail
folder=$1 trimpace=$2 units=$3 device=$4
root=$folder/root seen=$folder/seen
mount --make-rprivate /
# What is changed lies in memory, and goes with the namespace.
mount -t tmpfs none "$folder"
mkdir -p "$folder"/{upper,work} "$root" "$seen"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$root"
install -m 755 "$trimpace" "$root/usr/sbin/trimpace"
mkdir -p "$root/etc/systemd/system/multi-user.target.wants" "$root/data" "$root/seen"
for unit in "$units"/*; do
    # It is a container, and meant.
    sed '/^ConditionVirtualization/d' "$unit" >"$root/etc/systemd/system/${unit##*/}"
done
# /dev is this machine's, and stays as it is.
for unit in systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
    systemd-udev-trigger.service systemd-tmpfiles-setup-dev.service; do
    ln -s /dev/null "$root/etc/systemd/system/$unit"
done
rm -f "$root/etc/systemd/system/timers.target.wants/fstrim.timer"
: >"$root/etc/machine-id"
printf '%s\n' 'metrics = "/var/lib/trimpace/trimpace.prom"' '[[mount]]' 'path = "/data"' >"$root/etc/trimpace.toml"
cat >"$root/etc/systemd/system/look.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/seen/look.sh
UNIT
ln -s /etc/systemd/system/look.service "$root/etc/systemd/system/multi-user.target.wants/look.service"
cat >"$seen/look.sh" <<LOOK
#!/bin/bash
exec >/seen/figures 2>/seen/errors
mount --make-rshared /
discarded() { awk '{ print \$14 * 512 }' /sys/block/${device##*/}/stat; }
# within SECONDS WORDS: whether the status has these words in time.
within() {
    local end=\$((SECONDS + \$1))
    until trimpace status 2>/dev/null | grep -q "\$2"; do
        [ \$SECONDS -lt \$end ] || { echo 0; return; }
        sleep 0.2
    done
    echo 1
}
mount $device /data
before=\$(discarded)
systemctl start trimpace.service
echo trimmed=\$(within 30 'next .*; last')
echo discarded=\$((\$(discarded) - before))
echo shortened=\$(journalctl -u trimpace.service | grep -c 'discards of at most')
umount /data && echo unmounted=1
echo absent=\$(within 30 'is not mounted')
mount $device /data
echo returned=\$(within 30 'next .*; last')
begun=\$(date +%s%N)
systemctl stop trimpace.service
echo stop_ms=\$(((\$(date +%s%N) - begun) / 1000000))
systemctl start trimpace.service
echo remembered=\$(within 30 'next .*; last')
echo once=\$((\$(discarded) - before))
systemctl start trimpace-once.timer
echo timer=\$(systemctl list-timers --all | grep -c 'trimpace-once.timer')
echo end=1
systemctl poweroff --force --force
LOOK
chmod +x "$seen/look.sh"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
group=$root/sys/fs/cgroup/trimpace-lab-$$
mkdir "$group"
echo $$ >"$group/cgroup.procs"
umount "$root/sys/fs/cgroup"
mount -t tmpfs none "$root/run"
mount -t tmpfs none "$root/tmp"
mount --bind "$seen" "$root/seen"
# It ends when its first process does: whatever that comes to, what was seen counts.
unshare --cgroup --pid --fork --kill-child bash -c "mount -t proc proc '$root/proc'
    mount -t cgroup2 none '$root/sys/fs/cgroup'
    exec chroot '$root' /usr/bin/env -i container=lxc /lib/systemd/systemd --unit=multi-user.target" \
    </dev/null >"$seen/boot" 2>&1 || :
cat "$seen/figures" || { tail -n 20 "$seen/boot" >&2; exit 1; }
