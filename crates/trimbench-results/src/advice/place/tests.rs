use super::super::{Action, lines_to_type};
use super::{PlaceOrigin as Origin, TrimFilesystem as Kind, *};
use crate::testing::session;

fn with(kind: &str, facts: &[(&str, &str)]) -> Session {
    let mut it = session("delete-stall", Vec::new());
    kind.clone_into(&mut it.target.kind);
    it.target.identity =
        facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    it
}

#[test]
fn a_place_is_of_what_was_measured() {
    let model = |filesystem: &str| with("filesystem", &[("filesystem", filesystem)]);
    let place = |sessions: &[&Session]| {
        let place = Place::of(sessions);
        (place.origin, place.filesystem)
    };
    let drive = with("emulated", &[]);
    let real = with("device", &[("kind", "nvme")]);
    assert_eq!(place(&[&drive]), (Origin::Emulated, None));
    assert_eq!(place(&[&drive, &model("ext4, modelled")]), (Origin::Emulated, Some(Kind::Ext4)));
    assert_eq!(place(&[&model("zfs, modelled")]), (Origin::Emulated, Some(Kind::Zfs)));
    assert_eq!(
        place(&[&model("ext4, modelled"), &model("xfs, modelled")]),
        (Origin::Emulated, None)
    );
    assert_eq!(place(&[&real]), (Origin::Drive, None));
    assert_eq!(place(&[&real, &model("xfs")]), (Origin::Drive, Some(Kind::Xfs)));
    let directory = with("directory", &[("filesystem", "ext3")]);
    assert_eq!(place(&[&directory]), (Origin::Directory, Some(Kind::Ext4)));
    assert_eq!(Place::of(&[&directory]).kind, "ext3");
}

/// A bind mount, or a volume of a container: fstab mounts something else.
#[test]
fn a_part_of_a_filesystem_is_not_taken_for_the_whole() {
    let point = |kind, options| {
        let facts = [
            ("filesystem", kind),
            ("mount-point", "/data"),
            ("mount-root", "/@/1"),
            ("mount-options", options),
        ];
        Place::of(&[&with("directory", &facts)]).mount_point().to_owned()
    };
    assert_eq!(point("ext4", "rw"), MOUNTPOINT);
    assert_eq!(point("btrfs", "rw,subvol=/@"), MOUNTPOINT);
    assert_eq!(point("btrfs", "rw,subvol=/@/1"), "/data");
}

/// What anybody wrote into a record gets into no line that root types, unless it is what it says.
#[test]
fn texts_that_are_not_plain_stay_out() {
    for hostile in
        ["$(reboot)", "a b", "a;b", "a\nb", "-rf", "\"", "x\", RUN+=\"y", "../x", "\u{202e}", ""]
    {
        let keys = [
            "filesystem",
            "filesystem-uuid",
            "mount-point",
            "mount-options",
            "fstab-line",
            "source-device",
            "device-kind",
            "disk-name",
            "udev-serial",
            "serial",
        ];
        for key in keys {
            let mut facts = vec![
                ("filesystem", "ext4"),
                ("filesystem-uuid", "12345678"),
                ("mount-point", "/srv"),
                ("mount-options", "rw"),
                ("fstab-line", "UUID=1 /srv ext4 noatime 0 2"),
                ("device-kind", "nvme"),
                ("disk-name", "nvme0n1"),
                ("udev-serial", "S1"),
            ];
            facts.retain(|(it, _)| *it != key);
            facts.push((key, hostile));
            let line = format!("UUID={hostile} /srv ext4 {hostile} 0 2");
            if key == "fstab-line" {
                facts.push((key, &line));
            }
            let place = Place::of(&[&with("directory", &facts)]);
            for action in [Action::DoNotTrim, Action::MountWithDiscard, Action::WeeklyFstrim] {
                for line in lines_to_type(&action, &place) {
                    let has =
                        !hostile.is_empty() && hostile != "-rf" && line.text.contains(hostile);
                    // Quotes are those of the rule, and a blank divides fields.
                    let has = has && hostile != "\"";
                    assert!(!has, "{key}: {}", line.text);
                    assert!(!line.text.contains(" -rf") && !line.text.contains("  "), "{key}");
                }
            }
        }
    }
}
