use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use trimbench_doctor::{Diagnosis, Doctor, SystemTree};

/// A recorded system, written out into a temporary folder.
#[derive(Debug)]
pub(crate) struct RecordedTree {
    folder: TempDir,
}

impl RecordedTree {
    /// The tree of this name.
    pub(crate) fn named(name: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(name);
        let new = Self { folder: tempfile::tempdir().unwrap() };
        let text = fs::read_to_string(file.with_extension("tree")).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).for_each(|line| new.add(line));
        new
    }

    /// With a line more, or another content of a file.
    pub(crate) fn with(self, line: &str) -> Self {
        self.add(line);
        self
    }

    /// With these mounts instead of its own.
    pub(crate) fn with_mounts(self, lines: &str) -> Self {
        self.without("/proc/self/mountinfo").with(&format!("/proc/self/mountinfo: {lines}"))
    }

    /// With this fstab instead of its own.
    pub(crate) fn with_fstab(self, lines: &str) -> Self {
        self.without("/etc/fstab").with(&format!("/etc/fstab: {lines}"))
    }

    /// Without a file or a folder.
    pub(crate) fn without(self, path: &str) -> Self {
        let path = self.place(path);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
        self
    }

    /// What the doctor says of a place in it.
    pub(crate) fn diagnose(&self, place: &str) -> Diagnosis {
        let doctor = Doctor::new(SystemTree::recorded(self.folder.path())).unwrap();
        doctor.diagnose(Path::new(place)).unwrap()
    }

    /// The doctor of all of it.
    pub(crate) fn doctor(&self) -> Doctor {
        Doctor::new(SystemTree::recorded(self.folder.path())).unwrap()
    }

    fn place(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    fn add(&self, line: &str) {
        if line.is_empty() {
            return;
        }
        let (path, what) = match line.split_once(": ") {
            Some((path, content)) => (path, Some(content)),
            None => (line.split(" -> ").next().unwrap(), None),
        };
        let place = self.place(path.trim_end_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        match (what, line.split_once(" -> ")) {
            (Some(content), _) => {
                let old = fs::read(&place).unwrap_or_default();
                let is_more = path.ends_with("mountinfo") || path.ends_with("fstab");
                let old = if is_more { old } else { Vec::new() };
                fs::write(place, [old, bytes(content), b"\n".to_vec()].concat()).unwrap();
            }
            (None, Some((_, link))) => symlink(link, place).unwrap(),
            (None, None) => fs::create_dir_all(place).unwrap(),
        }
    }
}

/// The bytes of a content: `%80` is one byte.
fn bytes(content: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = content;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}
