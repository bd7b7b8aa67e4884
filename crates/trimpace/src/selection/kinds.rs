//! Types of filesystems: which have no device of their own, and which a list of types means.
//!
//! The lists are those of util-linux 2.42 (`libmount/src/utils.c`); older releases have fewer
//! types.

#[cfg(test)]
mod tests;

/// Types without a disk of their own, sorted.
const PSEUDO: [&str; 58] = [
    "anon_inodefs",
    "apparmorfs",
    "autofs",
    "bdev",
    "binder",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "cpuset",
    "debugfs",
    "devfs",
    "devpts",
    "devtmpfs",
    "dlmfs",
    "dmabuf",
    "drm",
    "efivarfs",
    "fuse",
    "fuse.archivemount",
    "fuse.avfsd",
    "fuse.dumpfs",
    "fuse.encfs",
    "fuse.gvfs-fuse-daemon",
    "fuse.gvfsd-fuse",
    "fuse.kio-fuse",
    "fuse.lxcfs",
    "fuse.portal",
    "fuse.rofiles-fuse",
    "fuse.vmware-vmblock",
    "fuse.xwmfs",
    "fusectl",
    "hugetlbfs",
    "ipathfs",
    "mqueue",
    "nfsd",
    "none",
    "nsfs",
    "overlay",
    "pidfs",
    "pipefs",
    "proc",
    "pstore",
    "ramfs",
    "resctrl",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "smackfs",
    "sockfs",
    "spufs",
    "sysfs",
    "tmpfs",
    "tracefs",
    "vboxsf",
    "virtiofs",
];
/// Types whose filesystems are on other machines.
const NETWORK: [&str; 8] =
    ["cifs", "smb3", "smbfs", "afs", "ncpfs", "glusterfs", "fuse.curlftpfs", "fuse.sshfs"];
const NETWORK_FAMILIES: [&str; 2] = ["nfs", "9p"];

/// Whether filesystems of this type have no device of their own.
pub(super) fn is_pseudo(filesystem: &str) -> bool {
    PSEUDO.contains(&filesystem)
}

/// Whether filesystems of this type are on another machine.
pub(super) fn is_network(filesystem: &str) -> bool {
    NETWORK.contains(&filesystem)
        || NETWORK_FAMILIES.iter().any(|family| filesystem.starts_with(family))
}

/// Whether a program serves filesystems of this type (`fuse`, `fuse.*`, `fuseblk`).
pub(super) fn is_fuse(filesystem: &str) -> bool {
    filesystem == "fuse" || filesystem == "fuseblk" || filesystem.starts_with("fuse.")
}

/// Whether the list of `--types` allows this type, as `mount -t` reads such lists: `no` before the
/// whole list forbids all of it, `no` before one type forbids that one.
pub(super) fn allows(list: &str, filesystem: &str) -> bool {
    let (is_negated, list) = match list.strip_prefix("no") {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    for item in list.split(',') {
        let forbidden = item.strip_prefix("no");
        if forbidden.is_some_and(|forbidden| forbidden.eq_ignore_ascii_case(filesystem)) {
            return false;
        }
        if item.eq_ignore_ascii_case(filesystem) {
            return !is_negated;
        }
    }
    is_negated
}
