use super::super::place::{MOUNTPOINT, UUID};
use super::*;
use crate::record::Session;
use crate::testing::session;

const ID: &str = "c0ffee00-1111-2222-3333-444455556666";

/// A session in a directory, of which the record says this.
fn directory(facts: &[(&str, &str)]) -> Session {
    let mut it = session("delete-stall", Vec::new());
    it.target.kind = "directory".to_owned();
    it.environment_before =
        facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    it
}

/// The place of a filesystem that is mounted on `/srv`.
fn place(kind: &str, options: &str, fstab: Option<&str>) -> Place {
    on("/srv", kind, options, fstab)
}

fn on(point: &str, kind: &str, options: &str, fstab: Option<&str>) -> Place {
    let mut facts = vec![
        ("filesystem", kind),
        ("mount-point", point),
        ("mount-options", options),
        ("filesystem-uuid", ID),
        ("source-device", "tank/srv"),
    ];
    facts.extend(fstab.map(|line| ("fstab-line", line)));
    Place::of(&[&directory(&facts)])
}

/// The lines for this answer, each with the file before it and the check behind it.
fn typed(action: &Action, place: &Place) -> Vec<String> {
    let text = |it: LineToType| {
        let file = it.file.map_or("#".to_owned(), |file| format!("{file}:"));
        let check = it.check.map_or(String::new(), |it| format!(" => {it}"));
        format!("{file} {}{check}", it.text)
    };
    lines_to_type(action, place).into_iter().map(text).collect()
}

#[test]
fn a_mount_is_changed_the_way_its_filesystem_takes_it() {
    let online = Action::MountWithDiscard;
    let uuid = format!("UUID={ID}");
    let fstab = |line: &str| format!("/etc/fstab: {uuid} {line} => findmnt --verify");
    let options = "=> findmnt -no OPTIONS /srv";
    let table: [(Place, Vec<String>); 6] = [
        (
            place("ext4", "rw,noatime,rw,seclabel,errors=remount-ro,commit=7", None),
            vec![
                fstab("/srv ext4 noatime,errors=remount-ro,commit=7,discard 0 2"),
                format!("# mount -o remount,discard /srv {options}"),
            ],
        ),
        (
            place("xfs", "rw,noatime,rw,inode64,logbufs=8,logbsize=32k,noquota", None),
            vec![
                fstab("/srv xfs noatime,discard 0 0"),
                "# umount /srv".to_owned(),
                format!("# mount /srv {options}"),
            ],
        ),
        (
            on("/", "xfs", "rw,relatime,rw,attr2", None),
            vec![
                fstab("/ xfs defaults,discard 0 0"),
                "the kernel command line: rootflags=discard => findmnt -no OPTIONS /".to_owned(),
            ],
        ),
        (
            place(
                "btrfs",
                "rw,relatime,rw,compress=zstd:3,space_cache=v2,subvolid=256,subvol=/@",
                None,
            ),
            vec![
                fstab("/srv btrfs compress=zstd:3,space_cache=v2,subvol=/@,discard=async 0 0"),
                format!("# mount -o remount,discard=async /srv {options}"),
            ],
        ),
        (
            place("f2fs", "rw,lazytime,rw,background_gc=on,nodiscard,acl", None),
            vec![
                fstab("/srv f2fs defaults,discard 0 0"),
                format!("# mount -o remount,discard /srv {options}"),
            ],
        ),
        (
            place("zfs", "rw,xattr,noacl", None),
            vec!["# zpool set autotrim=on tank => zpool get autotrim tank".to_owned()],
        ),
    ];
    for (place, expected) in table {
        assert_eq!(typed(&online, &place), expected);
    }
}

