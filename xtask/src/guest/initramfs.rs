//! What a guest boots from: an archive of busybox, modules, the first program and the script.
//!
//! The format is cpio's "newc", which the kernel unpacks: for each file a header of 13 numbers of
//! eight hexadecimal digits, the name and the content, each padded to four bytes.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A folder, and a file that may be executed.
const FOLDER_MODE: u32 = 0o040_755;
const FILE_MODE: u32 = 0o100_755;

/// An archive that grows.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds a folder, below folders that are there.
    pub(super) fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER_MODE, &[]);
    }

    /// Adds a file.
    pub(super) fn file(&mut self, name: &str, content: &[u8]) {
        self.entry(name, FILE_MODE, content);
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("files of an initramfs are small");
        let name_size = u32::try_from(name.len() + 1).expect("names are short");
        // Inode, mode, owner, group, links, time, size, device and special device (two numbers
        // each), length of the name with its end, checksum.
        let numbers = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        let mut header = "070701".to_owned();
        for number in numbers {
            write!(header, "{number:08x}").expect("a string takes text");
        }
        self.bytes.extend(header.bytes().chain(name.bytes()).chain([0]));
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Adds the modules that these need and these, in the order in which they can be loaded, as
/// `modules/00`, `modules/01`, ...
pub(super) fn add_modules(archive: &mut Archive, folder: &Path, names: &[&str]) -> Result<()> {
    let index = folder.join("modules.dep");
    let index = fs::read_to_string(&index).with_context(|| format!("read {}", index.display()))?;
    archive.folder("modules");
    for (number, path) in load_order(&index, names).into_iter().enumerate() {
        let path = folder.join(path);
        let content = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        archive.file(&format!("modules/{number:02}"), &content);
    }
    Ok(())
}

/// Paths of modules by the index `modules.dep`, each once and behind what it needs. What the index
/// does not have is part of the kernel.
fn load_order<'a>(index: &'a str, names: &[&str]) -> Vec<&'a str> {
    let mut order = Vec::new();
    for name in names {
        let file = format!("/{name}.ko");
        let mut lines = index.lines().filter_map(|line| line.split_once(':'));
        let Some((path, needed)) = lines.find(|(path, _)| path.ends_with(&file)) else { continue };
        // The index lists what a module needs so that each is loaded from right to left.
        for path in needed.split_ascii_whitespace().rev().chain([path]) {
            if !order.contains(&path) {
                order.push(path);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests;
