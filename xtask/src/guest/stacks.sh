# Storage stacks for a guest: `make_stack NAME` builds one and mounts a filesystem on /mnt/t,
# `fix_stack NAME` removes what drops its discards, `remove_stack NAME` takes it apart.
# `trim_stack NAME` frees known extents, trims, and prints what arrived at the bottom.
#
# In `uml`, $DISKS are a disk and one without discards, and most stacks stand on four drives of
# 128 MiB in the guest's memory (scsi_debug): a disk of user-mode Linux takes at most 32 KiB a
# discard, less than a chunk or a stripe, for which some layers drop all. In `cloud`, $DISKS are a
# virtio disk, one whose discards qemu ignores, and an NVMe drive. The table of the stacks is in
# `xtask/src/guest/stacks.rs`. Nothing here needs udev: programs make their nodes themselves.

set -- $DISKS
V1=$1 V2=$2 V3=$3
export MDADM_NO_UDEV=1 DM_DISABLE_UDEV=1

# --- Parts ------------------------------------------------------------------------------------------

function_of() { echo "$1" | tr - _; }

quiet() { "$@" >/run/guest/log 2>&1 || { echo "failed: $*" >&2; cat /run/guest/log >&2; return 1; }; }

# Makes ext4 on a device and mounts it. Nothing is discarded yet.
put_ext4() {
    TOP=$1
    quiet mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$TOP" &&
        mount -t ext4 "$TOP" /mnt/t
}

# Mounts again: what a table or a limit of a device is, ext4 notices when it is mounted.
again() { umount /mnt/t && "$@" && mount "$TOP" /mnt/t; }

# Forgets what was on disks.
wipe() {
    for disk; do
        quiet wipefs -a -f "$disk"
        dd if=/dev/zero of="$disk" bs=1M count=8 conv=fsync 2>/dev/null
    done
}

# Waits until a path is there, or not there any more.
wait_until() {
    for _ in $(seq 40); do
        test "$@" && return
        sleep 0.05
    done
    echo "waited for nothing: $*" >&2
    return 1
}

