# Runs in the tree of the host that the guest sees: runs the script between `began` and `ended
# STATUS`, which it writes for the harness, and switches the guest off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
. /run/guest/settings
export DISKS
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/mounts /etc/mtab 2>/dev/null
ln -s fd/0 /dev/stdin
ln -s fd/1 /dev/stdout
ln -s fd/2 /dev/stderr
busybox hostname guest
busybox ip link set lo up
# The channels to the host. A terminal must not change what passes.
case $KIND in
uml)
    out=/dev/ttyS0 err=/dev/ttyS1 control=/dev/ttyS2
    for channel in $out $err $control; do
        stty -F $channel raw -echo
    done
    ;;
cloud)
    for port in /sys/class/virtio-ports/*; do
        read -r name <"$port/name"
        eval "$name=/dev/${port##*/}"
    done
    modprobe virtio_blk
    ;;
esac
# Pipes, so that programs do not believe that they print on a terminal.
mkfifo /run/guest/out /run/guest/err
cat /run/guest/out >"$out" &
out_copied=$!
cat /run/guest/err >"$err" &
err_copied=$!
echo began >"$control"
cd /exchange
setsid sh /run/guest/script </dev/null >/run/guest/out 2>/run/guest/err
status=$?
# What the script left running may keep the pipes open.
(
    sleep 2
    kill $out_copied $err_copied
) &
wait $out_copied $err_copied
echo "ended $status" >"$control"
sync
busybox poweroff -f
