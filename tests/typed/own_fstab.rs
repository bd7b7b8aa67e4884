//! A filesystem on a loop device with a fstab of its own, on which lines are typed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tests::{LoopDevice, is_mounted, run, scratch, unmount};
use trimbench_claim::inspect::environment;
use trimbench_results::advice::{LineToType, Place};
use trimbench_results::{PlannedSession, Session};

/// A filesystem on a loop device, mounted by a fstab of its own: the machine's is not touched.
pub(crate) struct OwnFstab {
    made: LoopDevice,
    pub(crate) tab: PathBuf,
    place: PathBuf,
    _folders: [tempfile::TempDir; 2],
}

impl OwnFstab {
    /// Makes the filesystem. Nothing is mounted yet.
    pub(crate) fn new(kind: &str, mebibytes: u64) -> Self {
        let made = LoopDevice::within(Path::new("/var/tmp"), mebibytes);
        run(&format!("mkfs.{kind}"), &["-q", made.node()]);
        let folders = [scratch(), scratch()];
        let (tab, place) = (folders[0].path().join("fstab"), folders[1].path().to_owned());
        Self { made, tab, place, _folders: folders }
    }

    pub(crate) fn point(&self) -> &str {
        self.place.to_str().expect("it is text")
    }

    fn tab(&self) -> &str {
        self.tab.to_str().expect("it is text")
    }

    pub(crate) fn uuid(&self) -> String {
        run("blkid", &["-s", "UUID", "-o", "value", self.made.node()]).trim().to_owned()
    }

    /// Has this line, and none else, in the fstab: without an error or a warning.
    pub(crate) fn write(&self, line: &str) {
        fs::write(&self.tab, format!("{line}\n")).expect("it is ours");
        let said = run("findmnt", &["--verify", "--verbose", "--tab-file", self.tab()]);
        assert!(said.contains("no errors or warnings"), "{line}\n{said}");
    }

    pub(crate) fn mount(&self) -> String {
        run("mount", &["--fstab", self.tab(), self.point()]);
        self.options()
    }

    pub(crate) fn unmount(&self) {
        run("umount", &[self.point()]);
    }

    pub(crate) fn options(&self) -> String {
        run("findmnt", &["-no", "OPTIONS", self.point()])
    }

    /// The place as a run in the mounted filesystem records it; without the line of fstab where
    /// the record is to lack it.
    pub(crate) fn recorded(&self, has_line: bool) -> Place {
        let plan = PlannedSession {
            method: "delete-stall".to_owned(),
            target: self.point().to_owned(),
            preset: "quick".to_owned(),
            options: BTreeMap::new(),
        };
        let mut session = Session::planned(plan, 1);
        "directory".clone_into(&mut session.target.kind);
        let mut found = environment(&self.place).expect("it is mounted");
        assert_eq!(found.get("filesystem-uuid"), Some(&self.uuid()), "{found:?}");
        found.remove("fstab-line");
        if has_line {
            let line = fs::read_to_string(&self.tab).expect("it is ours");
            found.insert("fstab-line".to_owned(), line.trim().to_owned());
        }
        session.environment_before = found;
        Place::of(&[&session])
    }

    /// Does what a line says, on this fstab, and what its check says; returns what the check says.
    pub(crate) fn does(&self, line: &LineToType) -> String {
        match line.file {
            Some("/etc/fstab") => self.write(&line.text),
            Some(file) => panic!("{file}: {}", line.text),
            None => {
                // `mount DIR` reads the fstab of the machine.
                let text = match line.text.strip_prefix("mount /") {
                    Some(point) => format!("mount --fstab {} /{point}", self.tab()),
                    None => line.text.clone(),
                };
                run("sh", &["-c", &text]);
            }
        }
        match line.check.as_deref() {
            None => String::new(),
            Some("findmnt --verify") => run("findmnt", &["--verify", "--tab-file", self.tab()]),
            Some("fstrim --fstab --dry-run --verbose") => self.trims(),
            Some(check) => run("sh", &["-c", check]),
        }
    }

    /// What `fstrim --fstab` says of this fstab. It finds no UUID where udev does not run.
    pub(crate) fn trims(&self) -> String {
        let line = fs::read_to_string(&self.tab).expect("it is ours");
        let of_node = line.replace(&format!("UUID={}", self.uuid()), self.made.node());
        let tab = self.tab.with_extension("of-node");
        fs::write(&tab, of_node).expect("it is ours");
        let tab = tab.to_str().expect("it is text");
        run("fstrim", &["--listed-in", tab, "--dry-run", "--verbose"])
    }
}

impl Drop for OwnFstab {
    fn drop(&mut self) {
        if is_mounted(&self.place) {
            unmount(&self.place);
        }
    }
}