# Loads the SCSI disks in memory with these parameters; sets SCSI to the folder of the first in
# sysfs.
load_scsi() {
    unload_scsi
    modprobe sd_mod
    quiet modprobe scsi_debug delay=0 "$@" || return 1
    host=$(echo /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*)
    wait_until -d "$host"/target*/*:*/block/sd* && wait_until -b /dev/sda &&
        SCSI=$(echo "$host"/target*/*:*/scsi_disk/*)
}
unload_scsi() { [ ! -d /sys/module/scsi_debug ] || quiet modprobe -r scsi_debug; D1=; }

# Four drives, each of its own memory, which take UNMAP.
use_drives() {
    [ -z "$D1" ] || return 0
    load_scsi dev_size_mb=128 per_host_store=1 add_host=4 lbpu=1 && wait_until -b /dev/sdd &&
        D1=/dev/sda D2=/dev/sdb D3=/dev/sdc D4=/dev/sdd
}

use_lvm() {
    modprobe -a dm-mod dm-thin-pool dm-cache dm-cache-smq
    cat >/etc/lvm/lvm.conf <<LVM
activation { udev_sync = 0 udev_rules = 0 monitoring = 0 verify_udev_operations = 0 }
devices { use_devicesfile = 0 obtain_device_list_from_udev = 0 types = [ "ubd", 16 ] }
backup { backup = 0 archive = 0 }
LVM
}

# A group of volumes on these disks.
use_group() { use_lvm; quiet vgcreate -y vg "$@"; }
remove_group() { umount /mnt/t; quiet vgremove -f -y vg; quiet pvremove -y "$@"; wipe "$@"; }

# --- Disks and what uses them directly --------------------------------------------------------------

make_plain() { BOTTOM=$V1; put_ext4 "$V1"; }
remove_plain() { umount /mnt/t; wipe "$V1"; }

make_no_discard() { BOTTOM=$V2; put_ext4 "$V2"; }
remove_no_discard() { umount /mnt/t; wipe "$V2"; }

make_virtio() { make_plain; }
remove_virtio() { umount /mnt/t; }
make_virtio_ignored() { make_no_discard; }
remove_virtio_ignored() { umount /mnt/t; }
make_nvme() { BOTTOM=$V3; put_ext4 "$V3"; }
remove_nvme() { umount /mnt/t; }

make_f2fs() {
    modprobe f2fs
    use_drives && TOP=$D1 BOTTOM=$D1 && quiet mkfs.f2fs -f -t 0 "$D1" &&
        mount -t f2fs -o nodiscard "$D1" /mnt/t
}
remove_f2fs() { umount /mnt/t; wipe "$D1"; }

make_swap() {
    TOP=$V1 BOTTOM=$V1
    quiet mkswap "$V1" && before=$(bottom_bytes) && swapon "$V1"
}
fix_swap() { swapoff "$V1" && swapon --discard=once "$V1"; }
remove_swap() { swapoff "$V1"; wipe "$V1"; }

# --- Device mapper ----------------------------------------------------------------------------------

open_crypt() {
    modprobe dm-crypt
    printf secret >/run/guest/key
    use_drives && BOTTOM=$D1 &&
        quiet cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
            --key-file /run/guest/key "$D1" &&
        quiet cryptsetup open --key-file /run/guest/key "$@" "$D1" t && put_ext4 /dev/mapper/t
}
make_crypt() { open_crypt; }
fix_crypt() { quiet cryptsetup refresh --allow-discards --key-file /run/guest/key t; }
remove_crypt() { umount /mnt/t; quiet cryptsetup close t; wipe "$D1"; }
make_crypt_discards() { open_crypt --allow-discards; }
remove_crypt_discards() { remove_crypt; }

make_linear() {
    use_drives && BOTTOM="$D1 $D2" && use_group "$D1" "$D2" &&
        quiet lvcreate -y -W n -l 100%FREE -n t vg && put_ext4 /dev/vg/t
}
remove_linear() { remove_group "$D1" "$D2"; }

# A thin volume in a pool on a disk, with chunks of this size, which does this with discards.
make_pool() {
    BOTTOM=$1
    use_group "$1" &&
        quiet lvcreate -y --type thin-pool -n pool -L 112M --chunksize "$2" --discards "$3" \
            --poolmetadatasize 4M --poolmetadataspare n -Z n vg &&
        quiet lvcreate -y -W n -V 112M --thinpool vg/pool -n t && put_ext4 /dev/vg/t
}
change_pool() {
    quiet lvchange -an vg && quiet lvchange --discards passdown vg/pool && quiet lvchange -ay vg
}
make_thin_64k() { use_drives && make_pool "$D1" 64k passdown; }
remove_thin_64k() { remove_group "$D1"; }
make_thin_2m() { use_drives && make_pool "$D1" 2m passdown; }
remove_thin_2m() { remove_thin_64k; }
make_thin_nopassdown() { use_drives && make_pool "$D1" 64k nopassdown; }
fix_thin_nopassdown() { again change_pool; }
remove_thin_nopassdown() { remove_thin_64k; }
make_thin_ignore() { use_drives && make_pool "$D1" 64k ignore; }
fix_thin_ignore() { again change_pool; }
remove_thin_ignore() { remove_thin_64k; }
make_thin_short() { make_pool "$V1" 64k passdown; }
remove_thin_short() { remove_group "$V1"; }

# A volume on the first disk, cached on the second, in chunks of this size.
make_lvm_cache() {
    BOTTOM=$1
    use_group "$1" "$2" && quiet lvcreate -y -W n -n t -L 100M vg "$1" &&
        quiet lvcreate -y -W n -n fast -L 64M vg "$2" &&
        quiet lvconvert -y --type cache --cachevol fast --cachemode writethrough --chunksize "$3" \
            vg/t && put_ext4 /dev/vg/t
}
make_cache() { use_drives && make_lvm_cache "$D1" "$D2" 64k; }
remove_cache() { remove_group "$D1" "$D2"; }
make_cache_short() { use_drives && make_lvm_cache "$V1" "$D2" 64k; }
smaller_chunks() {
    quiet lvconvert -y --uncache vg/t && quiet lvcreate -y -W n -n fast -L 64M vg "$D2" &&
        quiet lvconvert -y --type cache --cachevol fast --cachemode writethrough --chunksize 32k vg/t
}
fix_cache_short() { again smaller_chunks; }
remove_cache_short() { remove_group "$V1" "$D2"; }

cache_table() { echo "0 $(blockdev --getsz "$D1") cache $D3 $D2 $D1 128 $* smq 0"; }
make_cache_nopassdown() {
    use_drives && use_lvm && BOTTOM=$D1 &&
        cache_table 2 writethrough no_discard_passdown | quiet dmsetup create t &&
        put_ext4 /dev/mapper/t
}
pass_down() {
    quiet dmsetup suspend t && cache_table 1 writethrough | quiet dmsetup load t &&
        quiet dmsetup resume t
}
fix_cache_nopassdown() { again pass_down; }
remove_cache_nopassdown() { umount /mnt/t; quiet dmsetup remove t; wipe "$D1" "$D2" "$D3"; }

# --- bcache and md ----------------------------------------------------------------------------------

make_bcache() {
    modprobe bcache
    use_drives && BOTTOM=$D1 &&
        quiet make-bcache --wipe-bcache --bucket 64k -B "$D1" -C "$D2" || return 1
    for disk in "$D2" "$D1"; do echo "$disk" >/sys/fs/bcache/register; done
    wait_until -b /dev/bcache0 && put_ext4 /dev/bcache0
}
remove_bcache() {
    umount /mnt/t
    set=$(echo /sys/fs/bcache/*-*)
    echo 1 >/sys/block/bcache0/bcache/stop
    wait_until ! -b /dev/bcache0
    echo 1 >"$set/stop"
    wait_until ! -d "$set"
    wipe "$D1" "$D2"
}

# An array of this level on these disks.
make_array() {
    level=$1
    shift
    BOTTOM=$*
    modprobe -a raid0 raid1 raid10 raid456
    quiet mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --level="$level" \
        --raid-devices=$# "$@" && put_ext4 /dev/md0
}
remove_array() {
    umount /mnt/t
    quiet mdadm --stop /dev/md0
    quiet mdadm --zero-superblock "$@"
    wipe "$@"
}
make_raid0() { use_drives && make_array 0 "$D1" "$D2"; }
remove_raid0() { remove_array "$D1" "$D2"; }
make_raid1() { use_drives && make_array 1 "$D1" "$D2"; }
remove_raid1() { remove_array "$D1" "$D2"; }
make_raid10() { use_drives && make_array 10 "$D1" "$D2" "$D3" "$D4"; }
remove_raid10() { remove_array "$D1" "$D2" "$D3" "$D4"; }
SAFELY=/sys/module/raid456/parameters/devices_handle_discard_safely
handle_discard_safely() { modprobe raid456 && echo "$1" >$SAFELY; }
make_raid5() { handle_discard_safely N && use_drives && make_array 5 "$D1" "$D2" "$D3"; }
restart_array() { quiet mdadm --stop /dev/md0 && quiet mdadm --assemble /dev/md0 "$D1" "$D2" "$D3"; }
fix_raid5() { handle_discard_safely Y && again restart_array; }
remove_raid5() { remove_array "$D1" "$D2" "$D3"; }
make_raid5_safe() { handle_discard_safely Y && use_drives && make_array 5 "$D1" "$D2" "$D3"; }
remove_raid5_safe() { remove_raid5; }

# --- SCSI -------------------------------------------------------------------------------------------

make_scsi() { BOTTOM=scsi_debug; load_scsi dev_size_mb=128 "$@"; }
mode() { echo "$1" >"$SCSI/provisioning_mode"; }
remove_scsi() { umount /mnt/t; unload_scsi; }
make_scsi_none() { make_scsi && put_ext4 /dev/sda; }
make_scsi_unmap() { make_scsi lbpu=1 && put_ext4 /dev/sda; }
make_scsi_writesame_16() { make_scsi lbpws=1 && put_ext4 /dev/sda; }
make_scsi_writesame_10() { make_scsi lbpws10=1 && put_ext4 /dev/sda; }
make_scsi_writesame_zero() { make_scsi lbpu=1 lbpws=1 && mode writesame_zero && put_ext4 /dev/sda; }
fix_scsi_writesame_zero() { again mode unmap; }
make_scsi_full() { make_scsi lbpu=1 && mode full && put_ext4 /dev/sda; }
fix_scsi_full() { again mode unmap; }
make_scsi_disabled() { make_scsi lbpu=1 && mode disabled && put_ext4 /dev/sda; }
fix_scsi_disabled() { again mode unmap; }

# --- What is called ---------------------------------------------------------------------------------

make_stack() { mkdir -p /mnt/t && "make_$(function_of "$1")"; }
fix_stack() { "fix_$(function_of "$1")"; }
remove_stack() {
    case $1 in
    scsi-*) remove_scsi ;;
    *) "remove_$(function_of "$1")" ;;
    esac
}

# Bytes that were discarded at the bottom so far. What a SCSI disk unmapped is in no counter, but it
# says which blocks are mapped.
bottom_bytes() {
    if [ "$BOTTOM" = scsi_debug ]; then
        tr , '\n' </sys/bus/pseudo/drivers/scsi_debug/map |
            awk -F- 'NF { mapped += ($2 == "" ? $1 : $2) - $1 + 1 } END { printf "%.0f\n", -512 * mapped }'
    else
        for disk in $BOTTOM; do cat "/sys/block/${disk##*/}/stat"; done |
            awk '{ sectors += $14 } END { printf "%.0f\n", 512 * sectors }'
    fi
}

# Frees one extent of 32 MiB and 32 of 256 KiB between such in use: 40 MiB.
free_extents() {
    head -c 32M /dev/zero >/mnt/t/large
    sync
    head -c 16M /dev/zero | split -b 256K -a 2 - /mnt/t/small.
    sync
    rm /mnt/t/large /mnt/t/small.*[acegikmoqsuwy]
    sync
}

# Prints `trimmed NAME TOP BOTTOM`, bytes: what fstrim says that it trimmed (`refused` if it cannot)
# and what arrived. For swap the whole of it is freed.
trim_stack() {
    if [ "$1" = swap ]; then
        echo "trimmed swap - $(($(bottom_bytes) - before))"
        return
    fi
    free_extents
    before=$(bottom_bytes)
    top=$(fstrim -v /mnt/t 2>/run/guest/log | sed 's/.*(\([0-9]*\) bytes).*/\1/')
    echo "trimmed $1 ${top:-refused} $(($(bottom_bytes) - before))"
    rm -f /mnt/t/small.*
    sync
}
