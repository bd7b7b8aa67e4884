//! All files, by their number.
//!
//! Files that are created one after the other have neighbouring numbers, so a file is stored by its
//! number, in leaves of 256 that are allocated with the first of their numbers. The table of leaves
//! takes 8 bytes for each, up to the largest number: 128 MiB at most.

use std::ops::{Index, IndexMut};

use trimbench_core::units::index;
use trimbench_core::{Errno, FileId};

use crate::commands::Stop;
use crate::file::File;

#[cfg(test)]
mod tests;

/// Numbers of a leaf.
const LEAF: u32 = 256;

/// All files, and names that commands wait for.
#[derive(Debug, Default)]
pub(crate) struct Files {
    leaves: Vec<Option<Box<[Option<File>]>>>,
}

#[inline]
fn place(id: FileId) -> (usize, usize) {
    (index((id.0 / LEAF).into()), index((id.0 % LEAF).into()))
}

impl Files {
    #[inline]
    pub(crate) fn get(&self, id: FileId) -> Option<&File> {
        let (leaf, at) = place(id);
        self.leaves.get(leaf)?.as_ref()?[at].as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: FileId) -> Option<&mut File> {
        let (leaf, at) = place(id);
        self.leaves.get_mut(leaf)?.as_mut()?[at].as_mut()
    }

    /// The file that a command is on.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn existing(&self, id: FileId) -> Result<&File, Stop> {
        let file = &self[id];
        if file.inode.is_some() { Ok(file) } else { Err(Errno::ENOENT.into()) }
    }

    /// The file of this number, made if there is none.
    pub(crate) fn or_default(&mut self, id: FileId) -> &mut File {
        let (leaf, at) = place(id);
        if leaf >= self.leaves.len() {
            self.leaves.resize_with(leaf + 1, || None);
        }
        let empty = || (0..LEAF).map(|_| None).collect();
        self.leaves[leaf].get_or_insert_with(empty)[at].get_or_insert_default()
    }

    pub(crate) fn remove(&mut self, id: FileId) {
        let (leaf, at) = place(id);
        if let Some(Some(leaf)) = self.leaves.get_mut(leaf) {
            leaf[at] = None;
        }
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FileId, &File)> {
        // An open range would step past the largest number behind the last leaf.
        (0_u32..).zip(&self.leaves).flat_map(|(leaf, files)| {
            let files = (0..LEAF).zip(files.iter().flatten());
            files.filter_map(move |(at, file)| Some((FileId(leaf * LEAF + at), file.as_ref()?)))
        })
    }
}

impl Index<FileId> for Files {
    type Output = File;

    #[inline]
    fn index(&self, id: FileId) -> &File {
        self.get(id).expect("commands under way keep their file")
    }
}

impl IndexMut<FileId> for Files {
    #[inline]
    fn index_mut(&mut self, id: FileId) -> &mut File {
        self.get_mut(id).expect("commands under way keep their file")
    }
}