#[test]
fn what_fstab_has_stays_in_it() {
    let options = "=> findmnt -no OPTIONS /srv";
    let fstab = |line: &str| format!("/etc/fstab: UUID={ID} {line} => findmnt --verify");
    let table: [(Place, Vec<String>); 2] = [
        // What fstab has is kept, to the letter and in its order.
        (
            place(
                "ext4",
                "rw,relatime",
                Some("LABEL=srv /srv ext4 nofail,x-systemd.automount 0 2"),
            ),
            vec![
                "/etc/fstab: LABEL=srv /srv ext4 nofail,x-systemd.automount,discard 0 2 => \
                 findmnt --verify"
                    .to_owned(),
                format!("# mount -o remount,discard /srv {options}"),
            ],
        ),
        // A drive that fstab does not know may not always be there.
        (
            place("ext4", "rw,relatime", Some("none")),
            vec![
                fstab("/srv ext4 defaults,nofail,discard 0 2"),
                format!("# mount -o remount,discard /srv {options}"),
            ],
        ),
    ];
    for (place, expected) in table {
        assert_eq!(typed(&Action::MountWithDiscard, &place), expected);
    }
}

#[test]
fn what_is_as_it_should_be_is_kept_and_said() {
    let with = |options: &str| format!("{ID} /srv ext4 {options} 0 2").replace(ID, "UUID=1");
    let online = |kind: &str, options: &str, line: Option<&str>| {
        let place = place(kind, options, line);
        (typed(&Action::MountWithDiscard, &place).len(), already(&Action::MountWithDiscard, &place))
    };
    for (kind, options, line) in [
        ("ext4", "rw,discard", None),
        ("ext4", "rw,discard", Some(with("noatime,discard"))),
        ("btrfs", "rw,discard=async", Some(with("subvol=@"))),
        ("btrfs", "rw,discard", None),
        ("f2fs", "rw,discard,discard_unit=block", Some(with("defaults"))),
    ] {
        let (count, said) = online(kind, options, line.as_deref());
        assert_eq!(count, 0, "{kind} {options}");
        assert!(said.unwrap().starts_with("already on: keep it (`/srv` is mounted"));
    }
    // Mounted so by hand: the next start would forget it.
    let (count, said) = online("ext4", "rw,discard", Some(&with("noatime")));
    assert_eq!((count, said), (1, None));
    // The timer is for all of them.
    let weekly = place("ext4", "rw,relatime", Some(&with("noatime")));
    assert_eq!(
        typed(&Action::WeeklyFstrim, &weekly),
        ["# systemctl enable --now fstrim.timer => systemctl list-timers fstrim.timer"]
    );
    assert!(already(&Action::WeeklyFstrim, &weekly).unwrap().contains("without `discard`"));
    // As the README has it measured: by a remount, which the next start forgets.
    let by_hand = place("ext4", "rw,discard", Some(&with("noatime")));
    assert_eq!(
        typed(&Action::WeeklyFstrim, &by_hand)[1..],
        ["# mount -o remount,nodiscard /srv => findmnt -no OPTIONS /srv"]
    );
    let never = place("ext4", "rw,relatime", Some(&with("noatime,X-fstrim.notrim")));
    assert_eq!(typed(&Action::NothingToGain, &never), [""; 0]);
    assert!(already(&Action::NothingToGain, &never).unwrap().starts_with("already off"));
}

