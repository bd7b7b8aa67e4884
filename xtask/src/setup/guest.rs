//! What guests consist of beside the host's own tree: kernels, modules and administrators' programs
//! of Debian packages, unpacked into a folder that a guest sees above the host's tree.
//!
//! They are unpacked and not installed: LVM, mdadm and bcache would otherwise bring services, rules
//! of udev and hooks of the boot to the machine of whoever runs a test, and a kernel would become
//! the next to boot. Neither this nor a guest needs root.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{apt, can_install};
use crate::Repository;
use crate::process::{output, run, run_well};

/// Whatever these need and the host does not have is unpacked as well.
const PACKAGES: [&str; 12] = [
    "bcache-tools",
    "busybox-static",
    "cryptsetup-bin",
    "f2fs-tools",
    "kmod",
    "linux-image-cloud-amd64",
    "lvm2",
    "mdadm",
    "nvme-cli",
    "sg3-utils",
    "thin-provisioning-tools",
    "user-mode-linux",
];
/// Packages have files in both places, which are one place on the host.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];
/// Where the kernel's package of user-mode Linux has its modules, in the tree.
const UML_MODULES: &str = "usr/lib/uml/modules";

/// The folder in the target folder.
fn folder(repository: &Repository) -> PathBuf {
    repository.target().join("guest")
}

/// The tree that guests see above that of the host; whether it is there or not.
pub fn guest_tree(repository: &Repository) -> PathBuf {
    folder(repository).join("tree")
}

/// A file of the packages: unpacked, or on the host, where its package is installed.
pub fn guest_file(repository: &Repository, path: &str) -> Option<PathBuf> {
    let places = [guest_tree(repository).join(path), Path::new("/").join(path)];
    places.into_iter().find(|path| path.exists())
}

/// Unpacks the packages unless that was done.
pub(super) fn unpack(repository: &Repository) -> Result<()> {
    let (folder, tree) = (folder(repository), guest_tree(repository));
    let (stamp, wanted) = (tree.join("packages"), PACKAGES.join("\n"));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let packages = absent_packages()?;
    println!("setup: unpacks for guests: {}", packages.join(", "));
    for path in [&folder.join("new"), &folder.join("packages")] {
        if path.exists() {
            fs::remove_dir_all(path).with_context(|| format!("remove {}", path.display()))?;
        }
    }
    let new = folder.join("new");
    for place in MERGED {
        let path = new.join("usr").join(place);
        fs::create_dir_all(&path).with_context(|| format!("make {}", path.display()))?;
        std::os::unix::fs::symlink(format!("usr/{place}"), new.join(place))
            .with_context(|| format!("link {place}"))?;
    }
    download(&packages, &folder.join("packages"), &new)?;
    index_modules(&new)?;
    fs::write(new.join("packages"), wanted).context("note what was unpacked")?;
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("remove {}", tree.display()))?;
    }
    fs::rename(&new, &tree).with_context(|| format!("move {}", new.display()))
}

/// The packages, and those that they need, without what is installed: as apt-get would install
/// them.
fn absent_packages() -> Result<Vec<String>> {
    let simulate = || output(apt(&["--simulate", "install"]).args(PACKAGES));
    let plan = simulate().or_else(|error| {
        // The package lists of a fresh machine are empty or old.
        if can_install() {
            run(&mut apt(&["update"]), None)?;
            return simulate();
        }
        Err(error).context("the lists of packages may be old: run `apt-get update`")
    })?;
    let lines = plan.lines().filter_map(|line| line.strip_prefix("Inst "));
    Ok(lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

fn download(packages: &[String], into: &Path, tree: &Path) -> Result<()> {
    fs::create_dir_all(into).with_context(|| format!("make {}", into.display()))?;
    let mut fetch = apt(&["-o", "APT::Sandbox::User=root", "download"]);
    run_well(fetch.args(packages).current_dir(into), None)?;
    for entry in fs::read_dir(into).with_context(|| format!("list {}", into.display()))? {
        let package = entry.context("list the packages")?.path();
        // As `dpkg-deb --extract`, which would replace the links of the tree by folders.
        let script = "dpkg-deb --fsys-tarfile \"$1\" | tar --extract --keep-directory-symlink -C \
                      \"$2\"";
        let mut unpack = Command::new("sh");
        unpack.args(["-c", script, "unpack"]).arg(&package).arg(tree);
        run_well(&mut unpack, None)?;
    }
    fs::remove_dir_all(into).with_context(|| format!("remove {}", into.display()))
}

/// What the packages' own scripts would do: modules where modprobe looks for them, with an index.
fn index_modules(tree: &Path) -> Result<()> {
    let modules = tree.join("usr/lib/modules");
    fs::create_dir_all(&modules).with_context(|| format!("make {}", modules.display()))?;
    for place in [tree, Path::new("/")] {
        for release in names(&place.join(UML_MODULES))? {
            let (target, link) = (format!("../uml/modules/{release}"), modules.join(&release));
            if link.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(target, link)
                    .with_context(|| format!("link the modules of {release}"))?;
            }
        }
    }
    for release in names(&modules)? {
        let folder = modules.join(&release);
        if folder.join("kernel").exists() && !folder.join("modules.dep").exists() {
            let own = tree.join("usr/bin/kmod");
            let mut depmod = Command::new(if own.exists() { own } else { "kmod".into() });
            depmod.arg0("depmod").arg("-b").arg(tree).arg(release);
            run_well(&mut depmod, None)?;
        }
    }
    Ok(())
}

/// The names in a folder, in order; none if it does not exist.
fn names(path: &Path) -> Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(path) else { return Ok(Vec::new()) };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names
        .collect::<std::io::Result<Vec<_>>>()
        .with_context(|| format!("list {}", path.display()))?;
    names.sort();
    Ok(names)
}
