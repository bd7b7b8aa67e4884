//! Notes the commit that the program is built from, for the run record, and the platform.
#![expect(clippy::disallowed_methods, reason = "cargo speaks to a build script by variables")]

use std::env;
use std::process::Command;

/// Names the commit to a build from a source archive, where git does not know it.
const VARIABLE: &str = "TRIMBENCH_COMMIT";

fn main() {
    let named = env::var(VARIABLE).ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(commit).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env={VARIABLE}={commit}");
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    let target = env::var("TARGET").expect("cargo says what it builds for");
    println!("cargo:rustc-env=TRIMBENCH_TARGET={target}");
    for file in ["HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}

/// The commit that is checked out, and whether files differ from it.
fn commit() -> Option<String> {
    // A source archive that was unpacked inside another repository is not of its commit.
    if git(&["rev-parse", "--show-prefix"])? != "crates/trimbench/" {
        return None;
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { commit + "-dirty" })
}

/// What git prints; `None` without git or outside a checkout.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
