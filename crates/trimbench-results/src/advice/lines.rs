//! The lines to type for an answer, by filesystem.

use serde::Serialize;

use super::Action;

/// Stands in lines for what only the reader knows: the filesystem's UUID (`lsblk --fs`).
pub const UUID: &str = "FILESYSTEM-UUID";
/// The same: where the filesystem is mounted.
pub const MOUNTPOINT: &str = "/MOUNTPOINT";
/// The same: the serial number of the drive (`udevadm info /dev/DISK`, `ID_SERIAL_SHORT`).
pub const SERIAL: &str = "SERIAL-NUMBER";
/// The same: the drive, as the kernel calls it.
pub const DISK: &str = "DISK";
/// The same: the pool.
pub const POOL: &str = "POOL";
/// The file of the udev rule.
pub const RULES_FILE: &str = "/etc/udev/rules.d/60-discard-max.rules";

/// A line to type: a command, or a line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineToType {
    /// For whom: `ext4`, `XFS`, `btrfs`, `ZFS`, or `all`.
    pub system: &'static str,
    /// The file in which it stands; `None` for a command.
    pub file: Option<&'static str>,
    /// The line. [`UUID`] and the like are the reader's to replace.
    pub text: String,
    /// Whether trimbench's tests give it to the real program.
    pub tested: bool,
}

const FSTAB: Option<&str> = Some("/etc/fstab");
const RULES: Option<&str> = Some(RULES_FILE);

impl LineToType {
    fn new(system: &'static str, file: Option<&'static str>, text: impl Into<String>) -> Self {
        Self { system, file, text: text.into(), tested: true }
    }

    /// Of a program that the tests do not have.
    fn untested(system: &'static str, text: impl Into<String>) -> Self {
        Self { tested: false, ..Self::new(system, None, text) }
    }
}

/// What to type for this answer, in this order.
pub fn lines_to_type(action: &Action) -> Vec<LineToType> {
    match action {
        Action::MountWithDiscard => online(&["ext4", "XFS", "btrfs", "ZFS"]),
        Action::SmallerDiscardMax { bytes } => {
            // The simulation is one of ext4: others send their discards otherwise.
            [rule(*bytes).to_vec(), online(&["ext4"])].concat()
        }
        Action::WeeklyFstrim => {
            let timer = LineToType::new("all", None, "systemctl enable --now fstrim.timer");
            let pool = LineToType::untested("ZFS", format!("zpool trim {POOL}"));
            [vec![timer], offline(), vec![pool]].concat()
        }
        Action::NothingToGain | Action::DoNotTrim => {
            let timer = LineToType::new("all", None, "systemctl disable --now fstrim.timer");
            [vec![timer], offline()].concat()
        }
        Action::TrimDoesNotReach => vec![
            LineToType::new("all", None, "lsblk --discard"),
            LineToType::untested(
                "dm-crypt",
                "cryptsetup refresh --allow-discards --persistent NAME",
            ),
        ],
        Action::EitherWillDo | Action::Unknown => Vec::new(),
    }
}

/// A line of fstab with these options.
fn fstab(system: &'static str, options: &str) -> LineToType {
    let (kind, pass) = match system {
        "ext4" => ("ext4", 2),
        "XFS" => ("xfs", 0),
        _ => ("btrfs", 0),
    };
    let text = format!("UUID={UUID} {MOUNTPOINT} {kind} {options} 0 {pass}");
    LineToType::new(system, FSTAB, text)
}

fn online(systems: &[&str]) -> Vec<LineToType> {
    let all = [
        fstab("ext4", "defaults,discard"),
        LineToType::new("ext4", None, format!("mount -o remount,discard {MOUNTPOINT}")),
        fstab("XFS", "defaults,discard"),
        fstab("btrfs", "defaults,discard=async"),
        LineToType::untested("ZFS", format!("zpool set autotrim=on {POOL}")),
    ];
    all.into_iter().filter(|line| systems.contains(&line.system)).collect()
}

/// Without online TRIM. On btrfs it has to be said: from Linux 6.2 on it is the default.
fn offline() -> Vec<LineToType> {
    vec![
        fstab("ext4", "defaults"),
        LineToType::new("ext4", None, format!("mount -o remount,nodiscard {MOUNTPOINT}")),
        fstab("XFS", "defaults"),
        fstab("btrfs", "defaults,nodiscard"),
        LineToType::untested("ZFS", format!("zpool set autotrim=off {POOL}")),
    ]
}

/// The udev rule that limits discards to so many bytes, and how it takes effect.
fn rule(bytes: u64) -> [LineToType; 3] {
    let rule = format!(
        "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", \
         ENV{{ID_SERIAL_SHORT}}==\"{SERIAL}\", ATTR{{queue/discard_max_bytes}}=\"{bytes}\""
    );
    [
        LineToType::new("all", RULES, rule),
        LineToType::new("all", None, "udevadm control --reload"),
        LineToType::new("all", None, format!("udevadm trigger --action=change /dev/{DISK}")),
    ]
}
