//! Checks of files: their size and their mode.

use super::{Fault, SourceTree};

/// Larger files swell every clone for ever. Vendored assets and the lock file are what they are.
const LARGEST: u64 = 256 * 1024;

/// No file is larger than 256 KiB.
pub(super) fn large(tree: &SourceTree) -> Vec<Fault> {
    let is_bound = |path: &str| path != "Cargo.lock" && !path.starts_with("assets/vendor/");
    let too_large = tree.files.iter().filter(|file| file.size > LARGEST && is_bound(&file.path));
    let message = |size: u64| format!("{size} bytes; at most {LARGEST} outside assets/vendor/");
    too_large.map(|file| Fault::of(&file.path, message(file.size))).collect()
}

/// Scripts are executable, and nothing else is.
pub(super) fn modes(tree: &SourceTree) -> Vec<Fault> {
    let mut findings = Vec::new();
    for file in &tree.files {
        // A Rust file may begin with `#![...]`, which is no interpreter.
        let is_script = file.text.as_deref().is_some_and(|text| text.starts_with("#!/"));
        if file.executable && !is_script {
            findings.push(Fault::of(&file.path, "executable, but not a script: chmod -x"));
        }
        if is_script && !file.executable {
            findings.push(Fault::of(&file.path, "a script that is not executable: chmod +x"));
        }
    }
    findings
}