#[test]
fn what_is_turned_off_is_turned_off_for_this_mount_only() {
    let list = "fstrim --fstab --dry-run --verbose";
    let options = "=> findmnt -no OPTIONS /srv";
    for (kind, shown, line, fstab, applied) in [
        (
            "ext4",
            "rw,discard",
            "UUID=1 /srv ext4 noatime,discard 0 2",
            "UUID=1 /srv ext4 noatime,X-fstrim.notrim 0 2",
            "mount -o remount,nodiscard /srv",
        ),
        // Mounted so by hand.
        (
            "ext4",
            "rw,discard",
            "UUID=1 /srv ext4 noatime 0 2",
            "UUID=1 /srv ext4 noatime,X-fstrim.notrim 0 2",
            "mount -o remount,nodiscard /srv",
        ),
        (
            "btrfs",
            "rw,discard=async",
            "UUID=1 /srv btrfs subvol=@ 0 0",
            "UUID=1 /srv btrfs subvol=@,nodiscard,X-fstrim.notrim 0 0",
            "mount -o remount,nodiscard /srv",
        ),
        (
            "xfs",
            "rw,discard",
            "UUID=1 /srv xfs discard 0 0",
            "UUID=1 /srv xfs X-fstrim.notrim 0 0",
            "umount /srv",
        ),
    ] {
        let place = place(kind, shown, Some(line));
        let lines = typed(&Action::NothingToGain, &place);
        assert_eq!(lines[0], format!("/etc/fstab: {fstab} => {list}"));
        assert!(lines[1].starts_with(&format!("# {applied}")), "{lines:?}");
        assert!(lines.last().unwrap().ends_with(options), "{lines:?}");
        assert!(!lines.iter().any(|it| it.contains("fstrim.timer")), "{lines:?}");
    }
    // Left out before, and wanted now.
    let out = place("ext4", "rw", Some("UUID=1 /srv ext4 X-fstrim.notrim 0 2"));
    let weekly = typed(&Action::WeeklyFstrim, &out);
    assert_eq!(weekly[1], "/etc/fstab: UUID=1 /srv ext4 defaults 0 2 => findmnt --verify");
    assert_eq!(weekly.len(), 2);
}

#[test]
fn for_a_drive_that_loses_data_every_sender_is_named() {
    let mut it = directory(&[("filesystem", "ext4"), ("mount-point", "/srv")]);
    it.environment_before.extend(
        [("device-kind", "nvme"), ("disk-name", "nvme0n1"), ("serial", "S6PTNM0T1")]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    let lines = lines_to_type(&Action::DoNotTrim, &Place::of(&[&it]));
    let text: Vec<&str> = lines.iter().map(|it| it.text.as_str()).collect();
    for part in [
        "ENV{ID_SERIAL_SHORT}==\"S6PTNM0T1\", ATTR{queue/discard_max_bytes}=\"0\"",
        "udevadm trigger --action=change /dev/nvme0n1",
        "X-fstrim.notrim",
        "remount,nodiscard /srv",
        " swap defaults ",
        "issue_discards = 0",
        "mkfs.ext4 -E nodiscard",
        "mkfs.xfs -K",
        "mkfs.btrfs -K",
        "fstrim.timer",
    ] {
        assert!(text.iter().any(|it| it.contains(part)), "{part}: {text:#?}");
    }
    // What is of no other drive's business says so.
    let timer = lines.iter().find(|it| it.text.contains("fstrim.timer")).unwrap();
    assert!(timer.note.unwrap().contains("every filesystem"));
    assert_eq!(lines[2].check.as_deref(), Some("lsblk --discard /dev/nvme0n1"));
}

#[test]
fn lines_without_a_place_are_a_template_and_say_so() {
    let place = Place::template();
    let lines = lines_to_type(&Action::MountWithDiscard, &place);
    let systems: Vec<&str> = lines.iter().map(|it| it.system).collect();
    assert_eq!(
        systems,
        ["ext4", "ext4", "XFS", "XFS", "XFS", "btrfs", "btrfs", "f2fs", "f2fs", "ZFS"]
    );
    assert_eq!(lines[0].text, format!("UUID={UUID} {MOUNTPOINT} ext4 defaults,discard 0 2"));
    assert_eq!(template(&lines, &place), Some("template, for a filesystem of yours"));
    assert_eq!(placeholders(&lines), [UUID, MOUNTPOINT, "POOL"]);
    assert_eq!(template(&[], &place), None);
    // What fstab has cannot be written here: the rest of the line is.
    let odd = self::place("ext4", "rw,context=\"a b\"", None);
    let lines = lines_to_type(&Action::MountWithDiscard, &odd);
    assert_eq!(lines[0].text, format!("UUID={ID} /srv ext4 EXISTING-OPTIONS,discard 0 2"));
    assert!(template(&lines, &odd).unwrap().starts_with("template"));
    let whole = self::place("ext4", "rw,relatime", None);
    assert_eq!(template(&lines_to_type(&Action::MountWithDiscard, &whole), &whole), None);
}
