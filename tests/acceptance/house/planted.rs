//! Source changes that a comparison or a test must detect.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::tree::Tree;

/// A change of one source.
#[derive(Debug)]
pub(super) struct PlantedFault {
    /// Path from the top folder.
    pub(super) file: &'static str,
    /// What it says, in one place.
    pub(super) from: &'static str,
    /// What it says instead.
    pub(super) to: &'static str,
}

#[cfg(test)]
impl PlantedFault {
    /// Its place is there, once.
    pub(super) fn assert_possible(&self) {
        let root = crate::Repository::here().unwrap();
        let text = std::fs::read_to_string(root.root().join(self.file)).unwrap();
        assert_eq!(text.matches(self.from).count(), 1, "{}: `{}`", self.file, self.from);
    }
}

/// Makes the tree hold these faults and no others.
pub(super) fn plant<'a>(
    tree: &mut Tree,
    faults: impl IntoIterator<Item = &'a PlantedFault>,
) -> Result<()> {
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    for fault in faults {
        let file = PathBuf::from(fault.file);
        let text =
            texts.get(&file).map_or_else(|| tree.original(&file), |text| Ok(text.clone()))?;
        let count = text.matches(fault.from).count();
        ensure!(count == 1, "{}: `{}` stands there {count} times", fault.file, fault.from);
        texts.insert(file, text.replace(fault.from, fault.to));
    }
    tree.change(&texts)
}
