use super::*;

fn mount(filesystem: &str, point: &str) -> Mount {
    Mount {
        id: 1,
        device: (259, 2),
        root: "/".into(),
        mount_point: point.into(),
        options: "rw".to_owned(),
        filesystem: filesystem.to_owned(),
        source: "/dev/nvme0n1p2".into(),
    }
}

#[test]
fn the_line_of_a_mount_is_found_as_it_is_written() {
    let fstab = "# /srv ext4\n\
                 UUID=1 / ext4 errors=remount-ro 0 1\n\
                 \tLABEL=srv\t/srv  ext4\tnoatime,nofail  0\t2\n\
                 /dev/sdb1 /mnt/my\\040disk auto defaults\n\
                 //nas/srv /nas cifs credentials=/etc/secret 0 0\n\
                 tmpfs /nas tmpfs size=1G 0 0\n\
                 # UUID=2 /old ext4 defaults 0 2\n\
                 UUID=3 /short\n";
    for (filesystem, point, expected) in [
        ("ext4", "/", Some("UUID=1 / ext4 errors=remount-ro 0 1")),
        ("ext4", "/srv", Some("LABEL=srv /srv ext4 noatime,nofail 0 2")),
        ("xfs", "/mnt/my disk", Some("/dev/sdb1 /mnt/my\\040disk auto defaults")),
        // Something else is mounted there than fstab says.
        ("xfs", "/srv", None),
        ("ext4", "/nas", None),
        ("ext4", "/old", None),
        ("ext4", "/short", None),
        ("ext4", "/home", None),
    ] {
        let line = line_of(fstab, &mount(filesystem, point));
        assert_eq!(line.as_deref(), expected, "{filesystem} on {point}");
    }
}

#[test]
fn a_uuid_is_written_as_everywhere() {
    let bytes: Vec<u8> = (0..16).collect();
    let uuid = hyphenated(&bytes.try_into().unwrap());
    assert_eq!(uuid, "00010203-0405-0607-0809-0a0b0c0d0e0f");
}

/// Of a device that exists nowhere; of what has no device there is nothing to read.
#[test]
fn a_device_that_sysfs_does_not_show_is_not_taken_for_none() {
    let mut of_disk = mount("ext4", "/srv");
    (of_disk.device, of_disk.source) = ((259, 1 << 19), "/dev/gone".into());
    let folder = crate::sysfs::masked_device(&of_disk);
    assert_eq!(folder.as_deref(), Some(Path::new("/sys/dev/block/259:524288")));
    let mut in_memory = mount("tmpfs", "/tmp");
    (in_memory.device, in_memory.source) = ((0, 40), "tmpfs".into());
    assert_eq!(crate::sysfs::masked_device(&in_memory), None);
}
