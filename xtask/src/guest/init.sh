#!/bin/busybox sh
# The first program of a guest, from its initramfs: mounts the host's tree, read-only and below a
# tmpfs, and goes on there.
export PATH=/bin
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /share /upper /new
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do
    insmod "$module"
done
. /guest/settings
case $KIND in
uml) mount -t hostfs -o /tmp/share none /share ;;
cloud) mount -t virtiofs share /share ;;
esac
mount -t tmpfs upper /upper
mkdir /upper/files /upper/work
layers="lowerdir=/share/tree:/share/host,upperdir=/upper/files,workdir=/upper/work"
mount -t overlay -o "$layers" root /new
mkdir -p /new/exchange /new/mnt/t
mount --bind /share/exchange /new/exchange
mount -t tmpfs run /new/run
cp -r /guest /new/run/guest
mount --move /proc /new/proc
mount --move /sys /new/sys
mount --move /dev /new/dev
exec switch_root /new /bin/sh /run/guest/start
